package io.weir.topics.path;

import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.algorithm.LongRing;
import io.weir.topics.algorithm.LongSegments;
import io.weir.topics.algorithm.MemoryAccount;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.algorithm.SlotBudget;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicSettings;
import io.weir.transport.gateway.AccessRights;
import io.weir.transport.gateway.Duty;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * One broker's part of a topic: its channels, and which message goes to them. What comes in passes the
 * {@link TokenLine} first. What passed goes to every channel; while there is none, or the topic is paused, it waits
 * here.
 */
final class TopicShard {
    /** As long as a channel waits for somebody to claim it. */
    private static final long ABANDONED_NS = TimeUnit.SECONDS.toNanos(60);

    private static final long ASK_AGAIN_NS = TimeUnit.SECONDS.toNanos(1);
    private static final int MOST_DELETED = 64;

    private final TopicName name;
    private final Shards shards;
    private final Agenda agenda;
    private final MessageStore store;
    private final TokenLine line;
    private final MessageTimes times;
    private final List<Channel> channels = new ArrayList<>();
    /** Messages that passed and have no channel to go to yet. */
    private final LongRing unrouted;

    private final MemoryBudget memory;
    private final MemoryAccount account;

    private TopicSettings settings;
    private long revision;
    private Set<String> limitedChannels = Set.of();
    private final Set<String> deleted = new LinkedHashSet<>(0);
    private boolean paused;
    private long withoutChannelSinceNs;
    private boolean hadChannels;
    private long askedNs;
    private long published;
    private long dropped;
    private long lookAgainNs = Duty.NO_DEADLINE;

    TopicShard(TopicName name, Shards shards) {
        this.name = name;
        this.shards = shards;
        agenda = shards.agenda();
        store = shards.store();
        memory = shards.memory();
        account = store.open();
        unrouted = new LongRing(shards.segments());
        line = new TokenLine(
                this,
                shards.gate(name),
                agenda,
                store,
                shards.publications(),
                shards.settings().definitionWaitNs());
        times = new MessageTimes(shards, agenda, store, line.gate());
        askedNs = agenda.nowNs();
    }

    TopicName name() {
        return name;
    }

    TokenLine line() {
        return line;
    }

