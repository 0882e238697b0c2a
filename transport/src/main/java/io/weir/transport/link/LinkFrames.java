package io.weir.transport.link;

import io.weir.config.value.BrokerId;
import java.nio.ByteOrder;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * The frames on a link, little endian:
 *
 * <pre>
 *         0         1      2            4          8              16          24        32           33         34
 *         +---------+------+------------+----------+--------------+-----------+---------+------------+----------+-----------+
 * hello   | version | type | doorbell   | 0        | incarnation  | session   | heard   | length of  | length   | from, to  |
 *         |         | 1    | port (u16) | (32 bit) | (i64)        | (i64)     | (i64)   | from       | of to    | (ASCII)   |
 *         +---------+------+------------+----------+--------------+-----------+---------+------------+----------+-----------+
 * data    | version | type | 0 (48 bits)           | ageNs (i64)  | body: bytes of the layer above                          |
 *         |         | 2    |                       |              |                                                         |
 *         +---------+------+-----------------------+--------------+---------------------------------------------------------+
 * </pre>
 *
 * {@code session} numbers the sender's streams to this peer, later ones higher; {@code heard} is the session in which
 * the sender hears the peer, or 0. {@code ageNs} is how long ago the message reached its first broker when it was sent:
 * an age and not a time, because the clocks of two hosts do not compare.
 */
final class LinkFrames {
    static final byte VERSION = 1;
    static final byte HELLO = 1;
    static final byte DATA = 2;

    static final int HEADER_BYTES = 8;
    static final int DATA_HEADER_BYTES = 16;
    static final int MAX_HELLO_BYTES = 34 + 2 * 64;

    private static final int AGE = 8;
    private static final int DOORBELL = 2;
    private static final int INCARNATION = 8;
    private static final int SESSION = 16;
    private static final int HEARD = 24;
    private static final int FROM_LENGTH = 32;
    private static final int TO_LENGTH = 33;
    private static final int NAMES = 34;
    private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;

    /** The start of a stream's conversation, and its sign of life. */
    record Hello(BrokerId from, long incarnation, BrokerId to, long session, long heard, int doorbell) {}

    private LinkFrames() {}

    /** The frame's type, or 0 if it is none of ours. */
    static byte typeOf(DirectBuffer buffer, int offset, int length) {
        if (length < HEADER_BYTES || buffer.getByte(offset) != VERSION) {
            return 0;
        }
        return buffer.getByte(offset + 1);
    }

    static int encodeHello(Hello hello, MutableDirectBuffer buffer, int offset) {
        String from = hello.from.value();
        String to = hello.to.value();
        encodeHeader(HELLO, buffer, offset);
        buffer.putShort(offset + DOORBELL, (short) hello.doorbell, ORDER);
        buffer.putLong(offset + INCARNATION, hello.incarnation, ORDER);
        buffer.putLong(offset + SESSION, hello.session, ORDER);
        buffer.putLong(offset + HEARD, hello.heard, ORDER);
        buffer.putByte(offset + FROM_LENGTH, (byte) from.length());
        buffer.putByte(offset + TO_LENGTH, (byte) to.length());
        buffer.putStringWithoutLengthAscii(offset + NAMES, from);
        buffer.putStringWithoutLengthAscii(offset + NAMES + from.length(), to);
        return NAMES + from.length() + to.length();
    }

    /** The hello, or null if these bytes are not a whole one. */
    static Hello decodeHello(DirectBuffer buffer, int offset, int length) {
        if (length < NAMES) {
            return null;
        }
        int fromLength = buffer.getByte(offset + FROM_LENGTH);
        int toLength = buffer.getByte(offset + TO_LENGTH);
        if (fromLength <= 0 || toLength <= 0 || length != NAMES + fromLength + toLength) {
            return null;
        }
        long incarnation = buffer.getLong(offset + INCARNATION, ORDER);
        long session = buffer.getLong(offset + SESSION, ORDER);
        long heard = buffer.getLong(offset + HEARD, ORDER);
        if (incarnation < 0 || session <= 0 || heard < 0) {
            return null;
        }
        try {
            return new Hello(
                    new BrokerId(buffer.getStringWithoutLengthAscii(offset + NAMES, fromLength)),
                    incarnation,
                    new BrokerId(buffer.getStringWithoutLengthAscii(offset + NAMES + fromLength, toLength)),
                    session,
                    heard,
                    buffer.getShort(offset + DOORBELL, ORDER) & 0xFFFF);
        } catch (IllegalArgumentException e) {
            return null; // a name that no broker can have
        }
    }

    static void encodeDataHeader(long ageNs, MutableDirectBuffer buffer, int offset) {
        encodeHeader(DATA, buffer, offset);
        buffer.putLong(offset + AGE, ageNs, ORDER);
    }

    static long ageNs(DirectBuffer buffer, int offset) {
        return buffer.getLong(offset + AGE, ORDER);
    }

    private static void encodeHeader(byte type, MutableDirectBuffer buffer, int offset) {
        buffer.putLong(offset, 0, ORDER);
        buffer.putByte(offset, VERSION);
        buffer.putByte(offset + 1, type);
    }
}
