package io.weir.supervisor.local;

/**
 * How long to wait before a process that ended is started again: the wait doubles with every end that comes soon, up to
 * half a minute, and begins anew for one that had lived.
 */
final class Backoff {
    static final long FIRST_MS = 100;
    static final long MOST_MS = 30_000;
    /** Who lived for so long did not fail at its start. */
    static final long STEADY_MS = 60_000;

    private int inARow;

    /** @param livedMs how long the process lived that has ended now */
    long afterEndMs(long livedMs) {
        inARow = livedMs >= STEADY_MS ? 1 : inARow + 1;
        // Shifted by no more than reaches the most: a long shift would wrap.
        return Math.min(MOST_MS, FIRST_MS << Math.min(inARow - 1, 10));
    }

    /** How many ends came soon after each other. */
    int inARow() {
        return inARow;
    }
}
