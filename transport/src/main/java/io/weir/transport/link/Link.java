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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One pair's two streams, seen from one end. The link thread owns everything but the offers, which are the broker thread's.
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
 *   <tr><td>fallen</td><td>told as lost (once the inbox has room) → down, with a new session: whoever was up at the other end sees it
 *       and falls too</td></tr>
 * </table>
 */
final class Link implements ControlledFragmentHandler {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final long NONE = Aeron.NULL_VALUE;
    private static final int FRAGMENTS_PER_TURN = 64;
    /** Between two terms Aeron refuses once and takes the next offer; a second refusal in a row is rare. */
    private static final int ADMIN_TRIES = 3;

    private static final long ATTENTIVE_IPC_NS = TimeUnit.MICROSECONDS.toNanos(100);
    private static final long ATTENTIVE_UDP_NS = TimeUnit.MILLISECONDS.toNanos(3);
    private static final long HANDSHAKE_HELLO_NS = TimeUnit.MILLISECONDS.toNanos(20);

    private final int number;
    private final PeerAddress self;
    private final PeerAddress peer;
    private final LinkSettings settings;
    private final Inbox inbox;
    private final Doorbell doorbell;
    private final LongSupplier sessions;
    private final String channelOut;
    private final String channelIn;
    private final int streamOut;
    private final int streamIn;

    /** Held by whoever uses or closes the publication: its memory is unmapped when the client closes. */
    private final AtomicBoolean publicationInUse = new AtomicBoolean();

    private final BufferClaim claim = new BufferClaim();
    private final UnsafeBuffer dataHeader = new UnsafeBuffer(new byte[LinkFrames.DATA_HEADER_BYTES]);
    private final UnsafeBuffer helloFrame = new UnsafeBuffer(new byte[LinkFrames.MAX_HELLO_BYTES]);
    private final ExpandableArrayBuffer assembly = new ExpandableArrayBuffer(0);
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

    private Image polled;
    private long turnNs;
    private int forwarded;
    private boolean held;
    private int assembled;
    private boolean assembling;

    private volatile boolean open;
    private volatile boolean waitingForRoom;
    private volatile InetSocketAddress peersDoorbell;
    private long lastSentNs = System.nanoTime();

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

    Link(
            int number,
            PeerAddress self,
            PeerAddress peer,
            LinkSettings settings,
            Inbox inbox,
            Doorbell doorbell,
            LongSupplier sessions) {
        this.number = number;
        this.self = self;
        this.peer = peer;
        this.settings = settings;
        this.inbox = inbox;
        this.doorbell = doorbell;
        this.sessions = sessions;
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

    void attach(Aeron client) {
        aeron = client;
        retryAtNs = System.nanoTime();
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

    /** Whether something waits that no knock will tell of. */
    boolean isHeldUp() {
        return held || waitingForRoom && open;
    }

    /** How long to look for more after a frame. Media drivers in between add the time that they park, up to 1 ms each. */
    long attentiveNs() {
        return self.sharesDriverWith(peer) ? ATTENTIVE_IPC_NS : ATTENTIVE_UDP_NS;
    }

    int doWork(long nowNs) {
        turnNs = nowNs;
        forwarded = 0;
        held = false;
        try {
            if (aeron != null && nowNs - retryAtNs >= 0 && hasStreams()) {
                poll();
                checkAlive();
            }
            int work = forwarded + tell();
            if (publication != null && subscription != null) {
                sayHello();
                open = told && !fallen && toldHeard == heardSession;
                wakeWhoWaitsForRoom();
            }
            return work;
        } catch (RuntimeException e) {
            LOG.warn(
                    "link to {} failed and is tried again in {} ms: {}",
                    peer.id(),
                    settings.retry().toMillis(),
                    e.toString());
            Aeron client = aeron;
            // A stream that is still only asked for is the one that failed: they are asked for one after the other.
            detach(false);
            aeron = client;
            retryAtNs = nowNs + settings.retry().toNanos();
            return tell();
        }
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
                session = sessions.getAsLong();
                nextHelloNs = turnNs;
                publication = ready;
            }
        }
        return subscription != null && publication != null;
    }

    private void poll() {
        for (int i = 0, count = subscription.imageCount(); i < count && !fallen; i++) {
            polled = subscription.imageAtIndex(i);
            polled.controlledPoll(this, FRAGMENTS_PER_TURN);
        }
    }

    private void checkAlive() {
        if (hearing
                && (heardImage.isClosed()
                        || turnNs - lastHeardNs > settings.silence().toNanos())) {
            hearing = false;
        }
        if (told && (!hearing || !peerHears || publication.isClosed() || !publication.isConnected())) {
            fallen = true;
        } else if (!told && publication.isClosed()) {
            closePublication();
        }
    }

    private int tell() {
        if (fallen) {
            open = false;
            if (!inbox.lost(number)) {
                return 0;
            }
            LOG.info("link to {} lost", peer.id());
            told = false;
            fallen = false;
            hearing = false;
            closePublication();
            return 1;
        }
        if (!told && hearing && peerHears) {
            if (!inbox.connected(number, new Peer(peer.id(), heardIncarnation))) {
                return 0;
            }
            LOG.info("link to {}#{} up", peer.id(), heardIncarnation);
            told = true;
            connects.lazySet(connects.get() + 1);
            return 1;
        }
        return 0;
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
                    new LinkFrames.Hello(self.id(), self.incarnation(), peer.id(), session, heard, doorbell.port()),
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

    private void wakeWhoWaitsForRoom() {
        if (!waitingForRoom || !publicationInUse.compareAndSet(false, true)) {
            return;
        }
        boolean room;
        try {
            room = publication.availableWindow() >= roomBytes;
        } finally {
            publicationInUse.set(false);
        }
        if (room) {
            waitingForRoom = false;
            inbox.wakeReader();
        }
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
        // Not told yet, or no room: the stream waits where it is, and its sender with it.
        if (!told || !inbox.frame(number, turnNs - ageNs, buffer, offset + LinkFrames.DATA_HEADER_BYTES, bodyLength)) {
            held = true;
            return Action.ABORT;
        }
        forwarded++;
        count(received);
        receivedBytes.lazySet(receivedBytes.get() + bodyLength);
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
            knock();
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

    /** The peer's link thread does not doze within twice this time after a frame. */
    private void knock() {
        long nowNs = System.nanoTime();
        InetSocketAddress address = peersDoorbell;
        if (nowNs - lastSentNs > attentiveNs() / 2 && address != null) {
            doorbell.knock(address);
        }
        lastSentNs = nowNs;
    }

    private void waitForRoom() {
        waitingForRoom = true;
        doorbell.ring();
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
