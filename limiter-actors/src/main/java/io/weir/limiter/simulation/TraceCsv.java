package io.weir.limiter.simulation;

import java.io.BufferedReader;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Reads a trace of arrivals from CSV: one line a message, or a line for several at one instant.
 *
 * <pre>
 *   time_s,count     optional header; the first column is time_s (seconds, the default) or time_ns (nanoseconds)
 *   0.000125         one message
 *   0.0007,10        ten messages at once; count is optional and 1 if left out
 *   # comment        this and empty lines are skipped
 * </pre>
 *
 * Times may start anywhere but never decrease. Seconds are read exactly and rounded to nanoseconds.
 */
public final class TraceCsv {
    /** A trace is held in memory; this many messages take 80 MB. */
    public static final int MAX_MESSAGES = 10_000_000;

    private static final BigDecimal NANOS = BigDecimal.valueOf(1_000_000_000L);

    private final String name;
    private long[] timesNs = new long[1_024];
    private int messages;
    private int lineNumber;
    private int lastDataLine;
    private boolean nanoseconds;

    private TraceCsv(String name) {
        this.name = name;
    }

    /**
     * The time of every message in nanoseconds.
     *
     * @throws IllegalArgumentException naming file, line and rule, if the content is not such a trace
     */
    public static long[] read(Path file) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            return new TraceCsv(file.getFileName().toString()).read(lines);
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException(file.getFileName() + " is not a text file in UTF-8", e);
        }
    }

    private long[] read(BufferedReader lines) throws IOException {
        boolean headerPossible = true;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            lineNumber++;
            String content = (lineNumber == 1 && line.startsWith("\uFEFF") ? line.substring(1) : line).strip();
            if (content.isEmpty() || content.startsWith("#")) {
                continue;
            }
            String[] cells = content.split(",", -1);
            if (headerPossible && Character.isLetter(content.charAt(0))) {
                header(cells);
            } else {
                message(cells);
            }
            headerPossible = false;
        }
        if (messages == 0) {
            throw new IllegalArgumentException(name + " holds no arrivals");
        }
        return Arrays.copyOf(timesNs, messages);
    }

    private void header(String[] cells) {
        String time = cells[0].strip();
        nanoseconds = time.equals("time_ns");
        if (!nanoseconds && !time.equals("time_s")) {
            throw wrong("the header's first column must be time_s or time_ns, not '" + time + "'");
        }
        if (cells.length > 2 || cells.length == 2 && !cells[1].strip().equals("count")) {
            throw wrong("the header's only other column is count");
        }
    }

    private void message(String[] cells) {
        if (cells.length > 2) {
            throw wrong("a line holds a time and perhaps a count, but this one has " + cells.length + " columns");
        }
        long timeNs = timeNs(cells[0].strip());
        if (messages > 0 && timeNs < timesNs[messages - 1]) {
            throw wrong("time " + cells[0].strip() + " is before that of line " + lastDataLine
                    + ": arrivals must be in order");
        }
        int count = cells.length == 2 ? count(cells[1].strip()) : 1;
        if (count > MAX_MESSAGES - messages) {
            throw wrong("more than 10,000,000 messages: take a part of the trace");
        }
        if (messages + count > timesNs.length) {
            timesNs = Arrays.copyOf(timesNs, Math.max(messages + count, Math.min(MAX_MESSAGES, timesNs.length * 2)));
        }
        Arrays.fill(timesNs, messages, messages + count, timeNs);
        messages += count;
        lastDataLine = lineNumber;
    }

    private long timeNs(String cell) {
        try {
            if (nanoseconds) {
                return Long.parseLong(cell);
            }
            BigDecimal seconds = new BigDecimal(cell);
            // Without this an exponent such as 1e999999999 would be written out digit by digit.
            if (seconds.precision() - seconds.scale() > 10) {
                throw tooFar(cell);
            }
            return seconds.multiply(NANOS).setScale(0, RoundingMode.HALF_UP).longValueExact();
        } catch (NumberFormatException e) {
            throw wrong("'" + cell + "' is not a time in " + (nanoseconds ? "whole nanoseconds" : "seconds"));
        } catch (ArithmeticException e) {
            throw tooFar(cell);
        }
    }

    private int count(String cell) {
        int count;
        try {
            count = Integer.parseInt(cell);
        } catch (NumberFormatException e) {
            throw wrong("count '" + cell + "' is not a whole number");
        }
        if (count < 1) {
            throw wrong("count " + count + " is not at least 1");
        }
        return count;
    }

    private IllegalArgumentException tooFar(String cell) {
        return wrong("time " + cell + " s is more than 292 years;"
                + " if it is in nanoseconds, begin the file with the header time_ns");
    }

    private IllegalArgumentException wrong(String rule) {
        return new IllegalArgumentException(name + ", line " + lineNumber + ": " + rule);
    }
}
