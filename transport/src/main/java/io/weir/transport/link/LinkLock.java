package io.weir.transport.link;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Whose turn it is to touch the links: the broker's thread's or the link thread's. The broker's never waits. If it is not its turn it goes
 * on without, and is woken when it is.
 */
final class LinkLock {
    private static final long WAIT_NS = TimeUnit.MICROSECONDS.toNanos(20);

    private final Runnable wakeUp;
    private final AtomicBoolean taken = new AtomicBoolean();
    private volatile boolean wanted;
    private volatile boolean missed;

    LinkLock(Runnable wakeUp) {
        this.wakeUp = wakeUp;
    }

    /** By the broker's thread. */
    boolean tryBegin() {
        // Said before it tries: who ends its turn after that wakes it.
        missed = true;
        if (wanted || !taken.compareAndSet(false, true)) {
            return false;
        }
        missed = false;
        return true;
    }

    /** By the broker's thread. */
    void end() {
        taken.set(false);
    }

    /** By the link thread, which comes next: a broker that is busy all the time can't keep it out. */
    void await() {
        wanted = true;
        while (!taken.compareAndSet(false, true)) {
            LockSupport.parkNanos(WAIT_NS);
        }
        wanted = false;
    }

    /** By the link thread. */
    void pass() {
        taken.set(false);
        if (missed) {
            missed = false;
            wakeUp.run();
        }
    }
}
