package io.weir.limiter.supply;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorRefResolver;
import akka.actor.typed.Behavior;
import akka.actor.typed.ChildFailed;
import akka.actor.typed.Terminated;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.javadsl.TimerScheduler;
import io.weir.config.CrossesNodes;
import io.weir.config.WeirSettings.SupplySettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.RingNeighbour.Mine;
import io.weir.limiter.supply.RingNeighbour.Told;
import io.weir.limiter.supply.algorithm.Bookkeeper;
import io.weir.limiter.supply.algorithm.Debt;
import io.weir.limiter.supply.algorithm.Effect;
import io.weir.limiter.supply.algorithm.Exchange;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Holding;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.LimitBook;
import io.weir.limiter.supply.algorithm.LimitRow;
import io.weir.limiter.supply.algorithm.Pressure;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import io.weir.limiter.supply.algorithm.Transfer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * One broker's part in moving supply: parent of its {@link SupplyLedger}, its {@link BestBuddy} and a {@link RingNeighbour} for each
 * neighbour. It looks at the store's rows, keeps the ring after them, and is the address that other brokers write to.
 *
 * <pre>
 *   every L/8     rows of leases and limits ──► ring, buddy, mints, debts, transfers to the closed
 *   every round   samples of the gates + ledger ──► neighbours
 *   any time      transfers and acknowledgements from peers ──► ledger
 * </pre>
 *
 * Who is alive is what the leases' rows say; membership only tells where to write to.
 */
public final class Treasury extends AbstractBehavior<Treasury.Command> {
    /** The name under which every broker's guardian spawns it, so that the others find it. */
    public static final String NAME = "treasury";

    private static final Duration LEDGER_PAUSE = Duration.ofMillis(300);
    /** A debt is asked for this often before the others give twice as much. */
    private static final int PATIENT_REQUESTS = 5;
    /** After so many looks at the same unfinished version the sweeper asks what became of its minter. */
    private static final int SWEEP_AFTER_LOOKS = 5;
    /** Of the last round in the smoothed number of messages that wait. */
    private static final double WAITING_WEIGHT = 0.25;
    /** By so much the dead band of what already moves is. */
    private static final int NARROWER = 6;
    /** In so many rounds every topic is looked at and told, changed or not, in case a message was lost. */
    private static final int REFRESH_ROUNDS = 20;

    /** What it understands. */
    public sealed interface Command {}

    /** From the own ledger. */
    public sealed interface FromLedger extends Command {}

    /** From another broker. */
    public sealed interface FromPeer extends Command {}

    /** The event is stored and carried out. */
    record Committed(SupplyEvent event) implements FromLedger {}

    record JournalClosed() implements FromLedger {}

    record Post(BrokerId to, FromPeer message) implements FromLedger {}

    record VersionDone(TopicName topic, long version) implements FromLedger {}

    /** A transfer, perhaps not for the first time; {@code sender} is its origin, or that one's heir. */
    public record Sent(Transfer transfer, Holder sender) implements FromPeer {}

    /** {@code to}'s transfer, own or adopted, is credited. */
    public record Acknowledged(Transfer.Id transfer, Holder to) implements FromPeer {}

    /** What a neighbour holds, and what is asked of it. */
    public record Indicators(Holder from, List<Told> told) implements FromPeer {}

    /** The collector has a debt to burn and asks for everybody's part of it. */
    public record Collect(TopicName topic, Debt debt, int urgency, Holder collector) implements FromPeer {}

    /** The TB adaptor wants to know how topics fare here. */
    public record ReportWanted(long round, ActorRef<Adaptor.Reported> replyTo) implements FromPeer, CrossesNodes {}

    /** The TB adaptor wants supply moved. */
    public record Give(Holder from, Holder to, Map<TopicName, Share> parts) implements FromPeer {}

    /** Somebody wants to see what this broker has of a topic. */
    public record Describe(TopicName topic, ActorRef<Part> replyTo) implements FromPeer, CrossesNodes {}

    /** One broker's part of a topic; rates and bursts in messages. */
    public record Part(
            String broker,
            long incarnation,
            double rate,
            double burst,
            double level,
            double demand,
            Double fillRatio,
            long leaseRemainingMs,
            String state,
            double keptRate,
            double inFlightRate,
            double inFlightBurst,
            long strandedRateMicros,
            long strandedBurstMicros)
            implements CrossesNodes {}

