package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.SendLog;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.simulation.ShapedArrivals;
import io.weir.topics.algorithm.DelayTotals;
import java.util.Arrays;
import java.util.stream.LongStream;

/**
 * How long messages took from their arrival until they had their tokens; the names are those of {@code -o json}.
 *
 * @param delayedFraction the part that did not pass at once
 */
record AccessDelays(
        long messages,
        double p50Micros,
        double p95Micros,
        double p99Micros,
        double meanMicros,
        double maxMicros,
        double delayedFraction) {
    /** As brokers counted: percentiles and the longest to 3%, the mean exact. */
    static AccessDelays counted(DelayTotals totals) {
        return new AccessDelays(
                totals.messages(),
                totals.quantileNs(0.5) / 1e3,
                totals.quantileNs(0.95) / 1e3,
                totals.quantileNs(0.99) / 1e3,
                totals.meanNs() / 1e3,
                totals.longestNs() / 1e3,
                totals.messages() == 0 ? 0 : totals.waited() / (double) totals.messages());
    }

    /**
     * What perfect buckets would have done with the messages of the measured time: each of {@code brokers} has an equal
     * part of the limit, full when the load begins, and its messages pass the moment there is a token.
     */
    static AccessDelays ideal(SendLog log, Limit limit, int brokers) {
        TokenBucket[] buckets = new TokenBucket[brokers];
        for (int i = 0; i < brokers; i++) {
            long burstMicros = limit.burstMicros() / brokers;
            buckets[i] = new TokenBucket(limit.rateMicros() / brokers, burstMicros, burstMicros, 0);
        }
        ShapedArrivals shaped = ShapedArrivals.through(buckets, log.timesNs(), log.brokers(brokers));
        long[] delaysNs = LongStream.range(log.beforeMeasured(), log.messages())
                .map(i -> shaped.delayNs((int) i))
                .sorted()
                .toArray();
        return new AccessDelays(
                delaysNs.length,
                micros(delaysNs, 0.5),
                micros(delaysNs, 0.95),
                micros(delaysNs, 0.99),
                Arrays.stream(delaysNs).average().orElse(0) / 1e3,
                micros(delaysNs, 1),
                Arrays.stream(delaysNs).filter(delayNs -> delayNs > 0).count() / Math.max(1.0, delaysNs.length));
    }

    private static double micros(long[] sorted, double quantile) {
        return sorted.length == 0 ? 0 : sorted[(int) Math.ceil(quantile * sorted.length) - 1] / 1e3;
    }
}
