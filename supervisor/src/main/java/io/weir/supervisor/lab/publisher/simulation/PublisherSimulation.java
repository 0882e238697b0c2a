package io.weir.supervisor.lab.publisher.simulation;

import io.weir.transport.algorithm.BatchTuner;
import java.util.SplittableRandom;

/**
 * The paper's multi-threaded publisher (Fig. 4 and 5) as a discrete-event simulation around the {@link BatchTuner} that
 * the client uses: the receive thread gives each request to a worker, which writes it to the data store; the publish
 * thread takes batches from the store and gives each message to a worker, which is free again once the broker has
 * acknowledged it. The same seed gives the same run.
 */
public final class PublisherSimulation {
    private final PublisherModel model;
    private final BatchTuner.Bounds bounds;
    private final SimulatedTime time = new SimulatedTime();
    private final WorkerPool workers;
    private final DataStore store;
    private final Broker broker;
    private final BatchTuner tuner;
    private final SplittableRandom receiving;
    private final SplittableRandom sending;
    private final long[] arrivalsNs;
    private final PublisherRun run;

    private int unassigned;
    private long pollNumber;

    private PublisherSimulation(
            PublisherModel model, BatchTuner.Bounds bounds, int initialBatch, long[] arrivalsNs, long seed) {
        this.model = model;
        this.bounds = bounds;
        this.arrivalsNs = arrivalsNs;
        SplittableRandom random = new SplittableRandom(seed);
        receiving = random.split();
        sending = random.split();
        run = new PublisherRun(arrivalsNs);
        workers = new WorkerPool(model);
        store = new DataStore(model, time, random.split());
        broker = new Broker(
                model, time, random.split(), random.split(), message -> run.delivered(message, time.nowNs()));
        tuner = new BatchTuner(bounds, initialBatch, 0);
    }

    /**
     * Runs until {@code endNs}.
     *
     * @param bounds the tuner's; {@link BatchTuner.Bounds#fixed} gives the baseline without tuning
     * @param initialBatch N at the start
     * @param arrivalsNs when requests arrive, in ascending order
     */
    public static PublisherRun run(
            PublisherModel model,
            BatchTuner.Bounds bounds,
            int initialBatch,
            long[] arrivalsNs,
            long endNs,
            long seed) {
        PublisherSimulation simulation = new PublisherSimulation(model, bounds, initialBatch, arrivalsNs, seed);
        simulation.expectArrival(0);
        simulation.pollLater();
        simulation.time.runUntil(endNs);
        return simulation.run;
    }

    private void expectArrival(int message) {
        if (message < arrivalsNs.length) {
            time.at(arrivalsNs[message], () -> {
                onArrival(message);
                expectArrival(message + 1);
            });
        }
    }

    private void onArrival(int message) {
        if (workers.idle() == 0 && workers.receiveBacklog() >= model.receiveBuffer()) {
            run.dropped(message);
            return;
        }
        tuner.arrived(1);
        workers.receive(() -> time.after(
                (long) (receiving.nextExponential() * model.receiveMeanNs()),
                () -> store.write(message, () -> {
                    workers.release();
                    if (bounds.atOnce()) {
                        poll();
                    }
                })));
    }

    private void pollLater() {
        long number = ++pollNumber;
        time.at(Math.max(time.nowNs(), tuner.nextTakeNs()), () -> {
            if (number == pollNumber) {
                poll();
            }
        });
    }

    private void poll() {
        if (unassigned > 0) {
            return;
        }
        int messages = tuner.take(store.waiting(), time.nowNs());
        run.polled(time.nowNs(), tuner.batch());
        if (messages == 0) {
            pollLater();
            return;
        }
        unassigned = messages;
        store.read(messages, this::assign);
    }

    private void assign(int[] batch) {
        for (int message : batch) {
            workers.publish(() -> {
                publish(message);
                if (--unassigned == 0) {
                    tuner.handedOver(time.nowNs());
                    pollLater();
                }
            });
        }
    }

    private void publish(int message) {
        time.after((long) (sending.nextExponential() * model.sendMeanNs()), () -> {
            run.sent(message);
            long startedNs = time.nowNs();
            long mark = tuner.started(1, startedNs);
            broker.send(message, () -> {
                tuner.acknowledged(1, startedNs, mark, time.nowNs());
                workers.release();
            });
        });
    }
}
