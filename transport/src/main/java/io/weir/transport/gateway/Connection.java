package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import io.weir.transport.wire.DeflateWire;
import io.weir.transport.wire.SnappyWire;
import io.weir.transport.wire.SocketWire;
import io.weir.transport.wire.TlsWire;
import io.weir.transport.wire.Wire;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
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
 * <p>What a limit refuses, at once where it polices and after the longest wait where it shapes, was not published: {@code E_PUB_FAILED PUB
 * refused: …} (MPUB, DPUB), with "retry after N ms" where that is known, and the connection stays open, so that a client which reads errors
 * can come again. After any other error it ends. Errors come in their turn, behind the answers of the publications before them.
 *
 * <p>What is to be sent waits in one bounded buffer, of which the last bytes are kept for answers. A message that finds no
 * room is not taken, and the channel keeps it; when there is no room for answers, no command is read. A client that takes
 * nothing for too long is closed. Small buffers that hold nothing go back to the loop at once: an idle client has none.
 *
 * <p>What was negotiated in IDENTIFY is put between this and the socket layer by layer, as {@link Wire}s, each when the answer before it
 * has gone: the answer to IDENTIFY in plain, OK over TLS, OK over the compression. Commands wait until all layers are there.
 *
 * <p>A consumer that asked for a sample gets each message with that chance; the others are finished in its name, as if it had had them.
 *
 * <p>Nothing here closes the socket in the midst of something: it is put down for the loop to close at the end of its turn.
 */
final class Connection implements Publisher, Subscriber {
    private static final int MISSED_HEARTBEATS = 2;
    private static final byte[] MAGIC = "  V2".getBytes(StandardCharsets.US_ASCII);
    private static final int FOR_ANSWERS = 1024;
    /** Buffers of busy connections grow to this, so that one system call carries hundreds of messages. */
    static final int BUSY_BYTES = 128 * 1024;

    /** After so many looks in a row that found a connection idle, about ten seconds, it gives large buffers back. */
    private static final int QUIET_LOOKS = 40;

    /** A second. */
    private static final int SLOWEST_BYTES = 8 * 1024;

    private static final long LINGER_NS = TimeUnit.SECONDS.toNanos(2);

    private enum State {
        /** Nothing came yet but perhaps a part of the magic. */
        NEW,
        OPEN,
        /** Layers are being put in place. */
        UPGRADING,
        /** An error was answered; what still comes is thrown away until the client closes, so that it can read the error. */
        LINGERING,
        CLOSED
    }

    private final GatewayLoop loop;
    private final GatewaySettings settings;
    private final ClientTerms terms;
    private final MessagePort port;
    private final SocketChannel channel;
    private final SelectionKey key;
    private final CommandDecoder decoder;
    private int interest = SelectionKey.OP_READ;
    private State state = State.NEW;
    private Wire wire;
    /** The layer of the wire that encrypts, if one does. */
    private TlsWire tls;

    private boolean tlsAnswered;
    private boolean compressed;

    /** Null while nothing is in them. */
    private ByteBuffer in;

    private int inStart;
    /**
     * When the last bytes came. Nothing is read while commands are held back, so it is when each command in the buffer was whole,
     * however late its turn is. What waits with the kernel or in a layer counts from when it is read.
     */
    private long arrivedNs;

    /** When the first bytes of a command came that is not whole yet, and how many it has in all; 0: there is none. */
    private long begunNs;

    private int wantedBytes;

    private ByteBuffer out;
    private boolean buffersUsed;
    private int quietLooks;

    private Subscription subscription;
    private boolean subscribed;
    private boolean closeWait;
    private String topic;
    private String consumedChannel;
    private int readyCount;
    /** What has been delivered here only to be finished: it was not in the sample. Its bound is the consumer's credit. */
    private long[] skipped = new long[0];

    private int skippedCount;

