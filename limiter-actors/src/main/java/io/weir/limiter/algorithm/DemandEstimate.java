package io.weir.limiter.algorithm;

/**
 * A broker's demand for a topic, smoothed by gdrl's low-pass filter (III-A): λ̂(t+1) = (1−α)·λ̂(t) + α·δ(t), where δ is
 * what arrived in a slot. Demand is what was offered, refused messages included: what was admitted only mirrors the
 * supply.
 *
 * <p>A slot may come late: one that lasted n slots weighs as n slots of its mean rate. A double is fine, since nothing
 * is conserved here.
 */
public final class DemandEstimate {
    private final double alpha;
    private final long slotNs;
    private double microsPerSecond;

    public DemandEstimate(double alpha, long slotNs) {
        if (!(alpha > 0 && alpha <= 1) || slotNs <= 0) {
            throw new IllegalArgumentException("a low-pass filter with alpha " + alpha + " and a slot of " + slotNs
                    + " ns: 0 < alpha ≤ 1 and a slot above 0");
        }
        this.alpha = alpha;
        this.slotNs = slotNs;
    }

    /**
     * @param arrivedMicros what arrived since the last call, in micro-tokens
     * @param elapsedNs how long ago that was
     */
    public void observe(long arrivedMicros, long elapsedNs) {
        if (elapsedNs <= 0) {
            throw new IllegalArgumentException("a slot of " + elapsedNs + " ns");
        }
        double weight = elapsedNs == slotNs ? alpha : 1 - Math.pow(1 - alpha, (double) elapsedNs / slotNs);
        double rate = arrivedMicros * (1e9 / elapsedNs);
        microsPerSecond += weight * (rate - microsPerSecond);
    }

    public long microsPerSecond() {
        return Math.round(microsPerSecond);
    }
}
