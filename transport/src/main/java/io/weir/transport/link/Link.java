package io.weir.transport.link;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.ControlledFragmentHandler;
import io.aeron.logbuffer.FrameDescriptor;
import io.aeron.logbuffer.Header;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One pair's two streams, seen from one end. The broker's thread reads ({@link #poll}) and offers; the link thread {@link #tend}s: asks for
 * streams, and says hello when the broker's has nothing to do. Both tend and poll only in their {@link LinkLock}, so all state but that
 * of offers has one owner at a time.
 *
 * <p>A connection is agreed on by both ends, so that no frame of an earlier one can pass for one of the present. Every publication is a
 * session with a number; each end says its session and the one that it hears.
 *
 * <table>
 *   <caption>States</caption>
 *   <tr><th>state</th><th>what leads on</th></tr>
 *   <tr><td>down</td><td>the peer's hello is heard and names this end's session → up, told as connected</td></tr>
 *   <tr><td>up</td><td>a hello of a later session, a hello that does not name this end's session, silence, the image or the
 *       publication gone → fallen</td></tr>
 *   <tr><td>fallen</td><td>told as lost → down, with a new session: whoever was up at the other end sees it
 *       and falls too</td></tr>
 * </table>
 */
final class Link implements ControlledFragmentHandler {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final long NONE = Aeron.NULL_VALUE;
    /** Between two terms Aeron refuses once and takes the next offer; a second refusal in a row is rare. */
    private static final int ADMIN_TRIES = 3;

    private static final long HANDSHAKE_HELLO_NS = TimeUnit.MILLISECONDS.toNanos(20);

    private final PeerAddress self;
    private final PeerAddress peer;
    private final LinkSettings settings;
    private final Links links;
    private final String channelOut;
    private final String channelIn;
    private final int streamOut;
    private final int streamIn;

    /** Held by whoever uses or closes the publication: its memory is unmapped when the client closes. */
    private final AtomicBoolean publicationInUse = new AtomicBoolean();

    private final BufferClaim claim = new BufferClaim();
    private final UnsafeBuffer dataHeader = new UnsafeBuffer(new byte[LinkFrames.DATA_HEADER_BYTES]);
    private final UnsafeBuffer helloFrame = new UnsafeBuffer(new byte[LinkFrames.MAX_HELLO_BYTES]);
    /** Of bytes outside the heap, like the streams': whoever reads a frame finds a ByteBuffer under it. */
    private final UnsafeBuffer assembly = new UnsafeBuffer(ByteBuffer.allocateDirect(0));

    private final ControlledFragmentHandler peek = this::onPeek;
    private final int maxFrameBytes;
    private final long roomBytes;

    private Aeron aeron;
    private Subscription subscription;
    private ExclusivePublication publication;
    private long subscriptionId = NONE;
    private long publicationId = NONE;
    private long retryAtNs;

    private long leastIncarnation;
    private long session;
    private long heardIncarnation;
    private long heardSession;
    private Image heardImage;
    private boolean hearing;
    private boolean peerHears;
    private long lastHeardNs;
    private long toldHeard;
    private long nextHelloNs;
    private long sentAtHello;
    private boolean told;
    private boolean fallen;

    private LinkEvents events;
    private Peer connected;
    private Image polled;
    private long turnNs;
    private int handed;
    private boolean more;
    private int assembled;
    private boolean assembling;
    private boolean peeked;

    private volatile boolean open;
    private volatile boolean waitingForRoom;
    private volatile InetSocketAddress peersDoorbell;
    /** It is in the list of those whose peers have to be knocked at; the broker thread's. */
    boolean owesKnock;

    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong sentBytes = new AtomicLong();
    private final AtomicLong received = new AtomicLong();
    private final AtomicLong receivedBytes = new AtomicLong();
    private final AtomicLong refusedBackPressure = new AtomicLong();
    private final AtomicLong refusedNotConnected = new AtomicLong();
    private final AtomicLong refusedBusy = new AtomicLong();
    private final AtomicLong connects = new AtomicLong();
    private final AtomicLong dropped = new AtomicLong();
    private final AtomicLong malformed = new AtomicLong();
    private volatile long incarnationSeen;

    Link(PeerAddress self, PeerAddress peer, LinkSettings settings, Links links) {
        this.self = self;
        this.peer = peer;
        this.settings = settings;
        this.links = links;
        this.channelOut = self.channelTo(peer, settings.termBytes());
        this.channelIn = peer.channelTo(self, settings.termBytes());
        this.streamOut = self.streamTo(peer);
        this.streamIn = peer.streamTo(self);
        this.maxFrameBytes = settings.maxBodyBytes() + LinkFrames.DATA_HEADER_BYTES;
        // A quarter of the window, which is half a term: who waits for room then finds enough for a batch.
        this.roomBytes = settings.termBytes() / 8;
        this.leastIncarnation = peer.incarnation();
    }

    PeerAddress peer() {
        return peer;
    }

    /** Lives of the peer before this one are over. */
    void expectAtLeast(long incarnation) {
        leastIncarnation = Math.max(leastIncarnation, incarnation);
        if (hearing && heardIncarnation < leastIncarnation) {
            hearing = false;
            fallen = told;
        }
    }

    void attach(Aeron client, long nowNs) {
        aeron = client;
        retryAtNs = nowNs;
    }

    /** Lets go of every stream; what was connected is lost. After this the client may be closed. */
    void detach(boolean clientWorks) {
        hearing = false;
        fallen = told;
        if (!clientWorks) {
            forgetWhatIsAsked();
        }
        closePublication();
        if (subscription != null) {
            subscription.close();
        } else if (subscriptionId != NONE) {
            aeron.asyncRemoveSubscription(subscriptionId);
        }
        subscription = null;
        subscriptionId = NONE;
        heardImage = null;
        aeron = null;
    }

    /** Whether nothing remains to be told; for a link that is no longer wanted. */
    boolean isQuiet() {
        return !told;
    }

    /** Frames from a peer with a media driver of its own come some time after its knock. */
    boolean sharesDriver() {
        return self.sharesDriverWith(peer);
    }

    /** Whether the peer takes what is offered. */
    boolean isOpen() {
        return open;
    }

    /** By the link thread, in its turn; answers whether the broker's thread has something to poll. */
    boolean tend(long nowNs) {
        turnNs = nowNs;
        try {
            if (aeron != null && nowNs - retryAtNs >= 0 && hasStreams()) {
                checkStreams();
                sayHello();
                updateOpen();
            }
        } catch (RuntimeException e) {
            giveUp(e);
        }
        return fallen || isSilent() || hasFrames();
    }

    /** By the broker's thread, in its turn: tells up to about {@code limit} frames and changes, and how many it told. */
    int poll(LinkEvents to, int limit, long nowNs) {
        turnNs = nowNs;
        events = to;
        handed = 0;
        more = false;
        try {
            if (subscription != null && publication != null) {
                more = !readImages(limit);
                checkStreams();
                // Only who has read everything can say that there was nothing.
                if (!more && isSilent()) {
                    hearing = false;
                    fallen |= told;
                }
            }
            tellIfLost();
            if (subscription != null && publication != null) {
                sayHello();
                updateOpen();
            }
        } catch (RuntimeException e) {
            giveUp(e);
            tellIfLost();
        }
        return handed;
    }

    /** Whether the last poll left something unread. */
    boolean hasMore() {
        return more;
    }

    private void updateOpen() {
        open = told && !fallen && toldHeard == heardSession;
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

    private void forgetWhatIsAsked() {
        if (subscription == null) {
            subscriptionId = NONE;
        }
        if (publication == null) {
            publicationId = NONE;
        }
    }

    private boolean hasStreams() {
        if (subscription == null) {
            if (subscriptionId == NONE) {
                subscriptionId = aeron.asyncAddSubscription(channelIn, streamIn);
            }
            subscription = aeron.getSubscription(subscriptionId);
        }
        if (subscription != null && publication == null && !fallen) {
            if (publicationId == NONE) {
                publicationId = aeron.asyncAddExclusivePublication(channelOut, streamOut);
            }
            ExclusivePublication ready = aeron.getExclusivePublication(publicationId);
            if (ready != null) {
                session = links.nextSession();
                nextHelloNs = turnNs;
                publication = ready;
            }
        }
        return subscription != null && publication != null;
    }

    /** False if it stopped at the limit, or before what has to wait until a loss is told. */
    private boolean readImages(int limit) {
        boolean all = true;
        for (int i = 0, count = subscription.imageCount(); i < count && !fallen; i++) {
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
        return all && !fallen;
    }

    private boolean isSilent() {
        return hearing && turnNs - lastHeardNs > settings.silence().toNanos();
    }

    private void checkStreams() {
        if (hearing && heardImage.isClosed()) {
            hearing = false;
        }
        if (told && (!hearing || !peerHears || publication.isClosed() || !publication.isConnected())) {
            fallen = true;
        } else if (!told && publication.isClosed()) {
            closePublication();
        }
    }

    private void tellIfLost() {
        if (fallen) {
            open = false;
            LOG.info("link to {} lost", peer.id());
            told = false;
            fallen = false;
            hearing = false;
            closePublication();
            handed++;
            events.onPeerLost(connected);
        }
    }

    private void tellIfConnected() {
        if (!told && hearing && peerHears) {
            LOG.info("link to {}#{} up", peer.id(), heardIncarnation);
            told = true;
            connects.lazySet(connects.get() + 1);
            connected = new Peer(peer.id(), heardIncarnation);
            handed++;
            events.onPeerConnected(connected);
        }
    }

    private void closePublication() {
        open = false;
        while (!publicationInUse.compareAndSet(false, true)) {
            Thread.yield();
        }
        try {
            if (publication != null) {
                publication.close();
            } else if (publicationId != NONE) {
                aeron.asyncRemovePublication(publicationId);
            }
            publication = null;
            publicationId = NONE;
            peerHears = false;
            toldHeard = NONE;
        } finally {
            publicationInUse.set(false);
        }
    }

    private void sayHello() {
        if (open && turnNs - nextHelloNs >= 0 && sent.get() != sentAtHello) {
            // What was sent since is sign of life enough, and the publication stays the broker thread's alone.
            sentAtHello = sent.get();
            nextHelloNs = turnNs + settings.helloInterval().toNanos();
        }
        if (turnNs - nextHelloNs < 0 || !publication.isConnected() || !publicationInUse.compareAndSet(false, true)) {
            return;
        }
        try {
            long heard = hearing ? heardSession : 0;
            int length = LinkFrames.encodeHello(
                    new LinkFrames.Hello(
                            self.id(), self.incarnation(), peer.id(), session, heard, links.doorbellPort(this)),
                    helloFrame,
                    0);
            if (publication.offer(helloFrame, 0, length) > 0) {
                toldHeard = heard;
                nextHelloNs = turnNs + (told ? settings.helloInterval().toNanos() : HANDSHAKE_HELLO_NS);
            }
        } finally {
            publicationInUse.set(false);
        }
    }

    boolean waitsForRoom() {
        return waitingForRoom && open;
    }

    /** By the link thread, without a turn: whether an offer that was refused may be tried again. */
    boolean hasRoomAgain() {
        if (!waitingForRoom || !publicationInUse.compareAndSet(false, true)) {
            return false;
        }
        try {
            if (publication == null || publication.availableWindow() < roomBytes) {
                return false;
            }
        } finally {
            publicationInUse.set(false);
        }
        waitingForRoom = false;
        return true;
    }

    @Override
    public Action onFragment(DirectBuffer buffer, int offset, int length, Header header) {
        if (fallen) {
            return Action.ABORT;
        }
        byte flags = header.flags();
        if ((flags & FrameDescriptor.UNFRAGMENTED) == FrameDescriptor.UNFRAGMENTED) {
            return onFrame(buffer, offset, length);
        }
        if ((flags & FrameDescriptor.BEGIN_FRAG_FLAG) != 0) {
            assembling = polled == heardImage;
            assembled = 0;
            if (!assembling) {
                count(dropped);
            }
        }
        if (!assembling || polled != heardImage) {
            return Action.CONTINUE;
        }
        if (assembled + length > maxFrameBytes) {
            assembling = false;
            count(malformed);
            return Action.CONTINUE;
        }
        reserve(assembled + length);
        assembly.putBytes(assembled, buffer, offset, length);
        if ((flags & FrameDescriptor.END_FRAG_FLAG) == 0) {
            assembled += length;
            lastHeardNs = turnNs;
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
        count(malformed);
        return Action.CONTINUE;
    }

    private Action onHello(LinkFrames.Hello hello) {
        boolean forThisLink = hello.to().equals(self.id()) && hello.from().equals(peer.id());
        if (!forThisLink || hello.incarnation() < leastIncarnation || isStale(hello)) {
            count(dropped);
            return Action.CONTINUE;
        }
        boolean sameSession = hello.incarnation() == heardIncarnation && hello.session() == heardSession;
        if (told && (!sameSession || hello.heard() != session)) {
            // Read again when the loss is told and this end has a new session.
            fallen = true;
            return Action.ABORT;
        }
        if (!sameSession || polled != heardImage) {
            heardIncarnation = hello.incarnation();
            incarnationSeen = heardIncarnation;
            heardSession = hello.session();
            heardImage = polled;
            peersDoorbell = doorbellOf(hello);
            assembling = false;
        }
        hearing = true;
        lastHeardNs = turnNs;
        peerHears = hello.heard() == session;
        if (toldHeard != heardSession) {
            nextHelloNs = turnNs;
        }
        tellIfConnected();
        return Action.CONTINUE;
    }

    private InetSocketAddress doorbellOf(LinkFrames.Hello hello) {
        InetSocketAddress address = new InetSocketAddress(peer.endpoint().host(), hello.doorbell());
        return hello.doorbell() == 0 || address.isUnresolved() ? null : address;
    }

    /** Two images of one peer are read independently of each other: the earlier one's rest may come after the later one's start. */
    private boolean isStale(LinkFrames.Hello hello) {
        return hello.incarnation() < heardIncarnation
                || hello.incarnation() == heardIncarnation && hello.session() < heardSession;
    }

    private Action onData(long ageNs, DirectBuffer buffer, int offset, int length) {
        if (!hearing || !peerHears || polled != heardImage) {
            count(dropped);
            return Action.CONTINUE;
        }
        lastHeardNs = turnNs;
        int bodyLength = length - LinkFrames.DATA_HEADER_BYTES;
        handed++;
        count(received);
        receivedBytes.lazySet(receivedBytes.get() + bodyLength);
        events.onFrame(connected, buffer, offset + LinkFrames.DATA_HEADER_BYTES, bodyLength, turnNs - ageNs);
        return Action.CONTINUE;
    }

    boolean offer(DirectBuffer body, int offset, int length, long ageNs) {
        if (!enter()) {
            return false;
        }
        try {
            int frameLength = LinkFrames.DATA_HEADER_BYTES + length;
            boolean small = frameLength <= publication.maxPayloadLength();
            if (!small) {
                LinkFrames.encodeDataHeader(ageNs, dataHeader, 0);
            }
            long position = Publication.ADMIN_ACTION;
            for (int i = 0; i < ADMIN_TRIES && position == Publication.ADMIN_ACTION; i++) {
                position = small
                        ? publication.tryClaim(frameLength, claim)
                        : publication.offer(dataHeader, 0, LinkFrames.DATA_HEADER_BYTES, body, offset, length, null);
            }
            if (small && position > 0) {
                LinkFrames.encodeDataHeader(ageNs, claim.buffer(), claim.offset());
                claim.buffer().putBytes(claim.offset() + LinkFrames.DATA_HEADER_BYTES, body, offset, length);
                claim.commit();
            }
            return counted(position, length);
        } finally {
            publicationInUse.set(false);
        }
    }

    /** As above for a body that is not written yet; {@code scratch} takes it first if it is longer than a fragment. */
    boolean offer(int length, BodyWriter writer, long ageNs, UnsafeBuffer scratch) {
        if (!enter()) {
            return false;
        }
        int frameLength = LinkFrames.DATA_HEADER_BYTES + length;
        boolean small;
        try {
            small = frameLength <= publication.maxPayloadLength();
            if (small) {
                long position = Publication.ADMIN_ACTION;
                for (int i = 0; i < ADMIN_TRIES && position == Publication.ADMIN_ACTION; i++) {
                    position = publication.tryClaim(frameLength, claim);
                }
                if (position > 0) {
                    writeClaimed(writer, ageNs);
                }
                return counted(position, length);
            }
        } finally {
            publicationInUse.set(false);
        }
        writer.write(scratch, 0);
        return offer(scratch, 0, length, ageNs);
    }

    private void writeClaimed(BodyWriter writer, long ageNs) {
        boolean written = false;
        try {
            LinkFrames.encodeDataHeader(ageNs, claim.buffer(), claim.offset());
            writer.write(claim.buffer(), claim.offset() + LinkFrames.DATA_HEADER_BYTES);
            written = true;
        } finally {
            // A claim that is left open would stop the stream.
            if (written) {
                claim.commit();
            } else {
                claim.abort();
            }
        }
    }

    private boolean enter() {
        if (!open) {
            count(refusedNotConnected);
            return false;
        }
        if (!publicationInUse.compareAndSet(false, true)) {
            count(refusedBusy);
            waitForRoom();
            return false;
        }
        if (!open) {
            publicationInUse.set(false);
            count(refusedNotConnected);
            return false;
        }
        return true;
    }

    private boolean counted(long position, int length) {
        if (position > 0) {
            count(sent);
            sentBytes.lazySet(sentBytes.get() + length);
            links.knockLater(this);
            return true;
        }
        if (position == Publication.BACK_PRESSURED) {
            count(refusedBackPressure);
            waitForRoom();
        } else if (position == Publication.ADMIN_ACTION) {
            count(refusedBusy);
            waitForRoom();
        } else {
            count(refusedNotConnected);
        }
        return false;
    }

    /** Where the peer wants to be knocked at, or null. */
    InetSocketAddress peersDoorbell() {
        return peersDoorbell;
    }

    private void waitForRoom() {
        waitingForRoom = true;
        links.ring();
    }

    LinkStats stats() {
        return new LinkStats(
                peer.id(),
                incarnationSeen,
                open,
                sent.get(),
                sentBytes.get(),
                received.get(),
                receivedBytes.get(),
                refusedBackPressure.get(),
                refusedNotConnected.get(),
                refusedBusy.get(),
                connects.get(),
                dropped.get(),
                malformed.get());
    }

    /** Each counter has one writer, so it needs no read-modify-write that is atomic. */
    private static void count(AtomicLong counter) {
        counter.lazySet(counter.get() + 1);
    }
}
