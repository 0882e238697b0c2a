package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.supply.algorithm.Account;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.limiter.supply.algorithm.Ledger;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One host: a process with a clock of its own, in it the gates of one incarnation, and actors, which may die and recover while
 * the gates go on.
 */
final class SupplyBroker {
    private static final long MS = SupplyWorld.MS;

    /** Ends whatever a process, or its actors, were doing when they died. */
    static final class Died extends RuntimeException {
        private static final long serialVersionUID = 1;

        Died() {
            super(null, null, false, false);
        }
    }

    private final SupplyWorld world;
    private final int index;
    private final BrokerId id;
    private final long clockOffsetNs;
    private final long clockPpm;
    private final boolean fileLock;
    /** Former incarnations that this host knows to have stopped. */
    private final Set<Holder> stopped = new LinkedHashSet<>();

    private int[] ranks;
    private boolean running;
    private int life;
    private long frozenUntilNs;
    /** What it was in the middle of when it froze. */
    private Runnable midway;

    private SimulatedGates gates;
    private SupplyActors actors;

    SupplyBroker(SupplyWorld world, int index, BrokerId id) {
        this.world = world;
        this.index = index;
        this.id = id;
        clockOffsetNs = world.random.nextLong(Long.MAX_VALUE) - Long.MAX_VALUE / 2;
        // A hundredth below the bound that the protocol assumes, for the nanosecond by which a clock rounds.
        int most = (int) (SupplyWorld.EPSILON_PPM * 99 / 100);
        clockPpm = world.course.fastClocks ? most : world.random.nextInt(2 * most + 1) - most;
        fileLock = world.chance(world.course.fileLock);
    }

    void start() {
        if (running && gates != null) {
            return;
        }
        running = true;
        int begun = ++life;
        long sentNs = localNs();
        world.call(
                this,
                () -> life == begun,
                () -> world.store.register(id),
                row -> {
                    world.note(row.holder(), "is born");
                    gates = new SimulatedGates(world, this, row.holder());
                    gates.renewed(sentNs);
                    actors = new SupplyActors(world, this, gates, new Ledger(row.holder()));
                },
                this::start);
    }

    /** Dies; the host starts a new process later. */
    void crash(long restartAfterNs) {
        if (running) {
            world.note(holder(), "crashes");
            down(fileLock);
            startAfter(restartAfterNs);
        }
    }

    private void startAfter(long afterNs) {
        world.plan(afterNs, () -> {
            if (!running) {
                start();
            }
        });
    }

    private void down(boolean known) {
        if (known && gates != null) {
            stopped.add(gates.holder());
        }
        running = false;
        life++;
        frozenUntilNs = 0;
        midway = null;
        gates = null;
        actors = null;
    }

    /** The actors die and recover in the same process and incarnation; the gates go on. */
    void actorsCrash(long recoverAfterNs) {
        if (actors != null) {
            world.note(holder(), "loses its actors");
            actors = null;
            inProcess(recoverAfterNs, this::recover);
        }
    }

    private void recover() {
        if (actors != null || gates == null) {
            return;
        }
        SimulatedGates recovered = gates;
        world.call(
                this,
                () -> gates == recovered && actors == null,
                () -> world.replay(holder(), world.store.journalSize(holder())),
                ledger -> {
                    world.note(holder(), "recovers at", ledger.sequence());
                    gates.cancelRequests();
                    actors = new SupplyActors(world, this, gates, ledger);
                    actors.recover();
                },
                () -> inProcess(0, this::recover));
    }

    void freeze(long durationNs) {
        if (running) {
            frozenUntilNs = Math.max(frozenUntilNs, world.nowNs() + durationNs);
        }
    }

    /** Stands still in the middle of something, which goes on before anything else does. */
    void freeze(long durationNs, Runnable rest) {
        freeze(durationNs);
        midway = rest;
        inProcess(frozenUntilNs - world.nowNs(), () -> {});
    }

