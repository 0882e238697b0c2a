package io.weir.cluster.bench;

import io.weir.cluster.bench.wire.RelayWire;
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
 * The machine's floor: forwards every frame to the consumer whose turn it is and does nothing else, on one thread. When
 * no consumer has room, the publishers are held back; frames without a consumer are dropped. Listens on loopback only.
 *
 * <p>One buffer serves all reads; a publisher keeps only what could not go on yet, so that thousands of them fit into a
 * broker's memory.
 */
public final class Relay implements AutoCloseable {
    private static final int MAX_FRAME_BYTES = 4 + Load.MAX_BODY_BYTES;
    private static final int IN_BYTES = 64 * 1024 + MAX_FRAME_BYTES;
    private static final int OUT_BYTES = 4 * IN_BYTES;

    /** A larger buffer of a publisher's rest is given back when it is empty. */
    private static final int KEPT_BYTES = 64 * 1024;

    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final Selector selector = Selector.open();
    private final ServerSocketChannel server = ServerSocketChannel.open();
    private final List<End> consumers = new ArrayList<>();
    private final List<End> heldBack = new ArrayList<>();
    private final ByteBuffer in = ByteBuffer.allocateDirect(IN_BYTES);
    private int turn;
    private volatile boolean closed;

    /** One connection; its first byte says whether it publishes or consumes. */
    private static final class End {
        final SocketChannel channel;
        final SelectionKey key;
        byte role;
        /**
         * What was read and has not gone on: a part of a frame, or what it is held back with. Empty most of the time.
         */
        ByteBuffer rest = NOTHING;

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
        in.clear();
        in.put(end.rest);
        if (end.channel.read(in) < 0) {
            throw new IOException("closed");
        }
        in.flip();
        if (end.role == 0) {
            greet(end);
        }
        // A consumer has nothing to say.
        if (end.role == RelayWire.PUBLISHER && !forward(end)) {
            end.key.interestOps(0);
            heldBack.add(end);
        }
    }

    private void greet(End end) throws IOException {
        end.role = in.get();
        if (end.role != RelayWire.PUBLISHER && end.role != RelayWire.CONSUMER) {
            throw new IOException("neither publisher nor consumer");
        }
        end.channel.write(ByteBuffer.wrap(new byte[] {RelayWire.WELCOME}));
        if (end.role == RelayWire.CONSUMER) {
            end.out = ByteBuffer.allocateDirect(OUT_BYTES);
            consumers.add(end);
        }
    }

    /**
     * Hands the whole frames at hand to the next consumer with room, and keeps the rest; false if there are some and
     * none has room.
     */
    private boolean forward(End publisher) throws IOException {
        int whole = in.position();
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
        int end = in.limit();
        in.limit(whole);
        boolean gone = !in.hasRemaining() || handOn();
        in.limit(end);
        keepRest(publisher);
        return gone;
    }

    private boolean handOn() {
        if (consumers.isEmpty()) {
            in.position(in.limit());
            return true;
        }
        for (int i = 0; i < consumers.size(); i++) {
            turn = (turn + 1) % consumers.size();
            ByteBuffer out = consumers.get(turn).out;
            if (out.remaining() >= in.remaining()) {
                out.put(in);
                return true;
            }
        }
        return false;
    }

    private void keepRest(End publisher) {
        if (!in.hasRemaining()) {
            publisher.rest = publisher.rest.capacity() > KEPT_BYTES ? NOTHING : publisher.rest.limit(0);
            return;
        }
        if (publisher.rest.capacity() < in.remaining()) {
            publisher.rest = ByteBuffer.allocate(in.remaining());
        }
        publisher.rest.clear();
        publisher.rest.put(in).flip();
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

    /**
     * Publishers that were held back go on where there is room again; a consumer that has taken everything will not
     * tell of it later.
     */
    private void letOn() {
        do {
            letOnThoseWithRoom();
            flush();
        } while (!heldBack.isEmpty() && consumers.stream().anyMatch(consumer -> consumer.out.position() == 0));
    }

    private void letOnThoseWithRoom() {
        for (int i = heldBack.size() - 1; i >= 0; i--) {
            End publisher = heldBack.get(i);
            try {
                in.clear();
                in.put(publisher.rest).flip();
                if (forward(publisher)) {
                    heldBack.remove(i);
                    publisher.key.interestOps(SelectionKey.OP_READ);
                }
            } catch (IOException | CancelledKeyException e) {
                heldBack.remove(i);
                drop(publisher);
            }
        }
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
