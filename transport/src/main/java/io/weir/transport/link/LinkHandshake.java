package io.weir.transport.link;

import io.aeron.Aeron;
import io.aeron.Image;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * How the two ends of a link agree on a connection, so that no frame of an earlier one can pass for one of the present.
 * Every publication is a session with a random number; each end says, in hellos, its own session and the one that it
 * hears. Only hellos of the life that the store names are heard, so nobody can pass for a later one. For whoever has
 * the {@link LinkLock}, except for what says otherwise.
 *
 * <table>
 *   <caption>States</caption>
 *   <tr><th>state</th><th>what leads on</th></tr>
 *   <tr><td>down</td><td>the peer's hello is heard and names this end's session → up, reported as connected</td></tr>
 *   <tr><td>up</td><td>a hello of another session, a hello that does not name this end's session, silence, the image or the
 *       publication gone → fallen</td></tr>
 *   <tr><td>fallen</td><td>reported as lost → down, with a new session: if the other end is up, it sees it and falls too</td></tr>
 * </table>
 */
final class LinkHandshake {
    private enum State {
        DOWN,
        UP,
        FALLEN;

        private State next() {
            return switch (this) {
                case DOWN -> UP;
                case UP -> FALLEN;
                case FALLEN -> DOWN;
            };
        }
    }

    private enum Hearing {
        NOBODY,
        /** The peer's hellos are heard; they do not name this end's session. */
        PEER,
        /** They name it: the peer hears this end too. */
        EACH_OTHER
    }

    /** What became of a hello. */
    enum Verdict {
        HEARD,
        /** It is for another link, of another life, or from the past. */
        DROPPED,
        /** The two versions of Weir can't talk. */
        REFUSED,
        /**
         * It ends the connection that is up. Read it again when the loss is reported and this end has a new session.
         */
        FALLEN
    }

    private static final long NONE = Aeron.NULL_VALUE;
    private static final long HANDSHAKE_HELLO_NS = TimeUnit.MILLISECONDS.toNanos(20);

    private final PeerAddress self;
    private final PeerAddress peer;
    private final long silenceNs;
    private final long helloIntervalNs;

    private State state = State.DOWN;
    private Hearing hearing = Hearing.NOBODY;
    private volatile long expectedIncarnation;
    private long session;
    private volatile long heardIncarnation;
    private long heardSession;
    private Image heardImage;
    /** The media driver numbers images in the order in which they came. */
    private long heardImageNumber = Long.MIN_VALUE;

    private long lastHeardNs;
    private long nextHelloNs;
    /** The peer's session that the last hello of this session named. */
    private long namedSession;

    private volatile InetSocketAddress peersDoorbell;

    LinkHandshake(PeerAddress self, PeerAddress peer, LinkSettings settings) {
        this.self = self;
        this.peer = peer;
        silenceNs = settings.silence().toNanos();
        helloIntervalNs = settings.helloInterval().toNanos();
        expectedIncarnation = peer.incarnation();
    }

    private void moveTo(State next) {
        if (next != state.next()) {
            throw new IllegalStateException("the link to " + peer.id() + " can't go from " + state + " to " + next);
        }
        state = next;
    }

    boolean isDown() {
        return state == State.DOWN;
    }

    boolean hasFallen() {
        return state == State.FALLEN;
    }

    /** Whether it is up, and the peer was told which of its sessions is heard: it takes what is sent. */
    boolean isAgreed() {
        return state == State.UP && namedSession == heardSession;
    }

    /** The store says that the peer is in this life. */
    void expect(long incarnation) {
        expectedIncarnation = incarnation;
        if (heardIncarnation != expectedIncarnation) {
            stopHearing();
        }
    }

    /** From any thread. */
    long expectedIncarnation() {
        return expectedIncarnation;
    }

    /** What was heard of the peer no longer counts. */
    void stopHearing() {
        forgetWhoIsHeard();
        fallIfUp();
    }

    private void forgetWhoIsHeard() {
        hearing = Hearing.NOBODY;
        heardImageNumber = Long.MIN_VALUE;
    }

    void fallIfUp() {
        if (state == State.UP) {
            moveTo(State.FALLEN);
        }
    }

