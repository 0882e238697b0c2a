package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Raw deflate in both directions, without zlib's header, as nsqd has it. What is written is flushed so that the client
 * can read all of it at once. Decompresses only into the room that the reader has, so a small stream that would become
 * a huge one takes no memory.
 *
 * <p>zlib keeps about 300 KB a connection outside the heap: {@link #NATIVE_BYTES}, which the caller of the constructor
 * has reserved. A broker that has many connections and no need for deflate turns it off.
 */
public final class DeflateWire extends CompressionWire {
    public static final int NATIVE_BYTES = 300 * 1024;
    private static final int CHUNK = 16 * 1024;
    /** Deflate's worst case adds five bytes a block, and a flush five more. */
    private static final int COMPRESSED = CHUNK + 256;

    private final Inflater inflater = new Inflater(true);
    private final Deflater deflater;

    /** @param early what came already; belongs to the compressed stream */
    public DeflateWire(Wire below, int level, Purse purse, byte[] early) {
        super(below, purse);
        deflater = new Deflater(level, true);
        if (early.length > 0) {
            inflater.setInput(early);
            more = true;
        }
    }

    @Override
    protected int decode(ByteBuffer to) throws IOException {
        if (inflate(to) > 0) {
            return 0;
        }
        return inflater.finished() ? ENDED : CHUNK;
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
    @Override
    protected int fill(int missing) throws IOException {
        if (in == null) {
            in = purse.takeForLayer(missing);
        }
        int got = below.read(in.clear());
        if (got > 0) {
            inflater.setInput(in.array(), 0, got);
        }
        return got;
    }

    @Override
    protected void releaseIn() {
        if (in != null && inflater.needsInput()) {
            purse.giveFromLayer(in);
            in = null;
        }
    }

    @Override
    protected void encode(ByteBuffer from) throws IOException {
        out = purse.takeForLayer(COMPRESSED);
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

    @Override
    public void close() {
        inflater.end();
        deflater.end();
        purse.release(NATIVE_BYTES);
        super.close();
    }
}
