package io.weir.cluster.bench.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * NSQ V2, as Weir and nsqd speak it.
 *
 * <pre>
 *  int32 size | int32 type | response or error text
 *  int32 size | int32 2    | int64 timestamp | uint16 attempts | 16 bytes id | body
 * </pre>
 */
public final class NsqWire implements WireProtocol {
    private static final int RESPONSE = 0;
    private static final int ERROR = 1;
    private static final int MESSAGE = 2;
    private static final int ID_AT = 8 + 10;
    private static final int BODY_AT = ID_AT + 16;
    private static final int FIN_BYTES = 4 + 16 + 1;
    private static final byte[] FIN = "FIN ".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] NOP = "NOP\n".getBytes(StandardCharsets.US_ASCII);

    private final Optional<String> secret;
    /** What each publishing connection says of itself beyond the usual. */
    private final IntFunction<String> names;

    /** For peers that serve everybody. */
    public NsqWire() {
        this(Optional.empty());
    }

    /** @param secret for AUTH */
    public NsqWire(Optional<String> secret) {
        this(secret, number -> "");
    }

    private NsqWire(Optional<String> secret, IntFunction<String> names) {
        this.secret = secret;
        this.names = names;
    }

    /**
     * For Weir's placement: every publishing connection is a publisher of its own, the same one in every run.
     *
     * @param prefix of the publishers' names
     * @param group which each of them belongs to; empty: to none
     * @param messagesPerSecond of each of them
     */
    public static NsqWire ofPublishers(String prefix, IntFunction<String> group, double messagesPerSecond) {
        return new NsqWire(
                Optional.empty(),
                number -> ",\"weir_publisher\":\"" + prefix + number + "\",\"weir_group\":\"" + group.apply(number)
                        + "\",\"weir_rate\":" + messagesPerSecond);
    }

    @Override
    public String name() {
        return "NSQ V2";
    }

    @Override
    public boolean acknowledges() {
        return true;
    }

    @Override
    public void openPublisher(Handshake handshake, Subject subject, int number) throws IOException {
        identify(handshake, subject, names.apply(number));
    }

    @Override
    public void openConsumer(Handshake handshake, Subject subject) throws IOException {
        identify(handshake, subject, "");
        handshake.send("SUB " + subject.topic() + " " + subject.channel() + "\n");
        answer(handshake);
        handshake.send("RDY " + subject.credit() + "\n");
    }

    private void identify(Handshake handshake, Subject subject, String more) throws IOException {
        // nsqd keeps messages back for up to 250 ms to fill its buffer unless it is told not to.
        String identity = "{\"client_id\":\"weir-bench\",\"feature_negotiation\":false"
                + (subject.lowLatency() ? ",\"output_buffer_size\":-1,\"output_buffer_timeout\":-1" : "")
                + more
                + "}";
        byte[] json = identity.getBytes(StandardCharsets.UTF_8);
        command(handshake, "  V2IDENTIFY\n", json);
        if (secret.isPresent()) {
            command(handshake, "AUTH\n", secret.get().getBytes(StandardCharsets.UTF_8));
        }
    }

    private static void command(Handshake handshake, String line, byte[] body) throws IOException {
        handshake.send(line);
        handshake.send(ByteBuffer.allocate(4 + body.length)
                .putInt(body.length)
                .put(body)
                .array());
        answer(handshake);
    }

    private static void answer(Handshake handshake) throws IOException {
        while (true) {
            int size = handshake.read(4).getInt();
            if (size < 4) {
                throw handshake.unexpected("a frame of " + size + " bytes");
            }
            ByteBuffer frame = handshake.read(size);
            int type = frame.getInt();
            String text = StandardCharsets.UTF_8.decode(frame).toString();
            if (type == ERROR) {
                throw handshake.unexpected(text);
            }
            if (type != RESPONSE) {
                throw handshake.unexpected("a frame of type " + type);
            }
            if (!text.equals("_heartbeat_")) {
                return;
            }
            handshake.send(NOP);
        }
    }

    private static byte[] command(Subject subject) {
        return ("PUB " + subject.topic() + "\n").getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public byte[] publish(Subject subject) {
        byte[] command = command(subject);
        byte[] frame = Arrays.copyOf(command, command.length + 4 + subject.bodyBytes());
        ByteBuffer.wrap(frame).putInt(command.length, subject.bodyBytes());
        return frame;
    }

    @Override
    public int bodyAt(Subject subject) {
        return command(subject).length + 4;
    }

    @Override
    public Publish publish(Subject subject, int messages) {
        if (messages == 1) {
            return WireProtocol.super.publish(subject, 1);
        }
        byte[] command = ("MPUB " + subject.topic() + "\n").getBytes(StandardCharsets.US_ASCII);
        int bodyEvery = 4 + subject.bodyBytes();
        int content = 4 + messages * bodyEvery;
        ByteBuffer frame = ByteBuffer.allocate(command.length + 4 + content);
        frame.put(command).putInt(content).putInt(messages);
        for (int i = 0; i < messages; i++) {
            frame.putInt(subject.bodyBytes()).position(frame.position() + subject.bodyBytes());
        }
        return new Publish(frame.array(), command.length + 4 + 4 + 4, bodyEvery, messages);
    }

    @Override
    public boolean grant(BenchConnection consumer, int credit) {
        consumer.out.put(("RDY " + credit + "\n").getBytes(StandardCharsets.US_ASCII));
        return true;
    }

    @Override
    public void receive(BenchConnection connection, Inbox inbox) throws WireException {
        ByteBuffer in = connection.in;
        while (in.remaining() >= 8) {
            int at = in.position();
            int size = in.getInt(at);
            if (size < 4 || size > in.capacity() - 4) {
                throw connection.malformed("a frame of " + size + " bytes");
            }
            if (in.remaining() < 4 + size) {
                return;
            }
            if (connection.out.remaining() < FIN_BYTES) {
                connection.stalled = true;
                return;
            }
            switch (in.getInt(at + 4)) {
                case RESPONSE -> onResponse(connection, at + 8, size - 4, inbox);
                case ERROR -> inbox.refused(connection, text(in, at + 8, size - 4));
                case MESSAGE -> onMessage(connection, at, size, inbox);
                default -> throw connection.malformed("a frame of type " + in.getInt(at + 4));
            }
            in.position(at + 4 + size);
        }
    }

    private static void onResponse(BenchConnection connection, int at, int bytes, Inbox inbox) {
        ByteBuffer in = connection.in;
        if (bytes == 2 && in.get(at) == 'O' && in.get(at + 1) == 'K') {
            inbox.acknowledged(connection);
        } else if (bytes == 11 && in.get(at) == '_') {
            connection.out.put(NOP);
        }
    }

    private static void onMessage(BenchConnection connection, int at, int size, Inbox inbox) throws WireException {
        ByteBuffer in = connection.in;
        int bodyBytes = size + 4 - BODY_AT;
        if (bodyBytes < 0) {
            throw connection.malformed("a message of " + size + " bytes");
        }
        inbox.message(connection, at + BODY_AT, bodyBytes, in.getShort(at + 16) != 1);
        connection
                .out
                .put(FIN)
                .putLong(in.getLong(at + ID_AT))
                .putLong(in.getLong(at + ID_AT + 8))
                .put((byte) '\n');
    }

    private static String text(ByteBuffer in, int at, int bytes) {
        byte[] text = new byte[bytes];
        in.get(at, text);
        return new String(text, StandardCharsets.UTF_8);
    }
}
