package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.BenchRun;
import io.weir.cluster.bench.Load;
import io.weir.cluster.bench.SendSchedule;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketProfiler;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.cli.TimeReader;
import io.weir.supervisor.node.BrokerClient;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code weir bench penalty}: what splitting a token bucket over brokers costs, and what wins it back. */
@Command(
        name = "penalty",
        mixinStandardHelpOptions = true,
        description = {
            "Split a topic's token bucket over brokers in several ways, round by round in turn, and measure the access delay: from a"
                    + " message's arrival at its broker until it has its token, by the brokers' own stamps. Percentiles are right to 3%%.",
            "single is the yardstick: all publishers at the one broker of a cluster of its own, which has the whole bucket. The others split"
                    + " it over N brokers with the same publishers spread evenly: static in equal parts that stay;"
                    + " gossip, adaptor and placed in parts that follow demand; with -borrow, brokers lend each other tokens; with -arrival, the limit holds over"
                    + " arrivals (--clock arrival).",
            "The limit is r = 1.1 times the load and the smallest b for which 99%% of a trace of the load would not wait (SRTM 6).",
            "IDEAL is what perfect buckets would have done with the very send times of the rounds: one for single, N equal parts for the"
                    + " others. What lies above it is the brokers and the machine.",
            "TRANSFERS are those of all topics of the cluster, what still settles from the round before included.",
            "Two clusters with small heaps are started for it and removed with all they wrote, also after Ctrl-C. The load is scaled to the"
                    + " machine: by default 1,500 msg/s for each of its processors, which leaves most of them idle."
        },
        footer = {
            "",
            "Ratios are medians over the rounds, each round against single in that round, with the median's 95%% interval (of fewer than six"
                    + " rounds: all of them).",
            "Exit code 0 when done, 1 if the default configuration misses a goal: the ratio's interval lies above it.",
            "",
            "Examples:",
            "  weir bench penalty",
            "  weir bench penalty --brokers 6 --goal-p95 1.5 --goal-p99 1.2",
            "  weir bench penalty --only static,gossip --rounds 3 --duration 5s",
            "  weir bench penalty -o json | jq '.configurations[] | {name, p99ToSingle}'"
        })
public final class PenaltyCommand implements Callable<Integer> {
    private static final double MESSAGES_PER_PROCESSOR = 1_500;
    private static final double MARGIN = 0.1;
    private static final int TRACE_MESSAGES = 200_000;
    private static final int BODY_BYTES = 100;
    private static final int CREDIT = 2_500;
    private static final Duration DRAIN = Duration.ofSeconds(30);
    private static final int SMALLEST_FAIR_ROUNDS = 9;
    /** In the description of the API: the field of the request that creates a topic. */
    private static final Pattern BORROW =
            Pattern.compile("^    TopicRequest:\\n(?:      .*\\n)*?        borrow:", Pattern.MULTILINE);

    @Spec
    private CommandSpec spec;

    @Mixin
    private Output output;

    @Mixin
    private OwnBrokers own;

    @Option(
            names = "--brokers",
            paramLabel = "N",
            defaultValue = "3",
            description = "Brokers that the bucket is split over (default: ${DEFAULT-VALUE}).")
    private int brokers;

    @Option(
            names = "--rate",
            description = "Messages a second, all publishers together (default: 1500 for each processor).")
    private Double rate;

    @Option(
            names = "--publishers",
            defaultValue = "300",
            description =
                    "Poisson publishers, each with a connection; a multiple of the brokers (default: ${DEFAULT-VALUE}).")
    private int publishers;

    @Option(
            names = "--only",
            paramLabel = "NAME",
            split = ",",
            description = "These configurations, beside single (default: all that the brokers know).")
    private List<String> only = List.of();

    @Option(
            names = "--rounds",
            defaultValue = "9",
            description = "Rounds of each configuration (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--duration",
            defaultValue = "10s",
            converter = TimeReader.class,
            description = "Measured time of a round (default: ${DEFAULT-VALUE}).")
    private Duration duration;

