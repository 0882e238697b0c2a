package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The socket itself. */
public final class SocketWire implements Wire {
    private final SocketChannel channel;

    public SocketWire(SocketChannel channel) {
        this.channel = channel;
    }

    @Override
    public int read(ByteBuffer to) throws IOException {
        return channel.read(to);
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        return from.hasRemaining() ? channel.write(from) : 0;
    }

    @Override
    public boolean hasInput() {
        return false;
    }

    @Override
    public boolean hasOutput() {
        return false;
    }

    @Override
    public void finish() throws IOException {
        channel.shutdownOutput();
    }

    @Override
    public void close() {
        // The connection closes its socket.
    }
}
