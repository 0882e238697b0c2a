package io.weir.transport.gateway;

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
final class SnappyWire implements Wire {
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
    /** What came and is not decoded yet lies from 0 to its position. */
    private ByteBuffer in;

    private int skip;
    private boolean identified;
    /** Decoded, and not read yet: from its position to its limit. */
    private ByteBuffer plain = NOTHING;

    private ByteBuffer out;
    private boolean greeted;
    private boolean more;

    /** @param early what came already; belongs to the compressed stream */
    SnappyWire(Wire below, SnappyBlocks blocks, byte[] early) {
        this.below = below;
        this.blocks = blocks;
        in = ByteBuffer.allocate(Math.max(FIRST_BYTES, early.length)).put(early);
        more = early.length > 0;
    }

    @Override
    public int read(ByteBuffer to) throws IOException {
        int before = to.position();
        boolean ended = false;
        boolean dry = false;
        while (to.hasRemaining() && !ended && !dry) {
            if (plain.hasRemaining()) {
                int count = Math.min(plain.remaining(), to.remaining());
                to.put(plain.array(), plain.position(), count);
                plain.position(plain.position() + count);
            } else {
                int missing = next();
                if (missing > 0) {
                    int got = fill(missing);
                    ended = got < 0;
                    dry = got == 0;
                }
            }
        }
        more = !to.hasRemaining();
        int read = to.position() - before;
        return read == 0 && ended ? -1 : read;
    }

    /** Deals with the next chunk; answers how many bytes it misses for that, 0 for none. */
    private int next() throws IOException {
        int there = in == null ? 0 : in.position();
        if (skip > 0) {
            int skipped = Math.min(skip, there);
            skip -= skipped;
            if (skipped > 0) {
                drop(skipped);
            }
            return skip > 0 ? Math.min(skip, FIRST_BYTES) : 0;
        }
        if (there < HEADER) {
            return HEADER - there;
        }
        int head = in.getInt(0);
        int type = head >>> 24;
        int length = (head & 0xff) << 16 | head & 0xff00 | head >>> 16 & 0xff;
        if (!identified && type != STREAM) {
            throw new IOException("snappy stream without its identifier");
        }
        if (type >= FIRST_SKIPPED && type != STREAM) {
            drop(HEADER);
            skip = length;
            return 0;
        }
        if (length < least(type) || length > most(type)) {
            throw new IOException("snappy chunk of type " + type + " can't have " + length + " bytes");
        }
        if (there < HEADER + length) {
            return HEADER + length - there;
        }
        chunk(type, length);
        drop(HEADER + length);
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

    private void chunk(int type, int length) throws IOException {
        byte[] bytes = in.array();
        if (type == STREAM) {
            identified = true;
            if (!Arrays.equals(bytes, HEADER, HEADER + length, IDENTIFIER, 0, IDENTIFIER.length)) {
                throw new IOException("not snappy's identifier");
            }
            return;
        }
        int at = HEADER + CHECKSUM;
        int size = length - CHECKSUM;
        int plainBytes = type == COMPRESSED ? SnappyBlocks.plainLength(bytes, at, size) : size;
        if (plain.capacity() < plainBytes) {
            plain = ByteBuffer.allocate(plainBytes);
        }
        if (type == COMPRESSED) {
            blocks.decompress(bytes, at, size, plain.array(), plainBytes);
        } else {
            System.arraycopy(bytes, at, plain.array(), 0, size);
        }
        plain.clear().limit(plainBytes);
        if (Integer.reverseBytes(in.getInt(HEADER)) != blocks.checksum(plain.array(), 0, plainBytes)) {
            throw new IOException("snappy chunk has a wrong checksum");
        }
    }

    private void drop(int bytes) {
        in.flip().position(bytes);
        in.compact();
    }

    private int fill(int missing) throws IOException {
        if (in == null) {
            in = ByteBuffer.allocate(Math.max(FIRST_BYTES, missing));
        } else if (in.remaining() < missing) {
            in = ByteBuffer.allocate(in.position() + missing).put(in.flip());
        }
        return below.read(in);
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        int moved = drain();
        while (!hasOwnOutput() && from.hasRemaining()) {
            compress(from);
            moved += 1 + drain();
        }
        return moved;
    }

    private void compress(ByteBuffer from) {
        if (out == null) {
            out = ByteBuffer.allocate(OUT_BYTES);
        }
        out.clear();
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
        return hasOwnOutput() || below.hasOutput() ? below.write(hasOwnOutput() ? out : NOTHING) : 0;
    }

    private boolean hasOwnOutput() {
        return out != null && out.hasRemaining();
    }

    @Override
    public boolean hasInput() {
        return more || below.hasInput();
    }

    @Override
    public boolean hasOutput() {
        return hasOwnOutput() || below.hasOutput();
    }

    @Override
    public void finish() throws IOException {
        below.finish();
    }

    @Override
    public void rest() {
        if (in != null && in.position() == 0) {
            in = null;
        }
        if (!plain.hasRemaining()) {
            plain = NOTHING;
        }
        if (!hasOwnOutput()) {
            out = null;
        }
        below.rest();
    }

    @Override
    public void close() {
        below.close();
    }
}
