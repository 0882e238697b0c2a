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
public final class Frames {
    static final int RESPONSE = 0;
    public static final int ERROR = 1;
    static final int MESSAGE = 2;
    static final int HOME = 3;
    static final int ID_LENGTH = 16;
    static final int MESSAGE_OVERHEAD = 4 + 4 + 8 + 2 + ID_LENGTH;
    static final int FRAME_OVERHEAD = 4 + 4;

    static final byte[] OK = "OK".getBytes(StandardCharsets.US_ASCII);
    static final byte[] HEARTBEAT = "_heartbeat_".getBytes(StandardCharsets.US_ASCII);
    static final byte[] CLOSE_WAIT = "CLOSE_WAIT".getBytes(StandardCharsets.US_ASCII);

    private static final long OK_HEADER = (long) (4 + 2) << Integer.SIZE | RESPONSE;
    private static final short OK_TEXT = 'O' << 8 | 'K';

    private static final long EACH_BYTE = 0x0101010101010101L;
    private static final long LOW_NIBBLES = 0x0f0f0f0f0f0f0f0fL;
    private static final long ZEROS = '0' * EACH_BYTE;
    /** From the digit that would follow the nine to the letter that does. */
    private static final long TO_LETTER = 'a' - '0' - 10;

    private Frames() {}

    static void put(ByteBuffer out, int type, byte[] payload) {
        out.putInt(4 + payload.length).putInt(type).put(payload);
    }

    /** The answer to nearly every publication: ten bytes that are always the same, in two steps. */
    static void putOk(ByteBuffer out) {
        out.putLong(OK_HEADER).putShort(OK_TEXT);
    }

    static void putMessage(
            ByteBuffer out, long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
        int at = out.position();
        out.putLong(at, (long) (MESSAGE_OVERHEAD - 4 + bodyLength) << Integer.SIZE | MESSAGE);
        out.putLong(at + 8, timestampNs);
        out.putShort(at + 16, (short) attempts);
        out.putLong(at + 18, hexDigits(id >>> Integer.SIZE));
        out.putLong(at + 26, hexDigits(id));
        out.put(at + MESSAGE_OVERHEAD, body, bodyAt, bodyLength);
        out.position(at + MESSAGE_OVERHEAD + bodyLength);
    }

    /** The eight hexadecimal digits of the lower half of {@code value}, all at once: a byte each, the first on top. */
    static long hexDigits(long value) {
        long spread = value & 0xffffffffL;
        spread = (spread << 16 | spread) & 0x0000ffff0000ffffL;
        spread = (spread << 8 | spread) & 0x00ff00ff00ff00ffL;
        spread = (spread << 4 | spread) & LOW_NIBBLES;
        // Six more carry a ten or above into the bit that says so.
        long letters = spread + 6 * EACH_BYTE >>> 4 & EACH_BYTE;
        return spread + ZEROS + letters * TO_LETTER;
    }

    /** The value of eight hexadecimal digits, of either case; negative if that is not what they are. */
    static long hexValue(long digits) {
        long letters = digits >>> 6 & EACH_BYTE;
        long spread = (digits & LOW_NIBBLES) + 9 * letters;
        long value = (spread >>> 4 | spread) & 0x00ff00ff00ff00ffL;
        value = (value >>> 8 | value) & 0x0000ffff0000ffffL;
        value = (value >>> 16 | value) & 0xffffffffL;
        // Whatever was no digit does not become the same again.
        return hexDigits(value) == (digits | letters << 5) ? value : -1;
    }
}
