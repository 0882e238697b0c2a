package io.weir.limiter.workflow.algorithm;

/**
 * What a process tells a shard that sends it messages of a workflow.
 *
 * @param rate the messages a second that it takes from this shard; infinite if it does not bound it
 * @param resource the resource that binds, wherever it is; {@link #NOTHING} if none does
 * @param remainingNs R, the service time from there to the end
 * @param latencyNs L, the latency from there to the end, that process's line included
 */
public record Announcement(double rate, long resource, long remainingNs, long latencyNs) {
    public static final long NOTHING = 0;

    public Announcement {
        if (!(rate >= 0) || remainingNs < 0 || latencyNs < 0) {
            throw new IllegalArgumentException("an announced rate of " + rate + ", R " + remainingNs + " ns and L "
                    + latencyNs + " ns: none may be negative");
        }
    }
}
