package io.weir.transport.gateway;

import io.weir.transport.wire.Purse;
import io.weir.transport.wire.SocketWire;
import io.weir.transport.wire.Wire;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/**
 * A client's bytes: its wire, one buffer for what came and one for what is to be sent.
 *
 * <p>The out buffer is bounded, and its last bytes are kept for answers. A message that finds no room is not taken, and
 * the channel keeps it; when there is no room for answers, the connection reads no command.
 *
 * <p>Small buffers that hold nothing go back to the pool at once, so an idle client has none. Large ones stay until the
 * client is quiet for a while: a client that needed one is likely to need it again. A client for which the pool has no
 * buffer is closed.
 */
final class ClientStream {
    /** Buffers of busy connections grow to this, so that one system call carries hundreds of messages. */
    static final int BUSY_BYTES = 128 * 1024;

    private static final int FOR_ANSWERS = 1024;

    /** After so many looks in a row that found a connection idle, about ten seconds, it gives large buffers back. */
    private static final int QUIET_LOOKS = 40;

    private static final int SLOWEST_BYTES_A_SECOND = 8 * 1024;
    private static final byte[] NO_BYTES = new byte[0];

    private final Connection connection;
    private final GatewayLoop loop;
    private final Purse purse;
    private final int usualBytes;
    private final long stallNs;
    private Wire wire;

    /** What came and is not carried out yet lies from {@link #start} to its position; null while there is nothing. */
    private ByteBuffer in;

    private int start;
    /** The bytes that came before the buffer's first. */
    private long before;

    private final Arrivals arrivals = new Arrivals();
    /** When the first bytes of a command came that is not whole yet, and how many it has in all; 0: there is none. */
    private long begunNs;

    private int wantedBytes;

    /** What is to be sent lies before its position; null while there is nothing. */
    private ByteBuffer out;

    private long lastWriteNs;
    private boolean used;
    private int quietLooks;

    ClientStream(Connection connection, GatewayLoop loop, SocketChannel channel, long nowNs) {
        this.connection = connection;
        this.loop = loop;
        purse = loop.buffers().strangersPurse(() -> loop.displace(connection));
        usualBytes = loop.settings().bufferBytes();
        stallNs = loop.settings().stallNs();
        wire = new SocketWire(channel);
        lastWriteNs = nowNs;
    }

    Wire wire() {
        return wire;
    }

    /** What its layers take their buffers from, too. */
    Purse purse() {
        return purse;
    }

    /** Puts a layer that was made around {@link #wire} in its place. */
    void layer(Wire outer) {
        wire = outer;
    }

    /** Holds what came; null while there is nothing. */
    ByteBuffer in() {
        return in;
    }

    /** Where the first command that is not carried out begins. */
    int start() {
        return start;
    }

    void skip(int bytes) {
        start += bytes;
    }

    /** Reads what the wire has; answers as {@link Wire#read}. */
    int read(long nowNs) throws IOException {
        int count = ensureIn() ? wire.read(in) : -1;
        used |= count >= 0;
        if (count > 0) {
            arrivals.came(before + in.position(), nowNs);
        }
        return count;
    }

    /**
     * When the command that was taken last was whole, however late its turn is. What waits with the kernel or in a
     * layer counts from when it is read.
     */
    long arrivedNs() {
        return arrivals.timeNs(before + start);
    }

    /** Whether there is room for bytes that come while commands are held back. */
    boolean mayReadAhead() {
        return in == null || in.hasRemaining();
    }

    /** Whether a read may find bytes of which the socket knows nothing. */
    boolean hasUnread() {
        return wire.hasInput();
    }

    boolean isInFull() {
        return !in.hasRemaining();
    }

    /** Throws away what came. */
    void discardIn() {
        forget(in.position());
        in.clear();
    }

    /** The buffer's first bytes are carried out, or thrown away. */
    private void forget(int bytes) {
        before += bytes;
        start = 0;
        arrivals.carriedOut(before);
    }

    /** Takes out what came: it belongs to the layer that is put in place next. */
    byte[] takeIn() {
        if (in == null) {
            return NO_BYTES;
        }
        byte[] early = new byte[in.position() - start];
        in.get(start, early);
        discardIn();
        return early;
    }

    /**
     * Lets go of commands that are carried out, and makes room for the next. @param wanted the bytes that it has in
     * all, 0 if there is none
     */
    void endCommands(int wanted, long nowNs) {
        if (wantedBytes == 0 || start > 0) {
            begunNs = nowNs;
        }
        wantedBytes = in.position() > start ? wanted : 0;
        compactIn();
        if (wanted > in.capacity() && !in.hasRemaining()) {
            // It doubles, and only when it is full: a length that was only claimed costs nothing.
            in = moved(in, Math.min(wanted, in.capacity() * 2));
        }
    }

    /**
     * Whether a command takes longer to come than its bytes do on a very slow line: it holds memory that others could
     * use.
     */
    boolean dribbles(long nowNs) {
        return wantedBytes > 0
                && nowNs - begunNs > stallNs + wantedBytes * TimeUnit.SECONDS.toNanos(1) / SLOWEST_BYTES_A_SECOND;
    }

    private void compactIn() {
        if (start == 0) {
            return;
        }
        int carriedOut = start;
        if (start == in.position()) {
            in.clear();
        } else {
            in.limit(in.position()).position(start);
            in.compact();
        }
        forget(carriedOut);
    }

