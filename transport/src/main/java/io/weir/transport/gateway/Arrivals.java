package io.weir.transport.gateway;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * When a client's bytes came, as far as their commands are not carried out yet. Bytes are counted from the connection's
 * first. What came within a short time is one arrival, at its end; so is the rest when there are too many.
 */
final class Arrivals {
    private static final long APART_NS = TimeUnit.MILLISECONDS.toNanos(100);
    /** At that distance, more than the longest usual delay. */
    private static final int MOST = 512;

    private long[] ends = new long[1];
    private long[] timesNs = new long[1];
    private int first;
    private int count;
    /** When the last arrival began. */
    private long lastNs;

    /** Bytes up to this one have come now. */
    void came(long end, long nowNs) {
        if (count == 0 || nowNs - lastNs >= APART_NS && count < MOST) {
            lastNs = nowNs;
            if (first + count == ends.length) {
                makeRoom();
            }
            count++;
        }
        int last = first + count - 1;
        ends[last] = end;
        timesNs[last] = nowNs;
    }

    private void makeRoom() {
        int length = count == ends.length ? count * 2 : ends.length;
        long[] oldEnds = ends;
        long[] oldTimesNs = timesNs;
        if (length > ends.length) {
            ends = Arrays.copyOf(oldEnds, length);
            timesNs = Arrays.copyOf(oldTimesNs, length);
        }
        System.arraycopy(oldEnds, first, ends, 0, count);
        System.arraycopy(oldTimesNs, first, timesNs, 0, count);
        first = 0;
    }

    /** Bytes up to this one are carried out. */
    void carriedOut(long end) {
        while (count > 0 && ends[first] - end <= 0) {
            first++;
            count--;
        }
        first = count == 0 ? 0 : first;
    }

    /** When the byte before this one came; it is not {@link #carriedOut}. */
    long timeNs(long end) {
        int at = first;
        while (ends[at] - end < 0 && at < first + count - 1) {
            at++;
        }
        return timesNs[at];
    }
}
