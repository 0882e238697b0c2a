package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.LoadDistribution;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.federation.PlacementTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;

/**
 * Brokers that report as real ones do, under a clock of the test's: publishers send where their home is, and a broker's
 * messages are too slow by how much it carries.
 */
final class PlacedCluster {
    static final long TICK_NS = 500_000_000L;
    static final int TICK_SLOTS = (int) (TICK_NS / PlacementTable.SLOT_NS);
    static final long OBJECTIVE_NS = 10_000_000L;
    static final long TTL_MS = 3_600_000;

    /** The part of a broker's messages that is too slow when it carries so many a second. */
    interface Slowness {
        double part(BrokerId broker, double rate);
    }

    /** @param registered as a broker's table says it */
    record Publisher(TopicName topic, long id, double rate, double size, byte registered, String group, BrokerId at) {
        Publisher movedTo(BrokerId broker) {
            return new Publisher(topic, id, rate, size, registered, group, broker);
        }

        Publisher registering(byte how) {
            return new Publisher(topic, id, rate, size, how, group, at);
        }
    }

    private static final class Reporter {
        private long session = 1;
        private int number;
        private boolean all = true;
        private final Map<Long, Publisher> reported = new HashMap<>();
    }

    final StoredDecisions store = new StoredDecisions();
    final Map<TopicName, Limit> limits = new HashMap<>();
    final Map<Long, Publisher> publishers = new LinkedHashMap<>();
    final List<BrokerId> brokers = new ArrayList<>();
    final Random random;
    private final Map<Distributor, Long> readUpTo = new HashMap<>();
    /** Publishers send together with every so-and-so-manieth, which they do not say; 0: nobody tells of bursts. */
    int hiddenGroups;

    private long[] burstsOfGroups = new long[0];
    Slowness slowness = (broker, rate) -> 0;
    /** The broker that has all consumers; null: each has consumers for what passes there. */
    BrokerId consumersAt;
    /** The part of the messages that waits for consumers, for five seconds. */
    double latePart;

    double capacity = 1_000;
    /** What those that come from now on send at once. */
    double size = 1;

    Policy policy = Policy.SRTM;
    boolean registeredOnly;
    long nowNs = 1_000_000_000L;

    PlacedCluster(long seed, int count) {
        random = new Random(seed);
        for (int i = 0; i < count; i++) {
            brokers.add(new BrokerId("b" + i));
        }
    }

    PlacedCluster topic(String name, double rate, double burst) {
        limits.put(new TopicName(name), Limit.of(rate, burst));
        return this;
    }

    PlacedCluster publishers(String topic, int count, double rate, int groups) {
        for (int i = 0; i < count; i++) {
            long id = publishers.size() + 1L;
            publishers.put(
                    id,
                    new Publisher(
                            new TopicName(topic),
                            id,
                            rate,
                            size,
                            PlacementTable.NOT_REGISTERED,
                            groups == 0 ? "" : "g" + i % groups,
                            brokers.get(i % brokers.size())));
        }
        return this;
    }

    Distributor distributor(String me) {
        Distributor distributor = new Distributor(
                new Distributor.Settings(
                        me,
                        policy,
                        OBJECTIVE_NS,
                        capacity,
                        new LoadDistribution.Settings(2_000_000_000L, 60_000_000_000L, true),
                        30_000_000_000L,
                        300_000_000_000L,
                        TTL_MS,
                        registeredOnly),
                topic -> Optional.ofNullable(limits.get(topic)),
                random,
                nowNs);
        look(distributor);
        distributor.registered(store.registrations(), nowNs);
        return distributor;
    }

    void look(Distributor distributor) {
        Decisions.Changes changes = store.after(readUpTo.getOrDefault(distributor, 0L));
        readUpTo.put(distributor, changes.upTo());
        distributor.capacities().calibrated(store.capacities());
        distributor.topics().objectives(store.objectives());
        distributor.topics().policies(store.policies());
        changes.decisions().forEach(decision -> distributor.stored(decision, nowNs));
    }

    long nowMs() {
        return nowNs / 1_000_000;
    }

    /** The registrations that a distributor wants to be written. */
    void storeRegistrations(Distributor distributor) {
        Registrations.Batch batch = distributor.publishers().registrations().take(nowNs);
        if (!batch.isEmpty()) {
            store.register(batch.put(), batch.gone());
        }
    }

