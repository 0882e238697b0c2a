package io.weir.transport.wire;

import io.airlift.compress.MalformedInputException;
import io.airlift.compress.snappy.SnappyCompressor;
import io.airlift.compress.snappy.SnappyDecompressor;
import java.io.IOException;
import java.util.zip.CRC32C;

/**
 * Snappy's blocks and their checksums, with tables and scratch space. All connections of a loop share one, because one
 * thread serves them.
 */
public final class SnappyBlocks {
    /** The most that one chunk of the framing format holds, uncompressed. */
    static final int MAX_PLAIN = 64 * 1024;

    /** The most that this end writes in one chunk: less than allowed, so that every connection's buffer is small. */
    static final int CHUNK = 16 * 1024;

    static final int MAX_COMPRESSED = new SnappyCompressor().maxCompressedLength(MAX_PLAIN);

    private static final int CHECKSUM_DELTA = 0xa282ead8;

    private final SnappyCompressor compressor = new SnappyCompressor();
    private final SnappyDecompressor decompressor = new SnappyDecompressor();
    private final CRC32C crc = new CRC32C();
    private final byte[] chunk = new byte[CHUNK];

    /** For the bytes of the chunk that is being written; valid until the next call. */
    byte[] chunk() {
        return chunk;
    }

    int compress(int length, byte[] to, int at) {
        return compressor.compress(chunk, 0, length, to, at, to.length - at);
    }

    /** The length that the block claims, checked before anyone makes room for it. */
    static int plainLength(byte[] block, int at, int length) throws IOException {
        int plain;
        try {
            plain = SnappyDecompressor.getUncompressedLength(block, at);
        } catch (MalformedInputException | IndexOutOfBoundsException e) {
            throw new IOException("not a snappy block", e);
        }
        if (plain < 0 || plain > MAX_PLAIN) {
            throw new IOException("snappy block claims " + plain + " bytes of at most " + MAX_PLAIN);
        }
        return plain;
    }

    void decompress(byte[] block, int at, int length, byte[] to, int plain) throws IOException {
        int got;
        try {
            got = decompressor.decompress(block, at, length, to, 0, plain);
        } catch (MalformedInputException | IndexOutOfBoundsException | IllegalArgumentException e) {
            throw new IOException("not a snappy block", e);
        }
        if (got != plain) {
            throw new IOException("snappy block of " + got + " bytes claimed " + plain);
        }
    }

    /** CRC-32C, rotated and offset as the framing format asks. */
    int checksum(byte[] plain, int at, int length) {
        crc.reset();
        crc.update(plain, at, length);
        int sum = (int) crc.getValue();
        return (sum >>> 15 | sum << 17) + CHECKSUM_DELTA;
    }
}
