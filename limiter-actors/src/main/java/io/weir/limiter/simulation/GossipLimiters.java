package io.weir.limiter.simulation;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.DemandEstimate;
import java.util.random.RandomGenerator;

/**
 * Raghavan's two schemes as gdrl I-C describes them, in the same slotted world as {@link SlottedLimiters}: demand (here
 * also FPS's weight, since open-loop traffic has no flows to count) is estimated by the low-pass filter and spread by
 * {@link PushSum}, one round a slot. Global random drop refuses an arriving packet with probability (T − C)/T; flow
 * proportional share limits each node to C·w_i/W. Neither hands supply from one to the other, so nothing bounds the
 * sum.
 */
public final class GossipLimiters {
    private static final long SLOT_NS = 1_000_000_000L;

    private final double rate;
    private final SlottedLimiters.Demand demand;
    private final RandomGenerator random;
    private final DemandEstimate[] estimates;
    private final PushSum gossip;
    private long slot;

    public GossipLimiters(
            int limiters, double alpha, double rate, SlottedLimiters.Demand demand, RandomGenerator random) {
        this.rate = rate;
        this.demand = demand;
        this.random = random;
        this.estimates = new DemandEstimate[limiters];
        for (int i = 0; i < limiters; i++) {
            estimates[i] = new DemandEstimate(alpha, SLOT_NS);
        }
        this.gossip = new PushSum(limiters);
    }

    /** Lets a slot pass. */
    public void slot() {
        for (int i = 0; i < estimates.length; i++) {
            boolean arrived = random.nextDouble() < demand.at(i, slot);
            estimates[i].observe(arrived ? Limit.MICROS : 0, SLOT_NS);
            gossip.set(i, estimate(i));
        }
        gossip.round(random);
        slot++;
    }

    private double estimate(int limiter) {
        return estimates[limiter].microsPerSecond() / (double) Limit.MICROS;
    }

    /** What all limiters together admit a slot under global random drop. */
    public double admittedByRandomDrop() {
        double admitted = 0;
        for (int i = 0; i < estimates.length; i++) {
            double total = gossip.total(i);
            double dropped = total > rate ? (total - rate) / total : 0;
            admitted += demand.at(i, slot) * (1 - dropped);
        }
        return admitted;
    }

    /** What all limiters together admit a slot under flow proportional share. */
    public double admittedByProportionalShare() {
        double admitted = 0;
        for (int i = 0; i < estimates.length; i++) {
            admitted += Math.min(demand.at(i, slot), proportionalShare(i));
        }
        return admitted;
    }

    /** ΣC_i under flow proportional share: what may be admitted if every limiter has enough demand. */
    double sumOfProportionalShares() {
        double sum = 0;
        for (int i = 0; i < estimates.length; i++) {
            sum += proportionalShare(i);
        }
        return sum;
    }

    private double proportionalShare(int limiter) {
        double total = gossip.total(limiter);
        return total > 0 ? rate * estimate(limiter) / total : rate / estimates.length;
    }
}