    /** Time passes, brokers report, the distributors work. */
    void tick(Distributor... distributors) {
        nowNs += TICK_NS;
        burstsOfGroups = new long[hiddenGroups];
        for (int group = 0; group < hiddenGroups; group++) {
            // Once in a second and a quarter.
            burstsOfGroups[group] = random.nextDouble() < 0.4 ? 1L << random.nextInt(TICK_SLOTS) : 0;
        }
        for (BrokerId broker : brokers) {
            for (Distributor distributor : distributors) {
                report(broker, distributor);
            }
        }
        // All of them decide before the first decision is stored: with two, both decide on the same.
        Map<Distributor, List<Distributor.Proposal>> proposals = new LinkedHashMap<>();
        for (Distributor distributor : distributors) {
            look(distributor);
            distributor.toBeAsked().forEach(broker -> reporter(broker, distributor).all = true);
            proposals.put(distributor, distributor.work(nowNs, nowMs()));
            storeRegistrations(distributor);
        }
        proposals.forEach((distributor, some) -> some.forEach(proposal -> store(distributor, proposal)));
    }

    private void store(Distributor distributor, Distributor.Proposal proposal) {
        Decision decision = proposal.decision();
        boolean won = store.replace(proposal.expected(), decision);
        distributor.settled(decision.topic(), won ? Optional.of(decision) : store.get(decision.topic()), nowNs);
    }

    /** Ticks until it is so, but not for ever; answers the seconds it took. */
    double until(java.util.function.BooleanSupplier condition, double seconds, Distributor... distributors) {
        long beganNs = nowNs;
        while (!condition.getAsBoolean()) {
            if (nowNs - beganNs > seconds * 1e9) {
                throw new AssertionError("not after " + seconds + " s; stored: " + store.written);
            }
            tick(distributors);
        }
        return (nowNs - beganNs) / 1e9;
    }

    void pass(double seconds, Distributor... distributors) {
        for (long until = nowNs + (long) (seconds * 1e9); nowNs < until; ) {
            tick(distributors);
        }
    }

    private final Map<Distributor, Map<BrokerId, Reporter>> perDistributor = new HashMap<>();

    private Reporter reporter(BrokerId broker, Distributor distributor) {
        return perDistributor
                .computeIfAbsent(distributor, fresh -> new HashMap<>())
                .computeIfAbsent(broker, fresh -> new Reporter());
    }

    Report reportOf(BrokerId broker, Distributor distributor) {
        Reporter reporter = reporter(broker, distributor);
        if (reporter.all) {
            reporter.all = false;
            reporter.session++;
            reporter.number = 0;
            reporter.reported.clear();
        }
        Map<TopicName, List<Publisher>> news = new TreeMap<>((a, b) -> a.value().compareTo(b.value()));
        Map<TopicName, List<Long>> left = new HashMap<>();
        for (Publisher each : publishers.values()) {
            if (each.at.equals(broker) && !each.equals(reporter.reported.put(each.id, each))) {
                news.computeIfAbsent(each.topic, fresh -> new ArrayList<>()).add(each);
            }
        }
        reporter.reported.values().removeIf(each -> {
            Publisher now = publishers.get(each.id);
            boolean gone = now == null || !now.at.equals(broker);
            if (gone) {
                left.computeIfAbsent(each.topic, fresh -> new ArrayList<>()).add(each.id);
            }
            return gone;
        });
        List<Report.OfTopic> topics = new ArrayList<>();
        for (TopicName topic : limits.keySet()) {
            topics.add(
                    ofTopic(broker, topic, news.getOrDefault(topic, List.of()), left.getOrDefault(topic, List.of())));
        }
        news.forEach((topic, some) -> {
            if (!limits.containsKey(topic)) {
                topics.add(ofTopic(broker, topic, some, List.of()));
            }
        });
        return new Report(
                broker, reporter.session, reporter.number++, TICK_NS, topics, burstsAt(broker), deliveredAt(broker));
    }

    int hiddenGroup(long id) {
        return (int) (id % hiddenGroups);
    }

