package io.weir.limiter.simulation;

import java.util.Arrays;

/**
 * What will happen in a simulated world, by time; at the same time in the order in which it was planned, so that a seed
 * replays. A binary heap over plain arrays: the simulations pass through it tens of millions of times.
 *
 * @param <E> what happens
 */
public final class EventQueue<E> {
    /** What {@link #nextNs} answers when nothing is planned. */
    public static final long NOTHING = Long.MAX_VALUE;

    private long[] timeNs = new long[64];
    private long[] order = new long[64];
    private Object[] events = new Object[64];
    private int size;
    private long planned;

    public void plan(long atNs, E event) {
        if (size == timeNs.length) {
            timeNs = Arrays.copyOf(timeNs, size * 2);
            order = Arrays.copyOf(order, size * 2);
            events = Arrays.copyOf(events, size * 2);
        }
        int at = size++;
        long sequence = planned++;
        while (at > 0) {
            int parent = (at - 1) >>> 1;
            if (timeNs[parent] <= atNs) {
                break;
            }
            move(parent, at);
            at = parent;
        }
        put(at, atNs, sequence, event);
    }

    public long nextNs() {
        return size == 0 ? NOTHING : timeNs[0];
    }

    /** Takes the earliest; there must be one. */
    @SuppressWarnings("unchecked")
    public E take() {
        if (size == 0) {
            throw new IllegalStateException("nothing is planned");
        }
        Object earliest = events[0];
        size--;
        long lastNs = timeNs[size];
        long lastOrder = order[size];
        Object last = events[size];
        events[size] = null;
        int at = 0;
        int child = 1;
        while (child < size) {
            if (child + 1 < size && before(child + 1, timeNs[child], order[child])) {
                child++;
            }
            if (!before(child, lastNs, lastOrder)) {
                break;
            }
            move(child, at);
            at = child;
            child = 2 * at + 1;
        }
        if (size > 0) {
            put(at, lastNs, lastOrder, last);
        }
        return (E) earliest;
    }

    private boolean before(int at, long ns, long sequence) {
        return timeNs[at] < ns || timeNs[at] == ns && order[at] < sequence;
    }

    private void move(int from, int to) {
        put(to, timeNs[from], order[from], events[from]);
    }

    private void put(int at, long ns, long sequence, Object event) {
        timeNs[at] = ns;
        order[at] = sequence;
        events[at] = event;
    }
}
