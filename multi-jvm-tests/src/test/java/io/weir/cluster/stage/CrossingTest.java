package io.weir.cluster.stage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.cluster.stage.Network.Traffic;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Three hosts; frames are numbers of four bytes. */
class CrossingTest {
    private static final int HOSTS = 3;
    private static final long SEED = 20_260_731;
    private static final long CAPACITY_BYTES = 100 * Integer.BYTES;
    private static final long MS = 1_000_000;

    private record Arrival(int to, int number) {}

    private final List<Arrival> arrivals = new ArrayList<>();
    private final Crossing crossing = new Crossing(
            HOSTS,
            new SplittableRandom(SEED),
            CAPACITY_BYTES,
            (to, frame) -> arrivals.add(new Arrival(to, frame.getInt(frame.position()))));

    @Test
    void shouldPassAtOnceWhenClear() {
        enter(0, 1, 7, 100);

        assertThat(arrivals).containsExactly(new Arrival(1, 7));
        assertThat(crossing.leave(100)).isEqualTo(-1);
        assertThat(crossing.traffic(0, 1)).isEqualTo(new Traffic(1, 0, 0, 0, 0, 0, 0));
    }

    @Test
    void shouldPassNothingOneWayWhenThatDirectionIsCut() {
        conditions(0, 1, Conditions.CUT);
        enter(0, 1, 1, 0);
        enter(1, 0, 2, 0);
        enter(0, 2, 3, 0);

        assertThat(arrivals).containsExactly(new Arrival(0, 2), new Arrival(2, 3));
        assertThat(crossing.traffic(0, 1)).isEqualTo(new Traffic(0, 1, 0, 0, 0, 0, 0));
    }

    @Test
    void shouldDropWhatIsUnderWayWhenItsDirectionIsCut() {
        conditions(0, 1, Conditions.delayed(Duration.ofMillis(5), Duration.ZERO));
        enter(0, 1, 1, 0);
        conditions(0, 1, Conditions.CUT);

        assertThat(crossing.leave(10 * MS)).isEqualTo(-1);
        assertThat(arrivals).isEmpty();
        assertThat(crossing.traffic(0, 1)).isEqualTo(new Traffic(0, 1, 0, 0, 0, 1, 0));
    }

    @Test
    void shouldDeliverWhenDueAndNotBefore() {
        long delayNs = Duration.ofSeconds(7).toNanos();
        conditions(0, 1, new Conditions(false, 0, delayNs, 0, 0, 0));
        enter(0, 1, 1, 0);
        enter(0, 1, 2, 3);

        assertThat(crossing.leave(delayNs - 1)).isEqualTo(1);
        assertThat(arrivals).isEmpty();
        assertThat(crossing.leave(delayNs)).isEqualTo(3);
        assertThat(arrivals).containsExactly(new Arrival(1, 1));
        assertThat(crossing.leave(delayNs + 3)).isEqualTo(-1);
        assertThat(arrivals).containsExactly(new Arrival(1, 1), new Arrival(1, 2));
    }

    @Test
    void shouldDeliverWhenDueThoughTheClockWraps() {
        conditions(0, 1, new Conditions(false, 0, 10, 0, 0, 0));
        enter(0, 1, 1, Long.MAX_VALUE - 15);
        enter(0, 1, 2, Long.MAX_VALUE - 5);

        assertThat(crossing.leave(Long.MAX_VALUE)).isEqualTo(5);
        assertThat(crossing.leave(Long.MIN_VALUE + 4)).isEqualTo(-1);
        assertThat(arrivals).containsExactly(new Arrival(1, 1), new Arrival(1, 2));
    }

    @Test
    void shouldKeepTheOrderWhenDelaysDiffer() {
        conditions(0, 1, Conditions.delayed(Duration.ofMillis(1), Duration.ofMillis(50)));
        IntStream.range(0, 50).forEach(number -> enter(0, 1, number, number));

        List<Integer> waves = new ArrayList<>();
        for (long nowNs = 0; nowNs <= 60 * MS; nowNs += MS) {
            int before = arrivals.size();
            crossing.leave(nowNs);
            if (arrivals.size() > before) {
                waves.add(arrivals.size() - before);
            }
        }
        assertThat(arrivals).extracting(Arrival::number).containsExactlyElementsOf(numbers(50));
        assertThat(waves).as("they do not all come at once; seed " + SEED).hasSizeGreaterThan(2);
    }

    @Test
    void shouldLetLaterFramesPassWhatIsUnderWayWhenTheDelayEnds() {
        conditions(0, 1, Conditions.delayed(Duration.ofSeconds(10), Duration.ZERO));
        enter(0, 1, 1, 0);
        conditions(0, 1, Conditions.CLEAR);
        enter(0, 1, 2, MS);
        crossing.leave(Duration.ofSeconds(10).toNanos());

        assertThat(arrivals).containsExactly(new Arrival(1, 2), new Arrival(1, 1));
    }

