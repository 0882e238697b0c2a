package io.weir.transport.gateway;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * One client: its state, and which command is carried out when. What the commands do is with its sessions:
 * {@link Negotiation}, {@link PublisherSession} and {@link ConsumerSession}; its bytes are with {@link ClientStream}.
 *
 * <p>Commands are carried out in order, and answers come in order. While the answer of a publication is open, commands
 * that have no answer (FIN, RDY, REQ, TOUCH, NOP) are still carried out, so that a client that publishes and consumes
 * on one connection keeps acknowledging. From the first command that wants an answer on, commands wait in the buffer,
 * and when that is full the connection is not read any further. So a throttled topic holds back the others that are
 * published on the same connection.
 *
 * <p>Errors come in their turn too, behind the answers of the publications before them. Most of them end the
 * connection.
 *
 * <table>
 *   <caption>States</caption>
 *   <tr><th>state</th><th>what leads on</th></tr>
 *   <tr><td>new</td><td>the protocol's magic → open</td></tr>
 *   <tr><td>open</td><td>IDENTIFY asks for layers → upgrading</td></tr>
 *   <tr><td>upgrading</td><td>all layers are in place → open</td></tr>
 *   <tr><td>new, open, upgrading</td><td>an error, or the consumed channel is gone → ending</td></tr>
 *   <tr><td>ending</td><td>the error is sent → lingering</td></tr>
 *   <tr><td>any of these</td><td>the client closes, takes or says nothing for too long → closed</td></tr>
 * </table>
 *
 * <p>Nothing here closes the socket in the midst of something: the loop closes it at the end of its turn.
 */
final class Connection {
    private static final int MISSED_HEARTBEATS = 2;
    private static final byte[] MAGIC = "  V2".getBytes(StandardCharsets.US_ASCII);
    private static final long LINGER_NS = TimeUnit.SECONDS.toNanos(2);

    private enum State {
        /** Nothing came yet but perhaps a part of the magic. */
        NEW,
        OPEN,
        /** Layers are being put in place. */
        UPGRADING,
        /** The last answer, an error, is being sent; what comes is thrown away. */
        ENDING,
        /** All is sent; what still comes is thrown away until the client closes, so that it can read the error. */
        LINGERING,
        CLOSED;

        private Set<State> next() {
            return switch (this) {
                case NEW -> EnumSet.of(OPEN, ENDING, CLOSED);
                case OPEN -> EnumSet.of(UPGRADING, ENDING, CLOSED);
                case UPGRADING -> EnumSet.of(OPEN, ENDING, CLOSED);
                case ENDING -> EnumSet.of(LINGERING, CLOSED);
                case LINGERING -> EnumSet.of(CLOSED);
                case CLOSED -> EnumSet.noneOf(State.class);
            };
        }
    }

    private enum Commands {
        /** Whatever was there is carried out. */
        AWAITED,
        EXECUTING,
        /** The next one has to wait, for an answer or for room: nothing is read. */
        HELD_BACK
    }

    private final GatewayLoop loop;
    private final SocketChannel channel;
    private final SelectionKey key;
    private final CommandDecoder decoder;
    private final ClientStream stream;
    private final Negotiation negotiation;
    private final PublisherSession publisher;
    private final ConsumerSession consumer;
    private final long connectedAtMs = System.currentTimeMillis();
    private final long address;
    /** Until the client has said what the broker asks of it. */
    private boolean stranger = true;

    private int interest = SelectionKey.OP_READ;
    private State state = State.NEW;
    private Commands commands = Commands.AWAITED;
    /** By when a client that is not {@link State#OPEN}, or a stranger, has to be done with it. */
    private long untilNs;
    /** Nothing more will come; noticed while commands are held back, which are carried out all the same. */
    private boolean allCame;

    private long lastHeartbeatNs;
    /**
     * Heartbeats since the client was last heard of. Counted, not timed: a broker that stood still itself must not
     * blame its clients.
     */
    private int unanswered;

    /**
     * The loop's notes: whether it is in the lists of those to be flushed and resumed, and where among all connections.
     */
    boolean dirty;

    boolean resuming;
    int index;
    /** {@link Callers} has it. */
    boolean counted;

    /** @param address as {@link Callers} has it */
    Connection(GatewayLoop loop, SocketChannel channel, SelectionKey key, long address, long nowNs) {
        this.loop = loop;
        this.channel = channel;
        this.key = key;
        this.address = address;
        decoder = new CommandDecoder(
                loop.settings().maxMessageBytes(), loop.settings().maxBodyBytes());
        stream = new ClientStream(this, loop, channel, nowNs);
        negotiation = new Negotiation(this, loop, decoder, stream);
        publisher = new PublisherSession(this, loop, decoder, stream, negotiation);
        consumer = new ConsumerSession(this, loop, decoder, stream, negotiation);
        lastHeartbeatNs = nowNs;
        untilNs = nowNs + loop.settings().handshakeNs();
    }

