package io.weir.topics.path;

import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.algorithm.ArrivalRecording;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.algorithm.DelayTotals;
import io.weir.topics.algorithm.LongSegments;
import io.weir.topics.algorithm.MemoryAccount;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.algorithm.NameTable;
import io.weir.topics.algorithm.SlotBudget;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDirectory;
import io.weir.transport.gateway.AccessRights;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * All topic shards of this broker, on the message path's thread: stores what is published, finds the shard that is
 * meant, and works off the {@link Agenda}.
 */
public final class Shards implements MessagePort {
    private static final long WALL_CHECK_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long WALL_TOLERANCE_NS = TimeUnit.MILLISECONDS.toNanos(2);
    private static final long LOOK_AT_GATES_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long AS_LONG_AS_THE_LINK_NS = TimeUnit.DAYS.toNanos(3650);
    /** Slower than a peak that comes back at once, sooner than an operator looks. */
    private static final long GIVE_BACK_NS = TimeUnit.SECONDS.toNanos(10);

    private static final long GIVE_BACK_SOON_NS = TimeUnit.SECONDS.toNanos(1);
    /** About what a message of a batch takes of the store beside its body and context. */
    private static final int STORED_WITH_EACH = 48;

    private static final String FULL = "this broker's memory for messages is full";

    private final PathSettings settings;
    private final Gates gates;
    private final TopicDirectory directory;
    private final MessageStore store;
    private final MemoryBudget memory;
    private final LongSegments segments = new LongSegments();
    private final SlotBudget slots;
    private final Publications publications;
    private final Agenda agenda;
    private final LongSupplier wallMs;
    private final NameTable<TopicShard> byName = new NameTable<>();
    private final List<TopicShard> all = new ArrayList<>();
    private OtherBrokers otherBrokers;
    /** The last publication's publisher, shard and turn: one that is like it in all three follows right after it. */
    private Publisher lastPublisher;

    private TopicShard lastShard;
    private long lastPublishedNs;
    /** What is recorded, of which topic; null: nothing. */
    private ArrivalRecording recording;

    private TopicName recorded;
    /** Its shard; null also while this broker has none. All that a publication looks at. */
    private TopicShard recordedShard;

    private final DelayCounts ready = new DelayCounts();
    private final DelayCounts late = new DelayCounts();
    /** Topics of which it is counted how long messages take until consumers have them; null: all. */
    private Set<TopicName> measured = Set.of();

