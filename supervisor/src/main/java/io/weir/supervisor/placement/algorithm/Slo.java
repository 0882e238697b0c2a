package io.weir.supervisor.placement.algorithm;

/**
 * A topic's service level objective: the part {@code quantile} of its messages goes from end to end within
 * {@code latencyNs}.
 *
 * @param quantile such as 0.99
 */
public record Slo(long latencyNs, double quantile) {
    /** A fitting broker whose quantile is within this part below the objective is full (SRTM, footnote 11). */
    public static final double SNUG = 0.2;

    public Slo {
        if (latencyNs <= 0) {
            throw new IllegalArgumentException("a latency objective of " + latencyNs + " ns is not above 0");
        }
        if (!(quantile > 0 && quantile < 1)) {
            throw new IllegalArgumentException(
                    "quantile " + quantile + " is not between 0 and 1 (0.99 for the 99th percentile)");
        }
    }

    public static Slo p99(long latencyNs) {
        return new Slo(latencyNs, 0.99);
    }

    /** The part of the messages that may be slower. */
    public double tolerated() {
        return 1 - quantile;
    }

    /** Where the snug zone begins. */
    public long snugNs() {
        return (long) (latencyNs * (1 - SNUG));
    }
}
