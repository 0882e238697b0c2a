package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * GDRL's rounds at one holder. It knows the ring's members, samples the gates, turns the samples into demand and tells
 * the neighbours. How much to hand to a neighbour is each {@link RingEdge}'s decision.
 */
final class RingRounds {
    /**
     * A static topic's demand has no noise and never changes, so its shares can become equal to a part of the dead
     * band.
     */
    private static final int STATIC_PARTS = 10;
    /** Within so many rounds every topic is told again, changed or not, in case a message was lost. */
    private static final int REFRESH_ROUNDS = 20;

    private final double deadBand;
    private final Holder me;
    private final Bookkeeper keeper;
    private final KnownLimits limits;
    private final RandomGenerator random;
    private final Consumer<Effect> out;
    private final Consumer<PendingDecision> decide;
    private final Reserve reserve;
    private final Map<BrokerId, RingEdge> edges = new LinkedHashMap<>();
    /** Of topics that have starved here under their limit of now. */
    private final Map<TopicName, FarAsks> farAsks = new HashMap<>();

    private final Map<TopicName, SupplyEdge> steps = new HashMap<>();
    /** Steps to brokers that are no neighbours. */
    private final Map<TopicName, SupplyEdge> farSteps = new HashMap<>();

    /** Topics of which something may have changed since the last round. */
    private final Set<TopicName> changed = new HashSet<>();

    private Map<TopicName, Demand> demands = Map.of();
    /** What placement has put here, in micro-tokens/s; topics that it has not placed are missing. */
    private Map<TopicName, Long> placed = Map.of();

    private List<GateSample> busy = List.of();
    private Map<BrokerId, Holder> others = Map.of();
    /** The most neighbours that a broker has. */
    private int degree = 1;

    private long rounds;
    private boolean sampling;

    /**
     * @param out takes effects to carry out at once
     * @param decide takes decisions for the bookkeeper
     */
    RingRounds(
            ProtocolTimes times,
            Bookkeeper keeper,
            KnownLimits limits,
            RandomGenerator random,
            Consumer<Effect> out,
            Consumer<PendingDecision> decide) {
        this.deadBand = times.deadBand();
        this.me = keeper.ledger().holder();
        this.keeper = keeper;
        this.reserve = new Reserve(times.reserve(), me.broker());
        this.limits = limits;
        this.random = random;
        this.out = out;
        this.decide = decide;
        changed.addAll(limits.topics());
    }

    /** Share or debt of these topics may have changed. */
    void changed(Collection<TopicName> topics) {
        changed.addAll(topics);
    }

    /** It is stored that this transfer has arrived here. */
    void credited(Transfer transfer) {
        if (edges.containsKey(transfer.id().from().broker())) {
            return;
        }
        for (TopicName topic : transfer.holdings().keySet()) {
            if (farAsks.containsKey(topic)) {
                farAsks.get(topic).given();
            }
        }
    }

    /** These topics have a new limit, so their steps must be computed anew. */
    void newLimits(Set<TopicName> topics) {
        changed.addAll(topics);
        steps.keySet().removeAll(topics);
        farSteps.keySet().removeAll(topics);
        farAsks.keySet().removeAll(topics);
    }

    /** These names are forgotten. */
    void forgotten(Set<TopicName> topics) {
        changed.removeAll(topics);
        steps.keySet().removeAll(topics);
        reserve.forgotten(topics);
        edges.values().forEach(edge -> topics.forEach(edge::forget));
    }

    /** @param members all other holders that are live and reachable */
    void members(Map<BrokerId, Holder> members) {
        if (members.equals(others)) {
            return;
        }
        if (members.size() != others.size()) {
            steps.clear();
            farSteps.clear();
        }
        others = members;
        changed.addAll(limits.topics());
        Ring ring = Ring.of(ring());
        reserve.ring(ring);
        degree = ring.degree();
        List<BrokerId> near = ring.neighbours(me.broker());
        edges.values().removeIf(edge -> !near.contains(edge.peer().broker()) || !members.containsValue(edge.peer()));
        near.forEach(broker -> edges.computeIfAbsent(broker, id -> new RingEdge(members.get(id), reserve)));
    }

    /** @param rates what placement has put here now */
    void placed(Map<TopicName, Long> rates) {
        changed.addAll(placed.keySet());
        placed = Map.copyOf(rates);
        changed.addAll(placed.keySet());
    }

    /** A round begins with a sample of the gates, unless the last one is still under way. */
    void due() {
        if (!sampling && !limits.topics().isEmpty()) {
            sampling = true;
            out.accept(new Effect.SampleGates(keeper.ledger().sequence()));
        }
    }

    void sampleFailed() {
        sampling = false;
    }

