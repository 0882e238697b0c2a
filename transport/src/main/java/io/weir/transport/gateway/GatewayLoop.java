package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import io.weir.transport.wire.Buffers;
import io.weir.transport.wire.SnappyBlocks;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import jdk.net.ExtendedSocketOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread of a broker's message path. A turn: wait for sockets or a deadline, read and carry out what came, do
 * the duties, send what came of it, consumers first. A message goes from its publisher's socket to its consumers'
 * within one turn, on one thread, and buffers are sent once a turn: at low load that adds nothing, at high load a
 * system call carries many messages.
 *
 * <p>Own selector loop rather than Netty because it allocates nothing per message.
 */
public final class GatewayLoop implements AutoCloseable {
    /** The version that clients are told. Some take one that begins with "0." for an nsqd too old to talk to. */
    public static final String VERSION = "weir-1";

    private static final Logger LOG = LoggerFactory.getLogger(GatewayLoop.class);
    private static final long HOUSEKEEPING_NS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long COMPLAINT_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long MILLI_NS = 1_000_000L;
    /** The selector counts milliseconds. For a deadline that is nearer, the loop polls sockets at this interval. */
    private static final long NAP_NS = 100_000L;

    private static final int BACKLOG = 1024;
    /** Those who are there already have their turn between two helpings. */
    private static final int ACCEPTED_A_TURN = 256;

    private final GatewaySettings settings;
    private final ClientTerms terms;
    private final BrokerDirectory brokers;
    private final BrokerId self;
    private final LongSupplier clock;
    private final Selector selector;
    private final ServerSocketChannel server;
    private final SelectionKey acceptKey;
    private final Consumer<SelectionKey> onReady = this::onReady;
    private final Buffers buffers;
    private final Callers callers;
    private final GatewayStats.Counters counters = new GatewayStats.Counters();
    private final List<Connection> connections = new ArrayList<>();
    private final List<Connection> closing = new ArrayList<>();
    private final List<Connection> dirtyConsumers = new ArrayList<>();
    private final List<Connection> dirtyOthers = new ArrayList<>();
    private final PublishRequest request = new PublishRequest();
    private List<Connection> resumed = new ArrayList<>();
    private List<Connection> resuming = new ArrayList<>();
    /** Connections whose handshakes another thread has worked on; each has one piece of work out at a time. */
    private final Queue<Connection> workDone = new ConcurrentLinkedQueue<>();

    private Handshakes handshakes;
    private SnappyBlocks snappy;
    private MessagePort port;
    private Duty[] duties;
    private Thread thread;
    private long nowNs;
    private boolean stamped;
    /** Begins at random, so that no two brokers, nor two lives of one, give out the same numbers. */
    private long lastPublisher = new SecureRandom().nextLong();

    private long houseKeptNs;
    private long complainedNs;
    private long toldOfAuthNs;
    /** When the last turn began, for other threads to see. */
    private final AtomicLong turnedNs = new AtomicLong();

    private volatile boolean running = true;

    /** For a broker on its own that serves everybody. */
    public GatewayLoop(InetSocketAddress address, GatewaySettings settings, LongSupplier clock) throws IOException {
        this(address, settings, ClientTerms.defaults(), BrokerDirectory.ALONE, clock);
    }

    /** Binds the socket; clients wait in the kernel's queue until {@link #start}. */
    public GatewayLoop(
            InetSocketAddress address,
            GatewaySettings settings,
            ClientTerms terms,
            BrokerDirectory brokers,
            LongSupplier clock)
            throws IOException {
        this.settings = settings;
        this.terms = terms;
        this.brokers = brokers;
        this.self = brokers.self().orElse(null);
        this.clock = clock;
        buffers = new Buffers(
                settings.bufferBytes(),
                settings.maxBufferBytes(),
                settings.maxStrangersBytes(),
                what -> complain(what, null));
        callers = new Callers(settings, this::displace);
        selector = Selector.open();
        server = ServerSocketChannel.open();
        try {
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            server.bind(address, BACKLOG);
            server.configureBlocking(false);
            acceptKey = server.register(selector, SelectionKey.OP_ACCEPT);
        } catch (IOException e) {
            server.close();
            selector.close();
            throw e;
        }
        nowNs = clock.getAsLong();
        houseKeptNs = nowNs;
        complainedNs = nowNs - COMPLAINT_NS;
        toldOfAuthNs = complainedNs;
        turnedNs.set(nowNs);
    }