    private boolean identified;
    private long publisherId;
    private Identity identity;
    private AccessRights.Grant grant;
    /** Null for a client that does not want to know. */
    private HomeNotices homes;

    private final OpenPublications open = new OpenPublications();
    /** The broker that the open publications are on their way to; null if they are not. */
    private BrokerId forwardedTo;

    /** What ends this connection once the publications before it are answered. */
    private String failure;

    private boolean executing;
    /** The next command wants an answer and has to wait for the one before. */
    private boolean heldBack;

    private boolean wantsRoom;
    /** Heartbeats since the client was last heard of. Counted, not timed: a broker that stood still itself must not blame its clients. */
    private int unanswered;

    private final long connectedAtMs = System.currentTimeMillis();
    private long delivered;
    private long finished;
    private long requeued;
    private long published;

    private long lastHeartbeatNs;
    private long lastWriteNs;
    /** By when a client that is {@link State#NEW}, UPGRADING or LINGERING has to be done with it. */
    private long untilNs;

    private boolean saidGoodbye;
    /** Where the loop has put it: in the list of those to be flushed, and among all connections. */
    boolean dirty;

    boolean resuming;
    int index;

    Connection(GatewayLoop loop, SocketChannel channel, SelectionKey key, long nowNs) {
        this.loop = loop;
        this.settings = loop.settings();
        this.terms = loop.terms();
        this.port = loop.port();
        this.channel = channel;
        this.key = key;
        wire = new SocketWire(channel);
        decoder = new CommandDecoder(settings.maxMessageBytes(), settings.maxBodyBytes());
        identity = Identity.unknown(settings);
        publisherId = loop.nextPublisherId();
        lastHeartbeatNs = nowNs;
        lastWriteNs = nowNs;
        untilNs = nowNs + settings.handshakeNs();
    }

    boolean consumes() {
        return subscribed;
    }

    void read(long nowNs) {
        int count;
        try {
            count = ensureIn() ? wire.read(in) : -1;
        } catch (IOException e) {
            if (tls != null && !tls.established()) {
                loop.handshakeFailed(remoteAddress(), e);
            }
            count = -1;
        }
        if (count < 0) {
            loop.closeLater(this);
            return;
        }
        if (count > 0) {
            arrivedNs = nowNs;
        }
        unanswered = 0;
        buffersUsed = true;
        switch (state) {
            case NEW, OPEN -> {
                boolean full = !in.hasRemaining();
                process(nowNs);
                if (full
                        && state == State.OPEN
                        && ensureIn()
                        && in.capacity() < BUSY_BYTES
                        && loop.buffers().hasPlenty()) {
                    in = moved(in, in.capacity() * 2);
                }
            }
            case UPGRADING -> upgrade(nowNs);
            default -> {
                in.clear();
                inStart = 0;
            }
        }
        releaseIn();
        readOn();
    }

    /** A layer may have bytes of which the socket knows nothing: then they are read in the next turn. */
    private void readOn() {
        boolean reads = state == State.OPEN && !heldBack || state == State.UPGRADING && handshakes();
        if (reads && wire.hasInput()) {
            loop.resume(this);
        }
    }

    /** By the loop, in a later turn: what was held back may go on. */
    void resume(long nowNs) {
        process(nowNs);
        boolean reads = state == State.OPEN && !heldBack || state == State.UPGRADING && handshakes();
        if (reads && wire.hasInput()) {
            read(nowNs);
        }
    }

    /** By the loop: another thread has done what the handshake needed. */
    void workDone(long nowNs) {
        if (state != State.CLOSED) {
            tls.workDone();
            read(nowNs);
        }
    }

    /** Carries out the commands that are there, as far as it may. */
    private void process(long nowNs) {
        if (state != State.NEW && state != State.OPEN) {
            return;
        }
        executing = true;
        heldBack = false;
        answerPublications();
        finishSkipped(nowNs);
        boolean room = true;
        if (in != null && failure == null && (state != State.NEW || magic())) {
            room = executeAll(nowNs);
        }
        executing = false;
        if (state == State.OPEN) {
            heldBack |= !room || failure != null;
            releaseIn();
        }
        updateInterest();
    }

