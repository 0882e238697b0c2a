package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.simulation.supply.SupplyWorld.Sight;
import io.weir.limiter.supply.algorithm.Account;
import io.weir.limiter.supply.algorithm.Bookkeeper;
import io.weir.limiter.supply.algorithm.Debt;
import io.weir.limiter.supply.algorithm.Effect;
import io.weir.limiter.supply.algorithm.Gate;
import io.weir.limiter.supply.algorithm.Gate.Verdict;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Holding;
import io.weir.limiter.supply.algorithm.Inheritance;
import io.weir.limiter.supply.algorithm.Inheritance.Step;
import io.weir.limiter.supply.algorithm.Lease;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.Lending;
import io.weir.limiter.supply.algorithm.LimitRow;
import io.weir.limiter.supply.algorithm.Supply;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import io.weir.limiter.supply.algorithm.Transfer;
import io.weir.limiter.supply.algorithm.Watch;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * One broker host: a process with gates and a clock of its own, and in it the actors, which may die and recover without it.
 * Wires the protocol's classes as production does; what it leaves out on purpose is a {@link Flaw}.
 */
final class SupplyBroker {
    private static final long MS = SupplyWorld.MS;
    private static final int MOST_KEPT_BACK = 64;

    private final SupplyWorld world;
    private final int index;
    private final BrokerId id;
    private final long clockOffsetNs;
    private final long clockPpb;
    private final boolean fileLock;
    private final long[] demandMicros;
    private final Set<Holder> stopped = new LinkedHashSet<>();

    private boolean running;
    private boolean gone;
    private int life;
    private int actorLife;
    private long frozenUntilNs;

    private Holder me;
    private Lease lease;
    private Lease gateLease;
    private Gate[] gates;
    private Lending[] lendings;
    private double[] waiting;
    private long[] lastLoadNs;

    private Bookkeeper keeper;
    private Watch watch;
    private Sight sight;
    private final ArrayDeque<Supplier<List<Effect>>> keptBack = new ArrayDeque<>();
    private SupplyEvent writing;
    private boolean burning;
    private boolean renewing;
    private boolean reading;
    private final Set<Holder> workingOn = new HashSet<>();

    SupplyBroker(SupplyWorld world, int index, BrokerId id) {
        this.world = world;
        this.index = index;
        this.id = id;
        clockOffsetNs = world.random.nextLong(Long.MAX_VALUE) - Long.MAX_VALUE / 2;
        long most = SupplyWorld.EPSILON_PPM * 990;
        clockPpb = world.course.fastClocks ? most : world.random.nextLong(2 * most + 1) - most;
        fileLock = world.chance(world.course.fileLock);
        demandMicros = new long[world.course.topics];
        anyDemand();
    }

    // The process.

    void start() {
        if (gone) {
            return;
        }
        running = true;
        life++;
        actorLife++;
        long sentNs = localNs();
        world.call(this, () -> world.store.register(id), row -> born(row.holder(), sentNs), this::start);
    }

    private void born(Holder holder, long sentNs) {
        long now = localNs();
        me = holder;
        world.note(me, "is born");
        lease = new Lease(SupplyWorld.LEASE_NS);
        gateLease = world.course.has(Flaw.NO_LEASE_CHECK) ? new Lease(1L << 60) : lease;
        gates = new Gate[world.course.topics];
        lendings = new Lending[gates.length];
        waiting = new double[gates.length];
        lastLoadNs = new long[gates.length];
        for (int topic = 0; topic < gates.length; topic++) {
            gates[topic] = new Gate(gateLease, world.course.has(Flaw.NO_DEFLATION) ? 0 : SupplyWorld.EPSILON_PPM, now);
            lendings[topic] = new FlawedLending(world.course, me, gates[topic], world.brokers.length, 100 * MS, now);
            lastLoadNs[topic] = world.nowNs();
            int loaded = topic;
            inProcess(world.random.nextLong(20 * MS), () -> load(loaded));
        }
        keeper = new FlawedBookkeeper(world.course, new Ledger(me));
        renewed(sentNs);
        actorsUp();
    }

