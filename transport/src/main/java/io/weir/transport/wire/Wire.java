package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * How a connection's bytes go to and from its socket: as they are, or through layers that a client negotiated (TLS at
 * the bottom, compression above). Nothing waits: what can't be done now is done when the socket is ready again. Every
 * layer holds a bounded number of bytes, whatever the client sends, all of them counted by {@link Buffers}, and none
 * while nothing is in them.
 */
public interface Wire {
    ByteBuffer NOTHING = ByteBuffer.allocate(0);

    /**
     * A read gives up after so many bytes from below of which nothing came (padding, empty records): other connections
     * wait for their turn.
     */
    int FRUITLESS_BYTES = 64 * 1024;

    /** Reads as {@link java.nio.channels.SocketChannel#read}: so many bytes, 0 for none now, -1 for the end. */
    int read(ByteBuffer to) throws IOException;

    /**
     * Takes what it can of {@code from}; answers more than 0 if anything moved, bytes that were taken earlier included.
     */
    int write(ByteBuffer from) throws IOException;

    /** Whether a read may find bytes though the socket has none. */
    boolean hasInput();

    /** Whether it took bytes that the socket has not taken yet. */
    boolean hasOutput();

    /** Tells the other side that nothing more will be written. */
    void finish() throws IOException;

    /** Lets go of all that it holds. The socket is closed by its connection. */
    void close();
}
