package io.weir.transport.gateway;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Reads one command at a time out of a buffer, and says where its parts stand instead of copying them.
 *
 * <pre>
 *  NAME[ parameter]*\n                                        SUB RDY FIN REQ TOUCH CLS NOP
 *  NAME[ parameter]*\n | int32 length | body                  IDENTIFY PUB DPUB AUTH
 *  MPUB topic\n | int32 length | int32 messages | { int32 length | body }*
 * </pre>
 *
 * Every length is judged as soon as its four bytes are there, before anyone makes room for it.
 */
final class CommandDecoder {
    /** What {@link #decode} answers besides the bytes that a command took. */
    static final int MORE = 0;

    static final int BAD = -1;

    /** No command has more. Further ones, which some old clients send, are ignored, as nsqd does. */
    private static final int MAX_PARAMETERS = 2;

    /** The longest body of IDENTIFY and AUTH, which anybody may send. */
    private static final int MAX_IDENTITY_BYTES = 64 * 1024;

    private static final int MAX_NAME = 64;
    private static final byte[] EPHEMERAL = "#ephemeral".getBytes(StandardCharsets.US_ASCII);
    private static final byte[][] NAMES = new byte[Verb.values().length][];
    private static final Verb[] VERBS = Verb.values();

    static {
        for (Verb verb : VERBS) {
            NAMES[verb.ordinal()] = verb.name().getBytes(StandardCharsets.US_ASCII);
        }
    }

    /** "PUB " and "FIN ", as four bytes read at once. */
    private static final int PUB_WORD = 0x50554220;

    private static final int FIN_WORD = 0x46494e20;
    private static final int FIN_BYTES = 4 + Frames.ID_LENGTH + 1;

    /** For each character, whether a name may contain it. */
    private static final boolean[] IN_NAME = new boolean[256];

    static {
        for (int c = 0; c < 256; c++) {
            IN_NAME[c] = c >= 'a' && c <= 'z'
                    || c >= 'A' && c <= 'Z'
                    || c >= '0' && c <= '9'
                    || c == '.'
                    || c == '_'
                    || c == '-';
        }
    }

    private final int maxMessageBytes;
    private final int maxBodyBytes;

    private Verb verb;
    private final int[] parameterAt = new int[MAX_PARAMETERS];
    private final int[] parameterLength = new int[MAX_PARAMETERS];
    private int parameters;
    private int bodyAt;
    private int bodyLength;
    private int messages;
    private long number;
    private long id;
    private boolean namesMessage;
    private int wantedBytes;
    private String error;

    CommandDecoder(int maxMessageBytes, int maxBodyBytes) {
        this.maxMessageBytes = maxMessageBytes;
        this.maxBodyBytes = maxBodyBytes;
    }

    /**
     * Decodes the command that begins at {@code from}.
     *
     * @return how many bytes it takes, {@link #MORE} if {@link #wantedBytes} from its beginning on are not all there
     *     yet, or {@link #BAD} with an {@link #error}
     */
    int decode(ByteBuffer in, int from, int end) {
        verb = null;
        error = null;
        messages = 1;
        if (end - from >= FIN_BYTES) {
            int quick = decodeUsual(in, from, end);
            if (verb != null) {
                return quick;
            }
        }
        int lineEnd = lineEnd(in, from, end);
        if (lineEnd < 0) {
            if (end - from >= GatewaySettings.MAX_LINE_BYTES) {
                return bad("E_INVALID command line longer than " + GatewaySettings.MAX_LINE_BYTES + " bytes");
            }
            wantedBytes = end - from + 1;
            return MORE;
        }
        int textEnd = lineEnd > from && in.get(lineEnd - 1) == '\r' ? lineEnd - 1 : lineEnd;
        if (!split(in, from, textEnd)) {
            return BAD;
        }
        int next = lineEnd + 1;
        return switch (verb) {
            case IDENTIFY, AUTH -> body(in, from, next, end, Math.min(MAX_IDENTITY_BYTES, maxBodyBytes), "E_BAD_BODY");
            case PUB -> topic(in) ? body(in, from, next, end, maxMessageBytes, "E_BAD_MESSAGE") : BAD;
            case DPUB ->
                topic(in) && expect(2) && number(in, 1)
                        ? body(in, from, next, end, maxMessageBytes, "E_BAD_MESSAGE")
                        : BAD;
            case MPUB -> topic(in) ? batch(in, from, next, end) : BAD;
            case SUB -> topic(in) && expect(2) && channel(in) ? next - from : BAD;
            case RDY -> ready(in) ? next - from : BAD;
            case FIN, TOUCH -> expect(1) && id(in) ? next - from : BAD;
            case REQ -> expect(2) && id(in) && number(in, 1) ? next - from : BAD;
            case CLS, NOP -> next - from;
        };
    }

