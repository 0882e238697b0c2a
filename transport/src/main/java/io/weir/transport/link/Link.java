package io.weir.transport.link;

import io.aeron.Aeron;
import io.aeron.Image;
import io.aeron.Subscription;
import io.aeron.logbuffer.ControlledFragmentHandler;
import io.aeron.logbuffer.FrameDescriptor;
import io.aeron.logbuffer.Header;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One pair's two streams, seen from one end: asks for them, reads, and reports what comes. {@link LinkHandshake} says
 * whether the two ends have a connection, {@link LinkSender} sends.
 *
 * <p>The broker's thread reads ({@link #poll}) and offers; the link thread {@link #tend}s: asks for streams, and says
 * hello when the broker's has nothing to do. Both tend and poll only in their {@link LinkLock}, so all state but that
 * of offers has one owner at a time.
 */
final class Link implements ControlledFragmentHandler {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final long NONE = Aeron.NULL_VALUE;

    private final PeerAddress self;
    private final PeerAddress peer;
    private final LinkSettings settings;
    private final Links links;
    private final String channelIn;
    private final int streamIn;
    private final LinkHandshake handshake;
    private final LinkSender sender;
    private final boolean sealed;
    private final int maxFrameBytes;
    private final ControlledFragmentHandler peek = this::onPeek;

    private Aeron aeron;
    private Subscription subscription;
    private long subscriptionId = NONE;
    private long retryAtNs;

    private long refusedSession;
    private boolean versionLogged;
    /** A frame could not be read: the link comes back after a pause. */
    private boolean unreadable;

    /** The poll's that is going on. */
    private LinkEvents events;

    private long turnNs;
    private Image polled;
    private int handed;
    private boolean more;
    private boolean peeked;

    /** The life of the peer whose process has ended, as another thread found; {@link #NONE} if none has. */
    private volatile long endedIncarnation = NONE;

    /** As it was last reported to be connected. */
    private Peer connected;

    private final PartAssembly assembly;

    /** Opens what the session that is heard seals; null on a link that is not sealed, and before the first hello. */
    private FrameSeal opener;

    /** A sealed frame, and what was in it. */
    private final UnsafeBuffer closed = new UnsafeBuffer(new byte[0]);

    private final UnsafeBuffer opened = new UnsafeBuffer(ByteBuffer.allocate(0));

    /** It is in the list of those whose peers have to be knocked at; the broker thread's. */
    boolean owesKnock;

    private final AtomicLong received = new AtomicLong();
    private final AtomicLong receivedBytes = new AtomicLong();
    private final AtomicLong connects = new AtomicLong();
    private final AtomicLong dropped = new AtomicLong();
    private final AtomicLong malformed = new AtomicLong();

    Link(PeerAddress self, PeerAddress peer, LinkSettings settings, int termBytes, Links links) {
        this.self = self;
        this.peer = peer;
        this.settings = settings;
        this.links = links;
        channelIn = peer.channelTo(self, termBytes);
        streamIn = peer.streamTo(self);
        handshake = new LinkHandshake(self, peer, settings);
        sender = new LinkSender(self.channelTo(peer, termBytes), self.streamTo(peer), links);
        sealed = self.isAcrossANetworkFrom(peer) || settings.sealLoopback() && !sharesDriver();
        // What is sealed together is a frame of its own: at most a long one, or a batch of short ones.
        maxFrameBytes = settings.maxFrameBytes() + (sealed ? LinkSender.MAX_SEALED_EXTRA_BYTES : 0);
        assembly = new PartAssembly(maxFrameBytes);
    }

    PeerAddress peer() {
        return peer;
    }

    /** The store says that the peer is in this life. */
    void expect(long incarnation) {
        if (incarnation != handshake.expectedIncarnation()) {
            handshake.expect(incarnation);
            opener = null;
            if (sealed && !handshake.hasFallen() && aeron != null) {
                // This session's keys are for the earlier life.
                closePublication();
            }
        }
    }

    /** Whether it can't come up for want of the peer's key. */
    boolean lacksKey() {
        return sealed && links.keys().secret(peer.id(), handshake.expectedIncarnation()) == null;
    }

