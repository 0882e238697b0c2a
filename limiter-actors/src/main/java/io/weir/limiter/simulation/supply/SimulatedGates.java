package io.weir.limiter.simulation.supply;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.supply.gate.algorithm.Gate;
import io.weir.limiter.supply.gate.algorithm.Gate.Verdict;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.gate.algorithm.Lending;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The gates of one incarnation, one a topic, with the load that presses on them and the tokens they lend each other.
 */
final class SimulatedGates {
    private static final long MS = SupplyWorld.MS;

    private final SupplyWorld world;
    private final SupplyBroker host;
    private final Holder holder;
    private final Lease lease = new Lease(SupplyWorld.LEASE_NS);
    /** The same, but for a gate that ignores it. */
    private final Lease gateLease;

    private final Gate[] gates;
    private final Lending[] lendings;
    private final long[] peerLives;
    private final long[] demandMicros;
    private final double[] waiting;
    private final long[] lastLoadNs;
    /** When its thread is through with what it was asked for. */
    private long busyUntilNs;

    SimulatedGates(SupplyWorld world, SupplyBroker host, Holder holder) {
        this.world = world;
        this.host = host;
        this.holder = holder;
        gateLease = world.scenario.has(Flaw.NO_LEASE_CHECK) ? new Lease(1L << 60) : lease;
        gates = new Gate[world.scenario.topics];
        lendings = new Lending[gates.length];
        peerLives = new long[world.brokers.length];
        demandMicros = new long[gates.length];
        waiting = new double[gates.length];
        lastLoadNs = new long[gates.length];
        anyDemand();
        long epsilonPpm = world.scenario.has(Flaw.NO_DEFLATION) ? 0 : SupplyWorld.EPSILON_PPM;
        for (int topic = 0; topic < gates.length; topic++) {
            gates[topic] = new Gate(gateLease, epsilonPpm, host.localNs());
            lendings[topic] = new FlawedLending(
                    world.scenario, holder, gates[topic], world.brokers.length, Lending.PATIENCE_NS, host.localNs());
            lastLoadNs[topic] = world.nowNs();
            int loaded = topic;
            host.inProcess(world.random.nextLong(20 * MS), () -> load(loaded));
        }
    }

    Holder holder() {
        return holder;
    }

    void renewed(long sentNs) {
        lease.renewed(sentNs);
        gateLease.renewed(sentNs);
        world.checker.renewed(holder, sentNs + SupplyWorld.LEASE_NS);
    }

    void close() {
        lease.close();
        gateLease.close();
    }

    boolean closed() {
        return lease.closed();
    }

    void anyDemand() {
        for (int topic = 0; topic < demandMicros.length; topic++) {
            demandMicros[topic] = world.scenario.rate * Limit.MICROS * world.random.nextInt(4);
        }
    }

    /** Skewed at first; at the end everybody, or one broker alone, wants more than there is. */
    private Demand demand(int topic) {
        long most = 4 * world.scenario.rate * Limit.MICROS;
        long rate = demandMicros[topic];
        if (world.saturated()) {
            rate = world.scenario.lastDemandAt(host.index()) ? most : 0;
        } else if (world.scenario.bursty) {
            rate = most / 2;
        }
        return rate == 0 ? Demand.NONE : new Demand(rate, rate / 4 + Limit.MICROS);
    }

    /**
     * What actors ask of the gates is carried out by the thread that admits: in order, soon, and whatever becomes of
     * the actors.
     */
    void queue(Runnable command) {
        long delayNs = world.chance(0.5) ? 0 : world.random.nextLong(20 * MS);
        busyUntilNs = Math.max(busyUntilNs, world.nowNs() + delayNs);
        host.inProcess(busyUntilNs - world.nowNs(), command);
    }

    /** The gates that something arrives for. */
    List<GateSample> samples() {
        List<GateSample> samples = new ArrayList<>();
        for (int topic = 0; topic < gates.length; topic++) {
            Demand demand = demand(topic);
            if (demand.rateMicros() > 0 || waiting[topic] >= 1) {
                samples.add(new GateSample(
                        world.topics.get(topic),
                        gates[topic].held(host.localNs()),
                        world.faulty() ? restless(demand) : demand,
                        (long) waiting[topic],
                        world.scenario.borrowing));
            }
        }
        return samples;
    }

    /** A ring at rest would have little to lose: as long as there are faults, supply is to be under way. */
    private Demand restless(Demand demand) {
        double factor = 0.5 + world.random.nextDouble();
        return new Demand(Math.round(demand.rateMicros() * factor), Math.round(demand.backlogMicros() * factor));
    }

    Map<TopicName, Holding> held() {
        Map<TopicName, Holding> all = new LinkedHashMap<>();
        for (int topic = 0; topic < gates.length; topic++) {
            all.put(world.topics.get(topic), gates[topic].held(host.localNs()));
        }
        return all;
    }

    /** C5 again, when the journal changes under the gate. */
    void checkBacked() {
        for (int topic = 0; topic < gates.length; topic++) {
            world.checker.backed(holder, world.topics.get(topic), gates[topic].held(host.localNs()));
        }
    }

