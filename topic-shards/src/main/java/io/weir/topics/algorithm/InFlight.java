package io.weir.topics.algorithm;

/**
 * What one consumer holds unacknowledged: found by message id, and listed by deadline. A consumer's time-out is the
 * same for all its messages, so a new deadline nearly always is the latest and joins at the list's end: no timer per
 * message, and the head says when to look next.
 *
 * <p>Most consumers acknowledge in the order in which they got their messages, and then the one that is looked for is
 * the list's first. So there is an index of the ids only from the first search that needs one on until nothing is in
 * flight.
 *
 * <p>A slot takes some 56 bytes. Beyond the first few, all tables share a {@link SlotBudget}: whoever adds asks
 * {@link #hasRoom} first. {@link #trim} gives back what was not needed for a while.
 */
public final class InFlight {
    public static final int NONE = -1;

    private static final int LEAST = 16;

    private final SlotBudget slots;
    private long[] ids;
    private long[] entries;
    private long[] sentNs;
    private long[] deadlinesNs;
    private int[] before;
    private int[] after;
    /** Open addressing with linear probing: slot + 1, or 0. At most half full, and empty unless {@link #indexed}. */
    private int[] index;

    private boolean indexed;

    private int firstFree = NONE;
    private int head = NONE;
    private int tail = NONE;
    private int size;
    /** The most since the last {@link #trim}. */
    private int peak;

    public InFlight(SlotBudget slots) {
        this.slots = slots;
        rebuild(LEAST);
    }

    /** Whether one more can be added. */
    public boolean hasRoom() {
        return firstFree != NONE || slots.has(ids.length);
    }

    /**
     * @param entry what the channel knows of the message
     * @throws IllegalStateException if that id is in flight here already; without an index that is noticed when one is
     *     made
     */
    public void add(long id, long entry, long nowNs, long deadlineNs) {
        if (firstFree == NONE) {
            slots.take(ids.length);
            rebuild(ids.length * 2);
        }
        int slot = firstFree;
        if (indexed) {
            index[placeFor(id)] = slot + 1;
        }
        firstFree = after[slot];
        ids[slot] = id;
        entries[slot] = entry;
        sentNs[slot] = nowNs;
        size++;
        if (size > peak) {
            peak = size;
        }
        enlist(slot, deadlineNs);
    }

    private int placeFor(long id) {
        int mask = index.length - 1;
        int at = hash(id) & mask;
        while (index[at] != 0) {
            if (ids[index[at] - 1] == id) {
                throw new IllegalStateException("message " + Long.toHexString(id) + " is in flight already");
            }
            at = at + 1 & mask;
        }
        return at;
    }

    /** The slot of a message, or {@link #NONE}. Valid until the next addition or removal. */
    public int find(long id) {
        if (head != NONE && ids[head] == id) {
            return head;
        }
        if (!indexed) {
            makeIndex();
        }
        int mask = index.length - 1;
        int at = hash(id) & mask;
        while (index[at] != 0) {
            int slot = index[at] - 1;
            if (ids[slot] == id) {
                return slot;
            }
            at = at + 1 & mask;
        }
        return NONE;
    }

    public void remove(int slot) {
        if (indexed) {
            unindex(slot);
        }
        delist(slot);
        after[slot] = firstFree;
        firstFree = slot;
        size--;
        indexed &= size > 0;
    }

    public void deadline(int slot, long deadlineNs) {
        delist(slot);
        enlist(slot, deadlineNs);
    }

    /** The slot with the earliest deadline, or {@link #NONE}. */
    public int first() {
        return head;
    }

    public long entry(int slot) {
        return entries[slot];
    }

    public long sentNs(int slot) {
        return sentNs[slot];
    }

    public long deadlineNs(int slot) {
        return deadlinesNs[slot];
    }

    public int size() {
        return size;
    }

    private void enlist(int slot, long deadlineNs) {
        deadlinesNs[slot] = deadlineNs;
        int previous = tail;
        while (previous != NONE && deadlinesNs[previous] - deadlineNs > 0) {
            previous = before[previous];
        }
        int next = previous == NONE ? head : after[previous];
        before[slot] = previous;
        after[slot] = next;
        if (previous == NONE) {
            head = slot;
        } else {
            after[previous] = slot;
        }
        if (next == NONE) {
            tail = slot;
        } else {
            before[next] = slot;
        }
    }

    private void delist(int slot) {
        if (before[slot] == NONE) {
            head = after[slot];
        } else {
            after[before[slot]] = after[slot];
        }
        if (after[slot] == NONE) {
            tail = before[slot];
        } else {
            before[after[slot]] = before[slot];
        }
    }

    private void unindex(int slot) {
        int mask = index.length - 1;
        int hole = hash(ids[slot]) & mask;
        while (index[hole] != slot + 1) {
            hole = hole + 1 & mask;
        }
        // Whatever was pushed past the hole moves back into it, so that no search ends early.
        for (int at = hole + 1 & mask; index[at] != 0; at = at + 1 & mask) {
            int home = hash(ids[index[at] - 1]) & mask;
            if ((at - home & mask) >= (at - hole & mask)) {
                index[hole] = index[at];
                hole = at;
            }
        }
        index[hole] = 0;
    }

    /** Now and then: a table four times as large as it had to be since the last call becomes smaller. */
    public void trim() {
        int wanted = LEAST;
        while (wanted < 2 * peak) {
            wanted *= 2;
        }
        if (2 * wanted <= ids.length) {
            slots.give(ids.length - wanted);
            rebuild(wanted);
        }
        peak = size;
    }

    /** Its consumer is gone, and has nothing left. */
    public void close() {
        slots.give(ids.length - LEAST);
        rebuild(LEAST);
    }

    /** What is listed moves into tables of that length, in the list's order. */
    private void rebuild(int length) {
        long[] oldIds = ids;
        long[] oldEntries = entries;
        long[] oldSentNs = sentNs;
        long[] oldDeadlinesNs = deadlinesNs;
        int[] oldAfter = after;
        int from = head;
        ids = new long[length];
        entries = new long[length];
        sentNs = new long[length];
        deadlinesNs = new long[length];
        before = new int[length];
        after = new int[length];
        index = new int[length * 2];
        for (int slot = 0; slot < size; slot++) {
            ids[slot] = oldIds[from];
            entries[slot] = oldEntries[from];
            sentNs[slot] = oldSentNs[from];
            deadlinesNs[slot] = oldDeadlinesNs[from];
            before[slot] = slot - 1;
            after[slot] = slot + 1;
            from = oldAfter[from];
        }
        head = size == 0 ? NONE : 0;
        tail = size - 1;
        if (size > 0) {
            after[tail] = NONE;
        }
        firstFree = size < length ? size : NONE;
        for (int slot = size; slot < length; slot++) {
            after[slot] = slot + 1 < length ? slot + 1 : NONE;
        }
        if (indexed) {
            makeIndex();
        }
    }

    private void makeIndex() {
        indexed = true;
        for (int slot = head; slot != NONE; slot = after[slot]) {
            index[placeFor(ids[slot])] = slot + 1;
        }
    }

    private static int hash(long id) {
        long mixed = id * 0x9E3779B97F4A7C15L;
        return (int) (mixed >>> 32);
    }
}
