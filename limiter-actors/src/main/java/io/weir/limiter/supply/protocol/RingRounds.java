package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.protocol.PeerMessage.Told;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
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
 * GDRL's rounds at one holder: who is on the ring, how topics fare at the gates, what that makes of demand, and what is told to whom. What
 * is handed over to a neighbour is each {@link RingEdge}'s.
 */
final class RingRounds {
    /** Of the last round in the smoothed number of messages that wait. */
    private static final double WAITING_WEIGHT = 0.25;
    /** By so much the dead band of what already moves is narrower. */
    private static final int NARROWER = 6;
    /** In so many rounds every topic is looked at and told, changed or not, in case a message was lost. */
    private static final int REFRESH_ROUNDS = 20;

    private final double deadBand;
    private final Holder me;
    private final Bookkeeper keeper;
    private final LimitBook limits;
    private final RandomGenerator random;
    private final Consumer<Effect> out;
    private final Consumer<PendingDecision> decide;
    private final Map<BrokerId, RingEdge> edges = new LinkedHashMap<>();
    private final Map<TopicName, RingEdge.Steps> steps = new HashMap<>();
    private final Map<TopicName, Double> waiting = new HashMap<>();
    /** Topics of which something may have changed since the last round. */
    private final Set<TopicName> changed = new HashSet<>();

    private Map<TopicName, Demand> demands = Map.of();
    private List<GateSample> busy = List.of();
    private Map<BrokerId, Holder> others = Map.of();
    private long rounds;
    private boolean sampling;

    /**
     * @param out takes what is to be done at once
     * @param decide takes what the bookkeeper has to decide
     */
    RingRounds(
            Terms terms,
            Bookkeeper keeper,
            LimitBook limits,
            RandomGenerator random,
            Consumer<Effect> out,
            Consumer<PendingDecision> decide) {
        this.deadBand = terms.deadBand();
        this.me = keeper.ledger().holder();
        this.keeper = keeper;
        this.limits = limits;
        this.random = random;
        this.out = out;
        this.decide = decide;
        changed.addAll(limits.topics());
    }

    /** Something of these topics may be new. */
    void changed(Collection<TopicName> topics) {
        changed.addAll(topics);
    }

    /** The limits of these topics are others now. */
    void newLimits(Set<TopicName> topics) {
        changed.addAll(topics);
        steps.keySet().removeAll(topics);
    }

    /** Everybody else that is alive and can be written to. */
    void members(Map<BrokerId, Holder> members) {
        if (members.equals(others)) {
            return;
        }
        if (members.size() != others.size()) {
            steps.clear();
        }
        others = members;
        changed.addAll(limits.topics());
        List<BrokerId> near = Ring.of(ring()).neighbours(me.broker());
        edges.values().removeIf(edge -> !near.contains(edge.peer().broker()) || !members.containsValue(edge.peer()));
        near.forEach(broker -> edges.computeIfAbsent(broker, id -> new RingEdge(members.get(id))));
    }

