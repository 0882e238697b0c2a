package io.weir.topics.algorithm;

/**
 * What a scheduler may know of a message as it joins a queue (Wisp, Table 2). One instance is filled anew for every
 * message, so tagging allocates nothing. Times are clamped where they are used, not trusted: they come from clients.
 */
public final class MessageTag {
    /** The deadline of a message that has none. */
    public static final long NO_DEADLINE = Long.MAX_VALUE;
    /** Nothing takes longer: R's own bound. */
    static final long LONGEST_NS = 600_000_000_000L;

    /** The number of its workflow at this shard; 0 for whoever has none of its own. */
    public int workflow;
    /** When it joins, on the queue's own clock. */
    public long arrivalNs;

    public long deadlineNs;
    /** The consumer time that it will take here. */
    public long costNs;
    /** R: the service time from here to the end. */
    public long remainingNs;
    /** The work that it has cost so far, here and upstream. */
    public long workSoFarNs;
    /** The work that it will have cost in all. */
    public long totalWorkNs;

    public MessageTag() {
        begin(0, 0);
    }

    /** A message without deadline that costs nothing yet. */
    public MessageTag begin(int ofWorkflow, long nowNs) {
        workflow = ofWorkflow;
        arrivalNs = nowNs;
        deadlineNs = NO_DEADLINE;
        costNs = 0;
        remainingNs = 0;
        workSoFarNs = 0;
        totalWorkNs = 0;
        return this;
    }

    public MessageTag deadline(long ns) {
        deadlineNs = ns;
        return this;
    }

    public MessageTag cost(long ns) {
        costNs = ns;
        return this;
    }

    public MessageTag remaining(long ns) {
        remainingNs = ns;
        return this;
    }

    public MessageTag work(long soFarNs, long totalNs) {
        workSoFarNs = soFarNs;
        totalWorkNs = totalNs;
        return this;
    }
}
