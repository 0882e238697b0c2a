package io.weir.limiter.supply;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import io.weir.config.WeirSettings.SupplySettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.algorithm.Account;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Inheritance;
import io.weir.limiter.supply.algorithm.Inheritance.Step;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.Watch;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Watches everybody's lease, and inherits from those that stopped, step by step as {@link Inheritance} says: the ring's successor
 * first, the others after it one by one, the sweeper's host last. Each victim is worked on apart. A step whose outcome is
 * unknown is simply given up: the next look at the rows begins again where the store is.
 */
final class BestBuddy extends AbstractBehavior<BestBuddy.Command> {
    private static final int MOST_STEPS = 12;

    sealed interface Command {}

    /** All rows, with the own clock read after they came. */
    record Rows(List<LeaseRow> rows, long nowNs) implements Command {}

    /** This broker hosts the sweeper: nobody comes after it, so it also takes on what all others left. */
    record Sweep() implements Command {}

    private record Found(LeaseRow row, Ledger victim, Ledger mine, Optional<Ledger> heir, int stepsLeft)
            implements Command {}

    private record StepDone(Holder victim, Optional<Ledger> heir, int stepsLeft) implements Command {}

    private record GivenUp(Holder victim, String why) implements Command {}

    private record Read(Holder holder, Optional<Ledger> ledger) implements Command {}

    private final SupplyStore store;
    private final Executor executor;
    private final Journals journals;
    private final Holder me;
    private final ActorRef<SupplyLedger.Command> ledger;
    private final SupplyCounters counters;
    private final Duration courtesy;
    private final LongSupplier clock;
    private final Failpoints failpoints;
    private final Watch watch;
    private final Set<Holder> workingOn = new HashSet<>();
    /** A closed journal is final, so it is read once. */
    private final Map<Holder, Ledger> closedLedgers = new HashMap<>();

    private List<LeaseRow> lastRows = List.of();
    private final Set<Holder> reading = new HashSet<>();

    static Behavior<Command> create(
            SupplySettings settings,
            SupplyStore store,
            Executor executor,
            Journals journals,
            Holder me,
            ActorRef<SupplyLedger.Command> ledger,
            SupplyCounters counters,
            LongSupplier clock,
            Failpoints failpoints) {
        return Behaviors.setup(context ->
                new BestBuddy(context, settings, store, executor, journals, me, ledger, counters, clock, failpoints));
    }

