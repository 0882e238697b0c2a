package io.weir.transport.link;

import io.weir.config.Endpoint;
import io.weir.config.value.BrokerId;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TCP connections between brokers on which nothing is said but who is there. When a process ends, however it ends, its
 * kernel closes them at once, and the peers need not wait for its silence. The port is the link's, which UDP has too.
 *
 * <pre>
 *   whoever listens says first:  | length of its id, 1 byte | id | incarnation, 8 bytes |
 *   down ── connected, and the peer says who it is ──► up ── the connection ends ──► the peer has ended
 * </pre>
 *
 * <p>A hint only: without a line, because the port can't be reached or all {@value #MOST} places are taken, a peer's
 * end is noticed by its silence. A line that ends though its peer lives costs the link a new beginning, and nothing
 * else.
 */
final class Lifelines implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Lifelines.class);
    private static final long RETRY_MS = 1_000;
    /** Connections that others made. Further ones are closed; none that is there gives way, for its peer would err. */
    private static final int MOST = 512;

    private static final int BACKLOG = 64;

    /** One to a peer. */
    private static final class Line {
        private final PeerAddress peer;
        private final ByteBuffer said;
        private final byte[] expected;
        private SocketChannel channel;
        private boolean up;

        private Line(PeerAddress peer) {
            this.peer = peer;
            expected = greeting(peer);
            // One byte more than expected, so that a read always has room and sees the end.
            said = ByteBuffer.allocate(expected.length + 1);
        }
    }

    private final Supplier<PeerAddress> self;
    private final Consumer<PeerAddress> ended;
    private final Selector selector;
    private final Thread thread;
    private final Map<BrokerId, Line> lines = new HashMap<>();
    private final Set<SocketChannel> guests = new HashSet<>();
    private final Set<BrokerId> up = ConcurrentHashMap.newKeySet();
    private ServerSocketChannel server;
    private volatile List<PeerAddress> wanted = List.of();
    private volatile boolean running = true;

    /**
     * @param self who this process is by now: the store gives it its incarnation
     * @param ended called by this object's thread with a peer whose process has ended
     */
    Lifelines(Supplier<PeerAddress> self, Consumer<PeerAddress> ended) throws IOException {
        this.self = self;
        this.ended = ended;
        selector = Selector.open();
        thread = new Thread(this::run, "lifelines-" + self.get().id());
        thread.setDaemon(true);
    }

    void start() {
        listen();
        thread.start();
    }

    private void listen() {
        try {
            server = ServerSocketChannel.open();
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            server.configureBlocking(false);
            Endpoint here = self.get().endpoint();
            server.bind(new InetSocketAddress(here.host(), here.port()), BACKLOG);
            server.register(selector, SelectionKey.OP_ACCEPT);
        } catch (IOException e) {
            LOG.warn(
                    "TCP port {} can't be had ({}): should this process be killed, the other brokers notice by its silence only",
                    self.get().endpoint(),
                    e.getMessage());
            close(server);
            server = null;
        }
    }

    /** From any thread: the peers to have lines to, from now on. */
    void follow(Collection<PeerAddress> peers) {
        wanted = List.copyOf(peers);
        selector.wakeup();
    }

    /** From any thread: whether this peer's end would be noticed. */
    boolean isUpTo(BrokerId peer) {
        return up.contains(peer);
    }

    private static byte[] greeting(PeerAddress who) {
        byte[] id = who.id().value().getBytes(StandardCharsets.US_ASCII);
        return ByteBuffer.allocate(1 + id.length + Long.BYTES)
                .put((byte) id.length)
                .put(id)
                .putLong(who.incarnation())
                .array();
    }

    private void run() {
        try {
            long retryAtNs = System.nanoTime();
            while (running) {
                followWanted();
                long leftMs = TimeUnit.NANOSECONDS.toMillis(retryAtNs - System.nanoTime());
                if (leftMs <= 0) {
                    retryAtNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(RETRY_MS);
                    lines.values().stream().filter(line -> line.channel == null).forEach(this::connect);
                    leftMs = RETRY_MS;
                }
                boolean settled = lines.values().stream().allMatch(line -> line.up);
                selector.select(this::onReady, settled ? 0 : leftMs);
            }
        } catch (IOException e) {
            LOG.warn("lifelines of {} failed: {}", self.get().id(), e.toString());
        } finally {
            lines.values().forEach(line -> close(line.channel));
            guests.forEach(Lifelines::close);
            close(server);
            close(selector);
        }
    }

    private void followWanted() {
        Map<BrokerId, PeerAddress> now = new HashMap<>();
        wanted.forEach(peer -> now.put(peer.id(), peer));
        lines.values().removeIf(line -> {
            boolean leaves = !line.peer.equals(now.get(line.peer.id()));
            if (leaves) {
                close(line.channel);
                up.remove(line.peer.id());
            }
            return leaves;
        });
        now.values().forEach(peer -> lines.computeIfAbsent(peer.id(), none -> new Line(peer)));
    }

    private void connect(Line line) {
        try {
            line.channel = SocketChannel.open();
            line.channel.configureBlocking(false);
            line.said.clear();
            boolean there = line.channel.connect(new InetSocketAddress(
                    line.peer.endpoint().host(), line.peer.endpoint().port()));
            line.channel.register(selector, there ? SelectionKey.OP_READ : SelectionKey.OP_CONNECT, line);
        } catch (IOException | RuntimeException e) {
            // An address that can't be resolved is a runtime exception.
            down(line);
        }
    }

    private void onReady(SelectionKey key) {
        if (key.channel() == server) {
            accept();
        } else if (key.attachment() instanceof Line line) {
            if (line.channel == key.channel()) {
                onLine(line, key);
            }
        } else {
            onGuest((SocketChannel) key.channel());
        }
    }

    private void accept() {
        try {
            SocketChannel guest = server.accept();
            while (guest != null) {
                guest.configureBlocking(false);
                if (guests.size() < MOST && guest.write(ByteBuffer.wrap(greeting(self.get()))) > 0) {
                    guest.register(selector, SelectionKey.OP_READ);
                    guests.add(guest);
                } else {
                    guest.close();
                }
                guest = server.accept();
            }
        } catch (IOException e) {
            LOG.debug("a lifeline could not be taken: {}", e.toString());
        }
    }

    /** It has ended, or speaks, which no peer does. */
    private void onGuest(SocketChannel guest) {
        guests.remove(guest);
        close(guest);
    }

    private void onLine(Line line, SelectionKey key) {
        try {
            if (key.isConnectable() && line.channel.finishConnect()) {
                key.interestOps(SelectionKey.OP_READ);
            } else if (key.isReadable()) {
                hear(line);
            }
        } catch (IOException e) {
            down(line);
        }
    }

    private void hear(Line line) throws IOException {
        boolean open = line.channel.read(line.said) >= 0;
        int there = line.said.position();
        boolean fits = there <= line.expected.length
                && ByteBuffer.wrap(line.expected, 0, there).equals(ByteBuffer.wrap(line.said.array(), 0, there));
        if (!open || !fits) {
            down(line);
        } else if (there == line.expected.length && !line.up) {
            line.up = true;
            up.add(line.peer.id());
            LOG.debug("lifeline to {} is up", line.peer.id());
        }
    }

    private void down(Line line) {
        close(line.channel);
        line.channel = null;
        if (line.up) {
            line.up = false;
            up.remove(line.peer.id());
            ended.accept(line.peer);
        }
    }

    private static void close(AutoCloseable closed) {
        try {
            if (closed != null) {
                closed.close();
            }
        } catch (Exception e) {
            LOG.debug("closing failed: {}", e.toString());
        }
    }

    @Override
    public void close() {
        running = false;
        selector.wakeup();
        try {
            thread.join(TimeUnit.SECONDS.toMillis(2));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
