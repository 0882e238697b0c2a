package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.PublisherTable;
import io.weir.supervisor.placement.algorithm.Registration;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.topics.federation.PlacementTable;
import io.weir.transport.gateway.Publisher;
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
 * no broker has it. Unless it is {@link Registrations registered}: then it is there, whether a broker has it or not,
 * and if somebody said its rate, that is its rate.
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
        /** Topics with publishers that registered here without a name. */
        private final Map<TopicName, LongHashSet> unnamed = new HashMap<>();

        private Long2LongHashMap rates(TopicName topic) {
            return rates.computeIfAbsent(topic, fresh -> new Long2LongHashMap(-1));
        }
    }

    private final TopicPlacements topics;
    private final Registrations registrations;
    private final PublisherTable table = new PublisherTable();
    private final FoundGroups found = new FoundGroups(table);
    private final Map<BrokerId, Broker> brokers = new TreeMap<>();
    /** Brokers that reported publishers of topics which do not exist (yet). */
    private final Map<TopicName, Set<BrokerId>> unknown = new LinkedHashMap<>();

    ReportedPublishers(TopicPlacements topics, Registrations registrations) {
        this.topics = topics;
        this.registrations = registrations;
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

    /** Whoever says in a report that was accepted who it is. */
    void register(BrokerId at, Report.OfTopic of, long nowMs) {
        Broker broker = brokers.get(at);
        for (int i = 0; i < of.ids().length; i++) {
            if (of.registered()[i] == PlacementTable.NAMED) {
                registrations.put(of.topic(), of.ids()[i], of.rates()[i], of.groups()[i], false, nowMs);
            } else if (of.registered()[i] == PlacementTable.UNNAMED) {
                broker.unnamed
                        .computeIfAbsent(of.topic(), fresh -> new LongHashSet())
                        .add(of.ids()[i]);
            }
        }
    }

    /** Whether anybody said so for this topic, and has not left. */
    boolean registered(TopicName topic) {
        return registrations.has(topic)
                || brokers.values().stream().anyMatch(broker -> broker.unnamed.containsKey(topic));
    }

    /** A topic's part of a report that was accepted. */
    void take(TopicPlacement topic, BrokerId at, Report.OfTopic of, long nowNs, long nowMs) {
        Broker broker = brokers.get(at);
        Long2LongHashMap rates = broker.rates(topic.name);
        for (int i = 0; i < of.ids().length; i++) {
            long id = of.ids()[i];
            rates.put(id, Double.doubleToRawLongBits(of.rates()[i]));
            register(topic, id, of.sizes()[i], of.groups()[i], nowNs);
        }
        for (long left : of.left()) {
            rates.remove(left);
            leftUnnamed(broker, topic.name, left);
            Decisions.Registered registered = registrations.get(topic.name, left);
            if (registered != null && !registered.asked() && !reported(topic.name, left)) {
                registrations.remove(topic.name, left, false);
            } else if (registered != null) {
                registrations.put(topic.name, left, 0, "", false, nowMs);
            }
            leaveUnlessElsewhere(topic, left, nowNs);
        }
    }

    private static void leftUnnamed(Broker broker, TopicName topic, long id) {
        LongHashSet unnamed = broker.unnamed.get(topic);
        if (unnamed != null && unnamed.remove(id) && unnamed.isEmpty()) {
            broker.unnamed.remove(topic);
        }
    }

    /** Topics that somebody registered for who has no name. */
    Set<TopicName> registeredUnnamed() {
        Set<TopicName> unnamed = new HashSet<>();
        brokers.values().forEach(broker -> unnamed.addAll(broker.unnamed.keySet()));
        return unnamed;
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
     * A publisher registers before it publishes.
     *
     * @param topic null: not known here, which the answer says
     * @param group empty: none
     */
    Registration declare(
            TopicPlacement topic, TopicName name, long id, double rate, String group, long nowNs, long nowMs) {
        Registration registration = table.register(name, id, rate, group.isEmpty() ? null : group);
        if (registration instanceof Registration.Registered && !registrations.put(name, id, rate, group, true, nowMs)) {
            leaveUnlessElsewhere(topic, id, nowNs);
            registration = new Registration.Refused(
                    Registration.Cause.NO_ROOM,
                    "publisher " + id + " of topic '" + name + "': " + Registrations.MOST
                            + " publishers are registered, and no more can be: let some of them leave");
        }
        if (registration instanceof Registration.Refused refused) {
            if (topic != null) {
                topic.refused(refused.text());
            }
        } else {
            topic.came(id, nowNs);
        }
        return registration;
    }

    /** It counts from now on only while it publishes; false if it was not registered. */
    boolean withdraw(TopicName name, long id, long nowNs) {
        boolean was = registrations.remove(name, id, true);
        TopicPlacement topic = topics.get(name);
        if (was && topic != null) {
            leaveUnlessElsewhere(topic, id, nowNs);
        }
        return was;
    }

    /** Whoever is registered for the topic is there, though no broker has reported it yet. */
    void restore(TopicPlacement topic, long nowNs) {
        for (Decisions.Registered each : registrations.of(topic.name)) {
            if (each.id() != Publisher.NOBODY) {
                register(topic, each.id(), 1, each.group(), nowNs);
            }
        }
    }

    /** Registrations that nobody has renewed end. */
    void expire(long nowNs, long nowMs) {
        registrations.unnamed(registeredUnnamed(), nowMs);
        for (Decisions.Registered each : registrations.expire(this::reported, nowMs)) {
            TopicPlacement topic = topics.get(each.topic());
            if (topic != null) {
                leaveUnlessElsewhere(topic, each.id(), nowNs);
            }
        }
    }

    private void register(TopicPlacement topic, long id, double size, String group, long nowNs) {
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
        if (registration instanceof Registration.Registered registered) {
            table.sendsAtOnce(registered.publisher(), size);
            if (!registered.anew()) {
                topic.came(id, nowNs);
            }
        }
    }

    private void leaveUnlessElsewhere(TopicPlacement topic, long id, long nowNs) {
        if (publishes(topic.name, id)) {
            register(topic, id, table.size(topic.name, id), "", nowNs);
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
        broker.unnamed.clear();
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
        registrations.forget(topic.name);
        brokers.values().forEach(broker -> broker.unnamed.remove(topic.name));
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

    /** At all brokers where it publishes; what was registered beforehand wins, and stands in where no broker has it. */
    double rateOf(TopicName topic, long id) {
        Decisions.Registered registered = registrations.get(topic, id);
        if (registered != null && registered.rate() > 0 && (registered.asked() || !reported(topic, id))) {
            return registered.rate();
        }
        double rate = 0;
        for (Broker broker : brokers.values()) {
            Long2LongHashMap rates = broker.rates.get(topic);
            if (rates != null && rates.containsKey(id)) {
                rate += Double.longBitsToDouble(rates.get(id));
            }
        }
        return rate;
    }

    /** Whether any broker has it, or it is registered. */
    boolean publishes(TopicName topic, long id) {
        return registrations.get(topic, id) != null || reported(topic, id);
    }

    private boolean reported(TopicName topic, long id) {
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

    Registrations registrations() {
        return registrations;
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
