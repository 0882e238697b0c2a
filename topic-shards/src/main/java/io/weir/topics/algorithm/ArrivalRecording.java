package io.weir.topics.algorithm;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * When a topic's messages arrived at a broker, for as long as somebody wants to know. One thread writes: it begins the
 * recording, tells it of arrivals, and ends it. Others may ask whether it is {@link #running}, and read the arrivals
 * once that thread has told them that it is over.
 *
 * <p>Nothing is allocated after the constructor, which is for the thread that asks. An instant takes eight bytes: what
 * arrived at the same time, such as a batch, or all that one waking of the sockets brought, is one instant.
 *
 * <p><b>Full</b>, the recording ends there and then, as if its time was over. Nothing is sampled or thinned: a burst
 * with some messages missing would ask for too small a bucket.
 */
public final class ArrivalRecording {
    /** 8 MiB. */
    public static final int MOST_INSTANTS = 1 << 20;

    /** As many as a trace may hold. */
    public static final long MOST_MESSAGES = 10_000_000;

    public static final long LONGEST_NS = TimeUnit.MINUTES.toNanos(10);

    /** The time since the beginning is above, in 40 bits: 18 minutes. The messages are below, up to 16 million. */
    private static final int COUNT_BITS = 24;

    private static final long COUNT = (1L << COUNT_BITS) - 1;

    private enum State {
        /** Nobody writes yet. */
        NEW,
        RUNNING,
        OVER
    }

    /**
     * How far it is.
     *
     * @param lengthNs what was recorded: nothing that arrived in this time, from the beginning on, is missing
     * @param full whether it ended before its time because there was no room
     * @param delayed messages that had to wait for the limit meanwhile
     * @param refused messages that were turned away meanwhile
     */
    public record Progress(
            long lengthNs, long messages, int instants, boolean over, boolean full, long delayed, long refused) {}

    private final long[] instants;
    private final long forNs;
    private int size;
    private long messages;
    private long beganNs;
    private long endNs;
    private boolean full;
    private long delayedBefore;
    private long refusedBefore;
    private Progress last;
    /** Written after the times, so that whoever reads this first finds those. */
    private volatile State state = State.NEW;

    /** @param forNs at most {@link #LONGEST_NS} */
    public ArrivalRecording(int mostInstants, long forNs) {
        if (forNs <= 0 || forNs > LONGEST_NS) {
            throw new IllegalArgumentException(
                    "a recording takes above 0 and at most " + LONGEST_NS + " ns, not " + forNs);
        }
        this.instants = new long[mostInstants];
        this.forNs = forNs;
    }

    /** @param delayed and {@code refused}: what the topic has counted until now */
    public void begin(long nowNs, long delayed, long refused) {
        if (state != State.NEW) {
            throw new IllegalStateException("a recording begins once, and this one is " + state);
        }
        beganNs = nowNs;
        endNs = nowNs + forNs;
        delayedBefore = delayed;
        refusedBefore = refused;
        state = State.RUNNING;
    }

    /**
     * Messages came. What arrived before the beginning, at another broker, is not part of it.
     *
     * @param arrivalNs not after {@code nowNs}
     * @return false if it is over, so that nobody needs to tell it any more
     */
    public boolean arrived(int count, long arrivalNs, long nowNs) {
        if (full || nowNs - endNs >= 0) {
            return false;
        }
        long sinceNs = arrivalNs - beganNs;
        if (sinceNs < 0) {
            return true;
        }
        long here = size == 0 ? -1 : instants[size - 1];
        if (messages + count > MOST_MESSAGES) {
            return full(arrivalNs);
        } else if (here >>> COUNT_BITS == sinceNs) {
            instants[size - 1] = here + count;
        } else if (size == instants.length) {
            return full(arrivalNs);
        } else {
            instants[size++] = sinceNs << COUNT_BITS | count;
        }
        messages += count;
        return true;
    }

    private boolean full(long arrivalNs) {
        full = true;
        endNs = arrivalNs;
        return false;
    }

    /** For the thread that writes: whether there is nothing more to come. */
    public boolean isOver(long nowNs) {
        return state == State.OVER || state == State.RUNNING && (full || nowNs - endNs >= 0);
    }

    /** For the thread that writes. Also the last word on what was counted. */
    public Progress end(long nowNs, long delayed, long refused) {
        if (state != State.OVER) {
            if (nowNs - endNs < 0) {
                endNs = nowNs;
            }
            last = new Progress(
                    endNs - beganNs, messages, size, true, full, delayed - delayedBefore, refused - refusedBefore);
            state = State.OVER;
        }
        return last;
    }

    /** For the thread that writes. */
    public Progress progress(long nowNs, long delayed, long refused) {
        return state == State.OVER
                ? last
                : new Progress(
                        nowNs - beganNs, messages, size, false, full, delayed - delayedBefore, refused - refusedBefore);
    }

    /** For any thread: whether it may still get arrivals. */
    public boolean running(long nowNs) {
        State now = state;
        return now == State.NEW || now == State.RUNNING && nowNs - endNs < 0;
    }

    /** By the clock of the thread that writes; for any thread once it has begun. */
    public long beganNs() {
        return beganNs;
    }

    /** When it ends at the latest; for any thread once it has begun. */
    public long endNs() {
        return endNs;
    }

    /**
     * For any thread, once it is over: a time since the beginning for each instant, in order.
     *
     * @throws IllegalStateException before
     */
    public Arrivals arrivals() {
        if (state != State.OVER) {
            throw new IllegalStateException("the recording is not over");
        }
        // By time, because that is above: a message may have come over a link, with its age.
        long[] sorted = Arrays.copyOf(instants, size);
        Arrays.sort(sorted);
        int within = 0;
        long lengthNs = endNs - beganNs;
        long[] timesNs = new long[size];
        int[] counts = new int[size];
        for (long instant : sorted) {
            // Recorded before it was full, and arrived after that instant.
            if (instant >>> COUNT_BITS < lengthNs) {
                timesNs[within] = instant >>> COUNT_BITS;
                counts[within++] = (int) (instant & COUNT);
            }
        }
        return new Arrivals(Arrays.copyOf(timesNs, within), Arrays.copyOf(counts, within));
    }

    /** So many messages at each time. */
    public record Arrivals(long[] timesNs, int[] counts) {}
}