    private void renewed(long sentNs) {
        lease.renewed(sentNs);
        gateLease.renewed(sentNs);
        world.checker.renewed(me, sentNs + SupplyWorld.LEASE_NS);
    }

    private void actorsUp() {
        keptBack.clear();
        renewing = false;
        reading = false;
        burning = false;
        workingOn.clear();
        sight = null;
        watch = new Watch(
                world.course.has(Flaw.EARLY_CLAIM) ? SupplyWorld.LEASE_NS / 4 : SupplyWorld.PATIENCE_NS,
                SupplyWorld.LEASE_NS / 4);
        every(SupplyWorld.LEASE_NS / 4, this::renew);
        every(SupplyWorld.LEASE_NS / 10, this::look);
        every(250 * MS, this::round);
        every(200 * MS, () -> perform(keeper.resend()));
    }

    /** Dies; the host starts a new process later. */
    void crash(long restartAfterNs) {
        if (!running) {
            return;
        }
        world.note(me, "crashes");
        down();
        world.plan(restartAfterNs, () -> {
            if (!running) {
                start();
            }
        });
    }

    private void down() {
        running = false;
        life++;
        actorLife++;
        frozenUntilNs = 0;
        if (me != null && fileLock) {
            stopped.add(me);
        }
        me = null;
        keeper = null;
    }

    /** The actors die and recover in the same process and incarnation; the gates go on. */
    void actorsCrash(long recoverAfterNs) {
        if (!up() || keeper == null) {
            return;
        }
        world.note(me, "loses its actors");
        actorLife++;
        keeper = null;
        inProcess(recoverAfterNs, this::recover);
    }

    private void recover() {
        if (keeper != null || me == null) {
            return;
        }
        Holder holder = me;
        actorLife++;
        world.call(
                this,
                () -> replay(holder, world.store.journalSize(holder)),
                ledger -> {
                    world.note(me, "recovers at", ledger.sequence());
                    keeper = new FlawedBookkeeper(world.course, ledger);
                    for (Lending lending : lendings) {
                        lending.cancel(localNs());
                    }
                    actorsUp();
                    if (world.course.has(Flaw.RECOVER_WITHOUT_BARRIER) && !ledger.closed()) {
                        perform(new Effect.ResetGate(ledger.shares()));
                    } else {
                        perform(keeper.recover(actorLife));
                    }
                },
                this::recover);
    }

    void freeze(long durationNs) {
        if (running) {
            frozenUntilNs = Math.max(frozenUntilNs, world.nowNs() + durationNs);
        }
    }

    /** Everything heals. */
    void comeBack() {
        if (!running) {
            start();
        } else if (me != null && keeper == null) {
            recover();
        }
    }

    void leave() {
        if (!up() || keeper == null) {
            return;
        }
        world.note(me, "leaves");
        if (world.course.has(Flaw.LEAVE_BY_TRANSFER)) {
            leaveByTransfer();
            return;
        }
        closeGate();
        release(row -> Optional.of(row.stop()));
    }

    private void release(Function<LeaseRow, Optional<LeaseRow>> change) {
        Holder leaver = me;
        world.call(
                this,
                () -> world.store.update(leaver, change),
                done -> {
                    down();
                    world.plan(world.random.nextLong(2 * SupplyWorld.PATIENCE_NS), () -> {
                        if (!running) {
                            start();
                        }
                    });
                },
                () -> release(change));
    }

    private void leaveByTransfer() {
        Optional<Holder> heir = neighbours().stream().findFirst();
        if (heir.isEmpty() || !keeper.canDebit(heir.get())) {
            return;
        }
        command(() -> keeper.canDebit(heir.get())
                ? keeper.debit(heir.get(), new LinkedHashMap<>(keeper.ledger().shares()))
                : List.of());
        later(200 * MS, () -> {
            closeGate();
            release(row -> Optional.of(row.stop().done(Account.LEASED).done(Account.KEPT)));
        });
    }

