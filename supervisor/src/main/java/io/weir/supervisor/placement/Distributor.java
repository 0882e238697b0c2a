package io.weir.supervisor.placement;

import io.weir.config.WeirSettings.PlacementSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision.Part;
import io.weir.supervisor.placement.Decision.State;
import io.weir.supervisor.placement.Decisions.Capacity;
import io.weir.supervisor.placement.TopicPlacement.Run;
import io.weir.supervisor.placement.algorithm.Assignment;
import io.weir.supervisor.placement.algorithm.BrokerCapacities;
import io.weir.supervisor.placement.algorithm.BucketForecast;
import io.weir.supervisor.placement.algorithm.Forecast;
import io.weir.supervisor.placement.algorithm.LoadDistribution;
import io.weir.supervisor.placement.algorithm.Measurement;
import io.weir.supervisor.placement.algorithm.PlacedTopic;
import io.weir.supervisor.placement.algorithm.Planner;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.PublisherTable;
import io.weir.supervisor.placement.algorithm.Reason;
import io.weir.supervisor.placement.algorithm.Registration;
import io.weir.supervisor.placement.algorithm.ReplanRule;
import io.weir.supervisor.placement.algorithm.ReplanRule.Replan;
import io.weir.supervisor.placement.algorithm.ServiceModel;
import io.weir.supervisor.placement.algorithm.Slo;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.topics.algorithm.DelayCounts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.agrona.collections.Long2LongHashMap;
import org.agrona.collections.LongHashSet;

/**
 * The Load Distributor at work, without Akka: told what brokers report and what is in the store, and the time, it answers with decisions to be
 * put there. It keeps nothing that the next one could not learn again: publishers from the reports, the rest from the store.
 *
 * <p>A topic is placed when its publishers have come and no others follow for a while. Those that come later are given seats at the topic's
 * brokers; if they are many, or do not fit, the topic is placed anew, though not sooner than a pause after the last time. The other reasons are
 * {@link ReplanRule}'s.
 */
final class Distributor {
    /** Nothing is decided so soon after the start: brokers have yet to report. */
    static final long LEARN_NS = 4_000_000_000L;
    /** A broker that does not report for so long is gone; its publishers are served where they connect all the while. */
    static final long GONE_NS = 10_000_000_000L;
    /** Nobody new for so long: the topic's publishers have come. */
    static final long QUIET_NS = 3_000_000_000L;
    /** After so long they are placed, whoever may still come. */
    static final long ARRIVAL_NS = 15_000_000_000L;

    /** A window with fewer messages says nothing about a p99. */
    private static final int TELLING_MESSAGES = 50;
    /** Newcomers up to this part of a topic are seated; more are a reason to place it anew. */
    private static final double FEW = 0.25;
    /** So many runs begin in one piece of work at most, so that nothing else waits for long. */
    private static final int MOST_BEGUN = 200;
    /** Topics below this rate can't be measured in a round's time; what is forecast stands at once. */
    private static final double LEAST_MEASURED_RATE = 5;

    private static final String POLICY_CHANGED = "POLICY_CHANGED";
    private static final int KEPT_REASONS = 200;
    private static final int MOST_UNKNOWN = 1_000;
    /** Planning for more would hold everything else up for seconds. */
    private static final int MOST_PLANNED = 200_000;
    /** Of a plan for all topics, the largest are told. */
    private static final int MOST_TOLD = 200;

    /**
     * What it goes by.
     *
     * @param me whoever decides, one name a life
     */
    record Settings(
            String me,
            Policy policy,
            long objectiveNs,
            double capacity,
            LoadDistribution.Settings fitting,
            long brokenForNs,
            long pauseNs) {
        static Settings of(PlacementSettings settings, String me) {
            return new Settings(
                    me,
                    Policy.of(settings.policy()),
                    settings.objective().toNanos(),
                    settings.capacity(),
                    new LoadDistribution.Settings(
                            settings.settle().toNanos(), settings.round().toNanos(), true),
                    settings.brokenFor().toNanos(),
                    settings.pause().toNanos());
        }
    }

    /** To be put into the store if what is there has the revision {@code expected}. */
    record Proposal(long expected, Decision decision) {}

    /** What became of a report. */
    enum Heard {
        TAKEN,
        /** Something before it is missing: the broker is to tell everything anew. */
        GAP,
        /** It contradicts itself, and was left. */
        ABSURD
    }

    private static final class Broker {
        private long session;
        private int next;
        private long heardNs;
        private final Map<TopicName, Long2LongHashMap> rates = new HashMap<>();

        private Long2LongHashMap rates(TopicName topic) {
            return rates.computeIfAbsent(topic, fresh -> new Long2LongHashMap(-1));
        }
    }

    private final Settings settings;
    private final Function<TopicName, Optional<Limit>> limits;
    private final RandomGenerator random;
    private final long startedNs;
    private final PublisherTable table = new PublisherTable();
    private final ReplanRule rule;
    private final Map<TopicName, TopicPlacement> places = new LinkedHashMap<>();
    private final List<TopicPlacement> byIndex = new ArrayList<>();
    private final Map<BrokerId, Broker> brokers = new TreeMap<>();
    private final Map<BrokerId, Integer> numbers = new HashMap<>();
    private final Map<TopicName, Set<BrokerId>> unknown = new LinkedHashMap<>();
    /** Decisions on topics that are not known here yet. */
    private final Map<TopicName, Decision> early = new HashMap<>();