    @Option(
            names = "--warmup",
            defaultValue = "3s",
            converter = TimeReader.class,
            description = "Load before that in every round (default: ${DEFAULT-VALUE}).")
    private Duration warmUp;

    @Option(
            names = "--rehearsal",
            defaultValue = "5s",
            converter = TimeReader.class,
            description =
                    "Load of each configuration before the first round, for the compilers (default: ${DEFAULT-VALUE}).")
    private Duration rehearsal;

    @Option(
            names = "--goal-p95",
            paramLabel = "RATIO",
            description = "The most that the default configuration's p95 may be of single's.")
    private Double goalP95;

    @Option(
            names = "--goal-p99",
            paramLabel = "RATIO",
            description = "The most that the default configuration's p99 may be of single's.")
    private Double goalP99;

    @Option(
            names = "--goal-of",
            paramLabel = "DELAY",
            defaultValue = "access",
            description =
                    "What the goals are for: access, from arrival to token, or total, from the intended sending to"
                            + " receipt (default: ${DEFAULT-VALUE}).")
    private PenaltyReport.Delay goalOf;

    private final Interruption interruption = new Interruption();

    /** A configuration with the topic that was made for it. */
    private record Contestant(
            PenaltyConfiguration configuration, BenchCluster cluster, String topic, PenaltyProbe probe) {}

    @Override
    public Integer call() {
        BenchRun.require(brokers >= 2 && brokers <= 16, "--brokers must be within 2 and 16");
        BenchRun.require(rate == null || rate >= 1 && rate <= 1e6, "--rate must be within 1 and 1000000");
        BenchRun.require(
                publishers >= brokers && publishers <= 9_000 && publishers % brokers == 0,
                "--publishers must be a multiple of the " + brokers + " brokers, and 9000 at the most");
        BenchRun.require(rounds >= 1 && rounds <= 1_000, "--rounds must be within 1 and 1000");
        requireTime("--duration", duration, 100);
        requireTime("--warmup", warmUp, 0);
        requireTime("--rehearsal", rehearsal, 0);
        BenchRun.require(goalP95 == null || goalP95 > 0, "--goal-p95 must be above 0");
        BenchRun.require(goalP99 == null || goalP99 > 0, "--goal-p99 must be above 0");
        own.check();
        for (String name : only) {
            BenchRun.require(
                    PenaltyConfiguration.names().contains(name),
                    "--only: there is no '" + name + "', but " + String.join(", ", PenaltyConfiguration.names()));
        }
        BenchRun.requireDescriptors(publishers + brokers);
        long drawnFrom = own.seed();
        return interruption.during(() -> measure(drawnFrom));
    }

    private static void requireTime(String option, Duration time, long leastMs) {
        BenchRun.require(
                time.toMillis() >= leastMs && time.toMinutes() < 60,
                option + " must be " + (leastMs == 0 ? "" : "at least " + leastMs + " ms, and ") + "below an hour");
    }

    private double messagesPerSecond() {
        return rate == null ? MESSAGES_PER_PROCESSOR * Runtime.getRuntime().availableProcessors() : rate;
    }

    private Load.Shape.OpenLoop shape(long drawnFrom) {
        return new Load.Shape.OpenLoop(
                messagesPerSecond(),
                publishers,
                publishers,
                Load.Batch.NONE,
                SendSchedule.Distribution.poisson,
                drawnFrom);
    }

