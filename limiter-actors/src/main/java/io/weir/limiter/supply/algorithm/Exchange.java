package io.weir.limiter.supply.algorithm;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import java.util.ArrayList;
import java.util.List;

/**
 * How much of a topic goes to whom: {@link SupplyEdge}'s step along the ring, on holdings with two accounts, and the
 * start of a new topic. What it says is wanted; a {@link Bookkeeper} moves it.
 */
public final class Exchange {
    private Exchange() {}

    /** What goes to a neighbour that told its share and demand. A share that cannot admit goes as a whole, if theirs can. */
    public static Holding handedOver(
            SupplyEdge edge, Holding mine, Demand myDemand, Holding theirs, Demand theirDemand) {
        if (homeless(mine)) {
            return theirs.share().admits() ? mine : Holding.NONE;
        }
        return mine.lame()
                ? Holding.NONE
                : mine.cutFor(theirs, edge.handedOver(mine.share(), myDemand, theirs.share(), theirDemand));
    }

    /**
     * A rate without one message of burst in both accounts together. If no neighbour can use it either, it goes to any other
     * broker, chosen by chance, until it meets burst: raising r where β is 0 makes such a share, and so does burning.
     * (SUPPLY.md's "all or nothing" keeps transfers from making one, but not mints and burns.)
     */
    public static boolean homeless(Holding mine) {
        return mine.share().rateMicros() > 0 && !mine.share().admits();
    }

    /** The parts that a new topic's minter sends to the others, by their number; it keeps the rest. */
    public static List<Share> toOthers(Share minted, int others) {
        List<Share> parts = new ArrayList<>();
        if (minted.admits() && minted.rateMicros() > 0) {
            parts.addAll(Share.even(new Limit(minted.rateMicros(), minted.burstMicros()), others + 1));
            parts.remove(0);
        }
        return parts;
    }
}
