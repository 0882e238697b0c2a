package io.weir.supervisor.node.http;

import io.weir.supervisor.node.BrokerProcess;
import io.weir.topics.algorithm.DelayTotals;
import io.weir.topics.path.TopicLook;
import io.weir.topics.path.TopicStats;
import io.weir.transport.gateway.ClientStats;
import io.weir.transport.gateway.GatewayLoop;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * This broker's topics as an nsqd shows its own. Messages are in memory, so the backend's depth is always 0, and
 * end-to-end latencies are not measured.
 *
 * @param memory null if it was not asked for
 * @param producers always empty: who publishes is not counted by topic
 */
record NsqStats(
        String version, String health, long startTime, List<Topic> topics, Memory memory, List<Object> producers) {

    /** What was asked for; topic and channel by name, the access delays' classes or not. */
    record Wanted(
            Optional<String> topic, Optional<String> channel, boolean clients, boolean memory, boolean delayClasses) {
        /** A topic without the channel that was asked for is left out, as nsqd does. */
        private boolean includes(TopicStats found) {
            return (topic.isEmpty() || topic.get().equals(found.topic().value()))
                    && (channel.isEmpty() || found.channels().stream().anyMatch(this::includes));
        }

        private boolean includes(TopicStats.ChannelStats found) {
            return channel.isEmpty() || channel.get().equals(found.name());
        }
    }

    /**
     * One topic.
     *
     * @param depth messages that no channel has yet
     * @param waitingCount publications' messages that wait for the limit; nsqd has no such thing
     * @param droppedCount messages without a channel that gave way to newer ones
     * @param accessDelay of messages that took their token here; nsqd has no such thing
     */
    record Topic(
            String topicName,
            List<Channel> channels,
            int depth,
            int backendDepth,
            long messageCount,
            int waitingCount,
            long droppedCount,
            boolean paused,
            Latency e2eProcessingLatency,
            AccessDelay accessDelay) {}

    /**
     * From a message's arrival at the cluster until it had its token, since the topic began at this broker. Percentiles
     * are right to 3%.
     *
     * @param delayedCount messages that stood in line, rather than pass at once
     * @param sumUs all delays together
     * @param classes messages by the shortest delay of their class in nanoseconds, for those who add brokers up or
     *     subtract an earlier answer; null if not asked for
     */
    record AccessDelay(
            long count,
            long delayedCount,
            double sumUs,
            double p50Us,
            double p95Us,
            double p99Us,
            double maxUs,
            Map<Long, Long> classes) {
        private static AccessDelay of(DelayTotals totals, boolean withClasses) {
            return new AccessDelay(
                    totals.messages(),
                    totals.waited(),
                    totals.sumNs() / 1e3,
                    totals.quantileNs(0.5) / 1e3,
                    totals.quantileNs(0.95) / 1e3,
                    totals.quantileNs(0.99) / 1e3,
                    totals.longestNs() / 1e3,
                    withClasses ? totals.classes() : null);
        }
    }

    /**
     * One channel of it.
     *
     * @param inFlightCount messages that this broker let in and that are with consumers, at whichever broker; over all
     *     brokers each counts once. What consumers here hold is with the clients
     * @param clientCount its consumers at this broker, actors included
     * @param clients those of them that came by the TCP port
     * @param droppedCount messages that gave way to newer ones; nsqd would have them on disk
     */
    record Channel(
            String channelName,
            int depth,
            int backendDepth,
            int inFlightCount,
            int deferredCount,
            long messageCount,
            long requeueCount,
            long timeoutCount,
            long droppedCount,
            int clientCount,
            List<Client> clients,
            boolean paused,
            Latency e2eProcessingLatency) {}

    /** One consumer. */
    record Client(
            String clientId,
            String hostname,
            String version,
            String remoteAddress,
            int state,
            int readyCount,
            int inFlightCount,
            long messageCount,
            long finishCount,
            long requeueCount,
            long connectTs,
            int sampleRate,
            boolean deflate,
            boolean snappy,
            String userAgent,
            boolean authed,
            String authIdentity,
            boolean tls,
            String tlsVersion,
            String tlsCipherSuite) {
        static Client of(ClientStats client) {
            return new Client(
                    client.clientId(),
                    client.hostname(),
                    ClientStats.VERSION,
                    client.remoteAddress(),
                    client.state(),
                    client.readyCount(),
                    client.inFlightCount(),
                    client.messages(),
                    client.finished(),
                    client.requeued(),
                    client.connectedAtS(),
                    client.sampleRate(),
                    client.deflate(),
                    client.snappy(),
                    client.userAgent(),
                    client.token().isPresent(),
                    client.token().orElse(""),
                    client.tls(),
                    client.tlsVersion(),
                    client.tlsCipherSuite());
        }
    }

    /** Never measured here, and always there in nsqd. */
    record Latency(int count, List<Object> percentiles) {
        private static final Latency NONE = new Latency(0, null);
    }

    /** Those of nsqd's figures that a JVM has. */
    record Memory(long heapInUseBytes, long heapIdleBytes, long gcTotalRuns) {
        private static Memory now() {
            MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
            long runs = ManagementFactory.getGarbageCollectorMXBeans().stream()
                    .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                    .sum();
            return new Memory(heap.getUsed(), heap.getCommitted() - heap.getUsed(), runs);
        }
    }

    /** @param clients empty if they were not asked for */
    static NsqStats of(BrokerProcess broker, List<TopicLook> found, List<ClientStats> clients, Wanted wanted) {
        Map<ClientStats.Subscribed, List<ClientStats>> bySubscription = clients.stream()
                .filter(client -> client.subscription().isPresent())
                .collect(Collectors.groupingBy(client -> client.subscription().get()));
        return new NsqStats(
                GatewayLoop.VERSION,
                broker.readiness().ready()
                        ? "OK"
                        : "NOK - " + String.join("; ", broker.readiness().waitingFor()),
                startTimeS(broker),
                found.stream()
                        .filter(topic -> wanted.includes(topic.stats()))
                        .sorted(Comparator.comparing(
                                topic -> topic.stats().topic().value()))
                        .map(topic -> topic(topic.stats(), topic.delays(), bySubscription, wanted))
                        .toList(),
                wanted.memory ? Memory.now() : null,
                List.of());
    }

    private static Topic topic(
            TopicStats topic,
            DelayTotals delays,
            Map<ClientStats.Subscribed, List<ClientStats>> clients,
            Wanted wanted) {
        return new Topic(
                topic.topic().value(),
                topic.channels().stream()
                        .filter(wanted::includes)
                        .sorted(Comparator.comparing(TopicStats.ChannelStats::name))
                        .map(channel -> channel(topic.topic().value(), channel, clients))
                        .toList(),
                topic.unrouted(),
                0,
                topic.published(),
                topic.waiting(),
                topic.dropped(),
                topic.paused(),
                Latency.NONE,
                AccessDelay.of(delays, wanted.delayClasses));
    }

    private static Channel channel(
            String topic, TopicStats.ChannelStats channel, Map<ClientStats.Subscribed, List<ClientStats>> clients) {
        return new Channel(
                channel.name(),
                channel.queued(),
                0,
                channel.ownInFlight(),
                channel.ownDeferred(),
                channel.received(),
                channel.requeued(),
                channel.timedOut(),
                channel.dropped(),
                channel.localConsumers(),
                clients.getOrDefault(new ClientStats.Subscribed(topic, channel.name()), List.of()).stream()
                        .map(Client::of)
                        .toList(),
                channel.paused(),
                Latency.NONE);
    }

    static long startTimeS(BrokerProcess broker) {
        return Instant.now().minusMillis(broker.uptimeMs()).getEpochSecond();
    }

    /** For people's eyes. */
    String text() {
        StringBuilder out = new StringBuilder();
        Duration up = Duration.between(Instant.ofEpochSecond(startTime), Instant.now());
        line(out, "%s", version);
        line(out, "start_time %s", Instant.ofEpochSecond(startTime));
        line(out, "uptime %s", up.truncatedTo(ChronoUnit.SECONDS));
        line(out, "%nHealth: %s", health);
        if (memory != null) {
            line(
                    out,
                    "%nMemory:%n   heap_in_use_bytes %d%n   heap_idle_bytes   %d%n   gc_total_runs     %d",
                    memory.heapInUseBytes,
                    memory.heapIdleBytes,
                    memory.gcTotalRuns);
        }
        line(out, topics.isEmpty() ? "%nTopics: None" : "%nTopics:");
        for (Topic topic : topics) {
            line(
                    out,
                    "%s[%-15s] depth: %-5d be-depth: %-5d msgs: %-8d waiting: %-5d dropped: %-5d delay p50: %.1f us p99: %.1f us",
                    topic.paused ? "  *" : "   ",
                    topic.topicName,
                    topic.depth,
                    topic.backendDepth,
                    topic.messageCount,
                    topic.waitingCount,
                    topic.droppedCount,
                    topic.accessDelay.p50Us,
                    topic.accessDelay.p99Us);
            for (Channel channel : topic.channels) {
                line(
                        out,
                        "     %s[%-25s] depth: %-5d be-depth: %-5d inflt: %-4d def: %-4d re-q: %-5d timeout: %-5d dropped: %-5d msgs: %d",
                        channel.paused ? "  *" : "   ",
                        channel.channelName,
                        channel.depth,
                        channel.backendDepth,
                        channel.inFlightCount,
                        channel.deferredCount,
                        channel.requeueCount,
                        channel.timeoutCount,
                        channel.droppedCount,
                        channel.messageCount);
                for (Client client : channel.clients) {
                    line(
                            out,
                            "          [%s %-20s] state: %d inflt: %-4d rdy: %-4d fin: %-8d re-q: %-8d msgs: %-8d connected: %s",
                            client.version,
                            // Chosen by the client: it must not look like another line.
                            client.clientId.replaceAll("\\p{Cntrl}", "?"),
                            client.state,
                            client.inFlightCount,
                            client.readyCount,
                            client.finishCount,
                            client.requeueCount,
                            client.messageCount,
                            Duration.between(Instant.ofEpochSecond(client.connectTs), Instant.now())
                                    .truncatedTo(ChronoUnit.SECONDS));
                }
            }
        }
        return out.toString();
    }

    private static void line(StringBuilder out, String format, Object... values) {
        out.append(String.format(Locale.ROOT, format + "%n", values));
    }
}
