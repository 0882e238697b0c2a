package io.weir.topics.path;

import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.algorithm.NameTable;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDirectory;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * All topic shards of this broker, on the message path's thread: finds the one that is meant, serves those in whose line
 * something waits, and looks after what is deferred or in flight.
 *
 * <p>Time-outs need no timer each. Every new deadline only lowers the time at which its topic's channels are looked through; a
 * message that is acknowledged leaves it as it is. So consumers that acknowledge in time cost one look per time-out.
 */
public final class Shards implements MessagePort {
    private static final long LOOK_AT_MOST_EVERY_NS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long WALL_CHECK_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long WALL_TOLERANCE_NS = TimeUnit.MILLISECONDS.toNanos(2);
    private static final long AS_LONG_AS_THE_LINK_NS = TimeUnit.DAYS.toNanos(3650);
    private static final int KEPT_PUBLICATIONS = 16_384;
    /** The array of a larger batch is not kept. */
    private static final int KEPT_BATCH = 1024;

    private final PathSettings settings;
    private final Gates gates;
    private final TopicDirectory directory;
    private final MessageStore store;
    private final LongSupplier clock;
    private final LongSupplier wallMs;
    private final NameTable<TopicShard> byName = new NameTable<>();
    private final List<TopicShard> all = new ArrayList<>();
    private final List<TopicShard> withLine = new ArrayList<>();
    private final List<Channel> thirsty = new ArrayList<>();
    /** Those with delays that nobody has taken. */
    private final List<TopicShard> delayed = new ArrayList<>();

    private final ArrayDeque<Publication> spare = new ArrayDeque<>();
    private OtherBrokers otherBrokers;
    /** Whose the last publication was, of which topic and in which turn: one that is like it in all three follows right after it. */
    private Publisher lastPublisher;

    private TopicShard lastShard;
    private long lastPublishedNs;
    private long nextId;
    private long dropped;
    private long nowNs;
    private long lookAgainNs = NO_DEADLINE;
    private long lookedNs;
    private long wallOffsetNs;
    private long wallCheckedNs;

    /** @param firstId ids count up from here; what differs between brokers and their lives belongs in the upper bits */
    Shards(
            PathSettings settings,
            int maxMessageBytes,
            Gates gates,
            TopicDirectory directory,
            long firstId,
            LongSupplier clock,
            LongSupplier wallMs) {
        this.settings = settings;
        this.gates = gates;
        this.directory = directory;
        this.store = new MessageStore(settings.storeBytes(), maxMessageBytes);
        this.clock = clock;
        this.wallMs = wallMs;
        nextId = firstId;
        nowNs = clock.getAsLong();
        lookedNs = nowNs;
        wallOffsetNs = TimeUnit.MILLISECONDS.toNanos(wallMs.getAsLong()) - nowNs;
        wallCheckedNs = nowNs;
    }

    @Override
    public boolean publish(PublishRequest request, long atNs) {
        nowNs = atNs;
        TopicShard shard = shard(request.in(), request.topicAt(), request.topicLength());
        boolean next = request.publisher() == lastPublisher && shard == lastShard && atNs == lastPublishedNs;
        if (!next) {
            lastPublisher = request.publisher();
            lastShard = shard;
            lastPublishedNs = atNs;
        }
        if (shard == null) {
            request.publisher().failed(request.ticket(), "this broker has no room for another topic");
        } else if (request.messages() == 0) {
            publishOne(shard, request, next);
        } else {
            publishBatch(shard, request, next);
        }
        return true;
    }

    private void publishOne(TopicShard shard, PublishRequest request, boolean next) {
        int message = store(request, request.bodyAt(), request.bodyLength());
        if (message == MessageStore.FULL) {
            refuseAsFull(request);
            return;
        }
        shard.publish(request.publisher(), request.ticket(), message, next, request.arrivalNs(), nowNs);
    }

