package io.weir.topics.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each scheduler against a list that says the same more slowly, and what none of them may do. */
class SchedulersTest {
    private static final long SEED = 17;
    private static final long MS = 1_000_000L;
    private static final long MAX_DELAY_NS = 5_000 * MS;
    /** Near the end of the clock, so that keys wrap. */
    private static final long START = Long.MAX_VALUE - 2_000 * MS;

    private final Random random = new Random(SEED);
    private final MessageTag tag = new MessageTag();
    private final LongSegments segments = new LongSegments();

    private record Waiting(long entry, long afterStart, long sequence) {}

    private MessageTag some(int workflow, long nowNs) {
        tag.begin(workflow, nowNs).cost(random.nextInt(20) * MS).remaining(random.nextInt(200) * MS);
        tag.work(random.nextInt(100) * MS, random.nextInt(300) * MS);
        return random.nextInt(4) == 0 ? tag : tag.deadline(nowNs + (random.nextInt(1_000) - 100) * MS);
    }

    /** The rules again, from START on, in the words of the design. */
    private static long naiveKey(Schedule schedule, MessageTag tag) {
        long arrival = tag.arrivalNs - START;
        long deadline = tag.deadlineNs == MessageTag.NO_DEADLINE ? arrival + MAX_DELAY_NS : tag.deadlineNs - START;
        return switch (schedule) {
            case FIFO -> 0;
            case EDF -> Math.max(arrival, deadline);
            case LSTF -> Math.max(arrival, Math.max(arrival, deadline) - tag.remainingNs);
            case SJF -> arrival + 20 * tag.totalWorkNs;
            case SRTF -> arrival + 20 * tag.remainingNs;
            case LASF -> arrival + 20 * tag.workSoFarNs;
        };
    }

    @ParameterizedTest
    @EnumSource
    void shouldServeByKeyAndThenByJoining(Schedule schedule) {
        EntryQueue queue = EntryQueue.of(schedule, 400, MAX_DELAY_NS, segments);
        List<Waiting> model = new ArrayList<>();
        Comparator<Waiting> order =
                Comparator.comparingLong(Waiting::afterStart).thenComparing(Waiting::sequence);
        long nowNs = START;
        for (int step = 0; step < 20_000; step++) {
            nowNs += random.nextInt(3) * MS;
            if (model.isEmpty() || random.nextInt(100) < 55) {
                some(0, nowNs);
                boolean added = queue.add(step, tag);
                assertThat(added).isEqualTo(model.size() < 400);
                if (added) {
                    model.add(new Waiting(step, naiveKey(schedule, tag), step));
                }
            } else {
                Waiting first = model.stream().min(order).orElseThrow();
                model.remove(first);
                assertThat(queue.peek()).as("seed %d, step %d", SEED, step).isEqualTo(first.entry);
                assertThat(queue.poll()).isEqualTo(first.entry);
            }
            assertThat(queue.size()).isEqualTo(model.size());
        }
    }

    /** A hostile publisher claims past deadlines, no work so far, and all or nothing to come. */
    @ParameterizedTest
    @EnumSource
    void shouldLetNobodyOvertakeWhoComesAfterTheKey(Schedule schedule) {
        EntryQueue queue = EntryQueue.of(schedule, 100_000, MAX_DELAY_NS, segments);
        queue.add(-1, tag.begin(0, START).cost(10 * MS).remaining(10 * MS).work(10 * MS, 10 * MS));
        long latestMs = naiveKey(schedule, tag) / MS;
        long nowMs = 0;
        long served = 0;
        while (served >= 0) {
            nowMs++;
            for (int i = 0; i < 2; i++) {
                long nowNs = START + nowMs * MS;
                tag.begin(1, nowNs).deadline(nowNs - 3_600_000 * MS).remaining(i == 0 ? Long.MAX_VALUE : 0);
                queue.add(nowMs, tag);
            }
            served = queue.poll();
            assertThat(served)
                    .as("arrival of one that overtakes with %s", schedule)
                    .isLessThanOrEqualTo(latestMs);
        }
        assertThat(served).isEqualTo(-1);
    }

