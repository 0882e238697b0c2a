package io.weir.limiter.supply.protocol;

/**
 * The times and tolerances that all holders of a cluster agree on. Whatever is not a setting is derived here from the lease, so
 * that a simulation with a shorter lease keeps every proportion of a broker.
 *
 * @param leaseNs L
 * @param driftPpm ε in millionths
 * @param guardNs what a watcher waits beyond the lease and the clocks' drift
 * @param patienceNs W, see {@link Watch#patienceNs}
 * @param roundNs between two comparisons with the ring's neighbours
 * @param deadBand a topic begins to move on a ring edge when the step is more than this part of what both ends hold
 */
public record Terms(long leaseNs, long driftPpm, long guardNs, long patienceNs, long roundNs, double deadBand) {
    private static final long MOST_RESEND_NS = 500_000_000L;

    public static Terms of(long leaseNs, long driftPpm, long guardNs, long roundNs, double deadBand) {
        return new Terms(leaseNs, driftPpm, guardNs, Watch.patienceNs(leaseNs, driftPpm, guardNs), roundNs, deadBand);
    }

    /** The same proportions in a shorter time. */
    public Terms faster(int times) {
        return of(leaseNs / times, driftPpm, guardNs / times, roundNs / times, deadBand);
    }

    /** For those who check that a watcher without patience is noticed. */
    public Terms withPatience(long otherPatienceNs) {
        return new Terms(leaseNs, driftPpm, guardNs, otherPatienceNs, roundNs, deadBand);
    }

    /** A watcher that has not read the rows for so long begins to watch anew. */
    public long longestGapNs() {
        return leaseNs / 4;
    }

    /** Between two looks at the rows; half the longest gap, so that one late answer does no harm. */
    public long lookNs() {
        return leaseNs / 8;
    }

    /** What an heir leaves to each that comes before it. */
    public long courtesyNs() {
        return leaseNs / 5;
    }

    /** Between two sendings of a transfer that nobody acknowledged. */
    public long resendNs() {
        return Math.min(MOST_RESEND_NS, leaseNs / 12);
    }

    /** Between the end of a ledger and the replay of its journal. */
    public long recoveryNs() {
        return leaseNs / 20;
    }

    /** What is of no use any more stays for so long, an hour with the usual lease, for those who look for a fault. */
    public long keepNs() {
        return 600 * leaseNs;
    }

    /** Between two sweeps. */
    public long sweepNs() {
        return leaseNs / 3;
    }
}
