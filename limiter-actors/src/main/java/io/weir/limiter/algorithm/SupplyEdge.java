package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;

/**
 * What one broker hands to a neighbour when both know each other's share and demand. Rate goes by GDRL's step on the
 * topic's {@link Indicator} of ρ and x (x the average rate), burst by the step on the fill ratio β/y (y the backlog).
 * With the fill ratio for both, the default, a ring at rest has SRTM 5.4's proportions: the TB adaptor's goal without
 * anybody in the middle.
 *
 * <p>Burst knows the fill ratio only. The other indicators speak of messages a second: what is spare of a rate, how
 * long a queue at that rate takes, which part of the arrivals is refused. A backlog is an amount, and a bucket that
 * holds more than it is no spare bandwidth.
 *
 * <p><b>Demand is an estimate</b>, and the step is taken as if the giver needed the most that it may need, and the
 * receiver the least. If supply still goes to the receiver, it moves; else nothing does. So there is a dead band as
 * wide as the error of measurement, whatever the topic's rate; a broker is not taken below what it may need while the
 * other has enough; and what both have to spare is divided as the indicator says.
 *
 * <p><b>Saturated brokers</b> hide their demand, see {@link Demand}. If one end is saturated, the other keeps what it
 * may need and hands over of the rest. If both are, what they hold is divided in proportion to the messages that wait,
 * w, whatever the indicator: w is no rate that a share could be compared with. The reason: one bucket with one line
 * would let everybody wait equally long, and the wait is w/ρ (Little). Since publishers who wait for their answers keep
 * w where it is, whatever ρ, this pulls shares to one place from anywhere, and as strongly in a slow topic as in a fast
 * one. Arrivals, when they mirror ρ, pull nowhere. A saturated broker gives at most a tenth of its share at once: it
 * has nothing to spare, and if publishers do not keep w (those who publish at their own pace don't), the next slots say
 * so before much has gone. If more arrives at both ends than they admit, demand is not hidden, and the usual step
 * counts.
 *
 * <p>Each end calls this for itself and hands over what it is told; rate and burst may go in opposite directions. A
 * share with a rate keeps a burst of at least one message: what would leave either side with less moves all or nothing,
 * to the side with more than twice the demand, so that it does not swing back at once.
 *
 * <p>On top of that, a move that is smaller than the dead band is not worth its write to the store. Where hardly
 * anything is asked for there is no noise, and what lies there would lie idle: up to two dead bands at each neighbour
 * of the one broker that has demand, and as much at every broker behind them. Such a broker therefore hands over
 * whatever is worth a quarter of a minimum share.
 *
 * <p><b>A floor</b> is what an end keeps whatever its demand, for instance for the broker before it. What is missing
 * there comes from the other end at once, and what lies there does not leave.
 *
 * <p>The gain is the largest of {@link EdgeStep}'s synchronous form, since both edges of a broker may move at once:
 * 1/(2d) for the spare bandwidth, 1/d for all others, so ¼ and ½ on a plain ring. With each of them a step moves the
 * part 1/d of what would make both ends equal.
 */
public final class SupplyEdge {
    /** A saturated broker gives at most this part of its share at once. */
    private static final int SATURATED_PART = 10;

    private static final int ALL_OR_NOTHING_FACTOR = 2;

    /** Asked for less than this part of what is asked of the neighbour, a broker counts as idle. */
    private static final int IDLE_PART = 100;

    /** A move of an idle broker that is smaller than this part of a minimum share is not worth its messages. */
    private static final int WORTH_PARTS = 4;

    /** Less burst than this does not go alone. */
    private static final long LEAST_BURST = Limit.MICROS / 2;

    private final Step rateStep;
    /** Divides rate between two saturated brokers, by the messages that wait. */
    private final EdgeStep waitingStep;

    private final Step burstStep;

    /** What the two ends keep at least. */
    public record Floors(Share mine, Share theirs) {
        public static final Floors NONE = new Floors(Share.NONE, Share.NONE);

        /** The same, and this end keeps at least so much. */
        public Floors keeping(Share least) {
            return new Floors(
                    new Share(
                            Math.max(mine.rateMicros(), least.rateMicros()),
                            Math.max(mine.burstMicros(), least.burstMicros())),
                    theirs);
        }
    }

    /** One quantity's step: with the dead band, and without it for an idle broker. */
    private record Step(EdgeStep usual, EdgeStep ofIdle, double part, double deadBand, long minimumShare) {
        static Step of(Indicator indicator, int degree, long minimumShare, double deadBand) {
            EdgeStep plain = EdgeStep.synchronous(indicator, EdgeStep.largestGain(indicator, degree), degree)
                    .withMinimumShare(minimumShare);
            return new Step(plain.withDeadBand(deadBand), plain, 1.0 / Math.max(1, degree), deadBand, minimumShare);
        }

        /**
         * Demands count as a minimum share at least: how much less makes no difference, or of two idle brokers one
         * would keep what both have.
         */
        long handedOver(long mine, long myDemand, long theirs, long theirDemand) {
            return handedOver(usual, mine, myDemand, theirs, theirDemand);
        }

        long handedOverIdle(long mine, long myDemand, long theirs, long theirDemand) {
            return worth(handedOver(ofIdle, mine, myDemand, theirs, theirDemand));
        }

        private long handedOver(EdgeStep step, long mine, long myDemand, long theirs, long theirDemand) {
            long my = Math.max(myDemand, minimumShare);
            long their = Math.max(theirDemand, minimumShare);
            return Math.max(0, -step.toFirst(mine, my, theirs, their));
        }

