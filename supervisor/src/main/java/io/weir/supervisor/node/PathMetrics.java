package io.weir.supervisor.node;

import com.sun.management.ThreadMXBean;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.topics.FederationStats;
import io.weir.topics.TopicStats;
import io.weir.topics.TopicStats.ChannelStats;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.ToLongFunction;

/** What the message path holds, and what its thread costs. Asked of that thread at each scrape; if it is busy, the last answer stands. */
final class PathMetrics {
    private static final long PATIENCE_MS = 200;

    private final BrokerTopics topics;
    private volatile List<TopicStats> last = List.of();

    PathMetrics(MeterRegistry registry, BrokerTopics topics) {
        this.topics = topics;
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        FunctionCounter.builder("data.path.allocated.bytes", topics, t -> threads.getThreadAllocatedBytes(t.threadId()))
                .description("Allocated by the thread that moves messages: nothing per message once warm")
                .register(registry);
        FunctionCounter.builder("data.path.cpu", topics, t -> threads.getThreadCpuTime(t.threadId()) / 1e9)
                .baseUnit("seconds")
                .description("CPU time of the thread that moves messages")
                .register(registry);
        sum(registry, "messages.waiting", "Messages that wait for a token or for room", TopicStats::waiting);
        sum(registry, "messages.unrouted", "Messages that wait for their topic's first channel", TopicStats::unrouted);
        channels(registry, "messages.queued", "Messages that wait for consumers", ChannelStats::queued);
        channels(registry, "messages.deferred", "Messages that are not due yet", ChannelStats::deferred);
        channels(
                registry,
                "messages.in.flight",
                "Messages with consumers, not acknowledged yet",
                ChannelStats::inFlight);
        federated(
                registry,
                "link.delivered",
                "Messages sent to the broker that holds the consumer",
                FederationStats::deliveredToPeers);
        federated(
                registry,
                "link.received",
                "Messages of other brokers for consumers here",
                FederationStats::receivedFromPeers);
        federated(
                registry,
                "link.given.back",
                "Messages of other brokers that went back to them",
                FederationStats::givenBack);
        federated(
                registry,
                "link.malformed",
                "Frames of other brokers that could not be read",
                FederationStats::malformed);
        Gauge.builder("link.peers", topics, t -> t.federation()
                        .map(FederationStats::peers)
                        .orElse(0))
                .description("Brokers that are linked now")
                .register(registry);
        channels(registry, "consumers", "Consumers of all channels", ChannelStats::consumers);
    }

    private void federated(
            MeterRegistry registry, String name, String description, ToLongFunction<FederationStats> value) {
        FunctionCounter.builder(name, topics, t -> t.federation()
                        .map(value::applyAsLong)
                        .orElse(0L))
                .description(description)
                .register(registry);
    }

    private void sum(MeterRegistry registry, String name, String description, ToLongFunction<TopicStats> value) {
        Gauge.builder(name, this, metrics -> metrics.last.stream()
                        .mapToLong(value)
                        .sum())
                .description(description)
                .register(registry);
    }

    private void channels(MeterRegistry registry, String name, String description, ToLongFunction<ChannelStats> value) {
        sum(registry, name, description, topic -> topic.channels().stream()
                .mapToLong(value)
                .sum());
    }

    /** To be called before a scrape. */
    void update() {
        try {
            last = topics.path().stats().toCompletableFuture().get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            // The thread is busy with messages, which matter more.
        }
    }
}
