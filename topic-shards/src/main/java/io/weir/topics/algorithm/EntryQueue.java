package io.weir.topics.algorithm;

/**
 * Entries that wait to be served, in a scheduler's order. Bounded: what finds it full is not added, and the caller
 * refuses or drops it as the queue's owner promises. For a single thread; no allocation once it has grown.
 */
public interface EntryQueue {
    /** Adds an entry, of which the queue keeps what it sorts by; false if it is full. */
    boolean add(long entry, MessageTag tag);

    /** The next to be served; only if there is one. */
    long peek();

    /** Takes what {@link #peek} would answer now. */
    long poll();

    int size();

    default boolean isEmpty() {
        return size() == 0;
    }

    /**
     * One queue for all workflows.
     *
     * @param maxDelayNs the virtual deadline of messages without one
     * @param segments the memory of queues that are first come, first served
     */
    static EntryQueue of(Schedule schedule, int most, long maxDelayNs, LongSegments segments) {
        return schedule == Schedule.FIFO ? new FifoQueue(most, segments) : new KeyedQueue(schedule, most, maxDelayNs);
    }
}
