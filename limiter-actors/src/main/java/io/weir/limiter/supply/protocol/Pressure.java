package io.weir.limiter.supply.protocol;

import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;

/**
 * What is asked of a broker whose publishers are held back. A publisher that waits for its answer offers nothing
 * meanwhile, so what arrives there only mirrors the supply, and the step on S/D has nothing to go by: whichever broker
 * is ahead by chance stays ahead (seen: 694, 164 and 42 of 900 messages a second with the same publishers at all
 * three). Each message that waits therefore counts as a tenth of the topic's limit on top of what arrives: brokers
 * where publishers wait draw level with each other in proportion to how many do, and where none waits nothing changes.
 *
 * <p>The seeds do not have this: their demand is offered whatever the supply is.
 */
public final class Pressure {
    private static final int PARTS_OF_THE_LIMIT = 10;
    /** More than these make no difference to who is worse off, and keep the product small. */
    private static final double MOST_WAITING = 10_000;

    private Pressure() {}

    /** @param waiting messages that wait for a token, smoothed; nothing is conserved here, so doubles are fine */
    public static Demand demand(Demand arrives, double waiting, Share limit) {
        double more = Math.min(waiting, MOST_WAITING) * limit.rateMicros() / PARTS_OF_THE_LIMIT;
        return new Demand(arrives.rateMicros() + Math.round(more), arrives.backlogMicros());
    }
}
