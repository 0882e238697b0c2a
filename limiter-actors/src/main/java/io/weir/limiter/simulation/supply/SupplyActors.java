package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.simulation.supply.SupplyWorld.Sight;
import io.weir.limiter.supply.algorithm.Bookkeeper;
import io.weir.limiter.supply.algorithm.Effect;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Holding;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import io.weir.limiter.supply.algorithm.Transfer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One life of a process's actors: carries out what its bookkeeper decides, renews the lease, looks at the rows, and has the
 * heir's and the ring's duties done. Wired as production is; what it leaves out on purpose is a {@link Flaw}.
 */
final class SupplyActors {
    private static final long MS = SupplyWorld.MS;
    private static final int MOST_KEPT_BACK = 64;

    private final SupplyWorld world;
    private final SupplyBroker host;
    private final SimulatedGates gates;
    private final Bookkeeper keeper;
    private final SimulatedHeir heir;
    private final SimulatedRing ring;
    private final ArrayDeque<Supplier<List<Effect>>> keptBack = new ArrayDeque<>();
    private final Holder[] peers;
    private List<Holder> others = List.of();
    private List<Holder> neighbours = List.of();
    private SupplyEvent writing;
    private boolean burning;
    private boolean renewing;
    private boolean reading;

    SupplyActors(SupplyWorld world, SupplyBroker host, SimulatedGates gates, Ledger ledger) {
        this.world = world;
        this.host = host;
        this.gates = gates;
        keeper = new FlawedBookkeeper(world.course, ledger);
        heir = new SimulatedHeir(world, host, this);
        ring = new SimulatedRing(world, host, this);
        peers = new Holder[world.brokers.length];
        every(SupplyWorld.LEASE_NS / 4, this::renew);
        every(SupplyWorld.LEASE_NS / 10, this::look);
        every(250 * MS, ring::round);
        every(200 * MS, () -> perform(keeper.resend()));
    }

    void recover() {
        if (world.course.has(Flaw.RECOVER_WITHOUT_BARRIER) && !keeper.closed()) {
            gates.reset(keeper.ledger().shares());
        } else {
            perform(keeper.recover(world.nowNs()));
        }
    }

    Holder me() {
        return gates.holder();
    }

    SimulatedGates gates() {
        return gates;
    }

    SimulatedRing ring() {
        return ring;
    }

    Bookkeeper keeper() {
        return keeper;
    }

    Ledger ledger() {
        return keeper.ledger();
    }

    /** The ring's neighbours by their broker's number, null elsewhere. */
    Holder[] peers() {
        return peers;
    }

    /** Everybody else that is alive, as the rows say. */
    List<Holder> others() {
        return others;
    }

    List<Holder> neighbours() {
        return neighbours;
    }

    private boolean alive() {
        return host.actors() == this;
    }

    private void later(long afterNs, Runnable task) {
        host.later(this::alive, afterNs, task);
    }

    /** With a fixed delay, so that a pause is not followed by a burst. */
    private void every(long periodNs, Runnable duty) {
        later(periodNs - world.random.nextLong(periodNs / 4), () -> {
            duty.run();
            every(periodNs, duty);
        });
    }

    <T> void call(Supplier<T> operation, Consumer<T> answered, Runnable unknown) {
        world.call(host, this::alive, operation, answered, unknown);
    }

    /** For what will be tried again anyway. */
    <T> void call(Supplier<T> operation) {
        call(operation, answer -> {}, () -> {});
    }

    void command(Supplier<List<Effect>> command) {
        if (keptBack.size() < MOST_KEPT_BACK && !keeper.closed()) {
            keptBack.add(command);
            goOn();
        }
    }

    void burn(TopicName topic) {
        command(() -> {
            List<Effect> effects = keeper.burn(topic);
            burning = !keeper.idle();
            return effects;
        });
    }

    private void goOn() {
        while (keeper.idle() && !keptBack.isEmpty()) {
            perform(keptBack.poll().get());
        }
    }

    private void perform(List<Effect> effects) {
        for (Effect effect : effects) {
            if (world.dies(host, effect)) {
                throw new SupplyBroker.Died();
            }
            perform(effect);
        }
    }

    private void perform(Effect effect) {
        world.note(me(), effect);
        if (effect instanceof Effect.RemoveAtGate e) {
            later(world.chance(0.5) ? 0 : world.random.nextLong(20 * MS), () -> remove(e.wanted()));
        } else if (effect instanceof Effect.AddAtGate e) {
            add(e.more());
        } else if (effect instanceof Effect.ResetGate e) {
            gates.reset(e.all());
        } else if (effect instanceof Effect.CloseGate) {
            host.fenced();
        } else if (effect instanceof Effect.Append e) {
            append(e.sequence(), e.event());
        } else if (effect instanceof Effect.Send e) {
            Holder sender = me();
            world.send(host, e.transfer().id().to().broker(), actors -> actors.onTransfer(e.transfer(), sender));
        } else if (effect instanceof Effect.Acknowledge e) {
            world.send(host, e.to().broker(), actors -> actors.onAcknowledged(e.transfer(), e.to()));
        } else if (effect instanceof Effect.MarkDone e) {
            call(() -> world.store.updateLimit(e.topic(), e.version(), row -> Optional.of(row.finished())));
        }
    }

