package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.simulation.EventQueue;
import io.weir.limiter.simulation.supply.Scenario.Fault;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Input;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.PeerMessage;
import io.weir.limiter.supply.protocol.ProtocolTimes;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One run: brokers, the network between them, the store behind them, and a nemesis, all from one seed. Faults for a
 * while, then everything heals, and at the end nothing may be missing. Times are those of a broker, six times as fast.
 */
final class SupplyWorld {
    static final long MS = 1_000_000L;
    private static final int FASTER = 6;
    /** A broker's own, see {@code reference.conf}. */
    static final ProtocolTimes BROKER_TIMES = ProtocolTimes.of(6_000 * MS, 1_000, 500 * MS, 500 * MS, 0.005, 0.2);

    static final ProtocolTimes TIMES = BROKER_TIMES.faster(FASTER);
    static final long LEASE_NS = TIMES.leaseNs();
    static final long EPSILON_PPM = TIMES.driftPpm();
    static final long PATIENCE_NS = TIMES.patienceNs();
    static final long STORE_TIMEOUT_NS = 150 * MS;
    /** How long Akka Persistence's circuit breaker keeps a journal shut: as brokers set it, and as it is by itself. */
    private static final long BREAKER_NS = 500 * MS / FASTER;

    private static final long LONG_BREAKER_NS = 60_000 * MS / FASTER;

    private static final long FAULTS_END_NS = 12_000 * MS;
    /** 60 s with a lease of 6 s. */
    private static final long SETTLED_NS = FAULTS_END_NS + 10 * LEASE_NS;

    private static final long END_NS = SETTLED_NS + 4_000 * MS;
    private static final int REMEMBERED = 400;
    private static final int STALE_SIGHTS = 12;

    /** What there was to read in the rows at some time. */
    private record Sight(long atNs, List<LeaseRow> rows, Map<LimitRow, Long> limits, long upTo) {}

    final long seed;
    final Scenario scenario;
    final SplittableRandom random;
    final SupplyChecker checker = new SupplyChecker(this::nowNs, this::watched);
    final SimulatedStore store = new SimulatedStore(checker);
    final List<TopicName> topics = new ArrayList<>();
    final SupplyBroker[] brokers;
    final long[] faults = new long[Fault.values().length];

    private final EventQueue<Runnable> queue = new EventQueue<>();
    private final boolean[][] cut;
    private final boolean[] storeCut;
    private final long[] historyNs = new long[REMEMBERED];
    private final Object[][] history = new Object[REMEMBERED][];
    private final List<Sight> sights = new ArrayList<>();
    private long nowNs;
    private long notes;
    private long events;
    private boolean troubled;

    SupplyWorld(long seed, Scenario scenario, SplittableRandom random) {
        this.seed = seed;
        this.scenario = scenario;
        this.random = random;
        cut = new boolean[scenario.brokers][scenario.brokers];
        storeCut = new boolean[scenario.brokers];
        for (int i = 0; i < scenario.topics; i++) {
            topics.add(new TopicName("t" + i));
        }
        brokers = new SupplyBroker[scenario.brokers];
        for (int i = 0; i < scenario.brokers; i++) {
            brokers[i] = new SupplyBroker(this, i, new BrokerId("b" + i));
        }
    }

    /** Runs to the end, or to the first violation. */
    SupplyRun run() {
        for (SupplyBroker broker : brokers) {
            plan(random.nextLong(200 * MS), broker::start);
        }
        plan(50 * MS, this::remember);
        for (TopicName topic : topics) {
            plan(400 * MS + random.nextLong(600 * MS), () -> changeLimit(topic));
        }
        plan(1_500 * MS, this::nextFault);
        plan(FAULTS_END_NS, this::heal);
        plan(FAULTS_END_NS + 5 * LEASE_NS, this::everybodyAtWork);
        plan(SETTLED_NS, () -> checker.settled(store.rows()));
        try {
            while (queue.nextNs() < END_NS && checker.violations().isEmpty()) {
                nowNs = queue.nextNs();
                events++;
                queue.take().run();
            }
            nowNs = Math.max(nowNs, Math.min(END_NS, queue.nextNs()));
            checker.hardBound();
            if (checker.violations().isEmpty()) {
                finish();
            }
        } catch (IllegalStateException | IllegalArgumentException e) {
            checker.violated("thrown", e.toString());
        }
        return new SupplyRun(
                seed, checker.violations(), lastEvents(), events, checker.commits(), checker.admitted(), faults);
    }