    private final Map<BrokerId, Double> allocated = new HashMap<>();
    private final List<Replan> replans = new ArrayList<>();
    private Map<BrokerId, Capacity> calibrated = Map.of();
    /** What brokers turned out to carry that had been believed to carry more, by the calibration that was wrong. */
    private final Map<BrokerId, Overrated> overrated = new TreeMap<>();

    private Map<TopicName, Long> objectives = Map.of();
    private Map<TopicName, Policy> policies = Map.of();
    private long moves;
    private long lostRaces;
    private long absurd;

    private record Overrated(double holds, long measuredAtMs) {}

    /** @param limits of the topics that there are */
    Distributor(Settings settings, Function<TopicName, Optional<Limit>> limits, RandomGenerator random, long nowNs) {
        this.settings = settings;
        this.limits = limits;
        this.random = random;
        this.startedNs = nowNs;
        this.rule = new ReplanRule(settings.brokenForNs, settings.pauseNs);
    }

    // What it is told

    /** What is in the store: at the start all, later what others wrote. */
    void stored(Decision decision, long nowNs) {
        TopicPlacement place = place(decision.topic(), nowNs);
        if (place == null) {
            early.merge(decision.topic(), decision, (a, b) -> a.revision() > b.revision() ? a : b);
            return;
        }
        if (decision.revision() <= place.revision()) {
            return;
        }
        if (place.pending != null && place.pending.revision() == decision.revision() && mine(decision)) {
            settled(place.name, Optional.of(decision), nowNs);
        } else if (place.pending == null) {
            adoptOthers(place, decision, nowNs);
        }
    }

    private boolean mine(Decision decision) {
        return decision.decidedBy().equals(settings.me);
    }

    /** What is there now that a proposal was made: the proposal, or what somebody else put there before. */
    void settled(TopicName topic, Optional<Decision> there, long nowNs) {
        TopicPlacement place = places.get(topic);
        if (place == null || place.pending == null) {
            return;
        }
        Decision proposed = place.pending;
        place.pending = null;
        if (there.isPresent() && there.get().revision() == proposed.revision() && mine(there.get())) {
            moves += place.moves(proposed);
            place.adopt(proposed, nowNs);
            Run run = place.run;
            if (run == null) {
                allocate(place, ratesOf(proposed));
            } else if (run.over() && proposed.isOver()) {
                endRun(place, nowNs);
            }
        } else if (there.isPresent() && there.get().revision() > place.revision()) {
            lostRaces++;
            adoptOthers(place, there.get(), nowNs);
        } else if (place.run != null) {
            place.run.proposed = 0;
        }
    }

    /** Another one decides on this topic too: its word stands, and nothing of an own run is worth anything against it. */
    private void adoptOthers(TopicPlacement place, Decision decision, long nowNs) {
        place.adopt(decision, nowNs);
        place.run = null;
        place.runEndedNs = nowNs;
        place.hadRun = decision.isOver();
        // Whoever made it may not have heard of everybody who is here.
        TopicMembers members = table.members(place.name);
        for (int member = 0; member < members.size(); member++) {
            place.came(table.id(members.publisher(member)), nowNs);
        }
        allocate(place, ratesOf(decision));
        rule.onTopicArrived(place.index);
        rule.onRunEnded(place.index, decision.state() == State.FITTED, nowNs);
    }

    void capacities(List<Capacity> capacities) {
        Map<BrokerId, Capacity> next = new HashMap<>();
        capacities.forEach(each -> next.put(each.broker(), each));
        calibrated = next;
        overrated.entrySet().removeIf(entry -> measuredAtMs(entry.getKey()) > entry.getValue().measuredAtMs);
    }

    private long measuredAtMs(BrokerId broker) {
        Capacity capacity = calibrated.get(broker);
        return capacity == null ? 0 : capacity.measuredAtMs();
    }

    void objectives(Map<TopicName, Long> newObjectives) {
        objectives = newObjectives;
    }

    void policies(Map<TopicName, Policy> newPolicies) {
        policies = newPolicies;
    }

    private Policy policy(TopicPlacement place) {
        return policies.getOrDefault(place.name, settings.policy);
    }

    Heard report(Report report, long nowNs) {
        if (report.problem() != null) {
            absurd++;
            return Heard.ABSURD;
        }
        Broker broker = brokers.get(report.broker());
        if (report.number() == 0) {
            if (broker == null) {
                broker = new Broker();
                brokers.put(report.broker(), broker);
                replans.addAll(rule.onBrokerJoined());
            } else {
                forgetPublishers(broker);
            }
            broker.session = report.session();
            broker.next = 0;
        } else if (broker == null || broker.session != report.session() || broker.next != report.number()) {
            return Heard.GAP;
        }
        broker.next++;
        broker.heardNs = nowNs;
        for (Report.OfTopic each : report.topics()) {
            take(report.broker(), broker, each, report.windowNs(), nowNs);
        }
        return Heard.TAKEN;
    }

    private void take(BrokerId id, Broker broker, Report.OfTopic of, long windowNs, long nowNs) {
        if (of.topic().ephemeral()) {
            // It goes with its last consumer: no sense in measuring for it.
            return;
        }
        TopicPlacement place = place(of.topic(), nowNs);
        if (place == null) {
            if (unknown.size() < MOST_UNKNOWN) {
                unknown.computeIfAbsent(of.topic(), fresh -> new HashSet<>()).add(id);
            }
            return;
        }
        Long2LongHashMap rates = broker.rates(of.topic());
        for (int i = 0; i < of.ids().length; i++) {
            rates.put(of.ids()[i], Double.doubleToRawLongBits(of.rates()[i]));
            register(place, of.ids()[i], of.groups()[i], nowNs);
        }
        for (long left : of.left()) {
            rates.remove(left);
            leaveUnlessElsewhere(place, left, nowNs);
        }
        DelayCounts.Window window = Report.window(of);
        if (window.messages() > 0) {
            place.measured(id, window, nowNs);
            measure(place, id, of.revision(), window, windowNs, nowNs);
        }
    }