    /** Answers whether there was room for all answers. */
    private boolean executeAll(long nowNs) {
        int wanted = 0;
        boolean room = true;
        while (state == State.OPEN && failure == null && (room = roomForAnswers(nowNs))) {
            int taken = decoder.decode(in, inStart, in.position());
            if (taken == CommandDecoder.MORE) {
                // Who may not do it need not send the rest of it, nor hold memory for it.
                wanted = decoder.verb() == null || mayBegin(decoder.verb()) ? decoder.wantedBytes() : 0;
                break;
            }
            if (taken == CommandDecoder.BAD) {
                fail(decoder.error());
                break;
            }
            if (decoder.verb().answered && !open.isEmpty() && !mayFollow(decoder.verb())) {
                heldBack = true;
                break;
            }
            // Before it is carried out: what follows an IDENTIFY may belong to another layer.
            inStart += taken;
            if (!execute(nowNs)) {
                inStart -= taken;
                heldBack = true;
                break;
            }
        }
        if (state == State.OPEN) {
            if (wantedBytes == 0 || inStart > 0) {
                begunNs = nowNs;
            }
            wantedBytes = in.position() > inStart ? wanted : 0;
            compactIn();
            if (wanted > in.capacity() && !in.hasRemaining()) {
                // Twice as much at a time and only when it is full: a length that was only claimed costs nothing.
                in = moved(in, Math.min(wanted, in.capacity() * 2));
            }
        }
        return room;
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
        return verb.publishes && forwardedTo != null && !open.isFull();
    }

    /** False if it has to wait for an answer that is open. */
    private boolean execute(long nowNs) {
        Verb verb = decoder.verb();
        if (!mayBegin(verb)) {
            return true;
        }
        switch (verb) {
            case PUB, MPUB -> {
                return publish(verb, 0, nowNs);
            }
            case DPUB -> {
                return onDeferredPublish(nowNs);
            }
            case FIN -> {
                return onFinish(nowNs);
            }
            case REQ -> {
                return onRequeue(nowNs);
            }
            case TOUCH -> {
                return onTouch(nowNs);
            }
            case RDY -> onReady(nowNs);
            case SUB -> onSubscribe(nowNs);
            case IDENTIFY -> onIdentify(nowNs);
            case CLS -> onClose(nowNs);
            case AUTH -> onAuth();
            case NOP -> {
                // It came, and that is what it is for: see unanswered.
            }
        }
        return true;
    }

    /** Fails if it may not; before its body is there, and again when it is. */
    private boolean mayBegin(Verb verb) {
        if (terms.tlsRequired() && tls == null && verb != Verb.IDENTIFY) {
            fail("E_INVALID cannot " + verb + " in current state (TLS required)");
            return false;
        }
        return !verb.publishes || mayPublish(verb);
    }