    /** C6 half a minute of a broker's time after everything healed: supply can move again everywhere. */
    private void everybodyAtWork() {
        for (SupplyBroker broker : brokers) {
            if (broker.up() && broker.node() == null) {
                checker.violated("C6", broker.holder() + " has not recovered half a minute after all faults");
            }
        }
    }

    private void finish() {
        Map<Holder, Map<TopicName, Holding>> gates = new LinkedHashMap<>();
        for (SupplyBroker broker : brokers) {
            if (broker.up()) {
                gates.put(broker.holder(), broker.gates().held());
                note("at the end", broker.holder(), broker.gates().held());
            }
        }
        List<LimitRow> latest = new ArrayList<>();
        for (TopicName topic : topics) {
            List<LimitRow> versions = store.limits(topic);
            if (!versions.isEmpty()) {
                latest.add(versions.get(versions.size() - 1));
            }
        }
        checker.nothingLost(store.rows(), gates, latest);
        for (TopicName topic : topics) {
            Share usable = checker.usable(store.rows(), topic);
            double seconds = (END_NS - SETTLED_NS) / 1e9;
            // Less a message a broker: what lies in its bucket at the window's two ends.
            long expected = (long) (0.95 * usable.rateMicros() / Limit.MICROS * seconds) - brokers.length;
            long admitted = checker.admittedBetween(topic, SETTLED_NS, END_NS);
            if (admitted < expected && usable.admits()) {
                checker.violated("C8", "admitted " + admitted + " of " + topic + ", expected at least " + expected);
            }
        }
    }

    private boolean watched(String invariant) {
        return scenario.watched.isEmpty() || scenario.watched.equals(invariant);
    }

    long nowNs() {
        return nowNs;
    }

    void plan(long afterNs, Runnable task) {
        queue.plan(nowNs + afterNs, task);
    }

    boolean faulty() {
        return nowNs < FAULTS_END_NS;
    }

    /** Near the end nothing new is moved, so that what is open then is lost. */
    boolean moving() {
        return nowNs < END_NS - 1_500 * MS;
    }

    boolean saturated() {
        return nowNs > FAULTS_END_NS + 3 * LEASE_NS;
    }

    /** Every 50 ms: everybody's publishers press, some do, or, most often, nobody's. */
    boolean burst(int broker) {
        long slot = new SplittableRandom(seed ^ nowNs / (50 * MS) * 0x9E3779B97F4A7C15L).nextLong();
        int kind = (int) (slot & 7);
        return kind == 0 || kind < 3 && (slot >>> (8 + broker) & 1) == 1;
    }

    boolean chance(double probability) {
        return random.nextDouble() < probability;
    }

    void note(Object... what) {
        int at = (int) (notes++ % REMEMBERED);
        historyNs[at] = nowNs;
        history[at] = what;
    }

    private List<String> lastEvents() {
        List<String> lines = new ArrayList<>();
        if (!checker.violations().isEmpty()) {
            for (long i = Math.max(0, notes - REMEMBERED); i < notes; i++) {
                int at = (int) (i % REMEMBERED);
                StringBuilder line =
                        new StringBuilder().append(historyNs[at] / 1_000).append(" µs");
                for (Object word : history[at]) {
                    line.append(' ').append(word);
                }
                lines.add(line.toString());
            }
        }
        return lines;
    }

    void send(SupplyBroker from, BrokerId to, PeerMessage message) {
        deliver(from, to, node -> node.tell(message));
    }

