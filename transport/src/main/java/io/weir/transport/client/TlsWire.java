package io.weir.transport.client;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;

/** TLS on a channel that does not block. For one thread. */
final class TlsWire {
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final SocketChannel channel;
    private final SSLEngine engine;
    private final ByteBuffer netIn;
    private final ByteBuffer netOut;
    private boolean leftOver;

    TlsWire(SocketChannel channel, SSLContext context, String host, int port) throws IOException {
        this.channel = channel;
        engine = context.createSSLEngine(host, port);
        engine.setUseClientMode(true);
        SSLParameters parameters = engine.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        engine.setSSLParameters(parameters);
        int packet = engine.getSession().getPacketBufferSize();
        netIn = ByteBuffer.allocate(2 * packet);
        netOut = ByteBuffer.allocate(2 * packet);
        engine.beginHandshake();
        handshake();
    }

    boolean established() {
        return engine.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING;
    }

    /** Room that {@link #read} needs to decrypt a record. */
    int roomToRead() {
        return engine.getSession().getApplicationBufferSize();
    }

    /** Whether {@link #read} has more to say, for which it had no room: the socket will not announce it again. */
    boolean leftOver() {
        return leftOver;
    }

    /** Whether encrypted bytes wait for the socket. */
    boolean unsent() {
        return netOut.position() > 0;
    }

    /** Bytes for the application, or -1 at the end. */
    int read(ByteBuffer to) throws IOException {
        int before = to.position();
        int came = channel.read(netIn);
        leftOver = false;
        netIn.flip();
        boolean more = true;
        while (more && netIn.hasRemaining()) {
            SSLEngineResult result = engine.unwrap(netIn, to);
            switch (result.getStatus()) {
                case OK -> {
                    handshake();
                    more = result.bytesConsumed() > 0 || result.bytesProduced() > 0;
                }
                case BUFFER_OVERFLOW -> {
                    leftOver = true;
                    more = false;
                }
                case BUFFER_UNDERFLOW -> more = false;
                case CLOSED -> more = false;
                default -> throw new SSLException("unexpected " + result);
            }
        }
        netIn.compact();
        int count = to.position() - before;
        boolean ended = came < 0 || engine.isInboundDone();
        if (ended && count > 0) {
            // What came before the end counts; the end is told by the next call, which no socket announces.
            leftOver = true;
        }
        return ended && count == 0 ? -1 : count;
    }

    /** Takes as much as it can without blocking. */
    void write(ByteBuffer from) throws IOException {
        while (flush() && from.hasRemaining() && established()) {
            if (engine.wrap(from, netOut).getStatus() == SSLEngineResult.Status.CLOSED) {
                throw new SSLException("the broker has ended TLS");
            }
        }
    }

    /** Whether all is sent. */
    private boolean flush() throws IOException {
        if (netOut.position() > 0) {
            netOut.flip();
            channel.write(netOut);
            netOut.compact();
        }
        return netOut.position() == 0;
    }

    /** Goes on until it needs bytes of the other side. */
    private void handshake() throws IOException {
        while (true) {
            switch (engine.getHandshakeStatus()) {
                case NEED_TASK -> {
                    Runnable task = engine.getDelegatedTask();
                    if (task != null) {
                        task.run();
                    }
                }
                case NEED_WRAP -> {
                    if (engine.wrap(NOTHING, netOut).getStatus() == SSLEngineResult.Status.CLOSED) {
                        flush();
                        return;
                    }
                    flush();
                }
                default -> {
                    return;
                }
            }
        }
    }

    /** Tells the other side, as far as the socket takes it. */
    void close() {
        engine.closeOutbound();
        try {
            handshake();
        } catch (IOException e) {
            // The connection is closed next, which says the same.
            netOut.clear();
        }
    }
}
