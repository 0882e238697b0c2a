package io.weir.limiter.supply.gate.algorithm;

import io.weir.limiter.supply.protocol.Watch;

/**
 * The holder's side of its lease. A renewal counts from the clock read <i>before</i> it was sent, so however long the store
 * took, the holder stops before a watcher may fence it ({@link Watch}). Told the time of the holder's own clock.
 *
 * <p>One writer; the gates of all topics read it, hence volatile. Not final for the sake of those who check that a gate without it
 * is noticed.
 */
public class Lease {
    private final long lengthNs;
    /** Shut until the first renewal is known to have succeeded. */
    private volatile boolean shut = true;

    private volatile long usableUntilNs;
    private volatile boolean closed;

    public Lease(long lengthNs) {
        this.lengthNs = lengthNs;
    }

    /** A renewal that was sent at {@code sentNs} is stored. Answers may overtake each other: the latest counts. */
    public void renewed(long sentNs) {
        long untilNs = sentNs + lengthNs;
        if (shut || untilNs - usableUntilNs > 0) {
            usableUntilNs = untilNs;
            shut = false;
        }
    }

    /** Whether the leased account may admit. */
    public boolean usable(long nowNs) {
        return !shut && !closed && nowNs - usableUntilNs < 0;
    }

    /**
     * Whether the store answered lately: a renewal is due every quarter of the lease, so two in a row are missing if more than half of it
     * is over. What has to be stored is then better not begun.
     */
    public boolean fresh(long nowNs) {
        return remainingNs(nowNs) > lengthNs / 2;
    }

    /** Closes both accounts for ever: fenced or leaving. Only then may the holder be confirmed as stopped. */
    public void close() {
        closed = true;
    }

    public boolean closed() {
        return closed;
    }

    public long remainingNs(long nowNs) {
        return usable(nowNs) ? usableUntilNs - nowNs : 0;
    }
}