    @Test
    void shouldKeepTheOrderOfADirectionWhenOnlyOthersChange() {
        Conditions[] all = clear();
        all[1] = Conditions.delayed(Duration.ofMillis(1), Duration.ofMillis(50));
        crossing.conditions(all);
        for (int number = 0; number < 50; number++) {
            enter(0, 1, number, number);
            all[HOSTS] = number % 2 == 0 ? Conditions.CUT : Conditions.CLEAR;
            crossing.conditions(all);
        }
        crossing.leave(60 * MS);

        assertThat(arrivals).extracting(Arrival::number).containsExactlyElementsOf(numbers(50));
    }

    @Test
    void shouldLoseAboutThatManyWhenFramesAreLost() {
        conditions(0, 1, Conditions.CLEAR.withLoss(200));
        IntStream.range(0, 10_000).forEach(number -> enter(0, 1, number, 0));

        Traffic traffic = crossing.traffic(0, 1);
        assertThat(traffic.lost()).as("seed " + SEED).isBetween(1_800L, 2_200L);
        assertThat(traffic.passed()).isEqualTo(10_000 - traffic.lost()).isEqualTo(arrivals.size());
    }

    @Test
    void shouldDeliverTwiceWhenDuplicated() {
        conditions(0, 1, new Conditions(false, 0, MS, 0, 1_000, 0));
        enter(0, 1, 1, 0);
        enter(0, 1, 2, 0);
        crossing.leave(MS);

        assertThat(arrivals).extracting(Arrival::number).containsExactly(1, 1, 2, 2);
        assertThat(crossing.traffic(0, 1)).isEqualTo(new Traffic(4, 0, 0, 2, 0, 4, 0));
    }

    @Test
    void shouldHoldSomeBackAndLoseNoneWhenReordered() {
        conditions(0, 1, Conditions.CLEAR.withReordering(300));
        for (int number = 0; number < 200; number++) {
            crossing.leave(number * MS);
            enter(0, 1, number, number * MS);
        }
        crossing.leave(200 * MS + Crossing.HOLD_BACK_NS);

        List<Integer> order = arrivals.stream().map(Arrival::number).toList();
        assertThat(order).containsExactlyInAnyOrderElementsOf(numbers(200));
        assertThat(order).as("seed " + SEED).isNotEqualTo(numbers(200));
        assertThat(crossing.traffic(0, 1).reordered()).as("seed " + SEED).isBetween(30L, 90L);
    }

    @Test
    void shouldDropTheNewestAndCountItWhenTooManyAreUnderWay() {
        conditions(0, 1, Conditions.delayed(Duration.ofMillis(1), Duration.ZERO));
        IntStream.range(0, 130).forEach(number -> enter(0, 1, number, 0));
        crossing.leave(MS);
        enter(0, 1, 200, MS);
        crossing.leave(2 * MS);

        List<Integer> expected = new ArrayList<>(numbers(100));
        expected.add(200);
        assertThat(arrivals).extracting(Arrival::number).containsExactlyElementsOf(expected);
        assertThat(crossing.traffic(0, 1).overflowed()).isEqualTo(30);
    }

    @Test
    void shouldFareTheSameWhenTheSeedIsTheSame() {
        assertThat(fate(1)).isEqualTo(fate(1)).isNotEqualTo(fate(2));
    }

    private static List<Integer> fate(long seed) {
        List<Integer> arrived = new ArrayList<>();
        Crossing one = new Crossing(
                2,
                new SplittableRandom(seed),
                CAPACITY_BYTES,
                (to, frame) -> arrived.add(frame.getInt(frame.position())));
        Conditions[] all = new Conditions[4];
        Arrays.fill(all, new Conditions(false, 100, MS, MS, 100, 100));
        one.conditions(all);
        for (int number = 0; number < 200; number++) {
            one.enter(0, 1, frame(number), number * MS);
            one.leave(number * MS);
        }
        return arrived;
    }

    @Test
    void shouldRefuseConditionsThatCannotBe() {
        assertThatThrownBy(() -> Conditions.CLEAR.withLoss(1_001)).hasMessageContaining("1001");
        assertThatThrownBy(() -> new Conditions(false, 0, -1, 0, 0, 0)).hasMessageContaining("delay");
    }

    private static Conditions[] clear() {
        Conditions[] all = new Conditions[HOSTS * HOSTS];
        Arrays.fill(all, Conditions.CLEAR);
        return all;
    }

    private void conditions(int from, int to, Conditions conditions) {
        Conditions[] all = clear();
        all[from * HOSTS + to] = conditions;
        crossing.conditions(all);
    }

    private void enter(int from, int to, int number, long nowNs) {
        crossing.enter(from, to, frame(number), nowNs);
    }

    private static ByteBuffer frame(int number) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(0, number);
    }

    private static List<Integer> numbers(int count) {
        return IntStream.range(0, count).boxed().toList();
    }
}