    /**
     * Nearly all commands are one of two, in their plainest form: those in one pass. Any other leaves the verb unset.
     */
    private int decodeUsual(ByteBuffer in, int from, int end) {
        int word = in.getInt(from);
        if (word == FIN_WORD && in.get(from + FIN_BYTES - 1) == '\n' && hex(in, from + 4)) {
            verb = Verb.FIN;
            namesMessage = true;
            parameterAt[0] = from + 4;
            parameterLength[0] = Frames.ID_LENGTH;
            return FIN_BYTES;
        }
        if (word == PUB_WORD) {
            int at = from + 4;
            int limit = Math.min(end, at + MAX_NAME + 1);
            while (at < limit && IN_NAME[in.get(at) & 0xff]) {
                at++;
            }
            if (at < limit && at > from + 4 && in.get(at) == '\n') {
                verb = Verb.PUB;
                parameters = 1;
                parameterAt[0] = from + 4;
                parameterLength[0] = at - from - 4;
                return body(in, from, at + 1, end, maxMessageBytes, "E_BAD_MESSAGE");
            }
        }
        return BAD;
    }

    Verb verb() {
        return verb;
    }

    int parameterAt(int index) {
        return parameterAt[index];
    }

    int parameterLength(int index) {
        return parameterLength[index];
    }

    String parameter(ByteBuffer in, int index) {
        return text(in, parameterAt[index], parameterLength[index]);
    }

    int bodyAt() {
        return bodyAt;
    }

    int bodyLength() {
        return bodyLength;
    }

    /** 1, or how many an MPUB has, whose body begins at {@link #bodyAt} with the first one's length. */
    int messages() {
        return messages;
    }

    /** RDY's count, or the milliseconds of REQ and DPUB; never negative. */
    long number() {
        return number;
    }

    long id() {
        return id;
    }

    /**
     * Whether {@link #id} is one that a broker of ours gives; as to nsqd, any other is of a message that is not here.
     */
    boolean namesMessage() {
        return namesMessage;
    }

    int wantedBytes() {
        return wantedBytes;
    }

    String error() {
        return error;
    }

    private String quoted(ByteBuffer in, int index) {
        return "\"" + printable(in, index) + "\"";
    }

