package io.weir.limiter.simulation;

import io.weir.limiter.algorithm.TokenBucket;

/**
 * Arrivals on their way through token buckets: each message goes to the bucket it is assigned to and waits there, first
 * come first served, until it gets its token.
 */
public final class ShapedArrivals {
    private final long[] arrivalsNs;
    private final long[] departuresNs;

    private ShapedArrivals(long[] arrivalsNs, long[] departuresNs) {
        this.arrivalsNs = arrivalsNs;
        this.departuresNs = departuresNs;
    }

    /** All through one bucket. */
    public static ShapedArrivals through(TokenBucket bucket, long[] arrivalsNs) {
        return through(new TokenBucket[] {bucket}, arrivalsNs, new int[arrivalsNs.length]);
    }

    /** Message i through the bucket {@code bucketOf[i]}. */
    public static ShapedArrivals through(TokenBucket[] buckets, long[] arrivalsNs, int[] bucketOf) {
        long[] departuresNs = new long[arrivalsNs.length];
        long[] lastNs = new long[buckets.length];
        boolean[] used = new boolean[buckets.length];
        for (int i = 0; i < arrivalsNs.length; i++) {
            int at = bucketOf[i];
            long nowNs = used[at] ? Math.max(arrivalsNs[i], lastNs[at]) : arrivalsNs[i];
            long waitNs = buckets[at].takeOrWaitNs(1, nowNs);
            if (waitNs == TokenBucket.NEVER) {
                throw new IllegalArgumentException("bucket " + at + " (rate " + buckets[at].rateMicros() + ", burst "
                        + buckets[at].burstMicros() + " micro-tokens) never lets message " + i + " pass");
            }
            if (waitNs > 0 && buckets[at].takeOrWaitNs(1, nowNs + waitNs) != 0) {
                throw new IllegalStateException("message " + i + " was told to wait " + waitNs + " ns, in vain");
            }
            departuresNs[i] = nowNs + waitNs;
            lastNs[at] = departuresNs[i];
            used[at] = true;
        }
        return new ShapedArrivals(arrivalsNs, departuresNs);
    }

    public int messages() {
        return arrivalsNs.length;
    }

    /** How long message i waited for its token. */
    public long delayNs(int i) {
        return departuresNs[i] - arrivalsNs[i];
    }

    /** When each message left, in the order of the arrivals. */
    long[] departuresNs() {
        return departuresNs.clone();
    }
}