    private void moveTo(State next) {
        if (!state.next().contains(next)) {
            throw new IllegalStateException("a client's connection can't go from " + state + " to " + next);
        }
        state = next;
    }

    boolean isOpen() {
        return state == State.OPEN;
    }

    boolean consumes() {
        return consumer.isSubscribed();
    }

    long address() {
        return address;
    }

    /** The client has said something that the broker asked of it, perhaps the last of it. */
    void vouchIfKnown() {
        if (stranger && !negotiation.isWithStranger()) {
            stranger = false;
            stream.purse().vouch();
            loop.callers().known(this);
        }
    }

    void read(long nowNs) {
        int count;
        try {
            count = stream.read(nowNs);
            if (count < 0 && state == State.OPEN && commands == Commands.HELD_BACK) {
                allCame = true;
                updateInterest();
                return;
            }
        } catch (IOException e) {
            if (negotiation.isHandshaking()) {
                loop.handshakeFailed(remoteAddress(), e);
            }
            count = -1;
        }
        if (count < 0) {
            loop.closeLater(this);
            return;
        }
        unanswered = 0;
        switch (state) {
            case NEW, OPEN -> {
                boolean full = stream.isInFull();
                process(nowNs);
                if (full && state == State.OPEN) {
                    stream.growIn();
                    updateInterest();
                }
            }
            case UPGRADING -> advance(nowNs);
            default -> stream.discardIn();
        }
        stream.releaseIn();
        readOn();
    }

    /** A layer may have bytes of which the socket knows nothing: then they are read in the next turn. */
    void readOn() {
        if (mayReadOn()) {
            loop.resume(this);
        }
    }

    private boolean mayReadOn() {
        boolean reads = state == State.OPEN && commands != Commands.HELD_BACK
                || state == State.UPGRADING && negotiation.wantsBytes();
        return reads && stream.hasUnread();
    }

    /** By the loop, in a later turn: what was held back may go on. */
    void resume(long nowNs) {
        process(nowNs);
        if (mayReadOn()) {
            read(nowNs);
        }
    }

    /** By the loop: another thread has done what the handshake needed. */
    void workDone(long nowNs) {
        if (state != State.CLOSED) {
            negotiation.workDone();
            read(nowNs);
        }
    }

    /** Carries out the commands that are there, as far as it may. */
    private void process(long nowNs) {
        if (state != State.NEW && state != State.OPEN) {
            return;
        }
        commands = Commands.EXECUTING;
        publisher.answer();
        consumer.finishSkipped(nowNs);
        boolean all = true;
        if (stream.in() != null && !publisher.isFailing() && (state != State.NEW || magic())) {
            all = executeAll(nowNs);
        }
        boolean held = state == State.OPEN && (!all || publisher.isFailing());
        commands = held ? Commands.HELD_BACK : Commands.AWAITED;
        if (state == State.OPEN) {
            stream.releaseIn();
        }
        updateInterest();
    }

    private boolean magic() {
        int there = Math.min(stream.in().position(), MAGIC.length);
        for (int i = 0; i < there; i++) {
            if (stream.in().get(i) != MAGIC[i]) {
                fail("E_BAD_PROTOCOL");
                return false;
            }
        }
        if (there == MAGIC.length) {
            stream.skip(MAGIC.length);
            moveTo(State.OPEN);
            vouchIfKnown();
        }
        return there == MAGIC.length;
    }

    /** Answers whether no whole command is left that has to wait, for an answer or for room. */
    private boolean executeAll(long nowNs) {
        int wanted = 0;
        boolean held = false;
        boolean more = true;
        while (more && state == State.OPEN && !publisher.isFailing()) {
            if (!stream.makeRoomForAnswers(nowNs)) {
                held = true;
                break;
            }
            int taken = decoder.decode(stream.in(), stream.start(), stream.in().position());
            if (taken == CommandDecoder.MORE) {
                // Who may not do it need not send the rest of it, nor hold memory for it.
                wanted = decoder.verb() == null || mayBegin(decoder.verb()) ? decoder.wantedBytes() : 0;
                more = false;
            } else if (taken == CommandDecoder.BAD) {
                fail(decoder.error());
                more = false;
            } else {
                held = !executeNext(taken, nowNs);
                more = !held;
            }
        }
        if (state == State.OPEN) {
            stream.endCommands(wanted, nowNs);
        }
        return !held;
    }