    /** Over the network: lost, repeated, overtaken, or later than any patience. */
    void deliver(SupplyBroker from, BrokerId to, Consumer<SimulatedNode> message) {
        SupplyBroker target = brokers[indexOf(to)];
        boolean lost = faulty() && (cut[from.index()][target.index()] || chance(scenario.loss));
        if (!lost || chance(0.2)) {
            arrive(target, message, lost);
        }
        if (faulty() && chance(scenario.duplicate)) {
            arrive(target, message, chance(0.5));
        }
    }

    private void arrive(SupplyBroker target, Consumer<SimulatedNode> message, boolean held) {
        boolean late = held || faulty() && chance(scenario.late);
        long delayNs = late ? random.nextLong(3 * PATIENCE_NS) : MS + random.nextLong(scenario.slowestMessageMs * MS);
        plan(delayNs, () -> target.receive(message));
    }

    int indexOf(BrokerId broker) {
        return broker.value().charAt(1) - '0';
    }

    /**
     * A request to the store. It may be lost before or after it was carried out, or be carried out long after the
     * caller gave up or died. The caller hears the answer or, once, that there is none.
     */
    <T> void call(
            SupplyBroker caller,
            BooleanSupplier current,
            Supplier<T> operation,
            Consumer<T> answered,
            Runnable unknown) {
        long thereNs = MS + random.nextLong((troubled ? 120 : 8) * MS);
        double fate = faulty() ? random.nextDouble() : 1;
        double lost = scenario.unknownWrite * (troubled ? 4 : 1);
        if (faulty() && storeCut[caller.index()]) {
            if (chance(scenario.lateWhenCut)) {
                plan(thereNs + random.nextLong(3 * PATIENCE_NS), operation::get);
            }
            caller.later(current, STORE_TIMEOUT_NS, unknown);
        } else if (fate < lost) {
            if (chance(0.5)) {
                plan(thereNs, operation::get);
            }
            caller.later(current, STORE_TIMEOUT_NS, unknown);
        } else if (fate < lost + scenario.lateWrite) {
            plan(STORE_TIMEOUT_NS + random.nextLong(2 * PATIENCE_NS), operation::get);
            caller.later(current, STORE_TIMEOUT_NS, unknown);
        } else {
            plan(thereNs, () -> {
                T answer = operation.get();
                caller.later(current, MS + random.nextLong(8 * MS), () -> answered.accept(answer));
            });
        }
    }

    /** Carried out by the store: empty if stored, else what is there. */
    Optional<SupplyEvent> append(Holder holder, long sequence, List<SupplyEvent> events) {
        Optional<SupplyEvent> there = store.append(holder, sequence, events);
        note("store", holder, sequence, there.isEmpty() ? "appends" : "has", there.isEmpty() ? events : there.get());
        SupplyBroker broker = brokers[indexOf(holder.broker())];
        if (there.isEmpty() && broker.runs(holder)) {
            broker.gates().checkBacked();
        }
        return there;
    }

    /** Another's journal, perhaps not up to its end. */
    Ledger read(Holder holder) {
        int size = store.journalSize(holder);
        boolean stale = faulty() && size > 0 && chance(scenario.staleRead);
        return replay(holder, stale ? random.nextInt(size) : size);
    }

    Ledger replay(Holder holder, int size) {
        int snapshotAt = size == 0 ? -1 : random.nextInt(size);
        return store.replay(holder, size, snapshotAt, scenario.has(Flaw.SNAPSHOT_WITHOUT_LEGACIES));
    }

    /** What a broker reads of the rows, perhaps not what is there now. */
    Input.Looked sight(SupplyBroker host, Holder reader, long after) {
        Sight sight = current();
        if (!sights.isEmpty() && faulty() && chance(scenario.staleRead)) {
            Sight stale = sights.get(random.nextInt(sights.size()));
            sight = host.sees(stale.atNs) ? stale : sight;
        }
        host.sees(sight.atNs);
        List<LimitRow> limits = new ArrayList<>();
        sight.limits.forEach((row, number) -> {
            if (number > after) {
                limits.add(
                        scenario.has(Flaw.MINT_WITHOUT_CLAIM) && !row.done()
                                ? row.claim(row.minter(), reader).orElseThrow()
                                : row);
            }
        });
        return new Input.Looked(sight.rows.stream().map(this::forged).toList(), sight.upTo, limits);
    }

