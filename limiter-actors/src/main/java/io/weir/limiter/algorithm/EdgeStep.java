package io.weir.limiter.algorithm;

/**
 * One edge of GDRL (Stanojević and Shorten, <i>Generalized Distributed Rate Limiting</i>): how much supply goes over
 * the edge (i, j) when both ends know each other's supply and demand. Immutable and free of allocation; the caller
 * moves what it is told, so supply is conserved by construction.
 *
 * <p>What the gain η multiplies, and the largest η that is accepted (equality included, as in gdrl eq. 15):
 *
 * <table>
 * <caption>units and bounds</caption>
 * <tr><th>step</th><th>moves to i</th><th>synchronous, degree d</th><th>pairwise</th></tr>
 * <tr><td>spare bandwidth</td><td>η·(q_i − q_j), gdrl eq. 7</td><td>1/(2d), Theorem 1, eq. 15</td><td>1/2, Theorem 2</td></tr>
 * <tr><td>every other indicator</td><td>η times the amount that makes q_i = q_j; for the fill ratio (S_j·D_i −
 * S_i·D_j)/(D_i + D_j)</td><td>1/d</td><td>1</td></tr>
 * <tr><td>as printed, any indicator</td><td>η·(q_i − q_j), gdrl eq. 7; η has the unit of supply over q</td><td>½·min(−g_i'
 * )/d, Theorem 1, eq. 9</td><td>½·min(−g_i'), Theorem 2, eq. 17</td></tr>
 * </table>
 *
 * <p>Why 1/d: with e_ij the equalising amount, C_i + e_ij has a q between q_i and q_j. C_i + η·Σ e_ij with η ≤ 1/d is a
 * mean of C_i and such supplies, so, q being monotone, the new q_i lies inside the old range of all q: the nesting that
 * gdrl's proof of Theorem 1 rests on. No indicator's slope enters, so the gain is a pure number that stays right when
 * demand changes. For spare bandwidth, where e_ij = (q_i − q_j)/2, it is eq. 15 again.
 *
 * <p>Where the paper errs: g is convex and falling, so −g' is smallest at the <i>largest</i> q, but steps 1 and 3 of
 * the proof of Theorem 1 bound it by its value at the smallest. The bounds of the printed step therefore take −g_i' at
 * M(0) = max q_i(0) for every i, which is never more than eq. 9 allows, and equal to it when q is linear.
 */
public final class EdgeStep {
    /** How much of β the gain takes away when edges move one by one; see {@link #accelerated}. */
    static final double PAIRWISE_DAMPING = 1.2;

    private final Indicator indicator;
    private final double gain;
    private final boolean asPrinted;
    private final double largestMomentum;
    private final double momentum;
    private final long minimumShare;
    private final double deadBand;

    private EdgeStep(
            Indicator indicator,
            double gain,
            boolean asPrinted,
            double largestMomentum,
            double momentum,
            long minimumShare,
            double deadBand) {
        this.indicator = indicator;
        this.gain = gain;
        this.asPrinted = asPrinted;
        this.largestMomentum = largestMomentum;
        this.momentum = momentum;
        this.minimumShare = minimumShare;
        this.deadBand = deadBand;
    }

    /** For the synchronous form, in which every edge of a graph of this degree moves at once. */
    public static EdgeStep synchronous(Indicator indicator, double gain, int degree) {
        boolean spare = indicator == Indicator.SPARE_BANDWIDTH;
        return checked(
                indicator,
                gain,
                largestGain(indicator, degree),
                spare,
                (spare ? "Theorem 1 (gdrl eq. 9 and 15)" : "Theorem 1 (gdrl eq. 9, per equalising amount: 1/d)")
                        + " on a graph of degree " + degree);
    }

    /** The bound of the synchronous form, see the table: for every indicator the part 1/d of the equalising amount. */
    public static double largestGain(Indicator indicator, int degree) {
        return (indicator == Indicator.SPARE_BANDWIDTH ? 0.5 : 1.0) / Math.max(1, degree);
    }

