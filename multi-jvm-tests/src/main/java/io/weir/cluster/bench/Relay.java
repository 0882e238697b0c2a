package io.weir.cluster.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;

/**
 * The machine's floor: forwards every frame of every publisher to every consumer and does nothing else, on one thread. A consumer that
 * does not keep up holds the publishers back; frames without a consumer are dropped. Listens on loopback only.
 */
final class Relay implements AutoCloseable {
    private static final int MAX_FRAME_BYTES = 4 + Load.MAX_BODY_BYTES;
    private static final int IN_BYTES = 64 * 1024 + MAX_FRAME_BYTES;
    private static final int OUT_BYTES = 4 * IN_BYTES;

    private final Selector selector = Selector.open();
    private final ServerSocketChannel server = ServerSocketChannel.open();
    private final List<End> consumers = new ArrayList<>();
    private final List<End> heldBack = new ArrayList<>();
    private volatile boolean closed;

    /** One connection; its first byte says whether it publishes or consumes. */
    private static final class End {
        final SocketChannel channel;
        final SelectionKey key;
        final ByteBuffer in = ByteBuffer.allocateDirect(IN_BYTES);
        byte role;
        ByteBuffer out;

        End(SocketChannel channel, Selector selector) throws IOException {
            this.channel = channel;
            this.key = channel.register(selector, SelectionKey.OP_READ, this);
        }
    }

    Relay(int port) throws IOException {
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
    }

    int port() throws IOException {
        return ((InetSocketAddress) server.getLocalAddress()).getPort();
    }

    /** Works until it is closed, and then ends its connections itself: a selector's keys belong to one thread. */
    void run() throws IOException {
        try {
            while (!closed) {
                selector.select(this::onReady);
                flush();
                letOn();
            }
        } finally {
            for (SelectionKey key : selector.keys()) {
                key.channel().close();
            }
            selector.close();
        }
    }

    private void onReady(SelectionKey key) {
        try {
            if (key.attachment() == null) {
                accept();
            } else if (key.isReadable()) {
                onBytes((End) key.attachment());
            }
        } catch (IOException | CancelledKeyException e) {
            drop((End) key.attachment());
        }
    }

    private void accept() throws IOException {
        SocketChannel channel = server.accept();
        if (channel != null) {
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            new End(channel, selector);
        }
    }

    private void onBytes(End end) throws IOException {
        if (end.channel.read(end.in) < 0) {
            throw new IOException("closed");
        }
        if (end.role == 0) {
            greet(end);
        }
        if (end.role == RelayWire.CONSUMER) {
            end.in.clear(); // a consumer has nothing to say
        } else if (!forward(end)) {
            end.key.interestOps(0);
            heldBack.add(end);
        }
    }

    private void greet(End end) throws IOException {
        end.in.flip();
        end.role = end.in.get();
        end.in.compact();
        if (end.role != RelayWire.PUBLISHER && end.role != RelayWire.CONSUMER) {
            throw new IOException("neither publisher nor consumer");
        }
        end.channel.write(ByteBuffer.wrap(new byte[] {RelayWire.WELCOME}));
        if (end.role == RelayWire.CONSUMER) {
            end.out = ByteBuffer.allocateDirect(OUT_BYTES);
            consumers.add(end);
        }
    }

    /** Copies the whole frames at hand to every consumer; false if one of them has no room. */
    private boolean forward(End publisher) throws IOException {
        ByteBuffer in = publisher.in;
        in.flip();
        int whole = 0;
        while (in.limit() - whole >= 4) {
            int length = in.getInt(whole);
            if (length < 0 || length > Load.MAX_BODY_BYTES) {
                throw new IOException("a frame of " + length + " bytes");
            }
            if (in.limit() - whole < 4 + length) {
                break;
            }
            whole += 4 + length;
        }
        boolean room = true;
        for (int i = 0; i < consumers.size(); i++) {
            room &= consumers.get(i).out.remaining() >= whole;
        }
        if (room) {
            int end = in.limit();
            for (int i = 0; i < consumers.size(); i++) {
                in.position(0).limit(whole);
                consumers.get(i).out.put(in);
            }
            in.limit(end).position(whole);
        }
        in.compact();
        return room;
    }

    private void flush() {
        for (int i = consumers.size() - 1; i >= 0; i--) {
            End consumer = consumers.get(i);
            if (consumer.out.position() == 0) {
                continue;
            }
            try {
                consumer.out.flip();
                consumer.channel.write(consumer.out);
                consumer.out.compact();
                int ops = SelectionKey.OP_READ | (consumer.out.position() > 0 ? SelectionKey.OP_WRITE : 0);
                if (consumer.key.interestOps() != ops) {
                    consumer.key.interestOps(ops);
                }
            } catch (IOException e) {
                drop(consumer);
            }
        }
    }

    /** Publishers that were held back go on where there is room again. */
    private void letOn() {
        for (int i = heldBack.size() - 1; i >= 0; i--) {
            End publisher = heldBack.get(i);
            try {
                if (forward(publisher)) {
                    heldBack.remove(i);
                    publisher.key.interestOps(SelectionKey.OP_READ);
                }
            } catch (IOException | CancelledKeyException e) {
                heldBack.remove(i);
                drop(publisher);
            }
        }
        flush();
    }

    private void drop(End end) {
        if (end == null) {
            return;
        }
        consumers.remove(end);
        try {
            end.channel.close();
        } catch (IOException e) {
            // It is gone either way.
        }
    }

    @Override
    public void close() {
        closed = true;
        selector.wakeup();
    }
}
