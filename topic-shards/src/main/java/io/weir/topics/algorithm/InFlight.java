package io.weir.topics.algorithm;

import java.util.Arrays;

/**
 * What one consumer holds unacknowledged: found by message id, and listed by deadline. A consumer's time-out is the
 * same for all its messages, so a new deadline nearly always is the latest and joins at the list's end: no timer per
 * message, and the head says when to look next.
 *
 * <p>Most consumers acknowledge in the order in which they got their messages, and then the one that is looked for is
 * the list's first. So there is an index of the ids only from the first search that needs one on until nothing is in
 * flight.
 */
public final class InFlight {
    public static final int NONE = -1;

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

    public InFlight() {
        resize(16);
    }

    /**
     * @param entry what the channel knows of the message
     * @throws IllegalStateException if that id is in flight here already; without an index that is noticed when one is
     *     made
     */
    public void add(long id, long entry, long nowNs, long deadlineNs) {
        if (firstFree == NONE) {
            resize(ids.length * 2);
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

    private void resize(int slots) {
        int old = ids == null ? 0 : ids.length;
        ids = old == 0 ? new long[slots] : Arrays.copyOf(ids, slots);
        entries = old == 0 ? new long[slots] : Arrays.copyOf(entries, slots);
        sentNs = old == 0 ? new long[slots] : Arrays.copyOf(sentNs, slots);
        deadlinesNs = old == 0 ? new long[slots] : Arrays.copyOf(deadlinesNs, slots);
        before = old == 0 ? new int[slots] : Arrays.copyOf(before, slots);
        after = old == 0 ? new int[slots] : Arrays.copyOf(after, slots);
        for (int slot = slots - 1; slot >= old; slot--) {
            after[slot] = firstFree;
            firstFree = slot;
        }
        index = new int[slots * 2];
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
