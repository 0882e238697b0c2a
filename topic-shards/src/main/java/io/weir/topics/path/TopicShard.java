package io.weir.topics.path;

import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.algorithm.LongRing;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.definition.BucketClock;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicSettings;
import io.weir.transport.gateway.Duty;
import io.weir.transport.gateway.Publisher;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * One broker's part of a topic. A message that finds a token, and room in the channels, goes straight on; else it waits in one
 * line, and nobody overtakes. Each message takes its token once, when it comes in: what is delivered again costs none.
 *
 * <p>A batch that the bucket holds at once passes at once; a larger one passes message by message as tokens come, and has
 * its outcome when the last has passed: one that has begun is not given up, however long it takes, because its publisher would
 * publish all of it again. One that could not pass within the longest delay even if all of the topic's limit were here is refused as it
 * comes. A topic that refuses instead of shaping takes a batch as a whole or not at all.
 *
 * <p>As long as the topic's definition has not reached this broker, what is published waits in the same line.
 */
public final class TopicShard {
    /** A lease may be renewed and supply may come without this thread being told: so often it looks. */
    static final long RETRY_NS = TimeUnit.MILLISECONDS.toNanos(10);
    /** So many leave the line in one turn of the thread, so that none of the other topics stands still for it. */
    private static final int AT_ONCE = 4096;

    private final TopicName name;
    private final TopicGate gate;
    private final Shards shards;
    private final MessageStore store;
    private final List<Channel> channels = new ArrayList<>();
    private final WaitingLine line = new FifoLine();
    /** Messages that passed and have no channel to go to yet. */
    private final LongRing unrouted = new LongRing();

    private final DelayCounts delays = new DelayCounts();

    private TopicSettings settings;
    private long revision;
    private Set<String> limitedChannels = Set.of();
    /** {@link TopicDefinition#mostAtOnce}. */
    private double mostAtOnce;

    private boolean paused;
    private boolean hadChannels;
    private int waiting;
    private long retryAtNs;
    private long askedNs;
    private long published;
    private long dropped;
    private long lookAgainNs = Duty.NO_DEADLINE;
    /** Whether it is in the list of those whose line is not empty. */
    boolean listed;

    TopicShard(TopicName name, TopicGate gate, Shards shards, long nowNs) {
        this.name = name;
        this.gate = gate;
        this.shards = shards;
        this.store = shards.store();
        this.askedNs = nowNs;
    }

    TopicName name() {
        return name;
    }

    /** Before the definition is there, channels go by the defaults. */
    TopicSettings settings() {
        return settings != null ? settings : TopicSettings.defaults();
    }

    boolean defined() {
        return settings != null;
    }

    /** Of the definition that was applied last, 0 before the first. */
    long revision() {
        return revision;
    }

    /**
     * All that the definition says, at once: no message goes to a limited channel, or past a pause, in between. What is older than what
     * it knows is left.
     *
     * @throws IllegalStateException when everything else is done, if not all channels have room here
     */
    void apply(TopicDefinition definition, int maxChannels, long nowNs) {
        if (definition.revision() < revision) {
            return;
        }
        settings = definition.delivery().settings();
        mostAtOnce = definition.mostAtOnce();
        paused = definition.paused();
        limitedChannels = definition.limitedChannels();
        for (Channel channel : new ArrayList<>(channels)) {
            if (channel.named() && !definition.channels().containsKey(channel.name())) {
                drop(channel, "the channel was deleted");
            } else {
                channel.limit(gateOf(channel.name()), nowNs);
            }
        }
        String noRoom = null;
        for (Map.Entry<String, TopicDefinition.ChannelSettings> each :
                definition.channels().entrySet()) {
            Channel channel = findOrAdd(each.getKey(), maxChannels, nowNs);
            if (channel == null) {
                noRoom = each.getKey();
            } else {
                channel.apply(each.getValue().paused(), nowNs);
            }
        }
        routeWaiting(nowNs);
        retryAtNs = nowNs;
        shards.forgetIfDone(this);
        if (noRoom != null) {
            throw new IllegalStateException(
                    "topic " + name + " has " + maxChannels + " channels here, and no room for " + noRoom);
        }
        revision = definition.revision();
    }

    private TopicGate gateOf(String channelName) {
        return limitedChannels.contains(channelName)
                ? shards.gate(TopicName.ofChannel(name, new ChannelName(channelName)))
                : null;
    }

    /** Whether the directory should be asked (again). */
    boolean asks(long nowNs) {
        if (settings != null || nowNs - askedNs < TimeUnit.SECONDS.toNanos(1)) {
            return false;
        }
        askedNs = nowNs;
        return true;
    }

