package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * One client. Commands are carried out in order, and answers come in order.
 *
 * <p>A publication that waits for its token leaves its answer open. Until it comes, commands that have no answer (FIN, RDY,
 * REQ, TOUCH, NOP) are still carried out, so that a client that publishes and consumes on one connection keeps
 * acknowledging; at the first command that wants an answer the connection is not read any further. So a throttled topic
 * holds back the others that are published on the same connection. Only publications that are on their way to a home at another broker
 * may be followed by further ones, up to {@link OpenPublications#MOST}.
 *
 * <p>What is to be sent waits in one bounded buffer, of which the last bytes are kept for answers. A message that finds no
 * room is not taken, and the channel keeps it; when there is no room for answers, no command is read. A client that takes
 * nothing for too long is closed.
 *
 * <p>Nothing here closes the socket in the midst of something: it is put down for the loop to close at the end of its turn.
 */
final class Connection implements Publisher, Subscriber {
    private static final int MISSED_HEARTBEATS = 2;
    private static final byte[] MAGIC = "  V2".getBytes(StandardCharsets.US_ASCII);
    private static final int FOR_ANSWERS = 1024;
    /** Buffers of busy connections grow to this, so that one system call carries hundreds of messages. */
    private static final int BUSY_BYTES = 128 * 1024;

    /** After so many looks in a row that found a connection idle, about ten seconds, it gives large buffers back. */
    private static final int QUIET_LOOKS = 40;

    private static final long LINGER_NS = TimeUnit.SECONDS.toNanos(2);

    private enum State {
        /** Nothing came yet but perhaps a part of the magic. */
        NEW,
        OPEN,
        /** An error was answered; what still comes is thrown away until the client closes, so that it can read the error. */
        LINGERING,
        CLOSED
    }

    private final GatewayLoop loop;
    private final GatewaySettings settings;
    private final MessagePort port;
    private final SocketChannel channel;
    private final SelectionKey key;
    private final CommandDecoder decoder;
    private int interest = SelectionKey.OP_READ;
    private State state = State.NEW;

    private ByteBuffer in;
    private int inStart;
    private ByteBuffer out;
    private boolean buffersUsed;
    private int quietLooks;

    private Subscription subscription;
    private boolean subscribed;
    private boolean closeWait;
    private boolean identified;
    private long heartbeatNs;
    private long messageTimeoutNs;

    private final OpenPublications open = new OpenPublications();
    /** The broker that the open publications are on their way to; null if they are not. */
    private BrokerId forwardedTo;

    private boolean executing;
    /** The next command wants an answer and has to wait for the one before. */
    private boolean heldBack;

    private boolean wantsRoom;
    /** Heartbeats since the client was last heard of. Counted, not timed: a broker that stood still itself must not blame its clients. */
    private int unanswered;

    private long lastHeartbeatNs;
    private long lastWriteNs;
    private long lingerUntilNs;
    /** Where the loop has put it: in the list of those to be flushed, and among all connections. */
    boolean dirty;

    boolean resuming;
    int index;

    Connection(GatewayLoop loop, SocketChannel channel, SelectionKey key, long nowNs) {
        this.loop = loop;
        this.settings = loop.settings();
        this.port = loop.port();
        this.channel = channel;
        this.key = key;
        decoder = new CommandDecoder(settings.maxMessageBytes(), settings.maxBodyBytes());
        in = loop.takeBuffer();
        out = loop.takeBuffer();
        heartbeatNs = settings.heartbeatNs();
        messageTimeoutNs = settings.messageTimeoutNs();
        lastHeartbeatNs = nowNs;
        lastWriteNs = nowNs;
    }

    boolean consumes() {
        return subscribed;
    }

    void read(long nowNs) {
        int count;
        try {
            if (state == State.LINGERING) {
                in.clear();
                inStart = 0;
            }
            count = channel.read(in);
        } catch (IOException e) {
            count = -1;
        }
        if (count < 0) {
            loop.closeLater(this);
            return;
        }
        unanswered = 0;
        buffersUsed = true;
        if (state != State.LINGERING && state != State.CLOSED) {
            boolean full = !in.hasRemaining();
            process(nowNs);
            if (full && in.capacity() < BUSY_BYTES && state == State.OPEN) {
                growIn(in.capacity() * 2);
            }
        }
    }

    /** Carries out the commands that are there, as far as it may. */
    void process(long nowNs) {
        executing = true;
        heldBack = false;
        answerPublications();
        int wanted = 0;
        boolean room = true;
        if (state == State.NEW && !magic()) {
            executing = false;
            return;
        }
        while (state == State.OPEN && (room = roomForAnswers(nowNs))) {
            int taken = decoder.decode(in, inStart, in.position());
            if (taken == CommandDecoder.MORE) {
                wanted = decoder.wantedBytes();
                break;
            }
            if (taken == CommandDecoder.BAD) {
                fail(decoder.error());
                break;
            }
            if (decoder.verb().answered && !open.isEmpty() && !mayFollow(decoder.verb()) || !execute(nowNs)) {
                heldBack = true;
                break;
            }
            inStart += taken;
        }
        executing = false;
        if (state == State.OPEN) {
            heldBack |= !room;
            compactIn();
            if (wanted > in.capacity() && !in.hasRemaining()) {
                // Twice as much at a time and only when it is full: a length that was only claimed costs nothing.
                growIn(Math.min(wanted, in.capacity() * 2));
            }
        }
        updateInterest();
    }

    private boolean magic() {
        int there = Math.min(in.position(), MAGIC.length);
        for (int i = 0; i < there; i++) {
            if (in.get(i) != MAGIC[i]) {
                fail("E_BAD_PROTOCOL");
                return false;
            }
        }
        if (there == MAGIC.length) {
            inStart = MAGIC.length;
            state = State.OPEN;
        }
        return there == MAGIC.length;
    }

    private boolean mayFollow(Verb verb) {
        boolean publishes = verb == Verb.PUB || verb == Verb.MPUB || verb == Verb.DPUB;
        return publishes && forwardedTo != null && !open.isFull();
    }

    /** False if it has to wait for an answer that is open. */
    private boolean execute(long nowNs) {
        Verb verb = decoder.verb();
        switch (verb) {
            case PUB, MPUB -> {
                return publish(verb, 0, nowNs);
            }
            case DPUB -> {
                return onDeferredPublish(nowNs);
            }
            case FIN -> onFinish(nowNs);
            case RDY -> onReady(nowNs);
            case REQ -> onRequeue(nowNs);
            case TOUCH -> onTouch(nowNs);
            case SUB -> onSubscribe(nowNs);
            case IDENTIFY -> onIdentify();
            case CLS -> onClose(nowNs);
            case AUTH -> fail("E_AUTH_DISABLED AUTH is not enabled");
            case NOP -> {
                // It came, and that is what it is for: see unanswered.
            }
        }
        return true;
    }

    private boolean publish(Verb verb, long deferNs, long nowNs) {
        PublishRequest request = loop.request()
                .begin(this, open.add(verb), in, nowNs)
                .topic(decoder.parameterAt(0), decoder.parameterLength(0))
                .deferNs(deferNs)
                .follows(forwardedTo);
        if (verb == Verb.MPUB) {
            request.batch(decoder.bodyAt(), decoder.bodyLength(), decoder.messages());
        } else {
            request.body(decoder.bodyAt(), decoder.bodyLength());
        }
        if (port.publish(request, nowNs)) {
            return true;
        }
        open.removeLast();
        return false;
    }

    private boolean onDeferredPublish(long nowNs) {
        long mostMs = TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs());
        if (decoder.number() > mostMs) {
            fail("E_INVALID DPUB timeout " + decoder.number() + " out of range 0-" + mostMs);
            return true;
        }
        return publish(Verb.DPUB, TimeUnit.MILLISECONDS.toNanos(decoder.number()), nowNs);
    }

    private void onIdentify() {
        if (identified || subscribed) {
            fail("E_INVALID cannot IDENTIFY in current state");
            return;
        }
        byte[] body = new byte[decoder.bodyLength()];
        in.get(decoder.bodyAt(), body);
        try {
            Identity identity = Identity.parse(body, settings);
            identified = true;
            heartbeatNs = identity.heartbeatNs();
            messageTimeoutNs = identity.messageTimeoutNs();
            answer(
                    identity.negotiates()
                            ? identity.answer(settings, GatewayLoop.VERSION).getBytes(StandardCharsets.UTF_8)
                            : Frames.OK);
        } catch (Identity.Refused e) {
            fail("E_BAD_BODY " + e.getMessage());
        }
    }

    private void onSubscribe(long nowNs) {
        if (subscribed) {
            fail("E_INVALID cannot SUB in current state");
            return;
        }
        if (heartbeatNs == 0) {
            fail("E_INVALID cannot SUB with heartbeats disabled");
            return;
        }
        subscribed = true;
        subscription =
                port.subscribe(this, decoder.parameter(in, 0), decoder.parameter(in, 1), messageTimeoutNs, nowNs);
        if (subscription == null) {
            fail("E_BAD_CHANNEL SUB this broker has no room for another topic or channel");
            return;
        }
        answer(Frames.OK);
    }

    private void onReady(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot RDY in current state");
        } else if (decoder.number() > settings.maxReady()) {
            fail("E_INVALID RDY count " + decoder.number() + " out of range 0-" + settings.maxReady());
        } else if (!closeWait && subscription != null) {
            subscription.ready((int) decoder.number(), nowNs);
        }
    }

    private void onFinish(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot FIN in current state");
        } else if (subscription == null || !subscription.finish(decoder.id(), nowNs)) {
            complain("E_FIN_FAILED FIN failed: message is not in flight here");
        }
    }

    private void onRequeue(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot REQ in current state");
            return;
        }
        long delayNs = decoder.number() > TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs())
                ? settings.maxDelayNs()
                : TimeUnit.MILLISECONDS.toNanos(decoder.number());
        if (subscription == null || !subscription.requeue(decoder.id(), delayNs, nowNs)) {
            complain("E_REQ_FAILED REQ failed: message is not in flight here");
        }
    }

    private void onTouch(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot TOUCH in current state");
        } else if (subscription == null || !subscription.touch(decoder.id(), nowNs)) {
            complain("E_TOUCH_FAILED TOUCH failed: message is not in flight here");
        }
    }

    private void onClose(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot CLS in current state");
            return;
        }
        closeWait = true;
        if (subscription != null) {
            subscription.ready(0, nowNs);
        }
        answer(Frames.CLOSE_WAIT);
    }

    @Override
    public void forwarded(long ticket, BrokerId home) {
        forwardedTo = home;
    }

    @Override
    public void accepted(long ticket) {
        open.accepted(ticket);
        published();
    }

    @Override
    public void throttled(long ticket, long retryAfterNs) {
        Verb verb = open.verb(ticket);
        String when = retryAfterNs == Duty.NO_DEADLINE
                ? "more at once than its burst, or it has no supply here now"
                : "retry after " + (TimeUnit.NANOSECONDS.toMillis(retryAfterNs) + 1) + " ms";
        open.refused(ticket, "E_" + verb + "_FAILED " + verb + " refused: topic is over its limit, " + when);
        published();
    }

    @Override
    public void failed(long ticket, String reason) {
        Verb verb = open.verb(ticket);
        open.failed(ticket, "E_" + verb + "_FAILED " + verb + " failed: " + reason);
        published();
    }

    private void published() {
        if (state == State.OPEN) {
            answerPublications();
            if (!executing) {
                loop.resume(this);
            }
        }
    }

    /** In their order, as far as they have outcomes and there is room. */
    private void answerPublications() {
        while (state == State.OPEN && open.hasAnswer() && roomForAnswers(loop.nowNs())) {
            String error = open.error();
            boolean fatal = open.isFatal();
            open.removeFirst();
            if (error == null) {
                answer(Frames.OK);
            } else if (fatal) {
                fail(error);
            } else {
                complain(error);
            }
        }
        if (open.isEmpty()) {
            forwardedTo = null;
        }
    }

    @Override
    public boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
        int size = Frames.MESSAGE_OVERHEAD + bodyLength;
        if (state != State.OPEN || !roomFor(size + FOR_ANSWERS)) {
            wantsRoom = true;
            return false;
        }
        Frames.putMessage(out, timestampNs, attempts, id, body, bodyAt, bodyLength);
        loop.flushLater(this);
        return true;
    }

    @Override
    public void gone(String reason) {
        subscription = null;
        linger();
    }

    private void answer(byte[] payload) {
        Frames.put(out, Frames.RESPONSE, payload);
        loop.flushLater(this);
    }

    /** An error after which the connection goes on. */
    private void complain(String error) {
        Frames.put(out, Frames.ERROR, error.getBytes(StandardCharsets.US_ASCII));
        loop.flushLater(this);
    }

    /** An error that ends the connection. */
    private void fail(String error) {
        complain(error);
        linger();
    }

    private void linger() {
        if (state != State.CLOSED) {
            state = State.LINGERING;
            heldBack = false;
            lingerUntilNs = loop.nowNs() + LINGER_NS;
            loop.flushLater(this);
            updateInterest();
        }
    }

    private boolean roomForAnswers(long nowNs) {
        if (out.remaining() >= FOR_ANSWERS) {
            return true;
        }
        flush(nowNs);
        return out.remaining() >= FOR_ANSWERS;
    }

    private boolean roomFor(int bytes) {
        if (out.remaining() >= bytes) {
            return true;
        }
        flush(loop.nowNs());
        if (out.remaining() >= bytes) {
            return true;
        }
        int pending = out.position();
        if (pending > 0 && pending + bytes > BUSY_BYTES) {
            return false;
        }
        out = moved(out, Math.max(pending + bytes, Math.min(BUSY_BYTES, out.capacity() * 2)));
        return out.remaining() >= bytes;
    }

    /** Sends what it can. */
    private void flush(long nowNs) {
        if (out.position() > 0) {
            buffersUsed = true;
            out.flip();
            try {
                if (channel.write(out) > 0) {
                    lastWriteNs = nowNs;
                }
            } catch (IOException e) {
                loop.closeLater(this);
                out.position(out.limit());
            }
            out.compact();
        }
        if (out.position() == 0) {
            // What follows was never late: a stall is counted from here.
            lastWriteNs = nowNs;
            if (state == State.LINGERING) {
                shutdownOutput();
            }
        }
    }

    /** At the end of a turn, and when the socket takes more: sends, and lets go on what waited for room. */
    void send(long nowNs) {
        if (state == State.CLOSED) {
            return;
        }
        flush(nowNs);
        if (out.remaining() > out.capacity() / 2) {
            if (wantsRoom && subscription != null) {
                wantsRoom = false;
                subscription.writable(nowNs);
            }
            if (heldBack && open.isEmpty() || open.hasAnswer()) {
                loop.resume(this);
            }
        }
        updateInterest();
    }

    private void shutdownOutput() {
        try {
            channel.shutdownOutput();
        } catch (IOException e) {
            loop.closeLater(this);
        }
    }

    private void updateInterest() {
        if (state == State.CLOSED || !key.isValid()) {
            return;
        }
        int wanted = (heldBack ? 0 : SelectionKey.OP_READ) | (out.position() > 0 ? SelectionKey.OP_WRITE : 0);
        if (wanted != interest) {
            interest = wanted;
            key.interestOps(wanted);
        }
    }

    /** Now and then: the heartbeat, and whether the client is still there. */
    void keepHouse(long nowNs) {
        boolean reads = (interest & SelectionKey.OP_READ) != 0;
        if (!reads) {
            unanswered = 0;
        }
        boolean beats = heartbeatNs > 0 && nowNs - lastHeartbeatNs >= heartbeatNs;
        boolean silent = beats && unanswered == MISSED_HEARTBEATS;
        boolean stalled = out.position() > 0 && nowNs - lastWriteNs > settings.stallNs();
        boolean lingered = state == State.LINGERING && nowNs - lingerUntilNs > 0;
        if (silent || stalled || lingered) {
            loop.closeLater(this);
            return;
        }
        if (state == State.OPEN && beats) {
            lastHeartbeatNs = nowNs;
            unanswered++;
            // No room means that bytes wait which the client does not take: it will find them, or be closed as stalled.
            if (out.remaining() >= FOR_ANSWERS / 2) {
                answer(Frames.HEARTBEAT);
            }
        }
        quietLooks = buffersUsed ? 0 : quietLooks + 1;
        buffersUsed = false;
        if (quietLooks == QUIET_LOOKS) {
            shrink();
        }
    }

    private void shrink() {
        if (in.capacity() > settings.bufferBytes() && in.position() == inStart) {
            in = loop.takeBuffer();
        }
        if (out.capacity() > settings.bufferBytes() && out.position() == 0) {
            out = loop.takeBuffer();
        }
    }

    private void compactIn() {
        if (inStart == 0) {
            return;
        }
        if (inStart == in.position()) {
            in.clear();
        } else {
            in.limit(in.position()).position(inStart);
            in.compact();
        }
        inStart = 0;
    }

    /** After {@link #compactIn}. */
    private void growIn(int capacity) {
        in = moved(in, capacity);
    }

    /** Without memory for it the connection ends: what it wanted to send or get does not fit. */
    private ByteBuffer moved(ByteBuffer from, int capacity) {
        ByteBuffer to;
        try {
            to = ByteBuffer.allocateDirect(capacity);
        } catch (OutOfMemoryError e) {
            loop.closeLater(this);
            return from;
        }
        to.put(from.flip());
        loop.giveBuffer(from);
        return to;
    }

    /** By the loop, at the end of a turn. */
    void close(long nowNs) {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        if (subscription != null) {
            subscription.close(nowNs);
            subscription = null;
        }
        key.cancel();
        try {
            channel.close();
        } catch (IOException e) {
            // It is closed as far as this process is concerned.
            wantsRoom = false;
        }
        loop.giveBuffer(in);
        loop.giveBuffer(out);
        in = null;
        out = null;
    }
}
