package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.RealClient.Manner;
import io.weir.cluster.RealClient.Sender;
import io.weir.config.Endpoint;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A limit of 1,000 msg/s in three broker JVMs, and four clients that others wrote, of three kinds, who want four times
 * that.
 */
final class FourClients implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FourClients.class);
    private static final String TOPIC = "pushed";
    private static final double RATE = 1_000;
    private static final double BURST = 100;
    private static final Duration PUSHING = Duration.ofSeconds(30);
    /** Until shares have followed demand; the rest is what "the limit is used" speaks of. */
    private static final Duration SETTLING = Duration.ofSeconds(5);

    private static final Duration SOON = Duration.ofSeconds(30);
    /** Of each client: while one waits for its answer, another has a batch in line. */
    private static final int SENDERS = 4;

    private static final int BATCH = 10;
    private static final long INTERVAL_NS = SENDERS * BATCH * TimeUnit.SECONDS.toNanos(1) / (long) RATE;

    private final List<RealClient> clients = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Inbox inbox = new Inbox();
    private final Set<String> acknowledged = ConcurrentHashMap.newKeySet();
    private final BrokerCluster cluster;
    private final SupplyWatch watch;

    FourClients(BrokerCluster cluster, SupplyWatch watch) {
        this.cluster = cluster;
        this.watch = watch;
    }

    @Override
    public void close() {
        threads.shutdownNow();
        clients.forEach(RealClient::close);
    }

    /** The limit is used and no more, and all of it is delivered. */
    void pushAndCheck() throws Exception {
        watch.create(new TopicClient(cluster.http("b1"), Optional.empty()), TOPIC, RATE, BURST, "gossip", 0);
        consume(new NsqJs(), "b1");
        consume(new NsqJ(), "b2");
        consume(new Brainlag(), "b3");

        long beginNs = System.nanoTime();
        long endNs = beginNs + PUSHING.toNanos();
        List<Future<?>> pushing = new ArrayList<>();
        pushing.addAll(push(new NsqJ(), "b1", endNs));
        pushing.addAll(push(new NsqJs(), "b2", endNs));
        pushing.addAll(push(new Brainlag(), "b3", endNs));
        pushing.addAll(push(new NsqJs(), "b3", endNs));
        for (Future<?> each : pushing) {
            each.get(PUSHING.plus(SOON).toSeconds(), TimeUnit.SECONDS);
        }

        inbox.await(acknowledged, SOON);
        TopicName topic = new TopicName(TOPIC);
        long admitted = watch.admissions().of(topic).stream()
                .mapToLong(Admission::tokens)
                .sum();
        long settledNs = beginNs + SETTLING.toNanos();
        LOG.info(
                "Four clients: {} admitted, {} acknowledged, {} received, {} of them more than once; {} msg/s after {} s",
                admitted,
                acknowledged.size(),
                inbox.bodies().size(),
                inbox.duplicates(),
                watch.admissions().admittedBetween(topic, settledNs, endNs)
                        / PUSHING.minus(SETTLING).toSeconds(),
                SETTLING.toSeconds());
        // Every push was acknowledged, so these are the same messages: none was dropped, none came in past the gates.
        assertThat(admitted).isEqualTo(acknowledged.size());
        assertThat(inbox.bodies()).hasSize(acknowledged.size());
        assertThat(watch.admissions().used(topic, Limit.of(RATE, BURST), settledNs, endNs))
                .isEmpty();
    }

    private void consume(RealClient client, String broker) {
        clients.add(client);
        client.receive(Manner.USUAL, at(broker), TOPIC, "work", inbox);
    }

    /** A message every millisecond from each client, in batches; when answers are late it goes on from there. */
    private List<Future<?>> push(RealClient client, String broker, long endNs) {
        clients.add(client);
        List<Future<?>> senders = new ArrayList<>();
        for (int i = 0; i < SENDERS; i++) {
            String name = client + "-" + clients.size() + "-" + i + "-";
            Sender sender = client.sender(Manner.USUAL, at(broker));
            senders.add(threads.submit(() -> {
                long dueNs = System.nanoTime();
                for (int next = 0; System.nanoTime() - endNs < 0; next += BATCH) {
                    List<String> batch = IntStream.range(next, next + BATCH)
                            .mapToObj(number -> name + number)
                            .toList();
                    sender.publish(TOPIC, batch);
                    acknowledged.addAll(batch);
                    long nowNs = System.nanoTime();
                    dueNs = Math.max(dueNs + INTERVAL_NS, nowNs);
                    LockSupport.parkNanos(dueNs - nowNs);
                }
                return null;
            }));
        }
        return senders;
    }

    private List<Endpoint> at(String broker) {
        return List.of(Endpoint.parse(cluster.line(broker).tcp()));
    }
}
