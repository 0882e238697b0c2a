package io.weir.cluster.bench;

/**
 * What one run measured; the names are those of {@code -o json}.
 *
 * @param sent messages of the measured time, the warm-up left out, as in {@code received}
 * @param p50Micros from the intended time to receipt, as the other percentiles
 * @param brokerCpuPercent of one core, over all processes of the target; null where it does not tell
 * @param allocatedBytesPerMessage on the broker's data path; null where it does not tell
 * @param acknowledged publishes that the broker confirmed, the warm-up included, as in what follows
 * @param redelivered messages that came more than once; they are not in {@code received}
 * @param missing messages that were sent, not refused, and never came
 * @param unsent messages that were due, but the broker took nothing until it was too late; not in {@code sent}
 */
record Result(
        long sent,
        long received,
        double p50Micros,
        double p95Micros,
        double p99Micros,
        double p999Micros,
        double maxMicros,
        double messagesPerSecond,
        Double brokerCpuPercent,
        Double allocatedBytesPerMessage,
        long acknowledged,
        long refused,
        long redelivered,
        long missing,
        long unsent,
        double seconds) {}
