package io.weir.topics.federation;

import io.weir.topics.algorithm.LongRing;

/**
 * One channel's subscription at another broker, seen from the consumers' side: what of that broker is here, which
 * window it was sent, and what is still owed to it. Nothing else is queued; a peer without room gets the latest when it
 * has some.
 */
final class RemoteSubscription {
    private static final int NOT_YET = -1;

    final int id;
    final PeerEnd peer;
    final RemoteMessages messages;
    /** In the channel's entries. */
    final int slot;
    /** Messages of that broker which are here: waiting, deferred or with consumers. */
    int held;
    /** Of these, those that wait for a consumer's credit. */
    int waiting;
    /** The subscription is no more; what consumers still hold of it matters to nobody but them. */
    boolean over;
    /** The peer knows that it has ended. */
    boolean left;

    /** The window that the peer knows. */
    private int window = NOT_YET;
    /** The largest that it ever knew. */
    private int widest;

    private final LongRing finished;
    /** Id, attempts and delay of each. */
    private final LongRing back;

    RemoteSubscription(int id, PeerEnd peer, RemoteMessages messages, int slot) {
        this.id = id;
        this.peer = peer;
        this.messages = messages;
        this.slot = slot;
        finished = new LongRing(messages.segments());
        back = new LongRing(messages.segments());
    }

    /** Whether the peer sends more than it was ever allowed to. */
    boolean overrun() {
        return held >= widest;
    }

    void finished(long messageId) {
        finished.add(messageId);
    }

    void giveBack(long messageId, int attempts, long delayNs) {
        back.add(messageId);
        back.add(attempts);
        back.add(delayNs);
    }

    /**
     * Sends the peer what it has to know; false if the link had no room for all of it.
     *
     * @param room so many more messages than consumers hold are welcome
     */
    boolean send(int room, boolean leaving, long nowNs) {
        if (window == NOT_YET) {
            left = leaving;
            return leaving || subscribe(held - waiting + room, nowNs);
        }
        int wanted = held - waiting + (leaving ? 0 : room);
        if (!back.isEmpty() || !finished.isEmpty() || !leaving && isOff(room)) {
            // The window goes first: else what is given back would come again at once.
            if (!acknowledge(wanted, nowNs) || !giveBack(nowNs)) {
                return false;
            }
        }
        left = leaving && peer.notice(FederationFrames.UNSUBSCRIBE, id, nowNs);
        return left == leaving;
    }

    /** Not for every message: only when the peer's picture is off by more than a factor of two. */
    private boolean isOff(int room) {
        int knownRoom = window - (held - waiting);
        return room == 0 ? knownRoom > 0 : knownRoom > 2 * room || 2 * knownRoom < room;
    }

    private boolean subscribe(int newWindow, long nowNs) {
        if (!peer.subscribe(id, newWindow, messages.channel(), nowNs)) {
            return false;
        }
        known(newWindow);
        return true;
    }

    private boolean acknowledge(int newWindow, long nowNs) {
        do {
            int count = Math.min(finished.size(), FederationFrames.MAX_IDS);
            if (!peer.acknowledge(id, newWindow, finished, count, nowNs)) {
                return false;
            }
            for (int i = 0; i < count; i++) {
                finished.poll();
            }
        } while (!finished.isEmpty());
        known(newWindow);
        return true;
    }

    private boolean giveBack(long nowNs) {
        while (!back.isEmpty()) {
            if (!peer.giveBack(id, back.get(0), (int) back.get(1), back.get(2), nowNs)) {
                return false;
            }
            back.poll();
            back.poll();
            back.poll();
        }
        return true;
    }

    private void known(int newWindow) {
        window = newWindow;
        widest = Math.max(widest, newWindow);
    }
}
