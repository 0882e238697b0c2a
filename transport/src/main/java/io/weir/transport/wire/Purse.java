package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * One connection's part of the {@link Buffers}: everything that it takes and gives back goes through here. As long as
 * it is a stranger's, what it holds counts against what all strangers may hold.
 */
public final class Purse {
    private final Buffers buffers;
    /** Null if it is no stranger's. */
    private Runnable displaced;

    private long held;

    Purse(Buffers buffers, Runnable displaced) {
        this.buffers = buffers;
        this.displaced = displaced;
    }

    /** Who is behind the connection is known from now on. */
    public void vouch() {
        if (displaced != null) {
            buffers.strangerNoMore(this);
            displaced = null;
        }
    }

    void displace() {
        Runnable told = displaced;
        vouch();
        told.run();
    }

    /** The bytes that it has taken. */
    long held() {
        return held;
    }

    private boolean may(int capacity) {
        return displaced == null || buffers.mayTake(this, capacity);
    }

    private void hold(long more) {
        held += more;
        if (displaced != null) {
            buffers.strangerHolds(this, more);
        }
    }

    private ByteBuffer holding(ByteBuffer taken) {
        if (taken != null) {
            hold(taken.capacity());
        }
        return taken;
    }

    /** A buffer of the usual size, or null if there is no memory for it. */
    public ByteBuffer take() {
        return may(buffers.usualBytes()) ? holding(buffers.take()) : null;
    }

    /** One that is larger than usual, or null: the last quarter of the memory is kept for small ones. */
    public ByteBuffer takeLarge(int capacity) {
        return may(capacity) ? holding(buffers.takeLarge(capacity)) : null;
    }

    /** Whether connections that could do with the buffers they have may take larger ones. */
    public boolean hasPlenty() {
        return displaced == null && buffers.hasPlenty();
    }

    public void give(ByteBuffer buffer) {
        hold(-buffer.capacity());
        buffers.give(buffer);
    }

    /** An empty buffer of the heap, of this capacity or more. */
    public ByteBuffer takeForLayer(int atLeast) throws IOException {
        if (!may(2 * atLeast)) {
            throw new IOException("no memory left for strangers' layers");
        }
        return holding(buffers.takeForLayer(atLeast));
    }

    public void giveFromLayer(ByteBuffer buffer) {
        hold(-buffer.capacity());
        buffers.giveFromLayer(buffer);
    }

    /** When a layer ends: gives back those that are not null. */
    public void giveFromLayer(ByteBuffer... given) {
        for (ByteBuffer buffer : given) {
            if (buffer != null) {
                giveFromLayer(buffer);
            }
        }
    }

    /** Counts memory that somebody else allocates; false if it may not. */
    public boolean reserve(int capacity) {
        boolean reserved = may(capacity) && buffers.reserve(capacity);
        if (reserved) {
            hold(capacity);
        }
        return reserved;
    }

    public void release(int capacity) {
        hold(-capacity);
        buffers.release(capacity);
    }
}
