package io.weir.limiter.supply.protocol;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Holder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A new topic's first split: its minter sends everybody alive an equal part. Topics that come together go in one
 * transfer.
 */
final class NewTopicSpread {
    private final Map<Holder, Map<TopicName, Share>> parts = new LinkedHashMap<>();

    /** Once a transfer to that holder may begin, takes its parts from what is left to send and sends them. */
    private record SendParts(NewTopicSpread spread, Holder to) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            Map<TopicName, Share> due = keeper.canDebit(to) ? spread.parts.remove(to) : null;
            return due == null ? List.of() : new Distribute(to, due).decide(keeper);
        }
    }

    void plan(TopicName topic, Share minted, Collection<Holder> others) {
        List<Holder> to = List.copyOf(others);
        List<Share> shares = toOthers(minted, to.size());
        for (int i = 0; i < shares.size(); i++) {
            if (!shares.get(i).isNone()) {
                parts.computeIfAbsent(to.get(i), holder -> new LinkedHashMap<>())
                        .put(topic, shares.get(i));
            }
        }
    }

    /** The others' parts, in no particular order; the minter keeps the rest. None if there is too little to admit. */
    static List<Share> toOthers(Share minted, int others) {
        List<Share> shares = new ArrayList<>();
        if (minted.admits() && minted.rateMicros() > 0) {
            shares.addAll(Share.even(new Limit(minted.rateMicros(), minted.burstMicros()), others + 1));
            shares.remove(0);
        }
        return shares;
    }

    /** What is still to be sent. Whoever is gone gets nothing. */
    List<PendingDecision> due(Collection<Holder> others) {
        parts.keySet().retainAll(others);
        List<PendingDecision> due = new ArrayList<>();
        parts.keySet().forEach(to -> due.add(new SendParts(this, to)));
        return due;
    }
}
