package io.weir.supervisor.placement;

import io.weir.config.WeirSettings.PlacementMode;
import io.weir.config.WeirSettings.PlacementSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision.State;
import io.weir.supervisor.placement.TopicPlacement.Run;
import io.weir.supervisor.placement.algorithm.LoadDistribution;
import io.weir.supervisor.placement.algorithm.Measurement;
import io.weir.supervisor.placement.algorithm.PlacedTopic;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.Registration;
import io.weir.supervisor.placement.algorithm.ReplanRule;
import io.weir.supervisor.placement.algorithm.Slo;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.supervisor.placement.algorithm.TopicTrace;
import io.weir.supervisor.placement.algorithm.Trigger;
import io.weir.topics.algorithm.DelayCounts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * The Load Distributor at work, without Akka: it takes what brokers report, what is in the store, and the time, and
 * answers with decisions to be put into the store. It keeps nothing that its successor could not learn again:
 * publishers from reports, the rest from the store.
 *
 * <p>A topic is placed when its publishers have come and no others follow for a while. Publishers that come later are
 * given seats at the topic's brokers; if they are many, or do not fit, the topic is placed again, though not sooner
 * than a pause after the last time. The other reasons are {@link ReplanRule}'s.
 *
 * <pre>
 *   {@link TopicPlacements}      the topics, each a {@link TopicPlacement}: stored, being decided, who came since
 *   {@link ReportedPublishers}   who publishes where, as brokers report it
 *   {@link FoundGroups}          who sends together
 *   {@link Capacities}           what brokers carry, and how much of that topics take
 *   {@link DueTopics}            which topics have to be placed, and why
 *   {@link RecordedTraces}       who sends when, where somebody had brokers record it
 *   {@link Seating}              seats for newcomers          {@link DecisionDrafts}   a run's state as a decision
 *   {@link PlacementQuestions}   what operators may ask
 * </pre>
 */
final class Distributor {
    /** Nothing is decided so soon after the start: brokers have yet to report. */
    static final long LEARN_NS = 4_000_000_000L;

    /** By then a broker knows all topics that there are. */
    private static final long LEFT_OVER_NS = 60_000_000_000L;

    /** So many runs begin in one piece of work at most, so that nothing else waits for long. */
    private static final int MOST_BEGUN = 200;
    /** A round is too short to measure topics below this rate: their forecast stands at once. */
    private static final double LEAST_MEASURED_RATE = 5;

    /**
     * What it goes by.
     *
     * @param me whoever decides, one name a life
     * @param ttlMs for how long a registration that nobody renews is kept
     * @param registeredOnly whether topics are placed that somebody registered for, and no others
     */
    record Settings(
            String me,
            Policy policy,
            long objectiveNs,
            double capacity,
            LoadDistribution.Settings fitting,
            long brokenForNs,
            long pauseNs,
            long ttlMs,
            boolean registeredOnly) {
        static Settings of(PlacementSettings settings, String me) {
            return new Settings(
                    me,
                    Policy.of(settings.policy()),
                    settings.objective().toNanos(),
                    settings.capacity(),
                    new LoadDistribution.Settings(
                            settings.settle().toNanos(), settings.round().toNanos(), true),
                    settings.brokenFor().toNanos(),
                    settings.pause().toNanos(),
                    settings.registration().toMillis(),
                    settings.mode() == PlacementMode.REGISTERED);
        }
    }

    /** To be put into the store if what is there has the revision {@code expected}. */
    record Proposal(long expected, Decision decision) {}

    /** What became of a report. */
    enum Heard {
        TAKEN,
        /** A report before it is missing: the broker has to report everything again. */
        GAP,
        /** It contradicts itself, and was ignored. */
        ABSURD
    }

    private final Settings settings;
    private final RandomGenerator random;
    private final long startedNs;
    private final TopicPlacements topics;
    private final ReportedPublishers publishers;
    private final Capacities capacities;
    private final Seating seating;
    private final DueTopics due;
    private final DecisionDrafts drafts;
    private final PlacementQuestions questions;
    private final RecordedTraces traces = new RecordedTraces();
    /** Stored decisions on topics that do not exist here yet. */
    private final Map<TopicName, Decision> early = new HashMap<>();

