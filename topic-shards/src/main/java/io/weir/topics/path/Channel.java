package io.weir.topics.path;

import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.topics.algorithm.DeadlineHeap;
import io.weir.topics.algorithm.LongRing;
import io.weir.topics.algorithm.MemoryAccount;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.definition.Overflow;
import io.weir.transport.gateway.Duty;
import io.weir.transport.gateway.Subscriber;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A channel of a topic at this broker: a queue that gets a copy of every message, shared by its consumers, one message
 * to one consumer with credit, in turn. A message is queued, deferred, or in flight with a consumer; a message that
 * comes back (given back, timed out, its consumer gone) goes to the queue's end whether it is full or not, because it
 * was let in before.
 *
 * <p>What other brokers sent on for this channel's consumers waits apart, see {@link RemoteSource}; where both wait
 * they take turns.
 *
 * <p>If the channel has a limit of its own, every delivery takes a token of its gate, a redelivery too: the limit
 * protects consumers, and they have the work each time. Without a token messages stay queued, and the queue's bound
 * holds as ever. A token is taken when there is a consumer with credit. If all consumers' buffers then prove full, the
 * token is lost rather than kept, because a kept one would come on top of a full bucket. A message that another broker
 * sent on has paid there; a redelivery of it here is free.
 *
 * <p>An entry is the message's name in the store (32 bits), above it the deliveries so far (16 bits), and on top where
 * it came from (15 bits): 0 for this broker, else one of the {@link RemoteSource}'s slots.
 */
public final class Channel {
    /** Receives what leaves, see {@link #takeDeferred}. */
    @FunctionalInterface
    public interface DeferredTaker {
        void take(long entry, long dueNs);
    }

    private static final int MAX_ATTEMPTS = 0xffff;
    private static final long ASK_AGAIN_NS = TimeUnit.SECONDS.toNanos(1);
    /** Long enough for a definition that is on its way, and for a broker to be linked again. */
    private static final long UNCLAIMED_NS = TimeUnit.MINUTES.toNanos(1);

    private final String name;
    private final boolean ephemeral;
    private final TopicShard shard;
    private final Agenda agenda;
    private final MessageStore store;
    private final MessageTimes times;
    private final LongRing queue;
    private DeadlineHeap deferred;
    private final List<Consumer> consumers = new ArrayList<>();
    /** Null while this broker has no links. */
    private final RemoteSource remoteSource;

    private int turn;
    private boolean remoteTurn;
    private boolean paused;
    /** The topic's definition names it, or did. */
    private boolean named;
    /** It was made for consumers of this broker, or by the definition, and not only for other brokers'. */
    private boolean claimed;
    /** When it goes because nobody comes for it, or {@link Duty#NO_DEADLINE}; see {@link #goesNow}. */
    private long goesAtNs = Duty.NO_DEADLINE;
    /** No consumer could take the last message: not tried again before something has changed. */
    private boolean stalled;
    /** The same for messages of other brokers, which only consumers of this broker may have. */
    private boolean remoteStalled;
    /** What the channel's own limit lets pass here; null without one. */
    private TopicGate gate;
    /** There was no token: not tried again before {@link #retryAtNs}. */
    private boolean thirsty;

    private long retryAtNs;
    private long askedAgainNs;
    /** Whether it is on the agenda of those that wait for tokens. */
    private boolean listed;

    private long received;
    private long delivered;
    private long finished;
    private long requeued;
    private long timedOut;
    private long dropped;

    Channel(String name, TopicShard shard, Agenda agenda, MessageStore store) {
        this.name = name;
        ephemeral = new ChannelName(name).ephemeral();
        this.shard = shard;
        this.agenda = agenda;
        this.store = store;
        queue = new LongRing(shard.segments());
        deferred = new DeadlineHeap(shard.segments());
        times = shard.times();
        remoteSource = shard.remoteSourceFor(this);
    }

    public TopicName topic() {
        return shard.name();
    }

    public String name() {
        return name;
    }

    /** What waits for consumers. */
    int depth() {
        return queue.size() + deferred.size();
    }

    boolean holdsBack() {
        return !ephemeral && shard.settings().overflow() == Overflow.HOLD_BACK;
    }

    boolean hasRoom(int messages) {
        return !holdsBack()
                || depth() == 0
                || depth() + messages <= shard.settings().maxQueued();
    }

    /** @param remote whether another broker is behind it */
    Consumer join(Subscriber subscriber, long timeoutNs, long maxTimeoutNs, boolean remote) {
        Consumer consumer = new Consumer(this, subscriber, timeoutNs, maxTimeoutNs, remote, shard.slots());
        consumers.add(consumer);
        claimed |= !remote;
        goesAtNs = Duty.NO_DEADLINE;
        changed();
        if (consumers.size() == 1) {
            wanted(queue.size());
        }
        return consumer;
    }

