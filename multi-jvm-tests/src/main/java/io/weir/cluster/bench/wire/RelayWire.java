package io.weir.cluster.bench.wire;

import io.weir.cluster.bench.Relay;
import java.io.IOException;
import java.nio.ByteBuffer;

/** What {@link Relay} speaks: {@code int32 length | body}, after one byte that says which end this is. */
public final class RelayWire implements WireProtocol {
    public static final byte PUBLISHER = 'P';
    public static final byte CONSUMER = 'C';
    public static final byte WELCOME = '+';

    @Override
    public String name() {
        return "the relay's frames";
    }

    @Override
    public boolean acknowledges() {
        return false;
    }

    @Override
    public void openPublisher(Handshake handshake, Subject subject, int number) throws IOException {
        open(handshake, PUBLISHER);
    }

    @Override
    public void openConsumer(Handshake handshake, Subject subject) throws IOException {
        open(handshake, CONSUMER);
    }

    private static void open(Handshake handshake, byte role) throws IOException {
        handshake.send(new byte[] {role});
        byte answer = handshake.read(1).get();
        if (answer != WELCOME) {
            throw handshake.unexpected("byte " + answer);
        }
    }

    @Override
    public byte[] publish(Subject subject) {
        return ByteBuffer.allocate(4 + subject.bodyBytes())
                .putInt(subject.bodyBytes())
                .array();
    }

    @Override
    public int bodyAt(Subject subject) {
        return 4;
    }

    @Override
    public void receive(BenchConnection connection, Inbox inbox) throws WireException {
        ByteBuffer in = connection.in;
        while (in.remaining() >= 4) {
            int at = in.position();
            int length = in.getInt(at);
            if (length < 0 || length > in.capacity() - 4) {
                throw connection.malformed("a frame of " + length + " bytes");
            }
            if (in.remaining() < 4 + length) {
                return;
            }
            inbox.message(connection, at + 4, length, false);
            in.position(at + 4 + length);
        }
    }
}
