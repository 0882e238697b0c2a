package io.weir.limiter.supply.actor;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.persistence.typed.PersistenceId;
import akka.persistence.typed.RecoveryCompleted;
import akka.persistence.typed.SnapshotAdapter;
import akka.persistence.typed.javadsl.CommandHandler;
import akka.persistence.typed.javadsl.EffectBuilder;
import akka.persistence.typed.javadsl.EventHandler;
import akka.persistence.typed.javadsl.EventSourcedBehavior;
import akka.persistence.typed.javadsl.RetentionCriteria;
import akka.persistence.typed.javadsl.SignalHandler;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.GateSample;
import io.weir.limiter.supply.protocol.Input;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.LimitBook;
import io.weir.limiter.supply.protocol.Observed;
import io.weir.limiter.supply.protocol.SupplyNode;
import io.weir.limiter.supply.protocol.Terms;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * One holder's journal, and the only one who may append to it while it is open: feeds a {@link SupplyNode}, stores its events, and does
 * what it wants done at the gates. All else that it wants its parent has done.
 *
 * <p>A write whose outcome is unknown ends this actor, and so does a gate that does not answer. Its parent starts it
 * again; it replays the journal and appends {@code Recovered} before it uses anything. If that number is taken by a late write of its
 * former life, it ends and replays once more; if by {@code Fenced}, it is closed for ever.
 */
public final class SupplyLedger extends EventSourcedBehavior<SupplyLedger.Command, SupplyEvent, Ledger> {
    private static final int EVENTS_A_SNAPSHOT = 200;

    /** What the ledger understands. All of it is local. */
    public sealed interface Command {}

    /** Something for the node. */
    record Told(Input input) implements Command {}

    /** Somebody wants to see what there is of a topic. */
    record Show(SupplyCoordinator.Describe question) implements Command {}

    /** The TB adaptor wants to know how its topics fare. */
    record Report(SupplyCoordinator.ReportWanted wanted) implements Command {}

    private record GatesChanged() implements Command {}

    private record GateFailed(Throwable reason) implements Command {}

    private final ActorContext<Command> context;
    private final SupplyCoordinator.Dependencies with;
    private final Terms terms;
    private final Observed observed;
    private final ActorRef<? super SupplyCoordinator.FromLedger> parent;
    /** Absent during the replay. */
    private SupplyNode node;

    private List<Effect> afterCommit = List.of();
    private List<Holder> near = List.of();

    public static PersistenceId journalOf(Holder holder) {
        return PersistenceId.ofUniqueId("supply|" + holder.broker() + "|" + holder.incarnation());
    }

    /** @param observed by this process, also before this ledger's life */
    static Behavior<Command> create(
            SupplyCoordinator.Dependencies with,
            Terms terms,
            Observed observed,
            ActorRef<? super SupplyCoordinator.FromLedger> parent) {
        return Behaviors.setup(context -> new SupplyLedger(context, with, terms, observed, parent));
    }

    private SupplyLedger(
            ActorContext<Command> context,
            SupplyCoordinator.Dependencies with,
            Terms terms,
            Observed observed,
            ActorRef<? super SupplyCoordinator.FromLedger> parent) {
        super(journalOf(with.me()));
        this.context = context;
        this.with = with;
        this.terms = terms;
        this.observed = observed;
        this.parent = parent;
    }

    @Override
    public Ledger emptyState() {
        return new Ledger(with.me());
    }

    @Override
    public SnapshotAdapter<Ledger> snapshotAdapter() {
        return LedgerReader.SNAPSHOTS;
    }

    /** So that a victim is replayed in milliseconds whatever its age. Snapshots hold all that the deleted events said. */
    @Override
    public RetentionCriteria retentionCriteria() {
        return RetentionCriteria.snapshotEvery(EVENTS_A_SNAPSHOT, 2).withDeleteEventsOnSnapshot();
    }

    @Override
    public EventHandler<Ledger, SupplyEvent> eventHandler() {
        return (ledger, event) -> {
            if (node == null) {
                ledger.apply(event);
            } else {
                afterCommit = node.on(new Input.Committed(event), with.clock().getAsLong());
            }
            return ledger;
        };
    }

    @Override
    public SignalHandler<Ledger> signalHandler() {
        return newSignalHandlerBuilder()
                .onSignal(RecoveryCompleted.instance(), ledger -> {
                    node = new SupplyNode(terms, with.failpoints().bookkeeper(ledger), observed, with.random());
                    context.getSelf().tell(new Told(new Input.Begin(System.nanoTime())));
                })
                .build();
    }

    @Override
    public CommandHandler<Command, SupplyEvent, Ledger> commandHandler() {
        return newCommandHandlerBuilder()
                .forAnyState()
                .onCommand(Told.class, (ledger, command) -> onTold(command.input))
                .onCommand(Show.class, (ledger, command) -> onShow(command.question))
                .onCommand(Report.class, (ledger, command) -> onReport(command.wanted))
                .onCommand(GatesChanged.class, (ledger, command) -> Effect().none())
                .onCommand(GateFailed.class, (ledger, command) -> onGateFailed(command))
                .build();
    }

