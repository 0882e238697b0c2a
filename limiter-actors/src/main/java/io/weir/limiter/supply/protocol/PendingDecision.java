package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Transfer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Something for a {@link Bookkeeper} to decide when it is idle, with what it holds then. Until that a {@link SupplyNode} keeps it
 * back; one that comes to nothing is asked for again by whoever wants it.
 */
interface PendingDecision {
    List<Effect> decide(Bookkeeper keeper);

    record Credit(PeerMessage.Sent sent) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.transfer(sent.transfer(), sent.sender());
        }
    }

    record Settle(Transfer.Id acknowledged) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.acknowledged(acknowledged);
        }
    }

    /** Open transfers to a holder whose journal is closed. */
    record EndTransfers(Ledger destination) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.destinationClosed(destination);
        }
    }

    record Mint(LimitBook.Page page) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.mint(page.last(), page.before());
        }
    }

    record Burn(TopicName topic) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.burn(topic);
        }
    }

    record Refloor(TopicName topic, int floorPermille) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.refloor(topic, floorPermille);
        }
    }

    /** A share that can't admit goes as a whole to somebody who may have the burst for it. */
    record HandOn(Holder to, TopicName topic) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return given(keeper, to, Map.of(topic, keeper.ledger().share(topic)));
        }
    }

    /** The own part of a debt, for the one who burns it. */
    record Contribute(PeerMessage.Collect collect, Share limit) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            Holding mine = keeper.ledger().share(collect.topic());
            Holding part = collect.debt().contribution(mine, limit, collect.urgency());
            return given(keeper, collect.collector(), Map.of(collect.topic(), part));
        }
    }

    /** What somebody in the middle of the cluster ordered, or what a new topic's minter sends to the others. */
    record Distribute(Holder to, Map<TopicName, Share> parts) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            Map<TopicName, Holding> wanted = new LinkedHashMap<>();
            parts.forEach((topic, part) ->
                    wanted.put(topic, keeper.ledger().share(topic).cut(part)));
            return given(keeper, to, wanted);
        }
    }

    /** Hands over what there is of it, if no transfer to that holder is open. */
    private static List<Effect> given(Bookkeeper keeper, Holder to, Map<TopicName, Holding> wanted) {
        Map<TopicName, Holding> something = new LinkedHashMap<>(wanted);
        something.values().removeIf(Holding::isNone);
        return something.isEmpty() || !keeper.canDebit(to) ? List.of() : keeper.debit(to, something);
    }
}
