package io.weir.supervisor.node;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.ObjLongConsumer;
import java.util.function.Supplier;

/**
 * A look at something that many ask for, and that costs whoever is looked at. One look is under way at a time, the next
 * begins no sooner than a pause after the one before began, and all who asked meanwhile share it. Nobody gets to see
 * what was before he asked. For any thread.
 *
 * @param <T> what is seen
 */
public final class SharedLook<T> {
    private final Supplier<CompletionStage<T>> look;
    private final long pauseNs;
    private final LongSupplier clock;
    private final ObjLongConsumer<Runnable> later;
    private long beganNs;
    /** For those who ask from now on; null: nobody has since the last look began. */
    private CompletableFuture<T> next;

    private boolean looking;

    public SharedLook(Supplier<CompletionStage<T>> look, Duration pause) {
        this(look, pause, System::nanoTime, (task, ns) -> CompletableFuture.delayedExecutor(ns, TimeUnit.NANOSECONDS)
                .execute(task));
    }

    /** @param later runs a task after so many nanoseconds */
    SharedLook(Supplier<CompletionStage<T>> look, Duration pause, LongSupplier clock, ObjLongConsumer<Runnable> later) {
        this.look = look;
        pauseNs = pause.toNanos();
        this.clock = clock;
        this.later = later;
        beganNs = clock.getAsLong() - pauseNs;
    }

    /** What is seen by a look that begins after this call. */
    public CompletionStage<T> next() {
        CompletableFuture<T> mine;
        boolean first;
        synchronized (this) {
            first = next == null;
            if (first) {
                next = new CompletableFuture<>();
            }
            mine = next;
            first &= !looking;
        }
        if (first) {
            beginAfterPause();
        }
        return mine;
    }

    private void beginAfterPause() {
        long leftNs;
        synchronized (this) {
            leftNs = beganNs + pauseNs - clock.getAsLong();
        }
        if (leftNs <= 0) {
            begin();
        } else {
            later.accept(this::begin, leftNs);
        }
    }

    private void begin() {
        CompletableFuture<T> waiting;
        synchronized (this) {
            looking = true;
            beganNs = clock.getAsLong();
            waiting = next;
            next = null;
        }
        CompletionStage<T> seen;
        try {
            seen = look.get();
        } catch (RuntimeException e) {
            seen = CompletableFuture.failedFuture(e);
        }
        seen.whenComplete((value, failure) -> ended(waiting, value, failure));
    }

    /** Their next steps are done by other threads: whoever was looked at has better to do. */
    private void ended(CompletableFuture<T> waiting, T value, Throwable failure) {
        if (failure == null) {
            waiting.completeAsync(() -> value);
        } else {
            waiting.completeExceptionally(failure);
        }
        boolean again;
        synchronized (this) {
            looking = false;
            again = next != null;
        }
        if (again) {
            beginAfterPause();
        }
    }
}
