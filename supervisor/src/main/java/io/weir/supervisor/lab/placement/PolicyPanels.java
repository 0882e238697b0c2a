package io.weir.supervisor.lab.placement;

import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.placement.PlacementTrial.Outcome;
import io.weir.supervisor.lab.placement.PlacementTrial.Setup;
import io.weir.supervisor.lab.placement.PublisherTraffic.Kind;
import io.weir.supervisor.lab.placement.PublisherTraffic.Timing;
import io.weir.supervisor.placement.algorithm.Policy;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntToDoubleFunction;
import java.util.stream.Stream;

/**
 * Policies beside each other over the number of publishers, in the four panels of SRTM's figures 7 and 8: Poisson and
 * periodic publishers, single messages and batches of ten.
 */
final class PolicyPanels {
    static final List<Integer> BATCHES = List.of(1, 10);

    private record Key(Timing timing, int batch, int publishers, Policy policy) {}

    private final List<Integer> publishers;
    private final List<Policy> policies;
    private final Map<Key, Outcome> outcomes;

    private PolicyPanels(List<Integer> publishers, List<Policy> policies, Map<Key, Outcome> outcomes) {
        this.publishers = publishers;
        this.policies = policies;
        this.outcomes = outcomes;
    }

    static PolicyPanels run(
            List<Integer> publishers, List<Policy> policies, BiFunction<Kind, Policy, Setup> setup, LabRun run) {
        Map<Key, Setup> setups = new LinkedHashMap<>();
        for (Timing timing : Timing.values()) {
            for (int batch : BATCHES) {
                for (int count : publishers) {
                    Kind kind = new Kind(timing, count, PlacementTrial.PUBLISHER_RATE, batch, 1, 0);
                    policies.forEach(
                            policy -> setups.put(new Key(timing, batch, count, policy), setup.apply(kind, policy)));
                }
            }
        }
        return new PolicyPanels(publishers, policies, PlacementTrial.run(setups, run));
    }

    Outcome of(Timing timing, int batch, int count, Policy policy) {
        return outcomes.get(new Key(timing, batch, count, policy));
    }

    double p99Ms(Timing timing, int batch, int count, Policy policy) {
        return of(timing, batch, count, policy).p99Ms.mean();
    }

    /**
     * A table for each panel.
     *
     * @param columns beside the number of publishers
     * @param cells a policy's in one row
     */
    List<Table> tables(List<String> columns, BiFunction<Policy, Outcome, List<Object>> cells) {
        return perPanel((timing, batch) -> {
            List<List<Object>> rows = new ArrayList<>();
            for (int count : publishers) {
                List<Object> row = new ArrayList<>(List.of(count));
                policies.forEach(policy -> row.addAll(cells.apply(policy, of(timing, batch, count, policy))));
                rows.add(row);
            }
            return new Table(
                    "99th percentile latency in ms of the worst broker; " + panel(timing, batch),
                    Stream.concat(Stream.of("publishers"), columns.stream()).toList(),
                    rows);
        });
    }

    /** A chart for each panel; {@code title} is asked with the panel's name. */
    List<LineChart> charts(String file, Function<String, String> title) {
        return perPanel((timing, batch) -> {
            Map<String, IntToDoubleFunction> lines = new LinkedHashMap<>();
            policies.forEach(policy -> lines.put(policy.label(), count -> p99Ms(timing, batch, count, policy)));
            return LatencyChart.of(
                    file + "-" + timing.label.toLowerCase(Locale.ROOT) + "-" + batch,
                    title.apply(panel(timing, batch)),
                    "publishers",
                    publishers,
                    lines);
        });
    }

    private static <T> List<T> perPanel(BiFunction<Timing, Integer, T> panel) {
        return Stream.of(Timing.values())
                .flatMap(timing -> BATCHES.stream().map(batch -> panel.apply(timing, batch)))
                .toList();
    }

    private static String panel(Timing timing, int batch) {
        return timing.label + " publishers, batches of " + batch;
    }
}
