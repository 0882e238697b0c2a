package io.weir.limiter.simulation;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.DemandEstimate;
import io.weir.limiter.algorithm.EdgeStep;
import io.weir.limiter.algorithm.FairnessIndex;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.SynchronousGdrl;
import java.util.random.RandomGenerator;

/**
 * The world of gdrl's evaluation (III): N limiters in slotted time. In a slot a packet arrives at limiter i with
 * probability λ_i, the limiter's low-pass filter takes note, and GDRL makes one round on the estimates. A slot is a
 * second and a packet a message, so that λ_i messages a second are λ_i packets a slot.
 *
 * <p>The paper speaks of a Poisson process and of δ(t) = 1 "if a packet arrived"; that δ has the mean 1 − e^−λ, not λ.
 * Its estimates settle at λ (Fig. 5), so arrivals here are Bernoulli. Nothing is known at the start: λ̂(0) = 0.
 */
public final class SlottedLimiters {
    private static final long SLOT_NS = 1_000_000_000L;

    /** The demand λ_i(t) of a limiter, in packets a slot: from 0 to 1. */
    @FunctionalInterface
    public interface Demand {
        double at(int limiter, long slot);
    }

    private final Demand demand;
    private final RandomGenerator random;
    private final SynchronousGdrl gdrl;
    private final DemandEstimate[] estimates;
    private final long[] demands;
    private final long[] supplies;
    private long slot;

    public SlottedLimiters(
            Graph graph, EdgeStep step, double alpha, double rate, Demand demand, RandomGenerator random) {
        this.demand = demand;
        this.random = random;
        this.gdrl = new SynchronousGdrl(graph, step);
        this.estimates = new DemandEstimate[graph.nodes()];
        for (int i = 0; i < estimates.length; i++) {
            estimates[i] = new DemandEstimate(alpha, SLOT_NS);
        }
        this.demands = new long[graph.nodes()];
        this.supplies = SynchronousGdrl.evenSplit(Math.round(rate * Limit.MICROS), graph.nodes());
    }

    /** Lets a slot pass. */
    public void slot() {
        for (int i = 0; i < demands.length; i++) {
            boolean arrived = random.nextDouble() < demand.at(i, slot);
            estimates[i].observe(arrived ? Limit.MICROS : 0, SLOT_NS);
            demands[i] = estimates[i].microsPerSecond();
        }
        gdrl.round(supplies, demands);
        slot++;
    }

    /** C_i, in packets a slot. */
    public double supply(int limiter) {
        return supplies[limiter] / (double) Limit.MICROS;
    }

    /** λ̂_i, in packets a slot. */
    public double estimate(int limiter) {
        return demands[limiter] / (double) Limit.MICROS;
    }

    /** λ_i in the slot to come. */
    private double demand(int limiter) {
        return demand.at(limiter, slot);
    }

    /** q_i = λ_i − C_i (gdrl eq. 14) with the true demand, which no limiter knows. */
    public double q(int limiter) {
        return demand(limiter) - supply(limiter);
    }

    /** JFI(q), gdrl eq. 16. */
    public double jain() {
        double[] q = new double[demands.length];
        for (int i = 0; i < q.length; i++) {
            q[i] = q(i);
        }
        return FairnessIndex.jain(q);
    }

    /** JFI of λ̂_i − C_i: how well GDRL does what it can with what it knows. */
    double jainOfEstimates() {
        double[] q = new double[demands.length];
        for (int i = 0; i < q.length; i++) {
            q[i] = (double) demands[i] - supplies[i];
        }
        return FairnessIndex.jain(q);
    }

    /** ΣC_i, to the last micro-token a second. */
    public long totalSupplyMicros() {
        long total = 0;
        for (long supply : supplies) {
            total += supply;
        }
        return total;
    }

    /** What is admitted a slot when every limiter admits up to its C_i. */
    public double admitted() {
        double admitted = 0;
        for (int i = 0; i < demands.length; i++) {
            admitted += Math.min(demand(i), supply(i));
        }
        return admitted;
    }
}
