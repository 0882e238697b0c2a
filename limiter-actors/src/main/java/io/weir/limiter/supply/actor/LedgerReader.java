package io.weir.limiter.supply.actor;

import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.persistence.typed.RecoveryCompleted;
import akka.persistence.typed.SnapshotAdapter;
import akka.persistence.typed.javadsl.CommandHandler;
import akka.persistence.typed.javadsl.EffectBuilder;
import akka.persistence.typed.javadsl.EventHandler;
import akka.persistence.typed.javadsl.EventSourcedBehavior;
import akka.persistence.typed.javadsl.SignalHandler;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Replays another holder's journal once, closes it if asked to, answers with the ledger and ends. If the holder itself
 * has just used the sequence number, appending {@code Fenced} fails: then there is no answer, and whoever asked asks
 * again.
 */
final class LedgerReader extends EventSourcedBehavior<LedgerReader.Go, SupplyEvent, Ledger> {
    static final SnapshotAdapter<Ledger> SNAPSHOTS = new SnapshotAdapter<>() {
        @Override
        public Object toJournal(Ledger ledger) {
            return ledger.snapshot();
        }

        @Override
        public Ledger fromJournal(Object stored) {
            return new Ledger((Ledger.Snapshot) stored);
        }
    };

    record Go() {}

    private final ActorContext<Go> context;
    private final Holder of;
    private final Optional<Holder> closer;
    private final Consumer<Ledger> found;
    private final Failpoints failpoints;

    /** @param closer who closes the journal; empty to only read it */
    static Behavior<Go> create(Holder of, Optional<Holder> closer, Consumer<Ledger> found, Failpoints failpoints) {
        return Behaviors.setup(context -> new LedgerReader(context, of, closer, found, failpoints));
    }

    private LedgerReader(
            ActorContext<Go> context,
            Holder of,
            Optional<Holder> closer,
            Consumer<Ledger> found,
            Failpoints failpoints) {
        super(SupplyLedger.journalOf(of));
        this.context = context;
        this.of = of;
        this.closer = closer;
        this.found = found;
        this.failpoints = failpoints;
    }

    @Override
    public Ledger emptyState() {
        return new Ledger(of);
    }

    @Override
    public SnapshotAdapter<Ledger> snapshotAdapter() {
        return SNAPSHOTS;
    }

    @Override
    public EventHandler<Ledger, SupplyEvent> eventHandler() {
        return (ledger, event) -> {
            ledger.apply(event);
            return ledger;
        };
    }

    @Override
    public SignalHandler<Ledger> signalHandler() {
        return newSignalHandlerBuilder()
                .onSignal(RecoveryCompleted.instance(), ledger -> context.getSelf()
                        .tell(new Go()))
                .build();
    }

    @Override
    public CommandHandler<Go, SupplyEvent, Ledger> commandHandler() {
        return newCommandHandlerBuilder()
                .forAnyState()
                .onCommand(
                        Go.class,
                        (ledger, go) -> closer.isPresent() && !ledger.closed()
                                ? close(new SupplyEvent.Fenced(closer.get()))
                                : Effect().none().thenRun(found::accept).thenStop())
                .build();
    }

    private EffectBuilder<SupplyEvent, Ledger> close(SupplyEvent.Fenced fenced) {
        failpoints.reached(Failpoints.Step.before(fenced));
        return Effect()
                .persist(fenced)
                .thenRun((Ledger closed) -> {
                    failpoints.reached(Failpoints.Step.after(fenced));
                    found.accept(closed);
                })
                .thenStop();
    }
}
