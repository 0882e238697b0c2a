package io.weir.cluster.bench.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** NATS core: lines, and a payload after {@code PUB} and {@code MSG}. It acknowledges nothing. */
public final class NatsWire implements WireProtocol {
    private static final byte[] PONG = "PONG\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final int MAX_LINE = 8 * 1024;

    @Override
    public String name() {
        return "NATS";
    }

    @Override
    public boolean acknowledges() {
        return false;
    }

    @Override
    public void openPublisher(Handshake handshake, Subject subject, int number) throws IOException {
        connect(handshake, "");
    }

    @Override
    public void openConsumer(Handshake handshake, Subject subject) throws IOException {
        // Without a queue's name each subscriber would get every message.
        String queue = subject.sharedByConsumers() ? subject.channel() + " " : "";
        connect(handshake, "SUB " + subject.topic() + " " + queue + "1\r\n");
    }

    private static void connect(Handshake handshake, String more) throws IOException {
        String info = handshake.readLine();
        if (!info.startsWith("INFO ")) {
            throw handshake.unexpected("'" + info + "' instead of INFO");
        }
        handshake.send(
                "CONNECT {\"verbose\":false,\"pedantic\":false,\"name\":\"weir-bench\",\"lang\":\"java\",\"version\":\"1\"}\r\n"
                        + more + "PING\r\n");
        String answer = handshake.readLine();
        if (!answer.equals("PONG")) {
            throw handshake.unexpected("'" + answer + "' instead of PONG");
        }
    }

    private static byte[] command(Subject subject) {
        return ("PUB " + subject.topic() + " " + subject.bodyBytes() + "\r\n").getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public byte[] publish(Subject subject) {
        byte[] command = command(subject);
        byte[] frame = Arrays.copyOf(command, command.length + subject.bodyBytes() + 2);
        frame[frame.length - 2] = '\r';
        frame[frame.length - 1] = '\n';
        return frame;
    }

    @Override
    public int bodyAt(Subject subject) {
        return command(subject).length;
    }

    @Override
    public void receive(BenchConnection connection, Inbox inbox) throws WireException {
        ByteBuffer in = connection.in;
        while (in.hasRemaining()) {
            int at = in.position();
            int end = lineEnd(in, at);
            if (end < 0) {
                if (in.remaining() > MAX_LINE) {
                    throw connection.malformed("a line of more than " + MAX_LINE + " bytes");
                }
                return;
            }
            if (connection.out.remaining() < PONG.length) {
                connection.stalled = true;
                return;
            }
            byte first = in.get(at);
            if (first == 'M') {
                int bodyBytes = lastNumber(connection, at, end);
                if (in.limit() - (end + 1) < bodyBytes + 2) {
                    return;
                }
                inbox.message(connection, end + 1, bodyBytes, false);
                in.position(end + 1 + bodyBytes + 2);
                continue;
            }
            switch (first) {
                case 'P' -> {
                    if (in.get(at + 1) == 'I') {
                        connection.out.put(PONG);
                    }
                }
                case '-' -> inbox.refused(connection, text(in, at, end));
                case '+', 'I' -> {}
                default -> throw connection.malformed("a line that begins with byte " + first);
            }
            in.position(end + 1);
        }
    }

    private static int lineEnd(ByteBuffer in, int from) {
        for (int i = from; i < in.limit(); i++) {
            if (in.get(i) == '\n') {
                return i;
            }
        }
        return -1;
    }

    /** The number at the line's end, before CR LF. */
    private static int lastNumber(BenchConnection connection, int at, int end) throws WireException {
        ByteBuffer in = connection.in;
        int number = 0;
        int digits = 0;
        for (int i = end - 2, unit = 1; i > at && in.get(i) != ' '; i--, unit *= 10, digits++) {
            int digit = in.get(i) - '0';
            if (digit < 0 || digit > 9 || digits == 8) {
                throw connection.malformed("a message without a length");
            }
            number += digit * unit;
        }
        if (digits == 0) {
            throw connection.malformed("a message without a length");
        }
        if (number > in.capacity() - MAX_LINE) {
            throw connection.malformed("a message of " + number + " bytes");
        }
        return number;
    }

    private static String text(ByteBuffer in, int at, int end) {
        byte[] text = new byte[end - at];
        in.get(at, text);
        return new String(text, StandardCharsets.UTF_8).strip();
    }
}
