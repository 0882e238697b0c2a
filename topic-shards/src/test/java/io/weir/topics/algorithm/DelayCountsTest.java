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
    void shouldTellEverythingFromTheBeginningWhateverWasTaken() {
        DelayCounts counts = new DelayCounts();
        assertThat(counts.totals().messages()).isZero();
        assertThat(counts.totals().quantileNs(0.99)).isZero();
        counts.add(5_000_000, 10, true);
        DelayTotals early = counts.totals();
        counts.take();
        counts.add(50_000, 30);
        counts.add(70_000, 60);
        assertThat(counts.take().messages()).isEqualTo(90);
        DelayTotals late = counts.totals();
        assertThat(late.messages()).isEqualTo(100);
        assertThat(late.waited()).isEqualTo(10);
        assertThat(late.longestNs()).isEqualTo(5_000_000);
        assertThat(late.meanNs()).isEqualTo((50_000_000 + 1_500_000 + 4_200_000) / 100.0);
        assertThat((double) late.quantileNs(0.91)).isCloseTo(5_000_000, within(0.032 * 5_000_000));
        DelayTotals between = late.minus(early);
        assertThat(between.messages()).isEqualTo(90);
        assertThat(between.waited()).isZero();
        assertThat(between.sumNs()).isEqualTo(5_700_000);
        assertThat((double) between.longestNs()).isCloseTo(70_000, within(0.032 * 70_000));
        assertThat((double) between.quantileNs(0.3)).isCloseTo(50_000, within(0.032 * 50_000));
        assertThat(between.plus(early).counts()).isEqualTo(late.counts());
    }

    @Test
    void shouldComeBackFromItsClassesAsItWas() {
        DelayCounts counts = new DelayCounts();
        for (int power = 0; power < 45; power++) {
            counts.add((1L << power) + 1, power + 1, power > 20);
        }
        DelayTotals totals = counts.totals();
        DelayTotals again = DelayTotals.of(
                totals.messages(), totals.waited(), totals.sumNs(), totals.longestNs(), totals.classes());
        assertThat(again).usingRecursiveComparison().isEqualTo(totals);
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
