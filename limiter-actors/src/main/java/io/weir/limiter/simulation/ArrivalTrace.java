package io.weir.limiter.simulation;

import java.util.Arrays;
import java.util.List;

/**
 * Messages as they came to the brokers of a cluster, by time: at each instant so many, at one broker. {@link TraceCsv}
 * reads and writes it.
 *
 * @param brokers by name, also those that nothing came to
 * @param timesNs of each instant, never decreasing
 * @param counts messages at that instant, at least 1
 * @param brokerOf where they came: an index of {@code brokers}
 */
public record ArrivalTrace(List<String> brokers, long[] timesNs, int[] counts, int[] brokerOf) {
    private static final long SECOND_NS = 1_000_000_000L;

    /**
     * What one broker recorded.
     *
     * @param beganNs by the broker's wall clock
     * @param lengthNs for how long: until its time was over or its memory full, or until somebody ended it
     * @param arrivals times count from the beginning
     */
    public record Part(String broker, long beganNs, long lengthNs, ArrivalTrace arrivals) {}

    /**
     * Several brokers' parts by time, as far as all of them recorded; the first instant that they have in common is 0.
     * Beyond {@link TraceCsv#MAX_MESSAGES} messages it ends.
     *
     * <p>The brokers' wall clocks say how their times compare. On one host they are the same clock, and the error is
     * that of two readings, some microseconds. On several hosts it is what their clocks differ by: arrivals of two
     * brokers are shifted against each other by so much. That leaves the rate as it is, and blurs what brokers share of
     * a burst that is shorter. Clocks that contradict what is known (see {@code withinNs}) are not gone by: then all
     * began at the same instant, and the error is {@code withinNs} at the most.
     *
     * @param withinNs all were told to begin, and answered, within this time
     */
    public static ArrivalTrace merged(List<Part> parts, long withinNs) {
        boolean byClocks = !clocksDiffer(parts, withinNs);
        long fromNs = byClocks ? parts.stream().mapToLong(Part::beganNs).max().orElseThrow() : 0;
        long untilNs = parts.stream()
                .mapToLong(part -> (byClocks ? part.beganNs : 0) + part.lengthNs)
                .min()
                .orElseThrow();
        int instants =
                parts.stream().mapToInt(part -> part.arrivals.timesNs.length).reduce(0, Math::addExact);
        long[] times = new long[instants];
        int[] counts = new int[instants];
        int[] brokerOf = new int[instants];
        int[] next = new int[parts.size()];
        int size = 0;
        long messages = 0;
        while (true) {
            int first = earliest(parts, next, byClocks);
            if (first < 0) {
                break;
            }
            ArrivalTrace arrivals = parts.get(first).arrivals;
            long atNs = timeNs(parts.get(first), next[first], byClocks);
            int count = arrivals.counts[next[first]++];
            if (atNs >= untilNs || messages + count > TraceCsv.MAX_MESSAGES) {
                break;
            }
            if (atNs >= fromNs) {
                times[size] = atNs - fromNs;
                counts[size] = count;
                brokerOf[size++] = first;
                messages += count;
            }
        }
        return new ArrivalTrace(
                parts.stream().map(Part::broker).toList(),
                Arrays.copyOf(times, size),
                Arrays.copyOf(counts, size),
                Arrays.copyOf(brokerOf, size));
    }

    /** Whether the brokers' clocks contradict that all began within this time. */
    public static boolean clocksDiffer(List<Part> parts, long withinNs) {
        long first = parts.stream().mapToLong(Part::beganNs).min().orElseThrow();
        long last = parts.stream().mapToLong(Part::beganNs).max().orElseThrow();
        return last - first > withinNs;
    }

    /** Of the parts that have more, the one whose next instant comes first; −1 if none has. */
    private static int earliest(List<Part> parts, int[] next, boolean byClocks) {
        int earliest = -1;
        for (int i = 0; i < next.length; i++) {
            if (next[i] < parts.get(i).arrivals.timesNs.length
                    && (earliest < 0
                            || timeNs(parts.get(i), next[i], byClocks)
                                    < timeNs(parts.get(earliest), next[earliest], byClocks))) {
                earliest = i;
            }
        }
        return earliest;
    }

    private static long timeNs(Part part, int instant, boolean byClocks) {
        return (byClocks ? part.beganNs : 0) + part.arrivals.timesNs[instant];
    }

    public int messages() {
        return Arrays.stream(counts).sum();
    }

    public double messagesPerSecond() {
        return messages() * 1e9 / periodNs();
    }

    public int messagesAt(int broker) {
        int messages = 0;
        for (int i = 0; i < counts.length; i++) {
            messages += brokerOf[i] == broker ? counts[i] : 0;
        }
        return messages;
    }

    /** The time of every message. */
    public long[] messageTimesNs() {
        long[] all = new long[messages()];
        int at = 0;
        for (int i = 0; i < counts.length; i++) {
            Arrays.fill(all, at, at + counts[i], timesNs[i]);
            at += counts[i];
        }
        return all;
    }

    /** The instants with which the first {@code messages} are complete; all if there are not so many. */
    public ArrivalTrace first(int messages) {
        int instants = 0;
        for (long seen = 0; instants < counts.length && seen < messages; instants++) {
            seen += counts[instants];
        }
        return instants == counts.length
                ? this
                : new ArrivalTrace(
                        brokers,
                        Arrays.copyOf(timesNs, instants),
                        Arrays.copyOf(counts, instants),
                        Arrays.copyOf(brokerOf, instants));
    }

    /** After which it may be repeated: from its first instant to its last, and a mean gap more. */
    long periodNs() {
        int gaps = timesNs.length - 1;
        long spanNs = timesNs[gaps] - timesNs[0];
        return spanNs + (gaps == 0 ? SECOND_NS : Math.max(1, spanNs / gaps));
    }
}
