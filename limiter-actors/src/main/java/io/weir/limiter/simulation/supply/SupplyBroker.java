package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.StoreView;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * One host: a process with a clock of its own, in it the gates of one incarnation, and actors, which may die and
 * recover while the gates go on.
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

    /** Akka Persistence's circuit breaker. */
    private static final int MOST_JOURNAL_FAILURES = 10;

    private final SupplyWorld world;
    private final int index;
    private final BrokerId id;
    private final long clockOffsetNs;
    private final long clockPpm;
    private final boolean fileLock;
    /** Former incarnations that this host knows to have stopped. */
    private final Set<Holder> stopped = new LinkedHashSet<>();

    private boolean running;
    private int life;
    private long frozenUntilNs;
    /** What it was in the middle of when it froze. */
    private Runnable midway;

    private SimulatedGates gates;
    private StoreView view;
    /** The last of the world's sights that this process was shown: a store's answers do not go back. */
    private long sightNs;

    private SimulatedNode node;
    /** Of its journal plugin: after so many failures in a row nothing is tried for a while. */
    private int journalFailures;

    private long journalShutUntilNs;

    SupplyBroker(SupplyWorld world, int index, BrokerId id) {
        this.world = world;
        this.index = index;
        this.id = id;
        clockOffsetNs = world.random.nextLong(Long.MAX_VALUE) - Long.MAX_VALUE / 2;
        // A hundredth below the bound that the protocol assumes, for the nanosecond by which a clock rounds.
        int most = (int) (SupplyWorld.EPSILON_PPM * 99 / 100);
        clockPpm = world.scenario.fastClocks ? most : world.random.nextInt(2 * most + 1) - most;
        fileLock = world.chance(world.scenario.fileLock);
    }

    /**
     * Whatever this host knows to have stopped may be inherited at once; only then the new process begins its tenure.
     */
    void start() {
        if (running && gates != null) {
            return;
        }
        running = true;
        int begun = ++life;
        Optional<Holder> former = stopped.stream().findFirst();
        if (former.isPresent()) {
            world.call(
                    this,
                    () -> life == begun,
                    () -> world.store.update(former.get(), row -> Optional.of(row.stop())),
                    confirmed -> {
                        stopped.remove(former.get());
                        start();
                    },
                    this::start);
        } else {
            register(begun);
        }
    }

    private void register(int begun) {
        long sentNs = localNs();
        world.call(
                this,
                () -> life == begun,
                () -> world.store.register(id),
                row -> {
                    world.note(row.holder(), "is born");
                    gates = new SimulatedGates(world, this, row.holder());
                    gates.renewed(sentNs);
                    view = world.scenario.storeView();
                    renewLater();
                    begin(new Ledger(row.holder()));
                },
                this::start);
    }

    private void begin(Ledger replayed) {
        node = new SimulatedNode(world, this, gates, replayed, view);
        node.begin();
    }

    /** By the process, not its actors: a broker that was removed from the cluster keeps its lease. */
    private void renewLater() {
        inProcess(SupplyWorld.LEASE_NS / 4, this::renew);
    }

    private void renew() {
        SimulatedGates renewed = gates;
        if (renewed == null || renewed.closed()) {
            return;
        }
        long sentNs = localNs();
        world.call(
                this,
                () -> gates == renewed,
                () -> world.store.update(renewed.holder(), LeaseRow::renew),
                stored -> {
                    if (stored) {
                        renewed.renewed(sentNs);
                        renewLater();
                    } else if (!renewed.closed()) {
                        fenced();
                    }
                },
                this::renewLater);
    }

    /** Dies; the host starts a new process later. */
    void crash(long restartAfterNs) {
        if (running) {
            world.note(holder(), "crashes");
            Holder victim = holder();
            down(fileLock);
            if (victim != null && world.chance(world.scenario.crashSeen)) {
                world.crashSeen(victim);
            }
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
        node = null;
        journalFailures = 0;
        journalShutUntilNs = 0;
    }

    /** The actor system dies and comes back in the same process and incarnation; the gates go on. */
    void actorsCrash(long recoverAfterNs) {
        if (node != null) {
            world.note(holder(), "loses its actors");
            node = null;
            view = world.scenario.storeView();
            inProcess(recoverAfterNs, this::recover);
        }
    }

    /** What became of a write is not known, or the number was taken. */
    void nodeEnded() {
        world.note(holder(), "does not know what became of a write");
        node = null;
        inProcess(SupplyWorld.TIMES.recoveryNs(), this::recover);
    }

    private void recover() {
        if (node != null || gates == null) {
            return;
        }
        SimulatedGates recovered = gates;
        journal(
                () -> gates == recovered && node == null,
                () -> world.replay(holder(), world.store.journalSize(holder())),
                ledger -> {
                    world.note(holder(), "recovers at", ledger.sequence());
                    gates.cancelRequests();
                    begin(ledger);
                },
                () -> inProcess(SupplyWorld.TIMES.recoveryNs(), this::recover));
    }

    /** A call of the journal plugin: while its circuit breaker is open it fails at once. */
    <T> void journal(BooleanSupplier current, Supplier<T> operation, Consumer<T> answered, Runnable failed) {
        if (journalShutUntilNs > world.nowNs()) {
            later(current, MS, failed);
            return;
        }
        world.call(
                this,
                current,
                operation,
                answer -> {
                    journalFailures = 0;
                    answered.accept(answer);
                },
                () -> {
                    if (++journalFailures >= MOST_JOURNAL_FAILURES) {
                        // Half open after that: the next failure shuts it again.
                        journalFailures = MOST_JOURNAL_FAILURES - 1;
                        journalShutUntilNs = world.nowNs() + SupplyWorld.breakerNs(world.scenario);
                    }
                    failed.run();
                });
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
            if (node != null) {
                leaveNow();
            }
        });
    }

    private void leaveNow() {
        world.note(holder(), "leaves");
        if (!world.scenario.has(Flaw.LEAVE_BY_TRANSFER)) {
            gates.close();
            release(row -> Optional.of(row.stop()));
        } else if (node.giveAllToBuddy()) {
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

    /** Whether it may still be shown what was there at that time. */
    boolean sees(long atNs) {
        boolean newer = atNs >= sightNs;
        sightNs = Math.max(sightNs, atNs);
        return newer;
    }

    boolean up() {
        return running && gates != null;
    }

    /** Whether there is a process that may not know its incarnation yet, though the store does. */
    boolean starting() {
        return running && gates == null;
    }

    /** Whether a process of this incarnation may still admit. */
    boolean runs(Holder holder) {
        return up() && holder().equals(holder);
    }

    Holder holder() {
        return gates == null ? null : gates.holder();
    }

    SimulatedGates gates() {
        return gates;
    }

    SimulatedNode node() {
        return node;
    }

    BrokerId id() {
        return id;
    }

    int index() {
        return index;
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
    void receive(Consumer<SimulatedNode> message) {
        whenAwake(() -> node != null, () -> message.accept(node));
    }
}
