package io.weir.limiter.algorithm;

import io.weir.config.value.Limit;

/**
 * The history that a broker keeps of one topic: what arrived, the backlog, and how many messages waited, slot by slot.
 * SRTM's TB adaptor (5.4) takes averages over ten windows of 1 s. Here the same numbers come with their error, because
 * shares that follow noise cost more than shares that stand still: at 90% load a share that is 10% too small for one
 * second is a line of hundreds.
 *
 * <p><b>Error.</b> Over k slots in which n messages came, the mean's standard error is the larger of √(n + 1)/k (what
 * even a perfect Poisson process has; the 1 is for what may come where nothing came) and s/√k, s being the slots' own
 * standard deviation. Bounds lie three errors to each side. A burst in one slot of eight has a mean of 1/8 of it and an
 * error of as much, so its lower bound is 0.
 *
 * <p><b>Two windows.</b> The short one (the last 8 slots of 250 ms) sees a change soon, the long one (40 of them,
 * SRTM's ten seconds) has less than half the error while nothing changes. As long as they agree within two errors of
 * the short one the long one counts, else the short one. That fits slow topics too: where the short window has too few
 * messages to contradict, the long one speaks.
 *
 * <p><b>A burst shorter than the short window moves nothing.</b> The short window's lower bound is no more than its
 * emptiest slot allows, and a broker counts as saturated only if every slot of it says so.
 *
 * <p><b>Backlog.</b> The paper does not define it. Messages that wait would be a measure that answers to itself: a
 * broker whose bucket is large enough has none, loses burst for it, then has some and wins it back. What is taken here
 * is the unfinished work U of the paper's Eq. 2, that is the tokens missing from a full bucket plus the messages that
 * wait, β − λ + waiting. It says how large β should have been and hardly depends on how large it is. Of each slot the
 * largest counts, of the slots the mean. A line that stands for a whole slot is left out: more burst would not shorten
 * it.
 *
 * <p>For a single writer; allocates nothing once built, but for the answer. Slots before the first arrival count as
 * empty, and so do slots that nobody touched unless messages waited through them.
 */
public final class DemandWindow {
    /**
     * How long a slot is, and how many make the short and the long window.
     *
     * @param slotNs long enough for a few messages of a busy topic, short enough for a few slots a round
     */
    public record Shape(long slotNs, int slots, int longSlots) {
        /** A broker's default, see {@code weir.supply.window}. */
        public static final Shape USUAL = new Shape(250_000_000L, 8, 40);

        public Shape {
            if (slotNs <= 0 || slots < 2 || longSlots < slots) {
                throw new IllegalArgumentException("a window of " + slots + " and " + longSlots + " slots of " + slotNs
                        + " ns: at least 2 slots, and the long window not shorter than the short one");
            }
        }

        public long longNs() {
            return slotNs * longSlots;
        }
    }

    private static final double NANOS = 1e9;
    /** Standard errors from the mean to a bound. */
    private static final double BOUND = 3;
    /** Standard errors of the short window within which the long one agrees. */
    private static final double AGREED = 2;
    /** The part of a slot's messages that found no token, if the slot is saturated. */
    private static final double NEARLY_ALL = 0.9;

    private final Shape shape;
    // Messages of each slot, as a ring; of those that waited 0 if the slot is not saturated. Estimates, so floats do.
    private final float[] arrived;
    private final float[] backlog;
    private final float[] waited;
    /** Where the next full slot goes. */
    private int next;

    private long slotEndNs;
    // The slot that is being written.
    private long arrivedMicros;
    private long starvedMicros;
    private long backlogMicros;
    private double waitingSeen;
    private int seen;
    /** Whether messages waited or came in the slot's first half, and in its second. */
    private boolean early;

    private boolean late;
    /** What waits now. */
    private long waitingNow;

    private long lastBacklogMicros;

    public DemandWindow(Shape shape, long nowNs) {
        this.shape = shape;
        arrived = new float[shape.longSlots];
        backlog = new float[shape.longSlots];
        waited = new float[shape.longSlots];
        slotEndNs = nowNs + shape.slotNs;
    }

    /**
     * Counts what arrived.
     *
     * @param missingMicros the tokens that the bucket lacks to be full, after this
     * @param waitingTokens what waits now, this included unless it passed
     * @param foundNone whether it found no token, and waits for one or was refused
     */
    public void arrived(int tokens, long missingMicros, long waitingTokens, boolean foundNone, long nowNs) {
        advance(nowNs);
        arrivedMicros += tokens * Limit.MICROS;
        if (foundNone) {
            starvedMicros += tokens * Limit.MICROS;
        }
        lastBacklogMicros = missingMicros + waitingTokens * Limit.MICROS;
        backlogMicros = Math.max(backlogMicros, lastBacklogMicros);
        if (tokens > 0) {
            waitingSeen += waitingTokens;
            seen++;
            boolean firstHalf = nowNs - slotEndNs < -shape.slotNs / 2;
            early |= firstHalf;
            late |= !firstHalf;
        }
        waitingNow = waitingTokens;
    }

