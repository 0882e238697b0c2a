package io.weir.limiter.supply.protocol;

/**
 * The times and tolerances that all holders of a cluster agree on. What is not a setting is derived here from the
 * lease, so that a simulation with a shorter lease keeps a broker's proportions.
 *
 * @param leaseNs L
 * @param driftPpm ε in millionths
 * @param guardNs how long a watcher waits beyond the lease and the clocks' drift
 * @param patienceNs W, see {@link LeaseWatch#patienceNs}
 * @param roundNs between two comparisons with the ring's neighbours
 * @param deadBand a topic moves on a ring edge when the step exceeds this fraction of what both ends hold
 * @param reserve which part of what the broker before it holds a best buddy keeps, see {@link Reserve}
 */
public record ProtocolTimes(
        long leaseNs, long driftPpm, long guardNs, long patienceNs, long roundNs, double deadBand, double reserve) {
    private static final long MOST_RESEND_NS = 500_000_000L;

    public static ProtocolTimes of(
            long leaseNs, long driftPpm, long guardNs, long roundNs, double deadBand, double reserve) {
        return new ProtocolTimes(
                leaseNs,
                driftPpm,
                guardNs,
                LeaseWatch.patienceNs(leaseNs, driftPpm, guardNs),
                roundNs,
                deadBand,
                reserve);
    }

    /** The same proportions in a shorter time. */
    public ProtocolTimes faster(int factor) {
        return of(leaseNs / factor, driftPpm, guardNs / factor, roundNs / factor, deadBand, reserve);
    }

    /** For tests that let a watcher fence too early, to see that a checker notices. */
    public ProtocolTimes withPatience(long otherPatienceNs) {
        return new ProtocolTimes(leaseNs, driftPpm, guardNs, otherPatienceNs, roundNs, deadBand, reserve);
    }

    /** With another reserve. */
    public ProtocolTimes withReserve(double otherReserve) {
        return new ProtocolTimes(leaseNs, driftPpm, guardNs, patienceNs, roundNs, deadBand, otherReserve);
    }

    /** A watcher that has not read the rows for longer than this forgets what it saw. */
    public long longestGapNs() {
        return leaseNs / 4;
    }

    /** Between two looks at the rows: half the longest gap, so that one late answer does no harm. */
    long lookNs() {
        return leaseNs / 8;
    }

    /** How long an heir waits for each heir that comes before it. */
    long courtesyNs() {
        return leaseNs / 5;
    }

    /** Between two sendings of an unacknowledged transfer. */
    public long resendNs() {
        return Math.min(MOST_RESEND_NS, leaseNs / 12);
    }

    /** Between the end of a ledger and the replay of its journal. */
    public long recoveryNs() {
        return leaseNs / 20;
    }

    /** How long rows and journals stay after nobody needs them, for those who look for a fault: an hour by default. */
    long retentionNs() {
        return 600 * leaseNs;
    }

    /** Between two sweeps. */
    public long sweepNs() {
        return leaseNs / 3;
    }
}
