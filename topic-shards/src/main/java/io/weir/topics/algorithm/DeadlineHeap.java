package io.weir.topics.algorithm;

import java.util.Arrays;

/** Longs by deadline, the earliest first: a binary heap over two arrays. Deadlines compare by difference. */
public final class DeadlineHeap {
    private long[] deadlinesNs = new long[16];
    private long[] items = new long[16];
    private int size;

    public void add(long deadlineNs, long item) {
        if (size == items.length) {
            deadlinesNs = Arrays.copyOf(deadlinesNs, size * 2);
            items = Arrays.copyOf(items, size * 2);
        }
        int at = size++;
        while (at > 0) {
            int parent = (at - 1) / 2;
            if (deadlinesNs[parent] - deadlineNs <= 0) {
                break;
            }
            move(parent, at);
            at = parent;
        }
        deadlinesNs[at] = deadlineNs;
        items[at] = item;
    }

    public boolean isEmpty() {
        return size == 0;
    }

    public int size() {
        return size;
    }

    /** The earliest; only if there is one. */
    public long deadlineNs() {
        requireSome();
        return deadlinesNs[0];
    }

    /** Takes the item of the earliest deadline. */
    public long poll() {
        requireSome();
        long item = items[0];
        long lastNs = deadlinesNs[--size];
        long lastItem = items[size];
        int at = 0;
        int child = 1;
        while (child < size) {
            if (child + 1 < size && deadlinesNs[child + 1] - deadlinesNs[child] < 0) {
                child++;
            }
            if (lastNs - deadlinesNs[child] <= 0) {
                break;
            }
            move(child, at);
            at = child;
            child = 2 * at + 1;
        }
        deadlinesNs[at] = lastNs;
        items[at] = lastItem;
        return item;
    }

    private void move(int from, int to) {
        deadlinesNs[to] = deadlinesNs[from];
        items[to] = items[from];
    }

    private void requireSome() {
        if (size == 0) {
            throw new IllegalStateException("the heap is empty");
        }
    }
}