    private void register(TopicPlacement place, long id, String group, long nowNs) {
        double rate = rateOf(place.name, id);
        Registration registration = table.register(place.name, id, rate, group.isEmpty() ? null : group);
        if (registration instanceof Registration.Refused refused) {
            place.refused(refused.text());
            if (refused.cause() != Registration.Cause.CONTRADICTORY_GROUP) {
                return;
            }
            // In the group that it named first.
            registration = table.register(place.name, id, rate, null);
        }
        if (registration instanceof Registration.Registered registered && !registered.anew()) {
            place.came(id, nowNs);
        }
    }

    /**
     * A publisher says at a broker, before it publishes, who it is; the broker reports it from then on. Empty: the broker is not known here
     * (yet).
     *
     * @param group empty: none
     */
    Optional<Registration> declare(BrokerId at, TopicName topic, long id, double rate, String group, long nowNs) {
        Broker broker = brokers.get(at);
        if (broker == null) {
            return Optional.empty();
        }
        TopicPlacement place = place(topic, nowNs);
        Registration registration = table.register(topic, id, rate, group.isEmpty() ? null : group);
        if (registration instanceof Registration.Refused refused) {
            if (place != null) {
                place.refused(refused.text());
            }
        } else {
            broker.rates(topic).put(id, Double.doubleToRawLongBits(rate));
            place.came(id, nowNs);
        }
        return Optional.of(registration);
    }

    /** At all brokers that it publishes at: a client that follows to its home is at two for a while. */
    private double rateOf(TopicName topic, long id) {
        double rate = 0;
        for (Broker broker : brokers.values()) {
            Long2LongHashMap rates = broker.rates.get(topic);
            if (rates != null && rates.containsKey(id)) {
                rate += Double.longBitsToDouble(rates.get(id));
            }
        }
        return rate;
    }

    private boolean publishesAnywhere(TopicName topic, long id) {
        for (Broker broker : brokers.values()) {
            Long2LongHashMap rates = broker.rates.get(topic);
            if (rates != null && rates.containsKey(id)) {
                return true;
            }
        }
        return false;
    }

    private void leaveUnlessElsewhere(TopicPlacement place, long id, long nowNs) {
        if (publishesAnywhere(place.name, id)) {
            register(place, id, "", nowNs);
        } else if (table.leave(place.name, id)) {
            place.left(id);
        }
    }

    private void forgetPublishers(Broker broker) {
        Map<TopicName, Long2LongHashMap> had = new HashMap<>(broker.rates);
        broker.rates.clear();
        had.forEach((topic, rates) -> {
            TopicPlacement place = places.get(topic);
            if (place != null) {
                Long2LongHashMap.KeyIterator each = rates.keySet().iterator();
                while (each.hasNext()) {
                    leaveUnlessElsewhere(place, each.nextValue(), place.lastCameNs);
                }
            }
        });
    }

    private void measure(
            TopicPlacement place,
            BrokerId broker,
            long revision,
            DelayCounts.Window window,
            long windowNs,
            long nowNs) {
        Slo slo = place.topic.slo();
        long tooSlow = window.longerThan(slo.latencyNs());
        Run run = place.run;
        if (run != null) {
            int index = run.brokers.indexOf(broker);
            if (index >= 0 && revision >= run.sinceRevision && revision <= place.revision()) {
                run.distribution.onMeasurement(
                        index,
                        new Measurement(
                                run.distribution.assignment().revision(),
                                nowNs - windowNs,
                                nowNs,
                                window.batches(),
                                window.messages(),
                                tooSlow,
                                Math.max(tooSlow, window.longerThan(slo.snugNs()))),
                        nowNs);
            }
        } else if (place.stored != null && window.messages() >= TELLING_MESSAGES) {
            boolean broken = tooSlow > slo.tolerated() * window.messages();
            rule.onWindow(place.index, number(broker), broken, windowNs, nowNs).ifPresent(replans::add);
        }
    }

    private int number(BrokerId broker) {
        return numbers.computeIfAbsent(broker, fresh -> numbers.size());
    }

    /** The topic, if there is one of that name. */
    private TopicPlacement place(TopicName name, long nowNs) {
        TopicPlacement known = places.get(name);
        if (known != null) {
            return known;
        }
        Optional<PlacedTopic> topic = topic(name);
        if (topic.isEmpty()) {
            return null;
        }
        TopicPlacement place = new TopicPlacement(name, byIndex.size(), topic.get());
        table.define(topic.get());
        places.put(name, place);
        byIndex.add(place);
        Decision decided = early.remove(name);
        if (decided != null) {
            adoptOthers(place, decided, nowNs);
            place.storedNs = startedNs;
        }
        return place;
    }

    private Optional<PlacedTopic> topic(TopicName name) {
        return limits.apply(name)
                .map(limit ->
                        new PlacedTopic(name, limit, Slo.p99(objectives.getOrDefault(name, settings.objectiveNs))));
    }

