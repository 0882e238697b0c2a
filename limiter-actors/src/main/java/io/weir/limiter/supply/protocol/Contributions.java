package io.weir.limiter.supply.protocol;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The own parts of debts that collectors have asked for, and burn when they have them. What one collector asks for
 * while a transfer to it is open goes in the next, all topics together; otherwise a thousand topics that are deleted at
 * once would take a thousand transfers, one after the other. At most {@value #MOST} wait for a collector; it asks for
 * the others again.
 */
final class Contributions {
    static final int MOST = 1_000;

    private record Asked(PeerMessage.Collect collect, Share limit) {}

    private final Map<Holder, Map<TopicName, Asked>> asked = new LinkedHashMap<>();

    /** Once a transfer to the collector may begin, takes what it asked for and sends it. */
    private record SendParts(Contributions all, Holder collector) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            Map<TopicName, Asked> due = keeper.canDebit(collector) ? all.asked.remove(collector) : null;
            if (due == null) {
                return List.of();
            }
            Map<TopicName, Holding> parts = new LinkedHashMap<>();
            due.forEach((topic, one) -> parts.put(
                    topic,
                    one.collect.debt().contribution(keeper.ledger().share(topic), one.limit, one.collect.urgency())));
            return PendingDecision.debitIfPossible(keeper, collector, parts);
        }
    }

    /** @param limit of the version whose debt it is */
    void asked(PeerMessage.Collect collect, Share limit) {
        Map<TopicName, Asked> ofCollector =
                asked.computeIfAbsent(collect.collector(), collector -> new LinkedHashMap<>());
        if (ofCollector.size() < MOST || ofCollector.containsKey(collect.topic())) {
            ofCollector.put(collect.topic(), new Asked(collect, limit));
        }
    }

    /** What is still to be sent. Whoever is gone gets nothing. */
    List<PendingDecision> due(Collection<Holder> others) {
        asked.keySet().retainAll(others);
        List<PendingDecision> due = new ArrayList<>();
        asked.keySet().forEach(collector -> due.add(new SendParts(this, collector)));
        return due;
    }
}
