package io.weir.topics.path;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.TopicSettings;
import io.weir.transport.gateway.BrokerDirectory;
import io.weir.transport.gateway.ClientTerms;
import io.weir.transport.gateway.GatewayLoop;
import io.weir.transport.gateway.GatewaySettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.assertj.core.api.Assertions;

/** A message path on a real socket whose gates are given supply by hand. Topics come to be when they are first used. */
public final class RunningBroker implements AutoCloseable {
    private static final long LEASE_NS = TimeUnit.HOURS.toNanos(1);

    /** Every broker is at a name made of its own. */
    private record Addresses(BrokerId id) implements BrokerDirectory {
        @Override
        public Optional<BrokerId> self() {
            return Optional.of(id);
        }

        @Override
        public Optional<String> tcpOf(BrokerId broker) {
            return Optional.of(broker + ".example:4150");
        }
    }

    private final Holder holder;
    private final GatewayLoop loop;
    private final Gates gates;
    private final MessagePath path;

    public RunningBroker(GatewaySettings gateway, TopicSettings topics) throws IOException {
        this("a", gateway, topic -> topics, started -> null);
    }

    /** @param topics null for a topic that stays unknown; throws for one that is refused */
    public RunningBroker(
            String id,
            GatewaySettings gateway,
            Function<TopicName, TopicSettings> topics,
            Function<GatewayLoop, OtherBrokers> otherBrokers)
            throws IOException {
        this(id, gateway, (path, topic) -> answer(path, topic, topics), otherBrokers);
    }

    /** @param directory answers which topics there are */
    public RunningBroker(GatewaySettings gateway, BiConsumer<MessagePath, TopicName> directory) throws IOException {
        this("a", gateway, directory, started -> null);
    }

    private RunningBroker(
            String id,
            GatewaySettings gateway,
            BiConsumer<MessagePath, TopicName> directory,
            Function<GatewayLoop, OtherBrokers> otherBrokers)
            throws IOException {
        holder = new Holder(new BrokerId(id), 1);
        loop = new GatewayLoop(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                gateway,
                ClientTerms.defaults(),
                new Addresses(holder.broker()),
                System::nanoTime);
        Lease lease = new Lease(LEASE_NS);
        lease.renewed(System.nanoTime());
        gates = new Gates(holder, lease, 0, loop::wakeUp);
        MessagePath[] self = new MessagePath[1];
        path = MessagePath.start(
                loop,
                gateway,
                PathSettings.defaults(),
                gates,
                (topic, token) -> directory.accept(self[0], topic),
                otherBrokers.apply(loop),
                System::nanoTime);
        self[0] = path;
    }

    private static void answer(MessagePath path, TopicName topic, Function<TopicName, TopicSettings> topics) {
        try {
            TopicSettings settings = topics.apply(topic);
            if (settings != null) {
                path.apply(Definitions.of(topic, settings));
            }
        } catch (IllegalArgumentException e) {
            path.refuse(topic, e.getMessage());
        }
    }

    public static RunningBroker start() throws IOException {
        return new RunningBroker(GatewaySettings.defaults(), TopicSettings.defaults());
    }

    public RunningBroker supply(String topic, double rate, double burst) {
        Limit limit = Limit.of(rate, burst);
        Share share = new Share(limit.rateMicros(), limit.burstMicros());
        await(gates.add(
                holder, Map.of(new TopicName(topic), Holding.of(share, 0).full())));
        return this;
    }

    public InetSocketAddress address() {
        return loop.address();
    }

    public int port() {
        return loop.address().getPort();
    }

    public long threadId() {
        return loop.threadId();
    }

    public MessagePath path() {
        return path;
    }

    public TopicGate gate(String topic) {
        return gates.all().stream()
                .filter(gate -> gate.topic().value().equals(topic))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no gate of " + topic));
    }

    public TopicStats stats(String topic) {
        return await(path.stats()).stream()
                .filter(stats -> stats.topic().value().equals(topic))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no topic " + topic));
    }

    public TopicStats.ChannelStats channel(String topic, String channel) {
        return stats(topic).channels().stream()
                .filter(stats -> stats.name().equals(channel))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no channel " + channel));
    }

    public static <T> T await(CompletionStage<T> stage) {
        return stage.toCompletableFuture().orTimeout(10, TimeUnit.SECONDS).join();
    }

    public static void await(String what, BooleanSupplier condition) {
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - untilNs > 0) {
                Assertions.fail("waited in vain until " + what);
            }
            Thread.onSpinWait();
            Thread.yield();
        }
    }

    @Override
    public void close() {
        path.close();
    }
}