    LeaseRow forged(LeaseRow row) {
        return scenario.has(Flaw.KEPT_ON_FENCE) && row.state() == LeaseRow.State.FENCED ? row.stop() : row;
    }

    private Sight current() {
        return new Sight(nowNs, store.unsettledRows(), store.limitChanges(), store.changes());
    }

    /** An answer gets lost where this rule is left out. */
    boolean loses(Flaw flaw) {
        return scenario.has(flaw) && faulty() && chance(0.05);
    }

    static long breakerNs(Scenario scenario) {
        return scenario.has(Flaw.JOURNAL_SHUT_FOR_LONG) ? LONG_BREAKER_NS : BREAKER_NS;
    }

    /** A singleton, which may run twice for a while. */
    boolean sweeps(SupplyBroker host) {
        for (SupplyBroker broker : brokers) {
            if (broker.up()) {
                return broker == host || faulty() && chance(0.05);
            }
        }
        return false;
    }

    /** Whoever reaped the process confirms its end, and the others are told to look. */
    void crashSeen(Holder victim) {
        plan(MS + random.nextLong(30 * MS), () -> {
            store.update(victim, row -> Optional.of(row.stop()));
            lookNow();
        });
    }

    private void lookNow() {
        for (SupplyBroker broker : brokers) {
            arrive(broker, node -> node.tell(new Input.LookNow()), false);
        }
    }

    private void remember() {
        if (faulty()) {
            if (sights.size() == STALE_SIGHTS) {
                sights.remove(0);
            }
            sights.add(current());
            plan(100 * MS, this::remember);
        }
    }

    /** Whether the process or its actors die before this effect; true: do not carry it out. */
    boolean dies(SupplyBroker broker, Effect effect) {
        if (!faulty()) {
            return false;
        }
        boolean directed = !scenario.failpoint.isEmpty()
                && name(effect).equals(scenario.failpoint)
                && chance(scenario.failpointChance);
        if (directed || chance(scenario.effectCrash)) {
            note(broker.holder(), "dies before", effect);
            if (chance(0.7)) {
                broker.crash(random.nextLong(2 * PATIENCE_NS));
            } else {
                broker.actorsCrash(random.nextLong(PATIENCE_NS));
            }
            return true;
        }
        return false;
    }

    private static String name(Effect effect) {
        return effect instanceof Effect.Append append
                ? append.event().getClass().getSimpleName()
                : effect.getClass().getSimpleName();
    }

    /** The administrator: creates, raises, lowers, deletes and creates again. */
    void changeLimit(TopicName topic) {
        List<LimitRow> versions = store.limits(topic);
        long rate = scenario.rate * Limit.MICROS;
        long burst = Math.max(Limit.MICROS, rate * PATIENCE_NS / 1_000_000_000L / 10 * scenario.burstTenthsOfW);
        if (versions.isEmpty()) {
            long version = store.lastVersion(topic) + 1;
            Share limit = new Share(rate, burst);
            insert(new LimitRow(topic, version, limit, scenario.floorPermille, Sharing.GOSSIP, minter(), false, true));
            return;
        }
        LimitRow last = versions.get(versions.size() - 1);
        boolean delete = faulty() && last.limit().rateMicros() > 0 && random.nextInt(4) == 0;
        Share limit = delete
                ? Share.NONE
                : new Share(
                        rate * (2 + random.nextInt(7)) / 4,
                        Math.max(Limit.MICROS, burst * (2 + random.nextInt(7)) / 4));
        int floor = random.nextInt(4) == 0 ? random.nextInt(3) * 500 : last.floorPermille();
        if (scenario.has(Flaw.OVERLAPPING_VERSIONS)) {
            insert(last.finished().next(limit, floor, Sharing.GOSSIP).orElseThrow());
        } else {
            last.next(limit, floor, Sharing.GOSSIP)
                    .flatMap(row -> minter().map(minter -> row.claim(Optional.empty(), minter))
                            .orElse(Optional.of(row)))
                    .ifPresent(this::insert);
        }
    }

