package io.weir.topics.path;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One publisher that writes 32 publications at a time, and one consumer that acknowledges everything; until all are
 * through.
 */
public final class PipelinedLoad implements AutoCloseable {
    private static final int AT_ONCE = 32;
    /** What the publisher has sent and was not answered yet, at most. */
    private static final int WINDOW = 2048;

    private static final int OK_FRAME = 10;
    private static final int HEAD = 34;
    private static final int READY = 2500;

    private final SocketChannel publisher;
    private final SocketChannel consumer;
    private final ByteBuffer publications;
    private final int frameBytes;

    public PipelinedLoad(InetSocketAddress address, String topic, int bodyBytes) throws IOException {
        this(address, address, topic, bodyBytes);
    }

    /** Published at one broker, consumed at another. */
    public PipelinedLoad(InetSocketAddress from, InetSocketAddress to, String topic, int bodyBytes) throws IOException {
        // Frames of one size each: no heartbeat may come in between, and consumers cannot do without.
        publisher = connect(from, -1);
        consumer = connect(to, 60_000);
        byte[] line = ("PUB " + topic + "\n").getBytes(StandardCharsets.US_ASCII);
        publications = ByteBuffer.allocateDirect(AT_ONCE * (line.length + 4 + bodyBytes));
        for (int i = 0; i < AT_ONCE; i++) {
            publications.put(line).putInt(bodyBytes).put(new byte[bodyBytes]);
        }
        frameBytes = HEAD + bodyBytes;
        consumer.write(ascii("SUB " + topic + " work\nRDY " + READY + "\n"));
        read(consumer, ByteBuffer.allocate(OK_FRAME));
    }

    /** Sends so many (a multiple of 32) and returns when the last is acknowledged on both sides. */
    public void run(int messages) throws IOException, InterruptedException {
        AtomicReference<IOException> failure = new AtomicReference<>();
        Thread consuming = new Thread(
                () -> {
                    try {
                        consume(messages);
                    } catch (IOException e) {
                        failure.set(e);
                    }
                },
                "load-consumer");
        consuming.start();
        publish(messages);
        consuming.join();
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    private void publish(int messages) throws IOException {
        ByteBuffer answers = ByteBuffer.allocateDirect(AT_ONCE * OK_FRAME);
        int answered = 0;
        for (int sent = 0; sent < messages; sent += AT_ONCE) {
            publications.clear();
            while (publications.hasRemaining()) {
                publisher.write(publications);
            }
            while (sent + AT_ONCE - answered > WINDOW - AT_ONCE) {
                read(publisher, answers);
                answered += AT_ONCE;
            }
        }
        for (; answered < messages; answered += AT_ONCE) {
            read(publisher, answers);
        }
        if (answers.getInt(4) != 0) {
            throw new IOException("a publication was not accepted");
        }
    }

    private void consume(int messages) throws IOException {
        ByteBuffer in = ByteBuffer.allocateDirect(1 << 17);
        ByteBuffer out = ByteBuffer.allocateDirect(1 << 16);
        int done = 0;
        while (done < messages) {
            if (consumer.read(in) < 0) {
                throw new IOException("the broker closed the connection");
            }
            in.flip();
            while (in.remaining() >= frameBytes) {
                if (out.remaining() < 21) {
                    send(out);
                }
                int at = in.position();
                out.put((byte) 'F').put((byte) 'I').put((byte) 'N').put((byte) ' ');
                out.put(out.position(), in, at + 18, 16)
                        .position(out.position() + 16)
                        .put((byte) '\n');
                in.position(at + frameBytes);
                done++;
            }
            in.compact();
            send(out);
        }
    }

    private void send(ByteBuffer out) throws IOException {
        out.flip();
        while (out.hasRemaining()) {
            consumer.write(out);
        }
        out.clear();
    }

    private static void read(SocketChannel from, ByteBuffer into) throws IOException {
        into.clear();
        while (into.hasRemaining()) {
            if (from.read(into) < 0) {
                throw new IOException("the broker closed the connection");
            }
        }
    }

    private static SocketChannel connect(InetSocketAddress address, int heartbeatMs) throws IOException {
        SocketChannel channel = SocketChannel.open(address);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        String identity = "{\"heartbeat_interval\":" + heartbeatMs + "}";
        channel.write(ascii("  V2IDENTIFY\n\0\0\0" + (char) identity.length() + identity));
        read(channel, ByteBuffer.allocate(OK_FRAME));
        return channel;
    }

    private static ByteBuffer ascii(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
    }

    @Override
    public void close() throws IOException {
        publisher.close();
        consumer.close();
    }
}
