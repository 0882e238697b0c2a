package io.weir.supervisor.local;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A process that was started for a cluster, so that a later command finds it again. Operating systems reuse process ids; the time
 * at which it started tells it from a stranger.
 */
public record LocalProcess(String name, long pid, long startedAtMs) {
    // Linux derives start times from ticks of 10 ms and an estimated boot time.
    private static final long TOLERANCE_MS = 2_000;

    static LocalProcess of(String name, ProcessHandle handle) {
        long startedAtMs =
                handle.info().startInstant().map(Instant::toEpochMilli).orElse(0L);
        return new LocalProcess(name, handle.pid(), startedAtMs);
    }

    private Optional<ProcessHandle> handle() {
        return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).filter(found -> found.info()
                .startInstant()
                .map(at -> Math.abs(at.toEpochMilli() - startedAtMs) <= TOLERANCE_MS)
                .orElse(startedAtMs == 0));
    }

    @JsonIgnore
    public boolean isAlive() {
        return handle().isPresent();
    }

    /** Asks it to end (SIGTERM); completes when it has. */
    CompletableFuture<Void> terminate() {
        return end(ProcessHandle::destroy);
    }

    /** Ends it at once (SIGKILL); completes when it has ended. */
    public CompletableFuture<Void> kill() {
        return end(ProcessHandle::destroyForcibly);
    }

    private CompletableFuture<Void> end(java.util.function.Predicate<ProcessHandle> how) {
        return handle().map(found -> {
                    how.test(found);
                    return found.onExit().thenApply(gone -> (Void) null);
                })
                .orElseGet(() -> CompletableFuture.completedFuture(null));
    }
}
