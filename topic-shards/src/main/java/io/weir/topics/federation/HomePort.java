package io.weir.topics.federation;

import io.weir.config.value.BrokerId;
import io.weir.topics.path.Shards;
import io.weir.transport.gateway.MessagePort;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;

/**
 * The way in of a broker that has links: what is published goes to its publisher's home. If the home is this broker, or
 * cannot be reached, or has more outstanding than it may, it is published here: the limit holds wherever a message
 * passes it, and a home only says where its tokens should be.
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
    public boolean publish(PublishRequest request, long nowNs) {
        BrokerId home = homes.homeOf(request);
        request.publisher().belongsTo(home, request.in(), request.topicAt(), request.topicLength());
        BrokerId before = request.follows();
        if (home != null && (before == null || before.equals(home)) && federation.forward(home, request, nowNs)) {
            request.publisher().forwarded(request.ticket(), home);
            return true;
        }
        // By another way it might come before them.
        return before == null && shards.publish(request, nowNs);
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