    private void publishBatch(TopicShard shard, PublishRequest request, boolean next) {
        Publication publication = newPublication(request.publisher(), request.ticket(), nowNs, request.messages());
        int at = request.bodyAt();
        for (int i = 0; i < request.messages(); i++) {
            int length = request.lengthAt(at);
            int message = store(request, at + Integer.BYTES, length);
            if (message == MessageStore.FULL) {
                while (publication.left() > 0) {
                    store.release(publication.messages[publication.next++]);
                }
                recycle(publication);
                refuseAsFull(request);
                return;
            }
            publication.add(message);
            at += Integer.BYTES + length;
        }
        shard.publish(publication, next, request.arrivalNs(), nowNs);
    }

    private static void refuseAsFull(PublishRequest request) {
        request.publisher().failed(request.ticket(), "this broker's memory for messages is full");
    }

    private int store(PublishRequest request, int bodyAt, int bodyLength) {
        long deferNs = request.deferNs();
        long dueNs = deferNs == 0 ? 0 : nowNs + deferNs;
        // Zero means none, so the one nanosecond at which the clock reads zero is skipped.
        return store.put(
                request.in(),
                request.contextAt(),
                request.contextLength(),
                bodyAt,
                bodyLength,
                nowNs + wallOffsetNs,
                nextId++,
                deferNs > 0 && dueNs == 0 ? 1 : dueNs);
    }

