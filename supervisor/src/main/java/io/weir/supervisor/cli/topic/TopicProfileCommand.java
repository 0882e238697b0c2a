package io.weir.supervisor.cli.topic;

import io.weir.limiter.algorithm.BucketProfiler;
import io.weir.limiter.algorithm.BucketProfiler.Profile;
import io.weir.limiter.simulation.TraceCsv;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.cli.TimeReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code weir topic profile}: the limit that a recorded trace, or a live topic, needs, and why. */
@Command(
        name = "profile",
        mixinStandardHelpOptions = true,
        header = "Finds the limit that a topic, or a trace of arrivals, needs.",
        description = {
            "Finds the limit that a trace of arrivals needs: a rate r above the trace's own by a margin, and the "
                    + "smallest burst b with which 99%% of the messages would not have waited (SRTM, section 6).",
            "With --live, the trace is what arrives at a topic now: every broker records for as long as --for says, in at most"
                    + " 8 MiB, and messages pass as before. A broker whose memory is full ends the recording there. The parts are"
                    + " merged by the brokers' wall clocks: on one host exactly, on several to what their clocks differ by."
                    + " Also shown is the delay if the limit were split over 1 to N brokers, and what borrowing saves. Ctrl-C ends"
                    + " it early, with what was recorded."
        },
        footer = {
            "",
            "The trace has one line a message: its time in seconds, or in nanoseconds below a header time_ns. "
                    + "A second column, count, says how many came at that time. Times may not decrease.",
            "",
            "Examples:",
            "  weir topic profile --live orders --for 60s",
            "  weir topic profile --live orders --for 2m --apply     and sets the limit that it finds",
            "  weir topic profile orders.csv",
            "  weir topic profile orders.csv --margin 0.25 -o json"
        })
final class TopicProfileCommand implements Callable<Integer> {
    private static final Duration LONGEST = Duration.ofMinutes(10);
    private static final Duration SHORTEST = Duration.ofSeconds(1);

    @Parameters(arity = "0..1", paramLabel = "TRACE.csv", description = "The trace of arrivals.")
    private Path trace;

    @Option(names = "--live", paramLabel = "NAME", description = "Record what arrives at this topic now.")
    private String live;

    @Option(
            names = "--for",
            paramLabel = "TIME",
            defaultValue = "60s",
            converter = TimeReader.class,
            description = "With --live: for how long, such as 60s or 5m, 10m at the most (default: ${DEFAULT-VALUE}).")
    private Duration length;

    @Option(names = "--apply", description = "With --live: set the limit that was found.")
    private boolean apply;

    @Option(
            names = "--margin",
            paramLabel = "PART",
            defaultValue = "0.1",
            description = "How far r lies above the trace's rate (default: ${DEFAULT-VALUE}, which is 10%%).")
    private double margin;

    @Mixin
    private RecordingFile recording;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    record Answer(
            double rate,
            double burst,
            long messages,
            double spanSeconds,
            double messagesPerSecond,
            double margin,
            double delayedFraction,
            double longestDelaySeconds,
            List<String> reasons) {

        static Answer of(Profile profile) {
            return new Answer(
                    profile.limit().ratePerSecond(),
                    profile.limit().burstMessages(),
                    profile.messages(),
                    profile.spanSeconds(),
                    profile.messagesPerSecond(),
                    profile.margin(),
                    profile.delayedFraction(),
                    profile.longestDelaySeconds(),
                    profile.reasons());
        }
    }

    @Override
    public Integer call() throws InterruptedException {
        if ((trace == null) == (live == null)) {
            throw CliException.usage("give one of the two: a TRACE.csv, or --live with a topic's name");
        }
        BucketProfiler profiler = profiler();
        if (live == null) {
            return profileTrace(profiler);
        }
        if (length.compareTo(SHORTEST) < 0 || length.compareTo(LONGEST) > 0) {
            throw CliException.usage("--for must be within 1s and 10m");
        }
        return new LiveProfile(live, cluster, output, spec.commandLine().getErr())
                .run(length, profiler, recording, apply);
    }

    private int profileTrace(BucketProfiler profiler) {
        if (apply) {
            throw CliException.usage("--apply needs --live: a trace does not say of which topic it is");
        }
        long[] arrivalsNs = arrivals();
        Answer answer;
        try {
            answer = Answer.of(profiler.profile(arrivalsNs));
        } catch (IllegalArgumentException e) {
            throw CliException.unavailable(trace + ": " + e.getMessage());
        }
        if (output.json()) {
            output.printJson(answer);
        } else {
            output.printf("r = %.6g msg/s, b = %.0f messages%n%n", answer.rate(), answer.burst());
            answer.reasons().forEach(output::println);
        }
        return ExitCode.OK;
    }

    private BucketProfiler profiler() {
        try {
            return new BucketProfiler(margin);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e.getMessage());
        }
    }

    private long[] arrivals() {
        if (!Files.isRegularFile(trace)) {
            throw CliException.unavailable("there is no file " + trace);
        }
        try {
            return TraceCsv.read(trace);
        } catch (IllegalArgumentException e) {
            throw CliException.unavailable(e.getMessage());
        } catch (IOException e) {
            throw CliException.unavailable("cannot read " + trace + ": " + e.getMessage());
        }
    }
}