    /** The other brokers' addresses, as {@code host:port}. */
    public record Members(Map<BrokerId, String> addresses) implements Command {}

    /** Where the supply actors of all brokers are that this one can write to, itself included. */
    public record WhoIsThere(ActorRef<Peers> replyTo) implements Command {}

    /** Answers {@link WhoIsThere}. */
    public record Peers(Map<BrokerId, ActorRef<Command>> refs, Holder me) {}

    /** Something about the limits' rows is new: look at once. */
    public record LookNow() implements FromPeer, CrossesNodes {}

    /** The sweeper runs beside this actor. */
    public record Sweep() implements Command {}

    private record LookDue() implements Command {}

    private record Looked(List<LeaseRow> rows, SupplyStore.LimitChanges limits) implements Command {}

    private record LookFailed(String why) implements Command {}

    private record RoundDue() implements Command {}

    private record Sampled(long sequence, List<Gates.Sample> samples) implements Command {}

    private record Counted(Map<TopicName, Holding> shares, Set<TopicName> refreshed) implements Command {}

    private record Owed(Map<TopicName, Debt> debts) implements Command {}

    private record Destinations(Set<Holder> open) implements Command {}

    private record DestinationRead(Holder of, Optional<Ledger> ledger) implements Command {}

    /** A topic's steps at rest and under way. */
    private record Edges(SupplyEdge begin, SupplyEdge goOn) {}

    private record SpreadDone(Holder to, Set<TopicName> topics) implements Command {}

    private record StartLedger() implements Command {}

    private record Done(String what, Throwable failure) implements Command {}

    /** What it is given to work with. */
    public record Equipment(
            SupplySettings settings,
            Holder me,
            Gates gates,
            LongSupplier leaseRemainingNs,
            SupplyStore store,
            Executor storeExecutor,
            SupplyCounters counters,
            LongSupplier clock,
            Random random,
            Runnable fenced,
            Failpoints failpoints) {}

    private final Equipment with;
    private final Holder me;
    private final TimerScheduler<Command> timers;
    private final Journals journals;
    private final LimitBook limits = new LimitBook();
    private final Map<TopicName, Edges> edges = new HashMap<>();
    private final Map<BrokerId, ActorRef<Command>> refs = new LinkedHashMap<>();
    private final Map<BrokerId, ActorRef<RingNeighbour.Command>> neighbours = new HashMap<>();
    private final Map<BrokerId, Holder> neighbourHolders = new HashMap<>();
    private final Map<Holder, Map<TopicName, Share>> spread = new LinkedHashMap<>();
    private final Map<TopicName, Integer> requests = new HashMap<>();
    private final Map<TopicName, Integer> unfinishedLooks = new HashMap<>();
    private final Set<Holder> readingDestinations = new HashSet<>();
    /** Topics of which something may have changed since the last round. */
    private final Set<TopicName> changed = new HashSet<>();

    private Map<TopicName, Demand> demands = Map.of();
    private Map<TopicName, Double> waiting = Map.of();
    private Map<BrokerId, Holder> others = Map.of();
    private ActorRef<SupplyLedger.Command> ledger;
    private ActorRef<BestBuddy.Command> buddy;
    private int ledgers;
    private long changeNumber;
    private boolean looking;
    private boolean lookAgain;
    private boolean sampling;
    private boolean closed;
    private boolean toldLookFailed;