    /** False if it has to wait for an answer that is open. */
    private boolean executeNext(int bytes, long nowNs) {
        if (!publisher.mayFollow(decoder.verb())) {
            return false;
        }
        // Before it is carried out: what follows an IDENTIFY may belong to another layer.
        stream.skip(bytes);
        boolean done = execute(nowNs);
        if (!done) {
            stream.skip(-bytes);
        }
        return done;
    }

    private boolean execute(long nowNs) {
        Verb verb = decoder.verb();
        if (!mayBegin(verb)) {
            return true;
        }
        switch (verb) {
            case PUB -> {
                return publisher.onPublish(nowNs);
            }
            case MPUB -> {
                return publisher.onPublishBatch(nowNs);
            }
            case DPUB -> {
                return publisher.onPublishDeferred(nowNs);
            }
            case FIN -> {
                return consumer.onFinish(nowNs);
            }
            case REQ -> {
                return consumer.onRequeue(nowNs);
            }
            case TOUCH -> {
                return consumer.onTouch(nowNs);
            }
            case RDY -> consumer.onReady(nowNs);
            case SUB -> consumer.onSubscribe(nowNs);
            case CLS -> consumer.onClose(nowNs);
            case IDENTIFY -> negotiation.onIdentify(nowNs);
            case AUTH -> negotiation.onAuth();
            case NOP -> {
                // It came, and that is what it is for: see unanswered.
            }
        }
        return true;
    }

    /** Fails if it may not; before its body is there, and again when it is. */
    private boolean mayBegin(Verb verb) {
        if (negotiation.lacksTls() && verb != Verb.IDENTIFY) {
            fail("E_INVALID cannot " + verb + " in current state (TLS required)");
            return false;
        }
        return !verb.publishes || publisher.mayPublish(verb);
    }

    /** An outcome came that may let commands go on which were held back. */
    void executeSoon() {
        if (commands != Commands.EXECUTING) {
            loop.resume(this);
        }
    }

    /** The client has said who it is. */
    void identified(Identity identity) {
        publisher.identified(identity);
    }

    /** The client asked for layers: commands wait until all are there. */
    void upgrade(long nowNs) {
        moveTo(State.UPGRADING);
        untilNs = nowNs + loop.settings().handshakeNs();
        advance(nowNs);
    }

    /** Puts the next layers in place, as far as it can go now. */
    private void advance(long nowNs) {
        boolean goesOn = true;
        while (goesOn && state == State.UPGRADING) {
            goesOn = negotiation.advance(nowNs);
        }
        updateInterest();
    }

    /** All layers are in place. */
    void upgraded() {
        moveTo(State.OPEN);
        vouchIfKnown();
        untilNs = loop.nowNs() + loop.settings().handshakeNs();
        // Commands may have come with the end of the handshake.
        loop.resume(this);
    }

    void answer(byte[] payload) {
        stream.put(Frames.RESPONSE, payload);
    }

    /** An error after which the connection goes on. */
    void complain(String error) {
        stream.put(Frames.ERROR, negotiation.identity().heard(error).getBytes(StandardCharsets.US_ASCII));
    }

    /** False if the error has to wait: before the answer of a publication, the client would take it for that. */
    boolean notInFlight(Verb verb) {
        if (publisher.isIdle()) {
            complain("E_" + verb + "_FAILED " + verb + " " + decoder.printable(stream.in(), 0)
                    + " failed ID not in flight");
        }
        return publisher.isIdle();
    }

    /**
     * An error that ends the connection; in its turn, so that it is not taken for the answer of a publication that
     * waits.
     */
    void fail(String error) {
        if (state == State.OPEN && !publisher.isIdle()) {
            publisher.failInTurn(error);
        } else {
            complain(error);
            end();
        }
    }

    void failInThisState(Verb verb) {
        fail("E_INVALID cannot " + verb + " in current state");
    }

    /** Sends what there is, and nothing more after it. */
    void end() {
        if (state == State.NEW || state == State.OPEN || state == State.UPGRADING) {
            moveTo(State.ENDING);
            commands = Commands.AWAITED;
            untilNs = loop.nowNs() + LINGER_NS;
            loop.flushLater(this);
            updateInterest();
        }
    }

    /** The out buffer and the layers below it are empty. */
    void allSent() {
        if (state == State.ENDING) {
            moveTo(State.LINGERING);
            try {
                stream.finish();
            } catch (IOException e) {
                loop.closeLater(this);
            }
        }
    }