    private void remove(Map<TopicName, Holding> wanted) {
        Map<TopicName, Holding> removed = new LinkedHashMap<>();
        if (burning && world.course.has(Flaw.BURN_BEFORE_REMOVED)) {
            later(300 * MS, () -> wanted.forEach(gates::remove));
            removed.putAll(wanted);
        } else {
            wanted.forEach((topic, holding) -> removed.put(topic, gates.remove(topic, holding)));
        }
        burning = false;
        perform(keeper.removed(removed));
        goOn();
    }

    private void add(Map<TopicName, Holding> more) {
        if (writing instanceof SupplyEvent.Credited && world.course.has(Flaw.USE_BEFORE_PERSIST)) {
            return;
        }
        boolean full = writing instanceof SupplyEvent.Inherited && world.course.has(Flaw.HEIR_STARTS_FULL);
        more.forEach((topic, holding) -> gates.add(topic, full ? holding.full() : holding));
        if (writing instanceof SupplyEvent.Minted minted && minted.version() == 1) {
            ring.spread(minted.topic());
        }
    }

    private void append(long sequence, SupplyEvent event) {
        writing = event;
        world.checker.invoked(event);
        if (event instanceof SupplyEvent.Credited credited && world.course.has(Flaw.USE_BEFORE_PERSIST)) {
            credited.transfer().holdings().forEach(gates::add);
        }
        call(
                () -> world.append(me(), sequence, event),
                there -> {
                    perform(there.isEmpty() ? keeper.committed() : keeper.met(there.get()));
                    goOn();
                },
                () -> perform(keeper.unknown()));
    }

    private void onTransfer(Transfer transfer, Holder sender) {
        command(() -> keeper.transfer(transfer, sender));
    }

    private void onAcknowledged(Transfer.Id id, Holder to) {
        if (to.equals(me())) {
            command(() -> keeper.acknowledged(id));
        }
    }

    /** For a leaver that "transfers everything, then releases". */
    boolean giveAllToBuddy() {
        if (neighbours.isEmpty()) {
            return false;
        }
        Holder buddy = neighbours.get(0);
        command(() -> keeper.canDebit(buddy) ? keeper.debit(buddy, new LinkedHashMap<>(ledger().shares())) : List.of());
        return true;
    }

    private void renew() {
        if (renewing || gates.closed()) {
            return;
        }
        renewing = true;
        long sentNs = host.localNs();
        call(
                () -> world.store.update(me(), LeaseRow::renew),
                renewed -> {
                    renewing = false;
                    if (renewed) {
                        gates.renewed(sentNs);
                    } else if (!gates.closed()) {
                        host.fenced();
                    }
                },
                () -> renewing = false);
    }

    private void look() {
        if (reading) {
            return;
        }
        reading = true;
        call(
                world::sight,
                sight -> {
                    reading = false;
                    membership(sight.rows());
                    if (!keeper.closed()) {
                        heir.look(sight.rows());
                        closedDestinations(sight);
                        ring.limits(sight.limits());
                    }
                },
                () -> reading = false);
    }

    private void membership(List<LeaseRow> rows) {
        Map<BrokerId, Holder> latest = new LinkedHashMap<>();
        for (LeaseRow row : rows) {
            if (row.state() == LeaseRow.State.LIVE && !row.holder().broker().equals(host.id())) {
                latest.put(row.holder().broker(), row.holder());
            }
        }
        List<Holder> now = List.copyOf(latest.values());
        if (now.equals(others)) {
            return;
        }
        others = now;
        List<BrokerId> members = new ArrayList<>(List.of(host.id()));
        members.addAll(latest.keySet());
        List<BrokerId> near = Ring.of(members).neighbours(host.id());
        neighbours = now.stream().filter(other -> near.contains(other.broker())).toList();
        Arrays.fill(peers, null);
        neighbours.forEach(peer -> peers[world.indexOf(peer.broker())] = peer);
    }

    private void closedDestinations(Sight sight) {
        Set<Holder> destinations = new LinkedHashSet<>();
        for (Transfer transfer : ledger().openTransfers()) {
            destinations.add(transfer.id().to());
        }
        for (LeaseRow row : sight.rows()) {
            if (row.state() != LeaseRow.State.LIVE && destinations.contains(row.holder())) {
                call(
                        () -> world.read(row.holder()),
                        ledger -> command(() -> keeper.destinationClosed(ledger)),
                        () -> {});
            }
        }
    }
}