    /**
     * One stored message.
     *
     * @param arrivalNs when it came to the cluster's first broker; not after {@code nowNs}
     * @param next whether it follows right after another of its publisher's in this turn
     */
    void publish(Publisher publisher, long ticket, int message, boolean next, long arrivalNs, long nowNs) {
        if (settings != null && waiting == 0 && hasRoom(1)) {
            if (passes(1, next, arrivalNs)) {
                asked(1, nowNs);
                counted(1, arrivalNs);
                route(message, nowNs);
                publisher.accepted(ticket);
                return;
            }
            if (settings.mode() == LimitMode.POLICE) {
                asked(1, nowNs);
                store.release(message);
                gate.countRefused(1);
                publisher.throttled(ticket, retryAfterNs(1));
                return;
            }
        }
        Publication publication = shards.newPublication(publisher, ticket, nowNs, 1);
        publication.add(message);
        await(publication, nowNs);
    }

    /** Several stored messages. The publication is this shard's from now on. */
    void publish(Publication publication, boolean next, long arrivalNs, long nowNs) {
        if (settings != null && waiting == 0) {
            int count = publication.count;
            if (hasRoom(count) && passes(count, next, arrivalNs)) {
                asked(count, nowNs);
                counted(count, arrivalNs);
                while (publication.left() > 0) {
                    route(publication.messages[publication.next++], nowNs);
                }
                accept(publication);
                return;
            }
            if (settings.mode() == LimitMode.POLICE && hasRoom(count)) {
                asked(count, nowNs);
                throttle(publication);
                return;
            }
        }
        await(publication, nowNs);
    }

    /** They passed: what they waited since they came to the cluster, which is what placement can do something about. */
    private void counted(int messages, long arrivalNs) {
        if (delays.isEmpty()) {
            shards.listDelayed(this);
        }
        delays.add(gate.readNs() - arrivalNs, messages);
    }

    DelayCounts delays() {
        return delays;
    }

    private void await(Publication publication, long nowNs) {
        int count = publication.count;
        if (settings != null && !passesInTime(publication)) {
            shards.arrived(gate, count, waiting, nowNs);
            refuseAsTooLarge(publication);
            return;
        }
        int most = settings().maxWaiting();
        // A batch larger than the bound may still come when nothing else waits.
        if (waiting > 0 && waiting + count > most || most == 0) {
            shards.arrived(gate, count, waiting, nowNs);
            gate.countRefused(count);
            failAsHeldUp(publication, "more than " + most + " messages wait for the topic's limit");
            return;
        }
        line.add(publication);
        waiting += count;
        shards.arrived(gate, count, waiting, nowNs);
        gate.countDelayed(count);
        if (!listed) {
            retryAtNs = nowNs;
            shards.list(this);
        }
    }

    /** Lets pass what can, in the line's order; answers how many messages. */
    int drain(long nowNs) {
        int passed = 0;
        expireLine(nowNs);
        if (settings == null) {
            retryAtNs = nowNs + RETRY_NS;
        } else {
            retryAtNs = nowNs;
            gate.endRun();
            Publication publication = line.peek();
            while (publication != null && passed < AT_ONCE && passNext(publication, nowNs)) {
                passed++;
                publication = line.peek();
            }
        }
        gate.waiting(waiting);
        return passed;
    }

    /** One message of the line's first publication; false if it has to wait on, and then it is known until when. */
    private boolean passNext(Publication publication, long nowNs) {
        if (!hasRoom(1)) {
            retryAtNs = nowNs + RETRY_NS;
            return false;
        }
        if (publication.next == 0 && !passesInTime(publication)) {
            // It came before the definition did.
            line.remove();
            waiting -= publication.count;
            refuseAsTooLarge(publication);
            return true;
        }
        boolean whole = settings.mode() == LimitMode.POLICE && publication.next == 0;
        int tokens = whole ? publication.left() : 1;
        // What waited counts when its wait was over: the turn's time, which is the same for all that goes on in it.
        if (!passes(tokens, true, nowNs)) {
            if (whole) {
                line.remove();
                waiting -= publication.left();
                throttle(publication);
                return true;
            }
            long stampNs = gate.stampNs();
            retryAtNs = stampNs + Math.min(RETRY_NS, retryAfterNs(1));
            return false;
        }
        counted(tokens, publication.arrivedNs);
        for (int i = 0; i < tokens; i++) {
            waiting--;
            route(publication.messages[publication.next++], nowNs);
        }
        if (publication.left() == 0) {
            line.remove();
            accept(publication);
        }
        return true;
    }

    private boolean passesInTime(Publication publication) {
        return publication.count == 1 || settings.mode() != LimitMode.SHAPE || publication.count <= mostAtOnce;
    }

    private void refuseAsTooLarge(Publication publication) {
        gate.countRefused(publication.count);
        failAsHeldUp(
                publication,
                "the topic's limit lets at most " + (long) mostAtOnce + " messages pass within its "
                        + TimeUnit.NANOSECONDS.toMillis(settings.maxDelayNs()) + " ms: publish fewer than "
                        + publication.count + " at once");
    }