    private void closeGate() {
        lease.close();
        gateLease.close();
        stopped.add(me);
    }

    /** Fenced, but alive: close the gate, and come back as a new incarnation that confirms the stop. */
    private void fenced() {
        world.note(me, "is fenced");
        closeGate();
        life++;
        actorLife++;
        me = null;
        keeper = null;
        world.plan(MS, () -> {
            if (running && me == null) {
                start();
            }
        });
        throw new Died();
    }

    boolean up() {
        return running && me != null;
    }

    /** Whether a process of this incarnation may still admit. */
    boolean runs(Holder holder) {
        return up() && me.equals(holder);
    }

    Holder holder() {
        return me;
    }

    int actorLife() {
        return actorLife;
    }

    int index() {
        return index;
    }

    Map<TopicName, Holding> gates() {
        Map<TopicName, Holding> all = new LinkedHashMap<>();
        for (int topic = 0; topic < gates.length; topic++) {
            all.put(world.topics.get(topic), gates[topic].held(localNs()));
        }
        return all;
    }

    void anyDemand() {
        for (int topic = 0; topic < demandMicros.length; topic++) {
            demandMicros[topic] = world.course.rate * Limit.MICROS * world.random.nextInt(4);
        }
    }

    private long localNs() {
        long now = world.nowNs();
        return clockOffsetNs + now + Math.floorDiv(now * (clockPpb / 1_000), 1_000_000L);
    }

    // Tasks of the process, of the actors, and what comes over the network: none while it stands still.

    private void inProcess(long afterNs, Runnable task) {
        int planned = life;
        world.plan(afterNs, () -> whenAwake(() -> life == planned, task));
    }

    void later(long afterNs, Runnable task) {
        later(actorLife, afterNs, task);
    }

    /** In the life in which an answer was asked for, or not at all. */
    void later(int planned, long afterNs, Runnable task) {
        world.plan(afterNs, () -> whenAwake(() -> actorLife == planned, task));
    }

    private void whenAwake(BooleanSupplier current, Runnable task) {
        if (!running || !current.getAsBoolean()) {
            return;
        }
        if (frozenUntilNs > world.nowNs()) {
            world.plan(frozenUntilNs - world.nowNs(), () -> whenAwake(current, task));
        } else {
            try {
                task.run();
            } catch (Died died) {
                world.note(id, "goes no further");
            }
        }
    }

    /** Ends whatever the process, or its actors, were doing when they died. */
    private static final class Died extends RuntimeException {
        private static final long serialVersionUID = 1;

        Died() {
            super(null, null, false, false);
        }
    }

    /** With a fixed delay, so that a pause is not followed by a burst. */
    private void every(long periodNs, Runnable duty) {
        later(periodNs - world.random.nextLong(periodNs / 4), () -> {
            duty.run();
            every(periodNs, duty);
        });
    }

    void receive(Consumer<SupplyBroker> message) {
        whenAwake(() -> me != null && keeper != null, () -> {
            if (me != null && keeper != null) {
                message.accept(this);
            }
        });
    }

    // The gate and its load.

    private void load(int topic) {
        double dt = (world.nowNs() - lastLoadNs[topic]) * 1e-9;
        lastLoadNs[topic] = world.nowNs();
        double rate = world.saturated() ? 2.0 * world.course.rate * 2 : demandMicros[topic] / (double) Limit.MICROS;
        double most = Math.max(2, rate);
        waiting[topic] = world.saturated() ? most : Math.min(most, waiting[topic] + rate * dt);
        long nextNs = 50 * MS;
        while (waiting[topic] >= 1) {
            long now = localNs();
            Verdict taken = gates[topic].take(1, now);
            if (taken == Verdict.REFUSED) {
                nextNs = Math.min(nextNs, Math.max(MS / 2, gates[topic].retryAfterNs(1, now)));
                break;
            }
            waiting[topic]--;
            long stampNs = world.nowNs();
            if (world.faulty() && world.chance(world.course.gatePause)) {
                freeze(world.random.nextLong(2 * SupplyWorld.PATIENCE_NS));
                inProcess(0, () -> {
                    confirm(topic, taken, world.course.has(Flaw.STAMP_AT_CONFIRM) ? world.nowNs() : stampNs);
                    load(topic);
                });
                return;
            }
            confirm(topic, taken, stampNs);
        }
        if (world.course.borrowing && keeper != null) {
            borrow(topic);
        }
        inProcess(nextNs, () -> load(topic));
    }