    void sampled(Input.Sampled sampled) {
        sampling = false;
        busy = sampled.samples();
        if (keeper.ledger().sequence() == sampled.sequence()) {
            busy.forEach(this::checkBacked);
        }
        changed.addAll(demands.keySet());
        demands = demands(busy);
        reserve.sampled(busy);
        changed.addAll(demands.keySet());
        Set<TopicName> refreshed = limits.slice(rounds++ % REFRESH_ROUNDS, REFRESH_ROUNDS);
        Set<TopicName> due = new LinkedHashSet<>(changed);
        due.addAll(refreshed);
        changed.clear();
        round(due, refreshed);
    }

    /** A gate may hold less than the ledger says, while supply is on its way in or out, but never more. */
    private void checkBacked(GateSample sample) {
        Share held = sample.held().share();
        Share backed = keeper.ledger().share(sample.topic()).share();
        if (held.rateMicros() > backed.rateMicros() || held.burstMicros() > backed.burstMicros()) {
            out.accept(new Effect.Violated(
                    "the gate of " + sample.topic() + " holds " + held + ", but " + me + "'s journal has " + backed));
        }
    }

    private static Map<TopicName, Demand> demands(List<GateSample> samples) {
        Map<TopicName, Demand> now = new HashMap<>();
        samples.forEach(sample -> now.put(sample.topic(), sample.demand()));
        return now;
    }

    private void round(Set<TopicName> due, Set<TopicName> refreshed) {
        List<RingEdge.Mine> mine = new ArrayList<>();
        List<TopicName> gone = new ArrayList<>();
        for (TopicName topic : due) {
            Optional<LimitRow> last = limits.last(topic);
            if (last.isEmpty()) {
                continue;
            }
            LimitRow row = last.get();
            Holding share = keeper.ledger().share(topic);
            if (share.wantsSplit(row.floorPermille())) {
                decide.accept(new PendingDecision.Refloor(topic, row.floorPermille()));
            }
            if (share.homeless() && !others.isEmpty()) {
                List<Holder> anyone = List.copyOf(others.values());
                decide.accept(new PendingDecision.HandOn(anyone.get(random.nextInt(anyone.size())), topic));
                changed.add(topic);
            } else if (row.sharing() == Sharing.ADAPTOR || row.limit().isNone()) {
                gone.add(topic);
                steps.remove(topic);
            } else {
                mine.add(new RingEdge.Mine(
                        new PeerMessage.ShareAndDemand(topic, share, demand(row), reserve.wanted(row)),
                        step(row),
                        refreshed.contains(topic)));
            }
        }
        for (RingEdge edge : edges.values()) {
            RingEdge.Round round = edge.round(mine, gone);
            if (!round.news().isEmpty()) {
                out.accept(new Effect.Tell(edge.peer().broker(), new PeerMessage.Indicators(me, round.news())));
            }
            round.handOver().ifPresent(decide);
        }
        askFurther(mine);
    }

    /**
     * A broker with waiting messages also tells some that are no neighbours ({@link FarAsks}); those with something to
     * spare give. Along the ring alone, the time that supply takes to a hot spot grows with the square of the ring's
     * size, and supply with a burst of few messages does not get there at all: idle brokers in between have no use for
     * it and can't take a part of it. (Chords in the ring were tried, and the accelerated step: LAB.md says how they
     * did.)
     */
    private void askFurther(List<RingEdge.Mine> mine) {
        List<Holder> far = new ArrayList<>(others.values());
        far.removeAll(near());
        if (far.isEmpty()) {
            return;
        }
        Set<TopicName> withWaiting = new HashSet<>();
        busy.forEach(sample -> {
            if (sample.waiting() > 0) {
                withWaiting.add(sample.topic());
            }
        });
        List<PeerMessage.ShareAndDemand> starving = mine.stream()
                .map(RingEdge.Mine::now)
                .filter(own -> withWaiting.contains(own.topic())
                        && (own.share().share().rateMicros() < own.demand().rateMicros()
                                || own.demand().saturates(own.share().share())))
                .toList();
        Map<Holder, List<PeerMessage.ShareAndDemand>> asked = new LinkedHashMap<>();
        for (PeerMessage.ShareAndDemand own : starving) {
            farAsks.computeIfAbsent(own.topic(), topic -> new FarAsks(me.hashCode()))
                    .round(far)
                    .forEach(holder -> asked.computeIfAbsent(holder, to -> new ArrayList<>())
                            .add(own));
        }
        asked.forEach((to, topics) -> out.accept(new Effect.Tell(to.broker(), new PeerMessage.Indicators(me, topics))));
    }

