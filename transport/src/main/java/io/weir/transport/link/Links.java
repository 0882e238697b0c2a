package io.weir.transport.link;

import io.aeron.Aeron;
import io.aeron.exceptions.TimeoutException;
import io.weir.config.value.BrokerId;
import io.weir.transport.MediaDriverProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectableChannel;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.agrona.DirectBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One broker's end of its links to all others. Brokers that share a media driver link through its shared memory, others
 * by UDP.
 *
 * <p>Three kinds of callers. Anyone says which peers are wanted ({@link #connect}, {@link #disconnect}). The broker's
 * one thread sends ({@link #offer}, and {@link #knock} when it has nothing more to offer for now) and receives
 * ({@link #poll}), straight from the streams. It may sleep: a peer on the same host that has sent something knocks at
 * {@link #channel}. The link thread, which this class starts, does what takes its time: looks for the media driver and
 * serves its client, asks for streams. It also watches what no knock announces, and calls {@code wakeUp} then: frames
 * from other hosts, which come some time after the knock, room for an offer that was refused, a peer's silence, a
 * driver's death.
 *
 * <p>Nothing here blocks the broker's thread. A peer that does not read fills its own stream and is refused; the others
 * go on. When the media driver dies every peer is reported as lost, and the links come back by themselves when a driver
 * is there again.
 */
public final class Links implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Links.class);
    private static final long DRIVER_TIMEOUT_MS = 2_000;
    private static final long KEEP_ALIVE_NS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long PARK_NS = 1_000;
    /** Frames come from another media driver so long after the knock: each of two drivers parks up to 1 ms. */
    private static final long ATTENTIVE_NS = TimeUnit.MILLISECONDS.toNanos(3);

    /**
     * While something is on its way: streams asked for, a peer that does not answer yet, knocks that may be lost
     * between hosts.
     */
    private static final long TEND_NS = TimeUnit.MILLISECONDS.toNanos(10);

    private static final long TEND_SETTLED_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private volatile PeerAddress self;
    private final LinkSettings settings;
    private final LinkKeys keys;
    private final SecureRandom random = new SecureRandom();
    private final Runnable wakeUp;
    private final Doorbell doorbell;
    private final Doze doze;
    private final LinkLock turn;
    private final Lifelines lifelines;
    private final Thread thread;

    /** What is wanted rather than a queue of wishes: it cannot overflow, and only the last word about a peer counts. */
    private final Map<BrokerId, PeerAddress> wanted = new HashMap<>();

    private volatile boolean wantedChanged;
    private volatile boolean running = true;

    private final Map<BrokerId, Link> links = new ConcurrentHashMap<>();
    private final List<Link> leaving = new ArrayList<>();
    private volatile Link[] present = {};
    private final List<Link> toKnock = new ArrayList<>();
    private int firstPolled;
    private boolean more;
    private Throwable handlerError;
    private final AtomicLong refusedUnknownPeer = new AtomicLong();

    private Aeron aeron;
    private boolean clientFailed;
    private boolean absenceLogged;
    private long retryAtNs;
    private volatile long driverConnects;

    private long attentiveUntilNs;

    private final LongSupplier clock;

    private Links(PeerAddress self, LinkSettings settings, Runnable wakeUp, LongSupplier clock) {
        this.clock = clock;
        this.attentiveUntilNs = clock.getAsLong();
        this.retryAtNs = attentiveUntilNs;
        this.self = self;
        this.settings = settings;
        this.keys = new LinkKeys(settings.maxPeers());
        this.wakeUp = wakeUp;
        this.turn = new LinkLock(wakeUp);
        this.doorbell = Doorbell.open(self.endpoint().host());
        this.doze = new Doze(self.endpoint().host());
        this.lifelines = lifelines();
        this.thread = new Thread(this::run, "links-" + self.id());
        thread.setDaemon(true);
    }

    private Lifelines lifelines() {
        try {
            return new Lifelines(() -> self, peer -> peerEnded(peer.id(), peer.incarnation()));
        } catch (IOException e) {
            throw new UncheckedIOException("no selector for the lifelines", e);
        }
    }

    /**
     * Starts the link thread. The media driver need not be there yet.
     *
     * @param wakeUp called by the link thread, so it must be quick and safe to call from there, like
     *     {@code Selector.wakeup}
     */
    public static Links start(PeerAddress self, LinkSettings settings, Runnable wakeUp) {
        return start(self, settings, wakeUp, System::nanoTime);
    }

    /** @param clock the one that {@link #poll} and {@link #offer} are told by */
    public static Links start(PeerAddress self, LinkSettings settings, Runnable wakeUp, LongSupplier clock) {
        Links started = new Links(self, settings, wakeUp, clock);
        started.lifelines.start();
        started.thread.start();
        return started;
    }

    public BrokerId self() {
        return self.id();
    }

    /** Before the first {@link #connect}: the life that the store has given to this process. */
    public void begin(long incarnation) {
        self = self.in(incarnation);
    }

    /** From any thread: what peers need for {@link #agree}, over a connection that proves who sent it. */
    public byte[] publicKey() {
        return keys.publicKey();
    }

    /**
     * From any thread: links to this life of a peer that leave the host are sealed with what the two keys make. They
     * stay down until then.
     *
     * @throws IllegalArgumentException if it is no such key, or those of {@code maxPeers} brokers are known
     */
    public void agree(BrokerId peer, long incarnation, byte[] publicKey) {
        keys.agree(peer, incarnation, publicKey);
        ring();
    }

    /** From any thread: whether the link to this broker can't come up for want of its key. */
    public boolean lacksKeyOf(BrokerId peer) {
        Link link = links.get(peer);
        return link != null && link.lacksKey();
    }

    /**
     * From any thread: keep a link to this broker, from now on until {@link #disconnect}. A later incarnation ends the
     * earlier one's link.
     */
    public void connect(PeerAddress peer) {
        if (peer.id().equals(self.id())) {
            throw new IllegalArgumentException("broker " + self.id() + " cannot link to itself");
        }
        synchronized (wanted) {
            if (!wanted.containsKey(peer.id()) && wanted.size() >= settings.maxPeers()) {
                throw new IllegalStateException("no link to " + peer.id() + ": " + wanted.size()
                        + " brokers are linked, and maxPeers is " + settings.maxPeers());
            }
            wanted.put(peer.id(), peer);
            lifelines.follow(wanted.values());
        }
        wantedChanged = true;
        ring();
    }

    /** From any thread. A peer that is connected is reported as lost. */
    public void disconnect(BrokerId peer) {
        synchronized (wanted) {
            wanted.remove(peer);
            lifelines.follow(wanted.values());
        }
        keys.forget(peer);
        wantedChanged = true;
        ring();
    }

    /**
     * From any thread: the process of this life of a peer has ended. What it sent is still read, then it is reported as
     * lost.
     */
    void peerEnded(BrokerId peer, long incarnation) {
        Link link = links.get(peer);
        if (link != null) {
            link.peerEnded(incarnation);
            ring();
        }
    }

    /**
     * By the broker's thread: sends one body. False: not now, nothing was sent, and {@link #stats} counts why;
     * {@code wakeUp} is called when there is room again.
     *
     * @param arrivalNs when the message reached the first broker, on this broker's clock
     */
    public boolean offer(BrokerId peer, DirectBuffer body, int offset, int length, long arrivalNs, long nowNs) {
        Link link = linkFor(peer, length);
        return link != null && link.offer(body, offset, length, ageNs(arrivalNs, nowNs));
    }

    /**
     * As the other, but {@code writer} puts the body straight into the stream. It is not called when the offer is
     * refused for want of room.
     */
    public boolean offer(BrokerId peer, int length, BodyWriter writer, long arrivalNs, long nowNs) {
        Link link = linkFor(peer, length);
        return link != null && link.offer(length, writer, ageNs(arrivalNs, nowNs));
    }

    /**
     * By the broker's thread, at the end of what it had to offer for now: wakes the peers that were offered something.
     */
    public void knock() {
        for (int i = 0; i < toKnock.size(); i++) {
            Link link = toKnock.get(i);
            link.owesKnock = false;
            link.flush();
            InetSocketAddress door = link.peersDoorbell();
            if (door != null) {
                doorbell.knock(door);
            }
        }
        toKnock.clear();
    }

    /** Whether {@link #knock} has something to do. */
    public boolean owesKnocks() {
        return !toKnock.isEmpty();
    }

    /** Becomes readable when there is something to poll; for the selector in which the broker's thread sleeps. */
    public SelectableChannel channel() {
        return doorbell.channel();
    }

    /** By the broker's thread when the channel is readable, before it polls. */
    public void answerKnocks() {
        doorbell.answer();
    }

    /**
     * By the broker's thread: reports frames and changes to {@code events}, about {@code limit} at most, and answers
     * how many. If it {@link #hasMore} then, nobody knocks for the rest.
     *
     * @param nowNs on this broker's clock
     */
    public int poll(LinkEvents events, int limit, long nowNs) {
        if (!turn.tryBegin()) {
            return 0;
        }
        int reported = 0;
        more = false;
        try {
            Link[] all = present;
            // Another one first each time: the limit must not always be used up by the same.
            firstPolled = firstPolled + 1 < all.length ? firstPolled + 1 : 0;
            for (int i = 0; i < all.length && reported < limit; i++) {
                Link link = all[(firstPolled + i) % all.length];
                boolean wasOpen = link.isOpen();
                reported += link.poll(events, limit - reported, nowNs);
                more |= link.hasMore();
                if (wasOpen && !link.isOpen()) {
                    ring();
                }
            }
            more |= reported >= limit;
        } finally {
            turn.end();
        }
        if (handlerError != null) {
            Throwable cause = handlerError;
            handlerError = null;
            throw new IllegalStateException("a frame's receiver failed", cause);
        }
        return reported;
    }

    /** By the broker's thread: whether the last poll left something unread. */
    public boolean hasMore() {
        return more;
    }

    /** From any thread: the links that are wanted. */
    public List<LinkStats> stats() {
        return links.values().stream().map(Link::stats).toList();
    }

    /** Offers to brokers that no link is wanted to. */
    public long refusedUnknownPeer() {
        return refusedUnknownPeer.get();
    }

    /** How often a media driver was found; every one after the first is a reconnect. */
    public long driverConnects() {
        return driverConnects;
    }

    /**
     * The peers see this end go at once. Not for the broker's thread to wait in: it may take some tens of milliseconds.
     */
    @Override
    public void close() {
        running = false;
        lifelines.close();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Link linkFor(BrokerId peer, int length) {
        if (length < 0 || length > settings.maxBodyBytes()) {
            throw new IllegalArgumentException(
                    "a body of " + length + " bytes is not within 0 to " + settings.maxBodyBytes());
        }
        Link link = links.get(peer);
        if (link == null) {
            refusedUnknownPeer.lazySet(refusedUnknownPeer.get() + 1);
        }
        return link;
    }

    private static long ageNs(long arrivalNs, long nowNs) {
        return Math.max(0, nowNs - arrivalNs);
    }

    private void run() {
        try {
            long tendAtNs = clock.getAsLong();
            while (running) {
                long nowNs = clock.getAsLong();
                if (doze.wasRung() || nowNs - tendAtNs >= 0) {
                    tendAtNs = nowNs + (tend(nowNs) ? TEND_SETTLED_NS : TEND_NS);
                }
                boolean attentive = nowNs - attentiveUntilNs < 0;
                if (isRoomAgain() || attentive && areFramesThere()) {
                    wakeUp.run();
                }
                if (attentive || anyWaitsForRoom()) {
                    LockSupport.parkNanos(PARK_NS);
                } else if (doze.doze(Math.max(1, TimeUnit.NANOSECONDS.toMillis(tendAtNs - nowNs)))) {
                    attentiveUntilNs = clock.getAsLong() + ATTENTIVE_NS;
                }
            }
        } finally {
            turn.await();
            letGoOfDriver();
            turn.pass();
            doze.close();
            doorbell.close();
        }
    }

    /** Answers whether every link that is wanted is up and needs no more than a look now and then. */
    private boolean tend(long nowNs) {
        if (aeron == null) {
            lookForDriver(nowNs);
        }
        boolean settled = aeron != null;
        boolean news = false;
        turn.await();
        try {
            if (wantedChanged) {
                followWanted();
            }
            if (aeron != null) {
                serviceClient(nowNs);
            }
            for (Link link : present) {
                news |= link.tend(nowNs);
                settled &= link.isOpen() && link.sharesDriver();
            }
            if (leaving.removeIf(Link::isQuiet)) {
                present = concat();
            }
            settled &= leaving.isEmpty() && !wantedChanged;
        } finally {
            turn.pass();
        }
        if (news) {
            wakeUp.run();
        }
        return settled;
    }

    private boolean isRoomAgain() {
        boolean room = false;
        for (Link link : present) {
            room |= link.hasRoomAgain();
        }
        return room;
    }

    private boolean anyWaitsForRoom() {
        for (Link link : present) {
            if (link.waitsForRoom()) {
                return true;
            }
        }
        return false;
    }

    private boolean areFramesThere() {
        turn.await();
        try {
            for (Link link : present) {
                if (link.hasFrames()) {
                    return true;
                }
            }
            return false;
        } finally {
            turn.pass();
        }
    }

    void ring() {
        doze.ring();
    }

    void knockLater(Link link) {
        if (!link.owesKnock) {
            link.owesKnock = true;
            toKnock.add(link);
        }
    }

    /** One that nobody can guess. */
    long newSession() {
        return 1 + random.nextLong(Long.MAX_VALUE);
    }

    LinkKeys keys() {
        return keys;
    }

    long nowNs() {
        return clock.getAsLong();
    }

    /**
     * What a peer writes through the same driver can be read at once; the rest has to be waited for, by the link
     * thread.
     */
    int doorbellPort(Link link) {
        return link.sharesDriver() ? doorbell.port() : doze.door().port();
    }

    private void followWanted() {
        wantedChanged = false;
        Map<BrokerId, PeerAddress> now;
        synchronized (wanted) {
            now = Map.copyOf(wanted);
        }
        for (Link link : links.values()) {
            PeerAddress address = now.get(link.peer().id());
            if (address == null || !address.samePlaceAs(link.peer())) {
                links.remove(link.peer().id());
                link.detach(aeron != null);
                leaving.add(link);
            }
        }
        for (PeerAddress address : now.values()) {
            Link link = links.get(address.id());
            if (link == null && isLeaving(address.id())) {
                wantedChanged = true; // its loss has to be reported before it is connected anew
            } else if (link == null) {
                link = new Link(self, address, settings, settings.termBytes(now.size()), this);
                if (aeron != null) {
                    link.attach(aeron, clock.getAsLong());
                }
                links.put(address.id(), link);
            } else {
                link.expect(address.incarnation());
            }
        }
        present = concat();
    }

    /** Includes those that are leaving, until their loss is reported. */
    private Link[] concat() {
        return Stream.concat(links.values().stream(), leaving.stream()).toArray(Link[]::new);
    }

    private boolean isLeaving(BrokerId peer) {
        return leaving.stream().anyMatch(link -> link.peer().id().equals(peer));
    }

    private void lookForDriver(long nowNs) {
        if (nowNs - retryAtNs < 0) {
            return;
        }
        retryAtNs = nowNs + settings.retry().toNanos();
        if (!MediaDriverProcess.isActive(Path.of(self.aeronDirectory()))) {
            if (!absenceLogged) {
                LOG.warn(
                        "media driver on {} is absent: no messages between brokers until it is there",
                        self.aeronDirectory());
                absenceLogged = true;
            }
            return;
        }
        clientFailed = false;
        try {
            aeron = Aeron.connect(new Aeron.Context()
                    .aeronDirectoryName(self.aeronDirectory())
                    .clientName("weir-" + self.id())
                    .useConductorAgentInvoker(true)
                    .driverTimeoutMs(DRIVER_TIMEOUT_MS)
                    .keepAliveIntervalNs(KEEP_ALIVE_NS)
                    // Aeron's own handlers end the process when the driver is gone.
                    .errorHandler(this::onClientError)
                    // What a frame's receiver throws, on its own thread.
                    .subscriberErrorHandler(error -> handlerError = error));
        } catch (RuntimeException e) {
            LOG.warn("media driver on {} does not take this broker yet: {}", self.aeronDirectory(), e.toString());
            return;
        }
        absenceLogged = false;
        driverConnects = driverConnects + 1;
        LOG.info("media driver on {} connected", self.aeronDirectory());
        turn.await();
        for (Link link : links.values()) {
            link.attach(aeron, clock.getAsLong());
        }
        turn.pass();
    }

    /**
     * A client whose driver is silent, or that was itself stopped for too long, says so and unmaps its memory in its
     * next turn: the links let go of it before.
     */
    private void serviceClient(long nowNs) {
        aeron.conductorAgentInvoker().invoke();
        if (clientFailed || aeron.isClosed()) {
            letGoOfDriver();
            retryAtNs = nowNs;
        }
    }

    private void onClientError(Throwable error) {
        if (error instanceof TimeoutException) {
            clientFailed = true;
            LOG.warn("media driver on {} lost: {}", self.aeronDirectory(), error.getMessage());
        } else {
            LOG.warn("media driver on {} reports: {}", self.aeronDirectory(), error.toString());
        }
    }

    private void letGoOfDriver() {
        for (Link link : present) {
            link.detach(!clientFailed);
        }
        if (aeron != null) {
            try {
                aeron.close();
            } catch (RuntimeException e) {
                LOG.warn("media driver's client did not close in order: {}", e.toString());
            }
            aeron = null;
        }
    }
}
