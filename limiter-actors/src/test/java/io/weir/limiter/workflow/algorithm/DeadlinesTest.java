package io.weir.limiter.workflow.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

/** R and L, admission by deadline, and the buckets at entries. */
class DeadlinesTest {
    private static final long MS = 1_000_000L;
    private static final long SECOND = 1_000_000_000L;

    private final Amplification amplification = new Amplification(64, 0);
    private final Announced announced = new Announced(64);

    @Test
    void shouldAddTheWayDownstreamToItsOwnServiceTime() {
        RemainingTimes times = new RemainingTimes(16);
        times.finished(0, 1, 10 * MS, 30 * MS);
        amplification.finished(0, 1, 100, 0);
        amplification.published(Edge.of(0, 1, 2, 1), 300, 0);
        amplification.published(Edge.of(0, 1, 3, 1), 100, 0);
        announced.heard(1, 2, 1, new Announcement(1, 9, 20 * MS, 40 * MS));
        announced.heard(1, 3, 1, new Announcement(1, 9, 100 * MS, 100 * MS));
        times.interval(amplification, announced, 100 * MS);
        // 10 + (3·20 + 1·100) ÷ 4, and 30 + (3·40 + 1·100) ÷ 4.
        assertThat(times.remainingNs(1)).isEqualTo(50 * MS);
        assertThat(times.latencyNs(1)).isEqualTo(85 * MS);
        assertThat(times.remainingNs(2)).isZero();
    }

    @Test
    void shouldCountARareFollowUpByItsRarity() {
        RemainingTimes times = new RemainingTimes(16);
        times.finished(0, 1, 10 * MS, 10 * MS);
        amplification.finished(0, 1, 100, 0);
        amplification.published(Edge.of(0, 1, 2, 1), 10, 0);
        announced.heard(1, 2, 1, new Announcement(1, 9, 100 * MS, 100 * MS));
        times.interval(amplification, announced, 100 * MS);
        assertThat(times.remainingNs(1)).isEqualTo(20 * MS);
    }

    @Test
    void shouldTakeTheSlowestChannel() {
        RemainingTimes times = new RemainingTimes(16);
        times.finished(0, 1, 10 * MS, 10 * MS);
        times.finished(1, 1, 25 * MS, 25 * MS);
        times.interval(amplification, announced, 100 * MS);
        assertThat(times.remainingNs(1)).isEqualTo(25 * MS);
    }

    @Test
    void shouldLetLatencyFallToServiceTimeWhenNothingPasses() {
        RemainingTimes times = new RemainingTimes(16);
        times.finished(0, 1, 10 * MS, 2_000 * MS);
        times.interval(amplification, announced, 100 * MS);
        assertThat(times.latencyNs(1)).isEqualTo(2_000 * MS);
        for (int i = 0; i < 10; i++) {
            times.interval(amplification, announced, 100 * MS);
        }
        assertThat((double) times.latencyNs(1)).isCloseTo(10 * MS + 1_990 * MS / Math.E, within(1e6));
        for (int i = 0; i < 200; i++) {
            times.interval(amplification, announced, 100 * MS);
        }
        assertThat((double) times.latencyNs(1)).isCloseTo(10 * MS, within(1e4));
    }

    @Test
    void shouldRefuseWhatCannotBeInTimeButLetOneProbePass() {
        DeadlineAdmission admission = new DeadlineAdmission();
        long deadlineNs = 300 * MS;
        assertThat(admission.admits(1, deadlineNs, 100 * MS, 200 * MS, 50 * MS, 0))
                .isTrue();
        assertThat(admission.admits(1, deadlineNs, 101 * MS, 200 * MS, 50 * MS, 0))
                .as("the probe")
                .isTrue();
        assertThat(admission.admits(1, deadlineNs, 101 * MS, 200 * MS, 50 * MS, 0))
                .isFalse();
        assertThat(admission.admits(2, deadlineNs, 101 * MS, 200 * MS, 50 * MS, 0))
                .as("another's")
                .isTrue();
        admission.interval();
        assertThat(admission.admits(1, deadlineNs, 101 * MS, 200 * MS, 50 * MS, 0))
                .isTrue();
        assertThat(admission.admits(1, DeadlineAdmission.NONE, Long.MAX_VALUE, SECOND, SECOND, 0))
                .isTrue();
    }

    @Test
    void shouldSpendNoProbeOnAMessageWithoutHope() {
        DeadlineAdmission admission = new DeadlineAdmission();
        assertThat(admission.admits(1, -5, 0, 0, 0, 0)).as("in the past").isFalse();
        assertThat(admission.admits(1, 40 * MS, 0, 60 * MS, 50 * MS, 0)).isFalse();
        assertThat(admission.admits(1, 55 * MS, 0, 60 * MS, 50 * MS, 0)).isTrue();
    }

    @Test
    void shouldDropWhatServiceAloneMakesLate() {
        assertThat(DeadlineAdmission.hopeless(100, 40, 60)).isFalse();
        assertThat(DeadlineAdmission.hopeless(100, 40, 61)).isTrue();
        assertThat(DeadlineAdmission.hopeless(DeadlineAdmission.NONE, Long.MAX_VALUE, 0))
                .isFalse();
    }

    @Test
    void shouldPassSigmaASecondAndASecondsBurst() {
        EntryBuckets buckets = new EntryBuckets();
        assertThat(buckets.takeOrWaitNs(1, 1, 0)).as("unbounded").isZero();
        buckets.sigma(1, 50, 0);
        assertThat(buckets.takeOrWaitNs(1, 1, 0)).as("begins empty").isEqualTo(20 * MS);
        int passed = 0;
        while (buckets.takeOrWaitNs(1, 1, 10 * SECOND) == 0) {
            passed++;
        }
        assertThat(passed).as("depth 1 s").isEqualTo(50);
        assertThat(buckets.expectedWaitNs(1, 4, 10 * SECOND)).isEqualTo(100 * MS);
        assertThat(buckets.takeOrWaitNs(2, 1, 10 * SECOND))
                .as("another workflow")
                .isZero();
        buckets.sigma(1, Double.POSITIVE_INFINITY, 10 * SECOND);
        assertThat(buckets.bounded(1)).isFalse();
    }

    @Test
    void shouldHoldABatchThatIsLargerThanASecondOfSigma() {
        EntryBuckets buckets = new EntryBuckets();
        buckets.sigma(1, 5, 0);
        assertThat(buckets.takeOrWaitNs(1, 20, 0)).isEqualTo(4 * SECOND);
        assertThat(buckets.takeOrWaitNs(1, 20, 4 * SECOND)).isZero();
    }
}
