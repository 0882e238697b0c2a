package io.weir.limiter.supply;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.TimerScheduler;
import akka.persistence.typed.PersistenceId;
import akka.persistence.typed.RecoveryCompleted;
import akka.persistence.typed.SnapshotAdapter;
import akka.persistence.typed.javadsl.CommandHandler;
import akka.persistence.typed.javadsl.EffectBuilder;
import akka.persistence.typed.javadsl.EventHandler;
import akka.persistence.typed.javadsl.EventSourcedBehavior;
import akka.persistence.typed.javadsl.RetentionCriteria;
import akka.persistence.typed.javadsl.SignalHandler;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.algorithm.Bookkeeper;
import io.weir.limiter.supply.algorithm.Effect;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Holding;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One holder's journal, and the only one who may append to it while it is open: carries out what a {@link Bookkeeper} decides,
 * one decision at a time. Commands that come in between wait, at most {@value #MOST_KEPT_BACK} of them; a further one is
 * dropped, because whoever asks asks again.
 *
 * <p>A write whose outcome is unknown ends this actor, and so does a gate that does not answer. Its parent starts it
 * again; it replays the journal and appends {@code Recovered} before it uses anything ({@link Bookkeeper#recover}). If that number
 * is taken by a late write of its former life, it ends and replays once more; if by {@code Fenced}, it is closed for ever. So
 * "the same event under the same number until answered" is done by replaying, since Akka Persistence never appends again by itself.
 */
public final class SupplyLedger extends EventSourcedBehavior<SupplyLedger.Command, SupplyEvent, Ledger> {
    static final int MOST_KEPT_BACK = 256;
    private static final int EVENTS_A_SNAPSHOT = 200;
    private static final Duration RESEND_EVERY = Duration.ofMillis(500);

    /** What the ledger understands. All of it is local. */
    public sealed interface Command {}

    /** Something for the bookkeeper to decide when it is idle. */
    public record Decide(Function<Bookkeeper, List<Effect>> decision) implements Command {}

    /** Looks at the ledger as it is stored; {@code look} runs in the ledger's turn and must only read. */
    public record Look(Consumer<Bookkeeper> look) implements Command {}

    private record Begin() implements Command {}

    private record GoOn() implements Command {}

    private record Resend() implements Command {}

    private record Removed(Map<TopicName, Holding> holdings) implements Command {}

    private record GateFailed(Throwable reason) implements Command {}

    private final ActorContext<Command> context;
    private final Holder holder;
    private final Gates gates;
    private final ActorRef<? super Treasury.FromLedger> parent;
    private final Failpoints failpoints;
    private final ArrayDeque<Function<Bookkeeper, List<Effect>>> keptBack = new ArrayDeque<>();
    /** Absent during the replay. */
    private Bookkeeper keeper;

    private List<Effect> afterCommit = List.of();
    private boolean begun;

    public static PersistenceId journalOf(Holder holder) {
        return PersistenceId.ofUniqueId("supply|" + holder.broker() + "|" + holder.incarnation());
    }

    static Behavior<Command> create(
            Holder holder, Gates gates, ActorRef<? super Treasury.FromLedger> parent, Failpoints failpoints) {
        return Behaviors.setup(context ->
                Behaviors.withTimers(timers -> new SupplyLedger(context, timers, holder, gates, parent, failpoints)));
    }

    private SupplyLedger(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            Holder holder,
            Gates gates,
            ActorRef<? super Treasury.FromLedger> parent,
            Failpoints failpoints) {
        super(journalOf(holder));
        this.context = context;
        // Found by itself it would be that of the timers around this behaviour.
        context.setLoggerName(SupplyLedger.class);
        this.holder = holder;
        this.gates = gates;
        this.parent = parent;
        this.failpoints = failpoints;
        timers.startTimerWithFixedDelay(new Resend(), RESEND_EVERY);
    }

    @Override
    public Ledger emptyState() {
        return new Ledger(holder);
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
            if (keeper == null) {
                ledger.apply(event);
            } else {
                afterCommit = keeper.committed();
            }
            return ledger;
        };
    }

    @Override
    public SignalHandler<Ledger> signalHandler() {
        return newSignalHandlerBuilder()
                .onSignal(RecoveryCompleted.instance(), ledger -> {
                    keeper = failpoints.bookkeeper(ledger);
                    context.getSelf().tell(new Begin());
                })
                .build();
    }

    @Override
    public CommandHandler<Command, SupplyEvent, Ledger> commandHandler() {
        return newCommandHandlerBuilder()
                .forAnyState()
                .onCommand(Begin.class, (ledger, command) -> onBegin())
                .onCommand(Decide.class, (ledger, command) -> onDecide(command))
                .onCommand(Look.class, (ledger, command) -> onLook(command))
                .onCommand(Removed.class, (ledger, command) -> perform(keeper.removed(command.holdings)))
                .onCommand(GateFailed.class, (ledger, command) -> onGateFailed(command))
                .onCommand(GoOn.class, (ledger, command) -> goOn())
                .onCommand(
                        Resend.class,
                        (ledger, command) ->
                                begun ? perform(keeper.resend()) : Effect().none())
                .build();
    }

    private EffectBuilder<SupplyEvent, Ledger> onBegin() {
        begun = true;
        return perform(keeper.recover(System.nanoTime()));
    }

    private EffectBuilder<SupplyEvent, Ledger> onDecide(Decide command) {
        if (keptBack.size() < MOST_KEPT_BACK && !keeper.closed()) {
            keptBack.add(command.decision);
        }
        return goOn();
    }

    private EffectBuilder<SupplyEvent, Ledger> onLook(Look command) {
        command.look.accept(keeper);
        return Effect().none();
    }

    private EffectBuilder<SupplyEvent, Ledger> onGateFailed(GateFailed failed) {
        throw new CompletionException("the gates did not do what the journal of " + holder + " says", failed.reason);
    }

    private EffectBuilder<SupplyEvent, Ledger> goOn() {
        if (!begun || !keeper.idle() || keptBack.isEmpty()) {
            return Effect().none();
        }
        return perform(keptBack.poll().apply(keeper));
    }

    /** An append is always the last of its list. */
    private EffectBuilder<SupplyEvent, Ledger> perform(List<Effect> effects) {
        for (Effect effect : effects) {
            if (effect instanceof Effect.Append append) {
                failpoints.reached(Failpoints.Step.before(append.event()));
                return Effect().persist(append.event()).thenRun(ledger -> committed(append.event()));
            }
            carryOut(effect);
        }
        if (!keptBack.isEmpty()) {
            context.getSelf().tell(new GoOn());
        }
        return Effect().none();
    }

    private void committed(SupplyEvent event) {
        failpoints.reached(Failpoints.Step.after(event));
        afterCommit.forEach(this::carryOut);
        afterCommit = List.of();
        parent.tell(new Treasury.Committed(event));
        context.getSelf().tell(new GoOn());
    }

    private void carryOut(Effect effect) {
        if (effect instanceof Effect.RemoveAtGate e) {
            context.pipeToSelf(
                    gates.remove(holder, e.wanted()),
                    (removed, failure) -> failure == null ? new Removed(removed) : new GateFailed(failure));
        } else if (effect instanceof Effect.AddAtGate e) {
            atTheGates(gates.add(holder, e.more()));
        } else if (effect instanceof Effect.ResetGate e) {
            atTheGates(gates.reset(holder, e.all()));
        } else if (effect instanceof Effect.CloseGate) {
            parent.tell(new Treasury.JournalClosed());
        } else if (effect instanceof Effect.Send e) {
            parent.tell(new Treasury.Post(e.transfer().id().to().broker(), new Treasury.Sent(e.transfer(), holder)));
        } else if (effect instanceof Effect.Acknowledge e) {
            failpoints.reached(Failpoints.Step.BEFORE_ACKNOWLEDGE);
            parent.tell(new Treasury.Post(e.to().broker(), new Treasury.Acknowledged(e.transfer(), e.to())));
        } else if (effect instanceof Effect.MarkDone e) {
            parent.tell(new Treasury.VersionDone(e.topic(), e.version()));
        } else {
            throw new IllegalArgumentException("unknown effect " + effect);
        }
    }

    private void atTheGates(CompletionStage<Void> change) {
        context.pipeToSelf(change, (done, failure) -> failure == null ? new GoOn() : new GateFailed(failure));
    }
}
