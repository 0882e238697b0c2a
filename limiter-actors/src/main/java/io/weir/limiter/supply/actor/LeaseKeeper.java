package io.weir.limiter.supply.actor;

import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.javadsl.TimerScheduler;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Renews one holder's lease every L/4, over a connection of its own that gives up before the next renewal is due. It
 * lives in the process, not in the cluster's actor system: a broker that the split brain resolver removed keeps what it
 * holds for as long as it reaches the store.
 *
 * <p>A refused renewal means fenced: the lease is closed at once, and the process comes back as a new incarnation. A
 * renewal that fails in any other way means nothing; if none succeeds, the lease ends by itself.
 *
 * <p>It also checks the clock that all of this relies on (assumption A2): while a machine was suspended,
 * {@code nanoTime} may have stood still though the system's uptime went on.
 */
public final class LeaseKeeper extends AbstractBehavior<LeaseKeeper.Command> {
    /** What the keeper understands. */
    public sealed interface Command {}

    /** The lease is given up: no more renewals. */
    public record Stop() implements Command {}

    private record RenewalDue() implements Command {}

    private record Renewed(long sentNs) implements Command {}

    private record Refused() implements Command {}

    private record Unknown(String reason) implements Command {}

    /**
     * More than rounding explains: uptime counts in hundredths of a second, and is read a moment before or after the
     * clock.
     */
    private static final long MOST_DISAGREEMENT_NS = 1_000_000_000L;

    private final SupplyStore store;
    private final Executor executor;
    private final Holder holder;
    private final Lease lease;
    private final LongSupplier clock;
    private final Supplier<OptionalLong> uptimeNs;
    private final Runnable fenced;
    private final Failpoints failpoints;
    private final TimerScheduler<Command> timers;
    private final Duration interval;
    private OptionalLong lastUptimeNs = OptionalLong.empty();
    private long lastNs;
    /** Whether the last renewal failed, so that the log says it once. */
    private boolean failing;

    /**
     * @param executor for calls that may block for as long as the store's time-out
     * @param uptimeNs how long the system has been up, suspended time included; empty where that is not known
     * @param fenced run once, when the lease is closed for good
     */
    public static Behavior<Command> create(
            SupplyStore store,
            Executor executor,
            Holder holder,
            Lease lease,
            Duration length,
            LongSupplier clock,
            Supplier<OptionalLong> uptimeNs,
            Runnable fenced,
            Failpoints failpoints) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers -> new LeaseKeeper(
                context, timers, store, executor, holder, lease, length, clock, uptimeNs, fenced, failpoints)));
    }

    private LeaseKeeper(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            SupplyStore store,
            Executor executor,
            Holder holder,
            Lease lease,
            Duration length,
            LongSupplier clock,
            Supplier<OptionalLong> uptimeNs,
            Runnable fenced,
            Failpoints failpoints) {
        super(context);
        // Akka would otherwise derive the logger's name from the withTimers wrapper.
        context.setLoggerName(LeaseKeeper.class);
        this.timers = timers;
        this.store = store;
        this.executor = executor;
        this.holder = holder;
        this.lease = lease;
        this.interval = length.dividedBy(4);
        this.clock = clock;
        this.uptimeNs = uptimeNs;
        this.fenced = fenced;
        this.failpoints = failpoints;
        planNext();
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(RenewalDue.class, due -> onDue())
                .onMessage(Renewed.class, this::onRenewed)
                .onMessage(Refused.class, refused -> onRefused())
                .onMessage(Unknown.class, this::onUnknown)
                .onMessage(Stop.class, stop -> Behaviors.stopped())
                .build();
    }

    /**
     * Planned after each answer, not at a fixed rate, so that a paused process does not wake to a burst of renewals.
     */
    private void planNext() {
        timers.startSingleTimer(new RenewalDue(), interval);
    }

    private Behavior<Command> onDue() {
        long sentNs = clock.getAsLong();
        if (wasSuspended(sentNs)) {
            getContext().getLog().warn("{} gives up its lease: the machine was suspended", holder);
            return onRefused();
        }
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(this::renew, executor),
                        (renewed, failure) -> failure != null
                                ? new Unknown(failure.getMessage())
                                : renewed ? new Renewed(sentNs) : new Refused());
        return this;
    }

    private boolean renew() {
        boolean renewed = store.renew(holder);
        failpoints.reached(Failpoints.Step.AFTER_RENEWAL);
        return renewed;
    }

    private boolean wasSuspended(long nowNs) {
        OptionalLong up = uptimeNs.get();
        boolean suspended = up.isPresent()
                && lastUptimeNs.isPresent()
                && up.getAsLong() - lastUptimeNs.getAsLong() - (nowNs - lastNs) > MOST_DISAGREEMENT_NS;
        lastUptimeNs = up;
        lastNs = nowNs;
        return suspended;
    }

    private Behavior<Command> onRenewed(Renewed renewed) {
        lease.renewed(renewed.sentNs);
        if (failing) {
            failing = false;
            getContext().getLog().info("{} reaches the store again and renews its lease", holder);
        }
        planNext();
        return this;
    }

    private Behavior<Command> onUnknown(Unknown unknown) {
        if (!failing) {
            failing = true;
            getContext().getLog().warn("{} could not renew its lease: {}", holder, unknown.reason);
        }
        planNext();
        return this;
    }

    private Behavior<Command> onRefused() {
        if (!lease.closed()) {
            lease.close();
            getContext()
                    .getLog()
                    .warn("{} was fenced: its gates are closed, it comes back as a new incarnation", holder);
            fenced.run();
        }
        return Behaviors.stopped();
    }
}
