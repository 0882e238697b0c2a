package io.weir.topics.federation;

import io.weir.limiter.algorithm.Loan;
import io.weir.topics.algorithm.LongRing;
import io.weir.transport.gateway.PublishRequest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * What brokers say to each other inside the frames of a link, little endian. The broker with the consumers subscribes,
 * acknowledges and gives back; the broker with the messages delivers.
 *
 * <pre>
 *              0         1      2              3          4               8              12      16            24
 *              +---------+------+--------------+----------+---------------+--------------+-------+-------------+------
 * SUBSCRIBE    | version | 1    | length of    | length   | subscription  | window (i32) | 0     | topic, channel
 *              |         |      | topic (u8)   | (u8)     | (i32)         |              |       | (ASCII)
 *              +---------+------+--------------+----------+---------------+--------------+-------+--------------------
 * UNSUBSCRIBE  | version | 2    | 0                       | subscription  |
 *              +---------+------+-------------------------+---------------+--------------+-------+--------------------
 * ACKNOWLEDGE  | version | 3    | count (u16)             | subscription  | window (i32) | 0     | ids (i64 each)
 *              +---------+------+-------------------------+---------------+--------------+-------+-------------+
 * GIVE_BACK    | version | 4    | attempts (u16)          | subscription  | id (i64)             | delay in ns |
 *              +---------+------+-------------------------+---------------+----------------------+-------------+------
 * DELIVER      | version | 5    | attempts (u16)          | subscription  | id (i64)             | body
 *              +---------+------+-------------------------+---------------+----------------------+--------------------
 * DELIVER_WITH | version | 9    | attempts (u16)          | subscription  | id (i64)             | length of   | context,
 * _CONTEXT     |         |      |                         |               |                      | context(u16)| body
 *              +---------+------+-------------------------+---------------+----------------------+--------------------
 * ENDED        | version | 6    | 0                       | subscription  |
 *              +---------+------+--------------+----------+---------------+----------------------+-------------+------
 * PUBLISH      | version | 7    | length of    | 0        | messages      | ticket (i64)         | defer in ns | length of context
 *              |         |      | topic (u8)   |          | (i32)         |                      |             | (u16), topic,
 *              |         |      |              |          |               |                      |             | context, body
 *              +---------+------+--------------+----------+---------------+----------------------+-------------+------
 * OUTCOME      | version | 8    | what (u8)    | 0        | 0             | ticket (i64)         | retry after | reason
 *              |         |      |              |          |               |                      | in ns       | (ASCII)
 *              +---------+------+--------------+----------+---------------+----------------------+-------------+------
 * ASK, LEND    | version | 10,11| count (u16)             | 0             | incarnation (i64)    | loans, one after
 *              |         |      |                         |               | of who asked         | the other
 *              +---------+------+-------------------------+---------------+----------------------+-------------+------
 * loan         | version of the limit (i64) | id (i64) | micro-tokens asked or given (i64) | free (i64) | resting (i64) | length of topic (u8), topic
 * </pre>
 *
 * {@code window}: so many messages of the subscription may be unacknowledged from now on. {@code attempts}: deliveries,
 * in DELIVER with this one. DELIVER_LATE (12) and DELIVER_LATE_WITH_CONTEXT (13) are laid out as DELIVER and
 * DELIVER_WITH_CONTEXT: the message waited for a consumer, or to be due, and its age says nothing about brokers.
 * {@code messages} of a PUBLISH: 0 for one message, whose body follows; else a batch of so many, each after its length
 * (i32, big endian, as in the clients' MPUB). {@code what} of an OUTCOME: 1 accepted, 2 throttled, 3 failed, 4 held up
 * for too long, 5 no such topic. A message's age is in the link's own header.
 */
final class FederationFrames {
    static final byte VERSION = 1;
    static final byte SUBSCRIBE = 1;
    static final byte UNSUBSCRIBE = 2;
    static final byte ACKNOWLEDGE = 3;
    static final byte GIVE_BACK = 4;
    static final byte DELIVER = 5;
    static final byte ENDED = 6;
    static final byte PUBLISH = 7;
    static final byte OUTCOME = 8;
    static final byte DELIVER_WITH_CONTEXT = 9;
    static final byte ASK = 10;
    static final byte LEND = 11;
    static final byte DELIVER_LATE = 12;
    static final byte DELIVER_LATE_WITH_CONTEXT = 13;

    static final int ACCEPTED = 1;
    static final int THROTTLED = 2;
    static final int FAILED = 3;
    static final int HELD_UP = 4;
    static final int UNKNOWN_TOPIC = 5;

    static final int NOTICE_BYTES = 8;
    static final int HEADER_BYTES = 16;
    static final int LONG_HEADER_BYTES = 24;
    static final int PUBLISH_HEADER_BYTES = LONG_HEADER_BYTES + Short.BYTES;
    static final int LOAN_BYTES = 5 * Long.BYTES + 1;
    static final int MAX_NAME = 64;
    /** An acknowledgement of so many still fits one datagram. */
    static final int MAX_IDS = 128;

    static final int MAX_REASON = 512;
    /** The longest frame but for those that carry bodies. */
    static final int MAX_SMALL_BYTES = HEADER_BYTES + MAX_IDS * Long.BYTES;

    private static final int SHORT = 2;
    private static final int SECOND_BYTE = 3;
    private static final int INT = 4;
    private static final int WINDOW = 8;
    private static final int LONG = 8;
    private static final int SECOND_LONG = 16;
    private static final String EPHEMERAL = "#ephemeral";
    private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;

    private FederationFrames() {}

    /** The frame's type, or 0 if it is too short for its type or none of ours. */
    static byte typeOf(DirectBuffer in, int at, int length) {
        if (length < NOTICE_BYTES || in.getByte(at) != VERSION) {
            return 0;
        }
        byte type = in.getByte(at + 1);
        int least =
                switch (type) {
                    case UNSUBSCRIBE, ENDED -> NOTICE_BYTES;
                    case SUBSCRIBE, ACKNOWLEDGE, DELIVER, DELIVER_LATE, ASK, LEND -> HEADER_BYTES;
                    case DELIVER_WITH_CONTEXT, DELIVER_LATE_WITH_CONTEXT -> HEADER_BYTES + Short.BYTES;
                    case GIVE_BACK, OUTCOME -> LONG_HEADER_BYTES;
                    case PUBLISH -> PUBLISH_HEADER_BYTES;
                    default -> Integer.MAX_VALUE;
                };
        return length < least ? 0 : type;
    }

    static int subscription(DirectBuffer in, int at) {
        return in.getInt(at + INT, ORDER);
    }

    static int window(DirectBuffer in, int at) {
        return in.getInt(at + WINDOW, ORDER);
    }

    static int topicLength(DirectBuffer in, int at) {
        return in.getByte(at + SHORT) & 0xff;
    }

    static int channelLength(DirectBuffer in, int at) {
        return in.getByte(at + SECOND_BYTE) & 0xff;
    }

    static int count(DirectBuffer in, int at) {
        return in.getShort(at + SHORT, ORDER) & 0xffff;
    }

    static int attempts(DirectBuffer in, int at) {
        return in.getShort(at + SHORT, ORDER) & 0xffff;
    }

    /** Of the message, or the ticket of a publication. */
    static long id(DirectBuffer in, int at) {
        return in.getLong(at + LONG, ORDER);
    }

    static long id(DirectBuffer in, int at, int index) {
        return in.getLong(at + HEADER_BYTES + index * Long.BYTES, ORDER);
    }

    /** The delay of GIVE_BACK and PUBLISH, or the time after which to retry. */
    static long delayNs(DirectBuffer in, int at) {
        return in.getLong(at + SECOND_LONG, ORDER);
    }

    static int messages(DirectBuffer in, int at) {
        return in.getInt(at + INT, ORDER);
    }

    static int outcome(DirectBuffer in, int at) {
        return in.getByte(at + SHORT);
    }

    static int subscribe(MutableDirectBuffer out, int subscription, int window, String topic, String channel) {
        header(out, 0, SUBSCRIBE, 0, subscription);
        out.putByte(SHORT, (byte) topic.length());
        out.putByte(SECOND_BYTE, (byte) channel.length());
        out.putInt(WINDOW, window, ORDER);
        out.putInt(WINDOW + Integer.BYTES, 0, ORDER);
        out.putStringWithoutLengthAscii(HEADER_BYTES, topic);
        out.putStringWithoutLengthAscii(HEADER_BYTES + topic.length(), channel);
        return HEADER_BYTES + topic.length() + channel.length();
    }

    /** UNSUBSCRIBE or ENDED. */
    static int notice(MutableDirectBuffer out, byte type, int subscription) {
        header(out, 0, type, 0, subscription);
        return NOTICE_BYTES;
    }

    /** With the first {@code count} of {@code ids}, which stay there. */
    static int acknowledge(MutableDirectBuffer out, int subscription, int window, LongRing ids, int count) {
        header(out, 0, ACKNOWLEDGE, count, subscription);
        out.putInt(WINDOW, window, ORDER);
        out.putInt(WINDOW + Integer.BYTES, 0, ORDER);
        for (int i = 0; i < count; i++) {
            out.putLong(HEADER_BYTES + i * Long.BYTES, ids.get(i), ORDER);
        }
        return HEADER_BYTES + count * Long.BYTES;
    }

    static int giveBack(MutableDirectBuffer out, int subscription, long id, int attempts, long delayNs) {
        header(out, 0, GIVE_BACK, attempts, subscription);
        out.putLong(LONG, id, ORDER);
        out.putLong(SECOND_LONG, delayNs, ORDER);
        return LONG_HEADER_BYTES;
    }

    /** Of a DELIVER_WITH_CONTEXT. */
    static int contextLength(DirectBuffer in, int at) {
        return in.getShort(at + HEADER_BYTES, ORDER) & 0xffff;
    }

    static int deliverBytes(int contextLength, int bodyLength) {
        return HEADER_BYTES + (contextLength == 0 ? 0 : Short.BYTES + contextLength) + bodyLength;
    }

    /** Of a DELIVER: whether only brokers took its time so far. */
    static boolean isFresh(DirectBuffer in, int at) {
        byte type = in.getByte(at + 1);
        return type == DELIVER || type == DELIVER_WITH_CONTEXT;
    }

    /**
     * @param fresh whether only brokers took its time so far
     * @param contextLength of the context that stands right before the body, or 0
     */
    static void deliver(
            MutableDirectBuffer out,
            int at,
            int subscription,
            boolean fresh,
            int attempts,
            long id,
            ByteBuffer body,
            int contextLength,
            int bodyAt,
            int bodyLength) {
        byte type = contextLength == 0
                ? fresh ? DELIVER : DELIVER_LATE
                : fresh ? DELIVER_WITH_CONTEXT : DELIVER_LATE_WITH_CONTEXT;
        header(out, at, type, attempts, subscription);
        out.putLong(at + LONG, id, ORDER);
        int next = at + HEADER_BYTES;
        if (contextLength > 0) {
            out.putShort(next, (short) contextLength, ORDER);
            next += Short.BYTES;
        }
        out.putBytes(next, body, bodyAt - contextLength, contextLength + bodyLength);
    }

    static int publishBytes(PublishRequest request) {
        return PUBLISH_HEADER_BYTES + request.topicLength() + request.contextLength() + request.bodyLength();
    }

    static void publish(MutableDirectBuffer out, int at, long ticket, PublishRequest request) {
        header(out, at, PUBLISH, request.topicLength(), request.messages());
        out.putLong(at + LONG, ticket, ORDER);
        out.putLong(at + SECOND_LONG, request.deferNs(), ORDER);
        out.putShort(at + LONG_HEADER_BYTES, (short) request.contextLength(), ORDER);
        int next = at + PUBLISH_HEADER_BYTES;
        out.putBytes(next, request.in(), request.topicAt(), request.topicLength());
        next += request.topicLength();
        out.putBytes(next, request.in(), request.contextAt(), request.contextLength());
        next += request.contextLength();
        out.putBytes(next, request.in(), request.bodyAt(), request.bodyLength());
    }

    static int publishedContextLength(DirectBuffer in, int at) {
        return in.getShort(at + LONG_HEADER_BYTES, ORDER) & 0xffff;
    }

    static int outcome(MutableDirectBuffer out, int what, long ticket, long retryAfterNs, String reason) {
        header(out, 0, OUTCOME, what, 0);
        out.putLong(LONG, ticket, ORDER);
        out.putLong(SECOND_LONG, retryAfterNs, ORDER);
        int length = Math.min(MAX_REASON, reason.length());
        if (length > 0) {
            // Every character becomes one byte; the few that are not ASCII a question mark.
            out.putBytes(LONG_HEADER_BYTES, reason.substring(0, length).getBytes(StandardCharsets.US_ASCII));
        }
        return LONG_HEADER_BYTES + length;
    }

    /** The head of an ASK or LEND with so many loans, which stand behind it already. */
    static void loans(MutableDirectBuffer out, byte type, int count, long incarnation) {
        header(out, 0, type, count, 0);
        out.putLong(LONG, incarnation, ORDER);
    }

    /** One loan; answers where the next one stands. */
    static int loan(MutableDirectBuffer out, int at, long limitVersion, Loan loan, String topic) {
        out.putLong(at, limitVersion, ORDER);
        out.putLong(at + LONG, loan.id(), ORDER);
        out.putLong(at + 2 * LONG, loan.micros(), ORDER);
        out.putLong(at + 3 * LONG, loan.freeMicros(), ORDER);
        out.putLong(at + 4 * LONG, loan.restingMicros(), ORDER);
        out.putByte(at + 5 * LONG, (byte) topic.length());
        out.putStringWithoutLengthAscii(at + LOAN_BYTES, topic);
        return at + LOAN_BYTES + topic.length();
    }

    /** Of an ASK or LEND: the life that asked. */
    static long incarnation(DirectBuffer in, int at) {
        return in.getLong(at + LONG, ORDER);
    }

    /** Of a loan that begins at {@code at}, as the following. */
    static long limitVersion(DirectBuffer in, int at) {
        return in.getLong(at, ORDER);
    }

    static void loan(DirectBuffer in, int at, int peer, Loan loan) {
        loan.set(
                peer,
                in.getLong(at + LONG, ORDER),
                in.getLong(at + 2 * LONG, ORDER),
                in.getLong(at + 3 * LONG, ORDER),
                in.getLong(at + 4 * LONG, ORDER));
    }

    static int loanTopicLength(DirectBuffer in, int at) {
        return in.getByte(at + 5 * LONG) & 0xff;
    }

    /** Whether a topic or channel may have that name. */
    static boolean isName(DirectBuffer in, int at, int length) {
        if (length < 1 || length > MAX_NAME) {
            return false;
        }
        int plain = endsEphemeral(in, at, length) ? length - EPHEMERAL.length() : length;
        for (int i = 0; i < plain; i++) {
            int c = in.getByte(at + i);
            boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
            if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-') {
                return false;
            }
        }
        return plain > 0;
    }

    private static boolean endsEphemeral(DirectBuffer in, int at, int length) {
        int start = length - EPHEMERAL.length();
        for (int i = 0; i < EPHEMERAL.length(); i++) {
            if (start < 0 || in.getByte(at + start + i) != EPHEMERAL.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** Whether that many messages, each after its length, fill exactly so many bytes. */
    static boolean isBatch(DirectBuffer in, int at, int bytes, int messages, int maxMessageBytes) {
        int next = 0;
        for (int i = 0; i < messages; i++) {
            if (bytes - next < Integer.BYTES) {
                return false;
            }
            int length = in.getInt(at + next, ByteOrder.BIG_ENDIAN);
            next += Integer.BYTES;
            if (length < 0 || length > maxMessageBytes || length > bytes - next) {
                return false;
            }
            next += length;
        }
        return next == bytes;
    }

    private static void header(MutableDirectBuffer out, int at, byte type, int small, int number) {
        out.putByte(at, VERSION);
        out.putByte(at + 1, type);
        out.putShort(at + SHORT, (short) small, ORDER);
        out.putInt(at + INT, number, ORDER);
    }
}
