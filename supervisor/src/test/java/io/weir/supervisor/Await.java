package io.weir.supervisor;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;

/** Waits for a condition, with a limit that only a broken build reaches. */
public final class Await {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private Await() {}

    public static void until(String what, Callable<Boolean> condition) throws Exception {
        long deadlineNs = System.nanoTime() + LIMIT.toNanos();
        while (!condition.call()) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new AssertionError("not within " + LIMIT.toSeconds() + " s: " + what);
            }
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        }
    }
}