    /** Topics of which something was gathered, by the broker that let their messages pass. */
    private final Map<BrokerId, Set<TopicPlacement>> measured = new HashMap<>();

    private long moves;
    private long lostRaces;
    private long absurdReports;

    /** @param limits of the topics that exist */
    Distributor(Settings settings, Function<TopicName, Optional<Limit>> limits, RandomGenerator random, long nowNs) {
        this.settings = settings;
        this.random = random;
        this.startedNs = nowNs;
        topics = new TopicPlacements(settings, limits);
        publishers = new ReportedPublishers(topics, new Registrations(settings.ttlMs, nowNs));
        capacities = new Capacities(settings.capacity);
        seating = new Seating(settings.me, publishers, capacities);
        due = new DueTopics(settings, startedNs, topics, publishers, seating);
        drafts = new DecisionDrafts(settings.me, capacities, random);
        questions = new PlacementQuestions(settings, topics, publishers, capacities, random);
    }

    // What the store says

    /** A decision that is in the store: at the start all of them, later what others wrote. */
    void stored(Decision decision, long nowNs) {
        // Also of a topic that nobody is registered for: it has to be dissolved.
        TopicPlacement topic =
                decision.parts().isEmpty() ? topics.get(decision.topic()) : define(decision.topic(), nowNs);
        if (topic == null) {
            early.merge(decision.topic(), decision, (a, b) -> a.revision() > b.revision() ? a : b);
            return;
        }
        if (decision.revision() <= topic.revision()) {
            return;
        }
        if (topic.pending != null && topic.pending.revision() == decision.revision() && mine(decision)) {
            settled(topic.name, Optional.of(decision), nowNs);
        } else if (topic.pending == null) {
            adoptOthers(topic, decision, nowNs);
        }
    }

    /** What is in the store after a proposal was made: the proposal, or what somebody else put there before. */
    void settled(TopicName name, Optional<Decision> there, long nowNs) {
        TopicPlacement topic = topics.get(name);
        if (topic == null || topic.pending == null) {
            return;
        }
        Decision proposed = topic.pending;
        topic.pending = null;
        if (there.isPresent() && there.get().revision() == proposed.revision() && mine(there.get())) {
            moves += topic.moves(proposed);
            topic.adopt(proposed, nowNs);
            Run run = topic.run;
            if (run == null) {
                capacities.allocate(topic, proposed.rates());
            } else if (run.over() && proposed.isOver()) {
                endRun(topic, nowNs);
            }
        } else if (there.isPresent() && there.get().revision() > topic.revision()) {
            lostRaces++;
            adoptOthers(topic, there.get(), nowNs);
        } else if (topic.run != null) {
            topic.run.proposed = 0;
        }
    }

    private boolean mine(Decision decision) {
        return decision.decidedBy().equals(settings.me);
    }

    /** Somebody else decides on this topic too: that decision stands, and an own run means nothing against it. */
    private void adoptOthers(TopicPlacement topic, Decision decision, long nowNs) {
        topic.adopt(decision, nowNs);
        topic.run = null;
        topic.runEndedNs = nowNs;
        topic.hadRun = decision.isOver();
        // Whoever made it may not have heard of everybody who is here.
        for (long id : publishers.ids(publishers.members(topic))) {
            topic.came(id, nowNs);
        }
        capacities.allocate(topic, decision.rates());
        due.runBegan(topic);
        due.runEnded(topic, decision.state() == State.FITTED, nowNs);
    }

    /** The topic, if there is one of that name; else null. */
    private TopicPlacement topic(TopicName name, long nowNs) {
        return wanted(name) || topics.get(name) != null ? define(name, nowNs) : null;
    }

    private boolean wanted(TopicName name) {
        return !settings.registeredOnly || publishers.registered(name);
    }

    private TopicPlacement define(TopicName name, long nowNs) {
        TopicPlacement known = topics.get(name);
        if (known != null) {
            return known;
        }
        Optional<PlacedTopic> defined = topics.defined(name);
        if (defined.isEmpty()) {
            return null;
        }
        publishers.table().define(defined.get());
        TopicPlacement topic = topics.add(defined.get());
        Decision decided = early.remove(name);
        if (decided != null) {
            adoptOthers(topic, decided, nowNs);
            topic.storedNs = startedNs;
        }
        publishers.restore(topic, nowNs);
        return topic;
    }

