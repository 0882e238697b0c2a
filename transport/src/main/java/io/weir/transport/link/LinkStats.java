package io.weir.transport.link;

import io.weir.config.value.BrokerId;

/**
 * What has passed on the link to one peer since it was wanted. Refusals are offers that were answered with false.
 *
 * @param incarnation the peer's life that was heard last; 0 before the first
 * @param refusedBackPressure the peer, or the stream's window, was full
 * @param refusedNotConnected the link was down
 * @param refusedBusy the stream was in use by the link's own thread or between two terms: try again at once
 * @param connects how often the link came up; every one after the first is a reconnect
 * @param dropped well-formed frames that belonged to no connection: data before its hello, or of a life that is over
 * @param malformed frames that could not be read
 */
public record LinkStats(
        BrokerId peer,
        long incarnation,
        boolean connected,
        long sent,
        long sentBytes,
        long received,
        long receivedBytes,
        long refusedBackPressure,
        long refusedNotConnected,
        long refusedBusy,
        long connects,
        long dropped,
        long malformed) {
    public long reconnects() {
        return Math.max(0, connects - 1);
    }
}