    /** A message that passed the gate, now or before; one of its references is the channel's from now on. */
    void put(int message, long nowNs, boolean passesNow) {
        received++;
        long dueNs = store.dueNs(message);
        if (dueNs != 0 && dueNs - nowNs > 0) {
            if (makeRoom(message)) {
                defer(message, dueNs);
            }
            return;
        }
        times.begin(passesNow && dueNs == 0);
        boolean taken = queue.isEmpty() && dispatch(message, nowNs);
        times.end(message, taken);
        if (!taken && makeRoom(message)) {
            queue.add(message);
        }
        wanted(1);
    }

    /** Messages have come that want tokens; as long as nobody consumes here, supply is of more use at other brokers. */
    private void wanted(int messages) {
        if (gate != null && messages > 0 && !consumers.isEmpty()) {
            gate.arrived(messages, queue.size(), agenda.nowNs());
        }
    }

    /**
     * Waiting messages count as arrivals again every second. Supply goes where arrivals are: a queue that nothing is
     * added to would otherwise be left with its broker's equal part. This way brokers' queues drain in proportion, as
     * if they were one.
     */
    private int wantedAgain(long nowNs) {
        if (nowNs - askedAgainNs < ASK_AGAIN_NS) {
            return 0;
        }
        askedAgainNs = nowNs;
        return queue.size();
    }

    /** @param newGate where deliveries take their tokens from now on; null for no limit */
    void limit(TopicGate newGate, long nowNs) {
        if (gate == newGate) {
            return;
        }
        if (gate != null) {
            gate.waiting(0, agenda.nowNs());
        }
        gate = newGate;
        askedAgainNs = nowNs;
        awaitTokensNoMore();
        wanted(queue.size());
        unstall(nowNs);
    }

    long retryAtNs() {
        return retryAtNs;
    }

    /** Tokens may be there; if it need not wait on, it leaves the agenda. */
    void quench(long nowNs) {
        thirsty = false;
        pump(nowNs);
        if (!thirsty) {
            awaitTokensNoMore();
        }
    }

    private boolean pays() {
        if (gate.admit(1, agenda.clock())) {
            return true;
        }
        long stampNs = gate.stampNs();
        thirsty = true;
        retryAtNs = stampNs + Math.min(TokenLine.RETRY_NS, gate.retryAfterNs(1, stampNs));
        gate.arrived(wantedAgain(stampNs), queue.size(), agenda.nowNs());
        if (!listed) {
            listed = true;
            agenda.add(this);
        }
        return false;
    }

    private void awaitTokensNoMore() {
        thirsty = false;
        if (listed) {
            listed = false;
            agenda.remove(this);
        }
    }

    private boolean makeRoom(int message) {
        if (holdsBack() || depth() < shard.settings().maxQueued()) {
            return true;
        }
        dropped++;
        shard.countDropped();
        if (queue.isEmpty()) {
            // Everything is deferred, so there is no oldest one to drop: the newcomer goes.
            store.release(message);
            return false;
        }
        store.release(message(queue.poll()));
        return true;
    }

    public void defer(long entry, long dueNs) {
        deferred.add(dueNs, entry);
        shard.lookAgainAt(dueNs);
    }

    /** Hands out as much as consumers can take. */
    public void pump(long nowNs) {
        boolean moved = false;
        boolean more = true;
        while (more) {
            if (remoteSource != null && (remoteTurn || queue.isEmpty()) && remoteSource.handOutNext(nowNs)) {
                remoteTurn = false;
            } else if (!queue.isEmpty() && dispatch(queue.peek(), nowNs)) {
                queue.poll();
                moved = true;
                remoteTurn = true;
            } else {
                more = false;
            }
        }
        if (moved) {
            shard.roomMade();
        }
    }

    /** Gives the message to the next consumer that can take it, if one can. */
    public boolean dispatch(long entry, long nowNs) {
        boolean remote = slot(entry) != 0;
        if (paused || (remote ? remoteStalled : stalled || thirsty && retryAtNs - nowNs > 0)) {
            return false;
        }
        int count = consumers.size();
        boolean paid = gate == null || remote;
        for (int i = 0; i < count; i++) {
            int before = turn;
            turn = turn + 1 < count ? turn + 1 : 0;
            Consumer consumer = consumers.get(turn);
            if (remote && consumer.remote()) {
                continue;
            }
            if (!paid && consumer.hasCredit()) {
                paid = pays();
                if (!paid) {
                    turn = before;
                    return false;
                }
            }
            if (consumer.take(entry, nowNs)) {
                times.handedOver(entry, consumer.remote(), nowNs);
                delivered++;
                changed();
                return true;
            }
        }
        if (remote) {
            remoteStalled = true;
        } else {
            stalled = true;
        }
        return false;
    }