    /** Falls if one of the ends no longer hears the other. */
    void check() {
        if (hearing != Hearing.NOBODY && heardImage.isClosed()) {
            forgetWhoIsHeard();
        }
        if (hearing != Hearing.EACH_OTHER) {
            fallIfUp();
        }
    }

    boolean isSilent(long nowNs) {
        return hearing != Hearing.NOBODY && nowNs - lastHeardNs > silenceNs;
    }

    /** There is a publication. */
    void beginSession(long number, long nowNs) {
        session = number;
        nextHelloNs = nowNs;
    }

    /** The publication is gone: nobody hears this end. */
    void endSession() {
        if (hearing == Hearing.EACH_OTHER) {
            hearing = Hearing.PEER;
        }
        namedSession = NONE;
    }

    /** Forgets the image, whose memory is about to be unmapped. After {@link #stopHearing}. */
    void forgetImage() {
        heardImage = null;
    }

    /** @param imageNumber the image's, higher for those that came later */
    Verdict onHello(LinkFrames.Hello hello, Image image, long imageNumber, long nowNs) {
        boolean forThisLink = hello.to().equals(self.id()) && hello.from().equals(peer.id());
        // The images of one peer are read independently: the earlier one's rest may come after the later one's start.
        if (!forThisLink || hello.incarnation() != expectedIncarnation || imageNumber < heardImageNumber) {
            return Verdict.DROPPED;
        }
        if ((hello.needs() & ~LinkFrames.FEATURES) != 0 || (LinkFrames.NEEDS & ~hello.features()) != 0) {
            return Verdict.REFUSED;
        }
        boolean sameSession = hello.incarnation() == heardIncarnation && hello.session() == heardSession;
        if (state == State.UP && (!sameSession || hello.heard() != session)) {
            moveTo(State.FALLEN);
            return Verdict.FALLEN;
        }
        if (!sameSession || image != heardImage) {
            heardIncarnation = hello.incarnation();
            heardSession = hello.session();
            heardImage = image;
            peersDoorbell = doorbellOf(hello);
        }
        heardImageNumber = imageNumber;
        hearing = hello.heard() == session ? Hearing.EACH_OTHER : Hearing.PEER;
        lastHeardNs = nowNs;
        if (namedSession != heardSession) {
            nextHelloNs = nowNs;
        }
        return Verdict.HEARD;
    }

    private InetSocketAddress doorbellOf(LinkFrames.Hello hello) {
        InetSocketAddress address = new InetSocketAddress(peer.endpoint().host(), hello.doorbell());
        return hello.doorbell() == 0 || address.isUnresolved() ? null : address;
    }

    /** Whether the session that is heard comes through this image. */
    boolean comesThrough(Image image) {
        return image == heardImage;
    }

    /** Whether data of this image belongs to the present connection. */
    boolean accepts(Image image) {
        return hearing == Hearing.EACH_OTHER && image == heardImage;
    }

    /** Something else than a hello came of the session that is heard. */
    void heardAt(long nowNs) {
        lastHeardNs = nowNs;
    }

    boolean canConnect() {
        return state == State.DOWN && hearing == Hearing.EACH_OTHER;
    }

    void connected() {
        moveTo(State.UP);
    }

    void lossReported() {
        moveTo(State.DOWN);
        hearing = Hearing.NOBODY;
    }

    boolean isHelloDue(long nowNs) {
        return nowNs - nextHelloNs >= 0;
    }

    /** The peer has had another sign of life. */
    void skipHello(long nowNs) {
        nextHelloNs = nowNs + helloIntervalNs;
    }

    LinkFrames.Hello hello(int doorbellPort) {
        long heard = hearing == Hearing.NOBODY ? 0 : heardSession;
        return new LinkFrames.Hello(self.id(), self.incarnation(), peer.id(), session, heard, doorbellPort);
    }

    void saidHello(LinkFrames.Hello hello, long nowNs) {
        namedSession = hello.heard();
        nextHelloNs = nowNs + (state == State.DOWN ? HANDSHAKE_HELLO_NS : helloIntervalNs);
    }

    /** From any thread: the incarnation of the peer that was heard last; 0 for none. */
    long heardIncarnation() {
        return heardIncarnation;
    }

    /** From any thread: where the peer wants to be knocked at, or null. */
    InetSocketAddress peersDoorbell() {
        return peersDoorbell;
    }
}
