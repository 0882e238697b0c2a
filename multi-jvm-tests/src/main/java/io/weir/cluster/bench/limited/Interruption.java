package io.weir.cluster.bench.limited;

import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.local.LocalClusterException;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Ctrl-C while a command has brokers of its own: what runs is stopped, the command's own thread cleans up, and the
 * process lives as long as that takes.
 */
final class Interruption {
    private static final long CLEAN_WITHIN_S = 60;

    private final CountDownLatch cleanedUp = new CountDownLatch(1);
    private final AtomicReference<Runnable> stop = new AtomicReference<>(() -> {});
    private volatile boolean came;

    /** What a command does, and its exit code. */
    interface Work {
        int run() throws IOException;
    }

    /** To be called once. */
    int during(Work work) {
        Thread main = Thread.currentThread();
        Thread hook = new Thread(() -> interrupt(main), "bench-end");
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            return work.run();
        } catch (LocalClusterException e) {
            throw CliException.unavailable(e.getMessage());
        } catch (IOException e) {
            throw CliException.unavailable("the load could not be run: " + e.getMessage());
        } finally {
            cleanedUp.countDown();
            if (!came) {
                Runtime.getRuntime().removeShutdownHook(hook);
            }
        }
    }

    /** How to stop what runs from now on; done at once if it is too late. */
    void stopsBy(Runnable stopping) {
        stop.set(stopping);
        if (came) {
            stopping.run();
        }
    }

    boolean came() {
        return came;
    }

    private void interrupt(Thread main) {
        came = true;
        stop.get().run();
        main.interrupt();
        try {
            cleanedUp.await(CLEAN_WITHIN_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