    @Override
    public Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long atNs) {
        nowNs = atNs;
        TopicShard shard = shard(TopicName.of(topic));
        if (shard == null) {
            return null;
        }
        boolean durable = shard.find(channel) == null && !new ChannelName(channel).ephemeral();
        Subscription subscription = shard.subscribe(
                subscriber, channel, timeoutNs, settings.maxChannels(), settings.maxMessageTimeoutNs(), atNs);
        if (durable && subscription != null) {
            directory.channelWanted(shard.name(), channel);
        }
        return subscription;
    }

    /**
     * Makes another broker a consumer of a channel. What it holds never times out here: its own consumers' time-outs rule there,
     * and when its link is lost it is closed.
     */
    public Consumer subscribeRemote(Subscriber subscriber, TopicName topic, String channelName, long atNs) {
        nowNs = atNs;
        TopicShard shard = shard(topic);
        Channel channel = shard == null ? null : shard.channel(channelName, settings.maxChannels(), atNs);
        return channel == null ? null : channel.join(subscriber, AS_LONG_AS_THE_LINK_NS, AS_LONG_AS_THE_LINK_NS, true);
    }

    /** Before the first channel exists; answers the way in that knows publishers' homes. */
    MessagePort federate(OtherBrokers others, int maxMessageBytes) {
        otherBrokers = others;
        return others.join(this, maxMessageBytes);
    }

    /** Null while this broker has no links. */
    OtherBrokers otherBrokers() {
        return otherBrokers;
    }

    /** What wall-clock time is ahead of the message path's clock. */
    public long wallOffsetNs() {
        return wallOffsetNs;
    }

    public void everyChannelChanged() {
        for (TopicShard shard : all) {
            for (Channel channel : shard.channels()) {
                channel.remoteSource().changed();
            }
        }
    }

    private TopicShard shard(ByteBuffer in, int at, int length) {
        TopicShard shard = byName.get(in, at, length);
        if (shard != null && shard.defined()) {
            return shard;
        }
        byte[] name = new byte[length];
        in.get(at, name);
        return shard(TopicName.of(new String(name, StandardCharsets.US_ASCII)));
    }

    /** The shard of that topic; if there is none, one that waits for its definition. */
    private TopicShard shard(TopicName name) {
        TopicShard shard = byName.get(name.value());
        if (shard == null) {
            shard = add(name);
            if (shard != null) {
                directory.wanted(name);
            }
        } else if (shard.asks(nowNs)) {
            directory.wanted(name);
        }
        return shard;
    }

    private TopicShard add(TopicName name) {
        if (all.size() >= settings.maxTopics()) {
            return null;
        }
        TopicShard shard = new TopicShard(name, gates.gate(name, nowNs), this, nowNs);
        byName.add(name.value(), shard);
        all.add(shard);
        return shard;
    }

    /** The topic is like this from now on, its channels included; or it is gone. */
    void apply(TopicDefinition definition) {
        TopicName name = definition.name();
        TopicShard shard = byName.get(name.value());
        if (!definition.exists()) {
            if (shard != null && shard.revision() <= definition.revision()) {
                remove(name, "the topic was deleted");
            }
            return;
        }
        if (shard == null) {
            shard = add(name);
        }
        if (shard == null) {
            throw new IllegalStateException("this broker has no room for more than " + all.size() + " topics");
        }
        shard.apply(definition, settings.maxChannels(), nowNs);
    }

    /** The revision of each topic's definition that was applied here last, 0 if none was. */
    Map<TopicName, Long> revisions() {
        Map<TopicName, Long> revisions = new HashMap<>();
        all.forEach(shard -> revisions.put(shard.name(), shard.revision()));
        return revisions;
    }

    void remove(TopicName name, String reason) {
        TopicShard shard = byName.get(name.value());
        if (shard != null) {
            forget(shard);
            shard.close(reason);
        }
    }

    /** Nothing is done where the topic is not served: there is nothing of it here. */
    void empty(TopicName name) {
        TopicShard shard = byName.get(name.value());
        if (shard != null) {
            shard.empty();
        }
    }

    /** The same for a channel. */
    void emptyChannel(TopicName name, String channelName) {
        TopicShard shard = byName.get(name.value());
        Channel channel = shard == null ? null : shard.find(channelName);
        if (channel != null) {
            channel.empty(nowNs);
        }
    }

    void listDelayed(TopicShard shard) {
        delayed.add(shard);
    }

    /** What messages waited since the last call, of topics that had any. */
    Map<TopicName, DelayCounts.Window> takeDelays() {
        Map<TopicName, DelayCounts.Window> windows = new HashMap<>();
        delayed.forEach(shard -> windows.put(shard.name(), shard.delays().take()));
        delayed.clear();
        return windows;
    }

    List<TopicStats> stats() {
        return all.stream().map(TopicShard::stats).toList();
    }

    PathStats totals() {
        return new PathStats(store.bytesInUse(), store.bytesReserved(), store.maxBytes(), store.messages(), dropped);
    }

    /** Beside the counters of topics and channels, which go with them. */
    void countDropped() {
        dropped++;
    }

    void forgetIfDone(TopicShard shard) {
        if (shard.done() && byName.get(shard.name().value()) == shard) {
            forget(shard);
            shard.close("the topic is gone");
            directory.ended(shard.name());
        }
    }

    private void forget(TopicShard shard) {
        byName.remove(shard.name().value());
        all.remove(shard);
        delayed.remove(shard);
        if (shard.listed) {
            shard.listed = false;
            withLine.remove(shard);
        }
    }

    @Override
    public int doWork(long atNs) {
        nowNs = atNs;
        // Supply may change now; and neither is kept in memory by this.
        lastPublisher = null;
        lastShard = null;
        int done = gates.poll(atNs);
        boolean supplyChanged = done > 0;
        checkWallClock();
        if (lookAgainNs != NO_DEADLINE && atNs - lookAgainNs >= 0) {
            lookThroughChannels();
        }
        for (int i = thirsty.size() - 1; i >= 0; i--) {
            Channel channel = thirsty.get(i);
            if ((supplyChanged || channel.retryAtNs() - atNs <= 0) && !channel.quench(atNs)) {
                unlistThirsty(channel);
            }
        }
        // Backwards, so that one that is done can leave the list.
        for (int i = withLine.size() - 1; i >= 0; i--) {
            TopicShard shard = withLine.get(i);
            if (supplyChanged || shard.retryAtNs() - atNs <= 0) {
                done += shard.drain(atNs);
            }
            if (shard.waiting() == 0) {
                unlist(i);
                forgetIfDone(shard);
            }
        }
        return done;
    }

    private void lookThroughChannels() {
        lookedNs = nowNs;
        lookAgainNs = NO_DEADLINE;
        // Backwards, so that one can go with its last channel.
        for (int i = all.size() - 1; i >= 0; i--) {
            all.get(i).expireChannels(nowNs);
        }
    }

    /** A clock that was set is followed; the few milliseconds by which two readings differ are not. */
    private void checkWallClock() {
        if (nowNs - wallCheckedNs >= WALL_CHECK_NS) {
            wallCheckedNs = nowNs;
            long offsetNs = TimeUnit.MILLISECONDS.toNanos(wallMs.getAsLong()) - clock.getAsLong();
            if (Math.abs(offsetNs - wallOffsetNs) > WALL_TOLERANCE_NS) {
                wallOffsetNs = offsetNs;
            }
        }
    }

    @Override
    public long nextDeadlineNs() {
        long earliestNs = lookAgainNs;
        for (int i = 0; i < withLine.size(); i++) {
            long retryNs = withLine.get(i).retryAtNs();
            if (earliestNs == NO_DEADLINE || retryNs - earliestNs < 0) {
                earliestNs = retryNs;
            }
        }
        for (int i = 0; i < thirsty.size(); i++) {
            long retryNs = thirsty.get(i).retryAtNs();
            if (earliestNs == NO_DEADLINE || retryNs - earliestNs < 0) {
                earliestNs = retryNs;
            }
        }
        return earliestNs;
    }

    /** A channel that has messages, and a consumer for them, but no token. */
    void listThirsty(Channel channel) {
        if (!channel.listed) {
            channel.listed = true;
            thirsty.add(channel);
        }
    }

    void unlistThirsty(Channel channel) {
        if (channel.listed) {
            channel.listed = false;
            thirsty.remove(channel);
        }
    }

    TopicGate gate(TopicName key) {
        return gates.gate(key, nowNs);
    }

    /** Not more often than every millisecond, because each time all topics are asked. */
    void lookAgainAt(long deadlineNs) {
        long notBeforeNs = lookedNs + LOOK_AT_MOST_EVERY_NS;
        long atNs = deadlineNs - notBeforeNs < 0 ? notBeforeNs : deadlineNs;
        if (lookAgainNs == NO_DEADLINE || atNs - lookAgainNs < 0) {
            lookAgainNs = atNs;
        }
    }

    void list(TopicShard shard) {
        shard.listed = true;
        withLine.add(shard);
    }

    private void unlist(int index) {
        withLine.get(index).listed = false;
        TopicShard last = withLine.remove(withLine.size() - 1);
        if (index < withLine.size()) {
            withLine.set(index, last);
        }
    }

    void arrived(TopicGate gate, int tokens, long waitingTokens, long atNs) {
        gates.arrived(gate, tokens, waitingTokens, atNs);
    }

    Publication newPublication(Publisher publisher, long ticket, long atNs, int capacity) {
        Publication publication = spare.pollFirst();
        if (publication == null) {
            publication = new Publication();
        }
        publication.begin(publisher, ticket, atNs, capacity);
        return publication;
    }

    void recycle(Publication publication) {
        publication.publisher = null;
        if (publication.messages.length <= KEPT_BATCH && spare.size() < KEPT_PUBLICATIONS) {
            spare.addFirst(publication);
        }
    }

    MessageStore store() {
        return store;
    }

    LongSupplier clock() {
        return clock;
    }

    public long nowNs() {
        return nowNs;
    }

    long definitionWaitNs() {
        return settings.definitionWaitNs();
    }
}