    // What brokers say

    Heard report(Report report, long nowNs, long nowMs) {
        if (report.problem() != null) {
            absurdReports++;
            return Heard.ABSURD;
        }
        boolean joins = !publishers.reports(report.broker());
        if (!publishers.accept(report, nowNs)) {
            return Heard.GAP;
        }
        if (joins) {
            due.brokerJoined();
        }
        publishersOf(report, nowNs, nowMs);
        publishers.takeBursts(report);
        report.delivered().forEach(each -> delivered(report.broker(), each, report.windowNs(), nowNs));
        measure(report.broker(), report.windowNs(), nowNs);
        return Heard.TAKEN;
    }

    private void publishersOf(Report report, long nowNs, long nowMs) {
        for (Report.OfTopic each : report.topics()) {
            // An ephemeral topic goes with its last consumer: not worth measuring for.
            if (!each.topic().ephemeral()) {
                take(report.broker(), each, report.windowNs(), nowNs, nowMs);
            }
        }
    }

    private void take(BrokerId broker, Report.OfTopic of, long windowNs, long nowNs, long nowMs) {
        if (topics.exists(of.topic())) {
            publishers.register(broker, of, nowMs);
        }
        TopicPlacement topic = topic(of.topic(), nowNs);
        if (topic == null || topic.gone) {
            publishers.unknownTopic(of.topic(), broker);
            return;
        }
        publishers.take(topic, broker, of, nowNs, nowMs);
        TopicPlacement.note(topic.passed, broker, Report.window(of.delays()), nowNs);
    }

    /** Consumers may be anywhere: what their brokers count says how the broker fares that let the messages pass. */
    private void delivered(BrokerId at, Report.Delivered of, long windowNs, long nowNs) {
        TopicPlacement topic = topics.find(of.topic()).orElse(null);
        if (topic == null) {
            return;
        }
        DelayCounts.Window window = Report.window(of.delays());
        TopicPlacement.note(topic.seen, of.home(), window, nowNs);
        TopicPlacement.note(topic.late, at, Report.window(of.late()), nowNs);
        boolean settled =
                topic.run == null || of.revision() >= topic.run.sinceRevision && of.revision() <= topic.revision();
        if (window.messages() > 0 && settled && publishers.reports(of.home())) {
            topic.gathered
                    .computeIfAbsent(of.home(), fresh -> new TopicPlacement.Gathered())
                    .add(window, nowNs - windowNs);
            measured.computeIfAbsent(of.home(), fresh -> new HashSet<>()).add(topic);
        }
    }

    /** Once for each report of the broker, so that a window is not counted as often as there are consumers' brokers. */
    private void measure(BrokerId home, long windowNs, long nowNs) {
        Set<TopicPlacement> those = measured.remove(home);
        if (those != null) {
            for (TopicPlacement topic : those) {
                TopicPlacement.Gathered gathered = topic.gathered.remove(home);
                if (gathered != null && !topic.gone) {
                    measure(topic, home, gathered, windowNs, nowNs);
                }
            }
        }
    }

    private void measure(
            TopicPlacement topic, BrokerId broker, TopicPlacement.Gathered gathered, long windowNs, long nowNs) {
        DelayCounts.Window window = gathered.window();
        Slo slo = topic.placed.slo();
        long tooSlow = window.longerThan(slo.latencyNs());
        Run run = topic.run;
        if (run != null) {
            int index = run.brokers.indexOf(broker);
            if (index >= 0) {
                run.distribution.onMeasurement(
                        index,
                        new Measurement(
                                run.distribution.assignment().revision(),
                                gathered.fromNs(),
                                nowNs,
                                window.batches(),
                                window.messages(),
                                tooSlow,
                                Math.max(tooSlow, window.longerThan(slo.snugNs()))),
                        nowNs);
            }
        } else if (topic.stored != null) {
            due.measured(topic, broker, tooSlow, window.messages(), windowNs, nowNs);
        }
    }