    private int measure(long drawnFrom) throws IOException {
        Limit profiled = new BucketProfiler(MARGIN)
                .profile(shape(drawnFrom).trace(TRACE_MESSAGES))
                .limit();
        Limit limit =
                Limit.of(Math.rint((1 + MARGIN) * messagesPerSecond()), profiled.burstMicros() / (double) Limit.MICROS);
        BenchRun.require(
                limit.burstMicros() >= brokers * Limit.MICROS,
                "--brokers: the burst of " + limit.burstMicros() / Limit.MICROS + " leaves some of " + brokers
                        + " brokers without a whole token");
        Map<String, String> environment = Map.of(OwnBrokers.JAVA_OPTIONS, own.javaOptions());
        try (BenchCluster one = BenchCluster.ofItsOwn(this::tell);
                BenchCluster all = BenchCluster.ofItsOwn(this::tell)) {
            tell("starting two stores, a broker alone, and " + brokers + " brokers");
            one.start(1, environment);
            all.start(brokers, environment);
            boolean borrowing = knowsBorrowing(
                    new String(all.ask("GET", "/openapi.yaml", null).body(), StandardCharsets.UTF_8));
            if (!borrowing) {
                tell("these brokers do not know of borrowing: configurations with it are left out");
            }
            List<Contestant> contestants = contestants(one, all, limit, borrowing);
            String byDefault = PenaltyConfiguration.nameOfDefault(borrowing);
            boolean defaultTakesPart = contestants.stream()
                    .anyMatch(each -> each.configuration.name().equals(byDefault));
            BenchRun.require(
                    defaultTakesPart || goalP95 == null && goalP99 == null,
                    "--only: goals are those of the default configuration, '" + byDefault + "'");
            tell(says(limit));
            PenaltyReport report = rounds(contestants, limit, drawnFrom);
            List<String> missed =
                    report.missed(byDefault, new PenaltyReport.Goals(goalOf, asked(goalP95), asked(goalP99)));
            print(report, limit, byDefault, missed, drawnFrom);
            return missed.isEmpty() ? ExitCode.OK : ExitCode.FAILED;
        }
    }

    private static OptionalDouble asked(Double goal) {
        return goal == null ? OptionalDouble.empty() : OptionalDouble.of(goal);
    }

    /** @param description of the brokers' API */
    static boolean knowsBorrowing(String description) {
        return BORROW.matcher(description).find();
    }

    private List<Contestant> contestants(BenchCluster one, BenchCluster all, Limit limit, boolean borrowing) {
        List<Contestant> contestants = new ArrayList<>();
        for (PenaltyConfiguration each : PenaltyConfiguration.offered(borrowing)) {
            if (!each.single() && !only.isEmpty() && !only.contains(each.name())) {
                continue;
            }
            BenchCluster cluster = each.single() ? one : all;
            String topic = "penalty-" + each.name();
            BrokerClient.Answer answer = cluster.answer("POST", "/v1/topics/" + topic, each.topic(limit, borrowing));
            if (answer.ok()) {
                PenaltyProbe probe = new PenaltyProbe(cluster, topic);
                probe.awaitLimit();
                contestants.add(new Contestant(each, cluster, topic, probe));
            } else if (each.borrow() && answer.status() == 400) {
                tell(each.name() + " is left out, the brokers do not take it: " + answer.error());
            } else {
                throw CliException.unavailable("topic " + topic + " could not be made: " + answer.error());
            }
        }
        BenchRun.require(contestants.size() > 1, "--only: the brokers know none of " + String.join(", ", only));
        return contestants;
    }

    private PenaltyReport rounds(List<Contestant> contestants, Limit limit, long drawnFrom) throws IOException {
        for (Contestant each : contestants) {
            if (!rehearsal.isZero()) {
                tell("rehearsal, " + each.configuration.name());
                run(each, load(each, drawnFrom, Duration.ZERO, rehearsal), limit, 0);
            }
        }
        PenaltyReport report = new PenaltyReport(
                contestants.stream().map(each -> each.configuration.name()).toList());
        for (int round = 1; round <= rounds; round++) {
            // Another one is first each time, so that what the machine does in between hits all alike.
            List<Contestant> order = new ArrayList<>(contestants);
            Collections.rotate(order, 1 - round);
            for (Contestant each : order) {
                Load load = load(each, drawnFrom + round, warmUp, duration);
                PenaltyRound.Outcome outcome = run(each, load, limit, round);
                tell(round, each, outcome);
                report.add(each.configuration.name(), outcome);
            }
        }
        return report;
    }