    /** Brokers that reported topics which were not known and now are: they are to tell everything anew. */
    List<BrokerId> toBeAsked() {
        Set<BrokerId> asked = new HashSet<>();
        unknown.entrySet().removeIf(entry -> {
            boolean now = limits.apply(entry.getKey()).isPresent();
            if (now) {
                asked.addAll(entry.getValue());
            }
            return now;
        });
        return List.copyOf(asked);
    }

    // What it decides

    /** To be called every second or so, and after reports. */
    List<Proposal> work(long nowNs) {
        if (nowNs - startedNs < LEARN_NS) {
            return List.of();
        }
        loseSilentBrokers(nowNs);
        loseTopics();
        begin(nowNs);
        List<Proposal> proposals = new ArrayList<>();
        for (TopicPlacement place : places.values()) {
            if (place.run != null) {
                place.run.distribution.onTime(nowNs);
                noteContradictions(place.run);
            }
            if (place.pending == null) {
                propose(place, nowNs).ifPresent(decision -> {
                    place.pending = decision;
                    proposals.add(new Proposal(place.revision(), decision));
                });
            }
        }
        places.values().removeIf(place -> place.gone && place.pending == null && dissolved(place));
        return proposals;
    }

    private static boolean dissolved(TopicPlacement place) {
        return place.stored == null || place.stored.state() == State.DISSOLVED;
    }

    private void loseSilentBrokers(long nowNs) {
        List<BrokerId> silent = new ArrayList<>();
        brokers.forEach((id, broker) -> {
            if (nowNs - broker.heardNs > GONE_NS) {
                silent.add(id);
            }
        });
        for (BrokerId id : silent) {
            Broker lost = brokers.get(id);
            forgetPublishers(lost);
            brokers.remove(id);
        }
        // Also of brokers that an earlier life of this singleton had placed publishers at and that are not there now.
        Map<BrokerId, List<Integer>> affected = new HashMap<>();
        for (TopicPlacement place : places.values()) {
            for (BrokerId used : place.allocation.keySet()) {
                if (!brokers.containsKey(used)) {
                    affected.computeIfAbsent(used, fresh -> new ArrayList<>()).add(place.index);
                }
            }
        }
        affected.forEach((id, topics) -> lose(id, topics, nowNs));
    }

    private void lose(BrokerId id, List<Integer> topics, long nowNs) {
        List<Integer> settled = new ArrayList<>();
        for (int topic : topics) {
            TopicPlacement place = byIndex.get(topic);
            if (place.run == null) {
                settled.add(topic);
            } else {
                int index = place.run.brokers.indexOf(id);
                if (index >= 0) {
                    place.run.distribution.onBrokerGone(index, nowNs);
                    allocate(place, TopicPlacement.rates(place.run.distribution.assignment(), place.run.brokers));
                }
            }
        }
        replans.addAll(rule.onBrokerGone(number(id), settled));
    }

    private void loseTopics() {
        for (TopicPlacement place : places.values()) {
            Optional<PlacedTopic> topic = topic(place.name);
            if (topic.isEmpty() && !place.gone) {
                place.gone = true;
                place.run = null;
                allocate(place, Map.of());
                forgetPublishers(place);
                replans.addAll(rule.onTopicLeft(place.index));
            } else if (topic.isPresent() && !topic.get().equals(place.topic)) {
                place.topic = topic.get();
                table.define(topic.get());
            }
        }
    }

    /** Should the topic come again, brokers have to tell of those whom they have told of already. */
    private void forgetPublishers(TopicPlacement place) {
        brokers.forEach((id, broker) -> {
            Long2LongHashMap had = broker.rates.remove(place.name);
            if (had != null) {
                Long2LongHashMap.KeyIterator each = had.keySet().iterator();
                while (each.hasNext()) {
                    table.leave(place.name, each.nextValue());
                }
                unknown.computeIfAbsent(place.name, fresh -> new HashSet<>()).add(id);
            }
        });
        place.newcomers.clear();
    }

    private void begin(long nowNs) {
        Map<TopicPlacement, String> due = new LinkedHashMap<>();
        for (Replan replan : replans) {
            TopicPlacement place = byIndex.get(replan.topic());
            if (place.run == null && !place.gone) {
                due.put(place, replan.trigger().name());
            }
        }
        replans.clear();
        for (TopicPlacement place : places.values()) {
            reasonToPlace(place, nowNs).ifPresent(reason -> due.putIfAbsent(place, reason));
        }
        List<TopicPlacement> order = new ArrayList<>(due.keySet());
        // The largest are the hardest to fit.
        Map<TopicPlacement, TopicMembers> members = new HashMap<>();
        order.forEach(place -> members.put(place, table.members(place.name)));
        order.sort(Comparator.comparingDouble(
                (TopicPlacement place) -> -members.get(place).rate()));
        int begun = 0;
        for (TopicPlacement place : order) {
            String why = due.get(place);
            if (begun < MOST_BEGUN) {
                begin(place, members.get(place), why, nowNs);
                begun++;
            } else if (!why.startsWith("PUBLISHERS") && !why.equals(POLICY_CHANGED)) {
                // Newcomers and the policy are still there next time; a rule's word is given once.
                replans.add(new Replan(place.index, ReplanRule.Trigger.valueOf(why)));
            }
        }
    }

