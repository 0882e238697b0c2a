package io.weir.transport.client;

import java.util.List;

/**
 * What a publisher has done, and what its tuner chose.
 *
 * @param stored messages that wait or are on their way
 * @param retries messages sent again, after a broken connection or in a smaller batch
 * @param latency from {@code publish} to the outcome of accepted messages
 */
public record PublisherStats(
        long stored,
        long accepted,
        long refused,
        long failed,
        long unknown,
        long retries,
        long batches,
        long connectionsLost,
        Latency latency,
        List<Topic> topics) {
    /** In microseconds. */
    public record Latency(double mean, double p50, double p99, double p999, double max) {}

    /**
     * One topic's batching now.
     *
     * @param batch N
     * @param pollMicros T_poll
     * @param loadPerSecond λ_est; NaN before the first sample
     * @param broker where its messages go; "null" while there is no connection
     */
    public record Topic(
            String topic,
            int batch,
            double pollMicros,
            int waiting,
            int inFlight,
            double loadPerSecond,
            String broker) {}
}
