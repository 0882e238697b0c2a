package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Finds the limit (r, b) that a trace of arrivals needs (SRTM, section 6): r = (1 + margin)·rate, and the smallest
 * whole b for which the 99th percentile of the access delay is zero.
 *
 * <p>No search: by SRTM's Eq. 2 a message waits exactly if it finds more than b − 1 tokens of unfinished work U, so b −
 * 1 is the percentile of U, rounded up. U is what is missing in a bucket of rate r too large to ever be empty, and that
 * is the broker's own bucket, so the answer is exact for it.
 */
public final class BucketProfiler {
    /** The part of the messages that shall not wait. */
    public static final double QUANTILE = 0.99;

    /**
     * From here on b can be trusted to about 15%. Measured on 60 Poisson traces each, margin 0.1, where the model says
     * 26: 1,000 messages gave 10 to 32, 10,000 gave 16 to 49, 100,000 gave 21 to 32 (52 of 60 within 15%), 300,000 gave
     * 23 to 30 (58 of 60). Short traces err low, because few of them hold one of the rare long queues.
     */
    static final int LONG_TRACE = 100_000;

    private final double margin;

    /** @param margin how far r lies above the trace's rate: 0.1 for 10%, as in the paper */
    public BucketProfiler(double margin) {
        if (!(margin >= 0 && margin <= 100)) {
            throw new IllegalArgumentException("margin " + margin + " is not between 0 and 100 (0.1 means 10%)");
        }
        this.margin = margin;
    }

    /**
     * What a trace needs, and why.
     *
     * @param messages how many there were
     * @param spanSeconds from the first to the last
     * @param messagesPerSecond their rate: those after the first instant, over the span
     * @param limit what to set
     * @param delayedFraction the part that would have waited with it
     * @param delayedFractionBelow the part that would have waited with a burst smaller by one
     * @param longestDelaySeconds how long the unluckiest would have waited
     * @param burstWithoutDelay the smallest burst with which none would have waited
     * @param poissonBurst the burst that Poisson arrivals of the same rate need, or 0 without a margin: the yardstick
     *     of burstiness
     */
    public record Profile(
            long messages,
            double spanSeconds,
            double messagesPerSecond,
            double margin,
            Limit limit,
            double delayedFraction,
            double delayedFractionBelow,
            double longestDelaySeconds,
            long burstWithoutDelay,
            long poissonBurst) {

        /** One sentence a line, for a person. */
        public List<String> reasons() {
            String poisson = poissonBurst == 0
                    ? "Without a margin no burst would do for random (Poisson) arrivals."
                    : say(
                            "Random (Poisson) arrivals of this rate would need b = %d: this trace is %s.",
                            poissonBurst, comparison());
            return List.of(
                    say(
                            "r is the trace's rate of %.6g msg/s (%d messages in %.6g s) plus a margin of %.4g%%.",
                            messagesPerSecond, messages, spanSeconds, margin * 100),
                    say(
                            "b is the smallest burst whose 99th percentile of the access delay is zero: "
                                    + "%.3g%% of the messages would have waited%s.",
                            delayedFraction * 100,
                            burst() == 1 ? "" : say("; with b = %d, %.3g%%", burst() - 1, delayedFractionBelow * 100)),
                    longestDelaySeconds == 0
                            ? "No message would have waited."
                            : say(
                                    "The longest wait would have been %.4g ms; b = %d would have spared every wait.",
                                    longestDelaySeconds * 1_000, burstWithoutDelay),
                    poisson,
                    messages >= LONG_TRACE
                            ? say("%d messages make b certain to about 15%%, if they are typical.", messages)
                            : say(
                                    "%d messages are few: waits come in clusters, so b may be far too small. "
                                            + "Take a trace of %d or more.",
                                    messages, LONG_TRACE));
        }

        private String comparison() {
            if (messages < LONG_TRACE) {
                return "too short to compare";
            }
            if (Math.abs(burst() - poissonBurst) <= Math.max(1, 0.15 * poissonBurst)) {
                return "about as bursty";
            }
            return burst() > poissonBurst ? "burstier" : "smoother";
        }

        private long burst() {
            return limit.burstMicros() / Limit.MICROS;
        }

        private static String say(String format, Object... values) {
            return String.format(Locale.ROOT, format, values);
        }
    }

    /** @param arrivalsNs one time a message, never decreasing, at least two of them different */
    public Profile profile(long[] arrivalsNs) {
        long firstNs = arrivalsNs.length == 0 ? 0 : arrivalsNs[0];
        long spanNs = arrivalsNs.length == 0 ? 0 : arrivalsNs[arrivalsNs.length - 1] - firstNs;
        if (spanNs <= 0) {
            throw new IllegalArgumentException(
                    "a trace of " + arrivalsNs.length + " messages at one instant has no rate: it needs two instants");
        }
        int atFirst = 0;
        while (arrivalsNs[atFirst] == firstNs) {
            atFirst++;
        }
        double spanSeconds = spanNs / 1e9;
        double rate = (arrivalsNs.length - atFirst) / spanSeconds;
        long rateMicros = (long) Math.ceil((1 + margin) * rate * Limit.MICROS);
        if (rateMicros > Limit.MAX_RATE_MICROS) {
            throw new IllegalArgumentException(String.format(
                    Locale.ROOT, "a trace of %.4g msg/s is above what a limit can hold: 1,000,000,000 msg/s", rate));
        }

        long[] need = sortedNeed(arrivalsNs, rateMicros);
        int rank = (int) Math.ceil(QUANTILE * need.length - 1e-9 * need.length);
        long burst = wholeTokens(need[rank - 1]);
        long mostMicros = need[need.length - 1];
        double longest = Math.max(0, mostMicros - burst * Limit.MICROS) / (double) rateMicros;
        return new Profile(
                need.length,
                spanSeconds,
                rate,
                margin,
                new Limit(rateMicros, burst * Limit.MICROS),
                partAbove(need, burst),
                partAbove(need, burst - 1),
                longest,
                wholeTokens(mostMicros),
                margin == 0 ? 0 : new BucketModel(rate, rate * (1 + margin), 1).smallestBurst(QUANTILE));
    }

    /** U + 1 of every message: the burst, in micro-tokens, with which it would not have waited. */
    private static long[] sortedNeed(long[] arrivalsNs, long rateMicros) {
        long[] need = new long[arrivalsNs.length];
        TokenBucket bucket = new TokenBucket(rateMicros, Limit.MAX_BURST_MICROS, Limit.MAX_BURST_MICROS, arrivalsNs[0]);
        for (int i = 0; i < need.length; i++) {
            if (i > 0 && arrivalsNs[i] < arrivalsNs[i - 1]) {
                throw new IllegalArgumentException("arrival " + (i + 1) + " at " + arrivalsNs[i]
                        + " ns lies before the one it follows, at " + arrivalsNs[i - 1] + " ns");
            }
            if (!bucket.tryTake(1, arrivalsNs[i])) {
                throw new IllegalArgumentException("the trace's backlog exceeds the largest burst a limit can hold");
            }
            need[i] = Limit.MAX_BURST_MICROS - bucket.levelMicros(arrivalsNs[i]);
        }
        Arrays.sort(need);
        return need;
    }

    private static long wholeTokens(long micros) {
        return (micros + Limit.MICROS - 1) / Limit.MICROS;
    }

    private static double partAbove(long[] sortedNeed, long burst) {
        int above = 0;
        for (int i = sortedNeed.length - 1; i >= 0 && sortedNeed[i] > burst * Limit.MICROS; i--) {
            above++;
        }
        return above / (double) sortedNeed.length;
    }
}
