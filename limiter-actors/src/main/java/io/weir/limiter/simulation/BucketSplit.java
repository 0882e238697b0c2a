package io.weir.limiter.simulation;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.TokenBucket;
import java.util.random.RandomGenerator;

/**
 * A limit split into k shares (r_l, b_l) with Σ r_l = r and Σ b_l = b to the last micro-token, each able to hold a
 * whole token.
 *
 * @param ratesMicros r_l
 * @param burstsMicros b_l
 */
public record BucketSplit(long[] ratesMicros, long[] burstsMicros) {
    /** As equal as micro-tokens allow. */
    public static BucketSplit even(Limit limit, int k) {
        long[] rates = new long[k];
        long[] bursts = new long[k];
        for (int l = 0; l < k; l++) {
            rates[l] = limit.rateMicros() / k + (l < limit.rateMicros() % k ? 1 : 0);
            bursts[l] = limit.burstMicros() / k + (l < limit.burstMicros() % k ? 1 : 0);
        }
        return new BucketSplit(rates, bursts);
    }

    /** At random: every share holds at least a token, and a twentieth of its even part of the rate. */
    public static BucketSplit random(Limit limit, int k, RandomGenerator random) {
        return new BucketSplit(
                cut(limit.rateMicros(), k, limit.rateMicros() / (20L * k), random),
                cut(limit.burstMicros(), k, Limit.MICROS, random));
    }

    /** One full bucket a share. */
    public TokenBucket[] buckets(long nowNs) {
        TokenBucket[] buckets = new TokenBucket[ratesMicros.length];
        for (int l = 0; l < buckets.length; l++) {
            buckets[l] = new TokenBucket(ratesMicros[l], burstsMicros[l], burstsMicros[l], nowNs);
        }
        return buckets;
    }

    private static long[] cut(long whole, int k, long least, RandomGenerator random) {
        long left = whole - k * least;
        if (left < 0) {
            throw new IllegalArgumentException(whole + " cannot be cut into " + k + " parts of at least " + least);
        }
        long[] parts = new long[k];
        for (int l = 0; l < k; l++) {
            long extra = l == k - 1 ? left : random.nextLong(left / (k - l) * 2 + 1);
            parts[l] = least + Math.min(extra, left);
            left -= Math.min(extra, left);
        }
        return parts;
    }
}
