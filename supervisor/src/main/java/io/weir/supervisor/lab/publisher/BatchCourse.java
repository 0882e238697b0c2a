package io.weir.supervisor.lab.publisher;

import io.weir.supervisor.lab.publisher.simulation.PublisherRun;
import java.util.Arrays;
import java.util.function.LongToDoubleFunction;

/** N over the time of a run, each point averaged over 5 samples as in Fig. 11 of the auto-tuned publisher's paper. */
final class BatchCourse {
    private static final int SAMPLES = 5;

    private final long[] atNs;
    private final double[] batches;

    /** N at the polls of {@code trial} before {@code endNs}. */
    BatchCourse(PublisherRun trial, long endNs) {
        long[] pollsNs =
                Arrays.stream(trial.pollsNs()).takeWhile(ns -> ns < endNs).toArray();
        int[] each = trial.batches();
        atNs = new long[pollsNs.length / SAMPLES];
        batches = new double[atNs.length];
        for (int i = 0; i < atNs.length; i++) {
            atNs[i] = pollsNs[i * SAMPLES + SAMPLES - 1];
            for (int j = 0; j < SAMPLES; j++) {
                batches[i] += each[i * SAMPLES + j] / (double) SAMPLES;
            }
        }
    }

    double[] timesMs() {
        return Arrays.stream(atNs).mapToDouble(ns -> ns / 1e6).toArray();
    }

    double[] batches() {
        return batches;
    }

    /** When, from {@code startNs} on, N has first gone {@code part} of the way; {@code endNs} if it never has. */
    long reachedNs(long startNs, double from, double to, double part, long endNs) {
        for (int i = 0; i < atNs.length; i++) {
            if (atNs[i] >= startNs && (batches[i] - from) / (to - from) >= part) {
                return atNs[i];
            }
        }
        return endNs;
    }

    /** Pearson's r between N and the load at the same time. */
    double correlation(LongToDoubleFunction loadAtNs) {
        double[] loads = Arrays.stream(atNs).mapToDouble(loadAtNs).toArray();
        double meanLoad = Arrays.stream(loads).average().orElse(0);
        double meanBatch = Arrays.stream(batches).average().orElse(0);
        double both = 0;
        double ofLoad = 0;
        double ofBatch = 0;
        for (int i = 0; i < loads.length; i++) {
            both += (loads[i] - meanLoad) * (batches[i] - meanBatch);
            ofLoad += (loads[i] - meanLoad) * (loads[i] - meanLoad);
            ofBatch += (batches[i] - meanBatch) * (batches[i] - meanBatch);
        }
        // A constant is correlated with nothing.
        return ofLoad == 0 || ofBatch == 0 ? 0 : both / Math.sqrt(ofLoad * ofBatch);
    }
}