    MessageTimes times() {
        return times;
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
     * Applies all that the definition says at once: no message goes to a limited channel, or past a pause, in between.
     * A definition older than the one in force is ignored.
     *
     * @throws IllegalStateException when everything else is done, if not all channels have room here
     */
    void apply(TopicDefinition definition) {
        if (definition.revision() < revision) {
            return;
        }
        long nowNs = agenda.nowNs();
        settings = definition.delivery().settings();
        line.apply(settings, definition.mostAtOnce());
        line.gate().borrow(definition.borrows(), definition.limitVersion(), agenda.nowNs());
        paused = definition.paused();
        limitedChannels = definition.limitedChannels();
        for (Channel channel : new ArrayList<>(channels)) {
            if (channel.named() && !definition.channels().containsKey(channel.name())) {
                drop(channel, "the channel was deleted");
                rememberDeleted(channel.name());
            } else {
                channel.limit(gateOf(channel.name()), nowNs);
            }
        }
        String noRoom = null;
        for (Map.Entry<String, TopicDefinition.ChannelSettings> each :
                definition.channels().entrySet()) {
            Channel channel = findOrAdd(each.getKey());
            if (channel == null) {
                noRoom = each.getKey();
            } else {
                channel.apply(each.getValue().paused(), nowNs);
                deleted.remove(each.getKey());
            }
        }
        routeWaiting(nowNs);
        line.retryNow();
        endIfDone();
        if (noRoom != null) {
            throw new IllegalStateException(
                    "topic " + name + " has " + channels.size() + " channels here, and no room for " + noRoom);
        }
        revision = definition.revision();
        if (name.ephemeral() && channels.isEmpty()) {
            waitForAChannel(nowNs);
        }
    }

    private void rememberDeleted(String channelName) {
        if (deleted.size() == MOST_DELETED) {
            deleted.remove(deleted.iterator().next());
        }
        deleted.add(channelName);
    }

    /** Whether a definition named that channel once and does not now; of those that were deleted last. */
    boolean wasDeleted(String channelName) {
        return deleted.contains(channelName);
    }

    private TopicGate gateOf(String channelName) {
        return limitedChannels.contains(channelName)
                ? shards.gate(TopicName.ofChannel(name, new ChannelName(channelName)))
                : null;
    }

    /** Whether the directory should be asked (again). */
    boolean asks() {
        if (settings != null || agenda.nowNs() - askedNs < ASK_AGAIN_NS) {
            return false;
        }
        askedNs = agenda.nowNs();
        return true;
    }

    private boolean flows() {
        return !paused && !channels.isEmpty();
    }

    /** What its messages take of the broker's memory. */
    MemoryAccount account() {
        return account;
    }

    /** The queues that one message goes to. */
    private int copies() {
        return flows() ? channels.size() : 1;
    }

    /** Whether so many messages of so many bytes may come in, be it to wait; nothing of them is stored yet. */
    boolean mayCome(MemoryAccount token, long bytes, int messages) {
        return memory.mayCome(account, token, bytes, messages, copies());
    }

    /** Why not, or why they may not pass. */
    String outOfMemory(AccessRights.Grant grant, long bytes, int messages) {
        return memory.refusal(name, account, grant, bytes, messages, copies());
    }

    /** Whether there is memory for so many messages that have come in to pass. */
    boolean hasMemory(int messages) {
        return memory.mayPass(account, line.waitingBytes(), line.waiting(), (long) messages * (copies() - 1));
    }

    /** Whether so many messages more may pass. */
    boolean hasRoom(int messages) {
        if (!hasMemory(messages)) {
            return false;
        }
        if (!flows() || !unrouted.isEmpty()) {
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

    /** A message that passed; its reference is this shard's from now on. */
    void route(int message, long nowNs) {
        published++;
        if (flows() && unrouted.isEmpty()) {
            spread(message, nowNs, true);
            return;
        }
        if (store.dueNs(message) == 0) {
            times.passed(message);
        }
        if (settings().overflow() == Overflow.DROP_OLDEST
                && unrouted.size() >= settings().maxQueued()) {
            store.release((int) unrouted.poll());
            dropped++;
            countDropped();
        }
        unrouted.add(message);
        if (name.ephemeral()) {
            waitForAChannel(nowNs);
        }
    }

    /** An ephemeral topic without channels is there for a while after each message, and goes then. */
    private void waitForAChannel(long nowNs) {
        withoutChannelSinceNs = nowNs;
        lookAgainAt(nowNs + ABANDONED_NS);
    }

    private void endIfAbandoned(long nowNs) {
        if (!name.ephemeral() || !defined() || !channels.isEmpty() || line.waiting() > 0) {
            return;
        }
        if (nowNs - withoutChannelSinceNs < ABANDONED_NS) {
            lookAgainAt(withoutChannelSinceNs + ABANDONED_NS);
            return;
        }
        for (int i = unrouted.size(); i > 0; i--) {
            countDropped();
        }
        empty();
        hadChannels = true;
        endIfDone();
    }

    /** @param passesNow whether it passed in this moment, rather than wait here */
    private void spread(int message, long nowNs, boolean passesNow) {
        int count = channels.size();
        if (count > 1) {
            store.retain(message, count - 1);
        }
        for (int i = 0; i < count; i++) {
            channels.get(i).put(message, nowNs, passesNow);
        }
    }

    /** As far as there is memory for one more entry in every channel. */
    private void routeWaiting(long nowNs) {
        while (flows() && !unrouted.isEmpty()) {
            int more = channels.size() - 1;
            long waiting = (long) line.waiting() + unrouted.size();
            if (more > 0 && !memory.mayPass(account, account.bytes(), waiting, more)) {
                lookAgainAt(nowNs + TokenLine.RETRY_NS);
                break;
            }
            spread((int) unrouted.poll(), nowNs, false);
        }
        line.retryNow();
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
    Channel channel(String channelName) {
        Channel channel = findOrAdd(channelName);
        if (channel != null) {
            routeWaiting(agenda.nowNs());
        }
        return channel;
    }

    private Channel findOrAdd(String channelName) {
        Channel known = find(channelName);
        if (known != null || channels.size() >= shards.settings().maxChannels()) {
            return known;
        }
        Channel channel = new Channel(channelName, this, agenda, store);
        channel.limit(gateOf(channelName), agenda.nowNs());
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

    /** Other brokers are to keep messages for that channel, too. */
    void nameChannel(String channelName) {
        shards.nameChannel(name, channelName);
    }

    void removeChannel(Channel channel, String reason) {
        drop(channel, reason);
        endIfDone();
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

    void endIfDone() {
        if (done()) {
            shards.end(this);
        }
    }

    /**
     * Nothing is left that anybody could miss: an ephemeral topic whose channels are gone, or a topic that was never
     * defined. Not an ephemeral topic that waits for its first channel, with what was published to it: that has
     * {@link #ABANDONED_NS}.
     */
    private boolean done() {
        return channels.isEmpty()
                && line.waiting() == 0
                && unrouted.isEmpty()
                && (settings == null || name.ephemeral() && hadChannels);
    }

    /** Lets go of everything; publishers and consumers hear the reason. */
    void close(String reason) {
        line.close(reason);
        for (Channel channel : new ArrayList<>(channels)) {
            channels.remove(channel);
            channel.close(reason);
        }
        empty();
        store.close(account);
    }

    /** Looks through the channels if that is due. */
    void expireChannels(long nowNs) {
        if (lookAgainNs == Duty.NO_DEADLINE) {
            return;
        }
        if (lookAgainNs - nowNs > 0) {
            agenda.lookAgainAt(lookAgainNs);
            return;
        }
        lookAgainNs = Duty.NO_DEADLINE;
        // Backwards, so that one can go.
        for (int i = channels.size() - 1; i >= 0; i--) {
            Channel channel = channels.get(i);
            if (channel.goesNow(nowNs)) {
                removeChannel(channel, "nobody claims the channel");
                continue;
            }
            channel.expire(nowNs);
            long nextNs = channel.nextDeadlineNs();
            if (nextNs != Duty.NO_DEADLINE) {
                lookAgainAt(nextNs);
            }
        }
        if (!unrouted.isEmpty()) {
            routeWaiting(nowNs);
        }
        endIfAbandoned(nowNs);
    }

    /** Gives memory back that its consumers did not need for a while. */
    void trim() {
        for (int i = 0; i < channels.size(); i++) {
            channels.get(i).trim();
        }
    }

    LongSegments segments() {
        return shards.segments();
    }

    SlotBudget slots() {
        return shards.slots();
    }

    void lookAgainAt(long deadlineNs) {
        if (lookAgainNs == Duty.NO_DEADLINE || deadlineNs - lookAgainNs < 0) {
            lookAgainNs = deadlineNs;
        }
        agenda.lookAgainAt(deadlineNs);
    }

    /** Beside its own counter, or that of the channel that dropped a message: those end with the topic. */
    void countDropped() {
        shards.countDropped();
    }

    /** A channel has given something away: what was held back may go on. */
    void roomMade() {
        if (!unrouted.isEmpty()) {
            routeWaiting(agenda.nowNs());
        }
        line.retryNow();
    }

    TopicStats stats() {
        List<TopicStats.ChannelStats> all = new ArrayList<>();
        channels.forEach(channel -> all.add(channel.stats()));
        return new TopicStats(name, settings, paused, published, line.waiting(), unrouted.size(), dropped, all);
    }
}