    /**
     * For the asynchronous form, in which one edge moves at a time. A broker that decides about several edges from the
     * same supply, or while a move of its is still under way, is nearer to the synchronous form: keep to that one's
     * bound.
     */
    public static EdgeStep pairwise(Indicator indicator, double gain) {
        boolean spare = indicator == Indicator.SPARE_BANDWIDTH;
        return checked(
                        indicator,
                        gain,
                        spare ? 0.5 : 1.0,
                        spare,
                        spare ? "Theorem 2 (gdrl eq. 17)" : "Theorem 2 (gdrl eq. 17, per equalising amount: 1)")
                .movingOneByOne();
    }

    /** gdrl eq. 7 as printed, whose bound depends on where the brokers start. */
    public static EdgeStep synchronousAsPrinted(
            Indicator indicator, double gain, int degree, long[] supplies, long[] demands) {
        return checked(
                indicator,
                gain,
                largestPrintedGain(indicator, supplies, demands) / Math.max(1, degree),
                true,
                "Theorem 1 (gdrl eq. 9) on a graph of degree " + degree);
    }

    /** The asynchronous model of gdrl's appendix as printed, whose bound depends on where the brokers start. */
    public static EdgeStep pairwiseAsPrinted(Indicator indicator, double gain, long[] supplies, long[] demands) {
        return checked(
                        indicator,
                        gain,
                        largestPrintedGain(indicator, supplies, demands),
                        true,
                        "Theorem 2 (gdrl eq. 17)")
                .movingOneByOne();
    }

    private static EdgeStep checked(Indicator indicator, double gain, double bound, boolean asPrinted, String theorem) {
        if (!(gain > 0 && gain <= bound)) {
            throw new IllegalArgumentException("gain " + gain + " is refused: " + theorem + " wants 0 < gain ≤ " + bound
                    + " for the indicator " + indicator.label());
        }
        boolean constantSpeed = !asPrinted || indicator == Indicator.SPARE_BANDWIDTH;
        return new EdgeStep(indicator, gain, asPrinted, constantSpeed ? Math.nextDown(2.0) : 1.0, 1.0, 0L, 0.0);
    }

