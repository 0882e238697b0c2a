package io.weir.transport.client;

import java.util.concurrent.CompletableFuture;

/** A message in a publisher's store, and who waits for its outcome. */
final class Request {
    final TopicLane lane;
    final byte[] body;
    final long publishedNs;
    final CompletableFuture<Outcome> future = new CompletableFuture<>();
    /** Its place among the topic's, in the order in which they came. */
    long place;
    /** A connection broke while it was on its way: unless a broker accepts it later, nobody knows. */
    boolean inDoubt;
    /** Its outcome is out, though it may still be on its way: its time was over. */
    boolean told;

    Request(TopicLane lane, byte[] body, long publishedNs) {
        this.lane = lane;
        this.body = body;
        this.publishedNs = publishedNs;
    }
}
