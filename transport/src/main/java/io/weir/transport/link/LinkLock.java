package io.weir.transport.link;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * The lock under which the broker's thread and the link thread take turns to touch the links. The broker's thread never
 * waits: if it does not get the lock, it goes on without, and is woken when the lock is free.
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
        // Set before the attempt: if the link thread passes the lock after that, it wakes this thread.
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

    /** By the link thread. It comes next, so a broker that is busy all the time can't keep it out. */
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