    @Test
    void shouldDivideConsumerTimeByWeightWhateverMessagesCost() {
        double[] weights = {1, 1, 2, 4};
        long[] costsNs = {MS, 50 * MS, 10 * MS, 3 * MS};
        FairQueue queue = new FairQueue(4, Schedule.FIFO, 10_000, MAX_DELAY_NS, segments);
        for (int w = 0; w < 4; w++) {
            queue.weight(w, weights[w]);
        }
        int[] waiting = new int[4];
        double[] servedNs = new double[4];
        long entry = 0;
        for (int step = 0; step < 50_000; step++) {
            for (int w = 0; w < 4; w++) {
                while (waiting[w] < 20) {
                    queue.add(entry++ * 4 + w, tag.begin(w, START).cost(costsNs[w]));
                    waiting[w]++;
                }
            }
            int w = (int) (queue.poll() % 4);
            waiting[w]--;
            servedNs[w] += costsNs[w];
            for (int other = 0; other < 4; other++) {
                // The stated window: a quantum (at most the largest cost) and one message of each.
                double apart = servedNs[w] / weights[w] - servedNs[other] / weights[other];
                assertThat(apart).as("step %d, %d and %d", step, w, other).isLessThan(3.0 * 50 * MS);
            }
        }
        assertThat(Arrays.stream(servedNs).min().orElseThrow()).isPositive();
    }

    @Test
    void shouldKeepEachWorkflowsOwnOrderAndLoseNothing() {
        FairQueue queue = new FairQueue(5, Schedule.FIFO, 500, MAX_DELAY_NS, segments);
        List<ArrayDeque<Long>> model = new ArrayList<>();
        for (int w = 0; w < 5; w++) {
            model.add(new ArrayDeque<>());
        }
        int size = 0;
        for (long step = 0; step < 50_000; step++) {
            if (size == 0 || random.nextInt(100) < 52) {
                int w = random.nextInt(5);
                if (queue.add(step * 5 + w, some(w, START))) {
                    model.get(w).add(step * 5 + w);
                    size++;
                }
            } else {
                long next = queue.peek();
                assertThat(queue.poll()).isEqualTo(next);
                assertThat(model.get((int) (next % 5)).poll())
                        .as("seed %d, step %d", SEED, step)
                        .isEqualTo(next);
                size--;
            }
            assertThat(queue.size()).isEqualTo(size).isLessThanOrEqualTo(500);
        }
    }

    @Test
    void shouldOrderInsideAWorkflowByAnotherSchedule() {
        FairQueue queue = new FairQueue(2, Schedule.EDF, 100, MAX_DELAY_NS, segments);
        queue.add(1, tag.begin(0, 0).cost(MS).deadline(30 * MS));
        queue.add(2, tag.begin(0, 0).cost(MS).deadline(10 * MS));
        queue.add(3, tag.begin(0, 0).cost(MS).deadline(20 * MS));
        assertThat(new long[] {queue.poll(), queue.poll(), queue.poll()}).containsExactly(2, 3, 1);
    }

    @Test
    void shouldLeaveRoomForOthersWhenOneFloods() {
        FairQueue queue = new FairQueue(3, Schedule.FIFO, 900, MAX_DELAY_NS, segments);
        int flooded = 0;
        while (queue.add(flooded, tag.begin(1, START).cost(MS))) {
            flooded++;
        }
        assertThat(flooded).isEqualTo(800);
        assertThat(queue.add(7, tag.begin(2, START).cost(MS))).isTrue();
        assertThat(queue.add(8, tag.begin(1, START).cost(MS))).isFalse();
        queue.poll();
        assertThat(queue.poll()).as("in the second turn").isEqualTo(7);
    }

    @Test
    void shouldServeAtOnceWhenAllAreInDebt() {
        FairQueue queue = new FairQueue(2, Schedule.FIFO, 100, MAX_DELAY_NS, segments);
        queue.weight(0, 1e-6);
        queue.weight(1, 1e-6);
        for (int i = 0; i < 50; i++) {
            queue.add(i, tag.begin(i % 2, START).cost(i % 2 == 0 ? MessageTag.LONGEST_NS : 0));
        }
        for (int i = 0; i < 50; i++) {
            queue.poll();
        }
        assertThat(queue.isEmpty()).isTrue();
    }

