package io.weir.supervisor.placement.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.placement.algorithm.SequentialTest.Verdict;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SequentialTestTest {
    private static final Slo SLO = Slo.p99(1_000_000);
    private static final int RUNS = 400;
    private static final int MOST_WINDOWS = 400;

    private static Measurement window(long messages, long tooSlow, long snug) {
        return new Measurement(1, 0, 1, messages, messages, tooSlow, snug);
    }

    /** Clusters of {@code cluster} messages that are slow together, {@code messages} a window. */
    private static Measurement window(int messages, double part, int cluster, SplittableRandom random) {
        int slow = 0;
        for (int i = 0; i < messages / cluster; i++) {
            slow += random.nextDouble() < part ? cluster : 0;
        }
        return window(messages, slow, slow);
    }

    private record Tried(int wrong, double windows) {}

    private static Tried tried(double part, int cluster, double known, Verdict right) {
        int wrong = 0;
        double windows = 0;
        for (long seed = 1; seed <= RUNS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            SequentialTest test = new SequentialTest(SLO, true, known);
            int at = 0;
            while (test.verdict() == Verdict.OPEN && at++ < MOST_WINDOWS) {
                test.add(window(5_000, part, cluster, random));
            }
            wrong += test.verdictAtTheEnd() == right ? 0 : 1;
            windows += at;
        }
        return new Tried(wrong, windows / RUNS);
    }

    @Test
    void shouldSeldomErrWhenMessagesAreIndependent() {
        assertThat(tried(0.005, 1, 1, Verdict.FITS).wrong()).isLessThan(RUNS / 20);
        assertThat(tried(0.02, 1, 1, Verdict.VIOLATES).wrong()).isLessThan(RUNS / 20);
    }

    @Test
    void shouldSeldomErrWhenMessagesAreSlowInClusters() {
        assertThat(tried(0.005, 50, 50, Verdict.FITS).wrong()).isLessThan(RUNS / 20);
        assertThat(tried(0.02, 50, 50, Verdict.VIOLATES).wrong()).isLessThan(RUNS / 20);
    }

    @Test
    void shouldFindOutAboutClustersWhenNobodyToldOfThem() {
        assertThat(tried(0.005, 250, 1, Verdict.FITS).wrong()).isLessThan(RUNS / 8);
        assertThat(tried(0.02, 250, 1, Verdict.VIOLATES).wrong()).isLessThan(RUNS / 8);
    }

    @Test
    void shouldTakeLongerWhenClustersAreLarger() {
        assertThat(tried(0.005, 1_000, 1_000, Verdict.FITS).windows())
                .isGreaterThan(3 * tried(0.005, 1, 1, Verdict.FITS).windows());
    }

    @Test
    void shouldStopSoonerWhenTheTruthIsFurtherAway() {
        assertThat(tried(0.1, 50, 50, Verdict.VIOLATES).windows())
                .isLessThan(tried(0.02, 50, 50, Verdict.VIOLATES).windows());
    }

    @Test
    void shouldStayOpenWhenItIsToldToLastTheWholeRound() {
        SequentialTest test = new SequentialTest(SLO, false, 1);
        for (int i = 0; i < 100; i++) {
            test.add(window(1_000, 500, 600));
        }
        assertThat(test.verdict()).isEqualTo(Verdict.OPEN);
        assertThat(test.verdictAtTheEnd()).isEqualTo(Verdict.VIOLATES);
    }

    @Test
    void shouldSayNothingWhenThereIsNoMessage() {
        SequentialTest test = new SequentialTest(SLO, true, 1);
        for (int i = 0; i < 100; i++) {
            test.add(window(0, 0, 0));
        }
        assertThat(test.verdictAtTheEnd()).isEqualTo(Verdict.OPEN);
    }

    @Test
    void shouldBeSnugWhenTheQuantileIsJustBelowTheObjective() {
        SequentialTest test = new SequentialTest(SLO, true, 1);
        test.add(window(10_000, 50, 120));
        assertThat(test.snug()).isTrue();
        test.add(window(10_000, 50, 60));
        assertThat(test.snug()).isFalse();
    }
}
