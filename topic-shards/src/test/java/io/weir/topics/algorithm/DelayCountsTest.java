package io.weir.topics.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class DelayCountsTest {
    @Test
    void shouldCountWhatIsLongerAndFindQuantilesToSixPercent() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int run = 0; run < 50; run++) {
            DelayCounts counts = new DelayCounts();
            long[] delays = new long[2_000];
            for (int i = 0; i < delays.length; i++) {
                delays[i] = (long) Math.exp(8 + 12 * random.nextDouble());
                counts.add(delays[i], 1);
            }
            DelayCounts.Window window = counts.take();
            Arrays.sort(delays);
            long p99 = delays[1_979];
            assertThat((double) window.quantileNs(0.99)).as("seed %d", seed).isCloseTo(p99, within(0.07 * p99));
            long bound = delays[random.nextInt(delays.length)];
            long least =
                    Arrays.stream(delays).filter(each -> each > 1.07 * bound).count();
            long most =
                    Arrays.stream(delays).filter(each -> each > 0.93 * bound).count();
            assertThat(window.longerThan(bound)).as("seed %d", seed).isBetween(least, most);
            assertThat(window.messages()).isEqualTo(delays.length);
        }
    }

    @Test
    void shouldBeginAnewWhenItWasTaken() {
        DelayCounts counts = new DelayCounts();
        counts.add(5_000_000, 10);
        counts.add(50_000, 1);
        DelayCounts.Window first = counts.take();
        assertThat(first.batches()).isEqualTo(2);
        assertThat(first.messages()).isEqualTo(11);
        assertThat(first.longerThan(1_000_000)).isEqualTo(10);
        assertThat(counts.isEmpty()).isTrue();
        assertThat(counts.take().messages()).isZero();
        assertThat(counts.take().quantileNs(0.99)).isZero();
    }

    @Test
    void shouldTakeAnyDelay() {
        DelayCounts counts = new DelayCounts();
        for (long delay : new long[] {Long.MIN_VALUE, -1, 0, 1, 1_023, 1_024, 1L << 39, 1L << 40, Long.MAX_VALUE}) {
            counts.add(delay, 1);
        }
        assertThat(counts.take().longerThan(1L << 38)).isEqualTo(3);
    }
}
