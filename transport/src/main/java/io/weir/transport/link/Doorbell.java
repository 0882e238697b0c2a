package io.weir.transport.link;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the link thread doze instead of looking into empty streams: a sender that has been quiet for a while knocks, with one datagram, after
 * it has written. A knock carries nothing, so a lost one costs a doze's length of time, and a forged one a look into the streams.
 */
final class Doorbell implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Doorbell.class);
    private static final int MAX_KNOCKS_A_TURN = 64;

    private final DatagramChannel channel;
    private final Selector selector;
    private final ByteBuffer in = ByteBuffer.allocateDirect(1);
    private final ByteBuffer out = ByteBuffer.allocateDirect(1);
    private volatile boolean dozing;

    private Doorbell(DatagramChannel channel, Selector selector) {
        this.channel = channel;
        this.selector = selector;
    }

    /** Takes any free port of {@code host}; the hello tells the peers which. */
    static Doorbell open(String host) {
        try {
            DatagramChannel channel = DatagramChannel.open();
            channel.bind(new InetSocketAddress(host, 0)).configureBlocking(false);
            Selector selector = Selector.open();
            channel.register(selector, SelectionKey.OP_READ);
            return new Doorbell(channel, selector);
        } catch (IOException e) {
            throw new UncheckedIOException("no port for the links' doorbell on " + host, e);
        }
    }

    int port() {
        return channel.socket().getLocalPort();
    }

    /** By the link thread; whether someone knocked or rang. */
    boolean doze(long atMostMs) {
        dozing = true;
        try {
            selector.select(atMostMs);
            boolean called = !selector.selectedKeys().isEmpty();
            selector.selectedKeys().clear();
            for (int i = 0; i < MAX_KNOCKS_A_TURN && channel.receive(in.clear()) != null; i++) {
                called = true;
            }
            return called;
        } catch (IOException e) {
            LOG.debug("doorbell failed: {}", e.toString());
            return true;
        } finally {
            dozing = false;
        }
    }

    /** By this JVM's threads. */
    void ring() {
        if (dozing) {
            selector.wakeup();
        }
    }

    /** By the broker's thread, after it has written to that peer. */
    void knock(InetSocketAddress peer) {
        try {
            channel.send(out.clear(), peer);
        } catch (IOException e) {
            LOG.debug("no knock at {}: {}", peer, e.toString());
        }
    }

    @Override
    public void close() {
        try {
            selector.close();
            channel.close();
        } catch (IOException e) {
            LOG.debug("doorbell did not close in order: {}", e.toString());
        }
    }
}
