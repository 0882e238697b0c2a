package io.weir.topics.algorithm;

/**
 * How many slots all {@link InFlight} tables of a message path may still add, beyond the few that each begins with. A
 * slot costs several times what a queued entry does, and credit is cheap for a consumer to give.
 */
public final class SlotBudget {
    private final long most;
    private long left;

    public SlotBudget(long most) {
        this.most = most;
        left = most;
    }

    boolean has(int slots) {
        return slots <= left;
    }

    void take(int slots) {
        left -= slots;
    }

    void give(int slots) {
        left += slots;
    }

    /** Less than a quarter is left. */
    public boolean scarce() {
        return left < most / 4;
    }

    public long left() {
        return left;
    }
}
