package io.weir.cluster.bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * Several rounds on several targets, turn by turn: the first is the subject, the others are what it is measured
 * against.
 */
public final class Comparison {
    /** The figures that are worth a median, by their names in {@code -o json}. */
    static final Map<String, Function<Result, Double>> FIGURES = figures();

    private final Map<String, List<Result>> rounds = new LinkedHashMap<>();

    /** A figure of one target over all rounds. */
    public record Spread(double median, double min, double max) {
        public static Spread of(List<Double> values) {
            double[] sorted =
                    values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
            int middle = sorted.length / 2;
            double median = sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
            return new Spread(median, sorted[0], sorted[sorted.length - 1]);
        }
    }

    private static Map<String, Function<Result, Double>> figures() {
        Map<String, Function<Result, Double>> figures = new LinkedHashMap<>();
        figures.put("p50Micros", Result::p50Micros);
        figures.put("p95Micros", Result::p95Micros);
        figures.put("p99Micros", Result::p99Micros);
        figures.put("p999Micros", Result::p999Micros);
        figures.put("maxMicros", Result::maxMicros);
        figures.put("messagesPerSecond", Result::messagesPerSecond);
        figures.put("brokerCpuPercent", Result::brokerCpuPercent);
        figures.put("brokerCpuNanosPerMessage", Result::brokerCpuNanosPerMessage);
        figures.put("allocatedBytesPerMessage", Result::allocatedBytesPerMessage);
        figures.put(
                "brokerMemoryMaxMiB",
                result -> result.brokerMemoryMiB() == null
                        ? null
                        : (Double) result.brokerMemoryMiB().max());
        return figures;
    }

    public void add(String target, Result result) {
        rounds.computeIfAbsent(target, name -> new ArrayList<>()).add(result);
    }

    public List<String> targets() {
        return List.copyOf(rounds.keySet());
    }

    List<Result> results(String target) {
        return rounds.get(target);
    }

    /** Null where the target did not tell in every round. */
    public Spread spread(String target, String figure) {
        List<Double> values = new ArrayList<>();
        for (Result result : rounds.get(target)) {
            values.add(FIGURES.get(figure).apply(result));
        }
        return values.stream().anyMatch(Objects::isNull) ? null : Spread.of(values);
    }

    /** The subject's median over the other's; null where one of them is not known or zero. */
    public Double ratio(String other, String figure) {
        Spread subject = spread(targets().get(0), figure);
        Spread against = spread(other, figure);
        return subject == null || against == null || against.median() == 0
                ? null
                : (Double) (Math.round(1_000 * subject.median() / against.median()) / 1_000.0);
    }

    /**
     * The subject's medians at the top, under the names that a single run has; then everyone's spread, ratios and
     * rounds.
     */
    Map<String, Object> toJson() {
        String subject = targets().get(0);
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("sent", sum(subject, Result::sent));
        json.put("received", sum(subject, Result::received));
        for (String figure : FIGURES.keySet()) {
            Spread spread = spread(subject, figure);
            json.put(figure, spread == null ? null : spread.median());
        }
        json.put("subject", subject);
        json.put("rounds", rounds.get(subject).size());
        List<Map<String, Object>> all = new ArrayList<>();
        for (String target : targets()) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("name", target);
            FIGURES.keySet().forEach(figure -> one.put(figure, spread(target, figure)));
            if (!target.equals(subject)) {
                Map<String, Object> ratios = new LinkedHashMap<>();
                FIGURES.keySet().forEach(figure -> ratios.put(figure, ratio(target, figure)));
                one.put("subjectToThis", ratios);
            }
            one.put("results", rounds.get(target));
            all.add(one);
        }
        json.put("targets", all);
        return json;
    }

    private long sum(String target, Function<Result, Long> of) {
        return rounds.get(target).stream().mapToLong(of::apply).sum();
    }

    /** A table for people. */
    List<String> toText() {
        String row = "%-12s %26s %26s %26s %30s %8s %8s %8s %8s";
        List<String> lines = new ArrayList<>();
        lines.add(
                String.format(row, "median", "p50 us", "p95 us", "p99 us", "msg/s", "CPU %", "ns/msg", "B/msg", "MiB"));
        for (String target : targets()) {
            lines.add(String.format(
                    row,
                    target,
                    text(spread(target, "p50Micros")),
                    text(spread(target, "p95Micros")),
                    text(spread(target, "p99Micros")),
                    text(spread(target, "messagesPerSecond")),
                    medianText(spread(target, "brokerCpuPercent")),
                    medianText(spread(target, "brokerCpuNanosPerMessage")),
                    medianText(spread(target, "allocatedBytesPerMessage")),
                    medianText(spread(target, "brokerMemoryMaxMiB"))));
        }
        for (String target : targets().subList(1, rounds.size())) {
            lines.add(String.format(
                    row,
                    "/ " + target,
                    ratioText(target, "p50Micros"),
                    ratioText(target, "p95Micros"),
                    ratioText(target, "p99Micros"),
                    ratioText(target, "messagesPerSecond"),
                    ratioText(target, "brokerCpuPercent"),
                    ratioText(target, "brokerCpuNanosPerMessage"),
                    ratioText(target, "allocatedBytesPerMessage"),
                    ratioText(target, "brokerMemoryMaxMiB")));
        }
        return lines;
    }

    private static String text(Spread spread) {
        return spread == null
                ? "-"
                : String.format("%,.0f (%,.0f to %,.0f)", spread.median(), spread.min(), spread.max());
    }

    private static String medianText(Spread spread) {
        return spread == null ? "-" : String.format("%.1f", spread.median());
    }

    private String ratioText(String target, String figure) {
        Double ratio = ratio(target, figure);
        return ratio == null ? "-" : String.format("x %.2f", ratio);
    }
}