        /** A move, so that neither end goes below its floor; less than the dead band is not worth filling up. */
        long within(long move, long mine, long myFloor, long theirs, long theirFloor) {
            long spare = Math.max(0, mine - Math.max(myFloor, minimumShare));
            long missing = theirFloor - theirs;
            long least = missing > deadBand * ((double) mine + theirs) ? missing : 0;
            return Math.min(Math.max(move, least), myFloor > 0 ? spare : Math.max(spare, move));
        }

        private long worth(long move) {
            return move >= minimumShare / WORTH_PARTS ? move : 0;
        }

        /** Of what lies above the need. */
        long spared(long mine, long need, long theirs, boolean idle) {
            long spare = (long) (part * Math.max(0, mine - Math.max(need, minimumShare)));
            return idle ? worth(spare) : spare > deadBand * ((double) mine + theirs) ? spare : 0;
        }
    }

    /** By the fill ratio. */
    public SupplyEdge(Limit limit, int members, int degree, double deadBand) {
        this(limit, members, degree, deadBand, Indicator.DEFAULT);
    }

    /**
     * @param degree the most neighbours that a broker has
     * @param deadBand a move of at most this part of what both ends hold is left out
     * @param indicator what the rate goes by
     */
    public SupplyEdge(Limit limit, int members, int degree, double deadBand, Indicator indicator) {
        long minimumRate = EdgeStep.minimumShare(limit.rateMicros(), members);
        rateStep = Step.of(indicator, degree, minimumRate, deadBand);
        waitingStep = Step.of(Indicator.FILL_RATIO, degree, minimumRate, deadBand).usual;
        burstStep = Step.of(Indicator.FILL_RATIO, degree, Limit.MICROS, deadBand);
    }

    /** What {@code mine} gives up for {@code theirs}. */
    public Share handedOver(Share mine, Demand myDemand, Share theirs, Demand theirDemand) {
        return handedOver(mine, myDemand, theirs, theirDemand, Floors.NONE);
    }

    /** The same with floors. */
    public Share handedOver(Share mine, Demand myDemand, Share theirs, Demand theirDemand, Floors floors) {
        if (!mine.admits()) {
            return theirs.admits() ? mine : Share.NONE;
        }
        boolean idle = myDemand.needMicros() < theirDemand.leastNeedMicros() / IDLE_PART;
        long rate = rateStep.within(
                rate(mine, myDemand, theirs, theirDemand, idle),
                mine.rateMicros(),
                floors.mine.rateMicros(),
                theirs.rateMicros(),
                floors.theirs.rateMicros());
        long burst = burstStep.within(
                burst(mine, myDemand, theirs, theirDemand, idle),
                mine.burstMicros(),
                floors.mine.burstMicros(),
                theirs.burstMicros(),
                floors.theirs.burstMicros());
        if (rate == 0 && !idle && burst < LEAST_BURST && theirs.admits()) {
            return Share.NONE;
        }
        if (theirs.burstMicros() + burst >= Limit.MICROS) {
            return new Share(rate, burst);
        }
        return floors.mine.isNone() && needsItMore(theirDemand, myDemand) ? mine : Share.NONE;
    }

    /** Whether one end needs so much more than the other that it may get all where a part would be of no use. */
    public static boolean needsItMore(Demand theirs, Demand mine) {
        return theirs.needMicros() / ALL_OR_NOTHING_FACTOR > mine.needMicros();
    }

    /** The most of its rate that a saturated broker gives at once. */
    public static long mostOfSaturated(Share share) {
        return share.rateMicros() / SATURATED_PART;
    }

    private long rate(Share mine, Demand myDemand, Share theirs, Demand theirDemand, boolean idle) {
        long have = mine.rateMicros();
        long theyHave = theirs.rateMicros();
        boolean hidden = !(myDemand.exceeds(mine) && theirDemand.exceeds(theirs));
        if (hidden && theirDemand.saturates(theirs)) {
            if (!myDemand.saturates(mine)) {
                long need = idle ? myDemand.rateMicros() : myDemand.rate().mostMicros();
                return rateStep.spared(have, need, theyHave, idle);
            }
            long step = -waitingStep.toFirst(
                    have,
                    myDemand.waiting().mostMicros(),
                    theyHave,
                    theirDemand.waiting().leastMicros());
            return Math.max(0, Math.min(step, mostOfSaturated(mine)));
        }
        if (myDemand.inDoubt(mine)) {
            return 0;
        }
        long usually = rateStep.handedOver(
                have, myDemand.rate().mostMicros(), theyHave, theirDemand.rate().leastMicros());
        return usually > 0 || !idle
                ? usually
                : rateStep.handedOverIdle(
                        have,
                        myDemand.rateMicros(),
                        theyHave,
                        theirDemand.rate().leastMicros());
    }

    private long burst(Share mine, Demand myDemand, Share theirs, Demand theirDemand, boolean idle) {
        long have = mine.burstMicros();
        long theyHave = theirs.burstMicros();
        long theirNeed = theirDemand.burst(theirs).leastMicros();
        long usually = burstStep.handedOver(have, myDemand.burst(mine).mostMicros(), theyHave, theirNeed);
        return usually > 0 || !idle
                ? usually
                : burstStep.handedOverIdle(have, myDemand.backlogMicros(), theyHave, theirNeed);
    }
}
