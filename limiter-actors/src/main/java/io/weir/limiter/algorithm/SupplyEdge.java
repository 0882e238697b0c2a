package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;

/**
 * The TB adaptor's goal reached by the ring alone: what one broker hands to a neighbour when both know each other's
 * share and demand. Rate goes by GDRL's step on the fill ratio ρ/x (x the average rate), burst by the same step on β/y
 * (y the largest backlog), so that a ring at rest has SRTM 5.4's proportions without anybody in the middle.
 *
 * <p>Each end calls this for itself and hands over what it is told; rate and burst may go in opposite directions. A
 * share with a rate keeps a burst of at least one message: what would leave either side with less moves all or nothing,
 * to the side with more than twice the demand, so that it does not swing back at once.
 *
 * <p>The dead band keeps noise from moving anything. Where hardly anything is asked for there is no noise, and what
 * lies there would lie idle: up to two dead bands at each neighbour of the one broker that has demand, and as much at
 * every broker behind them. Such a broker therefore hands over whatever is worth a quarter of a minimum share.
 *
 * <p>Gain ½ on a plain ring: the synchronous bound 1/d of {@link EdgeStep}, since both edges of a broker may move at
 * once.
 */
public final class SupplyEdge {
    private static final int ALL_OR_NOTHING_FACTOR = 2;

    /** Asked for less than this part of what is asked of the neighbour, a broker counts as idle. */
    private static final int IDLE_PART = 100;

    /** A move of an idle broker that is smaller than this part of a minimum share is not worth its messages. */
    private static final int WORTH_PARTS = 4;

    private final Step rateStep;
    private final Step burstStep;

    /** One quantity's step: with the dead band, and without it for an idle broker. */
    private record Step(EdgeStep usual, EdgeStep ofIdle, long minimumShare) {
        static Step of(double gain, int degree, long minimumShare, double deadBand) {
            EdgeStep plain =
                    EdgeStep.synchronous(Indicator.FILL_RATIO, gain, degree).withMinimumShare(minimumShare);
            return new Step(plain.withDeadBand(deadBand), plain, minimumShare);
        }

        /**
         * Demands count as a minimum share at least: how much less makes no difference, or of two idle brokers one
         * would keep what both have.
         */
        long handedOver(long mine, long myDemand, long theirs, long theirDemand) {
            long my = Math.max(myDemand, minimumShare);
            long their = Math.max(theirDemand, minimumShare);
            long usually = Math.max(0, -usual.toFirst(mine, my, theirs, their));
            if (usually > 0 || myDemand >= theirDemand / IDLE_PART) {
                return usually;
            }
            long rest = Math.max(0, -ofIdle.toFirst(mine, my, theirs, their));
            return rest >= minimumShare / WORTH_PARTS ? rest : 0;
        }
    }

    /**
     * @param degree the most neighbours that a broker has
     * @param deadBand a move of at most this part of what both ends hold is left out
     */
    public SupplyEdge(Limit limit, int members, int degree, double deadBand) {
        double gain = 1.0 / Math.max(1, degree);
        rateStep = Step.of(gain, degree, EdgeStep.minimumShare(limit.rateMicros(), members), deadBand);
        burstStep = Step.of(gain, degree, Limit.MICROS, deadBand);
    }

    /** What {@code mine} gives up for {@code theirs}. */
    public Share handedOver(Share mine, Demand myDemand, Share theirs, Demand theirDemand) {
        if (!mine.admits()) {
            return theirs.admits() ? mine : Share.NONE;
        }
        long rate = rateStep.handedOver(
                mine.rateMicros(), myDemand.rateMicros(), theirs.rateMicros(), theirDemand.rateMicros());
        long burst = burstStep.handedOver(
                mine.burstMicros(), myDemand.backlogMicros(), theirs.burstMicros(), theirDemand.backlogMicros());
        if (theirs.burstMicros() + burst >= Limit.MICROS) {
            return new Share(rate, burst);
        }
        boolean theyNeedItMore = theirDemand.rateMicros() / ALL_OR_NOTHING_FACTOR > myDemand.rateMicros();
        return theyNeedItMore ? mine : Share.NONE;
    }
}
