package io.weir.supervisor.local;

import com.fasterxml.jackson.annotation.JsonIgnore;
import io.weir.supervisor.store.StoreServer;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A process that was started for a cluster, so that a later command finds it again. Operating systems reuse process
 * ids; the time at which it started tells it from a stranger.
 */
public record LocalProcess(String name, long pid, long startedAtMs) implements Serializable {
    // Linux derives start times from ticks of 10 ms and an estimated boot time.
    private static final long TOLERANCE_MS = 2_000;

    private static final long KILL_WITHIN_MS = 10_000;
    private static final long POLL_MS = 10;

    static LocalProcess of(String name, ProcessHandle handle) {
        long startedAtMs =
                handle.info().startInstant().map(Instant::toEpochMilli).orElse(0L);
        return new LocalProcess(name, handle.pid(), startedAtMs);
    }

    private Optional<ProcessHandle> handle() {
        return ProcessHandle.of(pid)
                .filter(ProcessHandle::isAlive)
                .filter(found -> !isZombie())
                .filter(found -> found.info()
                        .startInstant()
                        .map(at -> Math.abs(at.toEpochMilli() - startedAtMs) <= TOLERANCE_MS)
                        .orElse(startedAtMs == 0));
    }

    /**
     * Ended, but not yet noticed by its parent: under a container's init that can take seconds. Linux shows this state;
     * elsewhere the process counts as alive.
     */
    private boolean isZombie() {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            return stat.startsWith("Z", stat.lastIndexOf(')') + 2);
        } catch (IOException e) {
            return false;
        }
    }

    @JsonIgnore
    public boolean isAlive() {
        return handle().isPresent();
    }

    /** Asks it to end: SIGTERM, or what the store takes for that. */
    void terminate() {
        handle().ifPresent(found -> {
            if (isStore()) {
                StoreServer.stop(pid);
            } else {
                found.destroy();
            }
        });
    }

    /** Ends it at once (SIGKILL), and waits until it has ended. */
    public void kill() {
        handle().ifPresent(found -> {
            if (isStore()) {
                StoreServer.kill(pid);
            } else {
                found.destroyForcibly();
            }
        });
        awaitExit(KILL_WITHIN_MS);
    }

    private boolean isStore() {
        return name.equals(ClusterState.STORE);
    }

    /** Whether it has ended in time. */
    boolean awaitExit(long withinMs) {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(withinMs);
        while (isAlive()) {
            if (System.nanoTime() - deadlineNs > 0) {
                return false;
            }
            sleep(POLL_MS);
        }
        return true;
    }

    static void sleep(long millis) {
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LocalClusterException("interrupted");
        }
    }
}
