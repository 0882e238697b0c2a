package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.PublisherTable;
import io.weir.supervisor.placement.algorithm.Registration;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import org.agrona.collections.Long2LongHashMap;
import org.agrona.collections.LongHashSet;

/**
 * Who publishes to which topic and how much, as brokers report it.
 *
 * <p>A client that moves to its home is at two brokers for a while: its rate is the sum of both, and it has left when
 * no broker has it.
 */
final class ReportedPublishers {
    /**
     * A broker that does not report for so long is gone. Its publishers are served where they connect in the meantime.
     */
    static final long GONE_NS = 10_000_000_000L;

    /** Of more unknown topics the oldest are forgotten: brokers report them again only with everything. */
    private static final int MOST_UNKNOWN = 1_000;

    private static final class Broker {
        private long session;
        private int next;
        private long heardNs;
        private final Map<TopicName, Long2LongHashMap> rates = new HashMap<>();

        private Long2LongHashMap rates(TopicName topic) {
            return rates.computeIfAbsent(topic, fresh -> new Long2LongHashMap(-1));
        }
    }

    private final TopicPlacements topics;
    private final PublisherTable table = new PublisherTable();
    private final FoundGroups found = new FoundGroups(table);
    private final Map<BrokerId, Broker> brokers = new TreeMap<>();
    /** Brokers that reported publishers of topics which do not exist (yet). */
    private final Map<TopicName, Set<BrokerId>> unknown = new LinkedHashMap<>();

    ReportedPublishers(TopicPlacements topics) {
        this.topics = topics;
    }

    // Reports

    /**
     * Whether the report is the next of its broker; if not, something before it is missing. A first report begins anew.
     */
    boolean accept(Report report, long nowNs) {
        Broker broker = brokers.get(report.broker());
        if (report.number() == 0) {
            if (broker == null) {
                broker = new Broker();
                brokers.put(report.broker(), broker);
            } else {
                forgetPublishers(broker);
            }
            broker.session = report.session();
            broker.next = 0;
        } else if (broker == null || broker.session != report.session() || broker.next != report.number()) {
            return false;
        }
        broker.next++;
        broker.heardNs = nowNs;
        return true;
    }

    /** A topic's part of a report that was accepted. */
    void take(TopicPlacement topic, BrokerId at, Report.OfTopic of, long nowNs) {
        Long2LongHashMap rates = brokers.get(at).rates(topic.name);
        for (int i = 0; i < of.ids().length; i++) {
            rates.put(of.ids()[i], Double.doubleToRawLongBits(of.rates()[i]));
            register(topic, of.ids()[i], of.groups()[i], nowNs);
        }
        for (long left : of.left()) {
            rates.remove(left);
            leaveUnlessElsewhere(topic, left, nowNs);
        }
    }

    /** When publishers began to send, from a report that was accepted. */
    void takeBursts(Report report) {
        report.bursts().forEach(each -> found.heard(report.broker(), each));
    }

    /** A broker reported publishers of a topic that does not exist here (yet). */
    void unknownTopic(TopicName topic, BrokerId at) {
        unknown.computeIfAbsent(topic, fresh -> new HashSet<>()).add(at);
        if (unknown.size() > MOST_UNKNOWN) {
            unknown.remove(unknown.keySet().iterator().next());
        }
    }

    /** Brokers that reported topics which did not exist and now do: they have to report everything again. */
    List<BrokerId> toBeAsked(Predicate<TopicName> exists) {
        Set<BrokerId> asked = new HashSet<>();
        unknown.entrySet().removeIf(entry -> {
            boolean now = exists.test(entry.getKey());
            if (now) {
                asked.addAll(entry.getValue());
            }
            return now;
        });
        return List.copyOf(asked);
    }

    /**
     * A publisher registers at a broker before it publishes; the broker reports it from then on.
     *
     * @param topic null: not known here, which the answer says
     * @param group empty: none
     */
    Registration declare(
            BrokerId at, TopicPlacement topic, TopicName name, long id, double rate, String group, long nowNs) {
        Registration registration = table.register(name, id, rate, group.isEmpty() ? null : group);
        if (registration instanceof Registration.Refused refused) {
            if (topic != null) {
                topic.refused(refused.text());
            }
        } else {
            brokers.get(at).rates(name).put(id, Double.doubleToRawLongBits(rate));
            topic.came(id, nowNs);
        }
        return registration;
    }

