package io.weir.limiter.workflow.algorithm;

/**
 * Whether a message is let in at all (Wisp, 4.3): not if its expected wait is longer than deadline − now − L leaves it.
 * What could not be in time takes no token and no consumer's time from what can.
 *
 * <p>One message of a workflow and interval passes all the same, unless it is hopeless: L is measured on what passes,
 * so a workflow of which nothing passes would stay refused after a burst for ever.
 */
public final class DeadlineAdmission {
    /** The deadline of a message that has none. */
    public static final long NONE = Long.MAX_VALUE;

    private final long[] probed = new long[WorkflowSlots.COUNT];
    private long interval = 1;

    /** An interval has passed: each workflow has a probe again. */
    public void interval() {
        interval++;
    }

    /**
     * @param expectedWaitNs in the topic's line and for σ together
     * @param latencyNs L
     * @param remainingNs R
     */
    public boolean admits(
            int workflow, long deadlineNs, long expectedWaitNs, long latencyNs, long remainingNs, long nowNs) {
        if (deadlineNs == NONE || expectedWaitNs <= deadlineNs - nowNs - latencyNs) {
            return true;
        }
        if (hopeless(deadlineNs, remainingNs, nowNs) || probed[workflow] == interval) {
            return false;
        }
        probed[workflow] = interval;
        return true;
    }

    /**
     * Whether a message in a line or queue can't be in time any more, even if it never waited again: deadline − now
     * &lt; R. It goes then, not only when its deadline is past.
     */
    public static boolean hopeless(long deadlineNs, long remainingNs, long nowNs) {
        return deadlineNs != NONE && deadlineNs - nowNs < remainingNs;
    }
}
