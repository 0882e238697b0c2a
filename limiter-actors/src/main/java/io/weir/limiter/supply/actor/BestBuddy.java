package io.weir.limiter.supply.actor;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Input;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * Carries out what a {@link io.weir.limiter.supply.protocol.SupplyNode} wants done about holders that stopped, one step
 * at a time for each victim: it fences, closes journals, claims accounts and marks them inherited. It decides nothing.
 * If the outcome of a step is unknown, its answer says so.
 */
final class BestBuddy extends AbstractBehavior<BestBuddy.Command> {
    sealed interface Command {}

    /** A step about a victim, or a journal to be read. */
    record CarryOut(Effect effect) implements Command {}

    private record Fenced(Holder victim, boolean fenced) implements Command {}

    private record Done(Input.Answer answer) implements Command {}

    private record Failed(Input.Answer answer, Throwable reason) implements Command {}

    private final SupplyStore store;
    private final Executor executor;
    private final Journals journals;
    private final Holder me;
    private final ActorRef<? super SupplyCoordinator.FromBuddy> parent;
    private final Failpoints failpoints;
    /** Holders whose journals this broker has closed, so that the log says it once. */
    private final Set<Holder> closed = new HashSet<>();

    static Behavior<Command> create(
            SupplyCoordinator.Dependencies with,
            Journals journals,
            ActorRef<? super SupplyCoordinator.FromBuddy> parent) {
        return Behaviors.setup(context -> new BestBuddy(context, with, journals, parent));
    }

    private BestBuddy(
            ActorContext<Command> context,
            SupplyCoordinator.Dependencies with,
            Journals journals,
            ActorRef<? super SupplyCoordinator.FromBuddy> parent) {
        super(context);
        this.store = with.store();
        this.executor = with.storeExecutor();
        this.journals = journals;
        this.me = with.me();
        this.parent = parent;
        this.failpoints = with.failpoints();
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(CarryOut.class, this::onCarryOut)
                .onMessage(Fenced.class, this::onFenced)
                .onMessage(Done.class, this::onDone)
                .onMessage(Failed.class, this::onFailed)
                .build();
    }

    private Behavior<Command> onCarryOut(CarryOut order) {
        if (order.effect instanceof Effect.Fence e) {
            answer(inStore(() -> fence(e)), new Input.StepFailed(e.victim()));
        } else if (order.effect instanceof Effect.ReadVictim e) {
            answer(readVictim(e.victim(), e.journalToo()).thenApply(Done::new), new Input.StepFailed(e.victim()));
        } else if (order.effect instanceof Effect.Claim e) {
            answer(inStore(() -> claim(e)), new Input.StepFailed(e.victim()));
        } else if (order.effect instanceof Effect.MarkInherited e) {
            answer(inStore(() -> markInherited(e)), new Input.StepFailed(e.victim()));
        } else if (order.effect instanceof Effect.ReadJournal e) {
            answer(
                    journals.read(e.of(), Optional.empty())
                            .thenApply(ledger -> new Done(new Input.JournalRead(ledger))),
                    new Input.JournalUnread(e.of()));
        } else {
            throw new IllegalArgumentException("not for a best buddy: " + order.effect);
        }
        return this;
    }

    private CompletionStage<Command> inStore(Supplier<Command> call) {
        return CompletableFuture.supplyAsync(call, executor);
    }

    private void answer(CompletionStage<? extends Command> outcome, Input.Answer unknown) {
        getContext().pipeToSelf(outcome, (done, failure) -> failure == null ? done : new Failed(unknown, failure));
    }

    private Command fence(Effect.Fence e) {
        boolean fenced = store.fence(e.victim(), e.observedRenewSeq());
        if (fenced) {
            failpoints.reached(Failpoints.Step.AFTER_FENCE);
        }
        return new Fenced(e.victim(), fenced);
    }

    private Command claim(Effect.Claim e) {
        if (store.claim(e.victim(), e.account(), e.expected(), me)) {
            failpoints.reached(Failpoints.Step.AFTER_CLAIM);
        }
        return new Done(new Input.StepDone(e.victim()));
    }

    private Command markInherited(Effect.MarkInherited e) {
        store.inherited(e.victim(), e.account());
        failpoints.reached(Failpoints.Step.AFTER_DONE);
        return new Done(new Input.StepDone(e.victim()));
    }

    private CompletionStage<Input.VictimRead> readVictim(Holder victim, boolean journalToo) {
        return CompletableFuture.supplyAsync(() -> store.row(victim), executor).thenCompose(found -> {
            LeaseRow row = found.orElseThrow(() -> new IllegalStateException("no lease row of " + victim));
            if (!journalToo) {
                return CompletableFuture.completedFuture(new Input.VictimRead(row, Optional.empty()));
            }
            Optional<Holder> closer = row.state() == LeaseRow.State.LIVE ? Optional.empty() : Optional.of(me);
            return journals.read(victim, closer).thenApply(ledger -> new Input.VictimRead(row, Optional.of(ledger)));
        });
    }

    private Behavior<Command> onFenced(Fenced done) {
        if (!done.fenced) {
            getContext().getLog().info("{} could not fence {}: it renewed, or another was faster", me, done.victim);
        }
        parent.tell(new SupplyCoordinator.Answered(new Input.StepDone(done.victim)));
        return this;
    }

    /** The broker that closed the journal logs that it fenced the holder, however its row came to be FENCED. */
    private Behavior<Command> onDone(Done done) {
        if (done.answer instanceof Input.VictimRead read) {
            read.journal().flatMap(Ledger::fencedBy).filter(me::equals).ifPresent(by -> {
                if (closed.add(read.row().holder())) {
                    getContext().getLog().info("{} fenced {}", me, read.row().holder());
                }
            });
        }
        parent.tell(new SupplyCoordinator.Answered(done.answer));
        return this;
    }

    private Behavior<Command> onFailed(Failed failed) {
        getContext().getLog().debug("{} tries again later: {}", me, failed.reason.toString());
        parent.tell(new SupplyCoordinator.Answered(failed.answer));
        return this;
    }
}
