package io.weir.transport.link;

import io.weir.config.Endpoint;
import io.weir.config.value.BrokerId;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** A broker's end of its links under test: numbers what it sends to each peer, and writes down what it hears. */
final class End implements LinkEvents, AutoCloseable {
    /** Small terms, so that back-pressure is near. */
    static final LinkSettings SMALL = new LinkSettings(
            16 * 1024 - LinkFrames.DATA_HEADER_BYTES,
            4,
            Duration.ofMillis(100),
            Duration.ofSeconds(3),
            Duration.ofMillis(50));

    /** The same, sealed between media drivers. */
    static final LinkSettings SEALED = new LinkSettings(
            SMALL.maxBodyBytes(), SMALL.maxPeers(), SMALL.helloInterval(), SMALL.silence(), SMALL.retry(), true);

    /** A number that this end pretends not to be able to read. */
    static final long UNREADABLE = Long.MIN_VALUE;

    final PeerAddress address;
    final Links links;
    final AtomicLong wakeUps = new AtomicLong();
    final List<String> news = new ArrayList<>();
    final List<Long> heard = new ArrayList<>();
    final List<Integer> lengths = new ArrayList<>();
    long lastArrivalNs;
    private final UnsafeBuffer body;

    private End(PeerAddress address, LinkSettings settings) {
        this.address = address;
        this.body = new UnsafeBuffer(new byte[settings.maxBodyBytes()]);
        this.links = Links.start(address, settings, wakeUps::incrementAndGet);
    }

    static End start(String id, long incarnation, Path aeronDirectory, LinkSettings settings) {
        return new End(address(id, incarnation, aeronDirectory, freeUdpPort()), settings);
    }

    static PeerAddress address(String id, long incarnation, Path aeronDirectory, int port) {
        return new PeerAddress(
                new BrokerId(id), incarnation, "host", aeronDirectory.toString(), new Endpoint("127.0.0.1", port));
    }

    static void join(End one, End other) {
        one.links.agree(other.address.id(), other.address.incarnation(), other.links.publicKey());
        other.links.agree(one.address.id(), one.address.incarnation(), one.links.publicKey());
        one.links.connect(other.address);
        other.links.connect(one.address);
    }

    static int freeUdpPort() {
        try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getByName("127.0.0.1"))) {
            return socket.getLocalPort();
        } catch (SocketException | UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    boolean isUpTo(End other) {
        return news.contains("+" + other.peer()) && stats(other).connected();
    }

    /** Whether its only link is up. */
    boolean isLinked() {
        return links.stats().stream().allMatch(LinkStats::connected)
                && !links.stats().isEmpty();
    }

    Peer peer() {
        return new Peer(address.id(), address.incarnation());
    }

    LinkStats stats(End other) {
        return links.stats().stream()
                .filter(stats -> stats.peer().equals(other.address.id()))
                .findFirst()
                .orElseThrow();
    }

    /** Sends the number; its bytes after the number are derived from it. */
    boolean send(End to, long number, int length) {
        body.setMemory(0, length, (byte) number);
        body.putLong(0, number);
        long nowNs = System.nanoTime();
        boolean taken = links.offer(to.address.id(), body, 0, length, nowNs, nowNs);
        links.knock();
        return taken;
    }

    int poll() {
        return links.poll(this, 100, System.nanoTime());
    }

    @Override
    public void onPeerConnected(Peer peer) {
        news.add("+" + peer);
    }

    @Override
    public void onPeerLost(Peer peer) {
        news.add("-" + peer);
    }

    @Override
    public boolean onFrame(Peer peer, DirectBuffer buffer, int offset, int length, long arrivalNs) {
        long number = buffer.getLong(offset);
        if (number == UNREADABLE) {
            return false;
        }
        for (int i = Long.BYTES; i < length; i++) {
            if (buffer.getByte(offset + i) != (byte) number) {
                throw new AssertionError("message " + number + " of " + peer + " has a wrong byte at " + i);
            }
        }
        heard.add(number);
        lengths.add(length);
        lastArrivalNs = arrivalNs;
        return true;
    }

    @Override
    public void close() {
        links.close();
    }
}
