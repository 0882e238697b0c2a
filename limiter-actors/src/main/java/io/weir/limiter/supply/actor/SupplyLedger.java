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
import io.weir.limiter.supply.protocol.Input;
import io.weir.limiter.supply.protocol.KnownLimits;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.ProtocolTimes;
import io.weir.limiter.supply.protocol.StoreView;
import io.weir.limiter.supply.protocol.SupplyNode;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * One holder's journal, and the only actor that appends to it while it is open. It feeds a {@link SupplyNode}, stores
 * the node's events and carries out its effects at the gates; all other effects it passes to its parent.
 *
 * <p>A write of unknown outcome ends this actor, and so does a gate that does not answer. Its parent starts it again;
 * it replays the journal and appends {@code Recovered} before it uses anything. If a late write of its former life has
 * taken that sequence number, it ends and replays once more; if {@code Fenced} has, it is closed for ever.
 */
public final class SupplyLedger extends EventSourcedBehavior<SupplyLedger.Command, SupplyEvent, Ledger> {
    /** A snapshot has every topic in it, so with many topics one must not follow the other too soon. */
    private static final int EVENTS_A_SNAPSHOT = 1_000;

    /** What the ledger understands. All commands are local. */
    public sealed interface Command {}

    /** Feed this to the node. */
    record Feed(Input input) implements Command {}

    /** Show what this broker has of a topic. */
    record Show(SupplyCoordinator.Describe question) implements Command {}

    /** Report the TB adaptor's topics to it. */
    record Report(SupplyCoordinator.ReportWanted wanted) implements Command {}

    private record GatesChanged() implements Command {}

    private record GateFailed(Throwable reason) implements Command {}

    private final ActorContext<Command> context;
    private final SupplyCoordinator.Dependencies with;
    private final ProtocolTimes times;
    private final StoreView view;
    private final ActorRef<? super SupplyCoordinator.FromLedger> parent;
    /** Absent during the replay. */
    private SupplyNode node;

    private final List<Effect> afterCommit = new ArrayList<>();
    private List<Holder> near = List.of();

    public static PersistenceId journalOf(Holder holder) {
        return PersistenceId.ofUniqueId("supply|" + holder.broker() + "|" + holder.incarnation());
    }

    /** @param view what this process has read of the rows, perhaps before this actor */
    static Behavior<Command> create(
            SupplyCoordinator.Dependencies with,
            ProtocolTimes times,
            StoreView view,
            ActorRef<? super SupplyCoordinator.FromLedger> parent) {
        return Behaviors.setup(context -> new SupplyLedger(context, with, times, view, parent));
    }

    private SupplyLedger(
            ActorContext<Command> context,
            SupplyCoordinator.Dependencies with,
            ProtocolTimes times,
            StoreView view,
            ActorRef<? super SupplyCoordinator.FromLedger> parent) {
        super(journalOf(with.me()));
        this.context = context;
        this.with = with;
        this.times = times;
        this.view = view;
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

    /**
     * Snapshots let a victim be replayed in milliseconds whatever its age. They hold all that the deleted events said.
     */
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
                afterCommit.addAll(
                        node.on(new Input.Committed(event), with.clock().getAsLong()));
            }
            return ledger;
        };
    }

    @Override
    public SignalHandler<Ledger> signalHandler() {
        return newSignalHandlerBuilder()
                .onSignal(RecoveryCompleted.instance(), ledger -> {
                    node = new SupplyNode(times, with.failpoints().bookkeeper(ledger), view, with.random());
                    context.getSelf().tell(new Feed(new Input.Begin(System.nanoTime())));
                })
                .build();
    }

    @Override
    public CommandHandler<Command, SupplyEvent, Ledger> commandHandler() {
        return newCommandHandlerBuilder()
                .forAnyState()
                .onCommand(Feed.class, (ledger, command) -> onFeed(command.input))
                .onCommand(Show.class, (ledger, command) -> onShow(command.question))
                .onCommand(Report.class, (ledger, command) -> onReport(command.wanted))
                .onCommand(GatesChanged.class, (ledger, command) -> Effect().none())
                .onCommand(GateFailed.class, (ledger, command) -> onGateFailed(command))
                .build();
    }

    private EffectBuilder<SupplyEvent, Ledger> onFeed(Input input) {
        List<Effect> effects = node.on(input, with.clock().getAsLong());
        publish(input);
        return perform(effects);
    }

    /** Publishes what metrics and the log show of this input's effect. */
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
                return Effect().persist(append.events()).thenRun(ledger -> committed(append.events()));
            }
            carryOut(effect);
        }
        return Effect().none();
    }

    private void committed(List<SupplyEvent> events) {
        with.failpoints().reached(Failpoints.Step.after(events.get(0)));
        List<Effect> effects = List.copyOf(afterCommit);
        afterCommit.clear();
        effects.forEach(this::carryOut);
        events.forEach(event -> parent.tell(new SupplyCoordinator.Stored(event)));
        if (node.hasMore()) {
            context.getSelf().tell(new Feed(new Input.GoOn()));
        }
    }

    private void carryOut(Effect effect) {
        if (effect instanceof Effect.RemoveAtGate e) {
            atTheGates(with.gates().remove(with.me(), e.wanted()), removed -> new Feed(new Input.Removed(removed)));
        } else if (effect instanceof Effect.AddAtGate e) {
            atTheGates(with.gates().add(with.me(), e.more()), done -> new GatesChanged());
        } else if (effect instanceof Effect.ResetGate e) {
            atTheGates(with.gates().reset(with.me(), e.all()), done -> new GatesChanged());
        } else if (effect instanceof Effect.SampleGates e) {
            context.pipeToSelf(
                    with.gates().samples(),
                    (samples, failure) -> new Feed(
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

    /** Runs on the gates' thread, so it reads only what never changes. */
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
        List<Adaptor.Report> reports = view.limits().entries().stream()
                .map(KnownLimits.Entry::last)
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