    /** A consumer can take more than before. */
    void unstall(long nowNs) {
        stalled = false;
        remoteStalled = false;
        changed();
        pump(nowNs);
    }

    private void changed() {
        if (remoteSource != null) {
            remoteSource.changed();
        }
    }

    void finished(long entry, long nowNs) {
        finished++;
        if (slot(entry) != 0) {
            remoteSource.finished(entry);
        }
        store.release(message(entry));
        unstall(nowNs);
    }

    void requeued(long entry, long delayNs, long nowNs) {
        requeued++;
        if (slot(entry) != 0) {
            remoteSource.cameBack(entry, delayNs, nowNs);
        } else if (delayNs > 0) {
            defer(entry, nowNs + delayNs);
        } else {
            queue.add(entry);
            wanted(1);
        }
        unstall(nowNs);
    }

    private void queueAgain(long entry, long nowNs) {
        if (slot(entry) != 0) {
            remoteSource.cameBack(entry, 0, nowNs);
        } else {
            queue.add(entry);
            wanted(1);
        }
    }

    /** Brings back what is due: messages deferred until now, and those that consumers held for too long. */
    void expire(long nowNs) {
        while (!deferred.isEmpty() && deferred.deadlineNs() - nowNs <= 0) {
            queueAgain(deferred.poll(), nowNs);
        }
        for (int i = 0; i < consumers.size(); i++) {
            long entry = consumers.get(i).timedOut(nowNs);
            while (entry != Consumer.NOTHING) {
                timedOut++;
                queueAgain(entry, nowNs);
                entry = consumers.get(i).timedOut(nowNs);
            }
        }
        unstall(nowNs);
    }

    /** When {@link #expire} has something to do next, or {@link Duty#NO_DEADLINE}. */
    long nextDeadlineNs() {
        long earliestNs = goesAtNs;
        if (!deferred.isEmpty() && (earliestNs == Duty.NO_DEADLINE || deferred.deadlineNs() - earliestNs < 0)) {
            earliestNs = deferred.deadlineNs();
        }
        for (int i = 0; i < consumers.size(); i++) {
            long consumerNs = consumers.get(i).nextDeadlineNs();
            if (consumerNs != Duty.NO_DEADLINE && (earliestNs == Duty.NO_DEADLINE || consumerNs - earliestNs < 0)) {
                earliestNs = consumerNs;
            }
        }
        return earliestNs;
    }

    void lookAgainAt(long deadlineNs) {
        shard.lookAgainAt(deadlineNs);
    }

    /** @param lost it did not leave, but its broker cannot be reached now, and may come back */
    void left(Consumer consumer, boolean lost, long nowNs) {
        if (!consumers.remove(consumer)) {
            return;
        }
        long entry = consumer.takeBack();
        while (entry != Consumer.NOTHING) {
            requeued++;
            queueAgain(entry, nowNs);
            entry = consumer.takeBack();
        }
        consumer.free();
        if (gate != null && consumers.isEmpty()) {
            gate.waiting(0, agenda.nowNs());
        }
        if (consumers.isEmpty() && (ephemeral && !lost || !shard.defined())) {
            shard.removeChannel(this, "its last consumer left");
            return;
        }
        if (consumers.isEmpty() && (ephemeral || !claimed)) {
            awaitOwner(nowNs);
        }
        unstall(nowNs);
    }

    private void awaitOwner(long nowNs) {
        goesAtNs = nowNs + UNCLAIMED_NS;
        shard.lookAgainAt(goesAtNs);
    }

    void pause(boolean nowPaused, long nowNs) {
        paused = nowPaused;
        unstall(nowNs);
    }

    /** The definition names it. */
    void apply(boolean nowPaused, long nowNs) {
        named = true;
        claimed = true;
        goesAtNs = Duty.NO_DEADLINE;
        pause(nowPaused, nowNs);
    }

    /**
     * Whether a definition that does not name it means its end. One that a consumer made may not be in the definition
     * yet.
     */
    boolean named() {
        return named;
    }

    /**
     * Whether it goes now, because nobody came for it for long: an ephemeral channel whose last consumer's broker was
     * lost; or one that came only because another broker had consumers of it, which are gone, and that no definition
     * has named since. If it was deleted here, that broker did not know yet, and it would keep messages for nobody.
     * Else somebody may miss what is in it: it stays, and the directory is asked to name it.
     */
    boolean goesNow(long nowNs) {
        if (goesAtNs == Duty.NO_DEADLINE || goesAtNs - nowNs > 0) {
            return false;
        }
        if (!ephemeral && depth() > 0 && !shard.wasDeleted(name)) {
            shard.nameChannel(name);
            awaitOwner(nowNs);
            return false;
        }
        return true;
    }

