package io.weir.topics.algorithm;

/** A first-in-first-out queue of longs that grows when it must; whoever fills it keeps to a bound. */
public final class LongRing {
    private long[] items = new long[16];
    private int head;
    private int size;

    public void add(long item) {
        if (size == items.length) {
            grow();
        }
        items[head + size++ & items.length - 1] = item;
    }

    public long peek() {
        requireSome();
        return items[head];
    }

    /** The one behind so many others; only if there are so many. */
    public long get(int behind) {
        if (behind < 0 || behind >= size) {
            throw new IllegalStateException(behind + " is not within the ring's " + size);
        }
        return items[head + behind & items.length - 1];
    }

    public long poll() {
        long item = peek();
        head = head + 1 & items.length - 1;
        size--;
        return item;
    }

    public int size() {
        return size;
    }

    public boolean isEmpty() {
        return size == 0;
    }

    private void grow() {
        long[] larger = new long[items.length * 2];
        int first = items.length - head;
        System.arraycopy(items, head, larger, 0, first);
        System.arraycopy(items, 0, larger, first, head);
        items = larger;
        head = 0;
    }

    private void requireSome() {
        if (size == 0) {
            throw new IllegalStateException("the ring is empty");
        }
    }
}
