package io.weir.transport.link;

import io.aeron.Aeron;
import io.aeron.exceptions.TimeoutException;
import io.weir.config.value.BrokerId;
import io.weir.transport.MediaDriverProcess;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One broker's end of its links to all others. Brokers that share a media driver link through its shared memory, others by UDP.
 *
 * <p>Three kinds of callers. Anyone says which peers are wanted ({@link #connect}, {@link #disconnect}). The broker's one thread sends
 * ({@link #offer}) and receives ({@link #poll}). The link thread, which this class starts, does the rest: it polls the streams, shakes
 * hands, notices who is gone, and calls {@code wakeUp} when the broker's thread has something to poll, or room again for an offer
 * that was refused.
 *
 * <p>Nothing here blocks the broker's thread. A peer that does not read fills its own stream and is refused; the others go on. When the media
 * driver dies every peer is told as lost, and the links come back by themselves when a driver is there again.
 */
public final class Links implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Links.class);
    private static final long DRIVER_TIMEOUT_MS = 2_000;
    private static final long KEEP_ALIVE_NS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final int SPINS = 20;
    private static final long PARK_NS = 1_000;
    /** Hellos and keep-alives of the client need a look this often anyway, and it bounds what a lost knock costs. */
    private static final long DOZE_MS = 10;

    private final PeerAddress self;
    private final LinkSettings settings;
    private final Inbox inbox;
    private final Doorbell doorbell;
    private final Thread thread;

    /** What is wanted rather than a queue of wishes: it cannot overflow, and only the last word about a peer counts. */
    private final Map<BrokerId, PeerAddress> wanted = new HashMap<>();

    private volatile boolean wantedChanged;
    private volatile boolean running = true;

    private final Map<BrokerId, Link> links = new ConcurrentHashMap<>();
    private final List<Link> leaving = new ArrayList<>();
    private Link[] turns = {};
    private final AtomicLong refusedUnknownPeer = new AtomicLong();
    private int lastNumber;
    private long lastSession;

    private Aeron aeron;
    private boolean clientFailed;
    private boolean absenceLogged;
    private long retryAtNs;
    private volatile long driverConnects;

    private int idleTurns;
    private long attentiveUntilNs = System.nanoTime();

    private UnsafeBuffer scratch;

    private Links(PeerAddress self, LinkSettings settings, Runnable wakeUp) {
        this.self = self;
        this.settings = settings;
        this.inbox = new Inbox(settings.inboxBytes(), wakeUp);
        this.doorbell = Doorbell.open(self.endpoint().host());
        // Numbers of a later life of this object are higher than those of an earlier one, also under the same
        // incarnation.
        this.lastSession = TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis());
        this.thread = new Thread(this::run, "links-" + self.id());
        thread.setDaemon(true);
    }

    /**
     * Starts the link thread. The media driver need not be there yet.
     *
     * @param wakeUp called by the link thread, so it must be quick and safe to call from there, like {@code Selector.wakeup}
     */
    public static Links start(PeerAddress self, LinkSettings settings, Runnable wakeUp) {
        Links started = new Links(self, settings, wakeUp);
        started.retryAtNs = System.nanoTime();
        started.thread.start();
        return started;
    }

    /** From any thread: keep a link to this broker, from now on until {@link #disconnect}. A later incarnation ends the earlier one's link. */
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
        }
        wantedChanged = true;
        doorbell.ring();
    }

    /** From any thread. A peer that is connected is told as lost. */
    public void disconnect(BrokerId peer) {
        synchronized (wanted) {
            wanted.remove(peer);
        }
        wantedChanged = true;
    }

    /**
     * By the broker's thread: sends one body. False: not now, nothing was sent, and {@link #stats} counts why; {@code wakeUp} is called
     * when there is room again.
     *
     * @param arrivalNs when the message reached the first broker, on this JVM's {@code System.nanoTime}
     */
    public boolean offer(BrokerId peer, DirectBuffer body, int offset, int length, long arrivalNs, long nowNs) {
        Link link = linkFor(peer, length);
        return link != null && link.offer(body, offset, length, ageNs(arrivalNs, nowNs));
    }

    /** As the other, but {@code writer} puts the body straight into the stream. It is not called when the offer is refused for want of room. */
    public boolean offer(BrokerId peer, int length, BodyWriter writer, long arrivalNs, long nowNs) {
        Link link = linkFor(peer, length);
        if (scratch == null || scratch.capacity() < length) {
            scratch = new UnsafeBuffer(new byte[length]);
        }
        return link != null && link.offer(length, writer, ageNs(arrivalNs, nowNs), scratch);
    }

    /** By the broker's thread: tells {@code events} up to {@code limit} frames and changes, and how many it told. */
    public int poll(LinkEvents events, int limit) {
        return inbox.read(events, limit);
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

    /** The peers see this end go at once. Not for the broker's thread to wait in: it may take some tens of milliseconds. */
    @Override
    public void close() {
        running = false;
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
            while (running) {
                long nowNs = System.nanoTime();
                if (doWork(nowNs) > 0) {
                    inbox.wakeReader();
                    idleTurns = 0;
                } else {
                    idle(nowNs);
                }
            }
        } finally {
            letGoOfDriver();
            doorbell.close();
        }
    }

    /**
     * Short parks, of the least length that the kernel gives (about 60 µs), as long as more is likely to come; then a doze until someone
     * knocks. Short parks all the time would cost a quarter of a core here, and parks of a millisecond a fortieth and half a millisecond of
     * latency.
     */
    private void idle(long nowNs) {
        if (++idleTurns < SPINS) {
            Thread.onSpinWait();
        } else if (nowNs - attentiveUntilNs < 0 || anyHeldUp()) {
            LockSupport.parkNanos(PARK_NS);
        } else if (doorbell.doze(DOZE_MS)) {
            stayAttentive(System.nanoTime());
        }
    }

    private void stayAttentive(long nowNs) {
        idleTurns = 0;
        for (Link link : turns) {
            attentiveUntilNs = Math.max(attentiveUntilNs, nowNs + link.attentiveNs());
        }
    }

    private boolean anyHeldUp() {
        for (Link link : turns) {
            if (link.isHeldUp()) {
                return true;
            }
        }
        return false;
    }

    private int doWork(long nowNs) {
        if (wantedChanged) {
            followWanted();
        }
        if (aeron == null) {
            lookForDriver(nowNs);
        } else {
            serviceClient(nowNs);
        }
        int work = 0;
        for (Link link : turns) {
            int done = link.doWork(nowNs);
            if (done > 0) {
                attentiveUntilNs = Math.max(attentiveUntilNs, nowNs + link.attentiveNs());
            }
            work += done;
        }
        for (int i = leaving.size() - 1; i >= 0; i--) {
            work += leaving.get(i).doWork(nowNs);
            if (leaving.get(i).isQuiet()) {
                leaving.remove(i);
            }
        }
        return work;
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
                wantedChanged = true; // its loss has to be told before it is connected anew
            } else if (link == null) {
                link = new Link(++lastNumber, self, address, settings, inbox, doorbell, () -> ++lastSession);
                if (aeron != null) {
                    link.attach(aeron);
                }
                links.put(address.id(), link);
            } else {
                link.expectAtLeast(address.incarnation());
            }
        }
        turns = links.values().toArray(new Link[0]);
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
                    .subscriberErrorHandler(this::onClientError));
        } catch (RuntimeException e) {
            LOG.warn("media driver on {} does not take this broker yet: {}", self.aeronDirectory(), e.toString());
            return;
        }
        absenceLogged = false;
        driverConnects = driverConnects + 1;
        LOG.info("media driver on {} connected", self.aeronDirectory());
        for (Link link : links.values()) {
            link.attach(aeron);
        }
    }

    /**
     * A client whose driver is silent, or that was itself stopped for too long, says so and unmaps its memory in its next turn: the links let
     * go of it before.
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
        for (Link link : turns) {
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
