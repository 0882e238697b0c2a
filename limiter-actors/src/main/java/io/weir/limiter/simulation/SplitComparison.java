package io.weir.limiter.simulation;

import java.util.Arrays;

/**
 * The same arrivals through one bucket and through a split of it, side by side (SRTM, Proposition 1).
 *
 * <p>The proposition speaks of sums: S(t) = ∫N(u)du, the delay that all messages have accrued until t, with N(u) of
 * them waiting. Its proof shows more: N(t) ≤ Σ N_l(t), which is to say that the n-th departure of the split is never
 * before the n-th of the whole. Neither holds message by message: one that meets an idle share overtakes those that it
 * would have queued behind.
 *
 * @param leastSumGapNs the smallest S^(k)(t) − S(t) at any t; the proposition says it is not negative
 * @param leastLeadNs the smallest (n-th departure of the split) − (n-th of the whole); the proof says the same of it
 * @param leftEarlier how many messages left the split before they left the whole
 */
public record SplitComparison(long leastSumGapNs, long leastLeadNs, int leftEarlier) {

    public static SplitComparison of(ShapedArrivals whole, ShapedArrivals split) {
        long[] one = whole.departuresNs();
        long[] many = split.departuresNs();
        int leftEarlier = 0;
        for (int i = 0; i < one.length; i++) {
            leftEarlier += many[i] < one[i] ? 1 : 0;
        }
        Arrays.sort(one);
        Arrays.sort(many);
        long leastLead = Long.MAX_VALUE;
        for (int n = 0; n < one.length; n++) {
            leastLead = Math.min(leastLead, many[n] - one[n]);
        }
        return new SplitComparison(leastSumGap(one, many), leastLead, leftEarlier);
    }

    /**
     * S^(k) − S grows by (departures of the whole − departures of the split) a nanosecond: summed between departures.
     */
    private static long leastSumGap(long[] one, long[] many) {
        long least = 0;
        long gap = 0;
        long lastNs = Math.min(one[0], many[0]);
        int left = 0;
        int leftSplit = 0;
        while (left < one.length || leftSplit < many.length) {
            long nowNs = Math.min(
                    left < one.length ? one[left] : Long.MAX_VALUE,
                    leftSplit < many.length ? many[leftSplit] : Long.MAX_VALUE);
            gap += (left - leftSplit) * (nowNs - lastNs);
            least = Math.min(least, gap);
            lastNs = nowNs;
            while (left < one.length && one[left] == nowNs) {
                left++;
            }
            while (leftSplit < many.length && many[leftSplit] == nowNs) {
                leftSplit++;
            }
        }
        return least;
    }
}
