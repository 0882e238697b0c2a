package io.weir.topics.path;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.TopicDirectory;
import io.weir.topics.definition.TopicSettings;
import io.weir.transport.gateway.AccessRights;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import io.weir.transport.gateway.Subscriber;
import io.weir.transport.gateway.Subscription;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The shards of a broker without sockets and with a clock that the test turns. */
final class ShardsFixture {
    static final TopicName TOPIC = new TopicName("orders");
    static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);
    static final long TIMEOUT_NS = 60 * SECOND_NS;

    /** A publisher that remembers its outcomes by ticket. */
    static final class Outcomes implements Publisher {
        final List<String> said = new ArrayList<>();
        AccessRights.Grant grant;

        @Override
        public AccessRights.Grant grant() {
            return grant;
        }

        @Override
        public void accepted(long ticket) {
            said.add(ticket + " accepted");
        }

        @Override
        public void throttled(long ticket, long retryAfterNs) {
            said.add(ticket + " throttled " + retryAfterNs);
        }

        @Override
        public void failed(long ticket, String reason) {
            said.add(ticket + " failed: " + reason);
        }
    }

    /** A delivery as a consumer saw it. */
    record Delivery(long id, int attempts, String body) {}

    /** A consumer that remembers, and has as much room as the test says. */
    static final class Reader implements Subscriber {
        final List<Delivery> got = new ArrayList<>();
        int room = Integer.MAX_VALUE;
        String gone;
        Subscription subscription;

        @Override
        public boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength) {
            if (room == 0) {
                return false;
            }
            room--;
            byte[] bytes = new byte[bodyLength];
            body.get(bodyAt, bytes);
            got.add(new Delivery(id, attempts, new String(bytes, StandardCharsets.UTF_8)));
            return true;
        }

        @Override
        public void gone(String reason) {
            gone = reason;
        }

        List<String> bodies() {
            return got.stream().map(Delivery::body).toList();
        }

        Delivery last() {
            return got.get(got.size() - 1);
        }
    }

    final Holder holder = new Holder(new BrokerId("a"), 1);
    final Lease lease = new Lease(3_600 * SECOND_NS);
    final Gates gates = new Gates(holder, lease, 0, () -> {});
    final List<TopicName> wanted = new ArrayList<>();
    final List<String> channelsWanted = new ArrayList<>();
    final List<TopicName> ended = new ArrayList<>();
    final Outcomes outcomes = new Outcomes();
    final Shards shards;
    long nowNs = 1_000;
    /** How often the clock was asked. */
    int reads;

    private final PublishRequest request = new PublishRequest();
    private long ticket;

    ShardsFixture() {
        this(PathSettings.defaults());
    }

    ShardsFixture(PathSettings settings) {
        TopicDirectory directory = new TopicDirectory() {
            @Override
            public void wanted(TopicName topic, String token) {
                wanted.add(topic);
            }

            @Override
            public void channelWanted(TopicName topic, String channel) {
                channelsWanted.add(topic + " " + channel);
            }

            @Override
            public void ended(TopicName topic) {
                ended.add(topic);
            }
        };
        shards = new Shards(settings, 1 << 20, gates, directory, 1, this::read, () -> 5_000);
        lease.renewed(nowNs);
    }

    private long read() {
        reads++;
        return nowNs;
    }

    ShardsFixture topic(TopicSettings settings, String... channels) {
        shards.apply(Definitions.of(TOPIC, settings, channels));
        return this;
    }

    ShardsFixture supply(double rate, double burst) {
        return supply(TOPIC, rate, burst);
    }

    ShardsFixture supply(TopicName key, double rate, double burst) {
        Limit limit = Limit.of(rate, burst);
        Share share = new Share(limit.rateMicros(), limit.burstMicros());
        gates.add(holder, Map.of(key, Holding.of(share, 0).full()));
        work();
        return this;
    }

    void work() {
        shards.doWork(nowNs);
    }

    void pass(long ns) {
        nowNs += ns;
        work();
    }

    long publish(String body) {
        return publish(TOPIC, body, 0);
    }

    long publish(TopicName topic, String body, long deferNs) {
        return publish(topic, body, deferNs, nowNs, nowNs);
    }

    /** As the loop does it: {@code wokenNs} is when the sockets woke it, however late the clock is by now. */
    long publishCame(String body, long arrivalNs, long wokenNs) {
        return publish(TOPIC, body, 0, arrivalNs, wokenNs);
    }

    private long publish(TopicName topic, String body, long deferNs, long arrivalNs, long wokenNs) {
        byte[] name = topic.value().getBytes(StandardCharsets.US_ASCII);
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        ByteBuffer in =
                ByteBuffer.allocate(name.length + bytes.length).put(name).put(bytes);
        request.begin(outcomes, ++ticket, in, arrivalNs)
                .topic(0, name.length)
                .body(name.length, bytes.length)
                .deferNs(deferNs);
        shards.publish(request, wokenNs);
        return ticket;
    }

    long publishBatch(String... bodies) {
        return publishBatchCame(nowNs, bodies);
    }

    long publishBatchCame(long arrivalNs, String... bodies) {
        byte[] name = TOPIC.value().getBytes(StandardCharsets.US_ASCII);
        ByteBuffer in = ByteBuffer.allocate(10_000).put(name);
        for (String body : bodies) {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            in.putInt(bytes.length).put(bytes);
        }
        request.begin(outcomes, ++ticket, in, arrivalNs)
                .topic(0, name.length)
                .batch(name.length, in.position() - name.length, bodies.length);
        shards.publish(request, nowNs);
        return ticket;
    }

    Reader reader(String channel, int ready) {
        return reader(TOPIC, channel, ready);
    }

    Reader reader(TopicName topic, String channel, int ready) {
        Reader reader = new Reader();
        reader.subscription = shards.subscribe(reader, topic.value(), channel, TIMEOUT_NS, nowNs);
        reader.subscription.ready(ready, nowNs);
        return reader;
    }

    TopicStats stats() {
        return shards.stats().stream()
                .filter(stats -> stats.topic().equals(TOPIC))
                .findFirst()
                .orElseThrow();
    }

    TopicStats.ChannelStats channel(String name) {
        return stats().channels().stream()
                .filter(channel -> channel.name().equals(name))
                .findFirst()
                .orElseThrow();
    }
}
