package io.weir.topics.algorithm;

/**
 * The order in which waiting messages are served (Wisp, 4.2). A message's key is fixed when it joins; ties go by the
 * order of joining.
 *
 * <p>Nothing starves. A key lies at or after the message's arrival, whatever its context claims, so a message is
 * overtaken only by those that arrive before its own key. A message without a deadline has a virtual one, arrival + the
 * longest delay; sorting by cost is sorting by arrival + {@value #COST_FACTOR} × cost.
 */
public enum Schedule {
    /** As they come. */
    FIFO,
    /** Earliest deadline first. */
    EDF,
    /** Least slack first: deadline less the service time that is still to come. Slack falls alike for all. */
    LSTF,
    /** Shortest job first, by the total work of the request. */
    SJF,
    /** Shortest remaining time first. */
    SRTF,
    /** Least attained service first, by the work so far. */
    LASF;

    static final long COST_FACTOR = 20;
    /** A deadline further away counts as this: keys must be comparable by difference. */
    private static final long FURTHEST_NS = 24 * 3_600_000_000_000L;

    /** What the queue sorts by; keys are compared by difference, as times are. */
    long key(MessageTag tag, long maxDelayNs) {
        return switch (this) {
            case FIFO -> tag.arrivalNs;
            case EDF -> tag.arrivalNs + leftNs(tag, maxDelayNs);
            case LSTF -> tag.arrivalNs + Math.max(0, leftNs(tag, maxDelayNs) - clamped(tag.remainingNs));
            case SJF -> tag.arrivalNs + COST_FACTOR * clamped(tag.totalWorkNs);
            case SRTF -> tag.arrivalNs + COST_FACTOR * clamped(tag.remainingNs);
            case LASF -> tag.arrivalNs + COST_FACTOR * clamped(tag.workSoFarNs);
        };
    }

    private static long leftNs(MessageTag tag, long maxDelayNs) {
        long leftNs = tag.deadlineNs == MessageTag.NO_DEADLINE ? maxDelayNs : tag.deadlineNs - tag.arrivalNs;
        return Math.max(0, Math.min(FURTHEST_NS, leftNs));
    }

    private static long clamped(long ns) {
        return Math.max(0, Math.min(MessageTag.LONGEST_NS, ns));
    }
}
