package io.weir.cluster.bench.wire;

import io.weir.config.Endpoint;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** A connection's beginning, when the two ends take turns and nothing is measured: it blocks, with a time limit. */
public final class Handshake implements AutoCloseable {
    private static final int WITHIN_MS = 5_000;
    private static final int MAX_LINE = 64 * 1024;

    private final String peer;
    private final SocketChannel channel;
    private final InputStream in;

    private Handshake(String peer, SocketChannel channel) throws IOException {
        this.peer = peer;
        this.channel = channel;
        this.in = channel.socket().getInputStream();
    }

    public static Handshake with(String name, Endpoint endpoint) throws IOException {
        String peer = name + " at " + endpoint;
        InetSocketAddress address = new InetSocketAddress(endpoint.host(), endpoint.port());
        if (address.isUnresolved()) {
            throw new WireException("there is no host " + endpoint.host());
        }
        SocketChannel channel = SocketChannel.open();
        try {
            channel.socket().connect(address, WITHIN_MS);
            channel.socket().setSoTimeout(WITHIN_MS);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            return new Handshake(peer, channel);
        } catch (IOException e) {
            channel.close();
            throw new WireException("nothing listens for " + peer + ": " + e.getMessage());
        }
    }

    void send(String text) throws IOException {
        send(text.getBytes(StandardCharsets.UTF_8));
    }

    void send(byte[] bytes) throws IOException {
        ByteBuffer rest = ByteBuffer.wrap(bytes);
        while (rest.hasRemaining()) {
            channel.write(rest);
        }
    }

    ByteBuffer read(int bytes) throws IOException {
        if (bytes < 0 || bytes > MAX_LINE) {
            throw unexpected("a frame of " + bytes + " bytes");
        }
        try {
            byte[] read = in.readNBytes(bytes);
            if (read.length < bytes) {
                throw new EOFException();
            }
            return ByteBuffer.wrap(read);
        } catch (SocketTimeoutException e) {
            throw new WireException(peer + " accepts connections but did not answer within " + WITHIN_MS + " ms");
        } catch (IOException e) {
            throw new WireException(peer + " closed the connection instead of answering");
        }
    }

    String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        while (true) {
            char next = (char) (read(1).get() & 0xff);
            if (next == '\n') {
                return line.toString().stripTrailing();
            }
            if (line.append(next).length() > MAX_LINE) {
                throw unexpected("a line without an end");
            }
        }
    }

    WireException unexpected(String what) {
        return new WireException(peer + " answered with " + what);
    }

    /** What the generator works on from here: the same socket, not blocking any more. */
    public BenchConnection connection(WireProtocol wire, boolean consumes, int inBytes, int outBytes)
            throws IOException {
        channel.configureBlocking(false);
        return new BenchConnection(peer, wire, channel, consumes, inBytes, outBytes);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