    void attach(Aeron client, long nowNs) {
        aeron = client;
        retryAtNs = nowNs;
    }

    /** Lets go of every stream; what was connected is lost. After this the client may be closed. */
    void detach(boolean clientWorks) {
        handshake.stopHearing();
        if (!clientWorks) {
            forgetRequests();
        }
        closePublication();
        if (subscription != null) {
            subscription.close();
        } else if (subscriptionId != NONE) {
            aeron.asyncRemoveSubscription(subscriptionId);
        }
        subscription = null;
        subscriptionId = NONE;
        handshake.forgetImage();
        opener = null;
        aeron = null;
    }

    private void forgetRequests() {
        if (subscription == null) {
            subscriptionId = NONE;
        }
        sender.forgetRequest();
    }

    private void closePublication() {
        sender.closePublication(aeron);
        handshake.endSession();
    }

    /** Whether nothing remains to be reported; for a link that is no longer wanted. */
    boolean isQuiet() {
        return handshake.isDown();
    }

    /** Frames from a peer with a media driver of its own come some time after its knock. */
    boolean sharesDriver() {
        return self.sharesDriverWith(peer);
    }

    /** Whether the peer takes what is offered. */
    boolean isOpen() {
        return sender.isOpen();
    }

    /** By the link thread, in its turn; answers whether the broker's thread has something to poll. */
    boolean tend(long nowNs) {
        turnNs = nowNs;
        try {
            if (aeron != null && nowNs - retryAtNs >= 0) {
                askForStreams();
                if (hasStreams()) {
                    checkStreams();
                }
                greet();
            }
        } catch (RuntimeException e) {
            giveUp(e);
        }
        return handshake.hasFallen() || handshake.isSilent(turnNs) || hasPeerEnded() || hasFrames();
    }

    /** From any thread. */
    void peerEnded(long incarnation) {
        endedIncarnation = incarnation;
    }

    private boolean hasPeerEnded() {
        return endedIncarnation != NONE && endedIncarnation == handshake.heardIncarnation() && !handshake.isDown();
    }

    /**
     * By the broker's thread, in its turn: reports up to about {@code limit} frames and changes, and answers how many.
     */
    int poll(LinkEvents to, int limit, long nowNs) {
        turnNs = nowNs;
        events = to;
        handed = 0;
        more = false;
        try {
            if (hasStreams()) {
                sender.flush();
                more = !readImages(limit);
                checkStreams();
                // Only who has read everything can say that there was nothing.
                if (!more && (handshake.isSilent(turnNs) || hasPeerEnded())) {
                    endedIncarnation = NONE;
                    handshake.stopHearing();
                }
            }
            reportIfLost();
            greet();
        } catch (RuntimeException e) {
            giveUp(e);
            reportIfLost();
        }
        return handed;
    }

    /** Whether the last poll left something unread. */
    boolean hasMore() {
        return more;
    }

    private void giveUp(RuntimeException e) {
        LOG.warn(
                "link to {} failed and is tried again in {} ms: {}",
                peer.id(),
                settings.retry().toMillis(),
                e.toString());
        Aeron client = aeron;
        // A stream that is still only asked for is the one that failed: they are asked for one after the other.
        detach(false);
        aeron = client;
        retryAtNs = turnNs + settings.retry().toNanos();
    }

    private boolean hasStreams() {
        return subscription != null && sender.hasPublication();
    }

    private void askForStreams() {
        if (subscription == null) {
            if (subscriptionId == NONE) {
                subscriptionId = aeron.asyncAddSubscription(channelIn, streamIn);
            }
            subscription = aeron.getSubscription(subscriptionId);
        }
        boolean wantsPublication = subscription != null && !sender.hasPublication() && !handshake.hasFallen();
        if (wantsPublication && !lacksKey() && sender.askForPublication(aeron)) {
            long session = links.newSession();
            FrameSeal seal = sealed ? sealOf(self, peerNow(), session) : null;
            sender.sealWith(seal);
            handshake.beginSession(session, turnNs);
            if (sealed && seal == null) {
                closePublication(); // the key was forgotten meanwhile
            }
        }
    }

