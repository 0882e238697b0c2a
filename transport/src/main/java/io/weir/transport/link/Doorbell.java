package io.weir.transport.link;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a peer that has written says so, with one datagram, to a thread that sleeps in a selector instead of looking
 * into empty streams. A knock carries nothing, so a lost one costs time only, and a forged one a look into the streams.
 */
final class Doorbell implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Doorbell.class);
    private static final int MAX_KNOCKS_A_TURN = 64;

    private final DatagramChannel channel;
    private final ByteBuffer in = ByteBuffer.allocateDirect(1);
    private final ByteBuffer out = ByteBuffer.allocateDirect(1);

    private Doorbell(DatagramChannel channel) {
        this.channel = channel;
    }

    /** Takes any free port of {@code host}; the hello tells the peers which. */
    static Doorbell open(String host) {
        try {
            DatagramChannel channel = DatagramChannel.open();
            channel.bind(new InetSocketAddress(host, 0)).configureBlocking(false);
            return new Doorbell(channel);
        } catch (IOException e) {
            throw new UncheckedIOException("no port for the links' doorbell on " + host, e);
        }
    }

    DatagramChannel channel() {
        return channel;
    }

    int port() {
        return channel.socket().getLocalPort();
    }

    /** By the thread whose door it is: takes the knocks away, and says whether there were any. */
    boolean answer() {
        boolean knocked = false;
        try {
            for (int i = 0; i < MAX_KNOCKS_A_TURN && channel.receive(in.clear()) != null; i++) {
                knocked = true;
            }
        } catch (IOException e) {
            LOG.debug("doorbell failed: {}", e.toString());
        }
        return knocked;
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
            channel.close();
        } catch (IOException e) {
            LOG.debug("doorbell did not close in order: {}", e.toString());
        }
    }
}
