package io.weir.limiter.supply.gate.algorithm;

/**
 * The holder's side of its lease. A renewal counts from the clock as read <i>before</i> it was sent. So however long
 * the store took, the holder stops before a watcher may fence it (the protocol's {@code LeaseWatch}). All times are of
 * the holder's own clock.
 *
 * <p>One thread writes, the gates of all topics read: hence volatile. Not final, so that a test can replace it by one
 * that never ends and see that a checker notices.
 */
public class Lease {
    private final long lengthNs;
    /** True until the first renewal has succeeded. */
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
     * Whether the store answered lately. A renewal is due every quarter of the lease, so if half of it is over, two in
     * a row are missing; then it is better not to begin what has to be stored.
     */
    boolean fresh(long nowNs) {
        return remainingNs(nowNs) > lengthNs / 2;
    }

    /**
     * Closes both accounts for ever: the holder is fenced or leaving. Only after this may it be confirmed as stopped.
     */
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
