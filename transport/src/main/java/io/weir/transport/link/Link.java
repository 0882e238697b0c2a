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
    private final int maxFrameBytes;
    private final ControlledFragmentHandler peek = this::onPeek;

    private Aeron aeron;
    private Subscription subscription;
    private long subscriptionId = NONE;
    private long retryAtNs;

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

    /**
     * The fragments of a frame that came so far, of bytes outside the heap like the streams': whoever reads a frame
     * finds a ByteBuffer under it.
     */
    private final UnsafeBuffer assembly = new UnsafeBuffer(ByteBuffer.allocateDirect(0));

    private int assembled;
    private boolean assembling;

    /** It is in the list of those whose peers have to be knocked at; the broker thread's. */
    boolean owesKnock;

    private final AtomicLong received = new AtomicLong();
    private final AtomicLong receivedBytes = new AtomicLong();
    private final AtomicLong connects = new AtomicLong();
    private final AtomicLong dropped = new AtomicLong();
    private final AtomicLong malformed = new AtomicLong();

    Link(PeerAddress self, PeerAddress peer, LinkSettings settings, Links links) {
        this.self = self;
        this.peer = peer;
        this.settings = settings;
        this.links = links;
        channelIn = peer.channelTo(self, settings.termBytes());
        streamIn = peer.streamTo(self);
        handshake = new LinkHandshake(self, peer, settings);
        sender = new LinkSender(self.channelTo(peer, settings.termBytes()), self.streamTo(peer), settings, links);
        maxFrameBytes = settings.maxBodyBytes() + LinkFrames.DATA_HEADER_BYTES;
    }

    PeerAddress peer() {
        return peer;
    }

    /** Earlier lives of the peer are over. */
    void expectAtLeast(long incarnation) {
        handshake.expectAtLeast(incarnation);
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
        if (wantsPublication && sender.askForPublication(aeron)) {
            handshake.beginSession(links.nextSession(), turnNs);
        }
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
        byte flags = header.flags();
        if ((flags & FrameDescriptor.UNFRAGMENTED) == FrameDescriptor.UNFRAGMENTED) {
            return onFrame(buffer, offset, length);
        }
        if ((flags & FrameDescriptor.BEGIN_FRAG_FLAG) != 0) {
            assembling = handshake.comesThrough(polled);
            assembled = 0;
            if (!assembling) {
                LinkSender.count(dropped);
            }
        }
        if (!assembling || !handshake.comesThrough(polled)) {
            return Action.CONTINUE;
        }
        if (assembled + length > maxFrameBytes) {
            assembling = false;
            LinkSender.count(malformed);
            return Action.CONTINUE;
        }
        reserve(assembled + length);
        assembly.putBytes(assembled, buffer, offset, length);
        if ((flags & FrameDescriptor.END_FRAG_FLAG) == 0) {
            assembled += length;
            handshake.heardAt(turnNs);
            return Action.CONTINUE;
        }
        Action action = onFrame(assembly, 0, assembled + length);
        assembling = action == Action.ABORT;
        return action;
    }

    private void reserve(int bytes) {
        if (assembly.capacity() < bytes) {
            ByteBuffer larger =
                    ByteBuffer.allocateDirect(Math.min(maxFrameBytes, BitUtil.findNextPositivePowerOfTwo(bytes)));
            larger.put(0, assembly.byteBuffer(), 0, assembled);
            assembly.wrap(larger);
        }
    }

    private Action onFrame(DirectBuffer buffer, int offset, int length) {
        byte type = LinkFrames.typeOf(buffer, offset, length);
        if (type == LinkFrames.DATA && length >= LinkFrames.DATA_HEADER_BYTES && length <= maxFrameBytes) {
            long ageNs = LinkFrames.ageNs(buffer, offset);
            if (ageNs >= 0) {
                return onData(ageNs, buffer, offset, length);
            }
        } else if (type == LinkFrames.HELLO) {
            LinkFrames.Hello hello = LinkFrames.decodeHello(buffer, offset, length);
            if (hello != null) {
                return onHello(hello);
            }
        }
        LinkSender.count(malformed);
        return Action.CONTINUE;
    }

    private Action onHello(LinkFrames.Hello hello) {
        boolean sameImage = handshake.comesThrough(polled);
        return switch (handshake.onHello(hello, polled, turnNs)) {
            case HEARD -> {
                // What another image began is not continued by this one.
                assembling &= sameImage;
                reportIfConnected();
                yield Action.CONTINUE;
            }
            case DROPPED -> {
                LinkSender.count(dropped);
                yield Action.CONTINUE;
            }
            case FALLEN -> Action.ABORT;
        };
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
        events.onFrame(connected, buffer, offset + LinkFrames.DATA_HEADER_BYTES, bodyLength, turnNs - ageNs);
        return Action.CONTINUE;
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

    /** As above for a body that is not written yet; {@code scratch} takes it first if it is longer than a fragment. */
    boolean offer(int length, BodyWriter writer, long ageNs, UnsafeBuffer scratch) {
        return knockIf(sender.offer(length, writer, ageNs, scratch));
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
