package io.weir.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** How tests wait for what another thread does. */
public final class Awaiting {
    private static final long WITHIN_NS = TimeUnit.SECONDS.toNanos(30);
    private static final long PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(2);

    private Awaiting() {}

    /** Waits until the condition holds, and fails with {@code what} after 30 seconds. */
    public static void await(String what, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + WITHIN_NS;
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadlineNs).as(what).isNegative();
            LockSupport.parkNanos(PAUSE_NS);
        }
    }
}
