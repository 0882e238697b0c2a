package io.weir.transport.link;

import io.weir.config.value.BrokerId;
import java.nio.ByteOrder;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * The frames on a link, little endian:
 *
 * <pre>
 * at      |0        1      2            4          6       8              16          24        32           33         34
 *         +---------+------+------------+----------+-------+--------------+-----------+---------+------------+----------+-----------+
 * hello   | version | type | doorbell   | features | needs | incarnation  | session   | heard   | length of  | length   | from, to  |
 *         |         | 1    | port (u16) | (u16)    | (u16) | (i64)        | (i64)     | (i64)   | from       | of to    | (ASCII)   |
 *         +---------+------+------------+----------+-------+--------------+-----------+---------+------------+----------+-----------+
 * data    | version | type | 0 (48 bits)                   | ageNs (i64)  | body: bytes of the layer above                          |
 *         |         | 2    |                               |              |                                                         |
 *         +---------+------+------------+------------------+--------------+---------------------------------------------------------+
 * part    | version | type | 1 first,   | length of the    | bytes of a frame that is longer than a fragment of the stream          |
 *         |         | 3    | 2 last     | frame (i32)      |                                                                        |
 *         +---------+------+------------+------------------+--------------+-----------+---------------------------------------------+
 * sealed  | version | type | 0          | number of the    | session      | counter   | AES-GCM of one hello or of data frames, each |
 *         |         | 4    |            | key (i32)        | (i64)        | (i64)     | after its length (i32); tag (16 bytes)       |
 *         +---------+------+------------+------------------+--------------+-----------+---------------------------------------------+
 * </pre>
 *
 * {@code session} is a random number of the sender's stream to this peer; {@code heard} is the session in which the
 * sender hears the peer, or 0. {@code ageNs} is how long ago the message reached its first broker when it was sent: an
 * age and not a time, because the clocks of two hosts do not compare. The parts of a frame follow each other; only
 * hellos may come between them. On a link that leaves the host every frame is inside a sealed one; see
 * {@link FrameSeal}.
 *
 * <p>{@code features} are bits of what the sender understands beyond the above, {@code needs} those of them without
 * which it can't talk. Bits that the receiver does not know are ignored in {@code features}, and refused in
 * {@code needs}: a later version can so add frames that only those get who understand them.
 */
final class LinkFrames {
    static final byte VERSION = 2;
    static final byte HELLO = 1;
    static final byte DATA = 2;
    static final byte PART = 3;
    static final byte SEALED = 4;

    /** None beyond this version's frames yet. */
    static final int FEATURES = 0;

    static final int NEEDS = 0;

    static final int HEADER_BYTES = 8;
    static final int DATA_HEADER_BYTES = 16;
    static final int SEALED_HEADER_BYTES = 24;
    static final int TAG_BYTES = 16;
    static final int MAX_HELLO_BYTES = 34 + 2 * 64;
    static final int FIRST = 1;
    static final int LAST = 2;

    private static final int SHORT = 2;
    private static final int FEATURES_AT = 4;
    private static final int NEEDS_AT = 6;
    private static final int INT = 4;
    private static final int AGE = 8;
    private static final int INCARNATION = 8;
    private static final int SESSION = 16;
    private static final int HEARD = 24;
    private static final int FROM_LENGTH = 32;
    private static final int TO_LENGTH = 33;
    private static final int NAMES = 34;
    private static final int SEALED_SESSION = 8;
    private static final int COUNTER = 16;
    private static final int U16 = 0xFFFF;
    private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;

    /** The start of a stream's conversation, and its sign of life. */
    record Hello(
            BrokerId from,
            long incarnation,
            BrokerId to,
            long session,
            long heard,
            int doorbell,
            int features,
            int needs) {
        /** As this version says it. */
        Hello(BrokerId from, long incarnation, BrokerId to, long session, long heard, int doorbell) {
            this(from, incarnation, to, session, heard, doorbell, FEATURES, NEEDS);
        }
    }

    private LinkFrames() {}

    /** The frame's type, or 0 if it is none of ours or too short for its type. */
    static byte typeOf(DirectBuffer buffer, int offset, int length) {
        if (length < HEADER_BYTES || buffer.getByte(offset) != VERSION) {
            return 0;
        }
        byte type = buffer.getByte(offset + 1);
        int least =
                switch (type) {
                    case HELLO -> NAMES + 2;
                    case DATA -> DATA_HEADER_BYTES;
                    case PART -> HEADER_BYTES + 1;
                    case SEALED -> SEALED_HEADER_BYTES + TAG_BYTES + Integer.BYTES;
                    default -> Integer.MAX_VALUE;
                };
        return length < least ? 0 : type;
    }

    /** The version of bytes that {@link #typeOf} does not know. */
    static int versionOf(DirectBuffer buffer, int offset, int length) {
        return length < HEADER_BYTES ? 0 : buffer.getByte(offset);
    }

    static int encodeHello(Hello hello, MutableDirectBuffer buffer, int offset) {
        String from = hello.from.value();
        String to = hello.to.value();
        encodeHeader(HELLO, buffer, offset);
        buffer.putShort(offset + SHORT, (short) hello.doorbell, ORDER);
        buffer.putShort(offset + FEATURES_AT, (short) hello.features, ORDER);
        buffer.putShort(offset + NEEDS_AT, (short) hello.needs, ORDER);
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
                    buffer.getShort(offset + SHORT, ORDER) & U16,
                    buffer.getShort(offset + FEATURES_AT, ORDER) & U16,
                    buffer.getShort(offset + NEEDS_AT, ORDER) & U16);
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

    /** @param frameLength of the whole frame that this is a part of */
    static void encodePartHeader(int which, int frameLength, MutableDirectBuffer buffer, int offset) {
        encodeHeader(PART, buffer, offset);
        buffer.putShort(offset + SHORT, (short) which, ORDER);
        buffer.putInt(offset + INT, frameLength, ORDER);
    }

    static boolean isFirst(DirectBuffer part, int offset) {
        return (part.getShort(offset + SHORT, ORDER) & FIRST) != 0;
    }

    static boolean isLast(DirectBuffer part, int offset) {
        return (part.getShort(offset + SHORT, ORDER) & LAST) != 0;
    }

    /** Of a part: the length of the whole frame; of a sealed frame: the number of its key. */
    static int number(DirectBuffer buffer, int offset) {
        return buffer.getInt(offset + INT, ORDER);
    }

    static void encodeSealedHeader(int key, long session, long counter, MutableDirectBuffer buffer, int offset) {
        encodeHeader(SEALED, buffer, offset);
        buffer.putInt(offset + INT, key, ORDER);
        buffer.putLong(offset + SEALED_SESSION, session, ORDER);
        buffer.putLong(offset + COUNTER, counter, ORDER);
    }

    static long sealedSession(DirectBuffer buffer, int offset) {
        return buffer.getLong(offset + SEALED_SESSION, ORDER);
    }

    static long counter(DirectBuffer buffer, int offset) {
        return buffer.getLong(offset + COUNTER, ORDER);
    }

    /** The length that stands before each frame in a sealed one. */
    static void encodeLength(int length, MutableDirectBuffer buffer, int offset) {
        buffer.putInt(offset, length, ORDER);
    }

    static int length(DirectBuffer buffer, int offset) {
        return buffer.getInt(offset, ORDER);
    }

    private static void encodeHeader(byte type, MutableDirectBuffer buffer, int offset) {
        buffer.putLong(offset, 0, ORDER);
        buffer.putByte(offset, VERSION);
        buffer.putByte(offset + 1, type);
    }
}
