package io.weir.topics.algorithm;

/** First come, first served: a {@link LongRing} with a bound. It looks at no tag. */
final class FifoQueue implements EntryQueue {
    private final LongRing ring;
    private final int most;

    FifoQueue(int most, LongSegments segments) {
        this.most = most;
        ring = new LongRing(segments);
    }

    @Override
    public boolean add(long entry, MessageTag tag) {
        if (ring.size() >= most) {
            return false;
        }
        ring.add(entry);
        return true;
    }

    @Override
    public long peek() {
        return ring.peek();
    }

    @Override
    public long poll() {
        return ring.poll();
    }

    @Override
    public int size() {
        return ring.size();
    }
}
