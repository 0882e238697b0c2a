package io.weir.topics.federation;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Loan;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.algorithm.LongRing;
import io.weir.topics.path.Channel;
import io.weir.topics.path.Consumer;
import io.weir.topics.path.Shards;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import io.weir.transport.link.BodyWriter;
import io.weir.transport.link.Links;
import io.weir.transport.link.Peer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.function.IntSupplier;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * One connection to another broker: who of it consumes here ({@link RemoteConsumer}), which channels here consume there
 * ({@link RemoteSubscription}), what it publishes here and what is published there. It ends with the connection.
 *
 * <p>What the link has no room for waits here or with its owner, each bounded by what the peer may have open: at most
 * {@link #MOST_SUBSCRIPTIONS} subscriptions, {@link Forwards#MOST} publications, and a subscription's window of
 * messages.
 */
final class PeerEnd implements Publisher {
    /** Further ones are dropped as malformed. */
    static final int MOST_SUBSCRIPTIONS = 1 << 20;

    private static final int MOST_WINDOW = 1 << 24;
    static final int NO_LENDER = -1;

    private record Outcome(int what, long ticket, long retryAfterNs, String reason) {}

    private final Peer peer;
    private final Links links;
    private final Federation federation;
    private final Shards shards;
    private final FederationCounters counters;
    private final int maxMessageBytes;
    private final IntSupplier loanCopies;

    private final Int2ObjectHashMap<RemoteSubscription> subscriptions = new Int2ObjectHashMap<>();
    private final Int2ObjectHashMap<RemoteConsumer> consumers = new Int2ObjectHashMap<>();
    private final ArrayDeque<RemoteConsumer> wantRoom = new ArrayDeque<>();
    private final LongRing notices;
    private final ArrayDeque<Outcome> outcomes = new ArrayDeque<>();
    private final Forwards forwards = new Forwards();
    private final UnsafeBuffer small = new UnsafeBuffer(new byte[FederationFrames.MAX_SMALL_BYTES]);
    private final Delivery delivery = new Delivery();
    private final Forwarded forwarded = new Forwarded();
    private final PublishRequest received = new PublishRequest();
    private final LoanFrame asking = new LoanFrame(FederationFrames.ASK);
    private final LoanFrame lending = new LoanFrame(FederationFrames.LEND);
    private int lenderSlot = NO_LENDER;
    private int unanswered;
    /** The link refused something in this turn. */
    private boolean full;

    private boolean lost;

    PeerEnd(
            Peer peer,
            Links links,
            Federation federation,
            Shards shards,
            FederationCounters counters,
            int maxMessageBytes,
            IntSupplier loanCopies) {
        this.peer = peer;
        this.links = links;
        this.federation = federation;
        this.shards = shards;
        this.counters = counters;
        this.maxMessageBytes = maxMessageBytes;
        this.loanCopies = loanCopies;
        notices = new LongRing(shards.segments());
    }

    Peer peer() {
        return peer;
    }

    // What goes out

    private boolean offer(int length, long nowNs) {
        return sent(!full && !lost && links.offer(peer.id(), small, 0, length, nowNs, nowNs));
    }

    private boolean sent(boolean taken) {
        full = !taken;
        return taken;
    }

    boolean subscribe(int subscription, int window, Channel channel, long nowNs) {
        return offer(
                FederationFrames.subscribe(
                        small, subscription, window, channel.topic().value(), channel.name()),
                nowNs);
    }

    boolean acknowledge(int subscription, int window, LongRing ids, int count, long nowNs) {
        return offer(FederationFrames.acknowledge(small, subscription, window, ids, count), nowNs);
    }

    boolean giveBack(int subscription, long id, int attempts, long delayNs, long nowNs) {
        return offer(FederationFrames.giveBack(small, subscription, id, attempts, delayNs), nowNs);
    }

    boolean notice(byte type, int subscription, long nowNs) {
        return offer(FederationFrames.notice(small, type, subscription), nowNs);
    }

    /**
     * @param fresh whether only brokers took its time so far
     * @param contextLength of the context that stands right before the body, or 0
     */
    boolean deliver(
            int subscription,
            boolean fresh,
            long timestampNs,
            int attempts,
            long id,
            ByteBuffer body,
            int contextLength,
            int bodyAt,
            int bodyLength) {
        if (full || lost) {
            return false;
        }
        delivery.subscription = subscription;
        delivery.fresh = fresh;
        delivery.attempts = attempts;
        delivery.id = id;
        delivery.body = body;
        delivery.contextLength = contextLength;
        delivery.bodyAt = bodyAt;
        delivery.bodyLength = bodyLength;
        long arrivalNs = timestampNs - shards.wallOffsetNs();
        int length = FederationFrames.deliverBytes(contextLength, bodyLength);
        boolean taken = sent(links.offer(peer.id(), length, delivery, arrivalNs, shards.nowNs()));
        if (taken) {
            FederationCounters.count(counters.deliveredToPeers);
        }
        return taken;
    }

    /** False if it was not sent. */
    boolean forward(PublishRequest request, long nowNs) {
        if (full || lost) {
            return false;
        }
        long name = forwards.add(request.publisher(), request.ticket(), federation.nextForward());
        if (name == Forwards.FULL) {
            return false;
        }
        forwarded.name = name;
        forwarded.request = request;
        int length = FederationFrames.publishBytes(request);
        if (!sent(links.offer(peer.id(), length, forwarded, request.arrivalNs(), nowNs))) {
            forwards.remove(name);
            return false;
        }
        FederationCounters.count(counters.forwarded);
        return true;
    }

    @Override
    public void accepted(long ticket) {
        answer(FederationFrames.ACCEPTED, ticket, 0, "");
    }

    @Override
    public void throttled(long ticket, long retryAfterNs) {
        answer(FederationFrames.THROTTLED, ticket, retryAfterNs, "");
    }

    @Override
    public void failed(long ticket, String reason) {
        answer(FederationFrames.FAILED, ticket, 0, reason);
    }

    @Override
    public void heldUpTooLong(long ticket, String reason) {
        answer(FederationFrames.HELD_UP, ticket, 0, reason);
    }

    @Override
    public void unknownTopic(long ticket, String reason) {
        answer(FederationFrames.UNKNOWN_TOPIC, ticket, 0, reason);
    }

    private void answer(int what, long ticket, long retryAfterNs, String reason) {
        if (lost) {
            return;
        }
        if (!outcomes.isEmpty()
                || !offer(FederationFrames.outcome(small, what, ticket, retryAfterNs, reason), shards.nowNs())) {
            outcomes.add(new Outcome(what, ticket, retryAfterNs, reason));
        } else {
            unanswered--;
        }
    }

    /** Its place among those that tokens are borrowed from and lent to, or {@link #NO_LENDER}. */
    int lenderSlot() {
        return lenderSlot;
    }

    void lenderSlot(int slot) {
        lenderSlot = slot;
        asking.clear();
        lending.clear();
    }

    void ask(TopicGate gate, Loan loan, long nowNs) {
        if (!asking.add(gate, gate.incarnation(), loan)) {
            flush(asking, nowNs);
            asking.add(gate, gate.incarnation(), loan);
        }
    }

    void lend(TopicGate gate, long asker, Loan loan, long nowNs) {
        if (!lending.add(gate, asker, loan)) {
            flush(lending, nowNs);
            lending.add(gate, asker, loan);
        }
    }

    /** Sends what was asked and lent in this turn. */
    void flushLoans(long nowNs) {
        if (!lending.isEmpty()) {
            flush(lending, nowNs);
        }
        if (!asking.isEmpty()) {
            flush(asking, nowNs);
        }
    }

    /** What the link has no room for is dropped: it is late already. */
    private void flush(LoanFrame frame, long nowNs) {
        DirectBuffer finished = frame.finish();
        boolean taken = !full && !lost;
        for (int copies = loanCopies.getAsInt(); taken && copies > 0; copies--) {
            taken = links.offer(peer.id(), finished, 0, frame.length(), nowNs, nowNs);
        }
        if (taken) {
            FederationCounters.count(counters.loanFrames);
        } else if (frame == asking) {
            frame.unasked(lenderSlot, nowNs);
        }
        frame.clear();
    }

    void awaitRoom(RemoteConsumer consumer) {
        wantRoom.add(consumer);
    }

    /** The channel here is gone. */
    void ended(RemoteConsumer consumer) {
        if (consumers.remove(consumer.id) != null) {
            noticeLater(FederationFrames.ENDED, consumer.id);
        }
    }

    private void noticeLater(byte type, int subscription) {
        notices.add((long) type << 32 | subscription & 0xffffffffL);
    }

    /** A new turn: the link may have room again. */
    void beginTurn() {
        full = false;
    }

    /** Sends what waits for room, as far as there is; answers how much. */
    int resume(long nowNs) {
        int done = 0;
        while (!notices.isEmpty() && notice((byte) (notices.peek() >>> 32), (int) notices.peek(), nowNs)) {
            notices.poll();
            done++;
        }
        while (!outcomes.isEmpty() && !full) {
            Outcome next = outcomes.peek();
            if (offer(FederationFrames.outcome(small, next.what, next.ticket, next.retryAfterNs, next.reason), nowNs)) {
                outcomes.poll();
                unanswered--;
                done++;
            }
        }
        // One that is refused again stands last then, so each has its turn.
        while (!wantRoom.isEmpty() && !full) {
            wantRoom.poll().writable(nowNs);
            done++;
        }
        return done;
    }

    // What comes in

    void add(RemoteSubscription remote) {
        subscriptions.put(remote.id, remote);
    }

    void forget(RemoteSubscription remote) {
        subscriptions.remove(remote.id);
    }

    /**
     * One frame; false if it can't be read, or says what no broker says. The link begins anew then, because what the
     * frame was about would never be answered. What can be answered is, and the link goes on.
     */
    boolean onFrame(DirectBuffer in, int at, int length, long arrivalNs, long nowNs) {
        return switch (FederationFrames.typeOf(in, at, length)) {
            case FederationFrames.SUBSCRIBE -> onSubscribe(in, at, length, nowNs);
            case FederationFrames.UNSUBSCRIBE -> onUnsubscribe(in, at, nowNs);
            case FederationFrames.ACKNOWLEDGE -> onAcknowledge(in, at, length, nowNs);
            case FederationFrames.GIVE_BACK -> onGiveBack(in, at, nowNs);
            case FederationFrames.DELIVER, FederationFrames.DELIVER_LATE ->
                onDeliver(in, at, length, 0, 0, arrivalNs, nowNs);
            case FederationFrames.DELIVER_WITH_CONTEXT, FederationFrames.DELIVER_LATE_WITH_CONTEXT ->
                onDeliver(in, at, length, Short.BYTES, FederationFrames.contextLength(in, at), arrivalNs, nowNs);
            case FederationFrames.ENDED -> onEnded(in, at, nowNs);
            case FederationFrames.PUBLISH -> onPublish(in, at, length, arrivalNs, nowNs);
            case FederationFrames.OUTCOME -> onOutcome(in, at, length);
            case FederationFrames.ASK -> federation.loans().onFrame(this, true, in, at, length);
            case FederationFrames.LEND -> federation.loans().onFrame(this, false, in, at, length);
            default -> false;
        };
    }

    private boolean onSubscribe(DirectBuffer in, int at, int length, long nowNs) {
        int id = FederationFrames.subscription(in, at);
        int window = FederationFrames.window(in, at);
        int topicLength = FederationFrames.topicLength(in, at);
        int channelLength = FederationFrames.channelLength(in, at);
        int topicAt = at + FederationFrames.HEADER_BYTES;
        int channelAt = topicAt + topicLength;
        if (length != FederationFrames.HEADER_BYTES + topicLength + channelLength
                || !FederationFrames.isName(in, topicAt, topicLength)
                || !FederationFrames.isName(in, channelAt, channelLength)
                || !isWindow(window)
                || consumers.containsKey(id)) {
            return false;
        }
        if (consumers.size() >= MOST_SUBSCRIPTIONS) {
            federation.countMalformed();
            noticeLater(FederationFrames.ENDED, id);
            return notices.size() <= MOST_SUBSCRIPTIONS;
        }
        TopicName topic = new TopicName(in.getStringWithoutLengthAscii(topicAt, topicLength));
        String channel = in.getStringWithoutLengthAscii(channelAt, channelLength);
        RemoteConsumer remote = new RemoteConsumer(id, this);
        Consumer consumer = shards.subscribeRemote(remote, topic, channel, nowNs);
        if (consumer == null) {
            noticeLater(FederationFrames.ENDED, id);
            return true;
        }
        remote.joined(consumer);
        consumers.put(id, remote);
        remote.ready(window, nowNs);
        return true;
    }

    private boolean onUnsubscribe(DirectBuffer in, int at, long nowNs) {
        RemoteConsumer remote = consumers.remove(FederationFrames.subscription(in, at));
        if (remote != null) {
            remote.close(nowNs);
        }
        return true;
    }

    private boolean onAcknowledge(DirectBuffer in, int at, int length, long nowNs) {
        int count = FederationFrames.count(in, at);
        int window = FederationFrames.window(in, at);
        if (length != FederationFrames.HEADER_BYTES + count * Long.BYTES || !isWindow(window)) {
            return false;
        }
        RemoteConsumer remote = consumers.get(FederationFrames.subscription(in, at));
        if (remote != null) {
            // The window first: the places that are freed next are for whom it allows.
            remote.ready(window, nowNs);
            for (int i = 0; i < count; i++) {
                remote.finish(FederationFrames.id(in, at, i), nowNs);
            }
        }
        return true;
    }

    private boolean onGiveBack(DirectBuffer in, int at, long nowNs) {
        long delayNs = FederationFrames.delayNs(in, at);
        if (delayNs < 0 || delayNs > Federation.MOST_DELAY_NS) {
            return false;
        }
        RemoteConsumer remote = consumers.get(FederationFrames.subscription(in, at));
        if (remote != null) {
            remote.giveBack(FederationFrames.id(in, at), FederationFrames.attempts(in, at), delayNs, nowNs);
        }
        return true;
    }

    /** @param before bytes between the header and the context */
    private boolean onDeliver(
            DirectBuffer in, int at, int length, int before, int contextLength, long arrivalNs, long nowNs) {
        int bodyLength = length - FederationFrames.HEADER_BYTES - before - contextLength;
        int subscription = FederationFrames.subscription(in, at);
        RemoteSubscription remote = subscriptions.get(subscription);
        if (remote == null) {
            // It crossed the end of the subscription, or the subscription is from before the link broke: say (again)
            // that it is over.
            if (notices.size() >= MOST_SUBSCRIPTIONS) {
                return false;
            }
            noticeLater(FederationFrames.UNSUBSCRIBE, subscription);
            return true;
        }
        if (remote.overrun()) {
            return false;
        }
        if (bodyLength < 0 || bodyLength > maxMessageBytes - contextLength) {
            // Unanswered it would be in flight for ever. Not at once, because it would come again at once.
            remote.messages.sendBack(
                    remote, FederationFrames.id(in, at), FederationFrames.attempts(in, at), Federation.RETRY_NS);
            federation.countMalformed();
            return true;
        }
        FederationCounters.count(counters.receivedFromPeers);
        remote.messages.arrived(
                remote,
                in.byteBuffer(),
                at + FederationFrames.HEADER_BYTES + before + in.wrapAdjustment(),
                contextLength,
                bodyLength,
                FederationFrames.attempts(in, at),
                FederationFrames.id(in, at),
                FederationFrames.isFresh(in, at),
                arrivalNs,
                nowNs);
        return true;
    }

    private boolean onEnded(DirectBuffer in, int at, long nowNs) {
        RemoteSubscription remote = subscriptions.remove(FederationFrames.subscription(in, at));
        if (remote != null) {
            remote.messages.refuse(remote, nowNs);
        }
        return true;
    }

    private boolean onPublish(DirectBuffer in, int at, int length, long arrivalNs, long nowNs) {
        int topicLength = FederationFrames.topicLength(in, at);
        int contextLength = FederationFrames.publishedContextLength(in, at);
        int topicAt = at + FederationFrames.PUBLISH_HEADER_BYTES;
        int contextAt = topicAt + topicLength;
        int bodyAt = contextAt + contextLength;
        int bodyLength = at + length - bodyAt;
        int messages = FederationFrames.messages(in, at);
        long deferNs = FederationFrames.delayNs(in, at);
        int longest = maxMessageBytes - contextLength;
        boolean sound = bodyLength >= 0
                && FederationFrames.isName(in, topicAt, topicLength)
                && deferNs >= 0
                && deferNs <= Federation.MOST_DELAY_NS
                && unanswered < Forwards.MOST
                && (messages == 0
                        ? bodyLength <= longest
                        : messages > 0 && FederationFrames.isBatch(in, bodyAt, bodyLength, messages, longest));
        if (!sound) {
            return refuse(in, at);
        }
        unanswered++;
        FederationCounters.count(counters.publishedForPeers);
        int shift = in.wrapAdjustment();
        received.begin(this, FederationFrames.id(in, at), in.byteBuffer(), arrivalNs)
                .topic(topicAt + shift, topicLength)
                .context(contextAt + shift, contextLength)
                .batch(bodyAt + shift, bodyLength, messages)
                .deferNs(deferNs);
        shards.publish(received, nowNs);
        return true;
    }

    /**
     * Whoever sent it waits for an outcome, unless it sends more than it may have open, which no broker of ours does.
     */
    private boolean refuse(DirectBuffer publication, int at) {
        if (unanswered >= Forwards.MOST) {
            return false;
        }
        federation.countMalformed();
        unanswered++;
        failed(
                FederationFrames.id(publication, at),
                "it cannot be read, or a message in it is larger than the " + maxMessageBytes
                        + " bytes of weir.topics.max-message-size");
        return true;
    }

    private boolean onOutcome(DirectBuffer in, int at, int length) {
        int what = FederationFrames.outcome(in, at);
        int reasonLength = length - FederationFrames.LONG_HEADER_BYTES;
        long retryAfterNs = FederationFrames.delayNs(in, at);
        if (what < FederationFrames.ACCEPTED
                || what > FederationFrames.UNKNOWN_TOPIC
                || reasonLength > FederationFrames.MAX_REASON
                || retryAfterNs < 0) {
            return false;
        }
        long name = FederationFrames.id(in, at);
        if (!forwards.has(name)) {
            return true; // of a publication from before the link broke
        }
        long ticket = forwards.ticket(name);
        Publisher publisher = forwards.remove(name);
        switch (what) {
            case FederationFrames.ACCEPTED -> publisher.accepted(ticket);
            case FederationFrames.THROTTLED -> publisher.throttled(ticket, retryAfterNs);
            case FederationFrames.HELD_UP -> publisher.heldUpTooLong(ticket, reason(in, at, reasonLength));
            case FederationFrames.UNKNOWN_TOPIC -> publisher.unknownTopic(ticket, reason(in, at, reasonLength));
            default -> publisher.failed(ticket, reason(in, at, reasonLength));
        }
        return true;
    }

    private String reason(DirectBuffer in, int at, int length) {
        return in.getStringWithoutLengthAscii(at + FederationFrames.LONG_HEADER_BYTES, length) + " (at its home "
                + peer.id() + ")";
    }

    private static boolean isWindow(int window) {
        return window >= 0 && window <= MOST_WINDOW;
    }

    /** The link is gone: each side has what is its own again. */
    void lost(long nowNs) {
        lost = true;
        for (RemoteSubscription remote : new ArrayList<>(subscriptions.values())) {
            remote.messages.end(remote);
        }
        subscriptions.clear();
        for (RemoteConsumer remote : new ArrayList<>(consumers.values())) {
            remote.lost(nowNs);
        }
        consumers.clear();
        wantRoom.clear();
        outcomes.clear();
        int failed = forwards.failAll(
                "the link to its home " + peer.id() + " broke; whether it was published there is not known");
        counters.forwardsLost.lazySet(counters.forwardsLost.get() + failed);
    }

    /** Writes a message into the stream; one object, so that nothing is allocated for it. */
    private static final class Delivery implements BodyWriter {
        private int subscription;
        private boolean fresh;
        private int attempts;
        private long id;
        private ByteBuffer body;
        private int contextLength;
        private int bodyAt;
        private int bodyLength;

        @Override
        public void write(MutableDirectBuffer out, int at) {
            FederationFrames.deliver(
                    out, at, subscription, fresh, attempts, id, body, contextLength, bodyAt, bodyLength);
        }
    }

    /** The same for a publication on its way home. */
    private static final class Forwarded implements BodyWriter {
        private long name;
        private PublishRequest request;

        @Override
        public void write(MutableDirectBuffer out, int at) {
            FederationFrames.publish(out, at, name, request);
        }
    }
}
