package io.weir.cluster.bench;

import io.weir.cluster.bench.wire.WireException;
import io.weir.transport.client.AutoTunedPublisher;
import io.weir.transport.client.Outcome;
import io.weir.transport.client.PublisherSettings;
import io.weir.transport.client.PublisherStats;
import io.weir.transport.client.WeirClient;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * One publisher under one load. Times are drawn beforehand and latency counts from them to the accepted future, so that
 * a publisher that holds its callers back makes every message late that was due meanwhile.
 */
final class PublisherTrial {
    private static final long HIGHEST_NS = TimeUnit.SECONDS.toNanos(600);
    private static final Duration PROBE_WITHIN = Duration.ofSeconds(5);
    private static final long NAP_NS = TimeUnit.MICROSECONDS.toNanos(20);
    /** What the first messages meet, a new publisher that has not tuned itself yet, is not measured. */
    private static final double SETTLING_PART = 0.2;

    private PublisherTrial() {}

    /**
     * @param batch messages a batch had on average
     * @param endBatch N at the end
     */
    record Figures(
            long accepted,
            long notAccepted,
            double meanMicros,
            double p50Micros,
            double p99Micros,
            double batch,
            int endBatch) {}

    /** Whether the broker takes a message at all, before a load is run on it. */
    static void probe(WeirClient client, String topic, int size) throws WireException {
        try (AutoTunedPublisher publisher =
                client.publisher(PublisherSettings.defaults().withAnswerWithin(PROBE_WITHIN))) {
            Outcome outcome = publisher.publish(topic, new byte[size]).join();
            if (outcome instanceof Outcome.Failed failed) {
                throw new WireException("the broker does not take messages: " + failed.reason());
            }
            if (!outcome.accepted()) {
                throw new WireException("the broker does not take messages: " + outcome);
            }
        }
    }

    static Figures run(
            WeirClient client,
            PublisherSettings settings,
            String topic,
            int size,
            double rate,
            double seconds,
            long seed)
            throws WireException {
        Histogram latency = new ConcurrentHistogram(1_000, HIGHEST_NS, 3);
        LongAdder notAccepted = new LongAdder();
        byte[] body = new byte[size];
        try (AutoTunedPublisher publisher = client.publisher(settings)) {
            Outcome first = publisher.publish(topic, body).join();
            if (!first.accepted()) {
                throw new WireException("the broker does not take messages: " + first);
            }
            PublisherStats before = publisher.stats();
            long startNs = System.nanoTime();
            long measuredNs = startNs + (long) (seconds * SETTLING_PART * 1e9);
            long endNs = startNs + (long) (seconds * 1e9);
            SendSchedule schedule = new SendSchedule(SendSchedule.Distribution.poisson, 1, rate, startNs, seed);
            while (schedule.nextNs() - endNs < 0) {
                long nowNs = System.nanoTime();
                if (schedule.nextNs() - nowNs > 0) {
                    LockSupport.parkNanos(NAP_NS);
                    continue;
                }
                long intendedNs = schedule.nextNs();
                schedule.advance();
                publisher.publish(topic, body).thenAccept(outcome -> {
                    if (!outcome.accepted()) {
                        notAccepted.increment();
                    } else if (intendedNs - measuredNs >= 0) {
                        latency.recordValue(Math.min(HIGHEST_NS, System.nanoTime() - intendedNs));
                    }
                });
            }
            PublisherStats after = publisher.stats();
            publisher.close();
            double batch =
                    (double) (after.accepted() - before.accepted()) / Math.max(1, after.batches() - before.batches());
            return new Figures(
                    latency.getTotalCount(),
                    notAccepted.sum(),
                    latency.getMean() / 1e3,
                    latency.getValueAtPercentile(50) / 1e3,
                    latency.getValueAtPercentile(99) / 1e3,
                    batch,
                    after.topics().get(0).batch());
        }
    }
}
