package io.weir.supervisor.cli;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Ctrl-C in a long command that has something to say also when it ends early: it is told to stop, and the process lives
 * until it has printed its answer and {@link #close}d this, or for so long.
 */
public final class EarlyEnd implements AutoCloseable {
    private final CountDownLatch printed = new CountDownLatch(1);
    private final Thread hook;

    /** @param stop called by another thread, at most once */
    public EarlyEnd(Runnable stop, Duration answeredWithin) {
        hook = new Thread(() -> interrupted(stop, answeredWithin), "early-end");
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** The JVM ends when this returns. */
    private void interrupted(Runnable stop, Duration answeredWithin) {
        stop.run();
        try {
            printed.await(answeredWithin.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        printed.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending already, and the hook is at work.
            return;
        }
    }
}
