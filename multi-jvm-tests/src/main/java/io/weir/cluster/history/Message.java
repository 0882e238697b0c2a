package io.weir.cluster.history;

/**
 * What clients say of one message: how its publish went and on which channels it was delivered. Records may come in any
 * order, and a publisher may try again under the same id, so all of it adds up.
 */
public final class Message {
    /** Not known; a time of a record is never this. */
    public static final long NEVER = Long.MAX_VALUE;

    private long invokedNs = NEVER;
    private long acknowledgedNs = NEVER;
    private long deliveredNs = NEVER;
    private long channels;
    private short tries;
    private short refusals;
    private short broker = -1;
    private boolean unknown;

    void invoked(long atNs) {
        invokedNs = Math.min(invokedNs, atNs);
        tries++;
    }

    void acknowledged(long atNs, int byBroker) {
        if (atNs < acknowledgedNs) {
            acknowledgedNs = atNs;
            broker = (short) byBroker;
        }
    }

    void refused() {
        refusals++;
    }

    /** The end of a try is not known. */
    void unknown() {
        unknown = true;
    }

    /** Whether this was the first time on that channel. */
    boolean delivered(long atNs, int channel) {
        deliveredNs = Math.min(deliveredNs, atNs);
        boolean first = (channels & 1L << channel) == 0;
        channels |= 1L << channel;
        return first;
    }

    /** When it was published first, at the latest when that was acknowledged. */
    public long invokedNs() {
        return Math.min(invokedNs, acknowledgedNs);
    }

    public long acknowledgedNs() {
        return acknowledgedNs;
    }

    /** For the first time, on any channel. */
    public long deliveredNs() {
        return deliveredNs;
    }

    public boolean isPublished() {
        return invokedNs != NEVER || acknowledgedNs != NEVER || refusals > 0 || unknown;
    }

    public boolean isAcknowledged() {
        return acknowledgedNs != NEVER;
    }

    /** Every try was refused in so many words. */
    public boolean isRefused() {
        return !isAcknowledged() && !unknown && refusals > 0 && refusals >= tries;
    }

    public boolean isDelivered() {
        return channels != 0;
    }

    boolean isDelivered(int channel) {
        return (channels & 1L << channel) != 0;
    }

    /** Index of the broker that acknowledged it, or -1 where nobody says. */
    int broker() {
        return broker;
    }
}
