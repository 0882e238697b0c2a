package io.weir.limiter.algorithm;

/**
 * What a token bucket (r, b) does to Poisson messages of rate λ &lt; r (SRTM, Eq. 1 and 2): a message that finds
 * unfinished work U in the M/D/1 queue with service time 1/r waits max(0, U + 1 − b)/r for its token.
 *
 * <p>b is a real number ≥ 1. A share of a split may well hold 13.5 tokens: U is continuous, so the formula stands as it
 * is, and rounding b to 13 or 14 instead would be off by 4% (k = 2, b = 27). Below 1 nothing ever passes.
 *
 * <p>One thing differs from the paper. Its Eq. 1 takes 1/(2r(1−λ/r)) for the mean wait of those that wait. That is true
 * for b = 1 only (Pollaczek and Khinchine); for larger b it is too long: by 3% at load 0.91, by a quarter at 0.5.
 * {@link #meanDelaySeconds} is exact, {@link #meanDelayByEq1Seconds} is the paper's.
 */
public final class BucketModel {
    private final double arrivalRate;
    private final double tokenRate;
    private final double burst;
    private final UnfinishedWork work;

    /**
     * @param arrivalRate λ in messages a second
     * @param tokenRate r in tokens a second, above λ
     * @param burst b in tokens, at least 1
     */
    public BucketModel(double arrivalRate, double tokenRate, double burst) {
        if (!(arrivalRate > 0 && Double.isFinite(arrivalRate))) {
            throw new IllegalArgumentException("arrival rate " + arrivalRate + " is not above 0");
        }
        if (!(tokenRate > arrivalRate && Double.isFinite(tokenRate))) {
            throw new IllegalArgumentException("rate " + tokenRate + " is not above the arrival rate " + arrivalRate
                    + ": more messages come than may pass, so the delay grows without end");
        }
        if (!(burst >= 1 && Double.isFinite(burst))) {
            throw new IllegalArgumentException(
                    "burst " + burst + " is not at least 1: a bucket that never holds a whole token lets nothing pass");
        }
        this.arrivalRate = arrivalRate;
        this.tokenRate = tokenRate;
        this.burst = burst;
        this.work = new UnfinishedWork(arrivalRate / tokenRate);
    }

    /** λ/r. */
    public double load() {
        return arrivalRate / tokenRate;
    }

    /** b. */
    public double burst() {
        return burst;
    }

    /** P(U &gt; b−1): the part of the messages that find no token. */
    public double delayedFraction() {
        return work.above(burst - 1);
    }

    /** The mean access delay over all messages, those that do not wait included: E[max(0, U + 1 − b)]/r. */
    public double meanDelaySeconds() {
        return work.excess(burst - 1) / tokenRate;
    }

    /** The mean access delay as SRTM's Eq. 1 has it. */
    public double meanDelayByEq1Seconds() {
        return delayedFraction() / (2 * tokenRate * (1 - load()));
    }

    /** The access delay that the part {@code quantile} (such as 0.99) of the messages does not exceed. */
    public double delayQuantileSeconds(double quantile) {
        if (!(quantile >= 0 && quantile < 1)) {
            throw new IllegalArgumentException("quantile " + quantile + " is not between 0 and 1");
        }
        return Math.max(0, work.exceededBy(1 - quantile) + 1 - burst) / tokenRate;
    }

    /** The smallest whole burst for which the part {@code quantile} of the messages waits not at all. */
    public long smallestBurst(double quantile) {
        return (long) Math.ceil(work.exceededBy(1 - quantile)) + 1;
    }

    /** One of k equal shares: Poisson messages of rate λ/k meet the bucket (r/k, b/k). */
    public BucketModel share(int k) {
        if (k < 1) {
            throw new IllegalArgumentException("a bucket is split into 1 share or more, not " + k);
        }
        return new BucketModel(arrivalRate / k, tokenRate / k, burst / k);
    }
}
