package io.weir.transport.gateway;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The arithmetic of TLS handshakes, by threads of its own: messages do not wait for it. Addresses have their turns one
 * after the other, and none may have all threads at a time: whoever begins many handshakes, or costly ones, waits for
 * himself.
 */
final class Handshakes implements AutoCloseable {
    /** Further ones are refused. Each takes about a millisecond, so the last of these waits for a second or less. */
    static final int MOST_WAITING = 1024;

    private static final long IDLE_S = 10;

    private final int mostByAddress;
    private final ThreadPoolExecutor threads;
    private final Map<Long, ArrayDeque<Runnable>> waiting = new LinkedHashMap<>();
    private final Map<Long, Integer> running = new HashMap<>();
    private int waitingCount;

    Handshakes(int threadCount) {
        if (threadCount < 2) {
            throw new IllegalArgumentException("with " + threadCount + " thread one address would have all");
        }
        mostByAddress = threadCount - 1;
        threads = new ThreadPoolExecutor(
                threadCount, threadCount, IDLE_S, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    Thread thread = new Thread(task, "weir-tls");
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true);
    }

    /** False if too many wait already. */
    boolean submit(long address, Runnable work) {
        synchronized (this) {
            if (waitingCount == MOST_WAITING) {
                return false;
            }
            waitingCount++;
            waiting.computeIfAbsent(address, none -> new ArrayDeque<>()).add(work);
        }
        threads.execute(this::workOn);
        return true;
    }

    private void workOn() {
        Map.Entry<Long, Runnable> next = take();
        while (next != null) {
            try {
                next.getValue().run();
            } finally {
                done(next.getKey());
            }
            next = take();
        }
    }

    /** The next address's first, and the address's turn is last then. Null if those that wait may not begin yet. */
    private synchronized Map.Entry<Long, Runnable> take() {
        for (Iterator<Map.Entry<Long, ArrayDeque<Runnable>>> all =
                        waiting.entrySet().iterator();
                all.hasNext(); ) {
            Map.Entry<Long, ArrayDeque<Runnable>> next = all.next();
            long address = next.getKey();
            ArrayDeque<Runnable> works = next.getValue();
            if (running.getOrDefault(address, 0) < mostByAddress) {
                all.remove();
                Runnable work = works.poll();
                if (!works.isEmpty()) {
                    waiting.put(address, works);
                }
                waitingCount--;
                running.merge(address, 1, Integer::sum);
                return Map.entry(address, work);
            }
        }
        return null;
    }

    private synchronized void done(long address) {
        running.computeIfPresent(address, (same, count) -> count == 1 ? null : count - 1);
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
