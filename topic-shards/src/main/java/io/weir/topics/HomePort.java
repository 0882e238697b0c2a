package io.weir.topics;

import io.weir.config.value.BrokerId;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.Publisher;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;
import java.nio.ByteBuffer;

/**
 * The way in of a broker that has links: what is published goes to its publisher's home. If the home is this broker, or cannot be
 * reached, or has more outstanding than it may, it is published here: the limit holds wherever a message passes it, and a home
 * only says where its tokens should be.
 */
final class HomePort implements MessagePort {
    private final Shards shards;
    private final Homes homes;
    private final Federation federation;

    HomePort(Shards shards, Homes homes, Federation federation) {
        this.shards = shards;
        this.homes = homes;
        this.federation = federation;
    }

    @Override
    public void publish(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int bodyAt,
            int bodyLength,
            long deferNs,
            long nowNs) {
        BrokerId home = homes.homeOf(in, topicAt, topicLength, publisher);
        publisher.belongsTo(home, in, topicAt, topicLength);
        if (home == null
                || !federation.forward(
                        home, in, topicAt, topicLength, bodyAt, bodyLength, 0, deferNs, publisher, ticket, nowNs)) {
            shards.publish(publisher, ticket, in, topicAt, topicLength, bodyAt, bodyLength, deferNs, nowNs);
        }
    }

    @Override
    public void publishBatch(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int firstAt,
            int messages,
            long nowNs) {
        BrokerId home = homes.homeOf(in, topicAt, topicLength, publisher);
        publisher.belongsTo(home, in, topicAt, topicLength);
        if (home == null
                || !federation.forward(
                        home,
                        in,
                        topicAt,
                        topicLength,
                        firstAt,
                        batchBytes(in, firstAt, messages),
                        messages,
                        0,
                        publisher,
                        ticket,
                        nowNs)) {
            shards.publishBatch(publisher, ticket, in, topicAt, topicLength, firstAt, messages, nowNs);
        }
    }

    /** What has a context is published here, wherever its home: a forwarded publication carries none. */
    @Override
    public void publish(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int contextAt,
            int contextLength,
            int bodyAt,
            int bodyLength,
            long deferNs,
            long nowNs) {
        if (contextLength == 0) {
            publish(publisher, ticket, in, topicAt, topicLength, bodyAt, bodyLength, deferNs, nowNs);
        } else {
            shards.publish(
                    publisher,
                    ticket,
                    in,
                    topicAt,
                    topicLength,
                    contextAt,
                    contextLength,
                    bodyAt,
                    bodyLength,
                    deferNs,
                    nowNs);
        }
    }

    @Override
    public void publishBatch(
            Publisher publisher,
            long ticket,
            ByteBuffer in,
            int topicAt,
            int topicLength,
            int contextAt,
            int contextLength,
            int firstAt,
            int messages,
            long nowNs) {
        if (contextLength == 0) {
            publishBatch(publisher, ticket, in, topicAt, topicLength, firstAt, messages, nowNs);
        } else {
            shards.publishBatch(
                    publisher, ticket, in, topicAt, topicLength, contextAt, contextLength, firstAt, messages, nowNs);
        }
    }

    private static int batchBytes(ByteBuffer in, int firstAt, int messages) {
        int at = firstAt;
        for (int i = 0; i < messages; i++) {
            at += Integer.BYTES + in.getInt(at);
        }
        return at - firstAt;
    }

    @Override
    public Subscription subscribe(Subscriber subscriber, String topic, String channel, long timeoutNs, long nowNs) {
        return shards.subscribe(subscriber, topic, channel, timeoutNs, nowNs);
    }

    @Override
    public int doWork(long nowNs) {
        return shards.doWork(nowNs);
    }

    @Override
    public long nextDeadlineNs() {
        return shards.nextDeadlineNs();
    }
}