    private void confirm(int topic, Verdict taken, long stampNs) {
        long now = localNs();
        if (gates[topic].confirm(taken, now) != Verdict.REFUSED) {
            world.checker.admitted(me, world.topics.get(topic), taken, stampNs, now);
        }
    }

    private void borrow(int topic) {
        Holder[] peers = new Holder[world.brokers.length];
        neighbours().forEach(peer -> peers[world.indexOf(peer.broker())] = peer);
        long waitingMicros = (long) (waiting[topic] * Limit.MICROS);
        lendings[topic]
                .ask(peers, waitingMicros, localNs())
                .ifPresent(request -> world.send(
                        this, request.to().broker(), receiver -> receiver.onBorrowRequest(topic, request, index)));
    }

    private void onBorrowRequest(int topic, Lending.Request request, int slot) {
        long waitingMicros = (long) (waiting[topic] * Limit.MICROS);
        lendings[topic].onRequest(slot, request, waitingMicros, localNs()).ifPresent(reply -> {
            world.checker.tokens(me, world.topics.get(topic), -reply.body().givenMicros());
            world.send(this, reply.to().broker(), receiver -> receiver.onBorrowReply(topic, reply, index));
        });
    }

    private void onBorrowReply(int topic, Lending.Reply reply, int slot) {
        long added = lendings[topic].onReply(slot, reply, localNs());
        world.checker.tokens(me, world.topics.get(topic), added);
    }

    private void addAtGate(TopicName name, Holding more) {
        int topic = world.topics.indexOf(name);
        gates[topic].add(more, localNs());
        Holding held = gates[topic].held(localNs());
        world.checker.gate(me, name, more.leased().plus(more.kept()), 1, held);
    }

    private Holding removeAtGate(TopicName name, Holding wanted) {
        int topic = world.topics.indexOf(name);
        Holding removed = gates[topic].remove(wanted, localNs());
        Supply both = removed.leased().plus(removed.kept());
        if (world.course.has(Flaw.LEVEL_NOT_DEBITED)) {
            Holding rest = gates[topic].held(localNs());
            gates[topic].remove(rest, localNs());
            gates[topic].add(
                    new Holding(refilled(rest.leased(), removed.leased()), refilled(rest.kept(), removed.kept())),
                    localNs());
        }
        world.checker.gate(me, name, both, -1, gates[topic].held(localNs()));
        return removed;
    }

    private static Supply refilled(Supply rest, Supply removed) {
        return new Supply(
                rest.rateMicros(),
                rest.burstMicros(),
                Math.min(rest.burstMicros(), rest.levelMicros() + removed.levelMicros()));
    }

    // The ledger.

    private void command(Supplier<List<Effect>> command) {
        if (keptBack.size() < MOST_KEPT_BACK) {
            keptBack.add(command);
            goOn();
        }
    }

    private void goOn() {
        while (keeper != null && keeper.idle() && !keptBack.isEmpty()) {
            perform(keptBack.poll().get());
        }
    }

    private void perform(List<Effect> effects) {
        for (Effect effect : effects) {
            if (world.dies(this, effect)) {
                throw new Died();
            }
            perform(effect);
        }
    }

