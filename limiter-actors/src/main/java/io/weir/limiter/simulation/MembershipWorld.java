package io.weir.limiter.simulation;

import io.weir.config.value.BrokerId;
import io.weir.limiter.algorithm.EdgeStep;
import io.weir.limiter.algorithm.FairnessIndex;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.SynchronousGdrl;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.random.RandomGenerator;

/**
 * Ramsden's cluster (sections 2 and 3): brokers on a ring tell their neighbours supply and demand once a round, each in
 * its own time; whoever hears from a poorer neighbour takes the move of GDRL's pairwise form from itself and sends it.
 * Brokers join with nothing, leave, crash and are cut off from each other.
 *
 * <p>A tell that meets a cut is lost. A transfer is repeated until it arrives, and goes back when its receiver has gone
 * for good, so supply is only ever held, under way, or stranded at a crashed broker. What makes that true on real
 * machines (journal, lease, fencing) is not this simulation's business.
 */
public final class MembershipWorld {
    /** How a buddy comes by the supply of a broker that fell silent. */
    public enum Inheritance {
        /** What the broker really held, and only from one that really stopped: what a journal and a lease are for. */
        EXACT,
        /**
         * As both papers describe it: the buddy knows what it was told last (gdrl IV), and silence is all that it sees,
         * be it a crash or a cut.
         */
        AS_TOLD
    }

    /**
     * @param roundNs how often a broker tells its neighbours
     * @param maxLatencyNs a message takes up to this long
     * @param detectNs how long a broker is silent before its buddy inherits
     */
    public record Settings(EdgeStep step, long roundNs, long maxLatencyNs, long detectNs, Inheritance inheritance) {}