    private void expireLine(long nowNs) {
        long longestNs = settings == null ? shards.definitionWaitNs() : settings.maxDelayNs();
        Publication expired = line.expired(nowNs - longestNs);
        while (expired != null) {
            waiting -= expired.left();
            gate.countRefused(expired.left());
            if (settings == null) {
                failAsUnknown(expired, "the topic is not known here");
            } else {
                failAsHeldUp(
                        expired,
                        "it waited longer than the topic's " + TimeUnit.NANOSECONDS.toMillis(longestNs) + " ms");
            }
            expired = line.expired(nowNs - longestNs);
        }
    }

    private boolean passes(int tokens, boolean next, long arrivalNs) {
        boolean passes;
        if (settings.clock() == BucketClock.ARRIVAL) {
            passes = gate.admitAt(tokens, arrivalNs, shards.clock());
        } else {
            passes = next ? gate.admitNext(tokens, shards.clock()) : gate.admit(tokens, shards.clock());
        }
        if (!passes && settings.mode() == LimitMode.SHADOW) {
            gate.countDelayed(tokens);
            return true;
        }
        return passes;
    }

    /** The gate is not told a later time than it went by: the next message may have come between the two. */
    private void asked(int tokens, long nowNs) {
        shards.arrived(gate, tokens, 0, settings.clock() == BucketClock.ARRIVAL ? gate.stampNs() : nowNs);
    }

    /** After a refusal, for the time of that refusal: a later one might take the tokens. */
    private long retryAfterNs(int tokens) {
        long retryNs = gate.retryAfterNs(tokens, gate.stampNs());
        return retryNs == TokenBucket.NEVER ? Duty.NO_DEADLINE : retryNs;
    }

    private void accept(Publication publication) {
        Publisher publisher = publication.publisher;
        long ticket = publication.ticket;
        shards.recycle(publication);
        publisher.accepted(ticket);
    }

    private void throttle(Publication publication) {
        Publisher publisher = publication.publisher;
        long ticket = publication.ticket;
        int count = publication.left();
        gate.countRefused(count);
        long retryNs = retryAfterNs(count);
        releaseLeft(publication);
        shards.recycle(publication);
        publisher.throttled(ticket, retryNs);
    }

    private void fail(Publication publication, String reason) {
        Publisher publisher = publication.publisher;
        long ticket = publication.ticket;
        releaseLeft(publication);
        shards.recycle(publication);
        publisher.failed(ticket, reason);
    }

    private void failAsHeldUp(Publication publication, String reason) {
        Publisher publisher = publication.publisher;
        long ticket = publication.ticket;
        releaseLeft(publication);
        shards.recycle(publication);
        publisher.heldUpTooLong(ticket, reason);
    }

    private void failAsUnknown(Publication publication, String reason) {
        Publisher publisher = publication.publisher;
        long ticket = publication.ticket;
        releaseLeft(publication);
        shards.recycle(publication);
        publisher.unknownTopic(ticket, reason);
    }

    private void releaseLeft(Publication publication) {
        while (publication.left() > 0) {
            store.release(publication.messages[publication.next++]);
        }
    }

    private boolean flows() {
        return !paused && !channels.isEmpty();
    }

    private boolean hasRoom(int messages) {
        if (store.nearlyFull()) {
            return false;
        }
        if (!flows()) {
            int size = unrouted.size();
            return settings().overflow() == Overflow.DROP_OLDEST
                    || size == 0
                    || size + messages <= settings().maxQueued();
        }
        for (int i = 0; i < channels.size(); i++) {
            if (!channels.get(i).hasRoom(messages)) {
                return false;
            }
        }
        return true;
    }

    private void route(int message, long nowNs) {
        published++;
        if (flows()) {
            spread(message, nowNs);
            return;
        }
        if (settings().overflow() == Overflow.DROP_OLDEST
                && unrouted.size() >= settings().maxQueued()) {
            store.release((int) unrouted.poll());
            dropped++;
            shards.countDropped();
        }
        unrouted.add(message);
    }

    private void spread(int message, long nowNs) {
        int count = channels.size();
        if (count > 1) {
            store.retain(message, count - 1);
        }
        for (int i = 0; i < count; i++) {
            channels.get(i).put(message, nowNs);
        }
    }

    private void routeWaiting(long nowNs) {
        while (flows() && !unrouted.isEmpty()) {
            spread((int) unrouted.poll(), nowNs);
        }
        roomMade();
    }

    Subscription subscribe(
            Subscriber subscriber, String channelName, long timeoutNs, int maxChannels, long maxTimeoutNs, long nowNs) {
        Channel channel = channel(channelName, maxChannels, nowNs);
        return channel == null ? null : channel.join(subscriber, timeoutNs, maxTimeoutNs, false);
    }

