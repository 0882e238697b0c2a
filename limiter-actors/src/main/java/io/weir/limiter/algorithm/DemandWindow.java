package io.weir.limiter.algorithm;

/**
 * The history that a broker keeps for SRTM's TB adaptor (5.4): average rate and maximum backlog over a window of slots,
 * in the paper ten of 1 s.
 *
 * <p>The paper does not define the backlog. Messages that wait would be a measure that answers to itself: a broker
 * whose bucket is large enough has none, loses burst for it, then has some and wins it back. What is taken here is the
 * unfinished work U of the paper's Eq. 2, that is the tokens missing from a full bucket plus the messages that wait, β
 * − λ + waiting. It says how large β should have been and hardly depends on how large it is.
 *
 * <p>For a single writer; allocates nothing once built. A slot that nobody touched counts as empty, so an idle broker's
 * demand falls to 0 within a window.
 */
public final class DemandWindow {
    private static final double NANOS = 1e9;

    private final long slotNs;
    private final long[] arrivedMicros;
    private final long[] backlogMicros;
    private final long startNs;
    /** The number of the slot that is being written, counted from {@link #startNs}. */
    private long slot;

    /** Where that slot stands, and when it ends: most arrivals come within it and need no division. */
    private int at;

    private long slotEndNs;

    public DemandWindow(long slotNs, int slots, long nowNs) {
        if (slotNs <= 0 || slots < 1) {
            throw new IllegalArgumentException("a window of " + slots + " slots of " + slotNs + " ns");
        }
        this.slotNs = slotNs;
        this.arrivedMicros = new long[slots];
        this.backlogMicros = new long[slots];
        this.startNs = nowNs;
        this.slotEndNs = nowNs + slotNs;
    }

    /** Counts what arrived, and the backlog that it left behind. */
    public void arrived(long micros, long backlogAfterMicros, long nowNs) {
        advance(nowNs);
        arrivedMicros[at] += micros;
        backlogMicros[at] = Math.max(backlogMicros[at], backlogAfterMicros);
    }

    /**
     * Over the slots so far, the one that is being written included: at most the window, less in a broker's first
     * seconds.
     */
    public Demand demand(long nowNs) {
        advance(nowNs);
        long arrived = 0;
        long backlog = 0;
        for (int i = 0; i < arrivedMicros.length; i++) {
            arrived += arrivedMicros[i];
            backlog = Math.max(backlog, backlogMicros[i]);
        }
        long fullSlots = Math.min(slot, arrivedMicros.length - 1L);
        long coveredNs = fullSlots * slotNs + (nowNs - startNs) - slot * slotNs;
        // A rate is an estimate that nothing is conserved by, so a double is fine.
        return new Demand(coveredNs <= 0 ? 0 : Math.round(arrived * NANOS / coveredNs), backlog);
    }

    private void advance(long nowNs) {
        if (nowNs - slotEndNs < 0) {
            return;
        }
        long current = (nowNs - startNs) / slotNs;
        long first = Math.max(slot + 1, current - arrivedMicros.length + 1);
        for (long s = first; s <= current; s++) {
            arrivedMicros[(int) (s % arrivedMicros.length)] = 0;
            backlogMicros[(int) (s % backlogMicros.length)] = 0;
        }
        slot = current;
        at = (int) (slot % arrivedMicros.length);
        slotEndNs = startNs + (slot + 1) * slotNs;
    }
}
