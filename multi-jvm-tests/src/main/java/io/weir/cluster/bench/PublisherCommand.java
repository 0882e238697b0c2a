package io.weir.cluster.bench;

import io.weir.cluster.TopicClient;
import io.weir.cluster.bench.wire.WireException;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.cli.client.ClientSecret;
import io.weir.supervisor.cli.client.ClientTls;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.node.TopicRequest;
import io.weir.transport.algorithm.BatchTuner.Bounds;
import io.weir.transport.client.ClientSettings;
import io.weir.transport.client.PublisherSettings;
import io.weir.transport.client.WeirClient;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.ToDoubleFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code weir bench publisher}: whether a publisher that tunes itself does better than any fixed batch size, over
 * several loads; and how much of that is due to tuning, and how much to sending together what has gathered.
 */
@Command(
        name = "publisher",
        mixinStandardHelpOptions = true,
        description = {
            "Publish at each rate with the auto-tuned Java client and with fixed batch sizes, in turn, round by round, and compare how late"
                    + " acknowledgements come, from the time at which each message was meant to be published.",
            "'N' waits up to 1 ms until N messages are there, as the paper's baseline does. 'N no wait' sends what has gathered while its"
                    + " workers were busy, N messages at most: gathering without tuning. 'auto' gathers, and tunes how many it waits for.",
            "For each: the 99th percentile (median of the rounds) at each rate, over that of the fixed N that does best there, and the"
                    + " geometric mean of these ratios over all rates. The same for the mean latency, which the paper looks at.",
            "Every publisher has the same workers (batches on their way at a time). Without --tcp, a topic is created that drops what nobody"
                    + " consumes; with it, give one whose limit is above the rates."
        },
        footer = {
            "",
            "Examples:",
            "  weir bench publisher --rates 100,1000,10000,50000 --fixed 1,2,5,10,20,50,100 --rounds 5 --seconds 2",
            "  weir bench publisher --rates 1000 --fixed 1,10 --rounds 1 -o json",
            "  weir bench publisher --tcp 127.0.0.1:4150 --topic spare"
        })
final class PublisherCommand implements Callable<Integer> {
    private static final String AUTO = "auto";
    /** The shortest that the tuner takes: what is there goes as soon as a worker is free. */
    private static final long NO_WAIT_NS = 1;

    private static final long POLL_NS = TimeUnit.MICROSECONDS.toNanos(20);
    private static final double LIMIT = 10_000_000;
    private static final double BURST = 100_000;
    private static final int KEPT = 10_000;

    @Spec
    private CommandSpec spec;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    @Mixin
    private ClientSecret secret;

    @Mixin
    private ClientTls tls;

    @Option(
            names = "--tcp",
            paramLabel = "HOST:PORT",
            description = "Where to publish (default: the cluster's first broker).")
    private String tcp;

    @Option(names = "--topic", defaultValue = "bench-publisher", description = "Topic (default: ${DEFAULT-VALUE}).")
    private String topic;

    @Option(
            names = "--rates",
            split = ",",
            defaultValue = "100,1000,10000,50000",
            description = "Messages a second, Poisson (default: ${DEFAULT-VALUE}).")
    private List<Double> rates;

    @Option(
            names = "--fixed",
            split = ",",
            defaultValue = "1,2,5,10,20,50,100",
            description = "Batch sizes N to compare with, each with and without a wait (default: ${DEFAULT-VALUE}).")
    private List<Integer> fixed;

    @Option(names = "--rounds", defaultValue = "5", description = "Rounds (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--seconds",
            defaultValue = "2",
            description =
                    "Load of each publisher at each rate in a round; the first fifth is not measured (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(
            names = "--warmup",
            paramLabel = "SECONDS",
            defaultValue = "5",
            description = "Load before the first round, for the compilers (default: ${DEFAULT-VALUE}).")
    private double warmUpSeconds;

    @Option(names = "--size", defaultValue = "100", description = "Bytes of a message (default: ${DEFAULT-VALUE}).")
    private int size;

    @Option(
            names = "--workers",
            defaultValue = "2",
            description = "Batches that a publisher has on their way at a time (default: ${DEFAULT-VALUE}).")
    private int workers;

    private final Map<String, Map<Double, List<PublisherTrial.Figures>>> results = new LinkedHashMap<>();

    /** How a publisher compares with the best fixed N at each rate. */
    private record Ratios(double geometricMeanP99, double geometricMeanMean) {}

    /** The single fixed N that does best over all rates. */
    private record Best(int batch, double geometricMeanP99) {}

    /** What is reported. */
    private record Report(Map<String, Ratios> publishers, Best waiting, Best noWait) {
        double auto() {
            return publishers.get(AUTO).geometricMeanP99();
        }

        boolean autoBelowEveryFixed() {
            return auto() < waiting.geometricMeanP99();
        }

        double gathering() {
            return noWait.geometricMeanP99() / waiting.geometricMeanP99();
        }

        double tuning() {
            return auto() / noWait.geometricMeanP99();
        }
    }

