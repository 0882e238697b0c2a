package io.weir.limiter.follow;

import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.TimerScheduler;
import akka.japi.function.Function2;
import io.weir.limiter.algorithm.Looks;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.LongFunction;

/**
 * Follows rows of the store for an actor: looks on a store thread after every pause, at once when a row is said to be
 * new, and again after the pause when a look failed. What a look found comes to the actor as a message, which the actor
 * answers with {@link #looked} or {@link #failed}; {@link Looks} decides when the next one is due. For the actor's
 * thread only.
 *
 * @param <M> the actor's messages
 * @param <R> what a look finds
 */
public final class RowFollower<M, R> {
    /** With the scheduler's next tick: while rows change all the time, a look finds those of some milliseconds. */
    private static final Duration SOON = Duration.ofMillis(1);

    private final ActorContext<M> context;
    private final TimerScheduler<M> timers;
    private final Executor storeThreads;
    private final Duration pause;
    private final LongFunction<R> rowsAfter;
    private final M due;
    private final Function2<R, Throwable, M> found;
    private final Looks looks = new Looks();
    private long upTo;

    /**
     * @param rowsAfter reads what changed after a number that an earlier look answered, 0 for all; called by a store
     *     thread
     * @param due comes to the actor when the pause is over, and now for the first look; the actor answers it with
     *     {@link #look}
     * @param found what a look found, or why it failed, as a message
     */
    public RowFollower(
            ActorContext<M> context,
            TimerScheduler<M> timers,
            Executor storeThreads,
            Duration pause,
            LongFunction<R> rowsAfter,
            M due,
            Function2<R, Throwable, M> found) {
        this.context = context;
        this.timers = timers;
        this.storeThreads = storeThreads;
        this.pause = pause;
        this.rowsAfter = rowsAfter;
        this.due = due;
        this.found = found;
        context.getSelf().tell(due);
    }

    /** The pause is over. */
    public void look() {
        if (looks.due()) {
            read();
        }
    }

    /** A row is new. */
    public void lookNow() {
        if (looks.rowIsNew()) {
            read();
        }
    }

    private void read() {
        long after = upTo;
        context.pipeToSelf(CompletableFuture.supplyAsync(() -> rowsAfter.apply(after), storeThreads), found);
    }

    /** @param newUpTo the number up to which the look read */
    public void looked(long newUpTo) {
        looked(newUpTo, false);
    }

    /** @param more whether it read a page of what there is, and the next one is due at once */
    public void looked(long newUpTo, boolean more) {
        upTo = newUpTo;
        boolean soon = looks.ended();
        if (more) {
            timers.cancel(due);
            context.getSelf().tell(due);
        } else {
            timers.startSingleTimer(due, soon ? SOON : pause);
        }
    }

    /** The next look reads the same again. */
    public void failed() {
        timers.startSingleTimer(due, looks.ended() ? SOON : pause);
    }

    /** The next look reads everything. */
    public void startOver() {
        upTo = 0;
    }
}