    private FrameSeal sealOf(PeerAddress from, PeerAddress to, long session) {
        byte[] secret = links.keys().secret(peer.id(), handshake.expectedIncarnation());
        return secret == null ? null : new FrameSeal(secret, from.directionTo(to), session, turnNs);
    }

    private void checkStreams() {
        handshake.check();
        if (sender.isClosed() && handshake.isDown()) {
            closePublication();
        } else if (sender.isClosed() || !sender.isConnected()) {
            handshake.fallIfUp();
        }
    }

    /** Says hello if it is time, and opens the link for offers if both ends agree. */
    private void greet() {
        if (hasStreams()) {
            if (handshake.isHelloDue(turnNs)) {
                sayHello();
            }
            sender.setOpen(handshake.isAgreed());
        }
    }

    private void sayHello() {
        if (sender.isOpen() && sender.hasSentSince()) {
            // What was sent since is sign of life enough, and the publication stays the broker thread's alone.
            handshake.skipHello(turnNs);
        } else if (sender.isConnected()) {
            LinkFrames.Hello hello = handshake.hello(links.doorbellPort(this));
            if (sender.offer(hello)) {
                handshake.saidHello(hello, turnNs);
            }
        }
    }

    private void reportIfLost() {
        if (handshake.hasFallen()) {
            LOG.info("link to {} lost", peer.id());
            handshake.lossReported();
            closePublication();
            if (unreadable) {
                unreadable = false;
                retryAtNs = turnNs + settings.retry().toNanos();
            }
            handed++;
            events.onPeerLost(connected);
        }
    }

    private void reportIfConnected() {
        if (handshake.canConnect()) {
            LOG.info("link to {}#{} up", peer.id(), handshake.heardIncarnation());
            handshake.connected();
            LinkSender.count(connects);
            connected = new Peer(peer.id(), handshake.heardIncarnation());
            handed++;
            events.onPeerConnected(connected);
        }
    }

    /** Whether a frame waits to be read; in the caller's turn. */
    boolean hasFrames() {
        peeked = false;
        for (int i = 0, count = subscription == null ? 0 : subscription.imageCount(); i < count && !peeked; i++) {
            Image image = subscription.imageAtIndex(i);
            long from;
            do {
                from = image.position();
                image.controlledPoll(peek, 1);
            } while (!peeked && image.position() != from);
        }
        return peeked;
    }

    private Action onPeek(DirectBuffer buffer, int offset, int length, Header header) {
        peeked = true;
        return Action.ABORT;
    }

    /** False if it stopped at the limit, or before what has to wait until a loss is reported. */
    private boolean readImages(int limit) {
        boolean all = true;
        for (int i = 0, count = subscription.imageCount(); i < count && !handshake.hasFallen(); i++) {
            polled = subscription.imageAtIndex(i);
            int left = limit;
            long from;
            // A poll ends where a term does, though the next may hold more.
            do {
                from = polled.position();
                left -= polled.controlledPoll(this, left);
            } while (left > 0 && polled.position() != from);
            all &= left > 0;
        }
        return all && !handshake.hasFallen();
    }

    @Override
    public Action onFragment(DirectBuffer buffer, int offset, int length, Header header) {
        if (handshake.hasFallen()) {
            return Action.ABORT;
        }
        // No frame of ours is longer than a fragment of the stream.
        if ((header.flags() & FrameDescriptor.UNFRAGMENTED) != FrameDescriptor.UNFRAGMENTED) {
            return onUnreadable(length);
        }
        byte type = LinkFrames.typeOf(buffer, offset, length);
        if (type == 0 && !versionLogged && LinkFrames.versionOf(buffer, offset, length) != LinkFrames.VERSION) {
            versionLogged = true;
            LOG.warn(
                    "link to {} has frames of version {}, this broker's are of version {}: no messages between them until both run"
                            + " the same version of Weir",
                    peer.id(),
                    LinkFrames.versionOf(buffer, offset, length),
                    LinkFrames.VERSION);
        }
        return type == LinkFrames.PART ? onPart(buffer, offset, length) : onFrame(type, buffer, offset, length);
    }

