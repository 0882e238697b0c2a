package io.weir.supervisor.lab.publisher;

import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.publisher.simulation.PublisherModel;
import io.weir.supervisor.lab.publisher.simulation.PublisherRun;
import io.weir.supervisor.lab.publisher.simulation.PublisherSimulation;
import io.weir.transport.algorithm.BatchTuner.Bounds;
import java.util.Arrays;
import java.util.function.LongToDoubleFunction;

/** What the experiments on the auto-tuned publisher share: its policies, and means over seeds. */
final class PublisherTrials {
    static final long MS = 1_000_000L;
    static final long SECOND = 1_000 * MS;

    /** T in the paper, and a wait so long that only N ends it. */
    static final long T_NS = 200 * MS;

    static final long WITHOUT_T_NS = 3_600 * SECOND;

    /** A run leaves its last messages this long to arrive. */
    static final long DRAIN_NS = 20 * SECOND;

    private static final long POLL_NS = 50 * MS;

    private PublisherTrials() {}

    /** How a publisher batches: the tuner's bounds, and N at the start. */
    record Policy(String name, Bounds bounds, int batch) {
        static Policy fixed(int batch) {
            return new Policy("fixed N = " + batch, Bounds.fixed(batch, POLL_NS, T_NS), batch);
        }

        static Policy fixedWithoutT(int batch) {
            return new Policy("fixed N = " + batch + ", no T", Bounds.fixed(batch, POLL_NS, WITHOUT_T_NS), batch);
        }

        static Policy tuned(int initialBatch) {
            return new Policy("tuned from N = " + initialBatch, Bounds.paper(), initialBatch);
        }

        static Policy tunedAtOnce(int initialBatch) {
            return new Policy(
                    "tuned from N = " + initialBatch + ", at once",
                    Bounds.paper().goingAtOnce(),
                    initialBatch);
        }

        PublisherRun run(PublisherModel model, long[] arrivalsNs, long endNs, long seed) {
            return PublisherSimulation.run(model, bounds, batch, arrivalsNs, endNs, seed);
        }
    }

    static Sample overSeeds(LabRun run, LongToDoubleFunction measure) {
        Sample sample = new Sample();
        run.seedStream().forEach(seed -> sample.add(measure.applyAsDouble(seed)));
        return sample;
    }

    static Estimate estimate(Sample sample) {
        return new Estimate(sample.mean(), sample.halfWidth95());
    }

    static double mean(double[] values) {
        return Arrays.stream(values).average().orElse(Double.NaN);
    }
}
