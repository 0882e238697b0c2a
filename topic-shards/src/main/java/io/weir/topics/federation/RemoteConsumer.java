package io.weir.topics.federation;

import io.weir.topics.path.Consumer;
import io.weir.transport.gateway.Subscriber;
import java.nio.ByteBuffer;

/** Another broker as a consumer of a channel here, on behalf of its own consumers. */
final class RemoteConsumer implements Subscriber {
    final int id;
    private final PeerEnd peer;
    /** Null when the channel is gone. */
    private Consumer consumer;
    /** Whether it is in the peer's line of those that were refused. */
    private boolean wantsRoom;

    RemoteConsumer(int id, PeerEnd peer) {
        this.id = id;
        this.peer = peer;
    }

    void joined(Consumer newConsumer) {
        consumer = newConsumer;
    }

    @Override
    public boolean deliver(
            long timestampNs, int attempts, long messageId, ByteBuffer body, int bodyAt, int bodyLength) {
        return deliver(timestampNs, attempts, messageId, body, bodyAt, 0, bodyAt, bodyLength);
    }

    @Override
    public boolean deliver(
            long timestampNs,
            int attempts,
            long messageId,
            ByteBuffer body,
            int contextAt,
            int contextLength,
            int bodyAt,
            int bodyLength) {
        if (peer.deliver(
                id, consumer.fresh(), timestampNs, attempts, messageId, body, contextLength, bodyAt, bodyLength)) {
            return true;
        }
        if (!wantsRoom) {
            wantsRoom = true;
            peer.awaitRoom(this);
        }
        return false;
    }

    @Override
    public void gone(String reason) {
        consumer = null;
        peer.ended(this);
    }

    void ready(int window, long nowNs) {
        consumer.ready(window, nowNs);
    }

    void finish(long messageId, long nowNs) {
        consumer.finish(messageId, nowNs);
    }

    void giveBack(long messageId, int attempts, long delayNs, long nowNs) {
        consumer.giveBack(messageId, attempts, delayNs, nowNs);
    }

    void writable(long nowNs) {
        wantsRoom = false;
        if (consumer != null) {
            consumer.writable(nowNs);
        }
    }

    /** The link is lost: what the peer held goes to others, and its consumers may come back. */
    void lost(long nowNs) {
        if (consumer != null) {
            consumer.lost(nowNs);
            consumer = null;
        }
    }

    /** What the peer held goes to others. */
    void close(long nowNs) {
        if (consumer != null) {
            consumer.close(nowNs);
            consumer = null;
        }
    }
}
