package io.weir.cluster.bench;

import io.weir.cluster.TopicClient;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.cli.client.NsqConnection;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.node.TopicRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code weir bench topics}: how fast topics come to be. */
@Command(
        name = "topics",
        mixinStandardHelpOptions = true,
        description = {
            "Create topics with several clients at once, each of which waits for its answer before it asks for the next, and measure how"
                    + " many come to be in a second. The clients are spread over the cluster's brokers.",
            "rest: POST /v1/topics/NAME, until the answer says that the topic exists. publish: the first message of a topic that nobody made,"
                    + " over TCP, until its OK.",
            "The topics stay: take a cluster that may have them, or --ephemeral."
        },
        footer = {
            "",
            "Examples:",
            "  weir bench topics --clients 16 --topics 3000",
            "  weir bench topics --by publish --clients 16 --topics 3000 --ephemeral"
        })
final class TopicsCommand implements Callable<Integer> {
    private static final double RATE = 1_000;
    private static final double BURST = 100;
    private static final int PATIENCE_MS = 60_000;

    /** By what a topic comes to be. */
    enum Way {
        rest,
        publish
    }

    /**
     * What came of it; the names are those of {@code -o json}.
     *
     * @param refused how many were not created
     * @param firstProblem why the first of those was not; null if there was none
     */
    record Outcome(
            Way by,
            int clients,
            int topics,
            int refused,
            String firstProblem,
            double seconds,
            double topicsPerSecond,
            double p50Ms,
            double p99Ms,
            double greatestMs) {}

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    @Option(
            names = "--by",
            defaultValue = "rest",
            description = "How they are made: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Way by;

    @Option(names = "--clients", defaultValue = "16", description = "Clients at once (default: ${DEFAULT-VALUE}).")
    private int clients;

    @Option(names = "--topics", defaultValue = "3000", description = "How many topics (default: ${DEFAULT-VALUE}).")
    private int topics;

    @Option(
            names = "--prefix",
            defaultValue = "bench-topics-",
            description = "What their names begin with, before a number (default: ${DEFAULT-VALUE}).")
    private String prefix;

    @Option(names = "--ephemeral", description = "Topics that go away when nobody uses them.")
    private boolean ephemeral;

    /** Makes topics for one client. */
    private interface Maker extends AutoCloseable {
        /** What was wrong, or null. */
        String make(String topic) throws IOException;

        @Override
        void close() throws IOException;
    }

    private final AtomicInteger next = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private volatile String firstProblem;

    @Override
    public Integer call() {
        BenchRun.require(clients >= 1 && clients <= 1_000, "--clients must be within 1 and 1000");
        BenchRun.require(topics >= clients && topics <= 1_000_000, "--topics must be within --clients and 1000000");
        List<ClusterStatus.Expected> brokers = cluster.expectedBrokers();
        long[] tookNs = new long[topics];
        ExecutorService threads = Executors.newFixedThreadPool(clients);
        long beganNs = System.nanoTime();
        try {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                ClusterStatus.Expected broker = brokers.get(i % brokers.size());
                all.add(threads.submit(() -> {
                    make(broker, tookNs);
                    return null;
                }));
            }
            for (Future<?> client : all) {
                client.get();
            }
        } catch (ExecutionException e) {
            throw CliException.unavailable("a client ended: " + e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CliException.unavailable("interrupted");
        } finally {
            threads.shutdownNow();
        }
        report(tookNs, System.nanoTime() - beganNs);
        return refused.get() == 0 ? ExitCode.OK : ExitCode.FAILED;
    }

    private void make(ClusterStatus.Expected broker, long[] tookNs) throws IOException {
        try (Maker maker = maker(broker)) {
            for (int i = next.getAndIncrement(); i < tookNs.length; i = next.getAndIncrement()) {
                long beganNs = System.nanoTime();
                String problem = maker.make(prefix + i + (ephemeral ? "#ephemeral" : ""));
                tookNs[i] = System.nanoTime() - beganNs;
                if (problem != null) {
                    firstProblem = refused.getAndIncrement() == 0 ? problem : firstProblem;
                }
            }
        }
    }

    private Maker maker(ClusterStatus.Expected broker) throws IOException {
        return by == Way.rest ? new ByRest(broker) : new ByPublish(broker);
    }

    private static final class ByRest implements Maker {
        private final TopicClient client;

        ByRest(ClusterStatus.Expected broker) {
            client = new TopicClient(
                    Endpoint.parse(broker.http()), Optional.ofNullable(System.getenv("WEIR_HTTP_ADMIN_TOKEN")));
        }

        @Override
        public String make(String topic) {
            try {
                client.create(topic.replace("#", "%23"), TopicRequest.limit(RATE, BURST, null, null));
                return null;
            } catch (IllegalStateException e) {
                return e.getMessage();
            }
        }

        @Override
        public void close() {}
    }

    private static final class ByPublish implements Maker {
        private final NsqConnection connection;

        ByPublish(ClusterStatus.Expected broker) throws IOException {
            connection = NsqConnection.open(Endpoint.parse(broker.tcp()), PATIENCE_MS);
        }

        @Override
        public String make(String topic) throws IOException {
            String answer = connection.publishAndWait(topic, new byte[] {'x'});
            return answer.equals("OK") ? null : answer;
        }

        @Override
        public void close() throws IOException {
            connection.close();
        }
    }

    private void report(long[] tookNs, long allNs) {
        Arrays.sort(tookNs);
        double seconds = allNs / 1e9;
        Outcome outcome = new Outcome(
                by,
                clients,
                topics,
                refused.get(),
                firstProblem,
                seconds,
                (topics - refused.get()) / seconds,
                ms(tookNs[topics / 2]),
                ms(tookNs[(int) (topics * 0.99)]),
                ms(tookNs[topics - 1]));
        if (output.json()) {
            output.printJson(outcome);
            return;
        }
        output.printf(
                "%d topics by %s, %d clients: %.1f s, %.0f a second; each took p50 %.1f ms, p99 %.1f ms, at most %.1f ms%n",
                topics,
                by,
                clients,
                seconds,
                outcome.topicsPerSecond(),
                outcome.p50Ms(),
                outcome.p99Ms(),
                outcome.greatestMs());
        if (outcome.refused() > 0) {
            output.println(outcome.refused() + " were not created; the first: " + outcome.firstProblem());
        }
    }

    private static double ms(long ns) {
        return ns / (double) TimeUnit.MILLISECONDS.toNanos(1);
    }
}
