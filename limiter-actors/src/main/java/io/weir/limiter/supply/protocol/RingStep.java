package io.weir.limiter.supply.protocol;

import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holding;

/**
 * How much of a topic one end of a ring edge hands to the other: {@link SupplyEdge}'s step, applied to holdings of two
 * accounts. It only says what is wanted; a {@link Bookkeeper} moves it.
 */
final class RingStep {
    private RingStep() {}

    /**
     * What goes to a broker whose share and demand are known. A homeless share goes as a whole if their share admits.
     * Where the step would leave an account without a message of burst, a whole account goes to the side with more than
     * twice the demand: otherwise a small burst that lies in two accounts of an idle broker would never reach the one
     * that needs it.
     */
    static Holding handedOver(
            Bookkeeper keeper,
            SupplyEdge edge,
            Holding mine,
            Demand myDemand,
            Holding theirs,
            Demand theirDemand,
            SupplyEdge.Floors floors) {
        if (mine.homeless()) {
            return theirs.share().admits() ? mine : Holding.NONE;
        }
        if (mine.lame()) {
            return Holding.NONE;
        }
        Share step = edge.handedOver(mine.share(), myDemand, theirs.share(), theirDemand, floors);
        boolean mayGiveAll = floors.mine().isNone() && SupplyEdge.needsItMore(theirDemand, myDemand);
        return keeper.part(mine, theirs, step, mayGiveAll);
    }

    static Holding oneAccount(Holding mine) {
        Account account = mine.leased().rateMicros() > 0 ? Account.LEASED : Account.KEPT;
        return Holding.of(account, mine.in(account));
    }
}
