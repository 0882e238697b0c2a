package io.weir.supervisor.node.metrics;

import com.sun.management.ThreadMXBean;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.config.value.Limit;
import io.weir.supervisor.node.BrokerTopics;
import io.weir.supervisor.node.PathView;
import io.weir.topics.algorithm.DelayTotals;
import io.weir.topics.federation.FederationStats;
import io.weir.topics.path.DeliveryTotals;
import io.weir.topics.path.PathStats;
import io.weir.topics.path.TopicLook;
import io.weir.topics.path.TopicStats;
import io.weir.topics.path.TopicStats.ChannelStats;
import io.weir.transport.gateway.GatewayStats;
import io.weir.transport.link.LinkStats;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * What the message path holds, and what its thread costs. The thread is asked at each scrape; if it is too busy to
 * answer, the last answer is shown.
 */
final class PathMetrics {
    private static final long PATIENCE_MS = 500;

    private final BrokerTopics topics;
    private volatile List<TopicStats> last = List.of();
    private volatile PathStats totals = PathStats.NONE;
    private volatile DeliveryTotals deliveries = new DeliveryTotals(DelayTotals.NONE, DelayTotals.NONE);

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
        FunctionCounter.builder("messages.dropped", this, metrics -> metrics.totals.dropped())
                .description("Messages that gave way to newer ones where the queue was full, of all channels")
                .register(registry);
        bytes(
                registry,
                "message.store.used",
                "Taken by messages; a topic's publishers wait when it has its part of the most",
                PathStats::storeBytes);
        bytes(
                registry,
                "message.store.reserved",
                "Memory outside the heap for messages",
                PathStats::storeReservedBytes);
        bytes(registry, "message.store.max", "The most that messages may take", PathStats::storeMaxBytes);
        Gauge.builder("messages.held", this, metrics -> metrics.totals.messages())
                .description("Messages that this broker holds, each once however many channels have it")
                .register(registry);
        Gauge.builder("message.entries", this, metrics -> metrics.totals.entries())
                .description(
                        "Places of messages in lines, channels and with consumers; one of three channels has three")
                .register(registry);
        Gauge.builder("message.entries.max", this, metrics -> metrics.totals.maxEntries())
                .description("The most places there may be")
                .register(registry);
        FunctionCounter.builder("messages.refused.memory", this, metrics -> metrics.totals.refused())
                .description("Messages refused because their topic or token had its part of the memory")
                .register(registry);
        sum(registry, "messages.waiting", "Messages that wait for a token or for room", TopicStats::waiting);
        sum(registry, "messages.unrouted", "Messages that wait for their topic's first channel", TopicStats::unrouted);
        channels(registry, "messages.queued", "Messages that wait for consumers", ChannelStats::queued);
        channels(registry, "messages.deferred", "Messages that are not due yet", ChannelStats::ownDeferred);
        channels(
                registry,
                "messages.in.flight",
                "Messages that came in here and are with consumers, at whichever broker, not acknowledged yet",
                ChannelStats::ownInFlight);
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
        federated(
                registry,
                "borrow.frames",
                "Frames that asked other brokers for tokens, or lent them some",
                FederationStats::loanFrames);
        federated(
                registry,
                "borrow.tokens",
                "Tokens that other brokers lent",
                stats -> stats.borrowedMicros() / Limit.MICROS);
        federated(registry, "link.forwarded", "Publications sent to their home", FederationStats::forwarded);
        federated(
                registry,
                "link.forwards.lost",
                "Publications whose link broke before the outcome came",
                FederationStats::forwardsLost);
        federated(
                registry,
                "link.published",
                "Publications that other brokers sent here",
                FederationStats::publishedForPeers);
        federated(
                registry,
                "link.dropped",
                "Messages of other brokers that were here when the link broke, and that those deliver again",
                FederationStats::droppedWithLink);
        linked(registry, "link.frames.sent", "Frames sent to other brokers", LinkStats::sent);
        linked(registry, "link.frames.received", "Frames received from other brokers", LinkStats::received);
        linked(registry, "link.sent.bytes", "Bytes sent to other brokers", LinkStats::sentBytes);
        linked(registry, "link.received.bytes", "Bytes received from other brokers", LinkStats::receivedBytes);
        linked(registry, "link.connects", "Times that a link came up", LinkStats::connects);
        linked(
                registry,
                "link.frames.unread",
                "Frames that belonged to no connection or could not be read",
                link -> link.dropped() + link.malformed());
        refused(registry, "back-pressure", LinkStats::refusedBackPressure);
        refused(registry, "not-connected", LinkStats::refusedNotConnected);
        refused(registry, "busy", LinkStats::refusedBusy);
        Gauge.builder("link.peers", topics, t -> t.federation()
                        .map(FederationStats::peers)
                        .orElse(0))
                .description("Brokers that are linked now")
                .register(registry);
        channels(registry, "consumers", "Consumers of all channels", ChannelStats::consumers);
        gateway(registry);
        deliveries(registry);
    }

    private void gateway(MeterRegistry registry) {
        Gauge.builder("gateway.connections", topics, t -> t.gatewayStats().connections())
                .description("Connections to the TCP port")
                .register(registry);
        Gauge.builder("gateway.strangers", topics, t -> t.gatewayStats().strangers())
                .description("Of these, those whose clients have not said yet what is asked of them, such as AUTH")
                .register(registry);
        Gauge.builder("gateway.buffers", topics, t -> t.gatewayStats().bufferBytes())
                .baseUnit("bytes")
                .description("What clients have half sent or not yet received, and some buffers that are kept for it")
                .register(registry);
        gateway(registry, "gateway.refused", "Connections that found no place", GatewayStats::refused);
        gateway(registry, "gateway.strangers.displaced", "Strangers that gave way to others", GatewayStats::displaced);
        gateway(
                registry,
                "gateway.strangers.late",
                "Strangers that did not say in time what was asked of them",
                GatewayStats::late);
        gateway(registry, "auth.failed", "AUTHs with a secret that no token has", GatewayStats::failedAuths);
    }

    private void gateway(MeterRegistry registry, String name, String description, ToLongFunction<GatewayStats> value) {
        FunctionCounter.builder(name, topics, t -> value.applyAsLong(t.gatewayStats()))
                .description(description)
                .register(registry);
    }

    private void deliveries(MeterRegistry registry) {
        delays(
                registry,
                "deliveries",
                "Messages by the time from arrival at the cluster until a consumer of this broker had them, or could have",
                DeliveryTotals::delays);
        delays(
                registry,
                "deliveries.late",
                "Messages that waited for a consumer, by the time from arrival at the cluster until one had them",
                DeliveryTotals::late);
    }

    /** How many took at most so long, and all of their time together. */
    private void delays(
            MeterRegistry registry, String name, String description, Function<DeliveryTotals, DelayTotals> of) {
        for (String seconds : List.of("0.0001", "0.001", "0.01", "0.1", "1", "any")) {
            long withinNs = seconds.equals("any") ? Long.MAX_VALUE : Math.round(Double.parseDouble(seconds) * 1e9);
            FunctionCounter.builder(
                            name, this, metrics -> of.apply(metrics.deliveries).within(withinNs))
                    .tag("within", seconds)
                    .description(description)
                    .register(registry);
        }
        FunctionCounter.builder(
                        name + ".time",
                        this,
                        metrics -> of.apply(metrics.deliveries).sumNs() / 1e9)
                .baseUnit("seconds")
                .description("All of that time together")
                .register(registry);
    }

    private void federated(
            MeterRegistry registry, String name, String description, ToLongFunction<FederationStats> value) {
        FunctionCounter.builder(name, topics, t -> t.federation()
                        .map(value::applyAsLong)
                        .orElse(0L))
                .description(description)
                .register(registry);
    }

    private FunctionCounter.Builder<BrokerTopics> linked(String name, ToLongFunction<LinkStats> value) {
        return FunctionCounter.builder(
                name, topics, t -> t.linkStats().stream().mapToLong(value).sum());
    }

    private void linked(MeterRegistry registry, String name, String description, ToLongFunction<LinkStats> value) {
        linked(name, value).description(description).register(registry);
    }

    private void refused(MeterRegistry registry, String why, ToLongFunction<LinkStats> value) {
        linked("link.frames.refused", value)
                .tag("why", why)
                .description("Frames that a link did not take; they are offered again")
                .register(registry);
    }

    private void bytes(MeterRegistry registry, String name, String description, ToLongFunction<PathStats> value) {
        Gauge.builder(name, this, metrics -> value.applyAsLong(metrics.totals))
                .baseUnit("bytes")
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
            PathView view = topics.look().toCompletableFuture().get(PATIENCE_MS, TimeUnit.MILLISECONDS);
            last = view.topics().stream().map(TopicLook::stats).toList();
            totals = view.totals();
            deliveries = topics.path().deliveries().toCompletableFuture().get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            // The thread is busy with messages, which matter more.
        }
    }
}