    @Override
    public Integer call() {
        BenchRun.require(
                !rates.isEmpty() && rates.stream().allMatch(rate -> rate > 0 && rate <= 10e6),
                "--rates must be above 0, and 10 million at the most");
        BenchRun.require(
                !fixed.isEmpty() && fixed.stream().allMatch(batch -> batch >= 1 && batch <= 10_000),
                "--fixed must be within 1 and 10000");
        BenchRun.require(rounds >= 1 && rounds <= 1_000, "--rounds must be within 1 and 1000");
        BenchRun.require(seconds >= 0.1 && seconds <= 3_600, "--seconds must be within 0.1 and 3600");
        BenchRun.require(warmUpSeconds >= 0 && warmUpSeconds <= 3_600, "--warmup must be within 0 and 3600");
        BenchRun.require(
                size >= 1 && size <= Load.MAX_BODY_BYTES, "--size must be within 1 and " + Load.MAX_BODY_BYTES);
        BenchRun.require(workers >= 1 && workers <= 1_024, "--workers must be within 1 and 1024");
        try (WeirClient client = WeirClient.create(settings())) {
            PublisherTrial.probe(client, topic, size);
            warmUp(client);
            for (int round = 1; round <= rounds; round++) {
                round(client, round);
            }
        } catch (WireException e) {
            throw CliException.unavailable(e.getMessage());
        }
        report();
        return notAccepted() == 0 ? ExitCode.OK : ExitCode.FAILED;
    }

    private ClientSettings settings() {
        ClientSettings plain = ClientSettings.of(List.of(broker()));
        ClientSettings encrypted = tls.context().map(plain::withTls).orElse(plain);
        return secret.read().map(encrypted::withSecret).orElse(encrypted);
    }

    /** Where to publish. Without an address, a topic that keeps little is made there first. */
    private Endpoint broker() {
        if (tcp != null) {
            try {
                return Endpoint.parse(tcp);
            } catch (IllegalArgumentException e) {
                throw CliException.usage("--tcp: " + e.getMessage());
            }
        }
        ClusterStatus.Expected first = cluster.expectedBrokers().get(0);
        TopicClient topics = new TopicClient(
                Endpoint.parse(first.http()), Optional.ofNullable(System.getenv("WEIR_HTTP_ADMIN_TOKEN")));
        if (topics.describe(topic).isEmpty()) {
            try {
                topics.create(
                        topic, new TopicRequest(LIMIT, BURST, null, null, null, null, null, KEPT, "drop-oldest", null));
            } catch (IllegalStateException e) {
                throw CliException.unavailable(e.getMessage());
            }
        }
        return Endpoint.parse(first.tcp());
    }

    private Map<String, PublisherSettings> publishers() {
        PublisherSettings tuned =
                PublisherSettings.defaults().withWorkers(workers).withCloseWithin(Duration.ofSeconds(30));
        Map<String, PublisherSettings> publishers = new LinkedHashMap<>();
        publishers.put(AUTO, tuned);
        fixed.forEach(batch -> publishers.put(
                waiting(batch), fixed(tuned, batch, tuned.batching().longestWaitNs())));
        fixed.forEach(batch -> publishers.put(noWait(batch), fixed(tuned, batch, NO_WAIT_NS)));
        return publishers;
    }

    private static PublisherSettings fixed(PublisherSettings tuned, int batch, long longestWaitNs) {
        return tuned.withBatching(Bounds.fixed(batch, POLL_NS, longestWaitNs).goingAtOnce());
    }

    private static String waiting(int batch) {
        return Integer.toString(batch);
    }

    private static String noWait(int batch) {
        return batch + " no wait";
    }

    private void warmUp(WeirClient client) throws WireException {
        if (warmUpSeconds == 0) {
            return;
        }
        tell("warm-up");
        double each = Math.max(0.1, warmUpSeconds / publishers().size());
        double rate = rates.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
        for (PublisherSettings settings : publishers().values()) {
            PublisherTrial.run(client, settings, topic, size, rate, each, 0);
        }
    }

    private void round(WeirClient client, int round) throws WireException {
        for (double rate : rates) {
            // The same times for every publisher of a round.
            long seed = ThreadLocalRandom.current().nextLong();
            List<Map.Entry<String, PublisherSettings>> turns =
                    new ArrayList<>(publishers().entrySet());
            turns.forEach(turn -> results.computeIfAbsent(turn.getKey(), name -> new LinkedHashMap<>()));
            // Each is the first in turn.
            Collections.rotate(turns, 1 - round);
            for (Map.Entry<String, PublisherSettings> publisher : turns) {
                PublisherTrial.Figures figures =
                        PublisherTrial.run(client, publisher.getValue(), topic, size, rate, seconds, seed);
                results.get(publisher.getKey())
                        .computeIfAbsent(rate, at -> new ArrayList<>())
                        .add(figures);
                tell(text(
                        "round %d of %d, %,.0f msg/s, %s: p50 %,.0f us, p99 %,.0f us, mean %,.0f us, %.1f messages a batch",
                        round,
                        rounds,
                        rate,
                        publisher.getKey(),
                        figures.p50Micros(),
                        figures.p99Micros(),
                        figures.meanMicros(),
                        figures.batch()));
            }
        }
    }