    private EffectBuilder<SupplyEvent, Ledger> onTold(Input input) {
        List<Effect> effects = node.on(input, with.clock().getAsLong());
        publish(input);
        return perform(effects);
    }

    /** What others may see of it. */
    private void publish(Input input) {
        if (input instanceof Input.Sampled) {
            with.counters().rounds.incrementAndGet();
            with.counters().busy(node.busy().stream().map(this::busy).toList());
        } else if (input instanceof Input.Looked) {
            with.counters().stranded(node.stranded());
            if (!node.near().equals(near)) {
                near = node.near();
                parent.tell(new SupplyCoordinator.OnRing(node.ring(), near));
            }
        }
    }

    private SupplyCounters.Busy busy(GateSample sample) {
        return new SupplyCounters.Busy(
                sample.topic(),
                node.ledger().share(sample.topic()).share(),
                sample.held().leased().levelMicros() + sample.held().kept().levelMicros(),
                sample.demand().rateMicros());
    }

    private EffectBuilder<SupplyEvent, Ledger> perform(List<Effect> effects) {
        for (Effect effect : effects) {
            if (effect instanceof Effect.Append append) {
                with.failpoints().reached(Failpoints.Step.before(append.event()));
                return Effect().persist(append.event()).thenRun(ledger -> committed(append.event()));
            }
            carryOut(effect);
        }
        return Effect().none();
    }

    private void committed(SupplyEvent event) {
        with.failpoints().reached(Failpoints.Step.after(event));
        afterCommit.forEach(this::carryOut);
        afterCommit = List.of();
        parent.tell(new SupplyCoordinator.Stored(event));
        if (node.hasMore()) {
            context.getSelf().tell(new Told(new Input.GoOn()));
        }
    }

    private void carryOut(Effect effect) {
        if (effect instanceof Effect.RemoveAtGate e) {
            atTheGates(with.gates().remove(with.me(), e.wanted()), removed -> new Told(new Input.Removed(removed)));
        } else if (effect instanceof Effect.AddAtGate e) {
            atTheGates(with.gates().add(with.me(), e.more()), done -> new GatesChanged());
        } else if (effect instanceof Effect.ResetGate e) {
            atTheGates(with.gates().reset(with.me(), e.all()), done -> new GatesChanged());
        } else if (effect instanceof Effect.SampleGates e) {
            context.pipeToSelf(
                    with.gates().samples(),
                    (samples, failure) -> new Told(
                            failure == null ? new Input.Sampled(e.sequence(), samples) : new Input.SampleFailed()));
        } else {
            parent.tell(new SupplyCoordinator.Perform(effect));
        }
    }

    private <T> void atTheGates(CompletionStage<T> change, Function<T, Command> done) {
        context.pipeToSelf(change, (answer, failure) -> failure == null ? done.apply(answer) : new GateFailed(failure));
    }

    private EffectBuilder<SupplyEvent, Ledger> onGateFailed(GateFailed failed) {
        throw new CompletionException("the gates did not do what the journal of " + with.me() + " says", failed.reason);
    }

    private EffectBuilder<SupplyEvent, Ledger> onShow(SupplyCoordinator.Describe question) {
        Share stored = node.ledger().share(question.topic()).share();
        Share inFlight = node.inFlight(question.topic());
        Share stranded = with.counters().stranded().getOrDefault(question.topic(), Share.NONE);
        with.gates().sample(question.topic()).thenAccept(sample -> question.replyTo()
                .tell(part(sample, stored, inFlight, stranded)));
        return Effect().none();
    }

    /** Reads what does not change: it runs on the gates' thread. */
    private SupplyCoordinator.Part part(GateSample sample, Share stored, Share inFlight, Share stranded) {
        double micros = Limit.MICROS;
        long leaseMs = with.leaseRemainingNs().getAsLong() / 1_000_000;
        Holding held = sample.held();
        long demand = sample.demand().rateMicros();
        return new SupplyCoordinator.Part(
                with.me().broker().value(),
                with.me().incarnation(),
                stored.rateMicros() / micros,
                stored.burstMicros() / micros,
                (held.leased().levelMicros() + held.kept().levelMicros()) / micros,
                demand / micros,
                demand == 0 ? null : (double) stored.rateMicros() / demand,
                leaseMs,
                leaseMs > 0 ? "live" : "lease over",
                held.kept().rateMicros() / micros,
                inFlight.rateMicros() / micros,
                inFlight.burstMicros() / micros,
                stranded.rateMicros(),
                stranded.burstMicros());
    }

    private EffectBuilder<SupplyEvent, Ledger> onReport(SupplyCoordinator.ReportWanted wanted) {
        List<Adaptor.Report> reports = observed.limits().pages().stream()
                .map(LimitBook.Page::last)
                .filter(row -> row.sharing() == Sharing.ADAPTOR && !row.limit().isNone())
                .map(this::report)
                .toList();
        wanted.replyTo().tell(new Adaptor.Reported(with.me(), wanted.round(), reports));
        return Effect().none();
    }

    private Adaptor.Report report(LimitRow row) {
        return new Adaptor.Report(
                row.topic(), row.version(), row.limit(), node.ledger().share(row.topic()), node.demand(row.topic()));
    }
}
