package io.weir.supervisor.node;

/**
 * How far a broker is with recording a topic's arrivals.
 *
 * @param seconds for how long it was told to record
 * @param running whether it still records
 * @param full whether it ended before its time because its memory was full
 * @param beganAtNs by the broker's wall clock, since 1970
 * @param lengthNs for how long it has recorded
 * @param messages that arrived meanwhile
 * @param instants at which they arrived
 * @param delayed messages that had to wait for the topic's limit meanwhile
 * @param refused messages that were turned away meanwhile
 */
public record TopicRecording(
        String topic,
        String broker,
        double seconds,
        boolean running,
        boolean full,
        long beganAtNs,
        long lengthNs,
        long messages,
        int instants,
        long delayed,
        long refused) {
    /** What a caller wants. */
    public record Request(Double seconds) {}
}