    private Action onPart(DirectBuffer buffer, int offset, int length) {
        if (!handshake.comesThrough(polled)) {
            LinkSender.count(dropped);
            return Action.CONTINUE;
        }
        return switch (assembly.add(buffer, offset, length)) {
            case PARTIAL -> {
                handshake.heardAt(turnNs);
                yield Action.CONTINUE;
            }
            case WHOLE -> {
                byte type = LinkFrames.typeOf(assembly.frame(), 0, assembly.length());
                // A hello is short, and parts of parts there are none.
                yield type == LinkFrames.DATA || type == LinkFrames.SEALED
                        ? onFrame(type, assembly.frame(), 0, assembly.length())
                        : onUnreadable(assembly.length());
            }
            case WRONG -> onUnreadable(length);
            case UNBEGUN -> handshake.isDown() ? Action.CONTINUE : onUnreadable(length);
        };
    }

    private Action onFrame(byte type, DirectBuffer buffer, int offset, int length) {
        if (length > maxFrameBytes || sealed != (type == LinkFrames.SEALED)) {
            return onUnreadable(length);
        }
        return sealed ? onSealed(buffer, offset, length) : onOpen(type, buffer, offset, length);
    }

    private Action onOpen(byte type, DirectBuffer buffer, int offset, int length) {
        if (type == LinkFrames.DATA && LinkFrames.ageNs(buffer, offset) >= 0) {
            return onData(LinkFrames.ageNs(buffer, offset), buffer, offset, length);
        }
        LinkFrames.Hello hello = type == LinkFrames.HELLO ? LinkFrames.decodeHello(buffer, offset, length) : null;
        return hello == null ? onUnreadable(length) : onHello(hello);
    }

    /** Opens it, and reads what is in it. */
    private Action onSealed(DirectBuffer buffer, int offset, int length) {
        long session = LinkFrames.sealedSession(buffer, offset);
        boolean ofHeard = opener != null && session == opener.session();
        boolean through = handshake.comesThrough(polled);
        // In the stream that is heard nothing is missing, and nothing comes twice.
        boolean wrong = through && (!ofHeard || LinkFrames.counter(buffer, offset) != opener.lastCounter() + 1);
        FrameSeal with = ofHeard ? opener : sealOf(peerNow(), self, session);
        if (wrong || with == null) {
            return onUnreadable(length);
        }
        if (closed.capacity() < length) {
            int larger = BitUtil.findNextPositivePowerOfTwo(length);
            closed.wrap(new byte[larger]);
            opened.wrap(ByteBuffer.allocate(larger));
        }
        closed.putBytes(0, buffer, offset, length);
        int inside = with.open(closed.byteArray(), closed, length, opened.byteArray());
        if (inside < 0) {
            return onUnreadable(length);
        }
        if (ofHeard && through) {
            return readOpened(inside);
        }
        return onFirstHello(with, inside, session);
    }

    private PeerAddress peerNow() {
        return peer.in(handshake.expectedIncarnation());
    }

    /** A session that is not heard yet, or the one that is through another image: only a hello counts. */
    private Action onFirstHello(FrameSeal with, int inside, long session) {
        int length = LinkFrames.length(opened, 0);
        LinkFrames.Hello hello =
                length == inside - Integer.BYTES && LinkFrames.typeOf(opened, Integer.BYTES, length) == LinkFrames.HELLO
                        ? LinkFrames.decodeHello(opened, Integer.BYTES, length)
                        : null;
        if (hello == null || hello.session() != session) {
            return onUnreadable(inside);
        }
        Action action = onHello(hello);
        if (action != Action.ABORT && handshake.comesThrough(polled)) {
            opener = with;
        } else if (action == Action.ABORT && with == opener) {
            opener.takeBack();
        }
        return action;
    }

