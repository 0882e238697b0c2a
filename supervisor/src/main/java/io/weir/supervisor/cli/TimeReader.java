package io.weir.supervisor.cli;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads an option's {@code 5s}, {@code 250ms}, {@code 2m}; a number alone is seconds. */
public final class TimeReader implements ITypeConverter<Duration> {
    private static final Pattern TEXT = Pattern.compile("(\\d{1,7}(?:\\.\\d{1,6})?)(ms|s|m)?");

    @Override
    public Duration convert(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new TypeConversionException("'" + text + "' is no time, such as 5s, 250ms or 2m");
        }
        double number = Double.parseDouble(matcher.group(1));
        double seconds =
                "ms".equals(matcher.group(2)) ? number / 1_000 : "m".equals(matcher.group(2)) ? number * 60 : number;
        return Duration.ofNanos((long) (seconds * 1e9));
    }
}