    /** The intended times of a round are the same for all. */
    private Load load(Contestant contestant, long drawn, Duration newWarmUp, Duration measured) {
        return new Load(
                shape(drawn),
                publishers,
                brokers,
                BODY_BYTES,
                contestant.topic,
                "bench",
                CREDIT,
                newWarmUp,
                measured,
                DRAIN,
                Load.Pause.park);
    }

    private PenaltyRound.Outcome run(Contestant contestant, Load load, Limit limit, int number) throws IOException {
        PenaltyRound round = new PenaltyRound(contestant.cluster, contestant.probe, limit, load);
        interruption.stopsBy(round::stop);
        return round.run(number);
    }

    private void tell(int round, Contestant contestant, PenaltyRound.Outcome outcome) {
        AccessDelays access = outcome.access();
        tell(String.format(
                Locale.ROOT,
                "round %d of %d, %s: p50 %,.3f ms, p95 %,.2f ms, p99 %,.2f ms (ideal %,.2f ms), %.1f%% delayed%s",
                round,
                rounds,
                contestant.configuration.name(),
                access.p50Micros() / 1e3,
                access.p95Micros() / 1e3,
                access.p99Micros() / 1e3,
                outcome.ideal().p99Micros() / 1e3,
                access.delayedFraction() * 100,
                outcome.lost() == 0 ? "" : "; " + outcome.lost() + " messages missing, refused or unsent"));
    }

    private String says(Limit limit) {
        return String.format(
                Locale.ROOT,
                "%d brokers; %d Poisson publishers, %,.0f msg/s (%s); limit %,.0f msg/s, burst %d; %d rounds of %.1f s",
                brokers,
                publishers,
                messagesPerSecond(),
                rate != null
                        ? "--rate"
                        : String.format(
                                Locale.ROOT,
                                "%,.0f for each of this machine's %d processors",
                                MESSAGES_PER_PROCESSOR,
                                Runtime.getRuntime().availableProcessors()),
                limit.rateMicros() / (double) Limit.MICROS,
                limit.burstMicros() / Limit.MICROS,
                rounds,
                duration.toMillis() / 1e3);
    }

    private void print(PenaltyReport report, Limit limit, String byDefault, List<String> missed, long drawnFrom) {
        if (output.json()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("brokers", brokers);
            json.put("publishers", publishers);
            json.put("messagesPerSecond", messagesPerSecond());
            json.put("processors", Runtime.getRuntime().availableProcessors());
            json.put("limitRate", limit.rateMicros() / (double) Limit.MICROS);
            json.put("limitBurst", limit.burstMicros() / (double) Limit.MICROS);
            json.put("rounds", rounds);
            json.put("seconds", duration.toMillis() / 1e3);
            json.put("warmUpSeconds", warmUp.toMillis() / 1e3);
            json.put("seed", drawnFrom);
            json.put("default", byDefault);
            json.put("goalP95", goalP95);
            json.put("goalP99", goalP99);
            json.put("goalOf", goalOf);
            json.put("goalsMissed", missed);
            json.put("lost", report.lost());
            json.put("configurations", report.toJson());
            output.printJson(json);
            return;
        }
        output.println(says(limit));
        output.println("medians of the rounds, lowest to highest; seed " + drawnFrom + "\n");
        report.print(output);
        if (rounds < SMALLEST_FAIR_ROUNDS) {
            output.println("\n" + rounds + " rounds are few: take these as a first look, not as figures");
        }
        missed.forEach(line -> output.println("\n" + line));
    }

    private void tell(String line) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(line);
        err.flush();
    }
}
