package io.weir.transport.client;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The room for a publisher's messages, from {@code publish} until their outcome. A full store makes callers wait or
 * fail. Callers take room on their own threads, so that no transfer can keep a message from being received.
 */
final class Store {
    private final int maxMessages;
    private final long maxBytes;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private int messages;
    private long bytes;
    private int waiters;
    private boolean closed;

    Store(int maxMessages, long maxBytes) {
        this.maxMessages = maxMessages;
        this.maxBytes = maxBytes;
    }

    /** Whether there is room now, or comes within {@code waitNs}. */
    boolean reserve(int size, long waitNs) {
        lock.lock();
        try {
            long leftNs = waitNs;
            while (!closed && !fits(size)) {
                if (leftNs <= 0) {
                    return false;
                }
                waiters++;
                try {
                    leftNs = changed.awaitNanos(leftNs);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return false;
                } finally {
                    waiters--;
                }
            }
            if (closed) {
                return false;
            }
            messages++;
            bytes += size;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** A message larger than all of it may come when it is empty: it can't be split. */
    private boolean fits(int size) {
        return messages == 0 || messages < maxMessages && bytes + size <= maxBytes;
    }

    void release(int count, long size) {
        lock.lock();
        try {
            messages -= count;
            bytes -= size;
            if (waiters > 0) {
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Nothing comes in any more. */
    void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    boolean awaitEmpty(long waitNs) {
        lock.lock();
        try {
            long leftNs = waitNs;
            while (messages > 0 && leftNs > 0) {
                waiters++;
                try {
                    leftNs = changed.awaitNanos(leftNs);
                } finally {
                    waiters--;
                }
            }
            return messages == 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    int messages() {
        lock.lock();
        try {
            return messages;
        } finally {
            lock.unlock();
        }
    }
}
