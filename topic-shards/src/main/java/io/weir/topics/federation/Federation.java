package io.weir.topics.federation;

import io.weir.config.value.BrokerId;
import io.weir.topics.algorithm.LongSegments;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.path.Channel;
import io.weir.topics.path.OtherBrokers;
import io.weir.topics.path.RemoteSource;
import io.weir.topics.path.Shards;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.link.LinkEvents;
import io.weir.transport.link.Links;
import io.weir.transport.link.Peer;
import java.nio.channels.SelectableChannel;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.agrona.DirectBuffer;

/**
 * Messages between brokers, over their links, on the message path's thread. A consumer gets messages from every broker
 * that is linked, whichever it is connected to; a publisher's messages go to its home.
 *
 * <pre>
 *   consumers' broker                                        messages' broker
 *   channel with consumers → {@link RemoteMessages} → {@link RemoteSubscription}  ── SUBSCRIBE ──►  {@link RemoteConsumer} joins the channel
 *   RemoteMessages, as credit allows → consumer       ◄── DELIVER ───  takes a message when its window allows
 *   consumer finished it                        ── ACKNOWLEDGE ► the message is finished; the window moves
 *   no credit left, or no consumer              ── GIVE_BACK ──► queued again, for others
 * </pre>
 *
 * <p>What is promised: as long as the broker that let a message in lives, it is delivered until it is finished, at
 * least once. It is delivered again, though it may have been finished, when the link breaks while it is away: the
 * broker takes back what was away, and consumers' acknowledgements of the earlier delivery change nothing then. Order
 * is not promised between brokers, nor for what a broker gave back. The limit is passed once, where the message came
 * in.
 *
 * <p>A frame that cannot be read is counted and dropped. A peer that takes nothing holds back what goes to that peer
 * only.
 */
public final class Federation implements OtherBrokers, LinkEvents {
    /**
     * How long a message of another broker waits here for credit. Long against a consumer's work on a message, short
     * for people.
     */
    static final long COURTESY_NS = TimeUnit.MILLISECONDS.toNanos(100);

    static final long RETRY_NS = TimeUnit.SECONDS.toNanos(1);
    static final long MOST_DELAY_NS = TimeUnit.DAYS.toNanos(3650);

    private static final long LOOK_EVERY_NS = TimeUnit.MILLISECONDS.toNanos(50);
    /** Sockets are served between two helpings. */
    private static final int FRAMES_A_TURN = 1024;

    private final Links links;
    private final Homes homes;
    private final IntSupplier loanCopies;
    private final int maxBodyBytes;
    private final FederationCounters counters = new FederationCounters();
    private final List<PeerEnd> peers = new ArrayList<>();
    private final Map<BrokerId, PeerEnd> peersById = new HashMap<>();
    private List<RemoteMessages> changed = new ArrayList<>();
    private List<RemoteMessages> settling = new ArrayList<>();
    private final List<RemoteMessages> blocked = new ArrayList<>();
    private final List<RemoteMessages> watched = new ArrayList<>();
    private Shards shards;
    private Loans loans;
    private int maxMessageBytes;
    private PeerEnd lastHeard;
    private long nowNs;
    private long lookAtNs;
    /** Begins anywhere, so that a frame for an earlier life of this broker finds no subscription of this one. */
    private int lastSubscription = new SecureRandom().nextInt();

    private long lastForward = new SecureRandom().nextInt() & 0xffffffffL;

    /**
     * @param links whose {@code wakeUp} wakes the loop that does this duty; they stay the caller's to connect,
     *     disconnect and close
     * @param maxBodyBytes of the links' settings
     * @param loanCopies how often each frame of loans is sent: once, but for tests that lose or repeat some
     */
    public Federation(Links links, int maxBodyBytes, Homes homes, IntSupplier loanCopies) {
        this.links = links;
        this.maxBodyBytes = maxBodyBytes;
        this.homes = homes;
        this.loanCopies = loanCopies;
    }

    @Override
    public MessagePort join(Shards newShards, int newMaxMessageBytes) {
        int longest = FederationFrames.PUBLISH_HEADER_BYTES + FederationFrames.MAX_NAME + newMaxMessageBytes;
        if (longest > maxBodyBytes) {
            throw new IllegalArgumentException("a message of " + newMaxMessageBytes + " bytes needs up to " + longest
                    + " on a link, whose longest body is " + maxBodyBytes);
        }
        shards = newShards;
        loans = new Loans(this, newShards, links.self(), counters);
        maxMessageBytes = newMaxMessageBytes;
        return new HomePort(shards, homes, this);
    }

    @Override
    public RemoteSource sourceFor(Channel channel, MessageStore store) {
        return new RemoteMessages(this, channel, store);
    }

