package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.BenchRun;
import io.weir.cluster.bench.Comparison;
import io.weir.cluster.bench.Result;
import io.weir.cluster.bench.SendSchedule;
import io.weir.config.value.Limit;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.node.TopicRequest;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code weir bench placement}: what the placement of publishers does to a topic's p99. */
@Command(
        name = "placement",
        mixinStandardHelpOptions = true,
        description = {
            "Place a topic's publishers by srtm and by another policy, round by round in turn, and measure how late each message reaches the"
                    + " consumer, from the time at which it was meant to be sent.",
            "low-load: srtm against lb. One broker carries the topic; lb splits it over all of them all the same.",
            "correlated: srtm against max-min. The topic needs six brokers, and its publishers send in groups; max-min does not look at those.",
            "Without --data or --http, six brokers with small heaps are started for it, with a set capacity of 500 msg/s each, and removed with"
                    + " all they wrote, also after Ctrl-C.",
            "The rates are low on purpose: what is measured is the wait for tokens, which grows as rates fall, and not for processors, of"
                    + " which there may be two. Publishers send at half their pace until they are placed and the limit has followed."
        },
        footer = {
            "",
            "Exit code 0 if the p99 of srtm is the lower one in every comparison, 1 if not.",
            "",
            "Examples:",
            "  weir bench placement",
            "  weir bench placement --only correlated --rounds 1",
            "  weir bench placement -o json | jq '.scenarios[] | {name, p99Ratio}'",
            "  weir bench placement --http HOST:PORT    at brokers that run with weir.placement.enabled = on and capacity = 500"
        })
public final class PlacementBenchCommand implements Callable<Integer> {
    private static final int BROKERS = 6;
    private static final double NO_OBJECTIVE_MS = 60_000;
    /** A message that waits for long is the measurement; one that is refused would spoil it. */
    private static final long MAX_DELAY_MS = 30_000;

    @Spec
    private CommandSpec spec;

    @Mixin
    private Output output;

    @Mixin
    private OwnBrokers own;

    @Mixin
    private ClusterOption given;

    @Option(names = "--only", paramLabel = "SCENARIO", description = "low-load or correlated (default: both).")
    private String only;

    @Option(names = "--rounds", defaultValue = "3", description = "Rounds of each policy (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--seconds",
            defaultValue = "12",
            description = "Measured time of a round (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(
            names = "--settle",
            paramLabel = "SECONDS",
            defaultValue = "6",
            description = "Time for the limit to follow the publishers before that (default: ${DEFAULT-VALUE}).")
    private double settleSeconds;

    @Option(
            names = "--adapt",
            paramLabel = "HOW",
            description =
                    "How the topic's limit follows demand: gossip, adaptor or static (default: gossip for low-load, static for correlated,"
                            + " where every broker has the same demand: with the others the parts follow single bursts as well).")
    private String adapt;

    private final Interruption interruption = new Interruption();

    /** What one policy did in all rounds of a scenario. */
    private record Compared(
            PlacementScenario scenario,
            Limit limit,
            Comparison figures,
            Map<String, List<PlacementRound.Outcome>> outcomes) {
        double ratio() {
            Double ratio = figures.ratio(scenario.baseline(), "p99Micros");
            return ratio == null ? 1 : ratio;
        }

        boolean lower() {
            return ratio() < 1;
        }
    }

    @Override
    public Integer call() {
        BenchRun.require(rounds >= 1 && rounds <= 100, "--rounds must be within 1 and 100");
        BenchRun.require(seconds >= 1 && seconds <= 600, "--seconds must be within 1 and 600");
        BenchRun.require(settleSeconds >= 0 && settleSeconds <= 600, "--settle must be within 0 and 600");
        own.check();
        List<PlacementScenario> scenarios = PlacementScenario.ALL.stream()
                .filter(scenario -> only == null || scenario.name().equals(only))
                .toList();
        BenchRun.require(!scenarios.isEmpty(), "--only: there is no '" + only + "', but low-load and correlated");
        long drawnFrom = own.seed();
        return interruption.during(() -> measure(scenarios, drawnFrom));
    }

