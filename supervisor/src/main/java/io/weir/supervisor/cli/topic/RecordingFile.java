package io.weir.supervisor.cli.topic;

import io.weir.limiter.simulation.ArrivalTrace;
import io.weir.limiter.simulation.TraceCsv;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import picocli.CommandLine.Option;

/** Where a topic's recording is, as a picocli mixin. A new one takes the place of the last. */
final class RecordingFile {
    /** With fewer, the 99th percentile would be the longest of all. */
    private static final int FEWEST = 100;

    @Option(
            names = "--recording",
            paramLabel = "FILE",
            description = "Where the recording is kept (default: recordings/NAME.csv in the cluster's data directory;"
                    + " with --http, NAME.csv here).")
    private Path given;

    Path path(String topic, ClusterOption cluster) {
        return given != null ? given : cluster.recording(topic);
    }

    void write(ArrivalTrace trace, String comment, Path file) {
        Path whole = file.toAbsolutePath();
        Path next = whole.resolveSibling(whole.getFileName() + ".next");
        try {
            Files.createDirectories(whole.getParent());
            try (Writer out = Files.newBufferedWriter(next)) {
                TraceCsv.write(trace, comment, out);
            }
            Files.move(next, whole, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw CliException.unavailable("the recording can't be written to " + file + " (" + e.getMessage()
                    + "): say where with --recording");
        }
    }

    ArrivalTrace read(String topic, Path file) {
        if (!Files.isRegularFile(file)) {
            throw CliException.unavailable("there is no recording of " + topic + " in " + file
                    + ": make one with 'weir topic profile --live " + topic + " --for 60s'");
        }
        ArrivalTrace trace;
        try {
            trace = TraceCsv.readTrace(file);
        } catch (IllegalArgumentException e) {
            throw CliException.unavailable(e.getMessage());
        } catch (IOException e) {
            throw CliException.unavailable("cannot read " + file + ": " + e.getMessage());
        }
        if (trace.messages() < FEWEST) {
            throw CliException.unavailable(file + " has only " + trace.messages() + " messages, and " + FEWEST
                    + " are the fewest that say something: record for longer with 'weir topic profile --live " + topic
                    + "'");
        }
        return trace;
    }

    /** @throws CliException if it says too little to find a limit by, with what to do */
    static void requireEnough(String topic, ArrivalTrace trace, double seconds) {
        if (trace.messages() == 0) {
            throw CliException.unavailable(String.format(
                    Locale.ROOT,
                    "nothing was published to %s in %.1f s: record while its publishers send",
                    topic,
                    seconds));
        }
        if (trace.messages() < FEWEST) {
            throw CliException.unavailable(String.format(
                    Locale.ROOT,
                    "only %d messages came to %s in %.1f s, and %d are the fewest that a limit can be found by: record for"
                            + " longer with --for",
                    trace.messages(),
                    topic,
                    seconds,
                    FEWEST));
        }
    }
}
