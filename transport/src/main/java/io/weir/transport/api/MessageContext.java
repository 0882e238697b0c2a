package io.weir.transport.api;

import io.weir.config.CrossesNodes;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a message carries beside its body, from the one who published it to the one who consumes it, who passes it on
 * with what it publishes in turn. Brokers carry it and do not act on it.
 *
 * <pre>
 *  | uint8 version | int64 deadline | uint8 length, workflow id | uint8 headers | uint8 length, name, uint16 length, value | … |
 * </pre>
 *
 * @param workflowId what the message belongs to; empty if to nothing
 * @param deadlineMs milliseconds since 1970 after which nobody needs the message; 0 if that never comes
 * @param headers anything else, in the order it was given
 */
public record MessageContext(String workflowId, long deadlineMs, Map<String, String> headers) implements CrossesNodes {
    /** No context: costs nothing on the way. */
    public static final MessageContext NONE = new MessageContext("", 0, Map.of());

    /** Of the whole context as bytes. */
    public static final int MAX_BYTES = 8 * 1024;

    /** The header that stands for a context which could not be read; its value is how many bytes that had. */
    public static final String UNREADABLE = "weir-unreadable-context";

    private static final byte VERSION = 1;
    private static final int FIXED_BYTES = 11;
    private static final int MAX_NAME_BYTES = 255;
    private static final int MAX_HEADERS = 64;

    public MessageContext {
        if (workflowId == null || headers == null) {
            throw new IllegalArgumentException("a context's workflow id and headers must not be null");
        }
        headers = Collections.unmodifiableMap(new LinkedHashMap<>(headers));
        check("workflow id", workflowId);
        if (headers.size() > MAX_HEADERS) {
            throw new IllegalArgumentException(
                    "a context of " + headers.size() + " headers is too much: at most " + MAX_HEADERS);
        }
        long bytes = FIXED_BYTES + bytes(workflowId).length;
        for (Map.Entry<String, String> header : headers.entrySet()) {
            if (header.getKey() == null || header.getKey().isEmpty() || header.getValue() == null) {
                throw new IllegalArgumentException("a context's header needs a name and a value");
            }
            check("header's name", header.getKey());
            bytes += 3 + bytes(header.getKey()).length + bytes(header.getValue()).length;
        }
        if (bytes > MAX_BYTES) {
            throw new IllegalArgumentException("a context of " + bytes + " bytes is too large: at most " + MAX_BYTES);
        }
    }

    private static void check(String what, String value) {
        int length = bytes(value).length;
        if (length > MAX_NAME_BYTES) {
            throw new IllegalArgumentException(
                    "a context's " + what + " of " + length + " bytes is too long: at most " + MAX_NAME_BYTES);
        }
    }

    public static MessageContext of(String workflowId) {
        return new MessageContext(workflowId, 0, Map.of());
    }

    public MessageContext withDeadlineMs(long newDeadlineMs) {
        return new MessageContext(workflowId, newDeadlineMs, headers);
    }

    public MessageContext withHeader(String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(headers);
        more.put(name, value);
        return new MessageContext(workflowId, deadlineMs, more);
    }

    /** Its form on the way; of {@link #NONE} no byte. */
    public byte[] toBytes() {
        if (equals(NONE)) {
            return new byte[0];
        }
        ByteBuffer out = ByteBuffer.allocate(MAX_BYTES);
        out.put(VERSION).putLong(deadlineMs);
        putShort(out, workflowId);
        out.put((byte) headers.size());
        headers.forEach((name, value) -> {
            putShort(out, name);
            byte[] bytes = bytes(value);
            out.putShort((short) bytes.length).put(bytes);
        });
        byte[] written = new byte[out.position()];
        out.get(0, written);
        return written;
    }

    /**
     * Reads what {@link #toBytes} wrote.
     *
     * @throws IllegalArgumentException if these bytes are no context
     */
    public static MessageContext fromBytes(byte[] bytes) {
        if (bytes.length == 0) {
            return NONE;
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        try {
            byte version = in.get();
            if (version != VERSION) {
                throw new IllegalArgumentException("a context of version " + version + " is not known here");
            }
            long deadlineMs = in.getLong();
            String workflowId = getString(in, in.get() & 0xff);
            int count = in.get() & 0xff;
            Map<String, String> headers = new LinkedHashMap<>();
            for (int i = 0; i < count; i++) {
                String name = getString(in, in.get() & 0xff);
                headers.put(name, getString(in, in.getShort() & 0xffff));
            }
            if (in.hasRemaining()) {
                throw new IllegalArgumentException("a context has " + in.remaining() + " bytes too many");
            }
            return new MessageContext(workflowId, deadlineMs, headers);
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("a context of " + bytes.length + " bytes is cut off", e);
        }
    }

    private static void putShort(ByteBuffer out, String value) {
        byte[] bytes = bytes(value);
        out.put((byte) bytes.length).put(bytes);
    }

    private static String getString(ByteBuffer in, int length) {
        if (length > in.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String value) {
        return value.getBytes(StandardCharsets.UTF_8);
    }
}