    private int measure(List<PlacementScenario> scenarios, long drawnFrom) throws IOException {
        try (BenchCluster cluster =
                given.isGiven() ? BenchCluster.existing(given.expectedBrokers()) : BenchCluster.ofItsOwn(this::tell)) {
            if (cluster.isItsOwn()) {
                tell("starting a store and " + BROKERS + " brokers");
                cluster.start(BROKERS, environment());
            }
            List<Compared> all = new ArrayList<>();
            for (PlacementScenario scenario : scenarios) {
                all.add(compare(cluster, scenario, drawnFrom));
            }
            report(all, drawnFrom);
            return all.stream().allMatch(Compared::lower) ? ExitCode.OK : ExitCode.FAILED;
        }
    }

    private Map<String, String> environment() {
        return Map.of(
                "WEIR_PLACEMENT_ENABLED",
                "on",
                "WEIR_PLACEMENT_CAPACITY",
                Double.toString(PlacementScenario.CAPACITY),
                // Nothing is shed here, so there is nothing to measure for long.
                "WEIR_PLACEMENT_SETTLE",
                "1s",
                "WEIR_PLACEMENT_ROUND",
                "2s",
                OwnBrokers.JAVA_OPTIONS,
                own.javaOptions());
    }

    private Compared compare(BenchCluster cluster, PlacementScenario scenario, long drawnFrom) throws IOException {
        Limit limit = scenario.limit(drawnFrom);
        String topic = "bench-" + scenario.name() + "-"
                + Long.toString(ThreadLocalRandom.current().nextLong(1L << 40), 36);
        double rate = limit.rateMicros() / (double) Limit.MICROS;
        double burst = limit.burstMicros() / (double) Limit.MICROS;
        tell(String.format(
                Locale.ROOT, "%s: %s; limit %,.0f msg/s, burst %,.0f", scenario.name(), scenario.says(), rate, burst));
        cluster.ask(
                "POST",
                "/v1/topics/" + topic,
                new TopicRequest(
                        rate,
                        burst,
                        adapt == null ? scenario.adapt() : adapt,
                        null,
                        null,
                        MAX_DELAY_MS,
                        null,
                        null,
                        null,
                        null));
        try {
            // What is compared is where the policies put publishers, so nothing is to be shed for an objective.
            cluster.ask("PUT", "/v1/placement/topics/" + topic + "/objective", Map.of("p99Ms", NO_OBJECTIVE_MS));
            Comparison figures = new Comparison();
            Map<String, List<PlacementRound.Outcome>> outcomes = new LinkedHashMap<>();
            for (int round = 1; round <= rounds; round++) {
                for (String policy : List.of(PlacementScenario.SUBJECT, scenario.baseline())) {
                    PlacementRound.Outcome outcome = round(cluster, scenario, topic, policy, round, drawnFrom);
                    figures.add(policy, outcome.result());
                    outcomes.computeIfAbsent(policy, fresh -> new ArrayList<>()).add(outcome);
                }
            }
            return new Compared(scenario, limit, figures, outcomes);
        } finally {
            if (!interruption.came()) {
                cluster.answer("DELETE", "/v1/topics/" + topic, null);
            }
        }
    }

    private PlacementRound.Outcome round(
            BenchCluster cluster, PlacementScenario scenario, String topic, String policy, int round, long drawnFrom)
            throws IOException {
        String prefix = String.format("%s, round %d of %d, %s: ", scenario.name(), round, rounds, policy);
        // Independent publishers draw other times each round; groups keep the phases that the limit was profiled for.
        long drawn = scenario.distribution() == SendSchedule.Distribution.periodic ? drawnFrom : drawnFrom + round;
        PlacementRound trial = new PlacementRound(
                cluster, scenario, topic, drawn, time(settleSeconds), time(seconds), line -> tell(prefix + line));
        interruption.stopsBy(trial::stop);
        PlacementRound.Outcome outcome = trial.run(policy);
        Result result = outcome.result();
        tell(String.format(
                Locale.ROOT,
                "%sp50 %,.1f ms, p95 %,.1f ms, p99 %,.1f ms; publishers %s; brokers' CPU %s%% of a core%s",
                prefix,
                result.p50Micros() / 1e3,
                result.p95Micros() / 1e3,
                result.p99Micros() / 1e3,
                outcome.publishersPerBroker(),
                result.brokerCpuPercent(),
                result.missing() + result.unsent() + result.refused() == 0
                        ? ""
                        : "; " + result.missing() + " missing, " + result.unsent() + " unsent, " + result.refused()
                                + " refused"));
        return outcome;
    }

