package io.weir.topics.federation;

import java.util.concurrent.atomic.AtomicLong;

/** Written by the message path's thread alone, read by any. */
final class FederationCounters {
    final AtomicLong peers = new AtomicLong();
    final AtomicLong forwarded = new AtomicLong();
    final AtomicLong forwardsLost = new AtomicLong();
    final AtomicLong publishedForPeers = new AtomicLong();
    final AtomicLong deliveredToPeers = new AtomicLong();
    final AtomicLong receivedFromPeers = new AtomicLong();
    final AtomicLong givenBack = new AtomicLong();
    final AtomicLong droppedWithLink = new AtomicLong();
    final AtomicLong malformed = new AtomicLong();
    final AtomicLong loanFrames = new AtomicLong();
    final AtomicLong borrowedMicros = new AtomicLong();

    /** One writer, so no read-modify-write that is atomic. */
    static void count(AtomicLong counter) {
        counter.lazySet(counter.get() + 1);
    }

    FederationStats stats() {
        return new FederationStats(
                (int) peers.get(),
                forwarded.get(),
                forwardsLost.get(),
                publishedForPeers.get(),
                deliveredToPeers.get(),
                receivedFromPeers.get(),
                givenBack.get(),
                droppedWithLink.get(),
                malformed.get(),
                loanFrames.get(),
                borrowedMicros.get());
    }
}
