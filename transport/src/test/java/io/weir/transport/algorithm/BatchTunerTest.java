package io.weir.transport.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.fail;
import static org.assertj.core.api.Assertions.within;

import com.sun.management.ThreadMXBean;
import io.weir.transport.algorithm.BatchTuner.Bounds;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class BatchTunerTest {
    private static final long MS = 1_000_000L;

    @Test
    void shouldTakeNothingBeforeThePollWhenMoreThanNWait() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 4, 0);

        assertThat(tuner.take(9, 50 * MS - 1)).isZero();
        assertThat(tuner.take(9, 50 * MS)).isEqualTo(4);
    }

    @Test
    void shouldTakeAtOnceWhenNWaitAndTheBoundsSaySo() {
        BatchTuner tuner = new BatchTuner(Bounds.client(), 4, 0);

        assertThat(tuner.take(3, 1)).isZero();
        assertThat(tuner.take(4, 2)).isEqualTo(4);
    }

    @Test
    void shouldTakeAllThatWaitsWhenABatchIsOneRequest() {
        BatchTuner tuner = new BatchTuner(Bounds.client(), 4, 0);

        assertThat(tuner.take(300, 1)).isEqualTo(300);
        tuner.handedOver(2);
        assertThat(tuner.take(5_000, 3)).as("no more than the largest batch").isEqualTo(1_024);
    }

    @Test
    void shouldHalveNForEveryPollThatNobodyMadeWhileNothingWaited() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 40, 0);

        tuner.resumed(149 * MS);

        assertThat(tuner.batch()).as("polls at 50 and 100 ms").isEqualTo(10);
        assertThat(tuner.nextTakeNs()).isEqualTo(199 * MS);
        tuner.resumed(10_000 * MS);
        assertThat(tuner.batch()).isEqualTo(1);
    }

    @Test
    void shouldCountTheLongestWaitFromTheFirstMessageThatWaits() {
        BatchTuner tuner = new BatchTuner(Bounds.fixed(10, 20 * MS, 100 * MS), 10, 0);

        tuner.resumed(1_000 * MS);

        assertThat(tuner.take(3, 1_000 * MS)).isZero();
        assertThat(tuner.take(3, 1_099 * MS)).isZero();
        assertThat(tuner.take(3, 1_100 * MS)).isEqualTo(3);
    }

    @Test
    void shouldNotLearnTheCapacityFromMessagesThatWereLost() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 1, 0);
        tuner.started(5, 0);

        tuner.lost(5, 10 * MS);

        assertThat(tuner.capacityPerSecond()).isNaN();
        assertThatIllegalStateException().isThrownBy(() -> tuner.lost(1, 20 * MS));
    }

    @Test
    void shouldHalveNWhenThePollFindsTooFew() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 11, 0);

        assertThat(tuner.take(10, 50 * MS)).isZero();

        assertThat(tuner.batch()).isEqualTo(5);
        assertThat(tuner.nextTakeNs()).isEqualTo(100 * MS);
    }

    @Test
    void shouldRaiseNByOneWhenHandedOverBeforeTheNextPoll() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 4, 0);

        tuner.take(4, 50 * MS);
        tuner.handedOver(99 * MS);

        assertThat(tuner.batch()).isEqualTo(5);
        assertThat(tuner.pollNs()).isEqualTo((long) (1.2 * 49 * MS));
    }

    @Test
    void shouldLowerNByOneWhenHandedOverAfterTheNextPoll() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 4, 0);

        tuner.take(4, 50 * MS);
        tuner.handedOver(100 * MS);

        assertThat(tuner.batch()).isEqualTo(3);
        assertThat(tuner.pollNs()).isEqualTo(60 * MS);
        assertThat(tuner.nextTakeNs()).as("the missed poll is due").isEqualTo(100 * MS);
    }

    @Test
    void shouldPublishWhatIsThereWhenTHasPassed() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 1_000, 0);
        for (long nowNs = 50 * MS; nowNs < 200 * MS; nowNs += 50 * MS) {
            assertThat(tuner.take(3, nowNs)).isZero();
        }

        assertThat(tuner.take(3, 200 * MS)).isEqualTo(3);

        int before = tuner.batch();
        tuner.handedOver(210 * MS);
        assertThat(tuner.batch()).as("N after a batch cut short").isEqualTo(before);
    }

    @Test
    void shouldWaitNoLongerThanTWhenTIsNotAMultipleOfThePoll() {
        BatchTuner tuner = new BatchTuner(Bounds.fixed(10, 70 * MS, 100 * MS), 10, 0);

        tuner.take(1, 70 * MS);

        assertThat(tuner.nextTakeNs()).isEqualTo(100 * MS);
        assertThat(tuner.take(1, 100 * MS)).isEqualTo(1);
    }

    @Test
    void shouldFilterTheLoadAsEquation1Says() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 1, 0);
        tuner.arrived(5);
        tuner.take(0, 50 * MS);
        assertThat(tuner.loadPerSecond()).isEqualTo(100);

        tuner.arrived(1);
        tuner.take(0, 100 * MS);

        assertThat(tuner.loadPerSecond()).isEqualTo(0.5 * 100 + 0.5 * 20);
    }

    @Test
    void shouldFilterTheCapacityAsEquation2Says() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 1, 0);
        long first = tuner.started(1, 0);
        long second = tuner.started(1, 0);

        tuner.acknowledged(1, 0, first, 100 * MS);
        assertThat(tuner.capacityPerSecond()).as("2 under way for 100 ms").isCloseTo(20, within(1e-9));

        tuner.acknowledged(1, 0, second, 200 * MS);
        assertThat(tuner.capacityPerSecond())
                .as("2 for 100 ms and 1 for 100 ms: 1.5 in 200 ms")
                .isCloseTo(0.75 * 20 + 0.25 * 7.5, within(1e-9));
    }

    @Test
    void shouldLimitNToWhatTheBrokerTakesInAPollAndOneMore() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 40, 0);
        long mark = tuner.started(10, 0);
        tuner.acknowledged(10, 0, mark, 100 * MS);

        tuner.take(40, 100 * MS);
        tuner.handedOver(101 * MS);

        assertThat(tuner.batch()).as("100 messages/s in 50 ms, and one").isEqualTo(6);
    }

    @Test
    void shouldKeepProbingWhenTheBrokerTakesWhateverItGets() {
        for (long transferNs : new long[] {10 * MS, 49 * MS, 50 * MS, 140 * MS, 1_000 * MS}) {
            BatchTuner tuner = new BatchTuner(Bounds.paper(), 1, 0);

            publish(tuner, 0, 200, transferNs, MS);

            assertThat(tuner.batch())
                    .as("N with transfers of %d ns", transferNs)
                    .isGreaterThan(20);
        }
    }

    @Test
    void shouldEstimateTheSameCapacityWhenAcknowledgementsComeTogether() {
        BatchTuner together = new BatchTuner(Bounds.paper(), 1, 0);
        together.acknowledged(1, 0, together.started(1, 0), 10 * MS);
        together.acknowledged(3, 20 * MS, together.started(3, 20 * MS), 80 * MS);
        BatchTuner oneByOne = new BatchTuner(Bounds.paper(), 1, 0);
        oneByOne.acknowledged(1, 0, oneByOne.started(1, 0), 10 * MS);
        long mark = oneByOne.started(3, 20 * MS);
        for (int i = 0; i < 3; i++) {
            oneByOne.acknowledged(1, 20 * MS, mark, 80 * MS);
        }

        assertThat(together.capacityPerSecond())
                .as("100 messages/s, then three samples of 50")
                .isCloseTo(oneByOne.capacityPerSecond(), within(1e-9))
                .isCloseTo(50 + 50 * Math.pow(0.75, 3), within(1e-9));
    }

    @Test
    void shouldRecoverWhenCongestionEnds() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 8, 0);
        long nowNs = publish(tuner, 0, 40, 100 * MS, 20 * MS);
        int before = tuner.batch();

        nowNs = publish(tuner, nowNs, 40, 5_000 * MS, 4_000 * MS);
        assertThat(tuner.batch()).as("N while a batch takes seconds").isLessThanOrEqualTo(2);
        assertThat(tuner.pollNs()).isEqualTo(200 * MS);

        publish(tuner, nowNs, 80, 100 * MS, 20 * MS);
        assertThat(tuner.batch()).as("N after the congestion").isGreaterThanOrEqualTo(before);
        assertThat(tuner.pollNs()).isEqualTo(50 * MS);
    }

    @Test
    void shouldStayInItsBoundsWhateverHappens() {
        for (long seed = 0; seed < 2_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int minBatch = random.nextInt(1, 20);
            int maxBatch = random.nextInt(minBatch, 1 << 20);
            long minPollNs = random.nextLong(1, 100 * MS);
            long maxPollNs = random.nextLong(minPollNs, 1_000_000_000 * MS + 1);
            long longestWaitNs = random.nextLong(1, 500 * MS);
            Bounds bounds = new Bounds(
                    minBatch,
                    maxBatch,
                    minPollNs,
                    maxPollNs,
                    longestWaitNs,
                    0.5,
                    0.75,
                    1.2,
                    random.nextBoolean(),
                    random.nextBoolean());
            // Near the wrap of the clock, which must not matter.
            long nowNs = Long.MAX_VALUE - random.nextLong(2_000 * MS);
            BatchTuner tuner = new BatchTuner(bounds, random.nextInt(), nowNs);
            for (int step = 0; step < 200; step++) {
                String where = "seed " + seed + ", step " + step;
                nowNs += random.nextLong(1, 80 * MS);
                tuner.arrived(random.nextInt(0, 1_000_000));
                int waiting = random.nextInt(4) == 0 ? Integer.MAX_VALUE : random.nextInt(0, 50);
                int wanted = tuner.batch();
                int taken = tuner.take(waiting, nowNs);
                requireBetween(0, taken, Math.min(waiting, maxBatch), where);
                if (taken > 0) {
                    int beforeHandOver = tuner.batch();
                    long startedNs = nowNs;
                    long mark = tuner.started(taken, nowNs);
                    nowNs += random.nextLong(0, 300 * MS);
                    tuner.acknowledged(taken, startedNs, mark, nowNs);
                    tuner.handedOver(nowNs);
                    int least = Math.min(beforeHandOver - 1, tuner.largestBatch());
                    requireBetween(Math.max(minBatch, least), tuner.batch(), beforeHandOver + 1, where);
                } else if (tuner.batch() != wanted) {
                    requireBetween(Math.max(minBatch, wanted / 2), tuner.batch(), wanted / 2 + minBatch, where);
                }
                requireBetween(minBatch, tuner.batch(), maxBatch, where);
                requireBetween(minBatch, tuner.largestBatch(), maxBatch, where);
                requireBetween(minPollNs, tuner.pollNs(), maxPollNs, where);
                if (tuner.capacityPerSecond() <= 0 || Double.isInfinite(tuner.capacityPerSecond())) {
                    fail("η_est %s, %s", tuner.capacityPerSecond(), where);
                }
            }
        }
    }

    @Test
    void shouldDecideTheSameWhenTheClockWraps() {
        for (long seed = 0; seed < 100; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            long shiftNs = Long.MAX_VALUE - random.nextLong(1, 5_000 * MS);
            BatchTuner tuner = new BatchTuner(Bounds.paper(), 8, 0);
            BatchTuner wrapping = new BatchTuner(Bounds.paper(), 8, shiftNs);
            long nowNs = 0;
            for (int step = 0; step < 300; step++) {
                nowNs += random.nextLong(60 * MS);
                int waiting = random.nextInt(12);
                int taken = tuner.take(waiting, nowNs);
                assertThat(wrapping.take(waiting, nowNs + shiftNs))
                        .as("seed %d, step %d", seed, step)
                        .isEqualTo(taken);
                if (taken > 0) {
                    long mark = tuner.started(taken, nowNs);
                    long wrappingMark = wrapping.started(taken, nowNs + shiftNs);
                    long doneNs = nowNs + random.nextLong(90 * MS);
                    tuner.handedOver(doneNs);
                    wrapping.handedOver(doneNs + shiftNs);
                    tuner.acknowledged(taken, nowNs, mark, doneNs);
                    wrapping.acknowledged(taken, nowNs + shiftNs, wrappingMark, doneNs + shiftNs);
                    nowNs = doneNs;
                }
                assertThat(wrapping.nextTakeNs() - shiftNs)
                        .as("seed %d, step %d", seed, step)
                        .isEqualTo(tuner.nextTakeNs());
                assertThat(wrapping.batch()).as("seed %d, step %d", seed, step).isEqualTo(tuner.batch());
            }
        }
    }

    @Test
    void shouldNeverLeaveAMessageWaitingLongerThanT() {
        for (long seed = 0; seed < 200; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            BatchTuner tuner = new BatchTuner(Bounds.paper(), random.nextInt(1, 2_000), 0);
            long nowNs = 0;
            long waitsSinceNs = -1;
            for (int step = 0; step < 200; step++) {
                nowNs = Math.max(nowNs, tuner.nextTakeNs());
                if (waitsSinceNs < 0 && random.nextInt(3) == 0) {
                    waitsSinceNs = nowNs;
                }
                if (tuner.take(waitsSinceNs < 0 ? 0 : 1, nowNs) > 0) {
                    assertThat(nowNs - waitsSinceNs)
                            .as("seed %d, step %d", seed, step)
                            .isLessThanOrEqualTo(200 * MS);
                    waitsSinceNs = -1;
                    tuner.handedOver(nowNs);
                } else if (waitsSinceNs >= 0) {
                    assertThat(nowNs - waitsSinceNs)
                            .as("seed %d, step %d", seed, step)
                            .isLessThan(200 * MS);
                }
            }
        }
    }

    @Test
    void shouldPollNoSoonerWhenHandingOverTakesLonger() {
        Bounds bounds = Bounds.paper();
        long previousNs = 0;
        for (long mptNs : new long[] {0, 1, 40 * MS, 50 * MS, 100 * MS, 166 * MS, 167 * MS, 1L << 40, Long.MAX_VALUE}) {
            long pollNs = bounds.pollNs(mptNs);
            assertThat(pollNs).as("T_poll for T_mpt = %d", mptNs).isBetween(Math.max(previousNs, 50 * MS), 200 * MS);
            previousNs = pollNs;
        }
        assertThat(bounds.pollNs(100 * MS)).isEqualTo(120 * MS);
    }

    @Test
    void shouldNotMoveWhenTheBoundsAreFixed() {
        BatchTuner tuner = new BatchTuner(Bounds.fixed(7, 50 * MS, 200 * MS), 1, 0);
        long nowNs = 0;
        for (int i = 0; i < 50; i++) {
            nowNs = Math.max(nowNs, tuner.nextTakeNs());
            if (tuner.take(i % 11, nowNs) > 0) {
                nowNs += i % 3 * 40 * MS;
                tuner.handedOver(nowNs);
            }
            assertThat(tuner.batch()).isEqualTo(7);
            assertThat(tuner.pollNs()).isEqualTo(50 * MS);
        }
    }

    @Test
    void shouldAllocateNothingWhenMessagesPass() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        BatchTuner tuner = new BatchTuner(Bounds.client(), 1, 0);
        long nowNs = pass(tuner, 0, 20_000);

        long before = threads.getCurrentThreadAllocatedBytes();
        pass(tuner, nowNs, 200_000);
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;

        assertThat(allocated).as("bytes for 200,000 messages").isLessThan(10_000);
    }

    @Test
    void shouldRefuseBoundsThatAreNotStable() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Bounds(1, 10, 1, 2, 3, 0.5, 0.75, 1.0, false, false))
                .withMessageContaining("beta 1.0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Bounds(1, 10, 1, 2, 3, 0.5, 1.0, 1.2, false, false))
                .withMessageContaining("gamma 1.0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Bounds(0, 10, 1, 2, 3, 0.5, 0.75, 1.2, false, false))
                .withMessageContaining("batch 0 to 10");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Bounds(1, 10, 5, 2, 3, 0.5, 0.75, 1.2, false, false))
                .withMessageContaining("5 to 2 ns");
    }

    @Test
    void shouldRefuseAnAcknowledgementOfWhatWasNeverSent() {
        BatchTuner tuner = new BatchTuner(Bounds.paper(), 1, 0);

        assertThatIllegalStateException().isThrownBy(() -> tuner.acknowledged(1, 0, 0, 1));
        assertThatIllegalStateException().isThrownBy(() -> tuner.handedOver(1));
    }

    /**
     * Publishes a full batch at every poll, each acknowledged after {@code transferNs}, handed over after
     * {@code mptNs}.
     */
    private static long publish(BatchTuner tuner, long fromNs, int batches, long transferNs, long mptNs) {
        record Transfer(int messages, long startedNs, long mark) {}
        ArrayDeque<Transfer> transfers = new ArrayDeque<>();
        long nowNs = fromNs;
        for (int i = 0; i < batches || !transfers.isEmpty(); ) {
            long pollNs = Math.max(nowNs, tuner.nextTakeNs());
            if (i == batches || !transfers.isEmpty() && transfers.peek().startedNs + transferNs <= pollNs) {
                Transfer done = transfers.poll();
                nowNs = done.startedNs + transferNs;
                tuner.acknowledged(done.messages, done.startedNs, done.mark, nowNs);
            } else {
                nowNs = pollNs;
                int taken = tuner.take(10_000, nowNs);
                if (taken > 0) {
                    transfers.add(new Transfer(taken, nowNs, tuner.started(taken, nowNs)));
                    tuner.handedOver(nowNs + mptNs);
                    nowNs += mptNs;
                    i++;
                }
            }
        }
        return nowNs;
    }

    private static long pass(BatchTuner tuner, long fromNs, int messages) {
        long nowNs = fromNs;
        int waiting = 0;
        for (int i = 0; i < messages; i++) {
            nowNs += 3_000;
            tuner.arrived(1);
            int taken = tuner.take(++waiting, nowNs);
            if (taken > 0) {
                waiting -= taken;
                long mark = tuner.started(taken, nowNs);
                tuner.handedOver(nowNs + 500);
                tuner.acknowledged(taken, nowNs, mark, nowNs + 1_000);
            }
        }
        return nowNs;
    }

    private static void requireBetween(long least, long value, long most, String where) {
        if (value < least || value > most) {
            fail("%d is not between %d and %d, %s", value, least, most, where);
        }
    }
}
