package io.weir.limiter.workflow.algorithm;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.TokenBucket;

/**
 * Where σ is enforced: a bucket for each workflow at a shard, for messages without a parent, inside the topic's own
 * limit. It holds a second of σ, and at least one batch of the largest size seen. A workflow without a finite σ has
 * none, and passes.
 */
public final class EntryBuckets {
    private static final int LARGEST_BATCH = 1 << 16;
    private static final double HIGHEST = Limit.MAX_BURST_MICROS / (double) Limit.MICROS;

    private final TokenBucket[] buckets = new TokenBucket[WorkflowSlots.COUNT];
    private final int[] largest = new int[WorkflowSlots.COUNT];

    /** Sets σ; infinite frees the workflow. A new bucket is empty: σ became finite because something is overrun. */
    public void sigma(int workflow, double sigma, long nowNs) {
        if (!(sigma >= 0)) {
            throw new IllegalArgumentException("a rate of " + sigma);
        }
        if (sigma > HIGHEST) {
            buckets[workflow] = null;
            return;
        }
        long rate = Math.round(sigma * Limit.MICROS);
        long depth = Math.max(rate, Math.max(1, largest[workflow]) * Limit.MICROS);
        if (buckets[workflow] == null) {
            buckets[workflow] = new TokenBucket(rate, depth, 0, nowNs);
        } else {
            buckets[workflow].change(rate, depth, nowNs);
        }
    }

    /** 0 if the workflow may pass {@code count} messages now, and they are counted; else how long until it could. */
    public long takeOrWaitNs(int workflow, int count, long nowNs) {
        if (count > largest[workflow]) {
            largest[workflow] = Math.min(count, LARGEST_BATCH);
            TokenBucket bucket = buckets[workflow];
            if (bucket != null && bucket.burstMicros() < largest[workflow] * Limit.MICROS) {
                bucket.change(bucket.rateMicros(), largest[workflow] * Limit.MICROS, nowNs);
            }
        }
        return buckets[workflow] == null ? 0 : buckets[workflow].takeOrWaitNs(count, nowNs);
    }

    /** How long a message that comes now would wait for σ behind {@code waiting} others of its workflow. */
    public long expectedWaitNs(int workflow, long waiting, long nowNs) {
        TokenBucket bucket = buckets[workflow];
        if (bucket == null) {
            return 0;
        }
        double missing = (waiting + 1) * (double) Limit.MICROS - bucket.levelMicros(nowNs);
        return missing <= 0 ? 0 : (long) (missing / Math.max(1, bucket.rateMicros()) * 1e9);
    }

    public boolean bounded(int workflow) {
        return buckets[workflow] != null;
    }
}
