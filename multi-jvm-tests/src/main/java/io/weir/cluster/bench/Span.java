package io.weir.cluster.bench;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

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

    /** Reads {@code 5s}, {@code 250ms}, {@code 2m}; a number alone is seconds. */
    public static final class Reader implements ITypeConverter<Duration> {
        private static final Pattern TEXT = Pattern.compile("(\\d{1,7}(?:\\.\\d{1,6})?)(ms|s|m)?");

        @Override
        public Duration convert(String text) {
            Matcher matcher = TEXT.matcher(text);
            if (!matcher.matches()) {
                throw new TypeConversionException("'" + text + "' is no time, such as 5s, 250ms or 2m");
            }
            double number = Double.parseDouble(matcher.group(1));
            return time(
                    "ms".equals(matcher.group(2))
                            ? number / 1_000
                            : "m".equals(matcher.group(2)) ? number * 60 : number);
        }
    }
}
