package io.weir.supervisor.cli.topic;

import io.weir.limiter.algorithm.BucketProfiler;
import io.weir.limiter.algorithm.BucketProfiler.Profile;
import io.weir.limiter.simulation.TraceCsv;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code weir topic profile}: the limit that a recorded trace needs, and why. */
@Command(
        name = "profile",
        mixinStandardHelpOptions = true,
        header = "Finds the limit that a trace of arrivals needs.",
        description =
                "Finds the limit that a trace of arrivals needs: a rate r above the trace's own by a margin, and the "
                        + "smallest burst b with which 99%% of the messages would not have waited (SRTM, section 6).",
        footer = {
            "",
            "The trace has one line a message: its time in seconds, or in nanoseconds below a header time_ns. "
                    + "A second column, count, says how many came at that time. Times may not decrease.",
            "",
            "Examples:",
            "  weir topic profile orders.csv",
            "  weir topic profile orders.csv --margin 0.25 -o json"
        })
final class TopicProfileCommand implements Callable<Integer> {
    @Parameters(paramLabel = "TRACE.csv", description = "The trace of arrivals.")
    private Path trace;

    @Option(
            names = "--margin",
            paramLabel = "PART",
            defaultValue = "0.1",
            description = "How far r lies above the trace's rate (default: ${DEFAULT-VALUE}, which is 10%%).")
    private double margin;

    @Mixin
    private Output output;

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
    public Integer call() {
        BucketProfiler profiler = profiler();
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
