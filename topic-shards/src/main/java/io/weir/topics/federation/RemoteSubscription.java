package io.weir.topics.federation;

import io.weir.topics.algorithm.LongRing;

/**
 * One channel's subscription at another broker, seen from the consumers' side: what of that broker is here, what it was told, and
 * what it is still to be told. Nothing is queued but what is owed; a peer without room is told the latest when it has some.
 */
final class RemoteSubscription {
    private static final int NOT_YET = -1;

    final int id;
    final PeerEnd peer;
    final RemoteMessages visitors;
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

    private int told = NOT_YET;
    private int mostTold;
    private final LongRing finished = new LongRing();
    /** Id, attempts and delay of each. */
    private final LongRing back = new LongRing();

    RemoteSubscription(int id, PeerEnd peer, RemoteMessages visitors, int slot) {
        this.id = id;
        this.peer = peer;
        this.visitors = visitors;
        this.slot = slot;
    }

    /** Whether the peer sends more than it was ever allowed to. */
    boolean overrun() {
        return held >= mostTold;
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
     * Tells the peer what it has to know; false if the link had no room for all of it.
     *
     * @param room so many more messages than consumers hold are welcome
     */
    boolean tell(int room, boolean leaving, long nowNs) {
        if (told == NOT_YET) {
            left = leaving;
            return leaving || subscribe(held - waiting + room, nowNs);
        }
        int window = held - waiting + (leaving ? 0 : room);
        if (!back.isEmpty() || !finished.isEmpty() || !leaving && isOff(room)) {
            // The window goes first: else what is given back would come again at once.
            if (!acknowledge(window, nowNs) || !giveBack(nowNs)) {
                return false;
            }
        }
        left = leaving && peer.notice(FederationFrames.UNSUBSCRIBE, id, nowNs);
        return left == leaving;
    }

    /** Not for every message: only when the peer's picture is off by more than a factor of two. */
    private boolean isOff(int room) {
        int toldRoom = told - (held - waiting);
        return room == 0 ? toldRoom > 0 : toldRoom > 2 * room || 2 * toldRoom < room;
    }

    private boolean subscribe(int window, long nowNs) {
        if (!peer.subscribe(id, window, visitors.channel(), nowNs)) {
            return false;
        }
        told(window);
        return true;
    }

    private boolean acknowledge(int window, long nowNs) {
        do {
            int count = Math.min(finished.size(), FederationFrames.MAX_IDS);
            if (!peer.acknowledge(id, window, finished, count, nowNs)) {
                return false;
            }
            for (int i = 0; i < count; i++) {
                finished.poll();
            }
        } while (!finished.isEmpty());
        told(window);
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

    private void told(int window) {
        told = window;
        mostTold = Math.max(mostTold, window);
    }
}