    private double median(String publisher, double rate, ToDoubleFunction<PublisherTrial.Figures> figure) {
        return Comparison.Spread.of(results.get(publisher).get(rate).stream()
                        .map(figures -> (Double) figure.applyAsDouble(figures))
                        .toList())
                .median();
    }

    private double overBest(String publisher, double rate, ToDoubleFunction<PublisherTrial.Figures> figure) {
        double best = fixed.stream()
                .mapToDouble(batch -> median(waiting(batch), rate, figure))
                .min()
                .orElseThrow();
        return median(publisher, rate, figure) / best;
    }

    private double geometricMean(String publisher, ToDoubleFunction<PublisherTrial.Figures> figure) {
        return Math.exp(rates.stream()
                .mapToDouble(rate -> Math.log(overBest(publisher, rate, figure)))
                .average()
                .orElseThrow());
    }

    private Ratios comparison(String publisher) {
        return new Ratios(
                geometricMean(publisher, PublisherTrial.Figures::p99Micros),
                geometricMean(publisher, PublisherTrial.Figures::meanMicros));
    }

    private Best best(IntFunction<String> name, Map<String, Ratios> publishers) {
        return fixed.stream()
                .map(batch -> new Best(batch, publishers.get(name.apply(batch)).geometricMeanP99()))
                .min(Comparator.comparingDouble(Best::geometricMeanP99))
                .orElseThrow();
    }

    private void report() {
        Map<String, Ratios> publishers = new LinkedHashMap<>();
        results.keySet().forEach(publisher -> publishers.put(publisher, comparison(publisher)));
        Report report = new Report(
                publishers, best(PublisherCommand::waiting, publishers), best(PublisherCommand::noWait, publishers));
        if (output.json()) {
            output.printJson(json(report));
            return;
        }
        String name = "%-14s";
        StringBuilder head = new StringBuilder(text(name, "N"));
        rates.forEach(rate -> head.append(text("%22s", text("p99 us at %,.0f/s", rate))));
        output.println(head + text("%16s%16s", "geo. mean p99", "geo. mean mean"));
        publishers.forEach((publisher, ratios) -> {
            StringBuilder row = new StringBuilder(text(name, publisher));
            for (double rate : rates) {
                double p99 = median(publisher, rate, PublisherTrial.Figures::p99Micros);
                double over = overBest(publisher, rate, PublisherTrial.Figures::p99Micros);
                row.append(text("%22s", text("%,.0f (x %.2f)", p99, over)));
            }
            output.println(row
                    + text(
                            "%16s%16s",
                            text("x %.2f", ratios.geometricMeanP99()), text("x %.2f", ratios.geometricMeanMean())));
        });
        output.println(text(
                "auto is at x %.2f of the best fixed N of each load; the best single fixed N at x %.2f (N = %d), without the wait at x %.2f"
                        + " (N = %d).",
                report.auto(),
                report.waiting().geometricMeanP99(),
                report.waiting().batch(),
                report.noWait().geometricMeanP99(),
                report.noWait().batch()));
        output.println(text(
                "Gathering instead of waiting brings x %.2f, tuning on top of it x %.2f: %s.",
                report.gathering(),
                report.tuning(),
                report.autoBelowEveryFixed()
                        ? "together they do better than any fixed N that waits"
                        : "a fixed N that waits does better here"));
    }

    private static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    private Map<String, Object> json(Report report) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rounds", rounds);
        json.put("seconds", seconds);
        json.put("workers", workers);
        json.put("autoBelowEveryFixed", report.autoBelowEveryFixed());
        json.put("gathering", report.gathering());
        json.put("tuning", report.tuning());
        List<Map<String, Object>> publishers = new ArrayList<>();
        report.publishers().forEach((publisher, ratios) -> {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("name", publisher);
            one.put("geometricMeanP99", ratios.geometricMeanP99());
            one.put("geometricMeanMean", ratios.geometricMeanMean());
            List<Map<String, Object>> loads = new ArrayList<>();
            for (double rate : rates) {
                Map<String, Object> load = new LinkedHashMap<>();
                load.put("rate", rate);
                load.put("p99Micros", median(publisher, rate, PublisherTrial.Figures::p99Micros));
                load.put("meanMicros", median(publisher, rate, PublisherTrial.Figures::meanMicros));
                load.put("p99OverBestFixed", overBest(publisher, rate, PublisherTrial.Figures::p99Micros));
                load.put("results", results.get(publisher).get(rate));
                loads.add(load);
            }
            one.put("loads", loads);
            publishers.add(one);
        });
        json.put("publishers", publishers);
        return json;
    }

    private long notAccepted() {
        long count = results.values().stream()
                .flatMap(loads -> loads.values().stream())
                .flatMap(List::stream)
                .mapToLong(PublisherTrial.Figures::notAccepted)
                .sum();
        if (count > 0) {
            tell("weir: " + count + " messages were not accepted; the percentiles are of the others");
        }
        return count;
    }

    private void tell(String line) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(line);
        err.flush();
    }
}