    /**
     * Drops every message of the channel here: queued, deferred, and with consumers, whose answers to them come to
     * nothing. Another broker hears that its messages are finished.
     */
    void empty(long nowNs) {
        dropAll(true);
        if (remoteSource != null) {
            remoteSource.dropWaiting();
        }
        unstall(nowNs);
        shard.roomMade();
    }

    /** @param finished whether another broker hears that its messages are */
    private void dropAll(boolean finished) {
        while (!queue.isEmpty()) {
            store.release(message(queue.poll()));
        }
        while (!deferred.isEmpty()) {
            drop(deferred.poll(), finished);
        }
        for (int i = 0; i < consumers.size(); i++) {
            long entry = consumers.get(i).takeBack();
            while (entry != Consumer.NOTHING) {
                drop(entry, finished);
                entry = consumers.get(i).takeBack();
            }
        }
        if (gate != null) {
            gate.waiting(0, agenda.nowNs());
        }
        awaitTokensNoMore();
    }

    private void drop(long entry, boolean finished) {
        if (finished && slot(entry) != 0) {
            remoteSource.finished(entry);
        }
        store.release(message(entry));
    }

    /** Lets go of everything; the shard has forgotten it. */
    void close(String reason) {
        dropAll(false);
        for (Consumer consumer : new ArrayList<>(consumers)) {
            consumers.remove(consumer);
            consumer.free();
            consumer.gone(reason);
        }
        if (remoteSource != null) {
            remoteSource.close();
        }
    }

    /** Takes out the deferred messages that came by that slot, and gives each to {@code taker}. */
    public void takeDeferred(int slot, DeferredTaker taker) {
        if (deferred.isEmpty()) {
            return;
        }
        DeadlineHeap all = deferred;
        deferred = new DeadlineHeap(shard.segments());
        while (!all.isEmpty()) {
            long dueNs = all.deadlineNs();
            long entry = all.poll();
            if (slot(entry) == slot) {
                taker.take(entry, dueNs);
            } else {
                deferred.add(dueNs, entry);
            }
        }
    }

    public int localConsumers() {
        int count = 0;
        for (int i = 0; i < consumers.size(); i++) {
            count += consumers.get(i).remote() ? 0 : 1;
        }
        return count;
    }

    /** The credit of this broker's own consumers; a paused channel has none. */
    public int credit() {
        int credit = 0;
        for (int i = 0; i < consumers.size() && !paused; i++) {
            credit += consumers.get(i).remote() ? 0 : consumers.get(i).credit();
        }
        return credit;
    }

    /** The part of {@link #credit} that could be used now. */
    public int freeCredit() {
        int free = 0;
        for (int i = 0; i < consumers.size() && !paused; i++) {
            free += consumers.get(i).remote() ? 0 : consumers.get(i).freeCredit();
        }
        return free;
    }

    RemoteSource remoteSource() {
        return remoteSource;
    }

    public MessageTimes times() {
        return times;
    }

    MessageStore store() {
        return store;
    }

    /** Its topic's. */
    public MemoryAccount account() {
        return shard.account();
    }

    /** Whether its topic may hold more of other brokers' messages. */
    public boolean hasMemory() {
        return !store.nearlyFull() && shard.hasMemory(0);
    }

    void trim() {
        for (int i = 0; i < consumers.size(); i++) {
            consumers.get(i).trim();
        }
    }

    TopicStats.ChannelStats stats() {
        int inFlight = 0;
        int inFlightOfOthers = 0;
        for (Consumer consumer : consumers) {
            inFlight += consumer.inFlight();
            inFlightOfOthers += consumer.inFlightOfOthers();
        }
        int deferredOfOthers = remoteSource == null ? 0 : remoteSource.held() - inFlightOfOthers;
        return new TopicStats.ChannelStats(
                name,
                queue.size(),
                deferred.size(),
                deferredOfOthers,
                inFlight,
                inFlightOfOthers,
                consumers.size(),
                localConsumers(),
                paused,
                received,
                delivered,
                finished,
                requeued,
                timedOut,
                dropped);
    }

    public static int message(long entry) {
        return (int) entry;
    }

    public static int attempts(long entry) {
        return (int) (entry >>> 32) & MAX_ATTEMPTS;
    }

    public static int slot(long entry) {
        return (int) (entry >>> 48);
    }

    public static long entry(int message, int attempts, int slot) {
        return (long) slot << 48 | (long) attempts << 32 | message & 0xffffffffL;
    }

    static long tried(long entry) {
        return attempts(entry) >= MAX_ATTEMPTS ? entry : entry + (1L << 32);
    }
}
