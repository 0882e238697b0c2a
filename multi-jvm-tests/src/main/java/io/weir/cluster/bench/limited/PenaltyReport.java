package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.Comparison;
import io.weir.supervisor.cli.Output;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;

/** What {@code weir bench penalty} found: every round of every configuration, their medians, and their ratios. */
final class PenaltyReport {
    private static final String SINGLE = PenaltyConfiguration.SINGLE.name();
    private static final String STATIC = "static";
    /** By their names in {@code -o json}. */
    private static final Map<String, Function<PenaltyRound.Outcome, Double>> FIGURES = figures();

    private final Map<String, List<PenaltyRound.Outcome>> outcomes = new LinkedHashMap<>();

    /** The delays that are compared. */
    enum Delay {
        /** From arrival to token, by the brokers' count. */
        access("p50Micros", "p95Micros", "p99Micros"),
        /** From the intended sending to receipt. */
        total("totalP50Micros", "totalP95Micros", "totalP99Micros");

        private final String p50;
        private final String p95;
        private final String p99;

        Delay(String p50, String p95, String p99) {
            this.p50 = p50;
            this.p95 = p95;
            this.p99 = p99;
        }
    }

    private static Map<String, Function<PenaltyRound.Outcome, Double>> figures() {
        Map<String, Function<PenaltyRound.Outcome, Double>> figures = new LinkedHashMap<>();
        figures.put("p50Micros", outcome -> outcome.access().p50Micros());
        figures.put("p95Micros", outcome -> outcome.access().p95Micros());
        figures.put("p99Micros", outcome -> outcome.access().p99Micros());
        figures.put("meanMicros", outcome -> outcome.access().meanMicros());
        figures.put("maxMicros", outcome -> outcome.access().maxMicros());
        figures.put("delayedFraction", outcome -> outcome.access().delayedFraction());
        figures.put("idealP95Micros", outcome -> outcome.ideal().p95Micros());
        figures.put("idealP99Micros", outcome -> outcome.ideal().p99Micros());
        figures.put("idealOfOneP99Micros", outcome -> outcome.idealOfOne().p99Micros());
        figures.put("totalP50Micros", outcome -> outcome.endToEnd().p50Micros());
        figures.put("totalP95Micros", outcome -> outcome.endToEnd().p95Micros());
        figures.put("totalP99Micros", outcome -> outcome.endToEnd().p99Micros());
        figures.put(
                "transfers",
                outcome -> outcome.transfers() == null ? null : (Double) (double) (long) outcome.transfers());
        figures.put("brokerCpuMicrosPerMessage", PenaltyRound.Outcome::brokerCpuMicrosPerMessage);
        figures.put("controlFramesPerMessage", PenaltyRound.Outcome::controlFramesPerMessage);
        return figures;
    }

    /** What is to be reached by the default configuration; empty where nothing was asked for. */
    record Goals(Delay delay, OptionalDouble p95Ratio, OptionalDouble p99Ratio) {}

    /** @param configurations in the order in which they are shown; each takes part in every round */
    PenaltyReport(List<String> configurations) {
        configurations.forEach(name -> outcomes.put(name, new ArrayList<>()));
    }

    void add(String configuration, PenaltyRound.Outcome outcome) {
        outcomes.get(configuration).add(outcome);
    }

    /** Null where not every round has it. */
    private Comparison.Spread spread(String configuration, String figure) {
        List<Double> values =
                outcomes.get(configuration).stream().map(FIGURES.get(figure)).collect(Collectors.toList());
        return values.stream().anyMatch(Objects::isNull) ? null : Comparison.Spread.of(values);
    }

    /** Round by round; null where the base took no part, or had no delay at all. */
    private MedianInterval ratio(String configuration, String base, String name) {
        Function<PenaltyRound.Outcome, Double> figure = FIGURES.get(name);
        if (!outcomes.containsKey(base)) {
            return null;
        }
        Map<Integer, Double> of =
                outcomes.get(base).stream().collect(Collectors.toMap(PenaltyRound.Outcome::round, figure));
        List<Double> ratios = outcomes.get(configuration).stream()
                .map(outcome -> figure.apply(outcome) / of.get(outcome.round()))
                .toList();
        return ratios.stream().allMatch(Double::isFinite) ? MedianInterval.of(ratios) : null;
    }

    /** What the configuration missed, one line each; a goal is met if the ratio's interval reaches down to it. */
    List<String> missed(String configuration, Goals goals) {
        List<String> missed = new ArrayList<>();
        goals.p95Ratio().ifPresent(goal -> check(goals.delay(), goals.delay().p95, configuration, goal, missed));
        goals.p99Ratio().ifPresent(goal -> check(goals.delay(), goals.delay().p99, configuration, goal, missed));
        return missed;
    }

