package io.weir.topics.path;

import java.util.ArrayDeque;

/** First come, first served. */
final class FifoLine implements WaitingLine {
    private final ArrayDeque<Publication> line = new ArrayDeque<>();

    @Override
    public void add(Publication publication) {
        line.addLast(publication);
    }

    @Override
    public Publication peek() {
        return line.peekFirst();
    }

    @Override
    public void remove() {
        line.removeFirst();
    }

    @Override
    public Publication expired(long sinceNs) {
        Publication first = line.peekFirst();
        if (first == null || first.next == 0) {
            return firstIf(sinceNs);
        }
        line.removeFirst();
        Publication behind = firstIf(sinceNs);
        line.addFirst(first);
        return behind;
    }

    private Publication firstIf(long sinceNs) {
        Publication first = line.peekFirst();
        return first != null && first.sinceNs - sinceNs <= 0 ? line.pollFirst() : null;
    }
}