    /** The holder where the topic's definition is at home, dead or alive; at times nobody's. */
    private Optional<Holder> minter() {
        SupplyBroker broker = brokers[random.nextInt(brokers.length)];
        return chance(0.2) ? Optional.empty() : Optional.ofNullable(broker.holder());
    }

    private void insert(LimitRow row) {
        note("limit", row);
        store.putLimit(row);
        checker.limit(row);
        if (row.first() && row.minter().isPresent() && chance(0.5)) {
            tellMinter(row);
        }
        if (chance(0.5)) {
            lookNow();
        }
    }

    /** The broker that inserts a name's first version mints it without a look. */
    private void tellMinter(LimitRow row) {
        Holder minter = row.minter().orElseThrow();
        SupplyBroker broker = brokers[indexOf(minter.broker())];
        arrive(
                broker,
                node -> {
                    if (broker.runs(minter)) {
                        node.tell(new Input.Inserted(List.of(row)));
                    }
                },
                false);
    }

    private void nextFault() {
        if (!faulty()) {
            return;
        }
        int total = Arrays.stream(scenario.weights).sum();
        if (total > 0) {
            int at = random.nextInt(total);
            int fault = 0;
            while (at >= scenario.weights[fault]) {
                at -= scenario.weights[fault++];
            }
            inject(Fault.values()[fault]);
            faults[fault]++;
        }
        plan(random.nextLong(2 * scenario.meanFaultGapMs * MS), this::nextFault);
    }

    private void inject(Fault fault) {
        SupplyBroker victim = brokers[random.nextInt(brokers.length)];
        note("fault", fault, victim.holder());
        switch (fault) {
            case CRASH -> victim.crash(random.nextLong(scenario.longestDownMs * MS));
            case ACTOR_CRASH -> victim.actorsCrash(random.nextLong(PATIENCE_NS));
            case PAUSE -> victim.freeze(random.nextLong(3 * PATIENCE_NS));
            case PARTITION -> partition();
            case ONE_WAY_CUT -> cut[victim.index()][random.nextInt(brokers.length)] = true;
            case STORE_CUT -> storeCut[victim.index()] = true;
            case STORE_OUTAGE -> {
                Arrays.fill(storeCut, true);
                plan(random.nextLong(scenario.longestOutageMs * MS), () -> Arrays.fill(storeCut, false));
            }
            case STORE_TROUBLE -> troubled = true;
            case HEAL -> mend();
            case LEAVE -> victim.leave();
            case CONFIRM_STOP -> confirmStops(0.5);
            case LIMIT_CHANGE -> changeLimit(topics.get(random.nextInt(topics.size())));
            case DEMAND_CHANGE -> {
                if (victim.up()) {
                    victim.gates().anyDemand();
                }
            }
            default -> throw new IllegalArgumentException("unknown fault " + fault);
        }
    }

    private void partition() {
        boolean[] side = new boolean[brokers.length];
        boolean withStore = random.nextBoolean();
        for (int i = 0; i < side.length; i++) {
            side[i] = random.nextBoolean();
            storeCut[i] |= withStore && side[i];
        }
        for (int i = 0; i < side.length; i++) {
            for (int j = 0; j < side.length; j++) {
                cut[i][j] |= side[i] != side[j];
            }
        }
    }

    private void mend() {
        for (boolean[] row : cut) {
            Arrays.fill(row, false);
        }
        Arrays.fill(storeCut, false);
        troubled = false;
    }

    private void heal() {
        note("heal");
        mend();
        for (SupplyBroker broker : brokers) {
            broker.comeBack();
        }
        confirmStops(0.5);
    }

    /** An operator who does not err (A5): only processes that are dead. */
    private void confirmStops(double part) {
        for (LeaseRow row : store.rows()) {
            SupplyBroker broker = brokers[indexOf(row.holder().broker())];
            boolean runs = broker.runs(row.holder()) || broker.starting();
            if (!runs && row.state() != LeaseRow.State.STOPPED && chance(part)) {
                store.update(row.holder(), stored -> Optional.of(stored.stop()));
            }
        }
    }
}