    @Test
    void shouldSayThatItIsEmpty() {
        for (Schedule schedule : Schedule.values()) {
            assertThatThrownBy(() -> EntryQueue.of(schedule, 1, 1, segments).poll())
                    .hasMessageContaining("empty");
        }
        assertThatThrownBy(() -> new FairQueue(1, Schedule.EDF, 1, 1, segments).peek())
                .hasMessageContaining("empty");
    }

    @Test
    void shouldAllocateNothingOnceGrown() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        List<EntryQueue> queues = new ArrayList<>();
        for (Schedule schedule : Schedule.values()) {
            queues.add(EntryQueue.of(schedule, 5_000, MAX_DELAY_NS, segments));
            queues.add(new FairQueue(8, schedule, 5_000, MAX_DELAY_NS, segments));
        }
        for (EntryQueue queue : queues) {
            pass(queue, 20_000);
            long least = Long.MAX_VALUE;
            for (int batch = 0; batch < 3; batch++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                pass(queue, 50_000);
                least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
            }
            assertThat(least / 50_000.0).as("bytes a message").isLessThan(0.1);
        }
    }

    private void pass(EntryQueue queue, int messages) {
        while (queue.size() < 1_000) {
            queue.add(0, tag.begin(queue.size() % 8, START));
        }
        for (int i = 0; i < messages; i++) {
            tag.begin(i % 8, START + i).cost(i % 13 * MS).remaining(i % 7 * MS).work(i % 5 * MS, i % 11 * MS);
            queue.add(i, tag.deadline(START + i + i % 17 * MS));
            queue.poll();
        }
    }

    /**
     * Wisp's Fig. 4: w1 runs at a1 and b1, w2 at a1, b1 and c1, and both contend at a1 and b1. The figure has no
     * numbers; here a1 takes 1, b1 2 and c1 2, and the deadlines are 5 and 6.
     */
    @Test
    void shouldMissADeadlineWithEdfAndMeetBothWithLstf() {
        assertThat(endsOf(Schedule.EDF)).containsExactly(3, 7);
        assertThat(endsOf(Schedule.LSTF)).containsExactly(5, 5);
    }

    private long[] endsOf(Schedule schedule) {
        long[] servicesMs = {1, 2, 2};
        int[] stations = {2, 3};
        long[] deadlinesMs = {5, 6};
        EntryQueue[] lines = new EntryQueue[3];
        Arrays.setAll(lines, i -> EntryQueue.of(schedule, 10, MAX_DELAY_NS, segments));
        int[] serving = {-1, -1, -1};
        long[] untilMs = new long[3];
        long[] endsMs = new long[2];
        for (int w = 0; w < 2; w++) {
            join(lines[0], w, 0, 0, servicesMs, stations[w], deadlinesMs[w]);
        }
        for (long nowMs = 0; nowMs < 20; nowMs++) {
            for (int station = 0; station < 3; station++) {
                int done = serving[station];
                if (done >= 0 && untilMs[station] == nowMs) {
                    serving[station] = -1;
                    if (station + 1 == stations[done]) {
                        endsMs[done] = nowMs;
                    } else {
                        int next = station + 1;
                        join(lines[next], done, next, nowMs, servicesMs, stations[done], deadlinesMs[done]);
                    }
                }
            }
            for (int station = 0; station < 3; station++) {
                if (serving[station] < 0 && !lines[station].isEmpty()) {
                    serving[station] = (int) lines[station].poll();
                    untilMs[station] = nowMs + servicesMs[station];
                }
            }
        }
        return endsMs;
    }

    private void join(EntryQueue line, int w, int station, long nowMs, long[] servicesMs, int last, long deadlineMs) {
        long remainingMs = Arrays.stream(servicesMs, station, last).sum();
        line.add(w, tag.begin(w, nowMs * MS).deadline(deadlineMs * MS).remaining(remainingMs * MS));
    }
}
