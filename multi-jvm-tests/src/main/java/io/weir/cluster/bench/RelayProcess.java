package io.weir.cluster.bench;

import io.weir.cluster.bench.wire.RelayWire;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.local.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A relay in a process of its own, with a broker's JVM flags; it ends with the process that started it. */
final class RelayProcess implements AutoCloseable {
    private static final Pattern LISTENING = Pattern.compile("relay listens on port (\\d+)");
    private static final long WITHIN_MS = 15_000;

    private final Process process;
    private final Path log;
    private final Endpoint endpoint;

    private RelayProcess(Process process, Path log, Endpoint endpoint) {
        this.process = process;
        this.log = log;
        this.endpoint = endpoint;
    }

    static RelayProcess start(Installation installation) throws IOException {
        Path log = Files.createTempFile("weir-relay", ".log");
        String parent = Long.toString(ProcessHandle.current().pid());
        Process process = installation.start("broker", List.of("bench", "relay", "--parent", parent), log, Map.of());
        try {
            return new RelayProcess(process, log, new Endpoint("127.0.0.1", awaitPort(process, log)));
        } catch (CliException e) {
            process.destroyForcibly();
            throw e;
        }
    }

    private static int awaitPort(Process process, Path log) throws IOException {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(WITHIN_MS);
        while (System.nanoTime() - deadlineNs < 0) {
            Matcher said = LISTENING.matcher(Files.readString(log));
            if (said.find()) {
                return Integer.parseInt(said.group(1));
            }
            try {
                if (process.waitFor(20, TimeUnit.MILLISECONDS)) {
                    throw CliException.unavailable("the relay did not start: see " + log);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                break;
            }
        }
        throw CliException.unavailable("the relay did not start within " + WITHIN_MS + " ms: see " + log);
    }

    Target target() {
        return new Target(
                "relay", new RelayWire(), List.of(endpoint), endpoint, List.of(new Expense.OfProcess(process.pid())));
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        Files.deleteIfExists(log);
    }
}
