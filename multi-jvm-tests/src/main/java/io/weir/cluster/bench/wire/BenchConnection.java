package io.weir.cluster.bench.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A socket with its two buffers; both are bounded, and a full one holds its writer back. */
public final class BenchConnection implements AutoCloseable {
    final String peer;
    final WireProtocol wire;
    public final SocketChannel channel;
    public final ByteBuffer in;
    public final ByteBuffer out;
    public final boolean consumes;
    /** Messages that were not answered yet. */
    public int unacknowledged;
    /** Publishes so far. */
    public int published;
    /** Frames are waiting in {@link #in} for room in {@link #out}. */
    public boolean stalled;
    /** Among those that have something to write, or to read on. */
    public boolean dirty;
    /** What the broker refused last, for the case that it closes the connection next. */
    public String lastRefusal;

    BenchConnection(
            String peer, WireProtocol wire, SocketChannel channel, boolean consumes, int inBytes, int outBytes) {
        this.peer = peer;
        this.wire = wire;
        this.channel = channel;
        this.consumes = consumes;
        this.in = ByteBuffer.allocateDirect(inBytes);
        this.out = ByteBuffer.allocateDirect(outBytes);
    }

    /** Writes what the socket takes; whether nothing is left. */
    public boolean flush() throws IOException {
        if (out.position() == 0) {
            return true;
        }
        out.flip();
        try {
            channel.write(out);
        } catch (IOException e) {
            throw broken(e);
        }
        out.compact();
        return out.position() == 0;
    }

    /** Reads what is there; the bytes read. */
    public int fill() throws IOException {
        int read;
        try {
            read = in.hasRemaining() ? channel.read(in) : 0;
        } catch (IOException e) {
            throw broken(e);
        }
        if (read < 0) {
            throw broken(null);
        }
        return read;
    }

    private WireException broken(IOException e) {
        return new WireException(peer + " closed a connection"
                + (e == null ? "" : " (" + e.getMessage() + ")")
                + (lastRefusal == null ? "" : " after it said " + lastRefusal));
    }

    public void receive(WireProtocol.Inbox inbox) throws WireException {
        in.flip();
        stalled = false;
        wire.receive(this, inbox);
        in.compact();
        if (!in.hasRemaining() && !stalled) {
            throw malformed("a frame larger than " + in.capacity() + " bytes");
        }
    }

    WireException malformed(String what) {
        return new WireException(peer + " does not speak " + wire.name() + ": it sent " + what);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