    private Optional<String> reasonToPlace(TopicPlacement place, long nowNs) {
        if (place.run != null || place.pending != null || place.gone || brokers.isEmpty()) {
            return Optional.empty();
        }
        if (place.stored != null && !place.stored.isOver() && orphaned(place, nowNs)) {
            return Optional.of("PUBLISHERS_UNFINISHED");
        }
        if (place.stored != null
                && place.stored.isOver()
                && !dissolved(place)
                && !place.stored.policy().equals(policy(place).label())
                && table.members(place.name).size() > 0) {
            return Optional.of(POLICY_CHANGED);
        }
        if (place.newcomers.isEmpty() || !arrived(place, nowNs)) {
            return Optional.empty();
        }
        if (place.stored == null || place.stored.state() == State.DISSOLVED) {
            return Optional.of("PUBLISHERS_ARRIVED");
        }
        boolean few = place.newcomers.size() <= FEW * place.seatedCount()
                && newcomersRate(place) <= FEW * placedRate(place.stored);
        boolean soon = place.hadRun && nowNs - place.runEndedNs < settings.pauseNs;
        return few || soon || !place.stored.isOver() ? Optional.empty() : Optional.of("PUBLISHERS_CAME");
    }

    /** Whoever measured it has not been heard of for as long as a round can take. */
    private boolean orphaned(TopicPlacement place, long nowNs) {
        LoadDistribution.Settings fitting = settings.fitting;
        boolean foundAtTheStart = place.storedNs - startedNs < LEARN_NS;
        return foundAtTheStart || nowNs - place.storedNs > 2 * (fitting.settleNs() + fitting.mostNs());
    }

    private static boolean arrived(TopicPlacement place, long nowNs) {
        return nowNs - place.lastCameNs >= QUIET_NS || nowNs - place.firstCameNs >= ARRIVAL_NS;
    }

    private double newcomersRate(TopicPlacement place) {
        double rate = 0;
        LongHashSet.LongIterator each = place.newcomers.iterator();
        while (each.hasNext()) {
            rate += rateOf(place.name, each.nextValue());
        }
        return rate;
    }

    private static double placedRate(Decision decision) {
        return decision.parts().stream().mapToDouble(Part::rate).sum();
    }

    private void begin(TopicPlacement place, TopicMembers members, String why, long nowNs) {
        if (members.size() == 0) {
            rule.onRunEnded(place.index, true, nowNs);
            allocate(place, Map.of());
            return;
        }
        rule.onTopicArrived(place.index);
        List<BrokerId> candidates = List.copyOf(brokers.keySet());
        long[] ids = new long[members.size()];
        Arrays.setAll(ids, member -> table.id(members.publisher(member)));
        place.run = new Run(
                new LoadDistribution(
                        place.topic,
                        members,
                        capacities(candidates, place),
                        policy(place),
                        forecast(place.topic, candidates),
                        fitting(members),
                        random,
                        nowNs),
                candidates,
                ids,
                policy(place),
                why);
        allocate(place, TopicPlacement.rates(place.run.distribution.assignment(), candidates));
    }

    private LoadDistribution.Settings fitting(TopicMembers members) {
        LoadDistribution.Settings usual = settings.fitting;
        return members.rate() >= LEAST_MEASURED_RATE
                ? usual
                : new LoadDistribution.Settings(usual.settleNs(), 1, usual.early());
    }

    /** With what the other topics take. */
    private BrokerCapacities capacities(List<BrokerId> candidates, TopicPlacement without) {
        double[] mcap = new double[candidates.size()];
        double[] taken = new double[candidates.size()];
        for (int i = 0; i < mcap.length; i++) {
            BrokerId broker = candidates.get(i);
            mcap[i] = mcap(broker);
            double own = without == null ? 0 : without.allocation.getOrDefault(broker, 0.0);
            taken[i] = Math.max(0, allocated.getOrDefault(broker, 0.0) - own);
        }
        return new BrokerCapacities(candidates, mcap, taken);
    }

    double mcap(BrokerId broker) {
        Capacity capacity = calibrated.get(broker);
        double claimed = capacity == null ? settings.capacity : capacity.messagesPerSecond();
        Overrated found = overrated.get(broker);
        return found == null ? claimed : Math.min(claimed, found.holds);
    }

    /** By the slowest of the brokers; empty unless all are calibrated. */
    private Optional<Forecast> forecast(PlacedTopic topic, List<BrokerId> candidates) {
        return model(candidates).map(model -> new BucketForecast(topic, model, 1));
    }

    private Optional<ServiceModel> model(List<BrokerId> candidates) {
        ServiceModel slowest = null;
        for (BrokerId broker : candidates) {
            Capacity capacity = calibrated.get(broker);
            if (capacity == null) {
                return Optional.empty();
            }
            ServiceModel model = ServiceModel.calibrated(
                    capacity.singlesPerSecond(),
                    capacity.batchedPerSecond(),
                    Math.max(2, capacity.batch()),
                    capacity.loneNs());
            slowest = slowest == null || model.perMessageNs(1) > slowest.perMessageNs(1) ? model : slowest;
        }
        return Optional.ofNullable(slowest);
    }

    private void noteContradictions(Run run) {
        for (int i = 0; i < run.brokers.size(); i++) {
            BrokerId broker = run.brokers.get(i);
            if (run.distribution.contradicted(i) && !overrated.containsKey(broker)) {
                double holds = Math.max(1, allocated.getOrDefault(broker, 0.0));
                overrated.put(broker, new Overrated(holds, measuredAtMs(broker)));
            }
        }
    }

    private void allocate(TopicPlacement place, Map<BrokerId, Double> next) {
        place.allocation.forEach((broker, rate) -> allocated.merge(broker, -rate, Double::sum));
        next.forEach((broker, rate) -> allocated.merge(broker, rate, Double::sum));
        place.allocation = next;
    }

