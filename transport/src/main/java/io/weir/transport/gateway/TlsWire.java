package io.weir.transport.gateway;

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
final class TlsWire implements Wire {
    private final Wire below;
    private final SSLEngine engine;
    private final Consumer<Runnable> elsewhere;
    /** What came and is not decrypted yet: from 0 to its position. Null while it is empty and quiet, as the others. */
    private ByteBuffer in;
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
    TlsWire(Wire below, SSLEngine engine, byte[] early, Consumer<Runnable> elsewhere) {
        this.below = below;
        this.engine = engine;
        this.elsewhere = elsewhere;
        in = ByteBuffer.allocate(Math.max(packetBytes(), early.length)).put(early);
        more = early.length > 0;
    }

    private int packetBytes() {
        return engine.getSession().getPacketBufferSize();
    }

    boolean established() {
        return established;
    }

    /** Another thread has the engine. */
    boolean busy() {
        return busy;
    }

    void workDone() {
        busy = false;
        more = true;
    }

    String version() {
        return engine.getSession().getProtocol();
    }

    String cipherSuite() {
        return engine.getSession().getCipherSuite();
    }

    @Override
    public int read(ByteBuffer to) throws IOException {
        int before = to.position();
        boolean ended = false;
        boolean stuck = busy;
        while (!stuck && !ended) {
            if (plain != null && plain.hasRemaining()) {
                stuck = !handOut(to);
            } else {
                switch (engine.getHandshakeStatus()) {
                    case NEED_TASK -> {
                        work();
                        stuck = true;
                    }
                    case NEED_WRAP -> stuck = !wrap(NOTHING);
                    default -> {
                        int got = unwrap();
                        ended = got < 0;
                        stuck = got == 0;
                    }
                }
            }
        }
        more = !to.hasRemaining();
        int read = to.position() - before;
        return read == 0 && ended ? -1 : read;
    }

    private boolean handOut(ByteBuffer to) {
        int count = Math.min(plain.remaining(), to.remaining());
        to.put(plain.array(), plain.position(), count);
        plain.position(plain.position() + count);
        return count > 0;
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
            in = ByteBuffer.allocate(packetBytes());
        }
        if (plain == null) {
            plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize());
        }
        in.flip();
        plain.clear();
        SSLEngineResult result;
        try {
            result = engine.unwrap(in, plain);
        } catch (SSLException e) {
            // The engine has an alert for the client, which says what was wrong.
            wrap(NOTHING);
            throw e;
        }
        in.compact();
        plain.flip();
        noteHandshake(result);
        return switch (result.getStatus()) {
            case OK -> 1;
            case CLOSED -> -1;
            case BUFFER_UNDERFLOW -> fill();
            case BUFFER_OVERFLOW -> {
                // The session has been agreed on in between, with larger records.
                plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize())
                        .limit(0);
                yield 1;
            }
        };
    }

    private int fill() throws IOException {
        if (!in.hasRemaining()) {
            if (in.capacity() >= packetBytes()) {
                throw new IOException("TLS record of more than " + in.capacity() + " bytes");
            }
            in = ByteBuffer.allocate(packetBytes()).put(in.flip());
        }
        return below.read(in);
    }

    private void noteHandshake(SSLEngineResult result) {
        established |= result.getHandshakeStatus() == HandshakeStatus.FINISHED;
    }

    /** Encrypts one record, if the one before is gone. */
    private boolean wrap(ByteBuffer from) throws IOException {
        drain();
        if (hasOwnOutput()) {
            return false;
        }
        if (out == null || out.capacity() < packetBytes()) {
            out = ByteBuffer.allocate(packetBytes());
        }
        out.clear();
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
        return hasOwnOutput() || below.hasOutput() ? below.write(hasOwnOutput() ? out : NOTHING) : 0;
    }

    private boolean hasOwnOutput() {
        return out != null && out.hasRemaining();
    }

    @Override
    public boolean hasInput() {
        return !busy && (more || plain != null && plain.hasRemaining() || below.hasInput());
    }

    @Override
    public boolean hasOutput() {
        return hasOwnOutput() || below.hasOutput();
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
    public void rest() {
        if (established) {
            in = in != null && in.position() == 0 ? null : in;
            plain = plain != null && !plain.hasRemaining() ? null : plain;
            out = hasOwnOutput() ? out : null;
        }
        below.rest();
    }

    @Override
    public void close() {
        below.close();
    }
}