    private Action readOpened(int inside) {
        int at = 0;
        while (at < inside && !handshake.hasFallen()) {
            int length = inside - at >= Integer.BYTES ? LinkFrames.length(opened, at) : -1;
            at += Integer.BYTES;
            if (length < 0 || length > inside - at) {
                return onUnreadable(inside);
            }
            byte type = LinkFrames.typeOf(opened, at, length);
            boolean only = at == Integer.BYTES && at + length == inside;
            if (type != LinkFrames.DATA && !(type == LinkFrames.HELLO && only)) {
                return onUnreadable(length);
            }
            if (onOpen(type, opened, at, length) == Action.ABORT) {
                opener.takeBack();
                return Action.ABORT;
            }
            at += length;
        }
        return Action.CONTINUE;
    }

    /**
     * What can't be read may have been about a message that is in flight, which would stay so: the link falls, and both
     * ends have what is theirs again. What comes from elsewhere than the peer's stream is only counted.
     */
    private Action onUnreadable(int length) {
        LinkSender.count(malformed);
        assembly.reset();
        if (handshake.accepts(polled)) {
            LOG.warn("link to {} begins anew: a frame of {} bytes can't be read", peer.id(), length);
            unreadable = true;
            handshake.fallIfUp();
        }
        return Action.CONTINUE;
    }

    private Action onHello(LinkFrames.Hello hello) {
        boolean sameImage = handshake.comesThrough(polled);
        return switch (handshake.onHello(hello, polled, polled.correlationId(), turnNs)) {
            case HEARD -> {
                // What another image began is not continued by this one.
                if (!sameImage) {
                    assembly.reset();
                }
                reportIfConnected();
                yield Action.CONTINUE;
            }
            case DROPPED -> {
                LinkSender.count(dropped);
                yield Action.CONTINUE;
            }
            case REFUSED -> {
                refuse(hello);
                yield Action.CONTINUE;
            }
            case FALLEN -> Action.ABORT;
        };
    }

    private void refuse(LinkFrames.Hello hello) {
        LinkSender.count(dropped);
        if (hello.session() != refusedSession) {
            refusedSession = hello.session();
            LOG.warn(
                    "link to {} stays down: it needs the features {} (bits), this broker has {}: give both the same version of Weir",
                    peer.id(),
                    Integer.toBinaryString(hello.needs()),
                    Integer.toBinaryString(LinkFrames.FEATURES));
        }
    }

    private Action onData(long ageNs, DirectBuffer buffer, int offset, int length) {
        if (!handshake.accepts(polled)) {
            LinkSender.count(dropped);
            return Action.CONTINUE;
        }
        handshake.heardAt(turnNs);
        int bodyLength = length - LinkFrames.DATA_HEADER_BYTES;
        handed++;
        LinkSender.count(received);
        receivedBytes.lazySet(receivedBytes.get() + bodyLength);
        int at = offset + LinkFrames.DATA_HEADER_BYTES;
        return events.onFrame(connected, buffer, at, bodyLength, turnNs - ageNs)
                ? Action.CONTINUE
                : onUnreadable(length);
    }

    boolean waitsForRoom() {
        return sender.waitsForRoom();
    }

    /** By the link thread, without a turn: whether an offer that was refused may be tried again. */
    boolean hasRoomAgain() {
        return sender.hasRoomAgain();
    }

    boolean offer(DirectBuffer body, int offset, int length, long ageNs) {
        return knockIf(sender.offer(body, offset, length, ageNs));
    }

    /** As above for a body that is not written yet. */
    boolean offer(int length, BodyWriter writer, long ageNs) {
        return knockIf(sender.offer(length, writer, ageNs));
    }

    /** By the broker's thread, when it has nothing more to offer for now. */
    void flush() {
        sender.flush();
    }

    private boolean knockIf(boolean sent) {
        if (sent) {
            links.knockLater(this);
        }
        return sent;
    }

    /** Where the peer wants to be knocked at, or null. */
    InetSocketAddress peersDoorbell() {
        return handshake.peersDoorbell();
    }

    LinkStats stats() {
        return new LinkStats(
                peer.id(),
                handshake.heardIncarnation(),
                sender.isOpen(),
                sender.sent(),
                sender.sentBytes(),
                received.get(),
                receivedBytes.get(),
                sender.refusedBackPressure(),
                sender.refusedNotConnected(),
                sender.refusedBusy(),
                connects.get(),
                dropped.get(),
                malformed.get());
    }
}
