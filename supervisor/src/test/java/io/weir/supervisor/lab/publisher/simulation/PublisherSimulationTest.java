package io.weir.supervisor.lab.publisher.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.transport.algorithm.BatchTuner.Bounds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PublisherSimulationTest {
    private static final long MS = 1_000_000L;
    private static final long SECOND = 1_000 * MS;
    private static final long END = 60 * SECOND;

    @Test
    void shouldDeliverEveryRequestOnceWhenNothingIsSlow() {
        for (long seed = 0; seed < 20; seed++) {
            PublisherRun run = tuned(PublisherModel.paper(), arrivals(2 + 3 * seed, seed), seed);

            assertThat(run.dropped()).as("dropped, seed %d", seed).isZero();
            assertThat(Arrays.stream(run.deliveryOrder()).sorted().toArray())
                    .as("delivered, seed %d", seed)
                    .isEqualTo(IntStream.range(0, run.offered()).toArray());
        }
    }

    @Test
    void shouldLoseOnlyWhatItDropsWhenTheSubscriberIsSlow() {
        for (long seed = 0; seed < 40; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            PublisherModel model = PublisherModel.paper()
                    .withPool(random.nextBoolean(), random.nextInt(3))
                    .withSubscriber(random.nextInt(1, 60), 40 * MS, random.nextLong(SECOND, 20 * SECOND));
            long[] arrivalsNs = arrivals(random.nextDouble(1, 60), seed);
            Bounds bounds =
                    random.nextBoolean() ? Bounds.paper() : Bounds.fixed(random.nextInt(1, 50), 50 * MS, 200 * MS);

            PublisherRun run = PublisherSimulation.run(model, bounds, 1, arrivalsNs, END, seed);

            assertThat(run.delivered() + run.dropped() + run.inside())
                    .as("seed %d", seed)
                    .isEqualTo(run.offered());
            assertThat(run.inside()).as("inside, seed %d", seed).isNotNegative();
            assertThat(Arrays.stream(run.deliveryOrder()).distinct().count())
                    .as("delivered once, seed %d", seed)
                    .isEqualTo(run.delivered());
        }
    }

    @Test
    void shouldDeliverInTheOrderOfTransfersWhenWorkersOvertakeEachOther() {
        for (long seed = 0; seed < 10; seed++) {
            PublisherRun run = tuned(PublisherModel.paper(), arrivals(50, seed), seed);

            assertThat(run.deliveryOrder()).as("seed %d", seed).isEqualTo(run.sendOrder());
        }
    }

    @Test
    void shouldDeliverInTheOrderOfArrivalWhenThereIsOneWorker() {
        PublisherModel oneWorker =
                new PublisherModel(1, 0, true, 1_000, MS, MS, 10 * MS, MS, MS, 0, 4 * MS, 100, MS, 10 * MS);
        for (long seed = 0; seed < 10; seed++) {
            PublisherRun run = tuned(oneWorker, arrivals(40, seed), seed);

            assertThat(run.deliveryOrder())
                    .as("seed %d", seed)
                    .hasSizeGreaterThan(1_000)
                    .isSorted();
        }
    }

    @Test
    void shouldRepeatARunWhenGivenItsSeed() {
        long[] arrivalsNs = arrivals(35, 7);
        PublisherRun first = tuned(PublisherModel.paper(), arrivalsNs, 7);
        PublisherRun again = tuned(PublisherModel.paper(), arrivalsNs, 7);
        PublisherRun other = tuned(PublisherModel.paper(), arrivalsNs, 8);

        assertThat(again.latenciesMs(0, END, END)).isEqualTo(first.latenciesMs(0, END, END));
        assertThat(again.batches()).isEqualTo(first.batches());
        assertThat(other.latenciesMs(0, END, END)).isNotEqualTo(first.latenciesMs(0, END, END));
    }

    @Test
    void shouldDropWhenTheReceiveBufferIsFull() {
        PublisherModel stuck = PublisherModel.paper().withSubscriber(1, 40 * MS, 1_000 * SECOND);

        PublisherRun run = tuned(stuck, arrivals(35, 3), 3);

        assertThat(run.dropped()).isPositive();
        assertThat(run.inside() + run.delivered()).as("kept").isGreaterThan(stuck.workers() + stuck.receiveBuffer());
    }

    @Test
    void shouldDropNothingWhenAWorkerIsReservedForReceiving() {
        PublisherModel stuck = PublisherModel.paper()
                .withSubscriber(1, 40 * MS, 1_000 * SECOND)
                .withPool(true, 1);

        PublisherRun run = tuned(stuck, arrivals(35, 3), 3);

        assertThat(run.dropped()).isZero();
    }

    @Test
    void shouldGiveAFreeWorkerToAReceivedRequestFirstWhenReceivingHasPriority() {
        assertThat(orderOfStart(true)).isEqualTo("publish publish receive publish ");
        assertThat(orderOfStart(false)).isEqualTo("publish publish publish receive ");
    }

    @Test
    void shouldPullOnlyWhatWasQueuedWhenTheSubscriberCameBack() {
        PublisherModel model = new PublisherModel(1, 0, true, 1, 0, 0, 0, 0, 0, 0, 0, 10, SECOND, 1_000 * SECOND);
        double insideGapNs = 0;
        double outsideGapNs = 0;
        for (long seed = 0; seed < 50; seed++) {
            SimulatedTime time = new SimulatedTime();
            SplittableRandom random = new SplittableRandom(seed);
            List<Long> deliveriesNs = new ArrayList<>();
            Broker broker =
                    new Broker(model, time, random.split(), random.split(), message -> deliveriesNs.add(time.nowNs()));
            broker.send(0, () -> {});
            broker.send(1, () -> {});
            while (deliveriesNs.isEmpty()) {
                time.runUntil(time.nowNs() + 10 * MS);
            }
            broker.send(2, () -> {});
            time.runUntil(1_000_000 * SECOND);
            insideGapNs += (deliveriesNs.get(1) - deliveriesNs.get(0)) / 50.0;
            outsideGapNs += (deliveriesNs.get(2) - deliveriesNs.get(1)) / 50.0;
        }

        assertThat(insideGapNs).as("mean gap inside the gate").isBetween(0.5 * SECOND, 2.0 * SECOND);
        assertThat(outsideGapNs).as("mean gap with a vacation in it").isBetween(600.0 * SECOND, 1_400.0 * SECOND);
    }

    @Test
    void shouldLetWritesOvertakeAWaitingReadButNotInterruptOne() {
        SimulatedTime time = new SimulatedTime();
        PublisherModel model = PublisherModel.paper();
        DataStore store = new DataStore(model, time, new SplittableRandom(1));
        StringBuilder order = new StringBuilder();
        store.write(0, () -> order.append("w0 "));
        time.runUntil(SECOND);

        store.read(1, batch -> order.append("r").append(batch.length).append(' '));
        store.write(1, () -> order.append("w1 "));
        store.write(2, () -> order.append("w2 "));
        time.runUntil(2 * SECOND);
        store.write(3, () -> order.append("w3 "));
        store.read(1, batch -> order.append("r")
                .append(batch[0] == 1 ? "first" : "wrong")
                .append(' '));
        store.write(4, () -> order.append("w4 "));
        time.runUntil(3 * SECOND);

        assertThat(order.toString().trim()).isEqualTo("w0 r1 w1 w2 w3 w4 rfirst");
    }

    @Test
    void shouldTakeTheLatencyOfWhatIsStillInsideIntoAccount() {
        PublisherRun run = new PublisherRun(new long[] {0, SECOND, 2 * SECOND});
        run.dropped(0);
        run.delivered(1, 3 * SECOND);

        assertThat(run.latenciesMs(0, 3 * SECOND, 10 * SECOND)).containsExactly(2_000, 8_000);
    }

    @Test
    void shouldFollowTheLoadWhenItSteps() {
        long[] arrivalsNs = Arrivals.steps(
                new long[] {60 * SECOND, 120 * SECOND, 180 * SECOND},
                new double[] {1.75, 55, 1.75},
                new SplittableRandom(5));
        PublisherRun run =
                PublisherSimulation.run(PublisherModel.paper(), Bounds.paper(), 1, arrivalsNs, 190 * SECOND, 5);

        assertThat(run.meanBatch(10 * SECOND, 60 * SECOND)).isLessThan(1.5);
        assertThat(run.meanBatch(70 * SECOND, 120 * SECOND)).isBetween(6.0, 20.0);
        assertThat(run.meanBatch(125 * SECOND, 180 * SECOND)).isLessThan(1.5);
    }

    @Test
    void shouldArriveAtTheRateOfEachStep() {
        long[] arrivalsNs = Arrivals.steps(
                new long[] {1_000 * SECOND, 2_000 * SECOND}, new double[] {10, 40}, new SplittableRandom(9));

        long before =
                Arrays.stream(arrivalsNs).filter(ns -> ns < 1_000 * SECOND).count();
        assertThat(arrivalsNs).isSorted();
        assertThat(before).isBetween(9_500L, 10_500L);
        assertThat(arrivalsNs.length - before).isBetween(39_000L, 41_000L);
        assertThat(Arrivals.faster(arrivalsNs, 50)[100]).isEqualTo(arrivalsNs[100] / 50);
    }

    @Test
    void shouldDeliverEveryRequestOnceWhenBatchesGoAtOnce() {
        for (long seed = 0; seed < 10; seed++) {
            long[] arrivalsNs = arrivals(2 + 5 * seed, seed);
            PublisherRun run = PublisherSimulation.run(
                    PublisherModel.paper(), Bounds.paper().goingAtOnce(), 5, arrivalsNs, END, seed);

            assertThat(Arrays.stream(run.deliveryOrder()).sorted().toArray())
                    .as("delivered, seed %d", seed)
                    .isEqualTo(IntStream.range(0, run.offered()).toArray());
        }
    }

    /** A client beside its broker: microseconds where the paper has milliseconds. */
    @Test
    void shouldKeepUpWithFixedBatchesAtEveryLoadWhenAClientUsesItsOwnBounds() {
        PublisherModel client = new PublisherModel(
                5_000, 0, true, 100_000, 100, 50, 5_000, 200, 50, 100_000, 150_000, 100_000, 50, 2_000);
        for (double perSecond : new double[] {2_000, 200_000, 600_000}) {
            double tuned = meanMicros(client, Bounds.client(), 64, perSecond);
            double bestFixed = Double.POSITIVE_INFINITY;
            for (int batch : new int[] {1, 16, 128}) {
                Bounds fixed = Bounds.fixed(batch, 20_000, MS).goingAtOnce();
                bestFixed = Math.min(bestFixed, meanMicros(client, fixed, batch, perSecond));
            }
            assertThat(tuned).as("mean µs at %.0f messages/s", perSecond).isLessThan(1.15 * bestFixed);
        }
    }

    @Test
    void shouldMakeATraceOfLowAndChangingLoad() {
        for (long seed = 0; seed < 20; seed++) {
            long[] arrivalsNs = LookupServiceTrace.generate(3_600 * SECOND, new SplittableRandom(seed));
            long[] perTenMinutes = new long[6];
            Arrays.stream(arrivalsNs).forEach(ns -> perTenMinutes[(int) (ns / (600 * SECOND))]++);

            assertThat(arrivalsNs).as("seed %d", seed).isSorted();
            assertThat(arrivalsNs.length).as("seed %d", seed).isBetween(800, 3_600);
            assertThat(Arrays.stream(perTenMinutes).max().orElseThrow())
                    .as("busiest and idlest ten minutes, seed %d", seed)
                    .isGreaterThan(Arrays.stream(perTenMinutes).min().orElseThrow() * 5 / 4);
        }
    }

    /** Two workers, taken by two of three messages to publish; then a request arrives, and both workers come free. */
    private static String orderOfStart(boolean receivePriority) {
        WorkerPool workers =
                new WorkerPool(new PublisherModel(2, 0, receivePriority, 10, 0, 0, 0, 0, 0, 0, 0, 10, 0, SECOND));
        StringBuilder order = new StringBuilder();
        for (int i = 0; i < 3; i++) {
            workers.publish(() -> order.append("publish "));
        }
        workers.receive(() -> order.append("receive "));
        workers.release();
        workers.release();
        return order.toString();
    }

    private static double meanMicros(PublisherModel model, Bounds bounds, int batch, double perSecond) {
        long lastNs = (long) (Math.min(4_000 / perSecond, 0.5) * SECOND);
        long endNs = lastNs + 20 * MS;
        long[] arrivalsNs = Arrivals.poisson(perSecond, lastNs, new SplittableRandom(1));
        PublisherRun run = PublisherSimulation.run(model, bounds, batch, arrivalsNs, endNs, 1);
        return 1_000
                * Arrays.stream(run.latenciesMs(lastNs / 5, lastNs, endNs))
                        .average()
                        .orElseThrow();
    }

    private static long[] arrivals(double perSecond, long seed) {
        return Arrivals.poisson(perSecond, END - 10 * SECOND, new SplittableRandom(seed));
    }

    private static PublisherRun tuned(PublisherModel model, long[] arrivalsNs, long seed) {
        return PublisherSimulation.run(model, Bounds.paper(), 1, arrivalsNs, END, seed);
    }
}
