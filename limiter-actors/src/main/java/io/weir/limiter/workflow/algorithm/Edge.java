package io.weir.limiter.workflow.algorithm;

/**
 * From where to where a workflow leads, as one long: the channel whose consumers publish (at this shard), the workflow,
 * and the process that their messages go to, a topic at one broker. Topics, brokers and channels are numbers that the
 * broker gives.
 */
public final class Edge {
    public static final int MOST_CHANNELS = 1 << 12;
    public static final int MOST_TOPICS = 1 << 27;
    public static final int MOST_BROKERS = 1 << 16;

    private Edge() {}

    public static long of(int channel, int workflow, int topic, int broker) {
        WorkflowSlots.require(workflow);
        if (channel < 0
                || channel >= MOST_CHANNELS
                || topic < 0
                || topic >= MOST_TOPICS
                || broker < 0
                || broker >= MOST_BROKERS) {
            throw new IllegalArgumentException("no edge from channel " + channel + " to topic " + topic + " at broker "
                    + broker + ": below " + MOST_CHANNELS + ", " + MOST_TOPICS + " and " + MOST_BROKERS);
        }
        return (long) channel << 52 | (long) workflow << 43 | (long) topic << 16 | broker;
    }

    /** The same without the channel: what a process announces, it announces to the shard. */
    public static long process(long edge) {
        return edge & (1L << 52) - 1;
    }

    public static int channel(long edge) {
        return (int) (edge >>> 52);
    }

    public static int workflow(long edge) {
        return (int) (edge >>> 43) & 0x1FF;
    }

    public static int topic(long edge) {
        return (int) (edge >>> 16) & MOST_TOPICS - 1;
    }

    public static int broker(long edge) {
        return (int) edge & MOST_BROKERS - 1;
    }
}
