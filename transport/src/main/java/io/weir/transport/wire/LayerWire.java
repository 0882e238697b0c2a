package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * What the layers share: a wire below, and buffers from the pool that are there only while something is in them. A
 * layer encodes into {@link #out}, which is sent before the next bytes are encoded, so it never holds more than one
 * piece.
 */
abstract class LayerWire implements Wire {
    protected final Wire below;
    protected final Purse purse;
    /**
     * What came and is not decoded yet: from {@link #start} to its position. Null while there is nothing, as the
     * others.
     */
    protected ByteBuffer in;

    protected int start;
    /** Decoded and not read yet: from its position to its limit. */
    protected ByteBuffer plain;
    /** Encoded and not sent yet: from its position to its limit. */
    protected ByteBuffer out;
    /** The last read did not come to an end, so the next may find bytes though nothing comes from below. */
    protected boolean more;

    protected LayerWire(Wire below, Purse purse) {
        this.below = below;
        this.purse = purse;
    }

    /** Begins with bytes that came before the layer was there, and belong to it. */
    protected final void begin(byte[] early, int capacity) throws IOException {
        if (early.length > 0) {
            in = purse.takeForLayer(Math.max(capacity, early.length)).put(early);
            more = true;
        }
    }

    /** Gives the reader what is decoded; false if the reader has no room. */
    protected final boolean handOut(ByteBuffer to) {
        int count = Math.min(plain.remaining(), to.remaining());
        to.put(plain.array(), plain.position(), count);
        plain.position(plain.position() + count);
        if (!plain.hasRemaining()) {
            purse.giveFromLayer(plain);
            plain = null;
        }
        return count > 0;
    }

    /** Moves what is not decoded to the front of its buffer. */
    protected final void compactIn() {
        if (start > 0) {
            in.flip().position(start);
            in.compact();
            start = 0;
        }
    }

    protected final void growIn(int capacity) throws IOException {
        ByteBuffer larger = purse.takeForLayer(capacity).put(in.flip());
        purse.giveFromLayer(in);
        in = larger;
    }

    /** Gives the buffer of what came back, if all of it is decoded. */
    protected void releaseIn() {
        if (in != null && start == in.position()) {
            purse.giveFromLayer(in);
            in = null;
            start = 0;
        }
    }

    /** Sends what is encoded, as far as the wire below takes it; answers as {@link Wire#write}. */
    protected final int drain() throws IOException {
        int moved = hasOutput() ? below.write(out != null ? out : NOTHING) : 0;
        if (out != null && !out.hasRemaining()) {
            purse.giveFromLayer(out);
            out = null;
        }
        return moved;
    }

    @Override
    public boolean hasInput() {
        return more || below.hasInput();
    }

    @Override
    public boolean hasOutput() {
        return out != null || below.hasOutput();
    }

    @Override
    public void finish() throws IOException {
        below.finish();
    }

    @Override
    public void close() {
        purse.giveFromLayer(in, plain, out);
        in = null;
        plain = null;
        out = null;
        below.close();
    }
}
