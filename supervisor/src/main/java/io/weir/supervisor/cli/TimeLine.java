package io.weir.supervisor.cli;

import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.ClusterState;
import io.weir.supervisor.local.LocalProcess;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Shows what the processes of a local cluster write to their logs, as it comes, and says when one of them ends. */
final class TimeLine {
    private static final long POLL_MS = 200;
    private static final int MAX_CHUNK = 64 * 1024;

    private final ClusterDirectory directory;
    private final Output output;
    private final Map<String, Long> shown = new HashMap<>();
    private final Set<String> running = new HashSet<>();
    private final Set<String> unreadable = new HashSet<>();

    TimeLine(ClusterDirectory directory, Output output) {
        this.directory = directory;
        this.output = output;
        for (LocalProcess process : processes()) {
            running.add(process.name());
            shown.put(process.name(), sizeOf(directory.log(process.name())));
        }
    }

    /** Until nothing runs any more; Ctrl-C ends the process, and with it this. */
    int follow() {
        try {
            while (!running.isEmpty()) {
                ClusterState state = directory.state().orElseThrow();
                for (LocalProcess process : state.processes()) {
                    boolean alive = process.isAlive();
                    showNewLines(process.name());
                    show(state, process.name(), alive);
                }
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            }
            return ExitCode.FAILED;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ExitCode.OK;
        }
    }

    private void show(ClusterState state, String name, boolean alive) {
        if (alive && running.add(name)) {
            output.printf("%-12s runs again%n", name);
        } else if (!alive && running.remove(name)) {
            output.printf(
                    "%-12s has ended%s%n",
                    name,
                    state.isStartedAgain(name) ? "" : "; 'weir up --data " + directory.root() + "' starts it again");
        }
    }

    private List<LocalProcess> processes() {
        return directory.state().map(ClusterState::processes).orElse(List.of());
    }

    private void showNewLines(String name) {
        Path log = directory.log(name);
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
            long from = shown.getOrDefault(name, 0L);
            byte[] chunk = new byte[(int) Math.min(MAX_CHUNK, Math.max(0, file.length() - from))];
            file.seek(from);
            file.readFully(chunk);
            int end = lastNewline(chunk);
            if (end < 0 && chunk.length < MAX_CHUNK) {
                return;
            }
            int length = end < 0 ? chunk.length : end + 1;
            shown.put(name, from + length);
            new String(chunk, 0, length, StandardCharsets.UTF_8)
                    .lines()
                    .forEach(line -> output.printf("%-12s %s%n", name, line));
        } catch (IOException e) {
            if (unreadable.add(name)) {
                output.printf("%-12s its log %s can't be read: %s%n", name, log, e.getMessage());
            }
        }
    }

    private static int lastNewline(byte[] bytes) {
        int i = bytes.length - 1;
        while (i >= 0 && bytes[i] != '\n') {
            i--;
        }
        return i;
    }

    private static long sizeOf(Path file) {
        try {
            return Files.size(file);
        } catch (IOException e) {
            return 0;
        }
    }
}
