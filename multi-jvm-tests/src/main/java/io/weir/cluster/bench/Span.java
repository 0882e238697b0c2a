package io.weir.cluster.bench;

import java.time.Duration;
import picocli.CommandLine.Option;

/** For how long a load lasts, as a picocli mixin. */
public final class Span {
    @Option(
            names = "--seconds",
            defaultValue = "10",
            description =
                    "Measured time; the broker's memory is looked at every ten seconds of it (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(
            names = "--warmup",
            paramLabel = "SECONDS",
            defaultValue = "5",
            description = "Load before the measured time (default: ${DEFAULT-VALUE}).")
    private double warmUpSeconds;

    Duration measured() {
        BenchRun.require(seconds > 0 && seconds <= 86_400, "--seconds must be above 0, and a day at the most");
        return time(seconds);
    }

    Duration warmUp() {
        BenchRun.require(warmUpSeconds >= 0 && warmUpSeconds <= 3_600, "--warmup must be within 0 and 3600");
        return time(warmUpSeconds);
    }

    private static Duration time(double seconds) {
        return Duration.ofNanos((long) (seconds * 1e9));
    }
}