    /** Starts the thread. The port's duty comes first in every turn, then the others in this order. */
    public void start(MessagePort messagePort, Duty... others) {
        port = messagePort;
        duties = new Duty[others.length + 1];
        duties[0] = messagePort;
        System.arraycopy(others, 0, duties, 1, others.length);
        watchChannels();
        thread = new Thread(this::run, "weir-gateway");
        thread.setDaemon(true);
        thread.start();
    }

    private void watchChannels() {
        try {
            for (Duty duty : duties) {
                if (duty.channel() != null) {
                    duty.channel().register(selector, SelectionKey.OP_READ, duty);
                }
            }
        } catch (ClosedChannelException e) {
            throw new IllegalStateException("a duty's channel is closed before the loop starts", e);
        }
    }

    /** Ends the thread's wait. Any thread may call it, after it has queued something for a duty. */
    public void wakeUp() {
        selector.wakeup();
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) server.socket().getLocalSocketAddress();
    }

    /**
     * From any thread: how long ago the last turn began. A loop that goes on begins one every ten seconds or sooner.
     */
    public long turnAgeNs() {
        return Math.max(0, clock.getAsLong() - turnedNs.get());
    }

    /** From any thread. */
    public GatewayStats stats() {
        return counters.stats();
    }

    /** For whoever measures what the thread uses. */
    public long threadId() {
        return thread.getId();
    }

    /** Closes every connection and ends the thread. */
    @Override
    public void close() {
        running = false;
        selector.wakeup();
        if (thread == null) {
            closeSockets();
            return;
        }
        try {
            thread.join(TimeUnit.SECONDS.toMillis(10));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        boolean more = false;
        while (running) {
            stamped = false;
            try {
                await(more ? 0 : deadlineNs() - clock.getAsLong());
                stamp();
                more = turn();
            } catch (IOException | RuntimeException | Error e) {
                // The clients of all topics depend on this thread: it goes on whatever happened.
                complain("a turn failed", e);
                more = false;
            }
        }
        closeSockets();
    }

    /** Reads the clock once a turn, when the sockets wake the thread: what they hold arrived at that time. */
    private void stamp() {
        if (!stamped) {
            stamped = true;
            nowNs = clock.getAsLong();
            turnedNs.lazySet(nowNs);
        }
    }

    long nextPublisherId() {
        lastPublisher++;
        return lastPublisher == Publisher.NOBODY ? ++lastPublisher : lastPublisher;
    }

    private long deadlineNs() {
        long deadlineNs = connections.isEmpty() && acceptKey.interestOps() != 0
                ? nowNs + TimeUnit.SECONDS.toNanos(10)
                : houseKeptNs + HOUSEKEEPING_NS;
        for (Duty duty : duties) {
            long dutyNs = duty.nextDeadlineNs();
            if (dutyNs != Duty.NO_DEADLINE && dutyNs - deadlineNs < 0) {
                deadlineNs = dutyNs;
            }
        }
        return deadlineNs;
    }

    private void await(long waitNs) throws IOException {
        if (waitNs >= MILLI_NS) {
            selector.select(onReady, waitNs / MILLI_NS);
        } else if (selector.selectNow(onReady) == 0 && waitNs > 0) {
            LockSupport.parkNanos(Math.min(waitNs, NAP_NS));
            selector.selectNow(onReady);
        }
    }

    /** Answers whether there is more to do at once. */
    private boolean turn() {
        for (Duty duty : duties) {
            try {
                duty.doWork(nowNs);
            } catch (RuntimeException | Error e) {
                complain("a duty failed", e);
            }
        }
        resumeConnections();
        if (handshakes != null) {
            takeWorkBack();
        }
        if (nowNs - houseKeptNs >= HOUSEKEEPING_NS) {
            keepHouse();
        }
        closeConnections();
        for (Duty duty : duties) {
            duty.endTurn();
        }
        flush(dirtyConsumers);
        flush(dirtyOthers);
        closeConnections();
        return !resumed.isEmpty();
    }

    private void onReady(SelectionKey key) {
        stamp();
        if (key == acceptKey) {
            accept();
            return;
        }
        if (key.attachment() instanceof Duty duty) {
            duty.channelReady();
            return;
        }
        Connection connection = (Connection) key.attachment();
        try {
            int ready = key.readyOps();
            if ((ready & SelectionKey.OP_WRITE) != 0) {
                connection.send(nowNs);
            }
            if ((ready & SelectionKey.OP_READ) != 0) {
                connection.read(nowNs);
            }
        } catch (RuntimeException | Error e) {
            complain("a connection failed and is closed", e);
            closeLater(connection);
        }
    }

    private void accept() {
        try {
            SocketChannel channel = server.accept();
            for (int accepted = 1; channel != null; accepted++) {
                welcome(channel);
                channel = accepted < ACCEPTED_A_TURN ? server.accept() : null;
            }
        } catch (IOException e) {
            // Most likely no file descriptor is left. To ask again at once would only spin: housekeeping asks again.
            complain("accepting a connection failed", e);
            acceptKey.interestOps(0);
        }
    }

    private void welcome(SocketChannel channel) throws IOException {
        try {
            InetSocketAddress from = (InetSocketAddress) channel.getRemoteAddress();
            long address = Callers.addressOf(from.getAddress());
            if (!callers.makeRoom(address)) {
                GatewayStats.Counters.count(counters.refused);
                complain("no place for a connection from " + from.getAddress().getHostAddress(), null);
                channel.close();
                return;
            }
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            keepAlive(channel);
            SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
            Connection connection = new Connection(this, channel, key, address, nowNs);
            connection.index = connections.size();
            connections.add(connection);
            callers.came(connection);
            key.attach(connection);
        } catch (IOException e) {
            // The client is gone already.
            channel.close();
        }
    }

    /**
     * A client without heartbeats may vanish. The kernel then notices, after about two minutes where that can be set.
     */
    private static void keepAlive(SocketChannel channel) throws IOException {
        channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        if (channel.supportedOptions().contains(ExtendedSocketOptions.TCP_KEEPIDLE)) {
            channel.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 60);
            channel.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, 15);
            channel.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, 4);
        }
    }

    private void resumeConnections() {
        List<Connection> batch = resumed;
        resumed = resuming;
        resuming = batch;
        for (int i = 0; i < batch.size(); i++) {
            Connection connection = batch.get(i);
            connection.resuming = false;
            try {
                connection.resume(nowNs);
            } catch (RuntimeException | Error e) {
                complain("a connection failed and is closed", e);
                closeLater(connection);
            }
        }
        batch.clear();
    }

    private void takeWorkBack() {
        Connection connection = workDone.poll();
        while (connection != null) {
            try {
                connection.workDone(nowNs);
            } catch (RuntimeException | Error e) {
                complain("a connection failed and is closed", e);
                closeLater(connection);
            }
            connection = workDone.poll();
        }
    }

    private void keepHouse() {
        houseKeptNs = nowNs;
        if (acceptKey.interestOps() == 0) {
            acceptKey.interestOps(SelectionKey.OP_ACCEPT);
        }
        for (int i = 0; i < connections.size(); i++) {
            Connection connection = connections.get(i);
            try {
                connection.keepHouse(nowNs);
            } catch (RuntimeException | Error e) {
                complain("a connection failed and is closed", e);
                closeLater(connection);
            }
        }
    }

    private void flush(List<Connection> dirty) {
        for (int i = 0; i < dirty.size(); i++) {
            Connection connection = dirty.get(i);
            connection.dirty = false;
            try {
                connection.send(nowNs);
            } catch (RuntimeException | Error e) {
                complain("a connection failed and is closed", e);
                closeLater(connection);
            }
        }
        dirty.clear();
    }

    private void closeConnections() {
        for (int i = 0; i < closing.size(); i++) {
            Connection connection = closing.get(i);
            if (connection.index >= 0) {
                Connection last = connections.remove(connections.size() - 1);
                if (last != connection) {
                    connections.set(connection.index, last);
                    last.index = connection.index;
                }
                connection.index = -1;
                callers.left(connection);
                try {
                    connection.close(nowNs);
                } catch (RuntimeException | Error e) {
                    complain("closing a connection failed", e);
                }
            }
        }
        closing.clear();
        counters.connections.lazySet(callers.connections());
        counters.strangers.lazySet(callers.strangers());
        counters.bufferBytes.lazySet(buffers.bytes());
    }

    private void closeSockets() {
        closing.addAll(connections);
        closeConnections();
        if (handshakes != null) {
            handshakes.close();
        }
        try {
            server.close();
            selector.close();
        } catch (IOException e) {
            LOG.warn("gateway: closing its socket failed: {}", e.toString());
        }
    }

    /** Logs at most one line a second, however often something goes wrong. */
    private void complain(String what, Throwable e) {
        if (nowNs - complainedNs >= COMPLAINT_NS) {
            complainedNs = nowNs;
            LOG.warn("gateway: {}", what, e);
        }
    }

    /** Logged because an operator wants to know why a client and a broker do not come together. */
    void handshakeFailed(String client, IOException e) {
        complain("TLS with " + client + " failed: " + e.getMessage(), null);
    }

    /** How many clients there are. On the loop's thread only, by one of its duties, as what follows. */
    public int connections() {
        return connections.size();
    }

    /** @param index below {@link #connections}; when one goes, the last takes its place */
    public ClientStats client(int index) {
        return connections.get(index).stats();
    }

    /** Somebody tries secrets. At most one line a second, of its own so that it hides no other complaint. */
    void authFailed(Connection connection) {
        GatewayStats.Counters.count(counters.failedAuths);
        if (nowNs - toldOfAuthNs >= COMPLAINT_NS) {
            toldOfAuthNs = nowNs;
            LOG.warn(
                    "gateway: AUTH failed: {} showed a secret that no token has ({} failed since the start)",
                    connection.remoteAddress(),
                    counters.failedAuths.get());
        }
    }

    void strangerIsLate() {
        GatewayStats.Counters.count(counters.late);
    }

    /** A stranger gives way to another. */
    void displace(Connection connection) {
        GatewayStats.Counters.count(counters.displaced);
        callers.left(connection);
        closeLater(connection);
    }

    Callers callers() {
        return callers;
    }

    /** Hands a handshake's arithmetic to another thread. */
    void workElsewhere(Connection connection, Runnable work) {
        if (handshakes == null) {
            handshakes = new Handshakes(Math.max(2, Runtime.getRuntime().availableProcessors()));
        }
        boolean taken = handshakes.submit(connection.address(), () -> {
            try {
                work.run();
            } finally {
                workDone.add(connection);
                wakeUp();
            }
        });
        if (!taken) {
            complain(
                    "more than " + Handshakes.MOST_WAITING + " TLS handshakes at a time: further ones are closed",
                    null);
            closeLater(connection);
        }
    }

    /** For connections that compress; made for the first. */
    SnappyBlocks snappy() {
        if (snappy == null) {
            snappy = new SnappyBlocks();
        }
        return snappy;
    }

    ClientTerms terms() {
        return terms;
    }

    BrokerDirectory brokers() {
        return brokers;
    }

    /** Null for a broker without a name. */
    BrokerId self() {
        return self;
    }

    GatewaySettings settings() {
        return settings;
    }

    MessagePort port() {
        return port;
    }

    /** The one request that all connections fill in turn. */
    PublishRequest request() {
        return request;
    }

    long nowNs() {
        return nowNs;
    }

    void closeLater(Connection connection) {
        closing.add(connection);
    }

    /** Has the connection go on in the next turn, with commands or bytes that it holds. */
    void resume(Connection connection) {
        if (!connection.resuming) {
            connection.resuming = true;
            resumed.add(connection);
        }
    }

    void flushLater(Connection connection) {
        if (!connection.dirty) {
            connection.dirty = true;
            (connection.consumes() ? dirtyConsumers : dirtyOthers).add(connection);
        }
    }

    Buffers buffers() {
        return buffers;
    }

    /** Of these, what strangers hold. */
    long strangersBytes() {
        return buffers.strangersBytes();
    }

    /** The bytes of all clients' buffers. On the loop's thread only, as {@link #connections}. */
    public long bufferBytes() {
        return buffers.bytes();
    }
}