    /** So many wait now. */
    public void waiting(long tokens, long nowNs) {
        if (tokens != waitingNow) {
            advance(nowNs);
            waitingNow = tokens;
        }
    }

    /**
     * Means have the slot that is being written in them, so that a broker's first messages count at once. The errors
     * are those of the full slots.
     */
    public Demand demand(long nowNs) {
        advance(nowNs);
        double lowest = lowest(arrived, shape.slots);
        double atMost = lowest + BOUND * Math.sqrt(lowest + 1);
        double begun = 1 - (slotEndNs - nowNs) / (double) shape.slotNs;
        double came = arrivedMicros / (double) Limit.MICROS;
        Estimate rate = estimate(arrived, came, begun, true, atMost, NANOS / shape.slotNs * Limit.MICROS);
        Estimate work = estimate(backlog, 0, 0, false, lowest(backlog, shape.slots), Limit.MICROS);
        return new Demand(rate, work, waitedThroughout());
    }

    /**
     * @param last of the slot that is being written
     * @param begun how much of that slot is over
     * @param atMost what the emptiest slot allows
     */
    private Estimate estimate(float[] values, double last, double begun, boolean counts, double atMost, double scale) {
        double mean = mean(values, shape.slots, last, begun);
        double error = error(values, shape.slots, mean, counts);
        double least = Math.min(mean - BOUND * error, atMost);
        double longMean = mean(values, shape.longSlots, last, begun);
        if (Math.abs(mean - longMean) <= AGREED * error) {
            mean = longMean;
            error = error(values, shape.longSlots, mean, counts);
            least = mean - BOUND * error;
        }
        long middle = Math.round(mean * scale);
        return new Estimate(
                Math.min(middle, Math.max(0, Math.round(least * scale))),
                middle,
                Math.max(middle, Math.round((mean + BOUND * error) * scale)));
    }

    /**
     * The number that waited, if messages did in every slot. Between the slots' extremes: how many wait is no sum of
     * independent messages but wanders, if the publishers do not keep it where it is.
     */
    private Estimate waitedThroughout() {
        double least = lowest(waited, shape.slots);
        if (least == 0) {
            return Estimate.NONE;
        }
        double most = 0;
        for (int i = 1; i <= shape.slots; i++) {
            most = Math.max(most, waited[back(i)]);
        }
        double mean = Math.min(most, Math.max(least, mean(waited, shape.slots, 0, 0)));
        return new Estimate((long) (least * Limit.MICROS), (long) (mean * Limit.MICROS), (long) (most * Limit.MICROS));
    }

    private double mean(float[] values, int slots, double last, double begun) {
        double sum = last;
        for (int i = 1; i <= slots; i++) {
            sum += values[back(i)];
        }
        return sum / (slots + begun);
    }

    private double error(float[] values, int slots, double mean, boolean counts) {
        double squares = 0;
        for (int i = 1; i <= slots; i++) {
            double off = values[back(i)] - mean;
            squares += off * off;
        }
        double sampled = Math.sqrt(squares / (slots - 1) / slots);
        return counts ? Math.max(sampled, Math.sqrt(mean * slots + 1) / slots) : sampled;
    }

    private double lowest(float[] values, int slots) {
        double lowest = Double.MAX_VALUE;
        for (int i = 1; i <= slots; i++) {
            lowest = Math.min(lowest, values[back(i)]);
        }
        return lowest;
    }

    /** Where the slot is that was full {@code i} slots ago. */
    private int back(int i) {
        int at = next - i;
        return at < 0 ? at + arrived.length : at;
    }

    private void advance(long nowNs) {
        if (nowNs - slotEndNs < 0) {
            return;
        }
        long ended = (nowNs - slotEndNs) / shape.slotNs + 1;
        slotEndNs += ended * shape.slotNs;
        for (long i = Math.min(ended, shape.longSlots + 1L); i > 0; i--) {
            endSlot();
        }
    }

    private void endSlot() {
        arrived[next] = (float) arrivedMicros / Limit.MICROS;
        double standing = waitingNow;
        if (arrivedMicros > 0) {
            // The end of a burst, or its beginning, is no whole slot.
            boolean whole = early && (late || waitingNow > 0);
            boolean saturated = whole && starvedMicros >= NEARLY_ALL * arrivedMicros;
            standing = saturated ? waitingSeen / seen : 0;
        } else {
            backlogMicros = waitingNow > 0 ? lastBacklogMicros : 0;
        }
        waited[next] = (float) standing;
        backlog[next] = (float) Math.max(0, backlogMicros / (double) Limit.MICROS - standing);
        next = next + 1 == arrived.length ? 0 : next + 1;
        arrivedMicros = 0;
        starvedMicros = 0;
        backlogMicros = 0;
        waitingSeen = 0;
        seen = 0;
        early = waitingNow > 0;
        late = false;
    }
}
