package io.weir.topics.path;

import io.weir.topics.algorithm.InFlight;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.algorithm.SlotBudget;
import io.weir.transport.gateway.Duty;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;

/**
 * One consumer of a channel: its credit, and what it holds. Who is behind it, a socket or another broker, it does not
 * know.
 */
public final class Consumer implements Subscription {
    static final long NOTHING = -1;

    private final Channel channel;
    private final Subscriber subscriber;
    private final long timeoutNs;
    private final long maxTimeoutNs;
    private final boolean remote;
    private final InFlight inFlight;
    private int ready;
    private boolean full;
    /** Of what it holds, messages of other brokers. */
    private int ofOthers;

    Consumer(
            Channel channel,
            Subscriber subscriber,
            long timeoutNs,
            long maxTimeoutNs,
            boolean remote,
            SlotBudget slots) {
        this.channel = channel;
        this.subscriber = subscriber;
        this.timeoutNs = timeoutNs;
        this.maxTimeoutNs = maxTimeoutNs;
        this.remote = remote;
        inFlight = new InFlight(slots);
    }

    /** Whether another broker is behind it. */
    boolean remote() {
        return remote;
    }

    /** Whether only brokers took the time of the message that it is being given. */
    public boolean fresh() {
        return channel.times().fresh();
    }

    int credit() {
        return ready;
    }

    int freeCredit() {
        return full ? 0 : Math.max(0, ready - inFlight.size());
    }

    /** Whether it would take a message, unless its buffer proves full. */
    boolean hasCredit() {
        return !full && inFlight.size() < ready && inFlight.hasRoom();
    }

    /** Takes the message if it has credit and room. */
    boolean take(long entry, long nowNs) {
        if (!hasCredit()) {
            return false;
        }
        MessageStore store = channel.store();
        int message = Channel.message(entry);
        long tried = Channel.tried(entry);
        long id = store.id(message);
        if (Channel.slot(entry) != 0 && inFlight.find(id) != InFlight.NONE) {
            // It was sent here before the link broke, and again after: this consumer still holds the first delivery.
            return false;
        }
        int contextLength = store.contextLength(message);
        full = contextLength == 0
                ? !subscriber.deliver(
                        channel.times().timestampNs(message),
                        Channel.attempts(tried),
                        id,
                        store.slab(message),
                        store.bodyAt(message),
                        store.length(message))
                : !subscriber.deliver(
                        channel.times().timestampNs(message),
                        Channel.attempts(tried),
                        id,
                        store.slab(message),
                        store.contextAt(message),
                        contextLength,
                        store.bodyAt(message),
                        store.length(message));
        if (full) {
            return false;
        }
        inFlight.add(id, tried, nowNs, nowNs + timeoutNs);
        ofOthers += Channel.slot(entry) != 0 ? 1 : 0;
        channel.lookAgainAt(nowNs + timeoutNs);
        return true;
    }

    @Override
    public void ready(int messages, long nowNs) {
        ready = messages;
        channel.unstall(nowNs);
    }

    @Override
    public boolean finish(long id, long nowNs) {
        int slot = inFlight.find(id);
        if (slot == InFlight.NONE) {
            return false;
        }
        long entry = remove(slot);
        channel.finished(entry, nowNs);
        return true;
    }

    @Override
    public boolean requeue(long id, long delayNs, long nowNs) {
        int slot = inFlight.find(id);
        if (slot == InFlight.NONE) {
            return false;
        }
        long entry = remove(slot);
        channel.requeued(entry, delayNs, nowNs);
        return true;
    }

    /** As {@link #requeue} for a broker that says how often the message was delivered by now. */
    public boolean giveBack(long id, int attempts, long delayNs, long nowNs) {
        int slot = inFlight.find(id);
        if (slot == InFlight.NONE) {
            return false;
        }
        long entry = remove(slot);
        channel.requeued(Channel.entry(Channel.message(entry), attempts, Channel.slot(entry)), delayNs, nowNs);
        return true;
    }

    @Override
    public boolean touch(long id, long nowNs) {
        int slot = inFlight.find(id);
        if (slot == InFlight.NONE) {
            return false;
        }
        long latestNs = inFlight.sentNs(slot) + maxTimeoutNs;
        long wantedNs = nowNs + timeoutNs;
        inFlight.deadline(slot, wantedNs - latestNs > 0 ? latestNs : wantedNs);
        return true;
    }

    @Override
    public void writable(long nowNs) {
        full = false;
        channel.unstall(nowNs);
    }

    @Override
    public void close(long nowNs) {
        channel.left(this, false, nowNs);
    }

    /** As {@link #close} of another broker that did not say so: its link broke. */
    public void lost(long nowNs) {
        channel.left(this, true, nowNs);
    }

    void gone(String reason) {
        subscriber.gone(reason);
    }

    /** Takes away one that it held past its deadline, or answers {@link #NOTHING}. */
    long timedOut(long nowNs) {
        int first = inFlight.first();
        return first != InFlight.NONE && inFlight.deadlineNs(first) - nowNs <= 0 ? takeBack() : NOTHING;
    }

    /** Takes away the one whose deadline is the earliest, or answers {@link #NOTHING}. */
    long takeBack() {
        int first = inFlight.first();
        if (first == InFlight.NONE) {
            return NOTHING;
        }
        return remove(first);
    }

    private long remove(int slot) {
        long entry = inFlight.entry(slot);
        inFlight.remove(slot);
        ofOthers -= Channel.slot(entry) != 0 ? 1 : 0;
        return entry;
    }

    /** Of what it holds unacknowledged, messages that other brokers let in. */
    int inFlightOfOthers() {
        return ofOthers;
    }

    void trim() {
        inFlight.trim();
    }

    /** It is gone, and has nothing left. */
    void free() {
        inFlight.close();
    }

    long nextDeadlineNs() {
        int first = inFlight.first();
        return first == InFlight.NONE ? Duty.NO_DEADLINE : inFlight.deadlineNs(first);
    }

    @Override
    public int inFlight() {
        return inFlight.size();
    }
}
