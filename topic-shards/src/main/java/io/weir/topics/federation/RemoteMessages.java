package io.weir.topics.federation;

import io.weir.topics.algorithm.LongRing;
import io.weir.topics.algorithm.LongSegments;
import io.weir.topics.algorithm.MessageStore;
import io.weir.topics.path.Channel;
import io.weir.topics.path.RemoteSource;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The messages of other brokers that are with a channel here, for its consumers; and the channel's subscriptions at
 * those brokers, which exist while it has consumers of its own.
 *
 * <p>Each belongs to the broker that let it in. This one is its custodian: delivers it, counts attempts, delays and
 * times it out like its own, and says when it is finished. It does not hoard. What it asks for is what its consumers
 * have credit for, shared among the peers, and at least one message of each so that none starves; what finds no credit
 * within {@link Federation#COURTESY_NS} after all goes back, because consumers elsewhere may have some.
 */
final class RemoteMessages implements RemoteSource {
    private static final int MAX_SLOT = 0x7fff;
    /** No entry of another broker's message: those have a slot. */
    private static final long NOTHING = 0;

    private final Federation federation;
    private final Channel channel;
    private final MessageStore store;
    private final LongRing waiting;
    private final LongRing sinceNs;
    /** One for each linked peer, while there are consumers. */
    private final List<RemoteSubscription> subscriptions = new ArrayList<>();

    /** Also those that are over, as long as consumers hold something of them. Slot 0 stands for this broker. */
    private RemoteSubscription[] bySlot = new RemoteSubscription[4];

    /** The entry of the message that came just now. */
    private long arriving = NOTHING;

    private boolean closed;
    private boolean refused;
    private long retryAtNs;
    /** Where the federation has put it: among those that changed, and those that time will change. */
    boolean listed;

    boolean watched;

    RemoteMessages(Federation federation, Channel channel, MessageStore store) {
        this.federation = federation;
        this.channel = channel;
        this.store = store;
        waiting = new LongRing(federation.segments());
        sinceNs = new LongRing(federation.segments());
    }

    Channel channel() {
        return channel;
    }

    LongSegments segments() {
        return federation.segments();
    }

    @Override
    public void changed() {
        federation.changed(this);
    }

    /**
     * A message of another broker; what cannot be stored goes back.
     *
     * @param at where its context stands, if it has one, and right behind that its body
     * @param fresh whether only brokers took its time so far
     * @param arrivalNs when it reached the first broker, by this broker's clock
     */
    void arrived(
            RemoteSubscription subscription,
            ByteBuffer in,
            int at,
            int contextLength,
            int length,
            int attempts,
            long id,
            boolean fresh,
            long arrivalNs,
            long nowNs) {
        int before = Math.max(0, attempts - 1);
        int message =
                store.put(channel.account(), null, in, at, contextLength, at + contextLength, length, arrivalNs, id, 0);
        if (message == MessageStore.FULL) {
            sendBack(subscription, id, before, 0);
            return;
        }
        subscription.held++;
        arriving = Channel.entry(message, before, subscription.slot);
        await(subscription, arriving, nowNs);
        channel.pump(nowNs);
        arriving = NOTHING;
        if (fresh && before == 0) {
            channel.times().cameFrom(subscription.peer.peer().id(), arrivalNs);
        }
        if (!waiting.isEmpty()) {
            federation.watch(this);
        }
    }

    /** One that came and is not taken. */
    void sendBack(RemoteSubscription subscription, long id, int attempts, long delayNs) {
        federation.countGivenBack();
        subscription.giveBack(id, attempts, delayNs);
        changed();
    }

    private void await(RemoteSubscription subscription, long entry, long nowNs) {
        subscription.waiting++;
        waiting.add(entry);
        sinceNs.add(nowNs);
    }

    @Override
    public boolean handOutNext(long nowNs) {
        if (waiting.isEmpty() || !channel.dispatch(waiting.peek(), nowNs)) {
            return false;
        }
        sinceNs.poll();
        long entry = waiting.poll();
        if (entry != arriving) {
            channel.times().waited(entry, nowNs);
        }
        subscriptionOf(entry).waiting--;
        return true;
    }

    @Override
    public void finished(long entry) {
        RemoteSubscription subscription = subscriptionOf(entry);
        subscription.held--;
        if (subscription.over) {
            freeIfEmpty(subscription);
        } else {
            subscription.finished(store.id(Channel.message(entry)));
        }
    }

    @Override
    public void cameBack(long entry, long delayNs, long nowNs) {
        RemoteSubscription subscription = subscriptionOf(entry);
        if (subscription.over) {
            drop(entry);
        } else if (delayNs > 0) {
            channel.defer(entry, nowNs + delayNs);
        } else {
            await(subscription, entry, nowNs);
            federation.watch(this);
        }
    }

    /** The peer's link is lost, or it has no such channel: it delivers what was here elsewhere. */
    void end(RemoteSubscription subscription) {
        subscription.over = true;
        subscriptions.remove(subscription);
        for (int i = waiting.size(); i > 0; i--) {
            long entry = waiting.poll();
            long since = sinceNs.poll();
            if (Channel.slot(entry) == subscription.slot) {
                subscription.waiting--;
                drop(entry);
            } else {
                waiting.add(entry);
                sinceNs.add(since);
            }
        }
        channel.takeDeferred(subscription.slot, (entry, dueNs) -> drop(entry));
        freeIfEmpty(subscription);
    }

    /** The peer did not take the subscription, or ended it: asked again only after a while. */
    void refuse(RemoteSubscription subscription, long nowNs) {
        end(subscription);
        refused = true;
        retryAtNs = nowNs + Federation.RETRY_NS;
        federation.watch(this);
    }

    private void drop(long entry) {
        federation.countDropped();
        store.release(Channel.message(entry));
        RemoteSubscription subscription = subscriptionOf(entry);
        subscription.held--;
        freeIfEmpty(subscription);
    }

    private void giveBack(long entry, long delayNs) {
        int message = Channel.message(entry);
        RemoteSubscription subscription = subscriptionOf(entry);
        subscription.giveBack(store.id(message), Channel.attempts(entry), delayNs);
        subscription.held--;
        store.release(message);
        federation.countGivenBack();
    }

    private void giveBackWaiting(long waitingSinceNs) {
        while (!waiting.isEmpty() && sinceNs.peek() - waitingSinceNs <= 0) {
            sinceNs.poll();
            long entry = waiting.poll();
            subscriptionOf(entry).waiting--;
            giveBack(entry, 0);
        }
    }

    @Override
    public int held() {
        int held = -waiting.size();
        for (RemoteSubscription subscription : bySlot) {
            held += subscription == null ? 0 : subscription.held;
        }
        return held;
    }

    @Override
    public void dropWaiting() {
        while (!waiting.isEmpty()) {
            sinceNs.poll();
            long entry = waiting.poll();
            subscriptionOf(entry).waiting--;
            finished(entry);
            store.release(Channel.message(entry));
        }
    }

    /** Time has passed; answers whether more of it will matter. */
    boolean look(long nowNs) {
        giveBackWaiting(nowNs - Federation.COURTESY_NS);
        if (refused && nowNs - retryAtNs >= 0) {
            refused = false;
        }
        changed();
        return !waiting.isEmpty() || refused;
    }

    /** Sends the peers what they have to know; false if one of the links had no room for it. */
    boolean settle(long nowNs) {
        List<PeerEnd> peers = federation.peers();
        boolean consumed = !closed && channel.localConsumers() > 0;
        int credit = consumed ? channel.credit() : 0;
        if (credit == 0) {
            giveBackWaiting(nowNs);
        }
        if (consumed && !refused && subscriptions.size() < peers.size()) {
            openMissing(peers);
        }
        int room = credit == 0 || !channel.hasMemory() ? 0 : Math.max(1, channel.freeCredit() / peers.size());
        boolean sentAll = true;
        for (int i = subscriptions.size() - 1; i >= 0; i--) {
            RemoteSubscription subscription = subscriptions.get(i);
            if (!consumed && subscription.held > 0) {
                channel.takeDeferred(subscription.slot, (entry, dueNs) -> giveBack(entry, Math.max(0, dueNs - nowNs)));
            }
            sentAll &= subscription.send(room, !consumed, nowNs);
            if (subscription.left) {
                subscriptions.remove(i);
                subscription.over = true;
                subscription.peer.forget(subscription);
                freeIfEmpty(subscription);
            }
        }
        return sentAll;
    }

    private void openMissing(List<PeerEnd> peers) {
        for (int i = 0; i < peers.size(); i++) {
            PeerEnd peer = peers.get(i);
            int slot = has(peer) ? 0 : freeSlot();
            if (slot != 0) {
                RemoteSubscription subscription =
                        new RemoteSubscription(federation.nextSubscription(), peer, this, slot);
                bySlot[slot] = subscription;
                subscriptions.add(subscription);
                peer.add(subscription);
            }
        }
    }

    private boolean has(PeerEnd peer) {
        for (int i = 0; i < subscriptions.size(); i++) {
            if (subscriptions.get(i).peer == peer) {
                return true;
            }
        }
        return false;
    }

    /**
     * 0 if there is none: then so many lost links' messages are still with consumers that it is time for them to
     * acknowledge.
     */
    private int freeSlot() {
        for (int slot = 1; slot < bySlot.length; slot++) {
            if (bySlot[slot] == null) {
                return slot;
            }
        }
        if (bySlot.length > MAX_SLOT) {
            return 0;
        }
        bySlot = Arrays.copyOf(bySlot, bySlot.length * 2);
        return bySlot.length / 2;
    }

    private void freeIfEmpty(RemoteSubscription subscription) {
        if (subscription.over && subscription.held == 0 && bySlot[subscription.slot] == subscription) {
            bySlot[subscription.slot] = null;
        }
    }

    private RemoteSubscription subscriptionOf(long entry) {
        return bySlot[Channel.slot(entry)];
    }

    /** The peers take back their messages when they hear that the channel has unsubscribed. */
    @Override
    public void close() {
        closed = true;
        while (!waiting.isEmpty()) {
            store.release(Channel.message(waiting.poll()));
            sinceNs.poll();
        }
        for (RemoteSubscription subscription : subscriptions) {
            subscription.held = 0;
            subscription.waiting = 0;
        }
        changed();
    }
}
