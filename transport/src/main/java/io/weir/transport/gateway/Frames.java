package io.weir.transport.gateway;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Frames to a client, big endian:
 *
 * <pre>
 *  | int32 size of what follows | int32 type | payload              type 0: response, 1: error, 2: message, 3: home
 *  message payload: | int64 timestamp in ns | uint16 attempts | 16 hexadecimal digits of the id | body |
 *  home payload: {"topic":"t","broker":"b2","tcp":"host:port"}, Weir's own, only for clients that asked for it
 * </pre>
 */
final class Frames {
    static final int RESPONSE = 0;
    static final int ERROR = 1;
    static final int MESSAGE = 2;
    static final int HOME = 3;
    static final int ID_LENGTH = 16;
    static final int MESSAGE_OVERHEAD = 4 + 4 + 8 + 2 + ID_LENGTH;
    static final int FRAME_OVERHEAD = 4 + 4;

    static final byte[] OK = "OK".getBytes(StandardCharsets.US_ASCII);
    static final byte[] HEARTBEAT = "_heartbeat_".getBytes(StandardCharsets.US_ASCII);
    static final byte[] CLOSE_WAIT = "CLOSE_WAIT".getBytes(StandardCharsets.US_ASCII);

    /** The eight ASCII bytes of a 32-bit half would need a table of its own; two digits at a time fit the cache. */
    private static final short[] DIGIT_PAIRS = new short[256];

    static {
        for (int b = 0; b < 256; b++) {
            DIGIT_PAIRS[b] = (short) (Character.forDigit(b >> 4, 16) << 8 | Character.forDigit(b & 15, 16));
        }
    }

    private Frames() {}

    static void put(ByteBuffer out, int type, byte[] payload) {
        out.putInt(4 + payload.length).putInt(type).put(payload);
    }

    static void putMessage(
            ByteBuffer out, long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
        out.putInt(MESSAGE_OVERHEAD - 4 + bodyLength).putInt(MESSAGE).putLong(timestampNs);
        out.putShort((short) attempts);
        for (int shift = 56; shift >= 0; shift -= 8) {
            out.putShort(DIGIT_PAIRS[(int) (id >>> shift) & 0xff]);
        }
        int at = out.position();
        out.put(at, body, bodyAt, bodyLength);
        out.position(at + bodyLength);
    }
}
