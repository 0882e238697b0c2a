package io.weir.limiter.supply.actor;

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
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Input;
import io.weir.limiter.supply.protocol.PeerMessage;
import io.weir.limiter.supply.protocol.ProtocolTimes;
import io.weir.limiter.supply.protocol.Retention;
import io.weir.limiter.supply.protocol.StoreView;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The top of one broker's supply actors: parent of the {@link SupplyLedger}, which runs the protocol's
 * {@code SupplyNode}, of the {@link BestBuddy}, and of a {@link RingNeighbour} for each broker. Other brokers write to
 * this actor. It feeds the node with what is due, has the node's effects carried out, and passes the answers back. It
 * decides nothing.
 *
 * <pre>
 *   peers, timers, answers ──► SupplyLedger: SupplyNode ──► journal, gates
 *                                      └──► rows (here)   BestBuddy: fences, claims, journals   RingNeighbour: messages
 * </pre>
 *
 * A ledger that ended is started again after a pause, and replays its journal. The {@link StoreView} goes on.
 */
public final class SupplyCoordinator extends AbstractBehavior<SupplyCoordinator.Command> {
    /** The name under which every broker's guardian spawns it, so that the others find it. */
    public static final String NAME = "supply-coordinator";

    private static final int MOST_COLLECTS = 10_000;

    /** What it understands. */
    public sealed interface Command {}

    /** From this broker's ledger. */
    sealed interface FromLedger extends Command {}

    /** From this broker's {@link BestBuddy}. */
    sealed interface FromBuddy extends Command {}

    /** From another broker. */
    public sealed interface FromPeer extends Command {}

    /** The event is stored, and its effects at the gates are under way. */
    record Stored(SupplyEvent event) implements FromLedger {}

    /** An effect of the node that concerns neither its journal nor the gates. */
    record Perform(Effect effect) implements FromLedger {}

    /** The ring's members and this broker's neighbours changed. */
    record OnRing(Set<BrokerId> members, List<Holder> near) implements FromLedger {}

    /** The answer to an effect. */
    record Answered(Input.Answer answer) implements FromBuddy {}

    /** A message from another broker's node to this one's. */
    public record Mail(PeerMessage message) implements FromPeer {}

    /** The TB adaptor asks for reports of its topics. */
    public record ReportWanted(long round, ActorRef<Adaptor.Reported> replyTo) implements FromPeer, CrossesNodes {}

    /** An operator asks what this broker has of a topic. */
    public record Describe(TopicName topic, ActorRef<Part> replyTo) implements FromPeer, CrossesNodes {}

    /** Answers {@link Describe}; rates, bursts and level in messages unless the name says micros. */
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

    /** What placement has put at this broker, as in {@link Input.Placed}. */
    public record Placed(Map<TopicName, Long> rates) implements Command {}

    /** Asks for the coordinators of all reachable brokers, this one included. */
    public record WhoIsThere(ActorRef<Peers> replyTo) implements Command {}

    /** Answers {@link WhoIsThere}. */
    public record Peers(Map<BrokerId, ActorRef<Command>> refs, Holder me) {}

    /** Something about the rows is new: look at once. */
    public record LookNow() implements FromPeer, CrossesNodes {}

    /** This broker has inserted first versions that it is to mint: {@link Input.Inserted}. */
    public record Inserted(List<LimitRow> rows) implements Command {}

    /** From the sweeper, which runs on this broker. */
    public record Sweep() implements Command {}

    private record Due(Input.Due input) implements Command {}

    private record Looked(Input.Looked rows) implements Command {}

    private record LookFailed(String why) implements Command {}

    private record StartLedger() implements Command {}

    private record Finished(Throwable failure) implements Command {}

    private record CollectsDue() implements Command {}

    private record Done(String what, Throwable failure) implements Command {}

    /** What the supply actors work with. */
    public record Dependencies(
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
            Failpoints failpoints) {
        ProtocolTimes times() {
            ProtocolTimes times = ProtocolTimes.of(
                    settings.lease().toNanos(),
                    settings.driftPpm(),
                    settings.guard().toNanos(),
                    settings.round().toNanos(),
                    settings.deadBand(),
                    settings.reserve());
            return times.withPatience(failpoints.patienceNs(times.patienceNs()));
        }
    }

