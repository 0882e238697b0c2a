package io.weir.cluster.bench.wire;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadLocalRandom;

/**
 * MQTT 3.1.1 with QoS 1 both ways, as Mosquitto speaks it: {@code type and flags | remaining length, 7 bits a byte |
 * content}.
 */
public final class MqttWire implements WireProtocol {
    private static final int CONNACK = 2;
    private static final int PUBLISH = 3;
    private static final int PUBACK = 4;
    private static final int SUBACK = 9;
    private static final int PINGRESP = 13;
    private static final int PUBACK_BYTES = 4;

    @Override
    public String name() {
        return "MQTT";
    }

    @Override
    public boolean acknowledges() {
        return true;
    }

    /** Shared subscriptions came with version 5. */
    @Override
    public boolean shares() {
        return false;
    }

    @Override
    public void openPublisher(Handshake handshake, Subject subject, int number) throws IOException {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        DataOutputStream connect = new DataOutputStream(content);
        connect.writeUTF("MQTT");
        connect.writeByte(4);
        connect.writeByte(2); // a clean session
        connect.writeShort(0); // no keep-alive: a run is short
        connect.writeUTF("weir-" + Long.toString(ThreadLocalRandom.current().nextLong() >>> 1, 36));
        handshake.send(packet(0x10, content.toByteArray()));
        ByteBuffer answer = handshake.read(4);
        if (answer.get(0) >> 4 != CONNACK || answer.get(3) != 0) {
            throw handshake.unexpected("code " + answer.get(3) + " to CONNECT");
        }
    }

    @Override
    public void openConsumer(Handshake handshake, Subject subject) throws IOException {
        openPublisher(handshake, subject, 0);
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        DataOutputStream subscribe = new DataOutputStream(content);
        subscribe.writeShort(1);
        subscribe.writeUTF(subject.topic());
        subscribe.writeByte(1);
        handshake.send(packet(0x82, content.toByteArray()));
        ByteBuffer answer = handshake.read(5);
        if ((answer.get(0) & 0xff) >> 4 != SUBACK || answer.get(4) != 1) {
            throw handshake.unexpected("code " + answer.get(4) + " to SUBSCRIBE");
        }
    }

    private static byte[] packet(int head, byte[] content) {
        ByteArrayOutputStream packet = new ByteArrayOutputStream();
        packet.write(head);
        int rest = content.length;
        do {
            packet.write((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
            rest >>>= 7;
        } while (rest > 0);
        packet.writeBytes(content);
        return packet.toByteArray();
    }

    @Override
    public byte[] publish(Subject subject) {
        byte[] topic = subject.topic().getBytes(StandardCharsets.UTF_8);
        ByteBuffer content = ByteBuffer.allocate(2 + topic.length + 2 + subject.bodyBytes());
        content.putShort((short) topic.length).put(topic);
        return packet(0x32, content.array());
    }

    @Override
    public int bodyAt(Subject subject) {
        return publish(subject).length - subject.bodyBytes();
    }

    @Override
    public void number(BenchConnection connection, int at) {
        ByteBuffer out = connection.out;
        int cursor = at + 1;
        while (out.get(cursor++) < 0) {
            // another byte of the length follows
        }
        int topicBytes = out.getShort(cursor);
        // 0 is not a packet's number.
        out.putShort(cursor + 2 + topicBytes, (short) (1 + connection.published % 65_535));
    }

    @Override
    public void receive(BenchConnection connection, Inbox inbox) throws WireException {
        ByteBuffer in = connection.in;
        while (in.remaining() >= 2) {
            int at = in.position();
            int length = 0;
            int cursor = at + 1;
            boolean more = true;
            for (int shift = 0; more; shift += 7) {
                if (shift > 21) {
                    throw connection.malformed("a length of more than four bytes");
                }
                if (cursor == in.limit()) {
                    return;
                }
                byte next = in.get(cursor++);
                length |= (next & 0x7f) << shift;
                more = next < 0;
            }
            if (length > in.capacity() - 5) {
                throw connection.malformed("a packet of " + length + " bytes");
            }
            if (in.limit() - cursor < length) {
                return;
            }
            if (connection.out.remaining() < PUBACK_BYTES) {
                connection.stalled = true;
                return;
            }
            int head = in.get(at) & 0xff;
            switch (head >> 4) {
                case PUBACK -> inbox.acknowledged(connection);
                case PUBLISH -> onPublish(connection, head, cursor, length, inbox);
                case PINGRESP -> {}
                default -> throw connection.malformed("a packet of type " + (head >> 4));
            }
            in.position(cursor + length);
        }
    }

    private static void onPublish(BenchConnection connection, int head, int at, int length, Inbox inbox)
            throws WireException {
        ByteBuffer in = connection.in;
        boolean numbered = (head & 0x06) != 0;
        int topicBytes = length < 2 ? 0 : in.getShort(at) & 0xffff;
        int bodyAt = 2 + topicBytes + (numbered ? 2 : 0);
        if (bodyAt > length) {
            throw connection.malformed("a message of " + length + " bytes");
        }
        inbox.message(connection, at + bodyAt, length - bodyAt, (head & 0x08) != 0);
        if (numbered) {
            connection.out.putShort((short) 0x4002).putShort(in.getShort(at + 2 + topicBytes));
        }
    }
}