    private List<Report.Bursts> burstsAt(BrokerId broker) {
        List<Report.Bursts> bursts = new ArrayList<>();
        for (TopicName topic : hiddenGroups == 0 ? List.<TopicName>of() : limits.keySet()) {
            long[] ids = publishers.values().stream()
                    .filter(each -> each.topic.equals(topic)
                            && each.at.equals(broker)
                            && burstsOfGroups[hiddenGroup(each.id)] != 0)
                    .mapToLong(Publisher::id)
                    .toArray();
            bursts.add(new Report.Bursts(
                    topic,
                    nowNs / PlacementTable.SLOT_NS,
                    ids,
                    Arrays.stream(ids)
                            .map(id -> burstsOfGroups[hiddenGroup(id)])
                            .toArray()));
        }
        return bursts;
    }

    private void report(BrokerId broker, Distributor distributor) {
        if (distributor.report(reportOf(broker, distributor), nowNs, nowMs()) == Distributor.Heard.GAP) {
            reporter(broker, distributor).all = true;
        }
    }

    /** What the broker's consumers got, of each broker that let messages pass. */
    private List<Report.Delivered> deliveredAt(BrokerId broker) {
        List<Report.Delivered> delivered = new ArrayList<>();
        for (TopicName topic : limits.keySet()) {
            for (BrokerId home : consumersAt == null ? List.of(broker) : brokers) {
                if (consumersAt == null || consumersAt.equals(broker)) {
                    DelayCounts late = new DelayCounts();
                    int waited = (int) (latePart * rateAt(topic, home) * TICK_NS / 1e9);
                    if (waited > 0) {
                        late.add(5_000_000_000L, waited);
                    }
                    delivered.add(new Report.Delivered(
                            topic,
                            home,
                            store.get(topic).map(Decision::revision).orElse(0L),
                            Report.sparse(delays(topic, home, slowness.part(home, rateAt(topic, home)))),
                            Report.sparse(late.take())));
                }
            }
        }
        return delivered;
    }

    private DelayCounts.Window delays(TopicName topic, BrokerId home, double slowPart) {
        int messages = (int) Math.round(rateAt(topic, home) * TICK_NS / 1e9);
        int slow = 0;
        for (int i = 0; i < messages; i++) {
            slow += random.nextDouble() < slowPart ? 1 : 0;
        }
        DelayCounts counts = new DelayCounts();
        if (messages > slow) {
            counts.add(1_000_000, messages - slow);
        }
        if (slow > 0) {
            counts.add(50_000_000, slow);
        }
        return counts.take();
    }

    private Report.OfTopic ofTopic(BrokerId broker, TopicName topic, List<Publisher> news, List<Long> left) {
        Optional<Decision> decision = store.get(topic);
        DelayCounts.Window passed = delays(topic, broker, 0);
        String[] groups = news.stream().map(Publisher::group).toArray(String[]::new);
        float[] rates = new float[news.size()];
        float[] sizes = new float[rates.length];
        byte[] registered = new byte[rates.length];
        for (int i = 0; i < rates.length; i++) {
            rates[i] = (float) news.get(i).rate;
            sizes[i] = (float) news.get(i).size;
            registered[i] = news.get(i).registered;
        }
        return new Report.OfTopic(
                topic,
                decision.map(Decision::revision).orElse(0L),
                news.stream().mapToLong(Publisher::id).toArray(),
                rates,
                sizes,
                registered,
                groups,
                left.stream().mapToLong(Long::longValue).toArray(),
                passed.batches(),
                Report.sparse(passed));
    }

    /** What publishers of a topic send to a broker, by what is decided now. */
    double rateAt(TopicName topic, BrokerId broker) {
        Map<Long, BrokerId> homes = store.get(topic).map(Decision::homes).orElse(Map.of());
        return publishers.values().stream()
                .filter(each -> each.topic.equals(topic)
                        && homes.getOrDefault(each.id, each.at).equals(broker))
                .mapToDouble(Publisher::rate)
                .sum();
    }

    Decision stored(String topic) {
        return store.get(new TopicName(topic)).orElseThrow();
    }

    boolean is(String topic, Decision.State state) {
        return store.get(new TopicName(topic))
                .map(decision -> decision.state() == state)
                .orElse(false);
    }

    static long[] sorted(long[] ids) {
        long[] copy = ids.clone();
        Arrays.sort(copy);
        return copy;
    }
}
