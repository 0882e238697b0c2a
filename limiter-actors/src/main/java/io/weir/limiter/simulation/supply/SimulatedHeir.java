package io.weir.limiter.simulation.supply;

import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Inheritance;
import io.weir.limiter.supply.algorithm.Inheritance.Step;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import io.weir.limiter.supply.algorithm.Watch;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Watches the others, fences who is silent, and inherits. It works on each victim apart: one that waits for another heir
 * must not keep that heir's own inheritance waiting.
 */
final class SimulatedHeir {
    private static final int MOST_STEPS = 8;

    private record Read(LeaseRow row, Ledger ledger) {}

    private final SupplyWorld world;
    private final SupplyBroker host;
    private final SupplyActors actors;
    private final Watch watch;
    private final Set<Holder> workingOn = new HashSet<>();

    SimulatedHeir(SupplyWorld world, SupplyBroker host, SupplyActors actors) {
        this.world = world;
        this.host = host;
        this.actors = actors;
        boolean early = world.course.has(Flaw.EARLY_CLAIM);
        watch = new Watch(early ? SupplyWorld.LEASE_NS / 4 : SupplyWorld.PATIENCE_NS, SupplyWorld.LEASE_NS / 4);
    }

    void look(List<LeaseRow> read) {
        List<LeaseRow> rows = read.stream().map(this::forged).toList();
        watch.read(rows, host.localNs());
        for (LeaseRow row : rows) {
            if (row.state() != LeaseRow.State.STOPPED && host.provesStopped(row.holder())) {
                actors.call(() -> world.store.update(row.holder(), stored -> Optional.of(stored.stop())));
            }
            if (!row.holder().equals(actors.me())) {
                lookAt(row);
            }
        }
    }

    /** The best buddy at once, the others after it one by one. */
    private void lookAt(LeaseRow row) {
        long courtesyNs = host.rankAfter(row.holder().broker()) * SupplyWorld.LEASE_NS / 5;
        if (watch.expired(row, courtesyNs, host.localNs())) {
            if (world.faulty() && world.chance(world.course.lateFence)) {
                world.plan(world.random.nextLong(SupplyWorld.PATIENCE_NS), () -> fence(row));
            } else {
                actors.call(() -> fence(row));
            }
        } else if (watch.waiting(row, courtesyNs, host.localNs()) && workingOn.add(row.holder())) {
            goOn(row.holder(), Optional.empty(), MOST_STEPS);
        }
    }

    private boolean fence(LeaseRow seen) {
        boolean blind = world.course.has(Flaw.FENCE_UNCONDITIONALLY);
        boolean fenced = world.store.update(seen.holder(), row -> row.fence(blind ? row.renewSeq() : seen.renewSeq()));
        world.note("store", seen.holder(), fenced ? "is fenced" : "is not fenced");
        return fenced;
    }

    private LeaseRow forged(LeaseRow row) {
        return world.course.has(Flaw.KEPT_ON_FENCE) && row.state() == LeaseRow.State.FENCED ? row.stop() : row;
    }

    private void goOn(Holder victim, Optional<Ledger> heir, int steps) {
        if (steps == 0) {
            workingOn.remove(victim);
            return;
        }
        actors.call(
                () -> new Read(world.store.row(victim), world.read(victim)),
                read -> carryOut(
                        Inheritance.next(forged(read.row), read.ledger, actors.ledger(), heir), read.ledger, steps),
                () -> workingOn.remove(victim));
    }

    private void carryOut(Step step, Ledger victim, int steps) {
        Holder holder = victim.holder();
        Holder me = actors.me();
        world.note(me, step, holder);
        Runnable giveUp = () -> workingOn.remove(holder);
        Consumer<Object> again = done -> goOn(holder, Optional.empty(), steps - 1);
        if (step instanceof Step.CloseJournal e) {
            actors.call(() -> world.append(holder, e.sequence(), new SupplyEvent.Fenced(me)), again::accept, giveUp);
        } else if (step instanceof Step.Claim e) {
            boolean blind = world.course.has(Flaw.NO_BENEFICIARY_CAS);
            actors.call(
                    () -> world.store.update(holder, row -> forged(row)
                            .claim(e.account(), blind ? row.of(e.account()).heir() : e.expected(), me)),
                    claimed -> {
                        if (blind) {
                            actors.command(() -> actors.keeper().inherit(victim, e.account()));
                        }
                        again.accept(claimed);
                    },
                    giveUp);
        } else if (step instanceof Step.Inherit e) {
            actors.command(() -> actors.keeper().inherit(victim, e.account()));
            workingOn.remove(holder);
        } else if (step instanceof Step.MarkDone e) {
            actors.call(
                    () -> world.store.update(holder, row -> Optional.of(row.done(e.account()))), again::accept, giveUp);
        } else if (step instanceof Step.ReadHeir e) {
            actors.call(() -> world.read(e.heir()), ledger -> goOn(holder, Optional.of(ledger), steps - 1), giveUp);
        } else {
            workingOn.remove(holder);
        }
    }
}