    private void register(TopicPlacement topic, long id, String group, long nowNs) {
        double rate = rateOf(topic.name, id);
        Registration registration = table.register(topic.name, id, rate, group.isEmpty() ? null : group);
        if (registration instanceof Registration.Refused refused) {
            topic.refused(refused.text());
            if (refused.cause() != Registration.Cause.CONTRADICTORY_GROUP) {
                return;
            }
            // It stays in the group that it named first.
            registration = table.register(topic.name, id, rate, null);
        }
        if (registration instanceof Registration.Registered registered && !registered.anew()) {
            topic.came(id, nowNs);
        }
    }

    private void leaveUnlessElsewhere(TopicPlacement topic, long id, long nowNs) {
        if (publishes(topic.name, id)) {
            register(topic, id, "", nowNs);
        } else if (table.leave(topic.name, id)) {
            found.left(topic.name, id);
            topic.left(id);
        }
    }

    // What ends

    /** Brokers that have not reported for long are gone, and so are the publishers that only they had. */
    void loseSilentBrokers(long nowNs) {
        List<BrokerId> silent = new ArrayList<>();
        brokers.forEach((id, broker) -> {
            if (nowNs - broker.heardNs > GONE_NS) {
                silent.add(id);
            }
        });
        for (BrokerId id : silent) {
            forgetPublishers(brokers.get(id));
            brokers.remove(id);
            found.lost(id);
        }
    }

    private void forgetPublishers(Broker broker) {
        Map<TopicName, Long2LongHashMap> had = new HashMap<>(broker.rates);
        broker.rates.clear();
        had.forEach((name, rates) -> {
            TopicPlacement topic = topics.get(name);
            if (topic != null) {
                forEach(rates, id -> leaveUnlessElsewhere(topic, id, topic.lastCameNs));
            }
        });
    }

    /** The topic is gone. Should it come again, brokers must report again whom they have reported already. */
    void forget(TopicPlacement topic) {
        brokers.forEach((id, broker) -> {
            Long2LongHashMap had = broker.rates.remove(topic.name);
            if (had != null) {
                forEach(had, publisher -> table.leave(topic.name, publisher));
                unknownTopic(topic.name, id);
            }
        });
        found.forget(topic.name);
        topic.newcomers.clear();
    }

    private static void forEach(Long2LongHashMap rates, LongConsumer publisher) {
        Long2LongHashMap.KeyIterator each = rates.keySet().iterator();
        while (each.hasNext()) {
            publisher.accept(each.nextValue());
        }
    }

    // What is known

    /** At all brokers where it publishes. */
    double rateOf(TopicName topic, long id) {
        double rate = 0;
        for (Broker broker : brokers.values()) {
            Long2LongHashMap rates = broker.rates.get(topic);
            if (rates != null && rates.containsKey(id)) {
                rate += Double.longBitsToDouble(rates.get(id));
            }
        }
        return rate;
    }

    /** Whether any broker has it. */
    boolean publishes(TopicName topic, long id) {
        for (Broker broker : brokers.values()) {
            Long2LongHashMap rates = broker.rates.get(topic);
            if (rates != null && rates.containsKey(id)) {
                return true;
            }
        }
        return false;
    }

    double newcomersRate(TopicPlacement topic) {
        double rate = 0;
        LongHashSet.LongIterator each = topic.newcomers.iterator();
        while (each.hasNext()) {
            rate += rateOf(topic.name, each.nextValue());
        }
        return rate;
    }

    TopicMembers members(TopicPlacement topic) {
        return table.members(topic.name);
    }

    /** The numbers that brokers gave them, in the members' order. */
    long[] ids(TopicMembers members) {
        long[] ids = new long[members.size()];
        Arrays.setAll(ids, member -> table.id(members.publisher(member)));
        return ids;
    }

    /** Those that report, by name. */
    List<BrokerId> brokers() {
        return List.copyOf(brokers.keySet());
    }

    boolean reports(BrokerId broker) {
        return brokers.containsKey(broker);
    }

    PublisherTable table() {
        return table;
    }

    FoundGroups found() {
        return found;
    }

    /** How many publishers, those of two topics counted twice. */
    int count() {
        return table.size();
    }
}