    private void load(int topic) {
        double dt = (world.nowNs() - lastLoadNs[topic]) * 1e-9;
        lastLoadNs[topic] = world.nowNs();
        double rate = demand(topic).rateMicros() / (double) Limit.MICROS;
        boolean bursty = world.scenario.bursty && !world.saturated();
        if (bursty) {
            waiting[topic] = world.burst(host.index()) ? rate : 0;
        } else {
            waiting[topic] = rate == 0 ? 0 : Math.min(Math.max(2, rate), waiting[topic] + rate * dt);
        }
        long nextNs = (bursty ? 8 : 50) * MS;
        while (waiting[topic] >= 1) {
            long now = host.localNs();
            Verdict taken = gates[topic].take(1, now);
            if (taken == Verdict.REFUSED) {
                nextNs = Math.min(nextNs, Math.max(MS / 2, gates[topic].retryAfterNs(1, now)));
                break;
            }
            waiting[topic]--;
            long stampNs = world.nowNs();
            if (world.faulty() && world.chance(world.scenario.gatePause)) {
                host.freeze(world.random.nextLong(2 * SupplyWorld.PATIENCE_NS), () -> {
                    confirm(topic, taken, world.scenario.has(Flaw.STAMP_AT_CONFIRM) ? world.nowNs() : stampNs);
                    load(topic);
                });
                return;
            }
            confirm(topic, taken, stampNs);
        }
        if (host.node() != null && world.scenario.borrowing) {
            borrow(topic);
        }
        host.inProcess(nextNs, () -> load(topic));
    }

    private void confirm(int topic, Verdict taken, long stampNs) {
        long now = host.localNs();
        if (gates[topic].confirm(taken, now) != Verdict.REFUSED) {
            world.checker.admitted(holder, world.topics.get(topic), taken, stampNs, now);
        }
    }

    /** A request or its reply on its way: who asked, and under which version. */
    record Borrowed(Holder asker, long version, Loan loan) {}

    private void borrow(int topic) {
        Loan loan = new Loan();
        Lending lending = lendings[topic];
        Holder[] peers = host.node().peers();
        long known = 0;
        for (int i = 0; i < peers.length; i++) {
            known |= peers[i] == null ? 0 : 1L << i;
        }
        if (!lending.ask(known, waitingMicros(topic), host.localNs(), loan)) {
            return;
        }
        Borrowed request = new Borrowed(holder, lending.version(), loan);
        world.checker.asked(request, world.topics.get(topic));
        world.deliver(
                host, peers[loan.peer()].broker(), node -> node.gates().onBorrowRequest(topic, request, host.index()));
    }

    /** A new life of a peer counts its requests from 1 again; in a broker it has a new link. */
    private boolean ofLivingPeer(Holder asker, int slot) {
        if (asker.incarnation() > peerLives[slot]) {
            peerLives[slot] = asker.incarnation();
            for (Lending lending : lendings) {
                lending.peerChanged(slot, host.localNs());
            }
        }
        return asker.incarnation() == peerLives[slot];
    }

    private void onBorrowRequest(int topic, Borrowed request, int slot) {
        if (!ofLivingPeer(request.asker, slot)) {
            return;
        }
        Loan loan = new Loan();
        if (lendings[topic].onRequest(
                slot, request.version, request.loan, waitingMicros(topic), host.localNs(), loan)) {
            world.checker.lent(holder, world.topics.get(topic), loan.micros(), host.localNs());
            Borrowed reply = new Borrowed(request.asker, request.version, loan);
            world.deliver(host, request.asker.broker(), node -> node.gates().onBorrowReply(topic, reply, host.index()));
        }
    }

    private void onBorrowReply(int topic, Borrowed reply, int slot) {
        Holding before = gates[topic].held(host.localNs());
        long added =
                lendings[topic].onReply(slot, reply.asker.incarnation(), reply.version, reply.loan, host.localNs());
        world.checker.borrowed(holder, world.topics.get(topic), reply, added, before.leased());
    }

    private long waitingMicros(int topic) {
        return (long) (waiting[topic] * Limit.MICROS);
    }

    void version(TopicName topic, long version) {
        lendings[world.topics.indexOf(topic)].version(version, host.localNs());
    }

    void cancelRequests() {
        for (Lending lending : lendings) {
            lending.cancel(host.localNs());
        }
    }

    void add(TopicName name, Holding more) {
        Gate gate = gates[world.topics.indexOf(name)];
        // A thread that reads the clock when its turn begins may find, in that turn, what came later.
        long turnNs = world.scenario.has(Flaw.COMMANDS_AT_THE_TURNS_TIME) ? world.random.nextLong(20 * MS) : 0;
        gate.add(more, host.localNs() - turnNs);
        world.checker.gate(holder, name, more.leased().plus(more.kept()), 1, gate.held(host.localNs()));
    }

    Holding remove(TopicName name, Holding wanted) {
        Gate gate = gates[world.topics.indexOf(name)];
        Holding removed = gate.release(wanted, host.localNs());
        if (world.scenario.has(Flaw.LEVEL_NOT_DEBITED)) {
            Holding rest = gate.remove(gate.held(host.localNs()), host.localNs());
            gate.add(
                    new Holding(refilled(rest.leased(), removed.leased()), refilled(rest.kept(), removed.kept())),
                    host.localNs());
        }
        world.checker.gate(holder, name, removed.leased().plus(removed.kept()), -1, gate.held(host.localNs()));
        return removed;
    }

    private static Supply refilled(Supply rest, Supply removed) {
        long level = Math.min(rest.burstMicros(), rest.levelMicros() + removed.levelMicros());
        return new Supply(rest.rateMicros(), rest.burstMicros(), level);
    }

    void reset(Map<TopicName, Holding> stored) {
        for (int topic = 0; topic < gates.length; topic++) {
            TopicName name = world.topics.get(topic);
            Holding removed = gates[topic].remove(gates[topic].held(host.localNs()), host.localNs());
            Supply all = removed.leased().plus(removed.kept());
            world.checker.gate(holder, name, all, -1, gates[topic].held(host.localNs()));
            add(name, stored.getOrDefault(name, Holding.NONE).empty());
        }
    }
}