    /**
     * On the message path's thread: sends a publication to its home, and passes the outcome to the publisher as if it
     * were this broker's. If the link breaks before, the publisher hears that the message may have been published.
     *
     * @return false if it was not sent, because there is no link, no room or too much outstanding; the publisher has no
     *     outcome then
     */
    boolean forward(BrokerId home, PublishRequest request, long atNs) {
        PeerEnd peer = peersById.get(home);
        return peer != null && FederationFrames.publishBytes(request) <= maxBodyBytes && peer.forward(request, atNs);
    }

    /** From any thread. */
    public FederationStats stats() {
        return counters.stats();
    }

    @Override
    public int doWork(long atNs) {
        nowNs = atNs;
        for (int i = 0; i < peers.size(); i++) {
            peers.get(i).beginTurn();
        }
        int done = links.poll(this, FRAMES_A_TURN, atNs);
        if (!watched.isEmpty() && atNs - lookAtNs >= 0) {
            look();
        }
        for (int i = 0; i < blocked.size(); i++) {
            changed(blocked.get(i));
        }
        blocked.clear();
        // Acknowledgements before messages: they make room at the other end.
        done += settle();
        for (int i = 0; i < peers.size(); i++) {
            done += peers.get(i).resume(atNs);
        }
        return done + settle();
    }

    private int settle() {
        List<RemoteMessages> batch = changed;
        changed = settling;
        settling = batch;
        for (int i = 0; i < batch.size(); i++) {
            RemoteMessages messages = batch.get(i);
            messages.listed = false;
            if (!peers.isEmpty() && !messages.settle(nowNs)) {
                blocked.add(messages);
            }
        }
        int settled = batch.size();
        batch.clear();
        return settled;
    }

    private void look() {
        lookAtNs = nowNs + LOOK_EVERY_NS;
        for (int i = watched.size() - 1; i >= 0; i--) {
            RemoteMessages messages = watched.get(i);
            if (!messages.look(nowNs)) {
                messages.watched = false;
                watched.remove(i);
            }
        }
    }

    @Override
    public long nextDeadlineNs() {
        if (links.hasMore() || !changed.isEmpty() || links.owesKnocks()) {
            return nowNs;
        }
        return watched.isEmpty() ? NO_DEADLINE : lookAtNs;
    }

    @Override
    public void onPeerConnected(Peer peer) {
        PeerEnd end = new PeerEnd(peer, links, this, shards, counters, maxMessageBytes, loanCopies);
        peers.add(end);
        peersById.put(peer.id(), end);
        counters.peers.lazySet(peers.size());
        loans.membersChanged();
        shards.everyChannelChanged();
    }

    @Override
    public void onPeerLost(Peer peer) {
        PeerEnd end = peersById.remove(peer.id());
        if (end != null) {
            peers.remove(end);
            lastHeard = null;
            counters.peers.lazySet(peers.size());
            loans.membersChanged();
            end.lost(nowNs);
        }
    }

    @Override
    public boolean onFrame(Peer peer, DirectBuffer buffer, int offset, int length, long arrivalNs) {
        PeerEnd end = lastHeard != null && lastHeard.peer() == peer ? lastHeard : peersById.get(peer.id());
        lastHeard = end;
        boolean read = end != null && end.onFrame(buffer, offset, length, arrivalNs, nowNs);
        if (!read) {
            countMalformed();
        }
        return read;
    }

    void countMalformed() {
        FederationCounters.count(counters.malformed);
    }

    List<PeerEnd> peers() {
        return peers;
    }

    Loans loans() {
        return loans;
    }

    LongSegments segments() {
        return shards.segments();
    }

    int nextSubscription() {
        return ++lastSubscription;
    }

    long nextForward() {
        return ++lastForward;
    }

    /** At the end of the turn it looks what its peers have to know. */
    void changed(RemoteMessages messages) {
        if (!messages.listed && !peers.isEmpty()) {
            messages.listed = true;
            changed.add(messages);
        }
    }

    /** Time alone may change it. */
    void watch(RemoteMessages messages) {
        if (!messages.watched) {
            messages.watched = true;
            if (watched.isEmpty()) {
                lookAtNs = nowNs + LOOK_EVERY_NS;
            }
            watched.add(messages);
        }
    }

    void countGivenBack() {
        FederationCounters.count(counters.givenBack);
    }

    void countDropped() {
        FederationCounters.count(counters.droppedWithLink);
    }

    @Override
    public SelectableChannel channel() {
        return links.channel();
    }

    @Override
    public void channelReady() {
        links.answerKnocks();
    }

    @Override
    public void endTurn() {
        loans.endTurn();
        links.knock();
    }
}