    /** A parameter for an error's text: short, and of characters that can be printed. */
    String printable(ByteBuffer in, int index) {
        int shown = Math.min(parameterLength[index], MAX_NAME);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < shown; i++) {
            int c = in.get(parameterAt[index] + i) & 0xff;
            if (c == '"' || c == '\\') {
                text.append('\\').append((char) c);
            } else if (c >= ' ' && c <= '~') {
                text.append((char) c);
            } else {
                text.append(String.format("\\x%02x", c));
            }
        }
        return text.append(shown < parameterLength[index] ? "..." : "").toString();
    }

    static String text(ByteBuffer in, int at, int length) {
        byte[] bytes = new byte[length];
        in.get(at, bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static int lineEnd(ByteBuffer in, int from, int end) {
        int limit = Math.min(end, from + GatewaySettings.MAX_LINE_BYTES);
        for (int i = from; i < limit; i++) {
            if (in.get(i) == '\n') {
                return i;
            }
        }
        return -1;
    }

    private boolean split(ByteBuffer in, int from, int end) {
        int wordEnd = from;
        while (wordEnd < end && in.get(wordEnd) != ' ') {
            wordEnd++;
        }
        verb = verb(in, from, wordEnd - from);
        if (verb == null) {
            bad("E_INVALID invalid command");
            return false;
        }
        parameters = 0;
        int at = wordEnd;
        while (at < end) {
            int start = at + 1;
            at = start;
            while (at < end && in.get(at) != ' ') {
                at++;
            }
            if (parameters < MAX_PARAMETERS) {
                parameterAt[parameters] = start;
                parameterLength[parameters++] = at - start;
            }
        }
        return true;
    }

    private static Verb verb(ByteBuffer in, int at, int length) {
        for (int v = 0; v < NAMES.length; v++) {
            if (NAMES[v].length == length && equal(in, at, NAMES[v])) {
                return VERBS[v];
            }
        }
        return null;
    }

    private static boolean equal(ByteBuffer in, int at, byte[] expected) {
        for (int i = 0; i < expected.length; i++) {
            if (in.get(at + i) != expected[i]) {
                return false;
            }
        }
        return true;
    }

    private boolean expect(int least) {
        if (parameters < least) {
            bad("E_INVALID " + verb + " insufficient number of parameters");
            return false;
        }
        return true;
    }

    private boolean topic(ByteBuffer in) {
        if (!expect(1)) {
            return false;
        }
        if (!validName(in, parameterAt[0], parameterLength[0])) {
            bad("E_BAD_TOPIC " + verb + " topic name " + quoted(in, 0) + " is not valid");
            return false;
        }
        return true;
    }

    private boolean channel(ByteBuffer in) {
        if (!validName(in, parameterAt[1], parameterLength[1])) {
            bad("E_BAD_CHANNEL " + verb + " channel name " + quoted(in, 1) + " is not valid");
            return false;
        }
        return true;
    }

    private static boolean validName(ByteBuffer in, int at, int length) {
        if (length < 1 || length > MAX_NAME) {
            return false;
        }
        int stem = length > EPHEMERAL.length && equal(in, at + length - EPHEMERAL.length, EPHEMERAL)
                ? length - EPHEMERAL.length
                : length;
        for (int i = 0; i < stem; i++) {
            if (!IN_NAME[in.get(at + i) & 0xff]) {
                return false;
            }
        }
        return true;
    }

    private boolean ready(ByteBuffer in) {
        number = 1;
        return parameters == 0 || number(in, 0);
    }

    private boolean number(ByteBuffer in, int index) {
        int length = parameterLength[index];
        long value = length < 1 || length > 18 ? -1 : 0;
        for (int i = 0; i < length && value >= 0; i++) {
            int digit = in.get(parameterAt[index] + i) - '0';
            value = digit < 0 || digit > 9 ? -1 : value * 10 + digit;
        }
        if (value < 0) {
            bad("E_INVALID " + verb + " could not parse " + (verb == Verb.RDY ? "count " : "timeout ")
                    + printable(in, index));
            return false;
        }
        number = value;
        return true;
    }

    private boolean id(ByteBuffer in) {
        if (parameterLength[0] != Frames.ID_LENGTH) {
            bad("E_INVALID " + verb + " invalid message ID");
            return false;
        }
        namesMessage = hex(in, parameterAt[0]);
        return true;
    }

    private boolean hex(ByteBuffer in, int at) {
        long upper = Frames.hexValue(in.getLong(at));
        long lower = Frames.hexValue(in.getLong(at + 8));
        id = upper << Integer.SIZE | lower;
        return (upper | lower) >= 0;
    }

    private int body(ByteBuffer in, int from, int next, int end, int maxBytes, String code) {
        if (end - next < 4) {
            wantedBytes = next + 4 - from;
            return MORE;
        }
        int length = in.getInt(next);
        if (length <= 0) {
            return bad(code + " " + verb + " invalid body size " + length);
        }
        if (length > maxBytes) {
            return bad(code + " " + verb + " body too big " + length + " > " + maxBytes);
        }
        bodyAt = next + 4;
        bodyLength = length;
        wantedBytes = bodyAt + length - from;
        return end - from < wantedBytes ? MORE : wantedBytes;
    }

    private int batch(ByteBuffer in, int from, int next, int end) {
        int whole = body(in, from, next, end, maxBodyBytes, "E_BAD_BODY");
        if (whole <= MORE) {
            return whole;
        }
        int batchEnd = bodyAt + bodyLength;
        // Each message takes five bytes at the least.
        int count = bodyLength < 4 ? -1 : in.getInt(bodyAt);
        if (count < 1 || count > (bodyLength - 4) / 5) {
            return bad("E_BAD_BODY MPUB invalid message count " + count);
        }
        int at = bodyAt + 4;
        for (int i = 0; i < count; i++) {
            int length = batchEnd - at < 4 ? -1 : in.getInt(at);
            if (length < 1 || length > batchEnd - at - 4) {
                return bad("E_BAD_MESSAGE MPUB invalid message(" + i + ") body size " + length);
            }
            if (length > maxMessageBytes) {
                return bad("E_BAD_MESSAGE MPUB message too big " + length + " > " + maxMessageBytes);
            }
            at += 4 + length;
        }
        if (at != batchEnd) {
            return bad("E_BAD_BODY MPUB body is longer than its messages");
        }
        bodyAt += 4;
        bodyLength -= 4;
        messages = count;
        return whole;
    }

    private int bad(String text) {
        error = text;
        return BAD;
    }
}