    private void perform(Effect effect) {
        world.note(me, effect);
        if (effect instanceof Effect.RemoveAtGate e) {
            later(world.chance(0.5) ? 0 : world.random.nextLong(20 * MS), () -> remove(e.wanted()));
        } else if (effect instanceof Effect.AddAtGate e) {
            add(e.more());
        } else if (effect instanceof Effect.ResetGate e) {
            reset(e.all());
        } else if (effect instanceof Effect.CloseGate) {
            fenced();
        } else if (effect instanceof Effect.Append e) {
            append(e.sequence(), e.event());
        } else if (effect instanceof Effect.Send e) {
            Holder sender = me;
            world.send(this, e.transfer().id().to().broker(), receiver -> receiver.onTransfer(e.transfer(), sender));
        } else if (effect instanceof Effect.Acknowledge e) {
            world.send(this, e.to().broker(), receiver -> receiver.onAcknowledged(e.transfer(), e.to()));
        } else if (effect instanceof Effect.MarkDone e) {
            world.call(
                    this,
                    () -> world.store.updateLimit(e.topic(), e.version(), row -> Optional.of(row.finished())),
                    done -> {},
                    () -> {});
        }
    }

    private void remove(Map<TopicName, Holding> wanted) {
        Map<TopicName, Holding> removed = new LinkedHashMap<>();
        if (burning && world.course.has(Flaw.BURN_BEFORE_REMOVED)) {
            later(300 * MS, () -> wanted.forEach(this::removeAtGate));
            removed.putAll(wanted);
        } else {
            wanted.forEach((topic, holding) -> removed.put(topic, removeAtGate(topic, holding)));
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
        more.forEach((topic, holding) -> addAtGate(topic, full ? holding.full() : holding));
        if (writing instanceof SupplyEvent.Minted minted && minted.version() == 1) {
            spread(minted.topic());
        }
    }

    private void reset(Map<TopicName, Holding> all) {
        for (int topic = 0; topic < gates.length; topic++) {
            TopicName name = world.topics.get(topic);
            removeAtGate(name, gates[topic].held(localNs()));
            addAtGate(name, all.getOrDefault(name, Holding.NONE).empty());
        }
    }

    private void append(long sequence, SupplyEvent event) {
        writing = event;
        world.checker.invoked(event);
        if (event instanceof SupplyEvent.Credited credited && world.course.has(Flaw.USE_BEFORE_PERSIST)) {
            credited.transfer().holdings().forEach(this::addAtGate);
        }
        Holder holder = me;
        world.call(
                this,
                () -> {
                    Optional<SupplyEvent> there = world.store.append(holder, sequence, event);
                    world.note("store", holder, sequence, there.isEmpty() ? "appends" : "has", there.orElse(event));
                    if (there.isEmpty()) {
                        world.backed(holder);
                    }
                    return there;
                },
                there -> {
                    perform(there.isEmpty() ? keeper.committed() : keeper.met(there.get()));
                    goOn();
                },
                () -> perform(keeper.unknown()));
    }

    /** C5 again when the journal changes under the gate. */
    void backed(Holder holder) {
        if (up() && me.equals(holder)) {
            gates().forEach((topic, held) -> world.checker.backed(holder, topic, held));
        }
    }

    private void onTransfer(Transfer transfer, Holder sender) {
        command(() -> keeper.transfer(transfer, sender));
    }

    private void onAcknowledged(Transfer.Id id, Holder to) {
        if (to.equals(me)) {
            command(() -> keeper.acknowledged(id));
        }
    }

    // What is done every now and then.

    private void renew() {
        if (renewing) {
            return;
        }
        renewing = true;
        long sentNs = localNs();
        Holder holder = me;
        world.call(
                this,
                () -> world.store.update(holder, LeaseRow::renew),
                renewed -> {
                    renewing = false;
                    if (renewed) {
                        renewed(sentNs);
                    } else if (!lease.closed()) {
                        fenced();
                    }
                },
                () -> renewing = false);
    }

    private void look() {
        if (reading) {
            return;
        }
        reading = true;
        world.call(
                this,
                world::sight,
                seen -> {
                    reading = false;
                    sight = seen;
                    watch.read(seen.rows(), localNs());
                    confirmStops();
                    seen.rows().forEach(this::lookAt);
                    if (keeper != null && !keeper.closed()) {
                        closedDestinations();
                        limits();
                    }
                },
                () -> reading = false);
    }

    /** A host's file lock, or its own memory, proves its former incarnations stopped. */
    private void confirmStops() {
        for (LeaseRow row : sight.rows()) {
            boolean mine = row.holder().broker().equals(id) && !row.holder().equals(me);
            if (mine && row.state() != LeaseRow.State.STOPPED && (fileLock || stopped.contains(row.holder()))) {
                world.call(
                        this,
                        () -> world.store.update(row.holder(), stored -> Optional.of(stored.stop())),
                        done -> {},
                        () -> {});
            }
        }
    }

    private void lookAt(LeaseRow row) {
        if (row.holder().equals(me) || keeper == null || keeper.closed()) {
            return;
        }
        long courtesyNs = rank(row.holder()) * SupplyWorld.LEASE_NS / 5;
        if (watch.expired(row, courtesyNs, localNs())) {
            world.call(
                    this,
                    () -> {
                        boolean fenced = world.store.update(row.holder(), stored -> stored.fence(row.renewSeq()));
                        world.note("fence", row.holder(), fenced);
                        return fenced;
                    },
                    fenced -> {},
                    () -> {});
        } else if (watch.waiting(row, courtesyNs, localNs()) && workingOn.add(row.holder())) {
            inherit(row.holder(), Optional.empty(), 8);
        }
    }

    /** The ring's order after the victim; whoever is not on it comes last. */
    private int rank(Holder victim) {
        List<BrokerId> heirs = Ring.of(allBrokers()).heirs(victim.broker());
        int rank = heirs.indexOf(id);
        return rank < 0 ? heirs.size() : rank;
    }

    private List<BrokerId> allBrokers() {
        List<BrokerId> all = new ArrayList<>();
        for (SupplyBroker broker : world.brokers) {
            all.add(broker.id);
        }
        return all;
    }

    private void inherit(Holder victim, Optional<Ledger> heir, int steps) {
        if (steps == 0) {
            workingOn.remove(victim);
            return;
        }
        record Read(LeaseRow row, Ledger ledger) {}
        world.call(
                this,
                () -> new Read(world.store.row(victim), read(victim)),
                read -> {
                    LeaseRow row = world.course.has(Flaw.KEPT_ON_FENCE) && read.row.state() == LeaseRow.State.FENCED
                            ? read.row.stop()
                            : read.row;
                    carryOut(Inheritance.next(row, read.ledger, keeper.ledger(), heir), read.ledger, steps);
                },
                () -> workingOn.remove(victim));
    }

    private void carryOut(Step step, Ledger victim, int steps) {
        Holder holder = victim.holder();
        world.note(me, step, holder);
        Runnable giveUp = () -> workingOn.remove(holder);
        Consumer<Boolean> again = done -> inherit(holder, Optional.empty(), steps - 1);
        if (step instanceof Step.CloseJournal e) {
            Holder by = me;
            world.call(
                    this,
                    () -> world.store
                            .append(holder, e.sequence(), new SupplyEvent.Fenced(by))
                            .isEmpty(),
                    again,
                    giveUp);
        } else if (step instanceof Step.Claim e) {
            Holder by = me;
            boolean blind = world.course.has(Flaw.NO_BENEFICIARY_CAS);
            boolean forced = world.course.has(Flaw.KEPT_ON_FENCE);
            world.call(
                    this,
                    () -> world.store.update(holder, row -> (forced ? row.stop() : row)
                            .claim(e.account(), blind ? row.of(e.account()).heir() : e.expected(), by)),
                    claimed -> {
                        if (claimed && blind) {
                            command(() -> keeper.inherit(victim, e.account()));
                        }
                        again.accept(claimed);
                    },
                    giveUp);
        } else if (step instanceof Step.Inherit e) {
            command(() -> keeper.inherit(victim, e.account()));
            workingOn.remove(holder);
        } else if (step instanceof Step.MarkDone e) {
            world.call(
                    this, () -> world.store.update(holder, row -> Optional.of(row.done(e.account()))), again, giveUp);
        } else if (step instanceof Step.ReadHeir e) {
            world.call(this, () -> read(e.heir()), ledger -> inherit(holder, Optional.of(ledger), steps - 1), giveUp);
        } else {
            workingOn.remove(holder);
        }
    }

    /** Another's journal, perhaps not up to its end. */
    private Ledger read(Holder holder) {
        int size = world.store.journalSize(holder);
        boolean stale = world.faulty() && size > 0 && world.chance(world.course.staleRead);
        return replay(holder, stale ? world.random.nextInt(size) : size);
    }

    private Ledger replay(Holder holder, int size) {
        int snapshotAt = size == 0 ? -1 : world.random.nextInt(size);
        return world.store.replay(holder, size, snapshotAt, world.course.has(Flaw.SNAPSHOT_WITHOUT_LEGACIES));
    }

    private void closedDestinations() {
        Set<Holder> destinations = new LinkedHashSet<>();
        keeper.ledger()
                .openTransfers()
                .forEach(transfer -> destinations.add(transfer.id().to()));
        for (LeaseRow row : sight.rows()) {
            if (row.state() != LeaseRow.State.LIVE && destinations.contains(row.holder())) {
                world.call(
                        this,
                        () -> read(row.holder()),
                        ledger -> command(() -> keeper.destinationClosed(ledger)),
                        () -> {});
            }
        }
    }

    private void limits() {
        for (int topic = 0; topic < gates.length; topic++) {
            TopicName name = world.topics.get(topic);
            List<LimitRow> versions = sight.limits().get(name);
            for (LimitRow row : versions) {
                if (!row.done()) {
                    Share before = row.version() == 1
                            ? Share.NONE
                            : versions.get((int) row.version() - 2).limit();
                    mint(row, before);
                }
            }
            if (!versions.isEmpty()) {
                LimitRow last = versions.get(versions.size() - 1);
                lendings[topic].version(last.version(), localNs());
                collect(name, versions, last.limit());
                command(() -> keeper.refloor(name, last.floorPermille()));
            }
        }
    }

    private void mint(LimitRow row, Share before) {
        Holder claimant = me;
        if (world.course.has(Flaw.MINT_WITHOUT_CLAIM)) {
            LimitRow mine =
                    new LimitRow(row.topic(), row.version(), row.limit(), row.floorPermille(), Optional.of(me), false);
            command(() -> keeper.mint(mine, before));
        } else if (row.minter().isEmpty()) {
            claimLimit(row, claimant);
        } else if (row.minter().get().equals(me)) {
            command(() -> keeper.mint(row, before));
        } else if (world.chance(0.3)) {
            world.call(
                    this,
                    () -> read(row.minter().get()),
                    minter -> {
                        if (minter.closed() && !minter.minted(row.topic(), row.version())) {
                            claimLimit(row, claimant);
                        }
                    },
                    () -> {});
        }
    }

    private void claimLimit(LimitRow row, Holder claimant) {
        world.call(
                this,
                () -> world.store.updateLimit(
                        row.topic(), row.version(), stored -> stored.claim(row.minter(), claimant)),
                claimed -> {},
                () -> {});
    }

    /** Burns what is owed here, and asks the others for the rest. */
    private void collect(TopicName topic, List<LimitRow> versions, Share limit) {
        Debt debt = keeper.ledger().debts().get(topic);
        if (debt == null || debt.version() > versions.size() || versions.get((int) debt.version() - 1).done()) {
            return;
        }
        command(() -> {
            List<Effect> effects = keeper.burn(topic);
            burning = !effects.isEmpty() && effects.get(0) instanceof Effect.RemoveAtGate;
            return effects;
        });
        if (me != null && !debt.remaining().isNone() && world.moving()) {
            Holder collector = me;
            for (Holder other : neighboursAndAll()) {
                world.send(this, other.broker(), receiver -> receiver.onCollect(topic, debt, limit, collector));
            }
        }
    }

    private void onCollect(TopicName topic, Debt debt, Share limit, Holder collector) {
        command(() -> {
            Holding part = debt.contribution(keeper.ledger().share(topic), limit);
            return part.isNone() || !keeper.canDebit(collector)
                    ? List.of()
                    : keeper.debit(collector, Map.of(topic, part));
        });
    }

    // The ring.

    private List<Holder> neighboursAndAll() {
        Map<BrokerId, Holder> latest = new LinkedHashMap<>();
        if (sight != null) {
            for (LeaseRow row : sight.rows()) {
                if (row.state() == LeaseRow.State.LIVE && !row.holder().broker().equals(id)) {
                    latest.put(row.holder().broker(), row.holder());
                }
            }
        }
        return List.copyOf(latest.values());
    }

    private List<Holder> neighbours() {
        List<Holder> others = neighboursAndAll();
        List<BrokerId> members = new ArrayList<>(List.of(id));
        others.forEach(other -> members.add(other.broker()));
        List<BrokerId> near = Ring.of(members).neighbours(id);
        return others.stream().filter(other -> near.contains(other.broker())).toList();
    }

    private Demand demand(int topic) {
        long rate = world.saturated() ? 4 * world.course.rate * Limit.MICROS : demandMicros[topic];
        return new Demand(rate, rate / 4 + Limit.MICROS);
    }

    private void round() {
        if (!world.moving()) {
            return;
        }
        Holding[] shares = new Holding[gates.length];
        Demand[] demands = new Demand[gates.length];
        for (int topic = 0; topic < gates.length; topic++) {
            shares[topic] = keeper.ledger().share(world.topics.get(topic));
            demands[topic] = demand(topic);
        }
        Holder teller = me;
        int members = neighboursAndAll().size() + 1;
        for (Holder neighbour : neighbours()) {
            world.send(this, neighbour.broker(), receiver -> receiver.onIndicators(teller, shares, demands, members));
        }
    }

    private void onIndicators(Holder from, Holding[] shares, Demand[] demands, int members) {
        command(() -> {
            if (!keeper.canDebit(from) || from.equals(me) || sight == null) {
                return List.of();
            }
            Map<TopicName, Holding> moved = new LinkedHashMap<>();
            for (int topic = 0; topic < gates.length; topic++) {
                Holding part = handedOver(topic, from, shares[topic], demands[topic], members);
                if (!part.isNone()) {
                    moved.put(world.topics.get(topic), part);
                }
            }
            return moved.isEmpty() ? List.of() : keeper.debit(from, moved);
        });
    }

    private Holding handedOver(int topic, Holder to, Holding theirs, Demand theirDemand, int members) {
        TopicName name = world.topics.get(topic);
        Holding mine = keeper.ledger().share(name);
        List<LimitRow> versions = sight.limits().get(name);
        Share limit = versions.isEmpty()
                ? Share.NONE
                : versions.get(versions.size() - 1).limit();
        if (mine.isNone() || limit.isNone()) {
            return Holding.NONE;
        }
        if (mine.lame()) {
            boolean alone = mine.share().admits();
            return !alone && (theirs.share().admits() || id.compareTo(to.broker()) > 0) ? mine : Holding.NONE;
        }
        SupplyEdge edge = new SupplyEdge(
                new Limit(limit.rateMicros(), limit.burstMicros()), members, Math.min(2, members - 1), 0.02);
        return mine.cut(edge.handedOver(mine.share(), demand(topic), theirs.share(), theirDemand));
    }

    /** A new topic's supply goes to everybody alive at once. */
    private void spread(TopicName topic) {
        List<Holder> others = neighboursAndAll();
        Share all = keeper.ledger().share(topic).share();
        if (others.isEmpty() || all.burstMicros() < Limit.MICROS) {
            return;
        }
        List<Share> parts = Share.even(new Limit(all.rateMicros(), all.burstMicros()), others.size() + 1);
        for (int i = 0; i < others.size(); i++) {
            Holder to = others.get(i);
            Share part = parts.get(i + 1);
            command(() -> keeper.canDebit(to)
                    ? keeper.debit(
                            to, Map.of(topic, keeper.ledger().share(topic).cut(part)))
                    : List.of());
        }
    }
}
