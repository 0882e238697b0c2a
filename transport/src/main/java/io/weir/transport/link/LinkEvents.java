package io.weir.transport.link;

import org.agrona.DirectBuffer;

/**
 * What a broker hears from its links, told to the thread that calls {@link Links#poll} and in the order in which it
 * happened: frames of a peer come after its {@code onPeerConnected} and before its {@code onPeerLost}. A peer that
 * comes back, in the same life or a later one, is connected anew.
 */
public interface LinkEvents {
    /** Both directions work, and the peer takes what is offered. */
    void onPeerConnected(Peer peer);

    /** What was offered and not answered may have arrived, or not. */
    void onPeerLost(Peer peer);

    /**
     * One body as the peer offered it. The buffer is valid during the call only.
     *
     * @return false if it can't be read: what it was about would be in flight for ever, so the link is lost and comes
     *     back
     * @param arrivalNs when the message reached the first broker, on this broker's clock; the time on the link counts
     *     as none, because the clocks of two hosts do not compare.
     */
    boolean onFrame(Peer peer, DirectBuffer buffer, int offset, int length, long arrivalNs);
}