    private static Duration time(double seconds) {
        return Duration.ofNanos((long) (seconds * 1e9));
    }

    private void report(List<Compared> all, long drawnFrom) {
        if (output.json()) {
            output.printJson(json(all, drawnFrom));
            return;
        }
        for (Compared compared : all) {
            PlacementScenario scenario = compared.scenario;
            output.println(scenario.name() + ": " + scenario.says());
            output.printf(
                    "  limit %,.0f msg/s, burst %,.0f; medians of %d rounds of %.0f s, lowest to highest%n",
                    compared.limit.rateMicros() / (double) Limit.MICROS,
                    compared.limit.burstMicros() / (double) Limit.MICROS,
                    rounds,
                    seconds);
            output.printf(
                    "  %-8s %8s %28s %28s %28s %8s%n", "POLICY", "BROKERS", "P50 MS", "P95 MS", "P99 MS", "CPU %");
            for (String policy : compared.figures.targets()) {
                output.printf(
                        "  %-8s %8s %28s %28s %28s %8s%n",
                        policy,
                        brokers(compared.outcomes.get(policy)),
                        text(compared.figures.spread(policy, "p50Micros")),
                        text(compared.figures.spread(policy, "p95Micros")),
                        text(compared.figures.spread(policy, "p99Micros")),
                        compared.figures.spread(policy, "brokerCpuPercent") == null
                                ? "-"
                                : String.format(
                                        Locale.ROOT,
                                        "%.0f",
                                        compared.figures
                                                .spread(policy, "brokerCpuPercent")
                                                .median()));
            }
            output.printf(
                    "  p99 of srtm: x %.3f of %s%s%n",
                    compared.ratio(), scenario.baseline(), compared.lower() ? "" : ", which is not lower");
        }
    }

    private static String brokers(List<PlacementRound.Outcome> outcomes) {
        int least = outcomes.stream()
                .mapToInt(PlacementRound.Outcome::brokers)
                .min()
                .orElse(0);
        int most = outcomes.stream()
                .mapToInt(PlacementRound.Outcome::brokers)
                .max()
                .orElse(0);
        return least == most ? "" + least : least + " to " + most;
    }

    private static String text(Comparison.Spread spread) {
        return String.format(
                Locale.ROOT, "%,.1f (%,.1f to %,.1f)", spread.median() / 1e3, spread.min() / 1e3, spread.max() / 1e3);
    }

    private Map<String, Object> json(List<Compared> all, long drawnFrom) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("srtmLower", all.stream().allMatch(Compared::lower));
        json.put("rounds", rounds);
        json.put("seconds", seconds);
        json.put("seed", drawnFrom);
        List<Map<String, Object>> scenarios = new ArrayList<>();
        for (Compared compared : all) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("name", compared.scenario.name());
            one.put("baseline", compared.scenario.baseline());
            one.put("p99Ratio", compared.ratio());
            one.put("publishers", compared.scenario.publishers());
            one.put("groups", compared.scenario.groups());
            one.put("adapt", adapt == null ? compared.scenario.adapt() : adapt);
            one.put("messagesPerSecond", compared.scenario.messagesPerSecond());
            one.put("limitRate", compared.limit.rateMicros() / (double) Limit.MICROS);
            one.put("limitBurst", compared.limit.burstMicros() / (double) Limit.MICROS);
            List<Map<String, Object>> policies = new ArrayList<>();
            for (String policy : compared.figures.targets()) {
                Map<String, Object> figures = new LinkedHashMap<>();
                figures.put("name", policy);
                for (String figure : List.of("p50Micros", "p95Micros", "p99Micros", "brokerCpuPercent")) {
                    figures.put(figure, compared.figures.spread(policy, figure));
                }
                figures.put("rounds", compared.outcomes.get(policy));
                policies.add(figures);
            }
            one.put("policies", policies);
            scenarios.add(one);
        }
        json.put("scenarios", scenarios);
        return json;
    }

    private void tell(String line) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(line);
        err.flush();
    }
}