    private static Map<BrokerId, Double> ratesOf(Decision decision) {
        Map<BrokerId, Double> rates = new HashMap<>();
        decision.parts().forEach(part -> rates.merge(part.broker(), part.rate(), Double::sum));
        return rates;
    }

    private Optional<Decision> propose(TopicPlacement place, long nowNs) {
        if (place.gone) {
            return dissolved(place) ? Optional.empty() : Optional.of(dissolve(place));
        }
        Run run = place.run;
        if (run != null) {
            boolean news = run.distribution.assignment().revision() != run.proposed;
            boolean ended = run.over() && (place.stored == null || !place.stored.isOver() || !mine(place.stored));
            return news || ended ? Optional.of(decision(place, run, news)) : Optional.empty();
        }
        boolean settled = place.stored != null && place.stored.isOver() && !dissolved(place);
        return settled && !place.newcomers.isEmpty() && arrived(place, nowNs)
                ? seatNewcomers(place, nowNs)
                : Optional.empty();
    }

    private Decision decision(TopicPlacement place, Run run, boolean news) {
        Assignment assignment = run.distribution.assignment();
        long revision = place.revision() + 1;
        run.proposed = assignment.revision();
        if (news) {
            run.sinceRevision = revision;
        }
        allocate(place, TopicPlacement.rates(assignment, run.brokers));
        BrokerCapacities room = capacities(run.brokers, place);
        Planner planner = new Planner(run.policy, random);
        double[] quotas = planner.plan(assignment.members(), room).quotas().perBroker();
        List<Part> parts = new ArrayList<>();
        for (int broker = 0; broker < assignment.brokers(); broker++) {
            if (assignment.publishers(broker) > 0) {
                parts.add(new Part(
                        run.brokers.get(broker),
                        assignment.rate(broker),
                        quotas[broker],
                        groups(assignment, broker),
                        predictedP99Ns(place.topic, run.brokers, assignment, broker, room.allocated(broker)),
                        Decision.pack(idsOf(run, assignment, broker))));
            }
        }
        State state =
                switch (run.distribution.state()) {
                    case MEASURING -> State.MEASURING;
                    case FITTED -> State.FITTED;
                    case KEPT_BEST -> State.KEPT_BEST;
                };
        return new Decision(
                place.name,
                revision,
                settings.me,
                run.policy.label(),
                state,
                run.trigger,
                run.distribution.round(),
                place.topic.slo().latencyNs(),
                parts,
                Decision.pack(idsOf(run, assignment, Assignment.UNPLACED)),
                assignment.unplacedRate(),
                sentences(run.distribution.reasons(), run.brokers));
    }

    private static List<String> sentences(List<Reason> reasons, List<BrokerId> brokers) {
        return reasons.subList(Math.max(0, reasons.size() - KEPT_REASONS), reasons.size()).stream()
                .map(reason -> "round " + reason.round() + ": "
                        + reason.sentence(broker -> brokers.get(broker).value()))
                .toList();
    }

    private static int groups(Assignment assignment, int broker) {
        int groups = 0;
        for (int group = 0; group < assignment.members().groups(); group++) {
            boolean named = !assignment.members().alone(group);
            groups += named && assignment.inGroup(broker, group) > 0 ? 1 : 0;
        }
        return groups;
    }

    private static long[] idsOf(Run run, Assignment assignment, int broker) {
        long[] ids = new long[run.ids.length];
        int count = 0;
        for (int member = 0; member < ids.length; member++) {
            if (assignment.home(member) == broker) {
                ids[count++] = run.ids[member];
            }
        }
        return Arrays.copyOf(ids, count);
    }

    /** The smallest objective that the forecast lets hold, to a percent; 0 if there is no forecast. */
    private long predictedP99Ns(
            PlacedTopic topic, List<BrokerId> candidates, Assignment assignment, int broker, double otherRate) {
        Optional<ServiceModel> model = model(candidates);
        if (model.isEmpty()) {
            return 0;
        }
        double low = 1e3;
        double high = 1e11;
        while (high / low > 1.01) {
            double middle = Math.sqrt(low * high);
            PlacedTopic with = new PlacedTopic(topic.name(), topic.limit(), Slo.p99((long) middle), topic.batch());
            boolean fits = new BucketForecast(with, model.get(), 1)
                    .predict(assignment, broker, otherRate)
                    .fits(with.slo());
            if (fits) {
                high = middle;
            } else {
                low = middle;
            }
        }
        return (long) high;
    }

    private Decision dissolve(TopicPlacement place) {
        Decision last = place.stored;
        return new Decision(
                place.name,
                last.revision() + 1,
                settings.me,
                last.policy(),
                State.DISSOLVED,
                "TOPIC_LEFT",
                last.rounds(),
                last.objectiveNs(),
                List.of(),
                new byte[0],
                0,
                List.of("the topic is gone"));
    }

