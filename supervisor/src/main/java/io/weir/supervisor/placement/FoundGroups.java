package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.GroupFinder;
import io.weir.supervisor.placement.algorithm.PublisherTable;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.topics.federation.PlacementTable;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Groups of publishers that send together, found from the bursts that brokers report. What is found is written into the
 * {@link PublisherTable}, where it counts for publishers that named no group themselves.
 *
 * <p>Bound: {@link #MOST_PUBLISHERS} of all topics are looked at, 8 MB; whoever comes beyond is in no group. A
 * successor of the singleton finds the groups anew.
 */
final class FoundGroups {
    static final int MOST_PUBLISHERS = 20_000;
    /** How often a topic's groups are looked for. */
    static final long ROUND_NS = 10_000_000_000L;

    /** Longer than a broker takes to report, in slots. */
    private static final long LATE_SLOTS = Duration.ofSeconds(1).toNanos() / PlacementTable.SLOT_NS;
    /** Bursts longer ago say nothing about today. */
    private static final int OLDEST_SLOTS = (int) (Duration.ofMinutes(10).toNanos() / PlacementTable.SLOT_NS);
    /** A topic is placed again if this part of its publishers would have to move to spread the found groups evenly. */
    private static final double UNEVEN = 0.05;

    private static final class OfTopic {
        private final GroupFinder finder;
        private long nextRoundNs;
        private boolean began;

        private OfTopic(long seed) {
            finder = new GroupFinder(MOST_PUBLISHERS, OLDEST_SLOTS, seed);
        }
    }

    private final PublisherTable table;
    private final Map<TopicName, OfTopic> topics = new LinkedHashMap<>();
    private final Map<BrokerId, Long> slots = new HashMap<>();
    private int publishers;

    FoundGroups(PublisherTable table) {
        this.table = table;
    }

    void heard(BrokerId broker, Report.Bursts bursts) {
        slots.put(broker, bursts.fromSlot());
        OfTopic of = topics.get(bursts.topic());
        for (int i = 0; i < bursts.ids().length; i++) {
            long id = bursts.ids()[i];
            if (!table.knows(bursts.topic(), id)) {
                continue;
            }
            if (of == null) {
                // Hashes that nobody outside can foresee are not needed: who lies about its group is spread, no more.
                of = new OfTopic(bursts.topic().hashCode());
                topics.put(bursts.topic(), of);
            }
            int before = of.finder.size();
            if (publishers < MOST_PUBLISHERS || of.finder.knows(id)) {
                of.finder.heard(id, bursts.fromSlot(), bursts.slots()[i]);
            }
            publishers += of.finder.size() - before;
        }
    }

    void left(TopicName topic, long id) {
        OfTopic of = topics.get(topic);
        if (of != null && of.finder.leave(id)) {
            publishers--;
            if (of.finder.size() == 0) {
                topics.remove(topic);
            }
        }
    }

    void forget(TopicName topic) {
        OfTopic of = topics.remove(topic);
        publishers -= of == null ? 0 : of.finder.size();
    }

    void lost(BrokerId broker) {
        slots.remove(broker);
    }

    /** Looks for groups of the topics whose turn it is. */
    void work(long nowNs) {
        if (slots.isEmpty()) {
            return;
        }
        long upTo = upToSlot();
        topics.forEach((topic, of) -> {
            if (!of.began) {
                of.began = true;
                of.nextRoundNs = nowNs + ROUND_NS;
            } else if (nowNs - of.nextRoundNs >= 0) {
                of.nextRoundNs = nowNs + ROUND_NS;
                long before = of.finder.changes();
                of.finder.round(upTo);
                if (of.finder.changes() != before) {
                    of.finder.forEach((id, group) -> table.found(topic, id, group));
                }
            }
        });
    }

    /** Up to where brokers have reported. The median, so that one wrong clock of three does no harm to the others. */
    private long upToSlot() {
        long[] sorted =
                slots.values().stream().mapToLong(Long::longValue).sorted().toArray();
        return sorted[(sorted.length - 1) / 2] + PlacementTable.SLOTS - LATE_SLOTS;
    }

    int groups(TopicName topic) {
        OfTopic of = topics.get(topic);
        return of == null ? 0 : of.finder.groups();
    }

    /** Grows with every publisher that joins or leaves a found group. */
    long changes(TopicName topic) {
        OfTopic of = topics.get(topic);
        return of == null ? 0 : of.finder.changes();
    }

    /**
     * Whether too many of those that send together are seated at the same broker. Of a group's n publishers, a broker
     * with the part f of all may have n·f, rounded up.
     */
    boolean unevenly(TopicPlacement topic) {
        if (groups(topic.name) == 0 || topic.stored.parts().size() < 2) {
            return false;
        }
        Map<Long, BrokerId> homes = topic.stored.homes();
        Map<BrokerId, Integer> seats = new HashMap<>();
        Map<Integer, Map<BrokerId, Integer>> groups = new HashMap<>();
        TopicMembers members = table.members(topic.name);
        int placed = 0;
        for (int member = 0; member < members.size(); member++) {
            int publisher = members.publisher(member);
            BrokerId home = homes.get(table.id(publisher));
            if (home != null) {
                placed++;
                seats.merge(home, 1, Integer::sum);
                if (table.toldGroup(publisher) == null && table.foundGroup(publisher) >= 0) {
                    groups.computeIfAbsent(table.foundGroup(publisher), fresh -> new HashMap<>())
                            .merge(home, 1, Integer::sum);
                }
            }
        }
        double tooMany = 0;
        for (Map<BrokerId, Integer> group : groups.values()) {
            int size = group.values().stream().mapToInt(Integer::intValue).sum();
            for (Map.Entry<BrokerId, Integer> at : group.entrySet()) {
                double even = Math.ceil((double) size * seats.get(at.getKey()) / placed);
                tooMany += Math.max(0, at.getValue() - even);
            }
        }
        return tooMany > UNEVEN * placed;
    }
}
