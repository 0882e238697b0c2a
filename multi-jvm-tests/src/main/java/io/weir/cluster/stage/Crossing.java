package io.weir.cluster.stage;

import io.weir.cluster.stage.Network.Traffic;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * Decides for each frame between two hosts whether, when and how often it arrives, by the {@link Conditions} of its
 * direction. It is told the time, and the chance is given: the same frames at the same times with the same seed fare
 * the same.
 *
 * <p>Frames that are under way are kept up to a bound of bytes; what would exceed it is dropped and counted, the newest
 * first, as a full buffer in a network does.
 */
final class Crossing {
    /** How much longer than the others a reordered frame takes at most. */
    static final long HOLD_BACK_NS = TimeUnit.MILLISECONDS.toNanos(20);

    /** Where frames go that have arrived; the buffer is theirs only during the call. */
    @FunctionalInterface
    interface Exit {
        void deliver(int to, ByteBuffer frame);
    }

    private record UnderWay(int from, int to, ByteBuffer frame, long dueNs, long order)
            implements Comparable<UnderWay> {
        @Override
        public int compareTo(UnderWay other) {
            // By difference: the clock may wrap.
            int byTime = Long.signum(dueNs - other.dueNs);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    private static final int PASSED = 0;
    private static final int CUT = 1;
    private static final int LOST = 2;
    private static final int DUPLICATED = 3;
    private static final int REORDERED = 4;
    private static final int DELAYED = 5;
    private static final int OVERFLOWED = 6;
    private static final int COUNTS = 7;

    private final int hosts;
    private final RandomGenerator random;
    private final long capacityBytes;
    private final Exit exit;
    private final PriorityQueue<UnderWay> underWay = new PriorityQueue<>();
    private final long[] counts;
    /** When the last frame of each direction that keeps its order is due; valid where it is {@link #ordered}. */
    private final long[] lastDueNs;

    private final boolean[] ordered;
    private Conditions[] conditions;
    private long bytesUnderWay;
    private long frames;

    Crossing(int hosts, RandomGenerator random, long capacityBytes, Exit exit) {
        this.hosts = hosts;
        this.random = random;
        this.capacityBytes = capacityBytes;
        this.exit = exit;
        counts = new long[hosts * hosts * COUNTS];
        lastDueNs = new long[hosts * hosts];
        ordered = new boolean[hosts * hosts];
        conditions = new Conditions[hosts * hosts];
        Arrays.fill(conditions, Conditions.CLEAR);
    }

    /** @param all of every direction, at {@code from * hosts + to} */
    void conditions(Conditions[] all) {
        if (all.length != conditions.length) {
            throw new IllegalArgumentException(all.length + " directions instead of " + conditions.length);
        }
        for (int direction = 0; direction < all.length; direction++) {
            // What is delayed already must not hold up what comes under new conditions.
            ordered[direction] &= all[direction].equals(conditions[direction]);
        }
        conditions = all.clone();
    }

    /** A frame has left a host. */
    void enter(int from, int to, ByteBuffer frame, long nowNs) {
        int direction = from * hosts + to;
        Conditions here = conditions[direction];
        if (here.cut()) {
            count(direction, CUT);
        } else if (happens(here.lossPermille())) {
            count(direction, LOST);
        } else {
            pass(from, to, frame, here, nowNs);
            if (happens(here.duplicatePermille())) {
                count(direction, DUPLICATED);
                pass(from, to, frame, here, nowNs);
            }
        }
    }

    private void pass(int from, int to, ByteBuffer frame, Conditions here, long nowNs) {
        int direction = from * hosts + to;
        long dueNs = nowNs + here.delayNs() + (here.jitterNs() == 0 ? 0 : random.nextLong(here.jitterNs() + 1));
        if (happens(here.reorderPermille())) {
            count(direction, REORDERED);
            dueNs += 1 + random.nextLong(HOLD_BACK_NS);
        } else {
            if (ordered[direction] && dueNs - lastDueNs[direction] < 0) {
                dueNs = lastDueNs[direction];
            }
            ordered[direction] = true;
            lastDueNs[direction] = dueNs;
        }
        if (dueNs - nowNs <= 0) {
            count(direction, PASSED);
            exit.deliver(to, frame);
        } else if (bytesUnderWay + frame.remaining() > capacityBytes) {
            count(direction, OVERFLOWED);
        } else {
            ByteBuffer copy = ByteBuffer.allocate(frame.remaining())
                    .put(frame.duplicate())
                    .flip();
            bytesUnderWay += copy.remaining();
            count(direction, DELAYED);
            underWay.add(new UnderWay(from, to, copy, dueNs, frames++));
        }
    }

    /** Delivers what is due, and answers how long nothing else will be: -1 for as long as no further frame enters. */
    long leave(long nowNs) {
        while (!underWay.isEmpty()) {
            UnderWay next = underWay.peek();
            if (next.dueNs() - nowNs > 0) {
                return next.dueNs() - nowNs;
            }
            underWay.poll();
            bytesUnderWay -= next.frame().remaining();
            int direction = next.from() * hosts + next.to();
            if (conditions[direction].cut()) {
                count(direction, CUT);
            } else {
                count(direction, PASSED);
                exit.deliver(next.to(), next.frame());
            }
        }
        return -1;
    }

    Traffic traffic(int from, int to) {
        int at = (from * hosts + to) * COUNTS;
        return new Traffic(
                counts[at + PASSED],
                counts[at + CUT],
                counts[at + LOST],
                counts[at + DUPLICATED],
                counts[at + REORDERED],
                counts[at + DELAYED],
                counts[at + OVERFLOWED]);
    }

    private boolean happens(int permille) {
        return permille > 0 && random.nextInt(1_000) < permille;
    }

    private void count(int direction, int what) {
        counts[direction * COUNTS + what]++;
    }
}