    private BestBuddy(
            ActorContext<Command> context,
            SupplySettings settings,
            SupplyStore store,
            Executor executor,
            Journals journals,
            Holder me,
            ActorRef<SupplyLedger.Command> ledger,
            SupplyCounters counters,
            LongSupplier clock,
            Failpoints failpoints) {
        super(context);
        this.store = store;
        this.executor = executor;
        this.journals = journals;
        this.me = me;
        this.ledger = ledger;
        this.counters = counters;
        this.courtesy = settings.lease().dividedBy(5);
        this.clock = clock;
        this.failpoints = failpoints;
        long leaseNs = settings.lease().toNanos();
        this.watch = new Watch(
                failpoints.patienceNs(Watch.patienceNs(
                        leaseNs, settings.driftPpm(), settings.guard().toNanos())),
                leaseNs / 4);
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Rows.class, this::onRows)
                .onMessage(Sweep.class, sweep -> onSweep())
                .onMessage(Found.class, this::onFound)
                .onMessage(StepDone.class, this::onStepDone)
                .onMessage(GivenUp.class, this::onGivenUp)
                .onMessage(Read.class, this::onRead)
                .build();
    }

    private Behavior<Command> onRows(Rows read) {
        lastRows = read.rows;
        watch.read(read.rows, read.nowNs);
        Set<BrokerId> live = new HashSet<>(Set.of(me.broker()));
        read.rows.stream()
                .filter(row -> row.state() == LeaseRow.State.LIVE)
                .forEach(row -> live.add(row.holder().broker()));
        for (LeaseRow row : read.rows) {
            if (!row.holder().equals(me)) {
                lookAt(row, courtesy.multipliedBy(rankAfter(row.holder().broker(), live)), read.nowNs);
            }
        }
        tellStranded();
        return this;
    }

    private Behavior<Command> onSweep() {
        long nowNs = clock.getAsLong();
        Duration last = courtesy.multipliedBy(lastRows.size() + 1L);
        for (LeaseRow row : lastRows) {
            if (!row.holder().equals(me)) {
                lookAt(row, last, nowNs);
            }
        }
        return this;
    }

    /** 0 for the best buddy. A former life of this broker itself is the best known to it. */
    private int rankAfter(BrokerId victim, Set<BrokerId> live) {
        if (victim.equals(me.broker())) {
            return 0;
        }
        Set<BrokerId> all = new HashSet<>(live);
        all.add(victim);
        return Ring.of(all).heirs(victim).indexOf(me.broker());
    }

    private void lookAt(LeaseRow row, Duration after, long nowNs) {
        Holder victim = row.holder();
        if (watch.expired(row, after.toNanos(), nowNs) && workingOn.add(victim)) {
            run(victim, () -> {
                boolean fenced = store.fence(victim, row.renewSeq());
                if (fenced) {
                    failpoints.reached(Failpoints.Step.AFTER_FENCE);
                }
                getContext().getLog().info("{} {} {}", me, fenced ? "fenced" : "could not fence", victim);
                return new StepDone(victim, Optional.empty(), MOST_STEPS);
            });
        } else if (watch.waiting(row, after.toNanos(), nowNs) && workingOn.add(victim)) {
            read(victim, Optional.empty(), MOST_STEPS);
        }
    }

    /** The row, the victim's journal as it is now (closed if it must be), and the own ledger. */
    private void read(Holder victim, Optional<Ledger> heir, int stepsLeft) {
        CompletionStage<Found> found = CompletableFuture.supplyAsync(() -> store.row(victim), executor)
                .thenCompose(row -> {
                    LeaseRow present = row.orElseThrow(() -> new IllegalStateException("no lease row of " + victim));
                    Optional<Holder> closer =
                            present.state() == LeaseRow.State.LIVE ? Optional.empty() : Optional.of(me);
                    return journal(victim, closer)
                            .thenCombine(
                                    own(),
                                    (ledgerOfVictim, mine) ->
                                            new Found(present, ledgerOfVictim, mine, heir, stepsLeft));
                });
        getContext()
                .pipeToSelf(
                        found, (read, failure) -> failure == null ? read : new GivenUp(victim, failure.getMessage()));
    }

    private Behavior<Command> onFound(Found found) {
        Holder victim = found.row.holder();
        if (found.victim.closed()) {
            closedLedgers.put(victim, found.victim);
        }
        Step step = Inheritance.next(found.row, found.victim, found.mine, found.heir);
        int left = found.stepsLeft - 1;
        if (left == 0 || step instanceof Step.Rest) {
            workingOn.remove(victim);
        } else if (step instanceof Step.CloseJournal) {
            // Reading closes it; an open one means that the row was LIVE when it was read.
            read(victim, Optional.empty(), left);
        } else if (step instanceof Step.Claim claim) {
            run(victim, () -> {
                if (store.claim(victim, claim.account(), claim.expected(), me)) {
                    failpoints.reached(Failpoints.Step.AFTER_CLAIM);
                }
                return new StepDone(victim, Optional.empty(), left);
            });
        } else if (step instanceof Step.Inherit inherit) {
            ledger.tell(new SupplyLedger.Decide(keeper -> keeper.inherit(found.victim, inherit.account())));
            // Ordered behind the decision, so the next read sees whether it was stored.
            getContext().getSelf().tell(new StepDone(victim, Optional.empty(), left));
        } else if (step instanceof Step.MarkDone done) {
            run(victim, () -> {
                store.inherited(victim, done.account());
                failpoints.reached(Failpoints.Step.AFTER_DONE);
                return new StepDone(victim, Optional.empty(), left);
            });
        } else if (step instanceof Step.ReadHeir heir) {
            getContext()
                    .pipeToSelf(
                            journal(heir.heir(), Optional.empty()),
                            (read, failure) -> failure == null
                                    ? new StepDone(victim, Optional.of(read), left)
                                    : new GivenUp(victim, failure.getMessage()));
        }
        return this;
    }

    private Behavior<Command> onStepDone(StepDone done) {
        read(done.victim, done.heir, done.stepsLeft);
        return this;
    }

    private Behavior<Command> onGivenUp(GivenUp given) {
        getContext().getLog().debug("{} tries {} again later: {}", me, given.victim, given.why);
        workingOn.remove(given.victim);
        return this;
    }

    private void run(Holder victim, Supplier<StepDone> step) {
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(step, executor),
                        (done, failure) -> failure == null ? done : new GivenUp(victim, failure.getMessage()));
    }

    private CompletionStage<Ledger> journal(Holder of, Optional<Holder> closer) {
        Ledger known = closedLedgers.get(of);
        return known != null ? CompletableFuture.completedFuture(known) : journals.read(of, closer);
    }

    private CompletionStage<Ledger> own() {
        CompletableFuture<Ledger> answer = new CompletableFuture<>();
        ledger.tell(new SupplyLedger.Look(
                keeper -> answer.complete(new Ledger(keeper.ledger().snapshot()))));
        return answer.orTimeout(Journals.TIMEOUT_MS, TimeUnit.MILLISECONDS);
    }

    /** What is neither with a live holder nor inherited yet: of a victim that is being inherited from, or of one cut off. */
    private void tellStranded() {
        Map<TopicName, Share> stranded = new HashMap<>();
        Set<Holder> unsettled = new HashSet<>();
        for (LeaseRow row : lastRows) {
            if (row.state() != LeaseRow.State.LIVE) {
                unsettled.add(row.holder());
                Ledger victim = closedLedgers.get(row.holder());
                if (victim != null) {
                    addStranded(row, victim, stranded);
                } else if (reading.add(row.holder())) {
                    getContext()
                            .pipeToSelf(
                                    journals.read(row.holder(), Optional.empty()),
                                    (read, failure) -> new Read(row.holder(), Optional.ofNullable(read)));
                }
            }
        }
        closedLedgers.keySet().retainAll(unsettled);
        counters.stranded(stranded);
    }

    private static void addStranded(LeaseRow row, Ledger victim, Map<TopicName, Share> stranded) {
        for (Account account : Account.values()) {
            if (!row.of(account).done()) {
                victim.shares().forEach((topic, holding) -> {
                    if (!holding.in(account).isNone()) {
                        stranded.merge(topic, holding.in(account).share(), Share::plus);
                    }
                });
            }
        }
    }

    private Behavior<Command> onRead(Read read) {
        reading.remove(read.holder);
        read.ledger.filter(Ledger::closed).ifPresent(closed -> closedLedgers.put(read.holder, closed));
        return this;
    }
}