    /** Null while this broker has no links. */
    RemoteSource remoteSourceFor(Channel channel) {
        OtherBrokers others = shards.otherBrokers();
        return others == null ? null : others.sourceFor(channel, store);
    }

    List<Channel> channels() {
        return channels;
    }

    /** The channel of that name, made if need be; null if there are too many. The first one gets what waited for it. */
    Channel channel(String channelName, int maxChannels, long nowNs) {
        Channel channel = findOrAdd(channelName, maxChannels, nowNs);
        if (channel != null) {
            routeWaiting(nowNs);
        }
        return channel;
    }

    private Channel findOrAdd(String channelName, int maxChannels, long nowNs) {
        Channel known = find(channelName);
        if (known != null || channels.size() >= maxChannels) {
            return known;
        }
        Channel channel = new Channel(channelName, this, store);
        channel.limit(gateOf(channelName), nowNs);
        channels.add(channel);
        hadChannels = true;
        return channel;
    }

    Channel find(String channelName) {
        for (Channel channel : channels) {
            if (channel.name().equals(channelName)) {
                return channel;
            }
        }
        return null;
    }

    void removeChannel(Channel channel, String reason) {
        drop(channel, reason);
        shards.forgetIfDone(this);
    }

    private void drop(Channel channel, String reason) {
        if (channels.remove(channel)) {
            channel.close(reason);
            roomMade();
        }
    }

    /** Drops what passed and has no channel to go to; what channels have is theirs. */
    void empty() {
        while (!unrouted.isEmpty()) {
            store.release((int) unrouted.poll());
        }
        roomMade();
    }

    /**
     * Nothing is left that anybody could miss: an ephemeral topic whose channels are gone, or one that never came to be. Not an ephemeral
     * topic that waits for its first channel, with what was published to it.
     */
    boolean done() {
        return channels.isEmpty()
                && waiting == 0
                && unrouted.isEmpty()
                && (settings == null || name.ephemeral() && hadChannels);
    }

    /** Lets go of everything; the publishers that wait are told why. */
    void close(String reason) {
        Publication publication = line.peek();
        while (publication != null) {
            line.remove();
            waiting -= publication.left();
            if (settings == null) {
                failAsUnknown(publication, reason);
            } else {
                fail(publication, reason);
            }
            publication = line.peek();
        }
        for (Channel channel : new ArrayList<>(channels)) {
            channels.remove(channel);
            channel.close(reason);
        }
        empty();
    }

    /** Looks through the channels if that is due. */
    void expireChannels(long nowNs) {
        if (lookAgainNs == Duty.NO_DEADLINE) {
            return;
        }
        if (lookAgainNs - nowNs > 0) {
            shards.lookAgainAt(lookAgainNs);
            return;
        }
        lookAgainNs = Duty.NO_DEADLINE;
        // Backwards, so that one can go.
        for (int i = channels.size() - 1; i >= 0; i--) {
            Channel channel = channels.get(i);
            if (channel.unclaimed(nowNs)) {
                removeChannel(channel, "nobody claims the channel");
                continue;
            }
            channel.expire(nowNs);
            long nextNs = channel.nextDeadlineNs();
            if (nextNs != Duty.NO_DEADLINE) {
                lookAgainAt(nextNs);
            }
        }
    }

    void lookAgainAt(long deadlineNs) {
        if (lookAgainNs == Duty.NO_DEADLINE || deadlineNs - lookAgainNs < 0) {
            lookAgainNs = deadlineNs;
        }
        shards.lookAgainAt(deadlineNs);
    }

    /** A channel's messages want tokens of its gate. */
    void wanted(TopicGate ofChannel, int tokens, int waitingTokens) {
        shards.arrived(ofChannel, tokens, waitingTokens, shards.nowNs());
    }

    void awaitTokens(Channel channel) {
        shards.listThirsty(channel);
    }

    void awaitTokensNoMore(Channel channel) {
        shards.unlistThirsty(channel);
    }

    /** By one of its channels, which counts by itself. */
    void droppedByChannel() {
        shards.countDropped();
    }

    LongSupplier clock() {
        return shards.clock();
    }

    /** A channel has given something away: what was held back may go on. */
    void roomMade() {
        if (waiting > 0) {
            retryAtNs = shards.nowNs();
        }
    }

    long retryAtNs() {
        return retryAtNs;
    }

    int waiting() {
        return waiting;
    }

    TopicStats stats() {
        List<TopicStats.ChannelStats> all = new ArrayList<>();
        channels.forEach(channel -> all.add(channel.stats()));
        return new TopicStats(name, settings, paused, published, waiting, unrouted.size(), dropped, all);
    }
}