    /** A round begins with a look at the gates, unless one is under way. */
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
        changed.addAll(demands.keySet());
        Set<TopicName> refreshed = limits.slice(rounds++ % REFRESH_ROUNDS, REFRESH_ROUNDS);
        Set<TopicName> due = new LinkedHashSet<>(changed);
        due.addAll(refreshed);
        changed.clear();
        round(due, refreshed);
    }

    /** The gate may hold less than the ledger says, when something is on its way out or in; never more. */
    private void checkBacked(GateSample sample) {
        Share held = sample.held().share();
        Share backed = keeper.ledger().share(sample.topic()).share();
        if (held.rateMicros() > backed.rateMicros() || held.burstMicros() > backed.burstMicros()) {
            out.accept(new Effect.Violated(
                    "the gate of " + sample.topic() + " holds " + held + ", but " + me + "'s journal has " + backed));
        }
    }

    private Map<TopicName, Demand> demands(List<GateSample> samples) {
        Map<TopicName, Demand> now = new HashMap<>();
        for (GateSample sample : samples) {
            double before = waiting.getOrDefault(sample.topic(), 0.0);
            double smoothed = before + WAITING_WEIGHT * (sample.waiting() - before);
            waiting.put(sample.topic(), smoothed);
            Share limit = limits.last(sample.topic()).map(LimitRow::limit).orElse(Share.NONE);
            now.put(sample.topic(), Pressure.demand(sample.demand(), smoothed, limit));
        }
        waiting.keySet().retainAll(now.keySet());
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
            if (Exchange.homeless(share) && !others.isEmpty()) {
                List<Holder> anyone = List.copyOf(others.values());
                decide.accept(new PendingDecision.HandOn(anyone.get(random.nextInt(anyone.size())), topic));
                changed.add(topic);
            } else if (row.sharing() == Sharing.ADAPTOR || row.limit().isNone()) {
                gone.add(topic);
            } else {
                mine.add(new RingEdge.Mine(new Told(topic, share, demand(row)), steps(row), refreshed.contains(topic)));
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
     * A broker whose messages wait also tells one that is no neighbour, another each round; one that is idle gives. Along the ring alone
     * supply with a burst of few messages can't come: brokers between that have no demand have no use for it either. (The seeds have
     * no all or nothing, so they do not need this.)
     */
    private void askFurther(List<RingEdge.Mine> mine) {
        List<Holder> far = new ArrayList<>(others.values());
        far.removeAll(near());
        if (far.isEmpty()) {
            return;
        }
        Set<TopicName> held = new HashSet<>();
        busy.forEach(sample -> {
            if (sample.waiting() > 0) {
                held.add(sample.topic());
            }
        });
        List<Told> starving = mine.stream()
                .map(RingEdge.Mine::told)
                .filter(told -> held.contains(told.topic())
                        && told.share().share().rateMicros() < told.demand().rateMicros())
                .toList();
        if (!starving.isEmpty()) {
            Holder asked = far.get((int) (rounds % far.size()));
            out.accept(new Effect.Tell(asked.broker(), new PeerMessage.Indicators(me, starving)));
        }
    }

    /** A static topic's demand is the same everywhere, so the ring keeps its parts equal, whoever comes and goes. */
    private Demand demand(LimitRow row) {
        return row.sharing() == Sharing.STATIC
                ? new Demand(Limit.MICROS, Limit.MICROS)
                : demands.getOrDefault(row.topic(), new Demand(0, 0));
    }

    private RingEdge.Steps steps(LimitRow row) {
        return steps.computeIfAbsent(row.topic(), topic -> {
            int members = others.size() + 1;
            int degree = Math.min(2, Math.max(1, others.size()));
            Limit limit = new Limit(
                    Math.max(Limit.MIN_RATE_MICROS, row.limit().rateMicros()),
                    Math.max(Limit.MICROS, row.limit().burstMicros()));
            return new RingEdge.Steps(
                    new SupplyEdge(limit, members, degree, deadBand),
                    new SupplyEdge(limit, members, degree, deadBand / NARROWER));
        });
    }

    void heard(PeerMessage.Indicators indicators) {
        RingEdge edge = edges.get(indicators.from().broker());
        if (edge != null && edge.peer().equals(indicators.from())) {
            edge.heard(indicators.told()).ifPresent(decide);
        } else if (edge == null && others.containsValue(indicators.from())) {
            decide.accept(new Relieve(this, indicators));
        }
    }

    /** What an idle broker has goes to one that is no neighbour and starves. */
    private record Relieve(RingRounds rounds, PeerMessage.Indicators starving) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            return rounds.relieve(starving);
        }
    }

    private List<Effect> relieve(PeerMessage.Indicators starving) {
        Map<TopicName, Holding> given = new LinkedHashMap<>();
        for (Told theirs : starving.told()) {
            Optional<LimitRow> row = limits.last(theirs.topic()).filter(last -> last.sharing() == Sharing.GOSSIP);
            Demand mine = demand(theirs.topic());
            if (row.isPresent() && !row.get().limit().isNone() && mine.rateMicros() == 0) {
                Holding part = Exchange.handedOver(
                        keeper,
                        steps(row.get()).begin(),
                        keeper.ledger().share(theirs.topic()),
                        mine,
                        theirs.share(),
                        theirs.demand());
                if (!part.isNone()) {
                    given.put(theirs.topic(), part);
                }
            }
        }
        return given.isEmpty() || !keeper.canDebit(starving.from()) ? List.of() : keeper.debit(starving.from(), given);
    }

    // ---- being looked at

    /** With what waits counted in. */
    Demand demand(TopicName topic) {
        return demands.getOrDefault(topic, new Demand(0, 0));
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
