package io.weir.limiter.supply.protocol;

/**
 * What one process has read of the store's rows. It outlives a {@link SupplyNode} that ended over an unknown outcome,
 * but neither the process nor its actor system.
 *
 * @param limits the last version of every limit
 * @param watch the leases' rows, and since when each is as it is
 * @param retention which of both kinds of rows the store may forget
 */
public record StoreView(KnownLimits limits, LeaseWatch watch, Retention retention) {
    /** Nothing yet. */
    public static StoreView nothing(ProtocolTimes times) {
        return new StoreView(
                new KnownLimits(),
                new LeaseWatch(times.patienceNs(), times.longestGapNs()),
                new Retention(times.retentionNs(), times.patienceNs(), times.driftPpm()));
    }
}