    /** After a read that filled the buffer: the next one carries twice as much. */
    void growIn() {
        if (ensureIn() && in.capacity() < BUSY_BYTES && purse.hasPlenty()) {
            in = moved(in, in.capacity() * 2);
        }
    }

    private boolean ensureIn() {
        if (in == null) {
            start = 0;
            in = taken();
        }
        return in != null;
    }

    /** Gives a small buffer back if nothing is in it. */
    void releaseIn() {
        if (in != null && in.position() == start && in.capacity() == usualBytes) {
            giveIn();
        }
    }

    private void giveIn() {
        forget(in.position());
        purse.give(in);
        in = null;
    }

    void putOk() {
        if (ensureOut()) {
            Frames.putOk(out);
            loop.flushLater(connection);
        }
    }

    void put(int type, byte[] payload) {
        if (ensureOut()) {
            Frames.put(out, type, payload);
            loop.flushLater(connection);
        }
    }

    /** False if there is no room for the message: nothing was put. */
    boolean putMessage(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
        if (!makeRoom(Frames.MESSAGE_OVERHEAD + bodyLength + FOR_ANSWERS)) {
            return false;
        }
        Frames.putMessage(out, timestampNs, attempts, id, body, bodyAt, bodyLength);
        loop.flushLater(connection);
        return true;
    }

    boolean makeRoomForAnswers(long nowNs) {
        if (hasRoomForAnswers()) {
            return true;
        }
        flush(nowNs);
        return hasRoomForAnswers();
    }

    boolean hasRoomForAnswers() {
        return hasRoom(FOR_ANSWERS);
    }

    boolean hasRoomForHeartbeat() {
        return hasRoom(FOR_ANSWERS / 2);
    }

    /** An empty buffer is a small one, and has this much room. */
    private boolean hasRoom(int bytes) {
        return out == null || out.remaining() >= bytes;
    }

    /** Whether less than half of the out buffer is in use. */
    boolean isMostlySent() {
        return out == null || out.remaining() > out.capacity() / 2;
    }

    private boolean makeRoom(int bytes) {
        if (!ensureOut()) {
            return false;
        }
        if (out.remaining() >= bytes) {
            return true;
        }
        flush(loop.nowNs());
        if (!ensureOut()) {
            return false;
        }
        if (out.remaining() >= bytes) {
            return true;
        }
        int pending = out.position();
        if (pending > 0 && (pending + bytes > BUSY_BYTES || !purse.hasPlenty())) {
            return false;
        }
        out = moved(out, Math.max(pending + bytes, Math.min(BUSY_BYTES, out.capacity() * 2)));
        return out.remaining() >= bytes;
    }

    private boolean ensureOut() {
        if (!hasUnsent()) {
            // A stall is counted from when something began to wait, however long there was nothing before.
            lastWriteNs = loop.nowNs();
        }
        if (out == null) {
            out = taken();
        }
        return out != null;
    }

    boolean hasUnsent() {
        return out != null && out.position() > 0 || wire.hasOutput();
    }

    /** Whether the client has taken no byte for too long. */
    boolean isStalled(long nowNs) {
        return hasUnsent() && nowNs - lastWriteNs > stallNs;
    }

    /** Sends what it can. */
    void flush(long nowNs) {
        if (hasUnsent()) {
            used = true;
            ByteBuffer from = out == null ? Wire.NOTHING : out.flip();
            try {
                if (wire.write(from) > 0) {
                    lastWriteNs = nowNs;
                }
            } catch (IOException e) {
                loop.closeLater(connection);
                from.position(from.limit());
            }
            if (out != null) {
                out.compact();
            }
        }
        if (!hasUnsent()) {
            lastWriteNs = nowNs;
            if (out != null && out.capacity() == usualBytes) {
                giveOut();
            }
            connection.allSent();
        }
    }

    private void giveOut() {
        purse.give(out);
        out = null;
    }

    /** Tells the client that nothing more will be sent. */
    void finish() throws IOException {
        wire.finish();
    }

    private ByteBuffer taken() {
        ByteBuffer buffer = purse.take();
        if (buffer == null) {
            loop.closeLater(connection);
        }
        return buffer;
    }

    /** Moves what lies before the position into a larger buffer, or fails the connection and answers the same one. */
    private ByteBuffer moved(ByteBuffer from, int capacity) {
        ByteBuffer to = purse.takeLarge(capacity);
        if (to == null) {
            connection.fail(
                    "E_INVALID " + capacity + " bytes are needed, and this broker has no memory left for its clients");
            return from;
        }
        to.put(from.flip());
        purse.give(from);
        return to;
    }

    /**
     * Looks whether the buffers were used since the last look; answers whether they now go back because they were not
     * for long.
     */
    boolean shrinkIfQuiet() {
        quietLooks = used ? 0 : quietLooks + 1;
        used = false;
        if (quietLooks != QUIET_LOOKS) {
            return false;
        }
        if (in != null && in.position() == start) {
            giveIn();
        }
        if (out != null && out.position() == 0) {
            giveOut();
        }
        return true;
    }

    /** Gives all memory back. The socket is closed by the connection. */
    void close() {
        wire.close();
        if (in != null) {
            giveIn();
        }
        if (out != null) {
            giveOut();
        }
    }
}
