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
 * A decision that waits in the {@link SupplyNode} until the {@link Bookkeeper} is idle, and is then taken by what the
 * ledger holds at that time. If nothing comes of it, whoever wanted it asks again.
 */
interface PendingDecision {
    List<Effect> decide(Bookkeeper keeper);

    record Credit(PeerMessage.Sent sent) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.credit(sent.transfer(), sent.sender());
        }
    }

    record Settle(Transfer.Id acknowledged) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.acknowledged(acknowledged);
        }
    }

    /** Ends an open transfer to a holder whose journal is closed. */
    record EndTransfers(Ledger destination) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.destinationClosed(destination);
        }
    }

    /** By what is known of the versions when its turn has come: one that is done must not be minted again. */
    record Mint(KnownLimits limits, List<TopicName> topics) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.mint(limits.of(topics));
        }
    }

    record Burn(List<TopicName> topics) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.burn(topics);
        }
    }

    record Refloor(TopicName topic, int floorPermille) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return keeper.refloor(topic, floorPermille);
        }
    }

    /**
     * Hands a {@linkplain Holding#homeless homeless} share on as a whole, to a holder that may have the burst for it.
     */
    record HandOn(Holder to, TopicName topic) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return debitIfPossible(keeper, to, Map.of(topic, keeper.ledger().share(topic)));
        }
    }

    /** Sends parts that the TB adaptor ordered, or a new topic's first split. */
    record Distribute(Holder to, Map<TopicName, Share> parts) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            Map<TopicName, Holding> wanted = new LinkedHashMap<>();
            parts.forEach((topic, part) ->
                    wanted.put(topic, keeper.ledger().share(topic).cut(part)));
            return debitIfPossible(keeper, to, wanted);
        }
    }

    /** Debits what there is to give, unless a transfer to that holder is open. */
    static List<Effect> debitIfPossible(Bookkeeper keeper, Holder to, Map<TopicName, Holding> wanted) {
        Map<TopicName, Holding> something = new LinkedHashMap<>(wanted);
        something.values().removeIf(Holding::isNone);
        return something.isEmpty() || !keeper.canDebit(to) ? List.of() : keeper.debit(to, something);
    }
}