    private final Dependencies with;
    private final ProtocolTimes times;
    private final Holder me;
    private final TimerScheduler<Command> timers;
    private final StoreView view;
    private final ActorRef<BestBuddy.Command> buddy;
    private final Map<BrokerId, ActorRef<Command>> refs = new LinkedHashMap<>();
    private final Map<BrokerId, ActorRef<PeerMessage>> neighbours = new HashMap<>();
    private Map<TopicName, Long> placed = Map.of();
    private ActorRef<SupplyLedger.Command> ledger;
    private int ledgers;
    private boolean closed;
    private boolean toldLookFailed;
    /** Versions that are to be marked done. */
    private final Map<TopicName, Long> finished = new LinkedHashMap<>();

    private boolean finishing;
    /** Requests that came since the last {@link CollectsDue}; what is too much is asked for again. */
    private final List<PeerMessage.Collect> collects = new ArrayList<>();

    public static Behavior<Command> create(Dependencies with) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers -> new SupplyCoordinator(context, timers, with)));
    }

    private SupplyCoordinator(ActorContext<Command> context, TimerScheduler<Command> timers, Dependencies with) {
        super(context);
        // Akka would otherwise derive the logger's name from the withTimers wrapper.
        context.setLoggerName(SupplyCoordinator.class);
        this.with = with;
        this.times = with.times();
        this.me = with.me;
        this.timers = timers;
        view = StoreView.nothing(times);
        Journals journals = new Journals(context.getSystem(), with.failpoints);
        buddy = context.spawn(BestBuddy.create(with, journals, context.getSelf()), "buddy");
        reach(Map.of(me.broker(), context.getSelf()));
        startLedger();
        timers.startTimerWithFixedDelay(new Due(new Input.RoundDue()), Duration.ofNanos(times.roundNs()));
        timers.startTimerWithFixedDelay(new Due(new Input.ResendDue()), Duration.ofNanos(times.resendNs()));
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Mail.class, this::onMail)
                .onMessage(CollectsDue.class, due -> onCollectsDue())
                .onMessage(Due.class, due -> tell(due.input))
                .onMessage(LookNow.class, now -> tell(new Input.LookNow()))
                .onMessage(Inserted.class, inserted -> tell(new Input.Inserted(inserted.rows)))
                .onMessage(Sweep.class, sweep -> tell(new Input.SweepDue()))
                .onMessage(Answered.class, answered -> tell(answered.answer))
                .onMessage(Looked.class, this::onLooked)
                .onMessage(LookFailed.class, this::onLookFailed)
                .onMessage(Perform.class, this::onPerform)
                .onMessage(Stored.class, this::onStored)
                .onMessage(OnRing.class, this::onRing)
                .onMessage(Members.class, this::onMembers)
                .onMessage(Placed.class, this::onPlaced)
                .onMessage(WhoIsThere.class, this::onWhoIsThere)
                .onMessage(Describe.class, this::onDescribe)
                .onMessage(ReportWanted.class, this::onReportWanted)
                .onMessage(StartLedger.class, start -> onStartLedger())
                .onMessage(Finished.class, this::onFinished)
                .onMessage(Done.class, this::onDone)
                .onSignal(ChildFailed.class, this::onChildEnded)
                .onSignal(Terminated.class, this::onChildEnded)
                .build();
    }

    /**
     * When many topics are deleted at once, collectors send hundreds of requests. They go to the ledger together: what
     * waits for a write of an event-sourced actor is worked off by recursion, and the stack would not hold so many.
     */
    private Behavior<Command> onMail(Mail mail) {
        if (!(mail.message instanceof PeerMessage.Collect collect)) {
            return tell(mail.message);
        }
        if (collects.isEmpty()) {
            getContext().getSelf().tell(new CollectsDue());
        }
        if (collects.size() < MOST_COLLECTS) {
            collects.add(collect);
        }
        return this;
    }

    private Behavior<Command> onCollectsDue() {
        tell(new Input.Collects(List.copyOf(collects)));
        collects.clear();
        return this;
    }

    private Behavior<Command> tell(Input input) {
        ledger.tell(new SupplyLedger.Feed(input));
        return this;
    }

    // ---- the ledger's lives

    private void startLedger() {
        ledger = getContext()
                .spawn(SupplyLedger.create(with, times, view, getContext().getSelf()), "ledger-" + ++ledgers);
        getContext().watch(ledger);
        tell(new Input.Members(Set.copyOf(refs.keySet())));
        tell(new Input.Placed(placed));
    }

    private Behavior<Command> onStartLedger() {
        if (!closed) {
            startLedger();
        }
        return this;
    }

    /** A ledger ends over an unknown outcome or a broken invariant. Either way its journal says what is true. */
    private Behavior<Command> onChildEnded(Terminated ended) {
        if (ended.getRef().equals(ledger) && !closed) {
            with.counters.ledgerRestarts.incrementAndGet();
            if (ended instanceof ChildFailed failed && failed.cause() instanceof IllegalStateException broken) {
                with.counters.violations.incrementAndGet();
                getContext().getLog().error("{}'s ledger found a broken invariant and recovers", me, broken);
            } else {
                getContext()
                        .getLog()
                        .warn("{}'s ledger does not know the outcome of a write and recovers: {}", me, why(ended));
            }
            timers.startSingleTimer(new StartLedger(), Duration.ofNanos(times.recoveryNs()));
        }
        return this;
    }

    /** The innermost cause, which is what the store said. */
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

    private void close() {
        if (!closed) {
            closed = true;
            getContext().getLog().warn("{}'s journal was closed by an heir", me);
            with.fenced.run();
        }
    }

    // ---- what the node wants

    private Behavior<Command> onPerform(Perform wanted) {
        Effect effect = wanted.effect;
        if (effect instanceof Effect.Send e) {
            post(e.transfer().id().to().broker(), new PeerMessage.Sent(e.transfer(), me));
        } else if (effect instanceof Effect.Acknowledge e) {
            with.failpoints.reached(Failpoints.Step.BEFORE_ACKNOWLEDGE);
            post(e.to().broker(), new PeerMessage.Acknowledged(e.transfer(), e.to()));
        } else if (effect instanceof Effect.Tell e) {
            post(e.to(), e.message());
        } else if (effect instanceof Effect.CloseGate) {
            close();
        } else if (effect instanceof Effect.Violated e) {
            with.counters.violations.incrementAndGet();
            getContext().getLog().error("{} violates the protocol: {}", me, e.what());
        } else if (!onRows(effect)) {
            buddy.tell(new BestBuddy.CarryOut(effect));
        }
        return this;
    }

    private void post(BrokerId to, PeerMessage message) {
        ActorRef<PeerMessage> neighbour = neighbours.get(to);
        if (neighbour != null) {
            neighbour.tell(message);
        }
    }

    private boolean onRows(Effect effect) {
        if (effect instanceof Effect.ReadRows e) {
            getContext()
                    .pipeToSelf(
                            CompletableFuture.supplyAsync(() -> read(e.limitsAfter()), with.storeExecutor),
                            (read, failure) ->
                                    failure == null ? new Looked(read) : new LookFailed(failure.getMessage()));
        } else if (effect instanceof Effect.LookAfter e) {
            timers.startSingleTimer(new Due(new Input.LookDue()), Duration.ofNanos(Math.max(1, e.delayNs())));
        } else if (effect instanceof Effect.MarkDone e) {
            finished.put(e.topic(), e.version());
            finish();
        } else if (effect instanceof Effect.ClaimMint e) {
            store("claim " + e.topic(), () -> claimMint(e));
        } else if (effect instanceof Effect.ReadClosed e) {
            answer("read the closed holders", () -> new Input.ClosedRead(with.store.closed(e.most())));
        } else if (effect instanceof Effect.Forget e) {
            answer("forget " + e.removal(), () -> forget(e.removal()));
        } else {
            return false;
        }
        return true;
    }

    /** What becomes done while the store is being told goes together afterwards. */
    private void finish() {
        if (!finishing && !finished.isEmpty()) {
            finishing = true;
            Map<TopicName, Long> all = Map.copyOf(finished);
            finished.clear();
            getContext()
                    .pipeToSelf(
                            CompletableFuture.runAsync(() -> with.store.finished(all), with.storeExecutor),
                            (done, failure) -> new Finished(failure));
        }
    }

    private Behavior<Command> onFinished(Finished done) {
        finishing = false;
        finish();
        return onDone(new Done("finish versions", done.failure));
    }

    private Input.Looked read(long limitsAfter) {
        SupplyStore.LimitChanges changes = with.store.allLimitsAfter(limitsAfter);
        return new Input.Looked(with.store.rows(), changes.upTo(), changes.rows());
    }

    private void claimMint(Effect.ClaimMint claim) {
        if (with.store.claimMint(claim.topic(), claim.version(), claim.expected(), me)) {
            with.failpoints.reached(Failpoints.Step.AFTER_MINT_CLAIM);
        }
    }

    private Input.Forgotten forget(Retention.Removal removal) {
        if (removal instanceof Retention.OfHolder of) {
            with.store.forget(of.closed());
        } else if (removal instanceof Retention.OfVersions of) {
            with.store.forgetVersions(of.topic(), of.below());
        } else if (removal instanceof Retention.OfName of) {
            with.store.forgetName(of.topic(), of.version());
        }
        return new Input.Forgotten(removal);
    }

    private void answer(String what, Supplier<Input.Answer> call) {
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(call, with.storeExecutor),
                        (answer, failure) -> failure == null ? new Answered(answer) : new Done(what, failure));
    }

    private void store(String what, Runnable call) {
        getContext()
                .pipeToSelf(
                        CompletableFuture.runAsync(call, with.storeExecutor),
                        (answer, failure) -> new Done(what, failure));
    }

    /** What failed is tried again after the next look at the rows. */
    private Behavior<Command> onDone(Done done) {
        if (done.failure != null) {
            getContext().getLog().debug("{} could not {}: {}", me, done.what, done.failure.getMessage());
        }
        return this;
    }

    private Behavior<Command> onLooked(Looked looked) {
        toldLookFailed = false;
        return tell(looked.rows);
    }

    private Behavior<Command> onLookFailed(LookFailed failed) {
        if (!toldLookFailed) {
            toldLookFailed = true;
            getContext().getLog().warn("{} can't read the store's rows: {}", me, failed.why);
        }
        return tell(new Input.LookFailed());
    }

    // ---- what an operator may want to know

    private Behavior<Command> onStored(Stored stored) {
        SupplyCounters counters = with.counters;
        if (stored.event instanceof SupplyEvent.Debited) {
            counters.sent.incrementAndGet();
        } else if (stored.event instanceof SupplyEvent.Credited) {
            counters.received.incrementAndGet();
        } else if (stored.event instanceof SupplyEvent.Refunded) {
            counters.refunded.incrementAndGet();
        } else if (stored.event instanceof SupplyEvent.Minted) {
            counters.mints.incrementAndGet();
        } else if (stored.event instanceof SupplyEvent.Inherited inherited) {
            counters.inheritances.incrementAndGet();
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

    private Behavior<Command> onRing(OnRing ring) {
        getContext()
                .getLog()
                .info(
                        "{} is on the ring {}, next to {}",
                        me,
                        ring.members,
                        ring.near.stream().map(Holder::broker).toList());
        return this;
    }

    private Behavior<Command> onDescribe(Describe question) {
        ledger.tell(new SupplyLedger.Show(question));
        return this;
    }

    private Behavior<Command> onReportWanted(ReportWanted wanted) {
        ledger.tell(new SupplyLedger.Report(wanted));
        return this;
    }

    // ---- who is there

    private Behavior<Command> onMembers(Members members) {
        ActorRefResolver resolver = ActorRefResolver.get(getContext().getSystem());
        String system = getContext().getSystem().name();
        Map<BrokerId, ActorRef<Command>> all = new LinkedHashMap<>();
        members.addresses.forEach((broker, address) ->
                all.put(broker, resolver.resolveActorRef("akka://" + system + "@" + address + "/user/" + NAME)));
        all.put(me.broker(), getContext().getSelf());
        reach(all);
        return tell(new Input.Members(Set.copyOf(refs.keySet())));
    }

    private Behavior<Command> onPlaced(Placed now) {
        placed = now.rates;
        return tell(new Input.Placed(placed));
    }

    private void reach(Map<BrokerId, ActorRef<Command>> all) {
        refs.forEach((broker, ref) -> {
            if (!ref.equals(all.get(broker))) {
                getContext().stop(neighbours.remove(broker));
            }
        });
        refs.clear();
        refs.putAll(all);
        refs.forEach((broker, ref) -> neighbours.computeIfAbsent(
                broker, id -> getContext().spawnAnonymous(RingNeighbour.create(ref, with.counters.messages))));
    }

    private Behavior<Command> onWhoIsThere(WhoIsThere question) {
        question.replyTo.tell(new Peers(Map.copyOf(refs), me));
        return this;
    }
}