    /**
     * What a topic's share is to follow. A static topic has the same demand everywhere, so the ring keeps its shares
     * equal as members come and go.
     */
    private Demand demand(LimitRow row) {
        if (row.sharing() == Sharing.STATIC) {
            return new Demand(Limit.MICROS, Limit.MICROS);
        }
        Demand measured = demand(row.topic());
        Long rate = row.sharing() == Sharing.PLACED ? placed.get(row.topic()) : null;
        return rate == null || row.limit().rateMicros() == 0
                ? measured
                : measured.placed(
                        rate, (double) row.limit().burstMicros() / row.limit().rateMicros());
    }

    /** A static topic's shares are to be equal, which is the fill ratio's business, whatever the topic's indicator. */
    private SupplyEdge step(LimitRow row) {
        boolean fixed = row.sharing() == Sharing.STATIC;
        return steps.computeIfAbsent(
                row.topic(),
                topic -> step(
                        row,
                        fixed ? deadBand / STATIC_PARTS : deadBand,
                        fixed ? Indicator.FILL_RATIO : row.indicator()));
    }

    /**
     * What one broker lacks, all others can spare together, though each has little beside what that one holds. So the
     * dead bands of all of them are to be no wider together than a neighbour's.
     */
    private SupplyEdge farStep(LimitRow row) {
        return farSteps.computeIfAbsent(
                row.topic(), topic -> step(row, deadBand / (others.size() + 1), row.indicator()));
    }

    private SupplyEdge step(LimitRow row, double band, Indicator indicator) {
        Limit limit = new Limit(
                Math.max(Limit.MIN_RATE_MICROS, row.limit().rateMicros()),
                Math.max(Limit.MICROS, row.limit().burstMicros()));
        return new SupplyEdge(limit, others.size() + 1, degree, band, indicator);
    }

    void heard(PeerMessage.Indicators indicators) {
        reserve.heard(indicators);
        RingEdge edge = edges.get(indicators.from().broker());
        if (edge != null && edge.peer().equals(indicators.from())) {
            edge.heard(indicators.topics()).ifPresent(decide);
        } else if (edge == null && others.containsValue(indicators.from())) {
            decide.accept(new Relieve(this, indicators));
        }
    }

    /** A broker gives to one that starves and is no neighbour. */
    private record Relieve(RingRounds rounds, PeerMessage.Indicators starving) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return rounds.relieve(starving);
        }
    }

    private List<Effect> relieve(PeerMessage.Indicators starving) {
        Map<TopicName, Holding> given = new LinkedHashMap<>();
        for (PeerMessage.ShareAndDemand theirs : starving.topics()) {
            Optional<LimitRow> row = limits.last(theirs.topic())
                    .filter(last -> last.sharing() == Sharing.GOSSIP || last.sharing() == Sharing.PLACED)
                    .filter(last -> !last.limit().isNone() && mayRelieve(demand(last), theirs));
            if (row.isPresent()) {
                Holding part = relief(starving.from(), row.get(), theirs);
                if (!part.isNone()) {
                    given.put(theirs.topic(), part);
                }
            }
        }
        return given.isEmpty() || !keeper.canDebit(starving.from()) ? List.of() : keeper.debit(starving.from(), given);
    }

    /**
     * An idle broker gives to whoever starves. One with demand of its own gives only to one that is certain to need
     * more than it has: somewhere in a large ring there is always a broker where messages happen to have waited for a
     * window.
     */
    private static boolean mayRelieve(Demand mine, PeerMessage.ShareAndDemand theirs) {
        return isIdle(mine)
                || theirs.demand().leastNeedMicros() > theirs.share().share().rateMicros();
    }

    private static boolean isIdle(Demand demand) {
        return demand.rateMicros() == 0;
    }

    /**
     * Many may give at once, each without knowing of the others, so one with demand of its own keeps all that it may
     * need: what is given too much was to spare.
     */
    private Holding relief(Holder to, LimitRow row, PeerMessage.ShareAndDemand theirs) {
        Demand demand = demand(row);
        Holding mine = keeper.ledger().share(row.topic());
        SupplyEdge.Floors floors = reserve.floors(
                row.topic(), to.broker(), mine.share(), theirs.share().share(), false);
        return RingStep.handedOver(
                keeper,
                farStep(row),
                mine,
                demand,
                theirs.share(),
                theirs.demand(),
                isIdle(demand) ? floors : floors.keeping(demand.mostNeed(mine.share())));
    }

    // ---- read by the node

    Demand demand(TopicName topic) {
        return demands.getOrDefault(topic, Demand.NONE);
    }

    List<GateSample> busy() {
        return busy;
    }

    Map<BrokerId, Holder> others() {
        return others;
    }

    Set<BrokerId> ring() {
        Set<BrokerId> members = new LinkedHashSet<>(others.keySet());
        members.add(me.broker());
        return members;
    }

    List<Holder> near() {
        return edges.values().stream().map(RingEdge::peer).toList();
    }
}
