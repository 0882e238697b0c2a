package io.weir.limiter.simulation;

import java.io.BufferedReader;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Reads and writes a trace of arrivals as CSV: one line a message, or a line for several at one instant.
 *
 * <pre>
 *   time_s,count         optional header; the first column is time_s (seconds, the default) or time_ns (nanoseconds)
 *   0.000125             one message
 *   0.0007,10            ten messages at once; count is optional and 1 if left out
 *   # comment            this and empty lines are skipped
 *
 *   # brokers: b1 b2     also those that nothing came to
 *   time_ns,count,broker a header with a third column: at which broker
 *   700000,10,b1
 * </pre>
 *
 * Times may start anywhere but never decrease. Seconds are read exactly and rounded to nanoseconds. Where no broker is
 * named, all came to one.
 */
public final class TraceCsv {
    /** A trace is held in memory; this many messages take 80 MB. */
    public static final int MAX_MESSAGES = 10_000_000;

    private static final BigDecimal NANOS = BigDecimal.valueOf(1_000_000_000L);
    private static final String BROKERS = "# brokers:";
    private static final int MAX_BROKERS = 1_000;

    private final String name;
    private final List<String> brokers = new ArrayList<>();
    private long[] timesNs = new long[1_024];
    private int[] counts = new int[1_024];
    private int[] brokerOf = new int[1_024];
    private int instants;
    private int messages;
    private int lineNumber;
    private int lastDataLine;
    private boolean nanoseconds;
    private boolean namesBrokers;

    private TraceCsv(String name) {
        this.name = name;
    }

    /**
     * The time of every message in nanoseconds.
     *
     * @throws IllegalArgumentException naming file, line and rule, if the content is not such a trace
     */
    public static long[] read(Path file) throws IOException {
        return readTrace(file).messageTimesNs();
    }

    /** The same, with the broker of every message. */
    public static ArrivalTrace readTrace(Path file) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            return readTrace(file.getFileName().toString(), lines);
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException(file.getFileName() + " is not a text file in UTF-8", e);
        }
    }

    /** @param name for the messages of exceptions */
    public static ArrivalTrace readTrace(String name, BufferedReader lines) throws IOException {
        ArrivalTrace trace = new TraceCsv(name).read(lines);
        if (trace.timesNs().length == 0) {
            throw new IllegalArgumentException(name + " holds no arrivals");
        }
        return trace;
    }

    /** As {@link #readTrace(String, BufferedReader)}, but there may be no arrivals. */
    public static ArrivalTrace readPart(String name, BufferedReader lines) throws IOException {
        return new TraceCsv(name).read(lines);
    }

    /** @param comment one line, for people */
    public static void write(ArrivalTrace trace, String comment, Appendable out) throws IOException {
        boolean oneBroker = trace.brokers().size() == 1;
        out.append("# ").append(comment).append('\n');
        out.append(BROKERS)
                .append(' ')
                .append(String.join(" ", trace.brokers()))
                .append('\n');
        out.append(oneBroker ? "time_ns,count\n" : "time_ns,count,broker\n");
        for (int i = 0; i < trace.timesNs().length; i++) {
            out.append(Long.toString(trace.timesNs()[i])).append(',').append(Integer.toString(trace.counts()[i]));
            if (!oneBroker) {
                out.append(',').append(trace.brokers().get(trace.brokerOf()[i]));
            }
            out.append('\n');
        }
    }

    private ArrivalTrace read(BufferedReader lines) throws IOException {
        boolean headerPossible = true;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            lineNumber++;
            String content = (lineNumber == 1 && line.startsWith("\uFEFF") ? line.substring(1) : line).strip();
            if (content.startsWith(BROKERS) && instants == 0) {
                for (String broker : content.substring(BROKERS.length()).strip().split(" +")) {
                    broker(broker);
                }
            }
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
        if (brokers.isEmpty()) {
            brokers.add("one");
        }
        return new ArrivalTrace(
                List.copyOf(brokers),
                Arrays.copyOf(timesNs, instants),
                Arrays.copyOf(counts, instants),
                Arrays.copyOf(brokerOf, instants));
    }

    private void header(String[] cells) {
        String time = cells[0].strip();
        nanoseconds = time.equals("time_ns");
        if (!nanoseconds && !time.equals("time_s")) {
            throw wrong("the header's first column must be time_s or time_ns, not '" + time + "'");
        }
        namesBrokers = cells.length == 3 && cells[2].strip().equals("broker");
        if (cells.length > 2 && !namesBrokers
                || cells.length > 1 && !cells[1].strip().equals("count")) {
            throw wrong("the header's other columns are count and broker, in this order");
        }
    }

    private void message(String[] cells) {
        if (namesBrokers ? cells.length != 3 : cells.length > 2) {
            throw wrong((namesBrokers
                            ? "a line holds a time, a count and a broker"
                            : "a line holds a time and perhaps a count")
                    + ", but this one has " + cells.length + " columns");
        }
        long timeNs = timeNs(cells[0].strip());
        if (instants > 0 && timeNs < timesNs[instants - 1]) {
            throw wrong("time " + cells[0].strip() + " is before that of line " + lastDataLine
                    + ": arrivals must be in order");
        }
        int count = cells.length >= 2 ? count(cells[1].strip()) : 1;
        if (count > MAX_MESSAGES - messages) {
            throw wrong("more than 10,000,000 messages: take a part of the trace");
        }
        if (instants == timesNs.length) {
            int more = Math.min(MAX_MESSAGES, timesNs.length * 2);
            timesNs = Arrays.copyOf(timesNs, more);
            counts = Arrays.copyOf(counts, more);
            brokerOf = Arrays.copyOf(brokerOf, more);
        }
        timesNs[instants] = timeNs;
        counts[instants] = count;
        brokerOf[instants++] = namesBrokers ? broker(cells[2].strip()) : 0;
        messages += count;
        lastDataLine = lineNumber;
    }

    /** Its number; a new name gets the next one. */
    private int broker(String broker) {
        int known = brokers.indexOf(broker);
        if (known >= 0) {
            return known;
        }
        if (broker.isEmpty() || brokers.size() == MAX_BROKERS) {
            throw wrong(broker.isEmpty() ? "a broker has no name" : "more than 1,000 brokers");
        }
        brokers.add(broker);
        return brokers.size() - 1;
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
