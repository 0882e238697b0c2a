package io.weir.supervisor.node;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects the broker's garbage when {@link IdleCollectionRule} says so. On a thread of its own, because
 * {@code System.gc()} returns when the collection is done; the others go on meanwhile (-XX:+ExplicitGCInvokesConcurrent
 * in broker.jvm).
 */
final class IdleCollector implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(IdleCollector.class);
    private static final long LOOK_EVERY_MS = 1_000;

    private final IdleCollectionRule rule = new IdleCollectionRule();
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    private final LongSupplier pathThreadId;
    private final CountDownLatch closed = new CountDownLatch(1);

    private IdleCollector(LongSupplier pathThreadId) {
        this.pathThreadId = pathThreadId;
    }

    /** @param pathThreadId of the thread that moves messages */
    static IdleCollector start(LongSupplier pathThreadId) {
        IdleCollector collector = new IdleCollector(pathThreadId);
        Thread thread = new Thread(collector::run, "weir-idle-collector");
        thread.setDaemon(true);
        thread.start();
        return collector;
    }

    private void run() {
        try {
            while (!closed.await(LOOK_EVERY_MS, TimeUnit.MILLISECONDS)) {
                look();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void look() {
        long pathCpuNs = threads.getThreadCpuTime(pathThreadId.getAsLong());
        // Negative where the thread has ended, or the platform can't say: then nobody knows whether it is quiet.
        if (pathCpuNs >= 0) {
            long collections = collectors.stream()
                    .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                    .sum();
            long usedBytes = memory.getHeapMemoryUsage().getUsed();
            if (rule.shouldCollect(System.nanoTime(), pathCpuNs, collections, usedBytes)) {
                LOG.debug("no messages pass: collects garbage, {} MiB of the heap are used", usedBytes >> 20);
                System.gc();
            }
        }
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