    /** The registrations that are in the store, at the start. */
    void registered(List<Decisions.Registered> rows, long nowNs) {
        publishers.registrations().load(rows);
        topics.all().forEach(topic -> publishers.restore(topic, nowNs));
    }

    /**
     * A publisher registers before it publishes.
     *
     * @param group empty: none
     */
    Registration declare(TopicName name, long id, double rate, String group, long nowNs, long nowMs) {
        return publishers.declare(define(name, nowNs), name, id, rate, group, nowNs, nowMs);
    }

    /** It counts from now on only while it publishes; false if it was not registered. */
    boolean withdraw(TopicName name, long id, long nowNs) {
        return publishers.withdraw(name, id, nowNs);
    }

    /** A broker recorded who sends when. */
    void recorded(RecordedTraces.Part part) {
        traces.heard(part);
    }

    /** Nobody is registered, and nothing is placed or has to be taken back. Not before brokers could report. */
    boolean idle(long nowNs) {
        return settings.registeredOnly
                && nowNs - startedNs >= LEARN_NS
                && publishers.registrations().count() == 0
                && publishers.registeredUnnamed().isEmpty()
                && topics.all().isEmpty()
                && early.values().stream().allMatch(decision -> decision.parts().isEmpty());
    }

    /** Brokers that have to report everything again. */
    List<BrokerId> toBeAsked() {
        return publishers.toBeAsked(name -> topics.exists(name) && wanted(name));
    }

    // What it decides

    /** To be called every second or so, and after reports. */
    List<Proposal> work(long nowNs, long nowMs) {
        publishers.registrations().topics().forEach(name -> topic(name, nowNs));
        if (nowNs - startedNs < LEARN_NS) {
            return List.of();
        }
        publishers.expire(nowNs, nowMs);
        loseSilentBrokers(nowNs);
        loseTopics();
        publishers.found().work(nowNs);
        begin(nowNs);
        List<Proposal> proposals = new ArrayList<>();
        for (TopicPlacement topic : topics.all()) {
            if (topic.run != null) {
                topic.run.distribution.onTime(nowNs);
                capacities.noteContradictions(topic.run);
            }
            if (topic.pending == null) {
                propose(topic, nowNs).ifPresent(decision -> {
                    topic.pending = decision;
                    proposals.add(new Proposal(topic.revision(), decision));
                });
            }
        }
        topics.removeDissolved().forEach(publishers.table()::forget);
        dissolveLeftOvers(proposals, nowNs);
        return proposals;
    }

    /** A topic that went while nobody decided would keep every broker awake, for nothing. */
    private void dissolveLeftOvers(List<Proposal> proposals, long nowNs) {
        if (!settings.registeredOnly || nowNs - startedNs < LEFT_OVER_NS) {
            return;
        }
        early.values().removeIf(decision -> {
            boolean over = !decision.parts().isEmpty() && !topics.exists(decision.topic());
            if (over) {
                proposals.add(new Proposal(decision.revision(), drafts.dissolved(decision)));
            }
            return over;
        });
    }

    private void loseSilentBrokers(long nowNs) {
        publishers.loseSilentBrokers(nowNs);
        measured.keySet().removeIf(broker -> !publishers.reports(broker));
        // Also brokers at which an earlier life of this singleton placed publishers, and that are not there now.
        Map<BrokerId, List<TopicPlacement>> affected = new HashMap<>();
        for (TopicPlacement topic : topics.all()) {
            for (BrokerId used : topic.allocation.keySet()) {
                if (!publishers.reports(used)) {
                    affected.computeIfAbsent(used, fresh -> new ArrayList<>()).add(topic);
                }
            }
        }
        affected.forEach((broker, those) -> lose(broker, those, nowNs));
    }

    private void lose(BrokerId broker, List<TopicPlacement> affected, long nowNs) {
        List<TopicPlacement> settled = new ArrayList<>();
        for (TopicPlacement topic : affected) {
            if (topic.run == null) {
                settled.add(topic);
            } else {
                int index = topic.run.brokers.indexOf(broker);
                if (index >= 0) {
                    topic.run.distribution.onBrokerGone(index, nowNs);
                    capacities.allocate(topic, topic.run.rates());
                }
            }
        }
        due.brokerGone(broker, settled);
    }