    /** ½·min(−g_i'(M(0))): the bound of the printed pairwise step; the synchronous one divides it by the degree. */
    public static double largestPrintedGain(Indicator indicator, long[] supplies, long[] demands) {
        double worst = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < supplies.length; i++) {
            worst = Math.max(worst, indicator.q(supplies[i], demands[i]));
        }
        double least = Double.POSITIVE_INFINITY;
        for (long demand : demands) {
            least = Math.min(least, indicator.supplyPerQ(worst, demand));
        }
        return least / 2;
    }

    /**
     * What every broker keeps, whatever its demand, so that its first message finds a token. A share below it is filled
     * up from a neighbour that is above it; a share at it gives nothing.
     */
    public EdgeStep withMinimumShare(long micros) {
        if (micros < 0) {
            throw new IllegalArgumentException("minimum share " + micros + " is below 0");
        }
        return new EdgeStep(indicator, gain, asPrinted, largestMomentum, momentum, micros, deadBand);
    }

    /**
     * The minimum share that this cluster gives a topic: a hundredth of the even split, so at most 1% of the limit in
     * all.
     */
    public static long minimumShare(long rateMicros, int members) {
        return rateMicros / members / 100;
    }

    /** A move of at most this part of what both ends hold together is not worth its messages and is left out. */
    public EdgeStep withDeadBand(double part) {
        if (!(part >= 0 && part < 1)) {
            throw new IllegalArgumentException("dead band " + part + " is not in [0, 1)");
        }
        return new EdgeStep(indicator, gain, asPrinted, largestMomentum, momentum, minimumShare, part);
    }

    private EdgeStep movingOneByOne() {
        double largest = Math.min(largestMomentum, Math.max(1, 2 - PAIRWISE_DAMPING * partOfEqualising()));
        return new EdgeStep(indicator, gain, asPrinted, largest, momentum, minimumShare, deadBand);
    }

    /**
     * Second-order diffusion (Muthukrishnan, Ghosh and Schultz, 1998): an edge goes on with β − 1 of what it moved last
     * time and adds β times the plain step. A synchronous ring of N then needs O(N) rounds instead of O(N²). There it
     * is stable for every 1 ≤ β < 2 under the plain step's bound, since that keeps the step's eigenvalues in (−1, 1];
     * fastest at β = 2/(1 + √(1 − ρ²)), ρ the second largest eigenvalue, which this takes from the ring with even
     * demand.
     *
     * <p>The linear scheme lets shares fall below zero. Here a move is cut to what the giver has, and the cut move is
     * the one that the edge remembers.
     *
     * <p>In the pairwise form β may only go to 2 − {@link #PAIRWISE_DAMPING}·p, with p the part of the equalising
     * amount that the gain moves; beyond it a ring swings for ever. That is found by simulation, not proved.
     *
     * @param members brokers on the ring
     * @param chords distances of the further neighbours, as in {@link Graph#ring}
     */
    public EdgeStep accelerated(int members, int... chords) {
        if (largestMomentum == 1) {
            throw new IllegalArgumentException("this step cannot be accelerated: indicator " + indicator.label()
                    + ", gain " + gain + (asPrinted ? " as printed" : " in the pairwise form"));
        }
        double rho = Graph.ringEigenvalue(members, partOfEqualising(), chords);
        return withMomentum(Math.min(largestMomentum, 2 / (1 + Math.sqrt(1 - rho * rho))));
    }

    /** {@link #accelerated} with a β of the caller's. */
    public EdgeStep withMomentum(double beta) {
        if (!(beta >= 1 && beta <= largestMomentum)) {
            throw new IllegalArgumentException("momentum " + beta
                    + " is refused: second-order diffusion wants it from 1 to " + largestMomentum + " for this gain");
        }
        return new EdgeStep(indicator, gain, asPrinted, largestMomentum, beta, minimumShare, deadBand);
    }

    /** Meant for steps that move a constant part: as printed, only spare bandwidth does. */
    private double partOfEqualising() {
        return asPrinted ? 2 * gain : gain;
    }

    /** What j hands to i in micro-tokens/s; negative: i to j. Never more than the giver has above its minimum. */
    public long toFirst(long supplyI, long demandI, long supplyJ, long demandJ) {
        return limited(pull(supplyI, demandI, supplyJ, demandJ), supplyI, supplyJ);
    }

    /** The same for an edge that moved {@code lastToFirst} in its last round: the accelerated step. */
    public long toFirst(long supplyI, long demandI, long supplyJ, long demandJ, long lastToFirst) {
        double pull = pull(supplyI, demandI, supplyJ, demandJ);
        return limited((momentum - 1) * lastToFirst + momentum * pull, supplyI, supplyJ);
    }

    public Indicator indicator() {
        return indicator;
    }

    /** What of this supply may leave. */
    long movable(long supply) {
        return Math.max(0, supply - minimumShare);
    }

    private double pull(long supplyI, long demandI, long supplyJ, long demandJ) {
        return gain
                * (asPrinted
                        ? indicator.q(supplyI, demandI) - indicator.q(supplyJ, demandJ)
                        : indicator.equalising(supplyI, demandI, supplyJ, demandJ));
    }

    /** Rounds towards zero, so that rounding never overshoots. */
    private long limited(double wanted, long supplyI, long supplyJ) {
        long move = Math.abs(wanted) <= deadBand * ((double) supplyI + supplyJ) ? 0 : (long) wanted;
        if (supplyI < minimumShare) {
            move = Math.max(move, Math.min(minimumShare - supplyI, movable(supplyJ)));
        } else if (supplyJ < minimumShare) {
            move = Math.min(move, -Math.min(minimumShare - supplyJ, movable(supplyI)));
        }
        return Math.max(-movable(supplyI), Math.min(move, movable(supplyJ)));
    }
}
