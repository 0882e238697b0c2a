package io.weir.transport.client;

import java.util.concurrent.CompletableFuture;

/** A message in a publisher's store, and who waits for its outcome. */
final class Request {
    final TopicLane lane;
    final byte[] body;
    final long publishedNs;
    final CompletableFuture<Outcome> future = new CompletableFuture<>();
    /** It was on its way once: whoever gives up on it does not know. */
    boolean sent;
    /** Its outcome is out, though it may still be on its way: its time was over. */
    boolean told;

    Request(TopicLane lane, byte[] body, long publishedNs) {
        this.lane = lane;
        this.body = body;
        this.publishedNs = publishedNs;
    }
}
