package io.weir.cluster.failpoints.armed;

import io.weir.limiter.supply.gate.algorithm.Lease;

/** A lease that never runs out. What is left of it is still reported truly: below zero when it is over. */
final class IgnoredLease extends Lease {
    IgnoredLease(long lengthNs) {
        super(lengthNs);
    }

    @Override
    public boolean usable(long nowNs) {
        return !closed();
    }
}