    private void check(Delay delay, String figure, String configuration, double goal, List<String> missed) {
        MedianInterval ratio = ratio(configuration, SINGLE, figure);
        if (ratio == null || ratio.low() > goal) {
            missed.add(String.format(
                    Locale.ROOT,
                    "%s of %s is %s of single's: above the goal of x %.2f",
                    figure.equals(delay.p95) ? "p95" : "p99",
                    configuration,
                    text(ratio),
                    goal));
        }
    }

    void print(Output output) {
        String row = "%-22s %9s %26s %26s %8s %9s %9s %9s %26s %26s%n";
        output.printf(
                row,
                "ARRIVAL TO TOKEN",
                "P50 MS",
                "P95 MS",
                "P99 MS",
                "MEAN MS",
                "DELAYED %",
                "IDEAL P95",
                "IDEAL P99",
                "P95 / SINGLE",
                "P99 / SINGLE");
        for (String name : outcomes.keySet()) {
            output.printf(
                    row,
                    name,
                    median(spread(name, "p50Micros"), "%,.3f", 1e-3),
                    range(spread(name, "p95Micros")),
                    range(spread(name, "p99Micros")),
                    median(spread(name, "meanMicros"), "%,.3f", 1e-3),
                    median(spread(name, "delayedFraction"), "%.1f", 100),
                    median(spread(name, "idealP95Micros"), "%,.2f", 1e-3),
                    median(spread(name, "idealP99Micros"), "%,.2f", 1e-3),
                    toSingle(name, Delay.access.p95),
                    toSingle(name, Delay.access.p99));
        }
        String total = "%-22s %9s %26s %26s %26s %26s%n";
        output.printf("%n" + total, "SENDING TO RECEIPT", "P50 MS", "P95 MS", "P99 MS", "P95 / SINGLE", "P99 / SINGLE");
        for (String name : outcomes.keySet()) {
            output.printf(
                    total,
                    name,
                    median(spread(name, Delay.total.p50), "%,.3f", 1e-3),
                    range(spread(name, Delay.total.p95)),
                    range(spread(name, Delay.total.p99)),
                    toSingle(name, Delay.total.p95),
                    toSingle(name, Delay.total.p99));
        }
        String costs = "%-22s %9s %9s %11s   %s%n";
        output.printf("%n" + costs, "COST", "TRANSFERS", "CPU US", "FRAMES/MSG", "PARTS AT THE END OF THE LAST ROUND");
        for (String name : outcomes.keySet()) {
            output.printf(
                    costs,
                    name,
                    median(spread(name, "transfers"), "%.0f", 1),
                    median(spread(name, "brokerCpuMicrosPerMessage"), "%.1f", 1),
                    median(spread(name, "controlFramesPerMessage"), "%.3f", 1),
                    parts(last(outcomes.get(name))));
        }
    }

    private static PenaltyRound.Outcome last(List<PenaltyRound.Outcome> rounds) {
        return rounds.get(rounds.size() - 1);
    }

    private static String parts(PenaltyRound.Outcome outcome) {
        return outcome.shares().stream()
                .map(share ->
                        String.format(Locale.ROOT, "%s %,.0f (%.1f)", share.broker(), share.rate(), share.burst()))
                .collect(Collectors.joining(", "));
    }

    private static String median(Comparison.Spread spread, String format, double unit) {
        return spread == null ? "-" : String.format(Locale.ROOT, format, spread.median() * unit);
    }

    private static String range(Comparison.Spread spread) {
        return String.format(
                Locale.ROOT, "%,.2f (%,.2f to %,.2f)", spread.median() / 1e3, spread.min() / 1e3, spread.max() / 1e3);
    }

    private String toSingle(String configuration, String figure) {
        return configuration.equals(SINGLE) ? "" : text(ratio(configuration, SINGLE, figure));
    }

    private static String text(MedianInterval ratio) {
        return ratio == null
                ? "-"
                : "x " + times(ratio.median()) + " (" + times(ratio.low()) + " to " + times(ratio.high()) + ")";
    }

    private static String times(double ratio) {
        return String.format(Locale.ROOT, ratio < 100 ? "%.2f" : "%,.0f", ratio);
    }

    List<Map<String, Object>> toJson() {
        List<Map<String, Object>> all = new ArrayList<>();
        for (String name : outcomes.keySet()) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("name", name);
            FIGURES.keySet().forEach(figure -> one.put(figure, spread(name, figure)));
            for (Delay delay : Delay.values()) {
                for (String figure : List.of(delay.p95, delay.p99)) {
                    String what = figure.replace("Micros", "");
                    one.put(what + "ToSingle", ratio(name, SINGLE, figure));
                    one.put(what + "ToStatic", ratio(name, STATIC, figure));
                }
            }
            one.put("rounds", outcomes.get(name));
            all.add(one);
        }
        return all;
    }

    /** Messages of all rounds that did not get through. */
    long lost() {
        return outcomes.values().stream()
                .flatMap(List::stream)
                .mapToLong(PenaltyRound.Outcome::lost)
                .sum();
    }
}
