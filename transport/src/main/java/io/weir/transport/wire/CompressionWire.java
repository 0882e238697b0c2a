package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * What the compressing layers share: they decode until the reader has no room or no bytes come, and encode piece by
 * piece.
 */
abstract class CompressionWire extends LayerWire {
    /** {@link #decode} answers it when the client has ended its stream: no bytes after that mean anything. */
    protected static final int ENDED = -1;

    protected CompressionWire(Wire below, Purse purse) {
        super(below, purse);
    }

    /**
     * Goes one step on, and puts what comes of it; answers how many bytes it misses for that, 0 for none, or
     * {@link #ENDED}.
     */
    protected abstract int decode(ByteBuffer to) throws IOException;

    /** Reads from below when {@link #decode} misses bytes; answers as {@link Wire#read}. */
    protected abstract int fill(int missing) throws IOException;

    /** Encodes one piece of {@code from} into {@link #out}, which is null before. */
    protected abstract void encode(ByteBuffer from) throws IOException;

    @Override
    public final int read(ByteBuffer to) throws IOException {
        int before = to.position();
        boolean ended = false;
        boolean dry = false;
        int taken = 0;
        while (to.hasRemaining() && !ended && !dry && taken < FRUITLESS_BYTES) {
            int missing = decode(to);
            ended = missing == ENDED;
            if (missing > 0) {
                int got = fill(missing);
                ended = got < 0;
                dry = got == 0;
                taken += got;
            }
        }
        more = !ended && !dry;
        releaseIn();
        int read = to.position() - before;
        return read == 0 && ended ? -1 : read;
    }

    @Override
    public final int write(ByteBuffer from) throws IOException {
        int moved = drain();
        while (out == null && from.hasRemaining()) {
            encode(from);
            moved += 1 + drain();
        }
        return moved;
    }
}
