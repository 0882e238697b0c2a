package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.supervisor.placement.Decision.Part;
import io.weir.supervisor.placement.Decision.State;
import io.weir.supervisor.placement.algorithm.Trigger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.agrona.collections.LongHashSet;

/**
 * Publishers that come after their topic was placed: a few are given seats at the topic's brokers, and nobody moves for
 * them.
 */
final class Seating {
    /** Nobody new for so long: the topic's publishers have come. */
    static final long QUIET_NS = 3_000_000_000L;
    /** After so long they are placed, even if more are coming. */
    static final long ARRIVAL_NS = 15_000_000_000L;

    /** Newcomers up to this part of a topic are given seats; for more, the topic is placed again. */
    private static final double FEW = 0.25;

    private final String me;
    private final ReportedPublishers publishers;
    private final Capacities capacities;

    Seating(String me, ReportedPublishers publishers, Capacities capacities) {
        this.me = me;
        this.publishers = publishers;
        this.capacities = capacities;
    }

    /** Whether newcomers wait, and all that come together have come. */
    boolean due(TopicPlacement topic, long nowNs) {
        return !topic.newcomers.isEmpty()
                && (nowNs - topic.lastCameNs >= QUIET_NS || nowNs - topic.firstCameNs >= ARRIVAL_NS);
    }

    boolean few(TopicPlacement topic) {
        return topic.newcomers.size() <= FEW * topic.seatedCount()
                && publishers.newcomersRate(topic) <= FEW * topic.stored.placedRate();
    }

    /**
     * Each newcomer goes to the broker of the topic that has most room. Those for whom no broker has room are unplaced.
     */
    Decision seat(TopicPlacement topic) {
        Decision last = topic.stored;
        Map<BrokerId, Double> added = new LinkedHashMap<>();
        Map<BrokerId, List<Long>> seats = new HashMap<>();
        for (Part part : last.parts()) {
            if (publishers.reports(part.broker())) {
                added.put(part.broker(), 0.0);
                seats.put(part.broker(), new ArrayList<>());
            }
        }
        List<Long> nowhere = new ArrayList<>();
        double nowhereRate = 0;
        LongHashSet.LongIterator each = topic.newcomers.iterator();
        while (each.hasNext()) {
            long id = each.nextValue();
            double rate = publishers.rateOf(topic.name, id);
            BrokerId to = capacities.roomiest(added, rate);
            if (to == null) {
                nowhere.add(id);
                nowhereRate += rate;
            } else {
                added.merge(to, rate, Double::sum);
                seats.get(to).add(id);
            }
        }
        List<Part> parts = new ArrayList<>();
        for (Part part : last.parts()) {
            List<Long> come = seats.getOrDefault(part.broker(), List.of());
            parts.add(new Part(
                    part.broker(),
                    part.rate() + added.getOrDefault(part.broker(), 0.0),
                    part.quota(),
                    part.groups(),
                    part.predictedP99Ns(),
                    append(topic, part.ids(), come)));
        }
        List<String> reasons = new ArrayList<>(last.reasons());
        reasons.add(topic.newcomers.size() - nowhere.size()
                + " publishers that came later have seats at the topic's brokers"
                + (nowhere.isEmpty() ? "" : "; " + nowhere.size() + " have none, for want of room"));
        return new Decision(
                topic.name,
                last.revision() + 1,
                me,
                last.policy(),
                nowhere.isEmpty() ? last.state() : State.KEPT_BEST,
                Trigger.PUBLISHERS_SEATED.name(),
                last.rounds(),
                last.objectiveNs(),
                parts,
                append(topic, last.unplaced(), nowhere),
                last.unplacedRate() + nowhereRate,
                DecisionDrafts.latest(reasons));
    }

    /** When most of those with seats are gone, the absent lose theirs: rows must not grow for ever. */
    private byte[] append(TopicPlacement topic, byte[] packed, List<Long> come) {
        long[] before = Decision.unpack(packed);
        if (topic.seatedCount() > 2 * topic.newcomers.size() + 64
                && topic.seatedCount() > 4 * publishers.members(topic).size()) {
            before = Arrays.stream(before)
                    .filter(id -> publishers.publishes(topic.name, id))
                    .toArray();
        }
        long[] after = Arrays.copyOf(before, before.length + come.size());
        for (int i = 0; i < come.size(); i++) {
            after[before.length + i] = come.get(i);
        }
        return Decision.pack(after);
    }
}
