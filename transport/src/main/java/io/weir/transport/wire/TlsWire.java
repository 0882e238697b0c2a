package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;

/**
 * The broker's end of TLS. The handshake goes on by itself whenever it is read or written; its arithmetic, which takes milliseconds, is
 * done by another thread, and until that is through nothing moves here.
 */
public final class TlsWire implements Wire {
    /** Records that a read decrypts though nothing comes of them. */
    private static final int FRUITLESS_RECORDS = 64;

    private static final String WITHOUT_RENEGOTIATION = "TLSv1.3";

    private final Wire below;
    private final SSLEngine engine;
    private final Buffers buffers;
    private final Consumer<Runnable> elsewhere;
    /** What came and is not decrypted yet: from {@link #start} to its position. Null while there is nothing, as the others. */
    private ByteBuffer in;

    private int start;
    /** Decrypted and not read yet: from its position to its limit. */
    private ByteBuffer plain;
    /** Encrypted and not sent yet: from its position to its limit. */
    private ByteBuffer out;

    private boolean established;
    private boolean busy;
    private boolean more;

    /**
     * @param early what came already; belongs to the handshake, so that nothing that was said in the open counts as said in private
     * @param elsewhere takes work that another thread is to do; when it is done, {@link #workDone} is called on this one
     */
    public TlsWire(Wire below, SSLEngine engine, Buffers buffers, byte[] early, Consumer<Runnable> elsewhere)
            throws IOException {
        this.below = below;
        this.engine = engine;
        this.buffers = buffers;
        this.elsewhere = elsewhere;
        if (early.length > 0) {
            in = buffers.takeForLayer(Math.max(packetBytes(), early.length)).put(early);
            more = true;
        }
    }

    private int packetBytes() {
        return engine.getSession().getPacketBufferSize();
    }

    public boolean established() {
        return established;
    }

    /** Nothing moves: another thread has the engine. */
    public boolean busy() {
        return busy;
    }

    /** Nothing can be read before what waits to be sent is gone: the engine has something to say first. */
    public boolean speaksFirst() {
        return out != null && engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP;
    }

    public void workDone() {
        busy = false;
        more = true;
    }

    public String version() {
        return engine.getSession().getProtocol();
    }

    public String cipherSuite() {
        return engine.getSession().getCipherSuite();
    }

    @Override
    public int read(ByteBuffer to) throws IOException {
        int before = to.position();
        boolean ended = false;
        boolean stuck = busy;
        int records = 0;
        while (!stuck && !ended && records < FRUITLESS_RECORDS) {
            if (plain != null) {
                stuck = !handOut(to);
                records = 0;
            } else {
                switch (engine.getHandshakeStatus()) {
                    case NEED_TASK -> {
                        refuseRenegotiation();
                        work();
                        stuck = true;
                    }
                    case NEED_WRAP -> stuck = !wrap(NOTHING);
                    default -> {
                        int got = unwrap();
                        ended = got < 0;
                        stuck = got == 0;
                        records++;
                    }
                }
            }
        }
        more = !to.hasRemaining() || !stuck && !ended || speaksFirst();
        letGo();
        int read = to.position() - before;
        return read == 0 && ended ? -1 : read;
    }

    /** A client that has shown who it is has no reason for it, and each costs as much as a handshake. 1.3 does not know it. */
    private void refuseRenegotiation() throws IOException {
        if (established && !version().equals(WITHOUT_RENEGOTIATION)) {
            throw new IOException("TLS renegotiation is not offered");
        }
    }

    private boolean handOut(ByteBuffer to) {
        int count = Math.min(plain.remaining(), to.remaining());
        to.put(plain.array(), plain.position(), count);
        plain.position(plain.position() + count);
        if (!plain.hasRemaining()) {
            buffers.giveFromLayer(plain);
            plain = null;
        }
        return count > 0;
    }

    private void letGo() {
        if (in != null && start == in.position()) {
            buffers.giveFromLayer(in);
            in = null;
            start = 0;
        }
    }

    private void work() {
        Runnable task = engine.getDelegatedTask();
        if (task != null) {
            busy = true;
            elsewhere.accept(task);
        }
    }

    /** One record: 1 if something came of it, 0 if bytes are missing, -1 at the end. */
    private int unwrap() throws IOException {
        if (in == null) {
            in = buffers.takeForLayer(packetBytes());
        }
        ByteBuffer decrypted = buffers.takeForLayer(engine.getSession().getApplicationBufferSize());
        int end = in.position();
        in.flip().position(start);
        SSLEngineResult result;
        try {
            result = engine.unwrap(in, decrypted);
        } catch (SSLException e) {
            // The engine has an alert for the client, which says what was wrong.
            wrap(NOTHING);
            throw e;
        } finally {
            start = in.position();
            in.clear().position(end);
            if (decrypted.position() > 0) {
                plain = decrypted.flip();
            } else {
                buffers.giveFromLayer(decrypted);
            }
        }
        noteHandshake(result);
        return switch (result.getStatus()) {
            // With an overflow the session has been agreed on in between, with larger records: the next one has room
            // for them.
            case OK, BUFFER_OVERFLOW -> 1;
            case CLOSED -> -1;
            case BUFFER_UNDERFLOW -> fill();
        };
    }

    private int fill() throws IOException {
        if (start > 0) {
            in.flip().position(start);
            in.compact();
            start = 0;
        }
        if (!in.hasRemaining()) {
            if (in.capacity() >= packetBytes()) {
                throw new IOException("TLS record of more than " + in.capacity() + " bytes");
            }
            ByteBuffer larger = buffers.takeForLayer(packetBytes()).put(in.flip());
            buffers.giveFromLayer(in);
            in = larger;
        }
        return below.read(in);
    }

    private void noteHandshake(SSLEngineResult result) {
        established |= result.getHandshakeStatus() == HandshakeStatus.FINISHED;
    }

    /** Encrypts one record, if the one before is gone. */
    private boolean wrap(ByteBuffer from) throws IOException {
        drain();
        if (out != null) {
            return false;
        }
        out = buffers.takeForLayer(packetBytes());
        SSLEngineResult result = engine.wrap(from, out);
        out.flip();
        noteHandshake(result);
        drain();
        return result.getStatus() == SSLEngineResult.Status.OK;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        int moved = drain();
        boolean goesOn = established && !busy;
        while (goesOn && from.hasRemaining()) {
            int before = from.remaining();
            goesOn = wrap(from);
            moved += before - from.remaining();
        }
        return moved;
    }

    private int drain() throws IOException {
        int moved = out != null || below.hasOutput() ? below.write(out != null ? out : NOTHING) : 0;
        if (out != null && !out.hasRemaining()) {
            buffers.giveFromLayer(out);
            out = null;
        }
        return moved;
    }

    @Override
    public boolean hasInput() {
        return !busy && !speaksFirst() && (more || plain != null || below.hasInput());
    }

    @Override
    public boolean hasOutput() {
        return out != null || below.hasOutput();
    }

    @Override
    public void finish() throws IOException {
        if (!busy) {
            engine.closeOutbound();
            wrap(NOTHING);
        }
        below.finish();
    }

    @Override
    public void close() {
        buffers.giveFromLayer(in, plain, out);
        below.close();
    }
}