    private void loseTopics() {
        for (TopicPlacement topic : topics.all()) {
            Optional<PlacedTopic> defined = topics.defined(topic.name);
            if ((defined.isEmpty() || !wanted(topic.name)) && !topic.gone) {
                topic.gone = true;
                topic.run = null;
                capacities.allocate(topic, Map.of());
                publishers.forget(topic);
                traces.forget(topic.name);
                due.topicLeft(topic);
            } else if (defined.isPresent() && !defined.get().equals(topic.placed)) {
                topic.placed = defined.get();
                publishers.table().define(defined.get());
            }
        }
    }

    /** Topics that are due, the largest first: they are the hardest to fit. */
    private void begin(long nowNs) {
        Map<TopicPlacement, Trigger> triggers = due.take(nowNs);
        Map<TopicPlacement, TopicMembers> members = new HashMap<>();
        triggers.keySet().forEach(topic -> members.put(topic, publishers.members(topic)));
        List<TopicPlacement> order = new ArrayList<>(triggers.keySet());
        order.sort(Comparator.comparingDouble(
                (TopicPlacement topic) -> -members.get(topic).rate()));
        int begun = 0;
        for (TopicPlacement topic : order) {
            if (begun < MOST_BEGUN) {
                begin(topic, members.get(topic), triggers.get(topic), nowNs);
                begun++;
            } else {
                due.later(topic, triggers.get(topic));
            }
        }
    }

    private void begin(TopicPlacement topic, TopicMembers members, Trigger trigger, long nowNs) {
        if (members.size() == 0) {
            due.runEnded(topic, true, nowNs);
            capacities.allocate(topic, Map.of());
            return;
        }
        due.runBegan(topic);
        topic.placedAtChange = publishers.found().changes(topic.name);
        List<BrokerId> candidates = publishers.brokers();
        long[] ids = publishers.ids(members);
        Optional<TopicTrace> trace = traces.of(topic.name, members, ids);
        Policy policy = topics.policy(topic);
        LoadDistribution distribution = new LoadDistribution(
                topic.placed,
                members,
                capacities.of(candidates, topic),
                policy,
                capacities.forecast(topic.placed, candidates, trace),
                fitting(members),
                random,
                nowNs);
        topic.gathered.clear();
        topic.run = new Run(distribution, candidates, ids, policy, trigger, trace);
        capacities.allocate(topic, topic.run.rates());
    }

    private LoadDistribution.Settings fitting(TopicMembers members) {
        LoadDistribution.Settings usual = settings.fitting;
        return members.rate() >= LEAST_MEASURED_RATE
                ? usual
                : new LoadDistribution.Settings(usual.settleNs(), 1, usual.early());
    }

    private Optional<Decision> propose(TopicPlacement topic, long nowNs) {
        if (topic.gone) {
            return topic.dissolved() ? Optional.empty() : Optional.of(drafts.dissolved(topic.stored));
        }
        Run run = topic.run;
        if (run != null) {
            boolean news = run.distribution.assignment().revision() != run.proposed;
            boolean ended = run.over() && (topic.stored == null || !topic.stored.isOver() || !mine(topic.stored));
            return news || ended ? Optional.of(drafts.ofRun(topic, run, news)) : Optional.empty();
        }
        return topic.settled() && seating.due(topic, nowNs) ? Optional.of(seating.seat(topic)) : Optional.empty();
    }

    private void endRun(TopicPlacement topic, long nowNs) {
        boolean fitted = topic.run.distribution.state() == LoadDistribution.State.FITTED;
        topic.run = null;
        topic.hadRun = true;
        topic.runEndedNs = nowNs;
        due.runEnded(topic, fitted, nowNs);
    }

    // Its parts, and its counters

    TopicPlacements topics() {
        return topics;
    }

    ReportedPublishers publishers() {
        return publishers;
    }

    Capacities capacities() {
        return capacities;
    }

    PlacementQuestions questions() {
        return questions;
    }

    /** Publishers that were given another home, so far. */
    long moves() {
        return moves;
    }

    /** Proposals that came too late, because somebody else had decided. */
    long lostRaces() {
        return lostRaces;
    }

    long absurdReports() {
        return absurdReports;
    }
}
