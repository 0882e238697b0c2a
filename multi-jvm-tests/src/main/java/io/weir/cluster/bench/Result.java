package io.weir.cluster.bench;

import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;

/**
 * What one run measured; the names are those of {@code -o json}.
 *
 * @param sent messages of the measured time, the warm-up left out, as in {@code received}
 * @param p50Micros from the intended time to receipt, as the other percentiles
 * @param brokerCpuPercent of one core, over all processes of the target; null where it does not tell, as in what
 *     follows
 * @param brokerCpuNanosPerMessage CPU time of those processes, whatever they did, over the messages received meanwhile
 * @param dataPathNanosPerMessage the part of it that is of the threads that move messages
 * @param allocatedBytesPerMessage on the broker's data path
 * @param brokerMemoryMiB the processes' resident sets, over the measured time
 * @param brokerHeapMiB what was left on the Java heap after the last collection
 * @param acknowledged publishes that the broker confirmed, the warm-up included, as in what follows
 * @param redelivered messages that came more than once; they are not in {@code received}
 * @param missing messages that were sent, not refused, and never came
 * @param unsent messages that were due, but the broker took nothing until it was too late; not in {@code sent}
 */
public record Result(
        long sent,
        long received,
        double p50Micros,
        double p95Micros,
        double p99Micros,
        double p999Micros,
        double maxMicros,
        double messagesPerSecond,
        Double brokerCpuPercent,
        Double brokerCpuNanosPerMessage,
        Double dataPathNanosPerMessage,
        Double allocatedBytesPerMessage,
        Course brokerMemoryMiB,
        Course brokerHeapMiB,
        long acknowledged,
        long refused,
        long redelivered,
        long missing,
        long unsent,
        double seconds) {

    /** A quantity over the measured time: every ten seconds, and at both ends. */
    record Course(double start, double end, double max) {
        private static final double MIB = 1 << 20;

        /** Null unless every sample has it. */
        static Course ofMiB(List<OptionalDouble> bytes) {
            if (bytes.isEmpty() || bytes.stream().anyMatch(OptionalDouble::isEmpty)) {
                return null;
            }
            double[] all = bytes.stream()
                    .mapToDouble(each -> Math.round(10 * each.getAsDouble() / MIB) / 10.0)
                    .toArray();
            return new Course(
                    all[0], all[all.length - 1], Arrays.stream(all).max().getAsDouble());
        }

        @Override
        public String toString() {
            return String.format("%.0f MiB at the start, %.0f at the end, %.0f at the most", start, end, max);
        }
    }

    /** What the target's processes used. */
    public record Broker(
            Double cpuPercent,
            Double cpuNanosPerMessage,
            Double dataPathNanosPerMessage,
            Double allocatedBytesPerMessage,
            Course memoryMiB,
            Course heapMiB) {
        public static final Broker UNKNOWN = new Broker(null, null, null, null, null, null);
    }
}