    private record Event(long atNs, long order, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(atNs, other.atNs);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    private record Heard(long supply, long atNs) {}

    private static final class Broker {
        private final BrokerId id;
        private final Map<BrokerId, Heard> heard = new HashMap<>();
        private long supply;
        private long demand;
        private boolean up = true;

        private Broker(BrokerId id, long supply, long demand) {
            this.id = id;
            this.supply = supply;
            this.demand = demand;
        }
    }

    private final Settings settings;
    private final RandomGenerator random;
    private final Map<BrokerId, Broker> brokers = new TreeMap<>();
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private Ring ring;
    private Set<BrokerId> cutOff = Set.of();
    private long inFlight;
    private long order;
    private long nowNs;

    private MembershipWorld(Settings settings, Ring ring, RandomGenerator random) {
        this.settings = settings;
        this.random = random;
        this.ring = ring;
    }

    /** Brokers that start with R/N each, since nothing is known of their demand yet (Ramsden 2.2). */
    public static MembershipWorld evenSplit(
            Settings settings,
            long rateMicros,
            List<BrokerId> brokers,
            List<Long> demandsMicros,
            RandomGenerator random) {
        MembershipWorld world = new MembershipWorld(settings, Ring.of(brokers), random);
        long[] supplies = SynchronousGdrl.evenSplit(rateMicros, brokers.size());
        for (int i = 0; i < supplies.length; i++) {
            world.start(new Broker(brokers.get(i), supplies[i], demandsMicros.get(i)));
        }
        return world;
    }

    /** Enters with no supply (Ramsden 3.3), for the first time or after a crash. */
    public void join(BrokerId broker, long demandMicros) {
        if (ring.contains(broker)) {
            throw new IllegalStateException("broker " + broker + " is still on the ring");
        }
        ring = ring.with(broker);
        start(new Broker(broker, 0, demandMicros));
    }

    private void start(Broker broker) {
        brokers.put(broker.id, broker);
        at(nowNs + random.nextLong(settings.roundNs), () -> tick(broker));
    }

    /** Hands its supply to its buddy and goes. */
    public void leave(BrokerId id) {
        Broker leaving = brokers.get(id);
        leaving.up = false;
        inheritFrom(leaving, leaving.supply);
    }

    /** Stops without a word. */
    public void crash(BrokerId id) {
        Broker crashed = brokers.get(id);
        crashed.up = false;
        if (settings.inheritance == Inheritance.EXACT) {
            at(nowNs + settings.detectNs, () -> inheritFrom(crashed, crashed.supply));
        }
    }

    /** From now on these brokers and the others do not hear each other. */
    public void cutOff(Set<BrokerId> side) {
        cutOff = Set.copyOf(side);
    }

    public void heal() {
        cutOff = Set.of();
    }

    public void demand(BrokerId broker, long demandMicros) {
        brokers.get(broker).demand = demandMicros;
    }

    public void runUntil(long untilNs) {
        while (!events.isEmpty() && events.peek().atNs <= untilNs) {
            Event event = events.poll();
            nowNs = event.atNs;
            event.action.run();
        }
        nowNs = untilNs;
    }

    private void at(long atNs, Runnable action) {
        events.add(new Event(atNs, order++, action));
    }

    private void tick(Broker broker) {
        if (!broker.up) {
            return;
        }
        if (settings.inheritance == Inheritance.AS_TOLD) {
            watchPredecessor(broker);
        }
        for (BrokerId neighbour : ring.neighbours(broker.id)) {
            if (!cut(broker.id, neighbour)) {
                long supply = broker.supply;
                long demand = broker.demand;
                at(nowNs + latencyNs(), () -> onTell(brokers.get(neighbour), broker.id, supply, demand));
            }
        }
        at(nowNs + settings.roundNs, () -> tick(broker));
    }

    private void onTell(Broker broker, BrokerId from, long supply, long demand) {
        if (!broker.up) {
            return;
        }
        broker.heard.put(from, new Heard(supply, nowNs));
        long toMe = settings.step.toFirst(broker.supply, broker.demand, supply, demand);
        if (toMe < 0) {
            broker.supply += toMe;
            inFlight -= toMe;
            at(nowNs + latencyNs(), () -> onTransfer(broker.id, from, -toMe));
        }
    }

    private void onTransfer(BrokerId from, BrokerId to, long amount) {
        Broker receiver = brokers.get(to);
        if (!ring.contains(to)) {
            Broker sender = brokers.get(from);
            credit(sender.up ? sender : firstUp(ring.members()), amount);
        } else if (receiver.up && !cut(from, to)) {
            credit(receiver, amount);
        } else {
            at(nowNs + settings.roundNs, () -> onTransfer(from, to, amount));
        }
    }

    private void credit(Broker receiver, long amount) {
        receiver.supply += amount;
        inFlight -= amount;
    }

    private void watchPredecessor(Broker broker) {
        BrokerId predecessor = ring.predecessor(broker.id);
        Heard last = broker.heard.get(predecessor);
        if (last != null && nowNs - last.atNs > settings.detectNs) {
            broker.heard.remove(predecessor);
            Broker silent = brokers.get(predecessor);
            if (silent.up) {
                broker.supply += last.supply; // only cut off: both use it from now on
            } else {
                inheritFrom(silent, last.supply);
            }
        }
    }

    private void inheritFrom(Broker gone, long supply) {
        firstUp(ring.heirs(gone.id)).supply += supply;
        gone.supply = 0;
        ring = ring.without(gone.id);
    }

    private Broker firstUp(List<BrokerId> candidates) {
        return candidates.stream()
                .map(brokers::get)
                .filter(broker -> broker.up)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("nobody is left to inherit"));
    }

    private boolean cut(BrokerId a, BrokerId b) {
        return cutOff.contains(a) != cutOff.contains(b);
    }

    private long latencyNs() {
        return 1 + random.nextLong(settings.maxLatencyNs);
    }

    public Ring ring() {
        return ring;
    }

    public long supplyMicros(BrokerId broker) {
        return brokers.get(broker).supply;
    }

    public long demandMicros(BrokerId broker) {
        return brokers.get(broker).demand;
    }

    /** What running brokers may admit at this moment. */
    public long usableMicros() {
        return brokers.values().stream()
                .filter(broker -> broker.up)
                .mapToLong(broker -> broker.supply)
                .sum();
    }

    /** Usable, under way, and stranded at brokers that crashed and are not inherited from yet. */
    public long accountedMicros() {
        return brokers.values().stream().mapToLong(broker -> broker.supply).sum() + inFlight;
    }

    /** Jain's index of the fill ratios S/D of the running brokers. */
    public double jain() {
        return FairnessIndex.jain(brokers.values().stream()
                .filter(broker -> broker.up)
                .mapToDouble(broker -> broker.supply / (double) Math.max(1, broker.demand))
                .toArray());
    }
}
