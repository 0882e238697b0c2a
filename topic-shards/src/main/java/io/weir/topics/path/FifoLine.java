package io.weir.topics.path;

import java.util.ArrayDeque;

/**
 * First come, first served.
 *
 * <p>Most come in the order of their arrival at the cluster, so the first has waited the longest. For those that
 * arrived before one that stands in front of them, the earliest arrival is kept beside the line: only when that one is
 * due, all are looked at.
 */
final class FifoLine implements WaitingLine {
    private final ArrayDeque<Publication> line = new ArrayDeque<>();
    /** Taken out by the last look, and not asked for yet. */
    private final ArrayDeque<Publication> late = new ArrayDeque<>();
    /** The latest arrival in the line, or one that has left it. */
    private long latestNs;
    /** Those out of order, some of which may have left; and the earliest arrival of them. */
    private int outOfOrder;

    private long earliestNs;

    @Override
    public void add(Publication publication) {
        note(publication, line.isEmpty());
        line.addLast(publication);
    }

    private void note(Publication publication, boolean first) {
        long sinceNs = publication.sinceNs;
        if (first) {
            outOfOrder = 0;
        }
        if (first || sinceNs - latestNs >= 0) {
            latestNs = sinceNs;
        } else {
            earliestNs = outOfOrder == 0 || sinceNs - earliestNs < 0 ? sinceNs : earliestNs;
            outOfOrder++;
        }
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
        if (late.isEmpty() && outOfOrder > 0 && earliestNs - sinceNs <= 0) {
            lookAtAll(sinceNs);
        }
        if (!late.isEmpty()) {
            return late.pollFirst();
        }
        Publication first = line.peekFirst();
        if (first == null || first.next == 0) {
            return firstIf(sinceNs);
        }
        line.removeFirst();
        Publication behind = firstIf(sinceNs);
        line.addFirst(first);
        return behind;
    }

    private void lookAtAll(long sinceNs) {
        boolean first = true;
        outOfOrder = 0;
        for (int i = line.size(); i > 0; i--) {
            Publication publication = line.pollFirst();
            if (publication.next == 0 && publication.sinceNs - sinceNs <= 0) {
                late.addLast(publication);
            } else {
                note(publication, first);
                first = false;
                line.addLast(publication);
            }
        }
    }

    private Publication firstIf(long sinceNs) {
        Publication first = line.peekFirst();
        return first != null && first.sinceNs - sinceNs <= 0 ? line.pollFirst() : null;
    }
}