    public static Behavior<Command> create(Equipment with) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers -> new Treasury(context, timers, with)));
    }

    private Treasury(ActorContext<Command> context, TimerScheduler<Command> timers, Equipment with) {
        super(context);
        // Found by itself it would be that of the timers around this behaviour.
        context.setLoggerName(Treasury.class);
        this.with = with;
        this.me = with.me;
        this.timers = timers;
        this.journals = new Journals(context.getSystem(), with.failpoints);
        refs.put(me.broker(), context.getSelf());
        startLedger();
        timers.startTimerWithFixedDelay(new RoundDue(), with.settings.round());
        context.getSelf().tell(new LookDue());
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Sent.class, this::onSent)
                .onMessage(Acknowledged.class, this::onAcknowledged)
                .onMessage(Indicators.class, this::onIndicators)
                .onMessage(Collect.class, this::onCollect)
                .onMessage(ReportWanted.class, this::onReportWanted)
                .onMessage(Give.class, this::onGive)
                .onMessage(Describe.class, this::onDescribe)
                .onMessage(Committed.class, this::onCommitted)
                .onMessage(JournalClosed.class, closed -> onJournalClosed())
                .onMessage(Post.class, this::onPost)
                .onMessage(VersionDone.class, this::onVersionDone)
                .onMessage(Members.class, this::onMembers)
                .onMessage(WhoIsThere.class, this::onWhoIsThere)
                .onMessage(LookNow.class, now -> onLookNow())
                .onMessage(LookDue.class, due -> onLookDue())
                .onMessage(Looked.class, this::onLooked)
                .onMessage(LookFailed.class, this::onLookFailed)
                .onMessage(RoundDue.class, due -> onRoundDue())
                .onMessage(Sampled.class, this::onSampled)
                .onMessage(Counted.class, this::onCounted)
                .onMessage(Owed.class, this::onOwed)
                .onMessage(Destinations.class, this::onDestinations)
                .onMessage(DestinationRead.class, this::onDestinationRead)
                .onMessage(Sweep.class, sweep -> onSweep())
                .onMessage(SpreadDone.class, this::onSpreadDone)
                .onMessage(StartLedger.class, start -> onStartLedger())
                .onMessage(Done.class, this::onDone)
                .onSignal(ChildFailed.class, this::onChildEnded)
                .onSignal(Terminated.class, this::onChildEnded)
                .build();
    }

    private void startLedger() {
        // What the round that is under way asked of the former one is never answered.
        sampling = false;
        ledger = getContext()
                .spawn(
                        SupplyLedger.create(me, with.gates, getContext().getSelf(), with.failpoints),
                        "ledger-" + ++ledgers);
        getContext().watch(ledger);
        if (buddy != null) {
            getContext().stop(buddy);
        }
        buddy = getContext()
                .spawn(
                        BestBuddy.create(
                                with.settings,
                                with.store,
                                with.storeExecutor,
                                journals,
                                me,
                                ledger,
                                with.counters,
                                with.clock,
                                with.failpoints),
                        "buddy-" + ledgers);
        neighbours.values().forEach(getContext()::stop);
        neighbours.clear();
        neighbourHolders.clear();
        others = Map.of();
    }

    private Behavior<Command> onStartLedger() {
        if (!closed) {
            startLedger();
        }
        return this;
    }

    /** A ledger ends when a write's outcome is unknown, or by a broken invariant; either way its journal says what is true. */
    private Behavior<Command> onChildEnded(Terminated ended) {
        if (ended.getRef().equals(ledger) && !closed) {
            with.counters.ledgerRestarts.incrementAndGet();
            if (ended instanceof ChildFailed failed && failed.cause() instanceof IllegalStateException broken) {
                with.counters.violations.incrementAndGet();
                getContext().getLog().error("{}'s ledger met what can't be", me, broken);
            } else {
                getContext()
                        .getLog()
                        .warn("{}'s ledger does not know what became of a write and recovers: {}", me, why(ended));
            }
            timers.startSingleTimer(new StartLedger(), LEDGER_PAUSE);
        }
        return this;
    }

    /** Down to the first cause: what the store said. */
    private static String why(Terminated ended) {
        if (!(ended instanceof ChildFailed failed)) {
            return "it stopped";
        }
        Throwable cause = failed.cause();
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        return cause.toString();
    }

    private Behavior<Command> onJournalClosed() {
        if (!closed) {
            closed = true;
            getContext().getLog().warn("{}'s journal was closed by an heir", me);
            with.fenced.run();
        }
        return this;
    }

    private void decide(Function<Bookkeeper, List<Effect>> decision) {
        ledger.tell(new SupplyLedger.Decide(decision));
    }

    /** Hands a part of a topic over if no transfer to that holder is open; whoever wants it tries again. */
    private void give(Holder to, TopicName topic, Function<Holding, Holding> part) {
        decide(keeper -> {
            Holding given = keeper.canDebit(to) ? part.apply(keeper.ledger().share(topic)) : Holding.NONE;
            return given.isNone() ? List.of() : keeper.debit(to, Map.of(topic, given));
        });
    }

    private Behavior<Command> onSent(Sent sent) {
        decide(keeper -> keeper.transfer(sent.transfer, sent.sender));
        return this;
    }

    private Behavior<Command> onAcknowledged(Acknowledged acknowledged) {
        if (acknowledged.to.equals(me)) {
            decide(keeper -> keeper.acknowledged(acknowledged.transfer));
            flushSpread();
        }
        return this;
    }

    private Behavior<Command> onPost(Post post) {
        ActorRef<Command> ref = refs.get(post.to);
        if (ref != null) {
            ref.tell(post.message);
        }
        return this;
    }

    private Behavior<Command> onCommitted(Committed committed) {
        changed.addAll(committed.event.topics());
        if (committed.event instanceof SupplyEvent.Debited) {
            with.counters.sent.incrementAndGet();
        } else if (committed.event instanceof SupplyEvent.Credited) {
            with.counters.received.incrementAndGet();
        } else if (committed.event instanceof SupplyEvent.Refunded) {
            with.counters.refunded.incrementAndGet();
        } else if (committed.event instanceof SupplyEvent.Minted minted) {
            with.counters.mints.incrementAndGet();
            if (minted.version() == 1) {
                planSpread(minted.topic(), minted.minted().share());
            }
        } else if (committed.event instanceof SupplyEvent.Inherited inherited) {
            with.counters.inheritances.incrementAndGet();
            getContext()
                    .getLog()
                    .info(
                            "{} inherited what {} had in its {} account: {} topics",
                            me,
                            inherited.victim(),
                            inherited.account().name().toLowerCase(Locale.ROOT),
                            inherited.shares().size());
        }
        return this;
    }

    /** A new topic's supply goes to everybody alive at once; topics that come together go in one transfer. */
    private void planSpread(TopicName topic, Share minted) {
        List<Holder> to = List.copyOf(others.values());
        List<Share> parts = Exchange.toOthers(minted, to.size());
        for (int i = 0; i < parts.size(); i++) {
            if (!parts.get(i).isNone()) {
                spread.computeIfAbsent(to.get(i), holder -> new LinkedHashMap<>())
                        .put(topic, parts.get(i));
            }
        }
        flushSpread();
    }

    private void flushSpread() {
        for (Holder to : List.copyOf(spread.keySet())) {
            if (!others.containsValue(to)) {
                spread.remove(to);
                continue;
            }
            Map<TopicName, Share> parts = Map.copyOf(spread.get(to));
            ActorRef<Command> self = getContext().getSelf();
            decide(keeper -> {
                if (!keeper.canDebit(to)) {
                    return List.of();
                }
                Map<TopicName, Holding> wanted = new LinkedHashMap<>();
                parts.forEach((topic, part) -> {
                    Holding cut = keeper.ledger().share(topic).cut(part);
                    if (!cut.isNone()) {
                        wanted.put(topic, cut);
                    }
                });
                self.tell(new SpreadDone(to, parts.keySet()));
                return wanted.isEmpty() ? List.of() : keeper.debit(to, wanted);
            });
        }
    }

    private Behavior<Command> onSpreadDone(SpreadDone done) {
        Map<TopicName, Share> left = spread.get(done.to);
        if (left != null) {
            left.keySet().removeAll(done.topics);
            if (left.isEmpty()) {
                spread.remove(done.to);
            }
        }
        return this;
    }

    // ---- who is there

    private Behavior<Command> onMembers(Members members) {
        ActorRefResolver resolver = ActorRefResolver.get(getContext().getSystem());
        String system = getContext().getSystem().name();
        refs.clear();
        members.addresses.forEach((broker, address) ->
                refs.put(broker, resolver.resolveActorRef("akka://" + system + "@" + address + "/user/" + NAME)));
        refs.put(me.broker(), getContext().getSelf());
        return this;
    }

    private Behavior<Command> onWhoIsThere(WhoIsThere question) {
        question.replyTo.tell(new Peers(Map.copyOf(refs), me));
        return this;
    }

    /** The live holders of brokers that can be written to. */
    private void ring(List<LeaseRow> rows) {
        Map<BrokerId, Holder> live = new LinkedHashMap<>();
        for (LeaseRow row : rows) {
            BrokerId broker = row.holder().broker();
            if (row.state() == LeaseRow.State.LIVE && !broker.equals(me.broker()) && refs.containsKey(broker)) {
                live.merge(broker, row.holder(), (a, b) -> a.incarnation() > b.incarnation() ? a : b);
            }
        }
        if (live.equals(others)) {
            return;
        }
        boolean sameSize = live.size() == others.size();
        others = live;
        if (!sameSize) {
            edges.clear();
        }
        limits.pages().forEach(page -> changed.add(page.last().topic()));
        Set<BrokerId> members = new LinkedHashSet<>(live.keySet());
        members.add(me.broker());
        Set<BrokerId> near = new LinkedHashSet<>(Ring.of(members).neighbours(me.broker()));
        for (BrokerId broker : List.copyOf(neighbours.keySet())) {
            if (!near.contains(broker) || !live.get(broker).equals(neighbourHolders.get(broker))) {
                getContext().stop(neighbours.remove(broker));
                neighbourHolders.remove(broker);
            }
        }
        for (BrokerId broker : near) {
            if (!neighbours.containsKey(broker)) {
                ActorRef<Command> self = getContext().getSelf();
                neighbours.put(
                        broker,
                        getContext()
                                .spawnAnonymous(RingNeighbour.create(
                                        live.get(broker),
                                        told -> self.tell(new Post(broker, new Indicators(me, told))),
                                        ledger)));
                neighbourHolders.put(broker, live.get(broker));
            }
        }
        getContext()
                .getLog()
                .info("{} is on the ring {}, next to {}", me, Ring.of(members).members(), near);
    }

    // ---- looking at the store

    private Behavior<Command> onLookNow() {
        if (looking) {
            lookAgain = true;
            return this;
        }
        return onLookDue();
    }

    private Behavior<Command> onLookDue() {
        if (looking || closed) {
            return this;
        }
        looking = true;
        long after = changeNumber;
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(
                                () -> new Looked(with.store.rows(), with.store.limitsAfter(after)), with.storeExecutor),
                        (looked, failure) -> failure == null ? looked : new LookFailed(failure.getMessage()));
        return this;
    }

    private void planLook() {
        looking = false;
        timers.startSingleTimer(
                new LookDue(),
                lookAgain ? Duration.ofMillis(1) : with.settings.lease().dividedBy(8));
        lookAgain = false;
    }

    private Behavior<Command> onLookFailed(LookFailed failed) {
        if (!toldLookFailed) {
            toldLookFailed = true;
            getContext().getLog().warn("{} can't read the store's rows: {}", me, failed.why);
        }
        planLook();
        return this;
    }

    private Behavior<Command> onLooked(Looked looked) {
        long nowNs = with.clock.getAsLong();
        toldLookFailed = false;
        planLook();
        ring(looked.rows);
        buddy.tell(new BestBuddy.Rows(looked.rows, nowNs));
        changeNumber = looked.limits.upTo();
        Set<TopicName> newVersions = limits.read(looked.limits.rows());
        if (!newVersions.isEmpty()) {
            changed.addAll(newVersions);
            newVersions.forEach(edges::remove);
        }
        finishVersions();
        ActorRef<Command> self = getContext().getSelf();
        Set<Holder> live = new HashSet<>();
        looked.rows.stream().filter(row -> row.state() == LeaseRow.State.LIVE).forEach(row -> live.add(row.holder()));
        ledger.tell(new SupplyLedger.Look(keeper -> {
            Ledger stored = keeper.ledger();
            Set<Holder> open = new HashSet<>();
            stored.openTransfers().forEach(transfer -> {
                if (!live.contains(transfer.id().to())) {
                    open.add(transfer.id().to());
                }
            });
            if (!open.isEmpty()) {
                self.tell(new Destinations(open));
            }
        }));
        return this;
    }

    private void finishVersions() {
        List<LimitBook.Page> unfinished = limits.unfinished();
        if (unfinished.isEmpty()) {
            requests.clear();
            unfinishedLooks.clear();
            return;
        }
        for (LimitBook.Page page : unfinished) {
            unfinishedLooks.merge(page.last().topic(), 1, Integer::sum);
            if (page.last().minter().equals(Optional.of(me))) {
                decide(keeper -> keeper.mint(page.last(), page.before()));
            }
        }
        ActorRef<Command> self = getContext().getSelf();
        ledger.tell(new SupplyLedger.Look(keeper -> {
            Ledger stored = keeper.ledger();
            Map<TopicName, Debt> debts = new LinkedHashMap<>();
            for (LimitBook.Page page : unfinished) {
                Debt debt = stored.debts().get(page.last().topic());
                if (debt != null && debt.version() == page.last().version()) {
                    debts.put(page.last().topic(), debt);
                }
            }
            self.tell(new Owed(debts));
        }));
    }

    /** Burns what is owed here, and asks the others for the rest. */
    private Behavior<Command> onOwed(Owed owed) {
        owed.debts.forEach((topic, debt) -> {
            decide(keeper -> keeper.burn(topic));
            if (!debt.remaining().isNone()) {
                int urgency = requests.merge(topic, 1, Integer::sum) / PATIENT_REQUESTS;
                for (BrokerId other : others.keySet()) {
                    onPost(new Post(other, new Collect(topic, debt, urgency, me)));
                }
            }
        });
        return this;
    }

    private Behavior<Command> onCollect(Collect collect) {
        limits.last(collect.topic)
                .filter(last -> last.version() == collect.debt.version())
                .ifPresent(last -> give(
                        collect.collector,
                        collect.topic,
                        mine -> collect.debt.contribution(mine, last.limit(), collect.urgency)));
        return this;
    }

    private Behavior<Command> onVersionDone(VersionDone done) {
        store("finish " + done.topic, () -> {
            with.store.finished(done.topic, done.version);
            return true;
        });
        return this;
    }

    private void store(String what, Supplier<Boolean> call) {
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(call, with.storeExecutor),
                        (answer, failure) -> new Done(what, failure));
    }

    /** Whatever failed is tried again after the next look. */
    private Behavior<Command> onDone(Done done) {
        if (done.failure != null) {
            getContext().getLog().debug("{} could not {}: {}", me, done.what, done.failure.getMessage());
        }
        return this;
    }

    /** Open transfers to holders that are not live: what their closed journals say decides. */
    private Behavior<Command> onDestinations(Destinations destinations) {
        for (Holder destination : destinations.open) {
            if (readingDestinations.add(destination)) {
                getContext()
                        .pipeToSelf(
                                journals.read(destination, Optional.empty()),
                                (read, failure) -> new DestinationRead(destination, Optional.ofNullable(read)));
            }
        }
        return this;
    }

    private Behavior<Command> onDestinationRead(DestinationRead read) {
        readingDestinations.remove(read.of);
        read.ledger.ifPresent(ledgerOfOther -> decide(keeper -> keeper.destinationClosed(ledgerOfOther)));
        return this;
    }

    /** For what nobody else finished: victims whose heirs are all gone, and versions whose minter is. */
    private Behavior<Command> onSweep() {
        buddy.tell(new BestBuddy.Sweep());
        for (LimitBook.Page page : limits.unfinished()) {
            LimitRow row = page.last();
            if (unfinishedLooks.getOrDefault(row.topic(), 0) < SWEEP_AFTER_LOOKS
                    || row.minter().equals(Optional.of(me))) {
                continue;
            }
            if (row.minter().isEmpty()) {
                store("claim " + row.topic(), () -> claimMint(row));
            } else {
                getContext()
                        .pipeToSelf(
                                journals.read(row.minter().get(), Optional.empty())
                                        .thenAcceptAsync(
                                                minter -> {
                                                    if (minter.closed() && !minter.minted(row.topic(), row.version())) {
                                                        claimMint(row);
                                                    }
                                                },
                                                with.storeExecutor),
                                (swept, failure) -> new Done("sweep " + row.topic(), failure));
            }
        }
        return this;
    }

    private boolean claimMint(LimitRow row) {
        boolean claimed = with.store.claimMint(row.topic(), row.version(), row.minter(), me);
        if (claimed) {
            with.failpoints.reached(Failpoints.Step.AFTER_MINT_CLAIM);
        }
        return claimed;
    }

    // ---- rounds

    private Behavior<Command> onRoundDue() {
        flushSpread();
        if (sampling || closed || limits.pages().isEmpty()) {
            return this;
        }
        sampling = true;
        CompletableFuture<Long> sequence = new CompletableFuture<>();
        ledger.tell(new SupplyLedger.Look(
                keeper -> sequence.complete(keeper.ledger().sequence())));
        getContext()
                .pipeToSelf(
                        sequence.orTimeout(10, TimeUnit.SECONDS)
                                .thenCompose(at -> with.gates.samples().thenApply(samples -> new Sampled(at, samples))),
                        (sampled, failure) -> failure == null ? sampled : new Sampled(-1, List.of()));
        return this;
    }

    private Behavior<Command> onSampled(Sampled sampled) {
        if (sampled.sequence < 0) {
            sampling = false;
            return this;
        }
        changed.addAll(demands.keySet());
        Map<TopicName, Demand> now = new HashMap<>();
        Map<TopicName, Double> stillWaiting = new HashMap<>();
        sampled.samples.forEach(sample -> {
            double before = waiting.getOrDefault(sample.topic(), 0.0);
            double smoothed = before + WAITING_WEIGHT * (sample.waiting() - before);
            stillWaiting.put(sample.topic(), smoothed);
            Share limit = limits.last(sample.topic()).map(LimitRow::limit).orElse(Share.NONE);
            now.put(sample.topic(), Pressure.demand(sample.demand(), smoothed, limit));
        });
        waiting = stillWaiting;
        demands = now;
        changed.addAll(now.keySet());
        Set<TopicName> refreshed = limits.slice(with.counters.rounds.get() % REFRESH_ROUNDS, REFRESH_ROUNDS);
        Set<TopicName> due = new HashSet<>(changed);
        due.addAll(refreshed);
        changed.clear();
        ActorRef<Command> self = getContext().getSelf();
        SupplyCounters counters = with.counters;
        ledger.tell(new SupplyLedger.Look(keeper -> {
            Ledger stored = keeper.ledger();
            if (stored.sequence() == sampled.sequence) {
                sampled.samples.forEach(sample -> countIfUnbacked(sample, stored, counters));
            }
            counters.busy(
                    sampled.samples.stream().map(sample -> busy(sample, stored)).toList());
            Map<TopicName, Holding> shares = new HashMap<>();
            due.forEach(topic -> shares.put(topic, stored.share(topic)));
            self.tell(new Counted(shares, refreshed));
        }));
        return this;
    }

    private static SupplyCounters.Busy busy(Gates.Sample sample, Ledger stored) {
        return new SupplyCounters.Busy(
                sample.topic(),
                stored.share(sample.topic()).share(),
                sample.held().leased().levelMicros() + sample.held().kept().levelMicros(),
                sample.demand().rateMicros());
    }

    /** The gate may hold less than the ledger says, when something is on its way out or in; never more. */
    private static void countIfUnbacked(Gates.Sample sample, Ledger stored, SupplyCounters counters) {
        Share held = sample.held().share();
        Share backed = stored.share(sample.topic()).share();
        if (held.rateMicros() > backed.rateMicros() || held.burstMicros() > backed.burstMicros()) {
            counters.violations.incrementAndGet();
        }
    }

    private Behavior<Command> onCounted(Counted counted) {
        sampling = false;
        with.counters.rounds.incrementAndGet();
        List<Mine> mine = new ArrayList<>();
        List<TopicName> gone = new ArrayList<>();
        counted.shares.forEach((topic, share) -> limits.last(topic).ifPresent(row -> {
            if (share.wantsSplit(row.floorPermille())) {
                decide(keeper -> keeper.refloor(topic, row.floorPermille()));
            }
            if (Exchange.homeless(share) && !others.isEmpty()) {
                List<Holder> anyone = List.copyOf(others.values());
                give(anyone.get(with.random.nextInt(anyone.size())), topic, all -> all);
                changed.add(topic);
            } else if (row.sharing() == Sharing.ADAPTOR || row.limit().isNone()) {
                gone.add(topic);
            } else {
                Told told = new Told(topic, share, demand(row));
                Edges steps = edges(row);
                mine.add(new Mine(told, steps.begin, steps.goOn, counted.refreshed.contains(topic)));
            }
        }));
        neighbours.values().forEach(neighbour -> neighbour.tell(new RingNeighbour.Round(mine, gone)));
        return this;
    }

    /** A static topic's demand is the same everywhere, so the ring keeps its parts equal, whoever comes and goes. */
    private Demand demand(LimitRow row) {
        return row.sharing() == Sharing.STATIC
                ? new Demand(Limit.MICROS, Limit.MICROS)
                : demands.getOrDefault(row.topic(), new Demand(0, 0));
    }

    private Edges edges(LimitRow row) {
        return edges.computeIfAbsent(row.topic(), topic -> {
            int members = others.size() + 1;
            int degree = Math.min(2, Math.max(1, others.size()));
            Limit limit = new Limit(
                    Math.max(Limit.MIN_RATE_MICROS, row.limit().rateMicros()),
                    Math.max(Limit.MICROS, row.limit().burstMicros()));
            double deadBand = with.settings.deadBand();
            return new Edges(
                    new SupplyEdge(limit, members, degree, deadBand),
                    new SupplyEdge(limit, members, degree, deadBand / NARROWER));
        });
    }

    private Behavior<Command> onIndicators(Indicators indicators) {
        BrokerId from = indicators.from.broker();
        if (indicators.from.equals(neighbourHolders.get(from))) {
            neighbours.get(from).tell(new RingNeighbour.Heard(indicators.told));
        }
        return this;
    }

    // ---- the TB adaptor's end

    private Behavior<Command> onReportWanted(ReportWanted wanted) {
        List<LimitRow> adapted = limits.pages().stream()
                .map(LimitBook.Page::last)
                .filter(row -> row.sharing() == Sharing.ADAPTOR && !row.limit().isNone())
                .toList();
        Map<TopicName, Demand> asked = demands;
        ledger.tell(new SupplyLedger.Look(keeper -> wanted.replyTo.tell(new Adaptor.Reported(
                me,
                wanted.round,
                adapted.stream()
                        .map(row -> new Adaptor.Report(
                                row.topic(),
                                row.version(),
                                row.limit(),
                                keeper.ledger().share(row.topic()),
                                asked.getOrDefault(row.topic(), new Demand(0, 0))))
                        .toList()))));
        return this;
    }

    private Behavior<Command> onGive(Give order) {
        if (order.from.equals(me) && others.containsValue(order.to)) {
            decide(keeper -> {
                if (!keeper.canDebit(order.to)) {
                    return List.of();
                }
                Map<TopicName, Holding> wanted = new LinkedHashMap<>();
                order.parts.forEach((topic, part) -> {
                    Holding cut = keeper.ledger().share(topic).cut(part);
                    if (!cut.isNone()) {
                        wanted.put(topic, cut);
                    }
                });
                return wanted.isEmpty() ? List.of() : keeper.debit(order.to, wanted);
            });
        }
        return this;
    }

    // ---- being looked at

    private Behavior<Command> onDescribe(Describe question) {
        CompletableFuture<long[]> stored = new CompletableFuture<>();
        ledger.tell(new SupplyLedger.Look(keeper -> {
            Share flying = Share.NONE;
            for (Transfer transfer : keeper.inFlight()) {
                Holding holding = transfer.holdings().get(question.topic);
                if (holding != null) {
                    flying = flying.plus(holding.share());
                }
            }
            Share share = keeper.ledger().share(question.topic).share();
            stored.complete(
                    new long[] {share.rateMicros(), share.burstMicros(), flying.rateMicros(), flying.burstMicros()});
        }));
        Share stranded = with.counters.stranded().getOrDefault(question.topic, Share.NONE);
        with.gates
                .sample(question.topic)
                .thenCombine(stored, (sample, held) -> part(sample, held, stranded))
                .thenAccept(question.replyTo::tell);
        return this;
    }

    private Part part(Gates.Sample sample, long[] stored, Share stranded) {
        double micros = Limit.MICROS;
        long leaseMs = with.leaseRemainingNs.getAsLong() / 1_000_000;
        Holding held = sample.held();
        Demand demand = sample.demand();
        return new Part(
                me.broker().value(),
                me.incarnation(),
                stored[0] / micros,
                stored[1] / micros,
                (held.leased().levelMicros() + held.kept().levelMicros()) / micros,
                demand.rateMicros() / micros,
                demand.rateMicros() == 0 ? null : (double) stored[0] / demand.rateMicros(),
                leaseMs,
                leaseMs > 0 ? "live" : "lease over",
                held.kept().rateMicros() / micros,
                stored[2] / micros,
                stored[3] / micros,
                stranded.rateMicros(),
                stranded.burstMicros());
    }
}