    private long nextId;
    private long dropped;
    private long wallOffsetNs;
    private long wallCheckedNs;
    private long gaveBackNs;
    private long gatesSeenNs;

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
        this.store = new MessageStore(settings.storeBytes(), maxMessageBytes, new DirectSlabs());
        this.memory = new MemoryBudget(store, settings);
        this.slots = new SlotBudget(settings.maxEntries() / 4);
        this.publications = new Publications(store);
        this.agenda = new Agenda(clock);
        this.wallMs = wallMs;
        nextId = firstId;
        wallCheckedNs = agenda.nowNs();
        gaveBackNs = wallCheckedNs;
        gatesSeenNs = wallCheckedNs;
        wallOffsetNs = TimeUnit.MILLISECONDS.toNanos(wallMs.getAsLong()) - wallCheckedNs;
    }

    @Override
    public boolean publish(PublishRequest request, long atNs) {
        agenda.beginTurn(atNs);
        TopicShard shard = shard(request);
        boolean next = request.publisher() == lastPublisher && shard == lastShard && atNs == lastPublishedNs;
        if (!next) {
            lastPublisher = request.publisher();
            lastShard = shard;
            lastPublishedNs = atNs;
        }
        if (recordedShard != null && shard == recordedShard) {
            record(Math.max(1, request.messages()), request.arrivalNs(), atNs);
        }
        if (shard == null) {
            request.publisher().failed(request.ticket(), "this broker has no room for another topic");
            return true;
        }
        AccessRights.Grant grant = request.publisher().grant();
        MemoryAccount token = grant == null ? null : store.token(grant.number());
        int messages = Math.max(1, request.messages());
        long bytes = request.bodyLength() + (long) messages * (STORED_WITH_EACH + request.contextLength());
        if (!shard.mayCome(token, bytes, messages)) {
            shard.line().refuseToStore(request, messages, shard.outOfMemory(grant, bytes, messages), atNs);
        } else if (request.messages() == 0) {
            publishOne(shard, token, request, next, atNs);
        } else {
            publishBatch(shard, token, request, next, atNs);
        }
        return true;
    }

    private void record(int messages, long arrivalNs, long nowNs) {
        if (!recording.arrived(messages, arrivalNs, nowNs)) {
            recordedShard = null;
        }
    }

    /** What arrives for that topic goes into this recording from now on; the one before ends. */
    void record(TopicName topic, ArrivalRecording into) {
        endRecording();
        TopicGate gate = gate(topic);
        into.begin(clockNs(), gate.delayed(), gate.refused());
        recording = into;
        recorded = topic;
        recordedShard = byName.get(topic.value());
    }

    private void endRecording() {
        if (recording != null) {
            TopicGate gate = gate(recorded);
            recording.end(clockNs(), gate.delayed(), gate.refused());
            recording = null;
            recorded = null;
            recordedShard = null;
        }
    }

    /**
     * How far a recording is.
     *
     * @param end whether it shall end now, if its time is not over yet
     */
    ArrivalRecording.Progress recorded(ArrivalRecording which, boolean end) {
        long nowNs = clockNs();
        if (which == recording) {
            if (!end && !which.isOver(nowNs)) {
                TopicGate gate = gate(recorded);
                return which.progress(nowNs, gate.delayed(), gate.refused());
            }
            endRecording();
        }
        return which.progress(nowNs, 0, 0);
    }

    private void publishOne(TopicShard shard, MemoryAccount token, PublishRequest request, boolean next, long nowNs) {
        int message = store(shard, token, request, request.bodyAt(), request.bodyLength(), nowNs);
        if (message == MessageStore.FULL) {
            request.publisher().failed(request.ticket(), FULL);
            return;
        }
        shard.line().publish(request.publisher(), request.ticket(), message, next, request.arrivalNs(), nowNs);
    }

    private void publishBatch(TopicShard shard, MemoryAccount token, PublishRequest request, boolean next, long nowNs) {
        Publication publication =
                publications.begin(request.publisher(), request.ticket(), request.arrivalNs(), request.messages());
        int at = request.bodyAt();
        for (int i = 0; i < request.messages(); i++) {
            int length = request.lengthAt(at);
            int message = store(shard, token, request, at + Integer.BYTES, length, nowNs);
            if (message == MessageStore.FULL) {
                publications.end(publication, Publication.Outcome.FAILED, 0, FULL);
                return;
            }
            publication.add(message);
            at += Integer.BYTES + length;
        }
        shard.line().publish(publication, next, nowNs);
    }

    private int store(
            TopicShard shard, MemoryAccount token, PublishRequest request, int bodyAt, int bodyLength, long nowNs) {
        long deferNs = request.deferNs();
        long dueNs = deferNs == 0 ? 0 : nowNs + deferNs;
        // Zero means none, so the one nanosecond at which the clock reads zero is skipped.
        return store.put(
                shard.account(),
                token,
                request.in(),
                request.contextAt(),
                request.contextLength(),
                bodyAt,
                bodyLength,
                request.arrivalNs(),
                nextId++,
                deferNs > 0 && dueNs == 0 ? 1 : dueNs);
    }

    @Override
    public Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long atNs) {
        agenda.beginTurn(atNs);
        TopicShard shard = shard(TopicName.of(topic), subscriber.grant());
        if (shard == null) {
            return null;
        }
        boolean durable = shard.find(channel) == null && !new ChannelName(channel).ephemeral();
        Channel joined = shard.channel(channel);
        if (joined == null) {
            return null;
        }
        Subscription subscription = joined.join(subscriber, timeoutNs, settings.maxMessageTimeoutNs(), false);
        if (durable) {
            nameChannel(shard.name(), channel);
        }
        return subscription;
    }

    void nameChannel(TopicName topic, String channel) {
        directory.channelWanted(topic, channel);
    }

    /**
     * Makes another broker a consumer of a channel. What it holds never times out here: its own consumers' time-outs
     * rule there, and when its link is lost it is closed.
     */
    public Consumer subscribeRemote(Subscriber subscriber, TopicName topic, String channelName, long atNs) {
        agenda.beginTurn(atNs);
        TopicShard shard = shard(topic, null);
        Channel channel = shard == null ? null : shard.channel(channelName);
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

    private TopicShard shard(PublishRequest request) {
        TopicShard shard = byName.get(request.in(), request.topicAt(), request.topicLength());
        if (shard != null && shard.defined()) {
            return shard;
        }
        byte[] name = new byte[request.topicLength()];
        request.in().get(request.topicAt(), name);
        return shard(
                TopicName.of(new String(name, StandardCharsets.US_ASCII)),
                request.publisher().grant());
    }

    /** The shard of that topic; if there is none, one that waits for its definition. */
    private TopicShard shard(TopicName name, AccessRights.Grant grant) {
        TopicShard shard = byName.get(name.value());
        boolean unknown = shard == null;
        if (unknown) {
            shard = add(name);
        }
        if (shard != null && (unknown || shard.asks())) {
            directory.wanted(name, grant == null ? "" : grant.name());
        }
        return shard;
    }

    private TopicShard add(TopicName name) {
        if (all.size() >= settings.maxTopics()) {
            return null;
        }
        TopicShard shard = new TopicShard(name, this);
        byName.add(name.value(), shard);
        all.add(shard);
        shard.times().measure(measured == null || measured.contains(name));
        if (name.equals(recorded)) {
            recordedShard = shard;
        }
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
        shard.apply(definition);
    }

    /** As {@link #apply} where the topic is served; nothing elsewhere. */
    void update(TopicDefinition definition) {
        if (byName.get(definition.name().value()) != null) {
            apply(definition);
        }
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
            channel.empty(agenda.nowNs());
        }
    }

    /** What messages waited since the last call, of topics that had any. */
    Map<TopicName, DelayCounts.Window> takeDelays() {
        return agenda.takeDelays();
    }

    /** Counts from now on how long messages of these topics take until consumers have them; null: of all. */
    void measure(Set<TopicName> topics) {
        measured = topics;
        all.forEach(shard -> shard.times().measure(topics == null || topics.contains(shard.name())));
    }

    /** How long messages of measured topics took since the last call. */
    List<Delivered> takeDeliveries() {
        List<Delivered> taken = new ArrayList<>();
        all.forEach(shard -> taken.addAll(shard.times().take(shard.name())));
        return taken;
    }

    DeliveryTotals deliveries() {
        return new DeliveryTotals(ready.totals(), late.totals());
    }

    void countReady(long delayNs) {
        ready.add(delayNs, 1);
    }

    void countLate(long delayNs) {
        late.add(delayNs, 1);
    }

    /** What messages waited from the beginning on; of all topics, or of one. */
    Map<TopicName, DelayTotals> delays(Optional<String> only) {
        Map<TopicName, DelayTotals> totals = new HashMap<>();
        for (TopicShard shard : all) {
            if (only.isEmpty() || only.get().equals(shard.name().value())) {
                totals.put(shard.name(), shard.line().delays());
            }
        }
        return totals;
    }

    List<TopicStats> stats() {
        return all.stream().map(TopicShard::stats).toList();
    }

    int topics() {
        return all.size();
    }

    /** @param index below {@link #topics} */
    TopicLook look(int index) {
        TopicShard shard = all.get(index);
        return new TopicLook(shard.stats(), shard.line().delays());
    }

    PathStats totals() {
        return new PathStats(
                store.bytesInUse(),
                store.bytesReserved(),
                store.maxBytes(),
                store.messages(),
                dropped,
                store.entries(),
                memory.maxEntries(),
                memory.refused());
    }

    /** Beside the counters of topics and channels, which go with them. */
    void countDropped() {
        dropped++;
    }

    /** Nobody would miss the topic. */
    void end(TopicShard shard) {
        if (byName.get(shard.name().value()) == shard) {
            forget(shard);
            shard.close("the topic is gone");
            directory.ended(shard.name());
        }
    }

    private void forget(TopicShard shard) {
        byName.remove(shard.name().value());
        all.remove(shard);
        agenda.forget(shard.line());
        if (shard == recordedShard) {
            recordedShard = null;
        }
    }

    /** At the end of a turn: every gate that may want tokens of other brokers. */
    public void askAll(Gates.Borrower borrower) {
        gates.askAll(borrower);
    }

    /** Another broker, or another life of it, is in that slot of lenders, or nobody. */
    public void lenderChanged(int slot, boolean anybody) {
        gates.lenderChanged(slot, anybody, agenda.clock().getAsLong());
    }

    /** The gate of a topic that is defined here, or null. */
    public TopicGate gateOf(ByteBuffer in, int at, int length) {
        TopicShard shard = byName.get(in, at, length);
        return shard == null || !shard.defined() ? null : shard.line().gate();
    }

    /**
     * The same for another broker that asks for tokens: what lies here unused is lent as well, from the next time on.
     */
    public TopicGate lender(ByteBuffer in, int at, int length) {
        TopicGate gate = gateOf(in, at, length);
        if (gate == null) {
            byte[] name = new byte[length];
            in.get(at, name);
            directory.lenderWanted(TopicName.of(new String(name, StandardCharsets.US_ASCII)));
        }
        return gate;
    }

    /** Tokens came for that topic: who waits for them goes on at once. */
    public void tokensCame(ByteBuffer in, int at, int length) {
        TopicShard shard = byName.get(in, at, length);
        if (shard != null && shard.line().waiting() > 0) {
            shard.line().drain(agenda.nowNs());
        }
    }

    /** What the gates go by, read anew: the turn's time is too early for what came in this turn. */
    public long clockNs() {
        return agenda.clock().getAsLong();
    }

    @Override
    public int doWork(long atNs) {
        agenda.beginTurn(atNs);
        // Supply may change now, so no publication follows right after another. Nor do these fields keep anybody in
        // memory.
        lastPublisher = null;
        lastShard = null;
        int commands = gates.poll(agenda.clock());
        checkWallClock(atNs);
        giveMemoryBack(atNs);
        forgetGates(atNs);
        if (agenda.beginLook()) {
            // Backwards, so that one can go with its last channel.
            for (int i = all.size() - 1; i >= 0; i--) {
                all.get(i).expireChannels(atNs);
            }
        }
        return commands + agenda.serve(commands > 0);
    }

    /** No message is being worked on, so nobody is in the midst of reading what is freed. */
    private void giveMemoryBack(long nowNs) {
        if (nowNs - gaveBackNs >= (slots.scarce() ? GIVE_BACK_SOON_NS : GIVE_BACK_NS)) {
            gaveBackNs = nowNs;
            for (int i = 0; i < all.size(); i++) {
                all.get(i).trim();
            }
            segments.trim();
            store.trim();
        }
    }

    private void forgetGates(long nowNs) {
        if (nowNs - gatesSeenNs >= LOOK_AT_GATES_NS) {
            gatesSeenNs = nowNs;
            gates.forgetIdle(this::usesGate, nowNs);
        }
    }

    private boolean usesGate(TopicName key) {
        return byName.get(key.topic().value()) != null || key.equals(recorded);
    }

    /** A clock that was set is followed; the few milliseconds by which two readings differ are not. */
    private void checkWallClock(long nowNs) {
        if (nowNs - wallCheckedNs >= WALL_CHECK_NS) {
            wallCheckedNs = nowNs;
            long offsetNs = TimeUnit.MILLISECONDS.toNanos(wallMs.getAsLong())
                    - agenda.clock().getAsLong();
            if (Math.abs(offsetNs - wallOffsetNs) > WALL_TOLERANCE_NS) {
                wallOffsetNs = offsetNs;
            }
        }
    }

    @Override
    public long nextDeadlineNs() {
        return agenda.nextDeadlineNs();
    }

    TopicGate gate(TopicName key) {
        return gates.gate(key, agenda.nowNs());
    }

    MessageStore store() {
        return store;
    }

    MemoryBudget memory() {
        return memory;
    }

    /** Memory for the queues of this path. */
    public LongSegments segments() {
        return segments;
    }

    SlotBudget slots() {
        return slots;
    }

    Publications publications() {
        return publications;
    }

    Agenda agenda() {
        return agenda;
    }

    PathSettings settings() {
        return settings;
    }

    /** The time of this turn. */
    public long nowNs() {
        return agenda.nowNs();
    }
}
