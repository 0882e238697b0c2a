package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Raw deflate in both directions, without zlib's header, as nsqd has it. What is written is flushed so that the client can read all of it
 * at once. Decompresses only into the room that the reader has, so a small stream that would become a huge one takes no memory.
 *
 * <p>zlib keeps about 300 KB a connection outside the heap ({@link #NATIVE_BYTES}, which whoever makes this has reserved); whoever has many
 * connections and no need for it turns it off.
 */
public final class DeflateWire implements Wire {
    public static final int NATIVE_BYTES = 300 * 1024;
    private static final int CHUNK = 16 * 1024;
    /** Deflate's worst case adds five bytes a block, and a flush five more. */
    private static final int COMPRESSED = CHUNK + 256;

    private final Wire below;
    private final Inflater inflater = new Inflater(true);
    private final Deflater deflater;
    private final Buffers buffers;
    /** What zlib has not used up yet, and what is to be sent; null while there is nothing. */
    private ByteBuffer in;

    private ByteBuffer out;
    /** The last read did not come to an end, so zlib may have more. */
    private boolean more;

    /** @param early what came already; belongs to the compressed stream */
    public DeflateWire(Wire below, int level, Buffers buffers, byte[] early) {
        this.below = below;
        this.buffers = buffers;
        deflater = new Deflater(level, true);
        if (early.length > 0) {
            inflater.setInput(early);
            more = true;
        }
    }

    @Override
    public int read(ByteBuffer to) throws IOException {
        int before = to.position();
        boolean ended = false;
        boolean dry = false;
        int taken = 0;
        while (to.hasRemaining() && !ended && !dry && taken < FRUITLESS_BYTES) {
            int count = inflate(to);
            if (count == 0 && inflater.finished()) {
                // The client ended its stream: no bytes after that mean anything.
                ended = true;
            } else if (count == 0) {
                int got = fill();
                ended = got < 0;
                dry = got == 0;
                taken += got;
            }
        }
        more = !ended && !dry;
        letGo();
        int read = to.position() - before;
        return read == 0 && ended ? -1 : read;
    }

    private void letGo() {
        if (in != null && inflater.needsInput()) {
            buffers.giveFromLayer(in);
            in = null;
        }
    }

    private int inflate(ByteBuffer to) throws IOException {
        try {
            int count = inflater.inflate(to);
            if (count == 0 && inflater.needsDictionary()) {
                throw new IOException("deflate stream wants a dictionary");
            }
            return count;
        } catch (DataFormatException e) {
            throw new IOException("not a deflate stream", e);
        }
    }

    /** Only when zlib has used up all that it was given. */
    private int fill() throws IOException {
        if (in == null) {
            in = buffers.takeForLayer(CHUNK);
        }
        int got = below.read(in.clear());
        if (got > 0) {
            inflater.setInput(in.array(), 0, got);
        }
        return got;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        int moved = drain();
        while (out == null && from.hasRemaining()) {
            compress(from);
            moved += 1 + drain();
        }
        return moved;
    }

    private void compress(ByteBuffer from) throws IOException {
        out = buffers.takeForLayer(COMPRESSED);
        int end = from.limit();
        from.limit(Math.min(end, from.position() + CHUNK));
        deflater.setInput(from);
        deflater.deflate(out, Deflater.SYNC_FLUSH);
        boolean fitted = out.hasRemaining() && !from.hasRemaining();
        from.limit(end);
        out.flip();
        if (!fitted) {
            throw new IOException("deflate made more of " + CHUNK + " bytes than it may");
        }
    }

    private int drain() throws IOException {
        int moved = out != null || below.hasOutput() ? below.write(out != null ? out : NOTHING) : 0;
        if (out != null && !out.hasRemaining()) {
            buffers.giveFromLayer(out);
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
        inflater.end();
        deflater.end();
        buffers.release(NATIVE_BYTES);
        buffers.giveFromLayer(in, out);
        below.close();
    }
}
