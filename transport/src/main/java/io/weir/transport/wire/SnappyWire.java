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
public final class SnappyWire extends CompressionWire {
    private static final byte[] IDENTIFIER = "sNaPpY".getBytes(StandardCharsets.US_ASCII);
    private static final int COMPRESSED = 0x00;
    private static final int UNCOMPRESSED = 0x01;
    private static final int FIRST_SKIPPED = 0x80;
    private static final int STREAM = 0xff;
    private static final int HEADER = 4;
    private static final int CHECKSUM = 4;
    private static final int FIRST_BYTES = 4 * 1024;
    private static final int OUT_BYTES = HEADER + IDENTIFIER.length + HEADER + CHECKSUM + SnappyBlocks.CHUNK * 5 / 4;

    private final SnappyBlocks blocks;
    private int skip;
    private boolean identified;
    private boolean greeted;

    /** @param early what came already; belongs to the compressed stream */
    public SnappyWire(Wire below, SnappyBlocks blocks, Purse purse, byte[] early) throws IOException {
        super(below, purse);
        this.blocks = blocks;
        begin(early, 0);
    }

    @Override
    protected int decode(ByteBuffer to) throws IOException {
        if (plain == null) {
            return next();
        }
        handOut(to);
        return 0;
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
        plain = purse.takeForLayer(plainBytes);
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

    /** Room doubles with what comes: a length that was only claimed costs nothing. */
    @Override
    protected int fill(int missing) throws IOException {
        if (in == null) {
            in = purse.takeForLayer(FIRST_BYTES);
        } else if (in.remaining() < missing) {
            compactIn();
        }
        if (!in.hasRemaining()) {
            growIn(2 * in.capacity());
        }
        return below.read(in);
    }

    @Override
    protected void encode(ByteBuffer from) throws IOException {
        out = purse.takeForLayer(OUT_BYTES);
        if (!greeted) {
            greeted = true;
            header(STREAM, IDENTIFIER.length);
            out.put(IDENTIFIER);
        }
        int length = Math.min(from.remaining(), SnappyBlocks.CHUNK);
        from.get(blocks.chunk(), 0, length);
        int at = out.position() + HEADER + CHECKSUM;
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
}