    /** At the topic's brokers, whoever of them has most room; those that nobody has room for are said to be unplaced. */
    private Optional<Decision> seatNewcomers(TopicPlacement place, long nowNs) {
        Decision last = place.stored;
        Map<BrokerId, Double> added = new LinkedHashMap<>();
        Map<BrokerId, List<Long>> seats = new HashMap<>();
        for (Part part : last.parts()) {
            if (brokers.containsKey(part.broker())) {
                added.put(part.broker(), 0.0);
                seats.put(part.broker(), new ArrayList<>());
            }
        }
        List<Long> nowhere = new ArrayList<>();
        double nowhereRate = 0;
        LongHashSet.LongIterator each = place.newcomers.iterator();
        while (each.hasNext()) {
            long id = each.nextValue();
            double rate = rateOf(place.name, id);
            BrokerId to = roomiest(added, rate);
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
                    append(place, part.ids(), come)));
        }
        List<String> reasons = new ArrayList<>(last.reasons());
        reasons.add(place.newcomers.size() - nowhere.size()
                + " publishers that came later have seats at the topic's brokers"
                + (nowhere.isEmpty() ? "" : "; " + nowhere.size() + " have none, for want of room"));
        return Optional.of(new Decision(
                place.name,
                last.revision() + 1,
                settings.me,
                last.policy(),
                nowhere.isEmpty() ? last.state() : State.KEPT_BEST,
                "PUBLISHERS_SEATED",
                last.rounds(),
                last.objectiveNs(),
                parts,
                append(place, last.unplaced(), nowhere),
                last.unplacedRate() + nowhereRate,
                reasons.subList(Math.max(0, reasons.size() - KEPT_REASONS), reasons.size())));
    }

    private BrokerId roomiest(Map<BrokerId, Double> added, double rate) {
        BrokerId best = null;
        double most = 0;
        for (Map.Entry<BrokerId, Double> entry : added.entrySet()) {
            double room = mcap(entry.getKey()) - allocated.getOrDefault(entry.getKey(), 0.0) - entry.getValue();
            if (room >= rate && (best == null || room > most)) {
                best = entry.getKey();
                most = room;
            }
        }
        return best;
    }

    /** When most of those that have seats are gone, the seats of the absent are given up: rows must not grow for ever. */
    private byte[] append(TopicPlacement place, byte[] packed, List<Long> come) {
        long[] before = Decision.unpack(packed);
        if (place.seatedCount() > 2 * place.newcomers.size() + 64
                && place.seatedCount() > 4 * table.members(place.name).size()) {
            before = Arrays.stream(before)
                    .filter(id -> publishesAnywhere(place.name, id))
                    .toArray();
        }
        long[] after = Arrays.copyOf(before, before.length + come.size());
        for (int i = 0; i < come.size(); i++) {
            after[before.length + i] = come.get(i);
        }
        return Decision.pack(after);
    }

    private void endRun(TopicPlacement place, long nowNs) {
        boolean fitted = place.run.distribution.state() == LoadDistribution.State.FITTED;
        place.run = null;
        place.hadRun = true;
        place.runEndedNs = nowNs;
        rule.onRunEnded(place.index, fitted, nowNs);
    }

    // What it can be asked

    PlacementView view(String after, int most, long nowNs) {
        List<TopicPlacement> later = places().stream()
                .filter(place -> place.name.value().compareTo(after) > 0)
                .toList();
        List<PlacementView.OfTopic> topics = later.stream()
                .limit(most)
                .map(place -> view(place, false, nowNs))
                .toList();
        BrokerCapacities capacities = capacities(brokers(), null);
        List<PlacementView.OfBroker> seen = new ArrayList<>();
        for (int i = 0; i < capacities.size(); i++) {
            BrokerId broker = capacities.broker(i);
            seen.add(new PlacementView.OfBroker(
                    broker.value(),
                    capacities.mcap(i),
                    capacities.allocated(i),
                    capacities.rcap(i),
                    calibrated.containsKey(broker),
                    overrated.containsKey(broker)));
        }
        return new PlacementView(
                settings.policy.label(),
                settings.me,
                table.size(),
                seen,
                topics,
                later.size() > most ? topics.get(most - 1).topic() : null);
    }

    Optional<PlacementView.OfTopic> explain(TopicName topic, long nowNs) {
        return find(topic).map(place -> view(place, true, nowNs));
    }

    private PlacementView.OfTopic view(TopicPlacement place, boolean why, long nowNs) {
        Decision stored = place.stored;
        List<PlacementView.OfPart> parts = new ArrayList<>();
        if (stored != null) {
            for (Part part : stored.parts()) {
                TopicPlacement.Seen seen = place.seen.get(part.broker());
                boolean measured = seen != null && seen.recent(nowNs);
                parts.add(new PlacementView.OfPart(
                        part.broker().value(),
                        part.publishers(),
                        part.rate(),
                        part.quota(),
                        part.groups(),
                        part.predictedP99Ns() == 0 ? null : part.predictedP99Ns() / 1e6,
                        measured ? seen.p99Ns() / 1e6 : null,
                        measured ? seen.rate(nowNs) : 0));
            }
        }
        return new PlacementView.OfTopic(
                place.name.value(),
                stored == null ? "UNPLACED" : stored.state().name(),
                stored == null ? policy(place).label() : stored.policy(),
                place.revision(),
                stored == null ? "" : stored.decidedBy(),
                stored == null ? "" : stored.trigger(),
                stored == null ? 0 : stored.rounds(),
                place.topic.slo().latencyNs() / 1e6,
                stored == null ? 0 : stored.homes().size(),
                stored == null ? 0 : placedRate(stored),
                stored == null ? 0 : stored.unplaced().length / Long.BYTES,
                stored == null ? 0 : stored.unplacedRate(),
                place.newcomers.size(),
                parts,
                List.copyOf(place.refusals),
                why && stored != null ? stored.reasons() : List.of());
    }

    /** Plans by rates and rooms; nothing is applied. Publishers of all topics are planned anew, the largest topics first. */
    WhatIf.Plan plan(WhatIf what) {
        Optional<TopicName> only = Optional.ofNullable(what.topic()).map(TopicName::of);
        if (only.isPresent() && find(only.get()).isEmpty()) {
            return refused("topic " + what.topic() + " has no publishers, or there is no such topic");
        }
        if (only.isEmpty() && table.size() > MOST_PLANNED) {
            return refused(table.size() + " publishers are too many to plan for at once: name a topic");
        }
        List<BrokerId> then = new ArrayList<>(brokers.keySet());
        then.removeIf(broker -> what.without().contains(broker.value()));
        for (int i = 1; i <= what.more(); i++) {
            then.add(new BrokerId("new-" + i));
        }
        if (then.isEmpty()) {
            return refused("no broker would be left");
        }
        Optional<Policy> policy = Optional.ofNullable(what.policy()).map(Policy::of);
        double[] mcap = new double[then.size()];
        double[] taken = new double[then.size()];
        for (int i = 0; i < mcap.length; i++) {
            // Twice the load is half the capacity.
            mcap[i] = (what.capacity() == null ? mcap(then.get(i)) : what.capacity()) / what.load();
            if (only.isPresent()) {
                double own = places.get(only.get()).allocation.getOrDefault(then.get(i), 0.0);
                taken[i] = Math.max(0, allocated.getOrDefault(then.get(i), 0.0) - own);
            }
        }
        return plan(only, policy, new BrokerCapacities(then, mcap, taken), what.load());
    }

    /** @param forced by this policy instead of each topic's */
    private WhatIf.Plan plan(
            Optional<TopicName> only, Optional<Policy> forced, BrokerCapacities capacities, double load) {
        List<TopicPlacement> order =
                only.map(topic -> List.of(places.get(topic))).orElseGet(this::places);
        Map<TopicPlacement, TopicMembers> members = new HashMap<>();
        PublisherTable.ByTopic byTopic = table.byTopic();
        for (int i = 0; i < byTopic.topics(); i++) {
            TopicPlacement place = places.get(byTopic.topic(i).name());
            if (place != null) {
                members.put(place, byTopic.members(i));
            }
        }
        List<TopicPlacement> largestFirst = order.stream()
                .filter(place ->
                        members.containsKey(place) && members.get(place).size() > 0)
                .sorted(Comparator.comparingDouble(
                        (TopicPlacement place) -> -members.get(place).rate()))
                .toList();
        List<WhatIf.OfTopic> topics = new ArrayList<>();
        int unplaced = 0;
        double unplacedRate = 0;
        for (TopicPlacement place : largestFirst) {
            Planner planner = new Planner(forced.orElse(policy(place)), random);
            Planner.Plan plan = planner.plan(members.get(place), capacities);
            Assignment assignment = plan.assignment();
            List<WhatIf.Part> parts = new ArrayList<>();
            for (int broker = 0; broker < capacities.size(); broker++) {
                capacities.allocate(broker, assignment.rate(broker));
                if (assignment.publishers(broker) > 0) {
                    parts.add(new WhatIf.Part(
                            capacities.broker(broker).value(),
                            assignment.publishers(broker),
                            assignment.rate(broker) * load));
                }
            }
            unplaced += assignment.unplaced();
            unplacedRate += assignment.unplacedRate() * load;
            topics.add(new WhatIf.OfTopic(
                    place.name.value(),
                    assignment.members().size(),
                    assignment.members().rate() * load,
                    place.stored == null ? 0 : place.stored.parts().size(),
                    assignment.brokersUsed(),
                    assignment.unplaced(),
                    assignment.unplacedRate() * load,
                    parts,
                    only.isPresent() ? sentences(plan.reasons(), candidates(capacities)) : List.of()));
        }
        List<WhatIf.OfTopic> told = topics.subList(0, Math.min(topics.size(), MOST_TOLD));
        String by = forced.or(() -> only.map(places::get).map(this::policy))
                .orElse(settings.policy)
                .label();
        return new WhatIf.Plan(null, by, capacities.size(), unplaced, unplacedRate, List.copyOf(told));
    }

    private static List<BrokerId> candidates(BrokerCapacities capacities) {
        List<BrokerId> all = new ArrayList<>();
        for (int i = 0; i < capacities.size(); i++) {
            all.add(capacities.broker(i));
        }
        return all;
    }

    private static WhatIf.Plan refused(String problem) {
        return new WhatIf.Plan(problem, "", 0, 0, 0, List.of());
    }

    int publishers() {
        return table.size();
    }

    PublisherTable table() {
        return table;
    }

    List<BrokerId> brokers() {
        return List.copyOf(brokers.keySet());
    }

    Optional<TopicPlacement> find(TopicName topic) {
        return Optional.ofNullable(places.get(topic)).filter(place -> !place.gone);
    }

    /** In no order. */
    Iterable<TopicPlacement> placed() {
        return places.values();
    }

    List<TopicPlacement> places() {
        return places.values().stream()
                .filter(place -> !place.gone)
                .sorted(Comparator.comparing(place -> place.name.value()))
                .toList();
    }

    Set<BrokerId> overrated() {
        return overrated.keySet();
    }

    double allocated(BrokerId broker) {
        return allocated.getOrDefault(broker, 0.0);
    }

    long moves() {
        return moves;
    }

    long lostRaces() {
        return lostRaces;
    }

    long absurdReports() {
        return absurd;
    }

    Settings settings() {
        return settings;
    }
}