    private boolean publish(Verb verb, long deferNs, long nowNs) {
        PublishRequest request = loop.request()
                .begin(this, open.add(verb, decoder.messages()), in, arrivedNs)
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

    private boolean mayPublish(Verb verb) {
        if (grant == null
                ? !terms.rights().required()
                : grant.mayPublish(in, decoder.parameterAt(0), decoder.parameterLength(0))) {
            return true;
        }
        refuse(verb, decoder.parameter(in, 0));
        return false;
    }

    private void refuse(Verb verb, String what) {
        fail(
                grant == null
                        ? "E_AUTH_FIRST AUTH required before " + verb
                        : "E_UNAUTHORIZED AUTH failed for " + verb + " on \"" + what + "\"");
    }

    private void onIdentify(long nowNs) {
        if (identified || subscribed) {
            fail("E_INVALID cannot IDENTIFY in current state");
            return;
        }
        try {
            identity = Identity.parse(body(), settings, terms);
        } catch (Identity.Refused e) {
            fail(e.answer());
            return;
        }
        identified = true;
        publisherId = identity.publisherId(publisherId);
        homes = identity.wantsHomes() ? new HomeNotices() : null;
        answer(
                identity.negotiates()
                        ? identity.answer(
                                        settings,
                                        terms,
                                        GatewayLoop.VERSION,
                                        loop.brokers().self())
                                .getBytes(StandardCharsets.UTF_8)
                        : Frames.OK);
        if (identity.upgrades()) {
            state = State.UPGRADING;
            untilNs = nowNs + settings.handshakeNs();
            upgrade(nowNs);
        }
    }

    private byte[] body() {
        byte[] body = new byte[decoder.bodyLength()];
        in.get(decoder.bodyAt(), body);
        return body;
    }

    private boolean handshakes() {
        return tls != null && !tls.established() && !tls.busy();
    }

    /** Puts the next layers in place, as far as it can go now. */
    private void upgrade(long nowNs) {
        boolean goesOn = true;
        while (goesOn && state == State.UPGRADING) {
            goesOn = nextLayer(nowNs);
        }
        updateInterest();
    }

    private boolean nextLayer(long nowNs) {
        if (tls != null && !tlsAnswered) {
            if (!tls.established()) {
                return false;
            }
            tlsAnswered = true;
            answer(Frames.OK);
        }
        flush(nowNs);
        if (unsent()) {
            return false;
        }
        try {
            if (identity.tls() && tls == null) {
                tls = new TlsWire(
                        wire,
                        terms.tls().orElseThrow().engine(),
                        loop.buffers(),
                        early(),
                        task -> loop.workElsewhere(this, task));
                wire = tls;
                readOn();
            } else if (identity.snappy() && !compressed) {
                compressed(new SnappyWire(wire, loop.snappy(), loop.buffers(), early()));
            } else if (identity.deflateLevel() > 0 && !compressed) {
                if (!loop.buffers().reserve(DeflateWire.NATIVE_BYTES)) {
                    throw new IOException("no memory left for deflate");
                }
                compressed(new DeflateWire(wire, identity.deflateLevel(), loop.buffers(), early()));
            } else {
                state = State.OPEN;
                // Commands may have come with the end of the handshake.
                loop.resume(this);
            }
        } catch (IOException e) {
            fail("E_INVALID " + e.getMessage() + ": this broker's clients take all that they may");
            return false;
        }
        return true;
    }

    private void compressed(Wire layer) {
        wire = layer;
        compressed = true;
        answer(Frames.OK);
        readOn();
    }

    /** What came after IDENTIFY belongs to the layer that it asked for. */
    private byte[] early() {
        if (in == null) {
            return new byte[0];
        }
        byte[] early = new byte[in.position() - inStart];
        in.get(inStart, early);
        in.clear();
        inStart = 0;
        return early;
    }

    private void onAuth() {
        if (subscribed) {
            fail("E_INVALID cannot AUTH in current state");
        } else if (grant != null) {
            fail("E_INVALID AUTH already set");
        } else if (!terms.rights().enabled()) {
            fail("E_AUTH_DISABLED AUTH disabled");
        } else {
            byte[] secret = body();
            Optional<AccessRights.Grant> found = terms.rights().grant(secret);
            Arrays.fill(secret, (byte) 0);
            if (found.isEmpty()) {
                fail("E_AUTH_FAILED AUTH failed");
            } else if (found.get().permissions() == 0) {
                fail("E_UNAUTHORIZED AUTH no authorizations found");
            } else {
                grant = found.get();
                // The name was checked when the settings were read: nothing in it needs escaping.
                answer(("{\"identity\":\"" + grant.name() + "\",\"identity_url\":\"\",\"permission_count\":"
                                + grant.permissions() + "}")
                        .getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private void onSubscribe(long nowNs) {
        if (subscribed) {
            fail("E_INVALID cannot SUB in current state");
            return;
        }
        if (identity.heartbeatNs() == 0) {
            fail("E_INVALID cannot SUB with heartbeats disabled");
            return;
        }
        topic = decoder.parameter(in, 0);
        consumedChannel = decoder.parameter(in, 1);
        if (grant == null ? terms.rights().required() : !grant.maySubscribe(topic, consumedChannel)) {
            refuse(Verb.SUB, topic + " " + consumedChannel);
            return;
        }
        subscribed = true;
        subscription = port.subscribe(this, topic, consumedChannel, identity.messageTimeoutNs(), nowNs);
        if (subscription == null) {
            fail("E_SUB_FAILED SUB failed: this broker has no room for another topic or channel");
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
            readyCount = (int) decoder.number();
            subscription.ready(readyCount, nowNs);
        }
    }

    private boolean onFinish(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot FIN in current state");
        } else if (subscription != null && subscription.finish(decoder.id(), nowNs)) {
            finished++;
        } else {
            return notInFlight(Verb.FIN);
        }
        return true;
    }

    /** In its turn only: before the answer of a publication that waits, the client would take it for that. */
    private boolean notInFlight(Verb verb) {
        if (open.isEmpty()) {
            complain("E_" + verb + "_FAILED " + verb + " failed: message is not in flight here");
        }
        return open.isEmpty();
    }

    private boolean onRequeue(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot REQ in current state");
            return true;
        }
        long delayNs = decoder.number() > TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs())
                ? settings.maxDelayNs()
                : TimeUnit.MILLISECONDS.toNanos(decoder.number());
        if (subscription != null && subscription.requeue(decoder.id(), delayNs, nowNs)) {
            requeued++;
            return true;
        }
        return notInFlight(Verb.REQ);
    }

    private boolean onTouch(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot TOUCH in current state");
            return true;
        }
        return subscription != null && subscription.touch(decoder.id(), nowNs) || notInFlight(Verb.TOUCH);
    }

    private void onClose(long nowNs) {
        if (!subscribed) {
            fail("E_INVALID cannot CLS in current state");
            return;
        }
        closeWait = true;
        readyCount = 0;
        if (subscription != null) {
            subscription.ready(0, nowNs);
        }
        answer(Frames.CLOSE_WAIT);
    }

    @Override
    public long id() {
        return publisherId;
    }

    @Override
    public String group() {
        return identity.group();
    }

    @Override
    public double expectedRate() {
        return identity.expectedRate();
    }

    @Override
    public void forwarded(long ticket, BrokerId home) {
        forwardedTo = home;
    }

    @Override
    public void accepted(long ticket) {
        published += open.messages(ticket);
        open.accepted(ticket);
        published();
    }

    @Override
    public void throttled(long ticket, long retryAfterNs) {
        heldUpTooLong(
                ticket,
                "topic is over its limit, "
                        + (retryAfterNs == Duty.NO_DEADLINE
                                ? "more at once than its burst, or it has no supply here now"
                                : "retry after " + (TimeUnit.NANOSECONDS.toMillis(retryAfterNs) + 1) + " ms"));
    }

    @Override
    public void heldUpTooLong(long ticket, String reason) {
        open.refused(ticket, publishError(ticket, "refused", reason));
        published();
    }

    @Override
    public void failed(long ticket, String reason) {
        open.failed(ticket, publishError(ticket, "failed", reason));
        published();
    }

    @Override
    public void mayHavePassed(long ticket, String reason) {
        open.failed(ticket, publishError(ticket, "unknown", reason));
        published();
    }

    private String publishError(long ticket, String what, String reason) {
        Verb verb = open.verb(ticket);
        return "E_" + verb + "_FAILED " + verb + " " + what + ": " + reason;
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
                answerOk();
            } else {
                complain(error);
                if (fatal) {
                    linger();
                }
            }
        }
        if (open.isEmpty()) {
            forwardedTo = null;
            if (failure != null && state == State.OPEN) {
                complain(failure);
                linger();
            }
        }
    }

    @Override
    public void belongsTo(BrokerId home, ByteBuffer name, int topicAt, int topicLength) {
        if (homes == null || home == null && homes.isEmpty() || !hasRoom(FOR_ANSWERS)) {
            return;
        }
        BrokerId broker = home == null ? loop.self() : home;
        if (broker == null || !homes.isNews(name, topicAt, topicLength, broker, home == null)) {
            return;
        }
        Optional<String> tcp = loop.brokers().tcpOf(broker);
        if (tcp.isPresent()) {
            homes.told(name, topicAt, topicLength, broker);
            // Names of topics and brokers, and addresses, hold nothing that needs escaping.
            put(
                    Frames.HOME,
                    ("{\"topic\":\"" + CommandDecoder.text(name, topicAt, topicLength) + "\",\"broker\":\"" + broker
                                    + "\",\"tcp\":\"" + tcp.get() + "\"}")
                            .getBytes(StandardCharsets.US_ASCII));
        }
    }

    @Override
    public boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
        if (state == State.OPEN
                && identity.sampleRate() > 0
                && ThreadLocalRandom.current().nextInt(100) >= identity.sampleRate()) {
            skip(id);
            return true;
        }
        int size = Frames.MESSAGE_OVERHEAD + bodyLength;
        if (state != State.OPEN || !roomFor(size + FOR_ANSWERS)) {
            wantsRoom = true;
            return false;
        }
        delivered++;
        Frames.putMessage(out, timestampNs, attempts, id, body, bodyAt, bodyLength);
        loop.flushLater(this);
        return true;
    }

    /** Kept for later, because the channel that delivers is in the midst of its work. */
    private void skip(long id) {
        if (skippedCount == skipped.length) {
            skipped = Arrays.copyOf(skipped, Math.max(16, 2 * skippedCount));
        }
        skipped[skippedCount++] = id;
        loop.resume(this);
    }

    /** Those that were skipped before this call: finishing them brings others, which have their turn later. */
    private void finishSkipped(long nowNs) {
        int count = skippedCount;
        if (count == 0) {
            return;
        }
        for (int i = 0; i < count && subscription != null; i++) {
            subscription.finish(skipped[i], nowNs);
        }
        skippedCount -= count;
        System.arraycopy(skipped, count, skipped, 0, skippedCount);
    }

    @Override
    public void gone(String reason) {
        subscription = null;
        linger();
    }

    private void answerOk() {
        if (ensureOut()) {
            Frames.putOk(out);
            loop.flushLater(this);
        }
    }

    private void answer(byte[] payload) {
        put(Frames.RESPONSE, payload);
    }

    /** An error after which the connection goes on. */
    private void complain(String error) {
        put(Frames.ERROR, identity.heard(error).getBytes(StandardCharsets.US_ASCII));
    }

    private void put(int type, byte[] payload) {
        if (ensureOut()) {
            Frames.put(out, type, payload);
            loop.flushLater(this);
        }
    }

    /** An error that ends the connection; in its turn, so that it is not taken for the answer of a publication that waits. */
    private void fail(String error) {
        if (state == State.OPEN && !open.isEmpty()) {
            failure = failure == null ? error : failure;
        } else {
            complain(error);
            linger();
        }
    }

    private void linger() {
        if (state != State.CLOSED) {
            state = State.LINGERING;
            heldBack = false;
            untilNs = loop.nowNs() + LINGER_NS;
            loop.flushLater(this);
            updateInterest();
        }
    }

    private boolean roomForAnswers(long nowNs) {
        if (hasRoom(FOR_ANSWERS)) {
            return true;
        }
        flush(nowNs);
        return hasRoom(FOR_ANSWERS);
    }

    /** An empty buffer is a small one, and has this much room. */
    private boolean hasRoom(int bytes) {
        return out == null || out.remaining() >= bytes;
    }

    private boolean roomFor(int bytes) {
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
        if (pending > 0 && (pending + bytes > BUSY_BYTES || !loop.buffers().hasPlenty())) {
            return false;
        }
        out = moved(out, Math.max(pending + bytes, Math.min(BUSY_BYTES, out.capacity() * 2)));
        return out.remaining() >= bytes;
    }

    private boolean unsent() {
        return out != null && out.position() > 0 || wire.hasOutput();
    }

    /** Sends what it can. */
    private void flush(long nowNs) {
        if (unsent()) {
            buffersUsed = true;
            ByteBuffer from = out == null ? Wire.NOTHING : out.flip();
            try {
                if (wire.write(from) > 0) {
                    lastWriteNs = nowNs;
                }
            } catch (IOException e) {
                loop.closeLater(this);
                from.position(from.limit());
            }
            if (out != null) {
                out.compact();
            }
        }
        if (!unsent()) {
            lastWriteNs = nowNs;
            releaseOut();
            if (state == State.LINGERING) {
                sayGoodbye();
            }
        }
    }

    /** At the end of a turn, and when the socket takes more: sends, and lets go on what waited for room. */
    void send(long nowNs) {
        if (state == State.CLOSED) {
            return;
        }
        flush(nowNs);
        if (state == State.UPGRADING) {
            upgrade(nowNs);
            readOn();
            return;
        }
        if (out == null || out.remaining() > out.capacity() / 2) {
            if (wantsRoom && subscription != null) {
                wantsRoom = false;
                subscription.writable(nowNs);
            }
            if (heldBack && open.isEmpty() || open.hasAnswer()) {
                loop.resume(this);
            }
        }
        readOn();
        updateInterest();
    }

    private void sayGoodbye() {
        if (!saidGoodbye) {
            saidGoodbye = true;
            try {
                wire.finish();
            } catch (IOException e) {
                loop.closeLater(this);
            }
        }
    }

    private void updateInterest() {
        if (state == State.CLOSED || !key.isValid()) {
            return;
        }
        // While another thread has the engine nothing moves either way: a ready socket would only keep the loop busy.
        boolean moves = tls == null || !tls.busy();
        boolean reads =
                moves && (tls == null || !tls.speaksFirst()) && (state == State.UPGRADING ? handshakes() : !heldBack);
        boolean writes = moves && unsent();
        int wanted = (reads ? SelectionKey.OP_READ : 0) | (writes ? SelectionKey.OP_WRITE : 0);
        if (wanted != interest) {
            interest = wanted;
            key.interestOps(wanted);
        }
    }

    /** Now and then: the heartbeat, and whether the client is still there. */
    void keepHouse(long nowNs) {
        boolean reads = (interest & SelectionKey.OP_READ) != 0;
        // Some clients wait for a publication's answer with the lock held that they would answer a heartbeat with; how
        // long it waits is bounded.
        if (!reads || !open.isEmpty()) {
            unanswered = 0;
        }
        boolean beats = identity.heartbeatNs() > 0 && nowNs - lastHeartbeatNs >= identity.heartbeatNs();
        boolean silent = beats && unanswered == MISSED_HEARTBEATS;
        boolean stalled = unsent() && nowNs - lastWriteNs > settings.stallNs();
        boolean overdue = state == State.OPEN ? dribbles(nowNs) : nowNs - untilNs > 0;
        if (silent || stalled || overdue) {
            loop.closeLater(this);
            return;
        }
        if (state == State.OPEN && beats) {
            lastHeartbeatNs = nowNs;
            unanswered++;
            // No room means that bytes wait which the client does not take: it will find them, or be closed as stalled.
            if (hasRoom(FOR_ANSWERS / 2)) {
                answer(Frames.HEARTBEAT);
                // At once: thousands of idle clients share one buffer that way.
                flush(nowNs);
                updateInterest();
            }
        }
        quietLooks = buffersUsed ? 0 : quietLooks + 1;
        buffersUsed = false;
        if (quietLooks == QUIET_LOOKS) {
            shrink();
        }
    }

    /** Whether a command takes longer to come than its bytes do on a very slow line: it holds memory that others could use. */
    private boolean dribbles(long nowNs) {
        return wantedBytes > 0
                && nowNs - begunNs > settings.stallNs() + wantedBytes * TimeUnit.SECONDS.toNanos(1) / SLOWEST_BYTES;
    }

    private void shrink() {
        if (in != null && in.position() == inStart) {
            loop.buffers().give(in);
            in = null;
            inStart = 0;
        }
        if (out != null && out.position() == 0) {
            loop.buffers().give(out);
            out = null;
        }
        skipped = skippedCount == 0 ? new long[0] : skipped;
    }

    private boolean ensureIn() {
        if (in == null) {
            inStart = 0;
            in = taken();
        }
        return in != null;
    }

    private boolean ensureOut() {
        if (!unsent()) {
            // A stall is counted from when something began to wait, however long there was nothing before.
            lastWriteNs = loop.nowNs();
        }
        if (out == null) {
            out = taken();
        }
        return out != null;
    }

    /** Without memory for a buffer the connection ends. */
    private ByteBuffer taken() {
        ByteBuffer buffer = loop.buffers().take();
        if (buffer == null) {
            loop.closeLater(this);
        }
        return buffer;
    }

    /** Large ones stay until the connection is quiet: who needed one is likely to need it again. */
    private void releaseIn() {
        if (in != null && in.position() == inStart && in.capacity() == settings.bufferBytes()) {
            loop.buffers().give(in);
            in = null;
            inStart = 0;
        }
    }

    private void releaseOut() {
        if (out != null && out.capacity() == settings.bufferBytes()) {
            loop.buffers().give(out);
            out = null;
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

    /** Into a larger one; of what comes in, after {@link #compactIn}. Without memory for it the connection ends. */
    private ByteBuffer moved(ByteBuffer from, int capacity) {
        ByteBuffer to = loop.buffers().takeLarge(capacity);
        if (to == null) {
            fail("E_INVALID " + capacity + " bytes are needed, and this broker has no memory left for its clients");
            return from;
        }
        to.put(from.flip());
        loop.buffers().give(from);
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
        wire.close();
        if (in != null) {
            loop.buffers().give(in);
        }
        if (out != null) {
            loop.buffers().give(out);
        }
        in = null;
        out = null;
    }

    ClientStats stats() {
        int nsqdState = closeWait ? 4 : subscribed ? 3 : 0;
        return new ClientStats(
                identity.clientId(),
                identity.hostname(),
                identity.userAgent(),
                remoteAddress(),
                nsqdState,
                subscribed ? Optional.of(new ClientStats.Subscribed(topic, consumedChannel)) : Optional.empty(),
                readyCount,
                subscription == null ? 0 : subscription.inFlight(),
                delivered,
                finished,
                requeued,
                published,
                TimeUnit.MILLISECONDS.toSeconds(connectedAtMs),
                identity.sampleRate(),
                identity.deflateLevel() > 0,
                identity.snappy(),
                tls != null,
                tls != null && tls.established() ? tls.version() : "",
                tls != null && tls.established() ? tls.cipherSuite() : "",
                Optional.ofNullable(grant).map(AccessRights.Grant::name),
                identity.group(),
                identity.workflow(),
                identity.expectedRate());
    }

    private String remoteAddress() {
        try {
            InetSocketAddress address = (InetSocketAddress) channel.getRemoteAddress();
            return address == null ? "" : address.getAddress().getHostAddress() + ":" + address.getPort();
        } catch (IOException e) {
            return "";
        }
    }
}
