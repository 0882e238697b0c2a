package io.weir.limiter.supply.protocol;

/**
 * What one process has read of the store's rows. It outlives a {@link SupplyNode} whose write is unknown, but not the process, nor its actor
 * system.
 *
 * @param limits the limits' rows
 * @param watch what was seen of the leases, and since when
 * @param retention what of both may be forgotten
 */
public record Observed(LimitBook limits, Watch watch, Retention retention) {
    /** Nothing yet. */
    public static Observed nothing(Terms terms) {
        return new Observed(
                new LimitBook(),
                new Watch(terms.patienceNs(), terms.longestGapNs()),
                new Retention(terms.keepNs(), terms.patienceNs(), terms.driftPpm()));
    }
}
