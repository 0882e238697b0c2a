package io.weir.limiter.supply.protocol;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holding;
import java.util.ArrayList;
import java.util.List;

/**
 * How much of a topic goes to whom: {@link SupplyEdge}'s step along the ring, on holdings with two accounts, and the
 * start of a new topic. What it says is wanted; a {@link Bookkeeper} moves it.
 */
public final class Exchange {
    private static final int ALL_OR_NOTHING_FACTOR = 2;

    private Exchange() {}

    /**
     * What goes to a broker that told its share and demand. A share that cannot admit goes as a whole, if theirs can. Where the step
     * would leave one side's accounts without a message of burst, a whole account goes to the side with more than twice the demand:
     * otherwise a small burst that lies in two accounts of an idle broker would never reach the one that needs it.
     */
    static Holding handedOver(
            Bookkeeper keeper, SupplyEdge edge, Holding mine, Demand myDemand, Holding theirs, Demand theirDemand) {
        if (homeless(mine)) {
            return theirs.share().admits() ? mine : Holding.NONE;
        }
        if (mine.lame()) {
            return Holding.NONE;
        }
        Share step = edge.handedOver(mine.share(), myDemand, theirs.share(), theirDemand);
        boolean theyNeedItMore = theirDemand.rateMicros() / ALL_OR_NOTHING_FACTOR > myDemand.rateMicros();
        return keeper.part(mine, theirs, step, theyNeedItMore);
    }

    static Holding oneAccount(Holding mine) {
        Account account = mine.leased().rateMicros() > 0 ? Account.LEASED : Account.KEPT;
        return Holding.of(account, mine.in(account));
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
