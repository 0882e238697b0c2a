package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Snappy's framing format in both directions, little endian:
 *
 * <pre>
 *  | type | 3 bytes length of what follows | ...
 *  0xff  stream identifier: "sNaPpY", first of all
 *  0x00  compressed:   | checksum of the plain bytes | block |        at most 64 KiB of plain bytes each
 *  0x01  uncompressed: | checksum | bytes |
 *  0x80 to 0xfe  to be skipped;  0x02 to 0x7f  an error
 * </pre>
 *
 * A chunk's length and what its block claims to become are judged before there is room for them.
 */
public final class SnappyWire implements Wire {
    private static final byte[] IDENTIFIER = "sNaPpY".getBytes(StandardCharsets.US_ASCII);
    private static final int COMPRESSED = 0x00;
    private static final int UNCOMPRESSED = 0x01;
    private static final int FIRST_SKIPPED = 0x80;
    private static final int STREAM = 0xff;
    private static final int HEADER = 4;
    private static final int CHECKSUM = 4;
    private static final int FIRST_BYTES = 4 * 1024;
    private static final int OUT_BYTES = HEADER + IDENTIFIER.length + HEADER + CHECKSUM + SnappyBlocks.CHUNK * 5 / 4;

    private final Wire below;
    private final SnappyBlocks blocks;
    private final Buffers buffers;
    /** What came and is not decoded yet lies from {@link #start} to its position; null while there is nothing. */
    private ByteBuffer in;

    private int start;
    private int skip;
    private boolean identified;
    /** Decoded, and not read yet: from its position to its limit; null while there is nothing. */
    private ByteBuffer plain;

    /** To be sent: from its position to its limit; null while there is nothing. */
    private ByteBuffer out;

    private boolean greeted;
    private boolean more;

    /** @param early what came already; belongs to the compressed stream */
    public SnappyWire(Wire below, SnappyBlocks blocks, Buffers buffers, byte[] early) throws IOException {
        this.below = below;
        this.blocks = blocks;
        this.buffers = buffers;
        if (early.length > 0) {
            in = buffers.takeForLayer(early.length).put(early);
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
            if (plain != null) {
                handOut(to);
            } else {
                int missing = next();
                if (missing > 0) {
                    int got = fill(missing);
                    ended = got < 0;
                    dry = got == 0;
                    taken += got;
                }
            }
        }
        more = !ended && !dry;
        letGo();
        int read = to.position() - before;
        return read == 0 && ended ? -1 : read;
    }

    private void handOut(ByteBuffer to) {
        int count = Math.min(plain.remaining(), to.remaining());
        to.put(plain.array(), plain.position(), count);
        plain.position(plain.position() + count);
        if (!plain.hasRemaining()) {
            buffers.giveFromLayer(plain);
            plain = null;
        }
    }

    private void letGo() {
        if (in != null && start == in.position()) {
            buffers.giveFromLayer(in);
            in = null;
            start = 0;
        }
    }

    /** Deals with the next chunk; answers how many bytes it misses for that, 0 for none. */
    private int next() throws IOException {
        int there = in == null ? 0 : in.position() - start;
        if (skip > 0) {
            int skipped = Math.min(skip, there);
            skip -= skipped;
            start += skipped;
            return skip > 0 ? Math.min(skip, FIRST_BYTES) : 0;
        }
        if (there < HEADER) {
            return HEADER - there;
        }
        int head = in.getInt(start);
        int type = head >>> 24;
        int length = (head & 0xff) << 16 | head & 0xff00 | head >>> 16 & 0xff;
        if (!identified && type != STREAM) {
            throw new IOException("snappy stream without its identifier");
        }
        if (type >= FIRST_SKIPPED && type != STREAM) {
            start += HEADER;
            skip = length;
            return 0;
        }
        if (length < least(type) || length > most(type)) {
            throw new IOException("snappy chunk of type " + type + " can't have " + length + " bytes");
        }
        if (there < HEADER + length) {
            return HEADER + length - there;
        }
        chunk(type, start + HEADER, length);
        start += HEADER + length;
        return 0;
    }

    private static int least(int type) {
        return type == STREAM ? IDENTIFIER.length : CHECKSUM + 1;
    }

    private static int most(int type) {
        return switch (type) {
            case STREAM -> IDENTIFIER.length;
            case COMPRESSED -> CHECKSUM + SnappyBlocks.MAX_COMPRESSED;
            case UNCOMPRESSED -> CHECKSUM + SnappyBlocks.MAX_PLAIN;
            default -> -1;
        };
    }

    private void chunk(int type, int from, int length) throws IOException {
        byte[] bytes = in.array();
        if (type == STREAM) {
            identified = true;
            if (!Arrays.equals(bytes, from, from + length, IDENTIFIER, 0, IDENTIFIER.length)) {
                throw new IOException("not snappy's identifier");
            }
            return;
        }
        int at = from + CHECKSUM;
        int size = length - CHECKSUM;
        int plainBytes = type == COMPRESSED ? SnappyBlocks.plainLength(bytes, at, size) : size;
        plain = buffers.takeForLayer(plainBytes);
        if (type == COMPRESSED) {
            blocks.decompress(bytes, at, size, plain.array(), plainBytes);
        } else {
            System.arraycopy(bytes, at, plain.array(), 0, size);
        }
        plain.limit(plainBytes);
        if (Integer.reverseBytes(in.getInt(from)) != blocks.checksum(plain.array(), 0, plainBytes)) {
            throw new IOException("snappy chunk has a wrong checksum");
        }
    }

    /** Room grows with what comes, twice as much at a time: a length that was only claimed costs nothing. */
    private int fill(int missing) throws IOException {
        if (in == null) {
            in = buffers.takeForLayer(FIRST_BYTES);
        } else if (in.remaining() < missing && start > 0) {
            in.flip().position(start);
            in.compact();
            start = 0;
        }
        if (!in.hasRemaining()) {
            ByteBuffer larger = buffers.takeForLayer(2 * in.capacity()).put(in.flip());
            buffers.giveFromLayer(in);
            in = larger;
        }
        return below.read(in);
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
        out = buffers.takeForLayer(OUT_BYTES);
        if (!greeted) {
            greeted = true;
            header(STREAM, IDENTIFIER.length);
            out.put(IDENTIFIER);
        }
        int length = Math.min(from.remaining(), SnappyBlocks.CHUNK);
        from.get(blocks.chunk(), 0, length);
        int start = out.position();
        int at = start + HEADER + CHECKSUM;
        int size = blocks.compress(length, out.array(), at);
        boolean smaller = size < length;
        header(smaller ? COMPRESSED : UNCOMPRESSED, CHECKSUM + (smaller ? size : length));
        out.putInt(Integer.reverseBytes(blocks.checksum(blocks.chunk(), 0, length)));
        if (smaller) {
            out.position(at + size);
        } else {
            out.put(blocks.chunk(), 0, length);
        }
        out.flip();
    }

    private void header(int type, int length) {
        out.put((byte) type).put((byte) length).put((byte) (length >> 8)).put((byte) (length >> 16));
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
        buffers.giveFromLayer(in, plain, out);
        below.close();
    }
}