    /** At the end of a turn, and when the socket takes more: sends, and lets go on what waited for room. */
    void send(long nowNs) {
        if (state == State.CLOSED) {
            return;
        }
        stream.flush(nowNs);
        if (state == State.UPGRADING) {
            advance(nowNs);
            readOn();
            return;
        }
        if (stream.isMostlySent()) {
            consumer.onRoom(nowNs);
            if (commands == Commands.HELD_BACK && publisher.isIdle() || publisher.hasAnswer()) {
                loop.resume(this);
            }
        }
        readOn();
        updateInterest();
    }

    private void updateInterest() {
        if (state == State.CLOSED || !key.isValid()) {
            return;
        }
        // While another thread has the engine nothing moves either way: a ready socket would only keep the loop busy.
        boolean moves = !negotiation.isBusy();
        boolean reads = moves
                && !negotiation.speaksFirst()
                && (state == State.UPGRADING
                        ? negotiation.wantsBytes()
                        : commands != Commands.HELD_BACK || readsAhead());
        boolean writes = moves && stream.hasUnsent();
        int wanted = (reads ? SelectionKey.OP_READ : 0) | (writes ? SelectionKey.OP_WRITE : 0);
        if (wanted != interest) {
            interest = wanted;
            key.interestOps(wanted);
        }
    }

    /** What comes while a publication waits is read as far as there is room, so that its time counts from now. */
    private boolean readsAhead() {
        return !allCame && !publisher.isIdle() && stream.mayReadAhead();
    }

    /** Now and then: the heartbeat, and whether the client is still there. */
    void keepHouse(long nowNs) {
        boolean reads = (interest & SelectionKey.OP_READ) != 0;
        // Some clients wait for a publication's answer with the lock held that they would answer a heartbeat with; how
        // long it waits is bounded.
        if (!reads || !publisher.isIdle()) {
            unanswered = 0;
        }
        long heartbeatNs = negotiation.identity().heartbeatNs();
        boolean beats = heartbeatNs > 0 && nowNs - lastHeartbeatNs >= heartbeatNs;
        boolean silent = beats && unanswered == MISSED_HEARTBEATS;
        boolean overdue = state == State.OPEN ? stream.dribbles(nowNs) : nowNs - untilNs > 0;
        if (silent || stream.isStalled(nowNs) || overdue) {
            if (stranger && (state == State.NEW || state == State.UPGRADING)) {
                loop.strangerIsLate();
            }
            loop.closeLater(this);
            return;
        }
        if (stranger && state == State.OPEN && nowNs - untilNs > 0) {
            loop.strangerIsLate();
            fail(negotiation.whatIsMissing());
            // At once, as heartbeats: thousands of them share one buffer that way.
            stream.flush(nowNs);
            updateInterest();
            return;
        }
        if (state == State.OPEN && beats) {
            beat(nowNs);
        }
        if (stream.shrinkIfQuiet()) {
            consumer.shrink();
        }
    }

    private void beat(long nowNs) {
        lastHeartbeatNs = nowNs;
        unanswered++;
        // No room means that bytes wait which the client does not take: it will find them, or be closed as stalled.
        if (stream.hasRoomForHeartbeat()) {
            answer(Frames.HEARTBEAT);
            // At once: thousands of idle clients share one buffer that way.
            stream.flush(nowNs);
            updateInterest();
        }
    }

    /** By the loop, at the end of a turn. */
    void close(long nowNs) {
        if (state == State.CLOSED) {
            return;
        }
        moveTo(State.CLOSED);
        consumer.close(nowNs);
        key.cancel();
        try {
            channel.close();
        } catch (IOException e) {
            // It is closed as far as this process is concerned.
            interest = 0;
        }
        stream.close();
    }

    ClientStats stats() {
        Identity identity = negotiation.identity();
        return new ClientStats(
                identity.clientId(),
                identity.hostname(),
                identity.userAgent(),
                remoteAddress(),
                consumer.nsqdState(),
                consumer.subscribed(),
                consumer.readyCount(),
                consumer.inFlight(),
                consumer.delivered(),
                consumer.finished(),
                consumer.requeued(),
                publisher.published(),
                TimeUnit.MILLISECONDS.toSeconds(connectedAtMs),
                identity.sampleRate(),
                identity.deflateLevel() > 0,
                identity.snappy(),
                negotiation.usesTls(),
                negotiation.tlsVersion(),
                negotiation.cipherSuite(),
                negotiation.token(),
                identity.group(),
                identity.workflow(),
                identity.expectedRate());
    }

    String remoteAddress() {
        try {
            InetSocketAddress address = (InetSocketAddress) channel.getRemoteAddress();
            return address == null ? "" : address.getAddress().getHostAddress() + ":" + address.getPort();
        } catch (IOException e) {
            return "";
        }
    }
}