    /** Everything heals. */
    void comeBack() {
        if (!running) {
            start();
        } else {
            recover();
        }
    }

    /** Self-fencing: close the gate, then FENCED and STOPPED at once; the buddy inherits. */
    void leave() {
        inProcess(0, () -> {
            if (actors != null) {
                leaveNow();
            }
        });
    }

    private void leaveNow() {
        world.note(holder(), "leaves");
        if (!world.course.has(Flaw.LEAVE_BY_TRANSFER)) {
            gates.close();
            release(row -> Optional.of(row.stop()));
        } else if (actors.giveAllToBuddy()) {
            inProcess(200 * MS, () -> {
                gates.close();
                release(row -> Optional.of(row.stop().done(Account.LEASED).done(Account.KEPT)));
            });
        }
    }

    /** By the process, not its actors: a leaver that is closed but never says so would hold its share for ever. */
    private void release(Function<LeaseRow, Optional<LeaseRow>> change) {
        SimulatedGates closed = gates;
        world.call(
                this,
                () -> gates == closed,
                () -> world.store.update(closed.holder(), change),
                done -> {
                    down(true);
                    startAfter(world.random.nextLong(2 * SupplyWorld.PATIENCE_NS));
                },
                () -> release(change));
    }

    /** Fenced, but alive: close the gate, and come back as a new incarnation that confirms the stop. */
    void fenced() {
        world.note(holder(), "is fenced");
        gates.close();
        down(true);
        startAfter(MS);
        throw new Died();
    }

    boolean up() {
        return running && gates != null;
    }

    /** Whether a process of this incarnation may still admit. */
    boolean runs(Holder holder) {
        return up() && holder().equals(holder);
    }

    /** Whether the host can prove that this former incarnation of its broker has stopped. */
    boolean provesStopped(Holder former) {
        return former.broker().equals(id) && !former.equals(holder()) && (fileLock || stopped.contains(former));
    }

    Holder holder() {
        return gates == null ? null : gates.holder();
    }

    SimulatedGates gates() {
        return gates;
    }

    SupplyActors actors() {
        return actors;
    }

    BrokerId id() {
        return id;
    }

    int index() {
        return index;
    }

    /** This broker's place among the heirs of another: 0 is the best buddy. */
    int rankAfter(BrokerId victim) {
        if (ranks == null) {
            List<BrokerId> all = new ArrayList<>();
            for (SupplyBroker broker : world.brokers) {
                all.add(broker.id);
            }
            Ring ring = Ring.of(all);
            ranks = new int[all.size()];
            for (int i = 0; i < ranks.length; i++) {
                int rank = ring.heirs(all.get(i)).indexOf(id);
                ranks[i] = rank < 0 ? ranks.length : rank;
            }
        }
        return ranks[world.indexOf(victim)];
    }

    long localNs() {
        return clockOffsetNs + world.nowNs() + Math.floorDiv(world.nowNs() * clockPpm, 1_000_000L);
    }

    /** For this process, and not while it stands still. */
    void inProcess(long afterNs, Runnable task) {
        int planned = life;
        world.plan(afterNs, () -> whenAwake(() -> life == planned, task));
    }

    void later(BooleanSupplier current, long afterNs, Runnable task) {
        world.plan(afterNs, () -> whenAwake(current, task));
    }

    private void whenAwake(BooleanSupplier current, Runnable task) {
        if (!running || !current.getAsBoolean()) {
            return;
        }
        if (frozenUntilNs > world.nowNs()) {
            world.plan(frozenUntilNs - world.nowNs(), () -> whenAwake(current, task));
        } else {
            try {
                if (midway == null) {
                    task.run();
                } else {
                    Runnable first = midway;
                    midway = null;
                    first.run();
                    whenAwake(current, task);
                }
            } catch (Died died) {
                world.note(id, "goes no further");
            }
        }
    }

    /** From the network, for whatever incarnation is there now. */
    void receive(Consumer<SupplyActors> message) {
        whenAwake(() -> actors != null, () -> message.accept(actors));
    }
}
