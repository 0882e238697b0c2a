package io.weir.cluster.stage;

import java.time.Duration;

/**
 * What the switch does with the frames from one host to another. A cut drops all of them, those too that were delayed
 * before it. Otherwise each is lost, or comes after the delay and a part of the jitter, in the order it was sent, maybe
 * a second time; one that is reordered is held back for up to {@link Crossing#HOLD_BACK_NS} more, and the others pass
 * it.
 *
 * <p>When a delay ends, what is under way still comes at its time, behind what was sent later.
 *
 * @param lossPermille of a thousand frames, as with the other chances
 * @param jitterNs the longest that is added to the delay, evenly distributed
 */
public record Conditions(
        boolean cut, int lossPermille, long delayNs, long jitterNs, int duplicatePermille, int reorderPermille) {
    public static final Conditions CLEAR = new Conditions(false, 0, 0, 0, 0, 0);
    public static final Conditions CUT = new Conditions(true, 0, 0, 0, 0, 0);

    private static final long LONGEST_NS = Duration.ofMinutes(10).toNanos();

    public Conditions {
        checkPermille("loss", lossPermille);
        checkPermille("duplicate", duplicatePermille);
        checkPermille("reorder", reorderPermille);
        checkTime("delay", delayNs);
        checkTime("jitter", jitterNs);
    }

    public static Conditions delayed(Duration delay, Duration jitter) {
        return new Conditions(false, 0, delay.toNanos(), jitter.toNanos(), 0, 0);
    }

    public Conditions withLoss(int permille) {
        return new Conditions(cut, permille, delayNs, jitterNs, duplicatePermille, reorderPermille);
    }

    public Conditions withDuplicates(int permille) {
        return new Conditions(cut, lossPermille, delayNs, jitterNs, permille, reorderPermille);
    }

    public Conditions withReordering(int permille) {
        return new Conditions(cut, lossPermille, delayNs, jitterNs, duplicatePermille, permille);
    }

    private static void checkPermille(String what, int permille) {
        if (permille < 0 || permille > 1_000) {
            throw new IllegalArgumentException(what + " of " + permille + " per thousand: it is from 0 to 1000");
        }
    }

    private static void checkTime(String what, long ns) {
        if (ns < 0 || ns > LONGEST_NS) {
            throw new IllegalArgumentException(what + " of " + ns + " ns: it is from 0 to ten minutes");
        }
    }
}
