package io.weir.limiter.workflow.algorithm;

import java.util.Arrays;

/**
 * What the processes of one downstream service allow a workflow here: Wisp's Algorithm 1, lines 2 to 5. Filled anew
 * every interval: {@link #clear}, {@link #add} each process, ask.
 *
 * <p>{@link #quantile} is the paper's, for processes that are apart. Brokers between which supply moves and consumers
 * are federated are one pool: {@link #pool}.
 */
public final class Downstream {
    private double[] rates = new double[8];
    private double[] alphas = new double[8];
    private int size;

    public void clear() {
        size = 0;
    }

    public boolean isEmpty() {
        return size == 0;
    }

    /**
     * @param rate what the process announced to this shard; infinite if nothing
     * @param alpha publications there for one finished delivery here, above 0
     */
    public void add(double rate, double alpha) {
        if (!(alpha > 0) || !(rate >= 0)) {
            throw new IllegalArgumentException("a rate of " + rate + " with an amplification of " + alpha
                    + ": a rate of at least 0, an amplification above 0");
        }
        if (size == rates.length) {
            rates = Arrays.copyOf(rates, size * 2);
            alphas = Arrays.copyOf(alphas, size * 2);
        }
        // Sorted by rate ÷ α as they come: services have few processes.
        int at = size++;
        for (; at > 0 && rates[at - 1] / alphas[at - 1] > rate / alpha; at--) {
            rates[at] = rates[at - 1];
            alphas[at] = alphas[at - 1];
        }
        rates[at] = rate;
        alphas[at] = alpha;
    }

    /**
     * Q_q of σ_d ÷ α_d, weighted by α: the smallest that at least the part q of the publications does not exceed. 0 is
     * the slowest process (idle capacity at the others), 1 the fastest (drops at the others). β = q ÷ (1 − q) is what
     * idle capacity costs against a drop.
     */
    public double quantile(double q) {
        if (!(q >= 0 && q <= 1)) {
            throw new IllegalArgumentException("the quantile knob lies between 0 and 1, not at " + q);
        }
        double total = 0;
        for (int i = 0; i < size; i++) {
            total += alphas[i];
        }
        double below = 0;
        for (int i = 0; i < size; i++) {
            below += alphas[i];
            if (below >= q * total * (1 - 1e-12)) {
                return rates[i] / alphas[i];
            }
        }
        return Double.POSITIVE_INFINITY;
    }

    /** Σσ_d ÷ Σα_d: messages go where capacity is. */
    public double pool() {
        double rate = 0;
        double alpha = 0;
        for (int i = 0; i < size; i++) {
            rate += rates[i];
            alpha += alphas[i];
        }
        return size == 0 ? Double.POSITIVE_INFINITY : rate / alpha;
    }
}
