package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;

/**
 * TLS, a broker's end or a client's, as the engine is set. The handshake goes on by itself whenever it is read or
 * written. Its arithmetic takes milliseconds: a broker has it done by another thread, and until that is through nothing
 * moves here.
 */
public final class TlsWire extends LayerWire {
    /** Records that a read decrypts though nothing comes of them. */
    private static final int FRUITLESS_RECORDS = 64;

    private static final String WITHOUT_RENEGOTIATION = "TLSv1.3";

    private final SSLEngine engine;
    /** Null: the arithmetic is done by whoever reads. */
    private final Consumer<Runnable> elsewhere;

    private boolean established;
    private boolean busy;

    private TlsWire(Wire below, SSLEngine engine, Purse purse, Consumer<Runnable> elsewhere) {
        super(below, purse);
        this.engine = engine;
        this.elsewhere = elsewhere;
    }

    /**
     * The broker's end, which waits for the client to begin.
     *
     * @param early what came already; belongs to the handshake, so that nothing that was said in the open counts as
     *     said in private
     * @param elsewhere takes work that another thread is to do; when it is done, {@link #workDone} is called on this
     *     one
     */
    public static TlsWire accept(Wire below, SSLEngine engine, Purse purse, byte[] early, Consumer<Runnable> elsewhere)
            throws IOException {
        TlsWire wire = new TlsWire(below, engine, purse, elsewhere);
        wire.begin(early, wire.packetBytes());
        return wire;
    }

    /** The client's end, which begins the handshake and does its arithmetic itself. */
    public static TlsWire connect(Wire below, SSLEngine engine, Purse purse) throws IOException {
        TlsWire wire = new TlsWire(below, engine, purse, null);
        engine.beginHandshake();
        wire.wrap(NOTHING);
        return wire;
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
                        stuck = busy;
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
        int read = to.position() - before;
        // The end is told by the next read, which no socket announces, if bytes came before it.
        more = !to.hasRemaining() || !stuck && !ended || ended && read > 0 || speaksFirst();
        releaseIn();
        return read == 0 && ended ? -1 : read;
    }

    /** Who has shown who it is has no reason for it, and each costs as much as a handshake. 1.3 does not know it. */
    private void refuseRenegotiation() throws IOException {
        if (established && !version().equals(WITHOUT_RENEGOTIATION)) {
            throw new IOException("TLS renegotiation is not offered");
        }
    }

    private void work() {
        Runnable task = engine.getDelegatedTask();
        if (task == null) {
            return;
        }
        if (elsewhere == null) {
            task.run();
        } else {
            busy = true;
            elsewhere.accept(task);
        }
    }

    /** One record: 1 if something came of it, 0 if bytes are missing, -1 at the end. */
    private int unwrap() throws IOException {
        if (in == null) {
            in = purse.takeForLayer(packetBytes());
        }
        ByteBuffer decrypted = purse.takeForLayer(engine.getSession().getApplicationBufferSize());
        int end = in.position();
        in.flip().position(start);
        SSLEngineResult result;
        try {
            result = engine.unwrap(in, decrypted);
        } catch (SSLException e) {
            // The engine has an alert for the other side, which says what was wrong.
            wrap(NOTHING);
            throw e;
        } finally {
            start = in.position();
            in.clear().position(end);
            if (decrypted.position() > 0) {
                plain = decrypted.flip();
            } else {
                purse.giveFromLayer(decrypted);
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
        compactIn();
        if (!in.hasRemaining()) {
            if (in.capacity() >= packetBytes()) {
                throw new IOException("TLS record of more than " + in.capacity() + " bytes");
            }
            growIn(packetBytes());
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
        ByteBuffer record = purse.takeForLayer(packetBytes());
        SSLEngineResult result;
        try {
            result = encrypt(from, record);
        } finally {
            out = record.flip();
            drain();
        }
        noteHandshake(result);
        return result.getStatus() == SSLEngineResult.Status.OK;
    }

    /**
     * What was wrong with the client's words in the last task is thrown here first. The alert that tells the client
     * comes with the next record.
     */
    private SSLEngineResult encrypt(ByteBuffer from, ByteBuffer record) throws SSLException {
        try {
            return engine.wrap(from, record);
        } catch (SSLException e) {
            if (record.position() == 0 && !engine.isOutboundDone()) {
                engine.wrap(NOTHING, record);
            }
            throw e;
        }
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

    @Override
    public boolean hasInput() {
        return !busy && !speaksFirst() && (more || plain != null || below.hasInput());
    }

    @Override
    public void finish() throws IOException {
        if (!busy) {
            engine.closeOutbound();
            wrap(NOTHING);
        }
        below.finish();
    }
}
