package io.weir.supervisor.lab.placement;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;

import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.placement.PlacementTrial.Outcome;
import io.weir.supervisor.lab.placement.PlacementTrial.Setup;
import io.weir.supervisor.lab.placement.PlacementTrial.Start;
import io.weir.supervisor.lab.placement.PublisherTraffic.Kind;
import io.weir.supervisor.lab.placement.PublisherTraffic.Timing;
import io.weir.supervisor.placement.algorithm.Policy;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

/**
 * Groups that are only nearly right (SRTM, 6.4.2 and Fig. 11): groups of 25 whose publishers send evenly spread over an
 * interval of up to 16 ms instead of at once.
 */
public final class PlacementNoise implements Experiment {
    private static final List<Integer> SPREADS_MS = List.of(0, 2, 4, 8, 16);
    private static final int GROUP_SIZE = 25;
    private static final int SMALL_MS = 4;
    private static final double SECONDS = 60;

    private record Key(Timing timing, int spreadMs, Policy policy) {}

    @Override
    public String name() {
        return "placement-noise";
    }

    @Override
    public String summary() {
        return "groups whose publishers send not quite at the same time";
    }

    @Override
    public String source() {
        return "SRTM, Fig. 11";
    }

    @Override
    public int defaultSeeds() {
        return 3;
    }

    @Override
    public LabReport run(LabRun run) {
        Map<Key, Setup> setups = new LinkedHashMap<>();
        for (Timing timing : Timing.values()) {
            for (int spreadMs : SPREADS_MS) {
                for (Policy policy : List.of(Policy.SRTM, Policy.MAX_MIN)) {
                    Kind kind = new Kind(
                            timing, 1_000, PlacementTrial.PUBLISHER_RATE, 10, GROUP_SIZE, spreadMs * 1_000_000L);
                    setups.put(
                            new Key(timing, spreadMs, policy),
                            Setup.of(kind, policy, SECONDS).fitting(PlacementTrial.LONG, Start.TRACE));
                }
            }
        }
        Map<Key, Outcome> outcomes = PlacementTrial.run(setups, run);
        List<Table> tables = new ArrayList<>();
        List<LineChart> charts = new ArrayList<>();
        for (Timing timing : Timing.values()) {
            tables.add(table(timing, outcomes));
            charts.add(chart(timing, outcomes));
        }
        return new LabReport(tables, charts, findings(outcomes));
    }

    private static Table table(Timing timing, Map<Key, Outcome> outcomes) {
        List<List<Object>> rows = new ArrayList<>();
        for (int spreadMs : SPREADS_MS) {
            Outcome srtm = outcomes.get(new Key(timing, spreadMs, Policy.SRTM));
            Outcome maxMin = outcomes.get(new Key(timing, spreadMs, Policy.MAX_MIN));
            rows.add(List.of(
                    spreadMs,
                    estimate(srtm.p99Ms),
                    srtm.pooledP99Ms(),
                    srtm.brokers.mean(),
                    estimate(maxMin.p99Ms),
                    maxMin.pooledP99Ms(),
                    maxMin.brokers.mean()));
        }
        return new Table(
                "99th percentile latency in ms of the worst broker, mean of the seeds and over all of their messages; "
                        + timing.label + " publishers in groups of 25",
                List.of(
                        "interval in ms",
                        "srtm",
                        "srtm: all seeds",
                        "srtm: brokers",
                        "max-min",
                        "max-min: all seeds",
                        "max-min: brokers"),
                rows);
    }

    private static LineChart chart(Timing timing, Map<Key, Outcome> outcomes) {
        Map<String, IntToDoubleFunction> lines = new LinkedHashMap<>();
        for (Policy policy : List.of(Policy.SRTM, Policy.MAX_MIN)) {
            lines.put(policy.label(), ms -> outcomes.get(new Key(timing, ms, policy))
                    .pooledP99Ms());
        }
        return LatencyChart.of(
                "placement-noise-" + timing.label.toLowerCase(Locale.ROOT),
                "Imprecise correlation: " + timing.label + " publishers (SRTM Fig. 11)",
                "interval (ms)",
                SPREADS_MS,
                lines);
    }

    private static List<Finding> findings(Map<Key, Outcome> outcomes) {
        boolean helps = true;
        boolean fewer = true;
        boolean maxMinFewer = true;
        boolean quicker = true;
        StringBuilder latencies = new StringBuilder();
        StringBuilder brokers = new StringBuilder();
        int last = SPREADS_MS.get(SPREADS_MS.size() - 1);
        for (Timing timing : Timing.values()) {
            for (int ms : SPREADS_MS) {
                Outcome srtm = outcomes.get(new Key(timing, ms, Policy.SRTM));
                Outcome maxMin = outcomes.get(new Key(timing, ms, Policy.MAX_MIN));
                boolean split = srtm.brokers.mean() > 1.5;
                helps &= ms > SMALL_MS || !split || srtm.pooledP99Ms() < maxMin.pooledP99Ms();
                latencies.append(text(
                        "%s%s %d: %.2f, %.2f",
                        latencies.isEmpty() ? "" : "; ", timing.label, ms, srtm.pooledP99Ms(), maxMin.pooledP99Ms()));
                brokers.append(text(
                        "%s%s %d: %.1f, %.1f",
                        brokers.isEmpty() ? "" : "; ", timing.label, ms, srtm.brokers.mean(), maxMin.brokers.mean()));
            }
            fewer &= brokers(outcomes, timing, last, Policy.SRTM) < brokers(outcomes, timing, 0, Policy.SRTM);
            maxMinFewer &=
                    brokers(outcomes, timing, last, Policy.MAX_MIN) < brokers(outcomes, timing, 0, Policy.MAX_MIN);
            quicker &= outcomes.get(new Key(timing, last, Policy.MAX_MIN)).pooledP99Ms()
                    < outcomes.get(new Key(timing, 0, Policy.MAX_MIN)).pooledP99Ms();
        }
        return List.of(
                new Finding(
                        "6.4.2: while the noise is small, knowing the groups still helps",
                        "srtm below max-min up to " + SMALL_MS + " ms, wherever the topic is split",
                        latencies + " ms (srtm, max-min)",
                        helps),
                new Finding(
                        "6.4.2: the number of brokers decreases with the interval, for both",
                        "fewer at 16 ms than at 0 ms",
                        brokers + " (srtm, max-min)",
                        fewer && maxMinFewer),
                new Finding(
                        "6.4.2: so does the tail latency",
                        "max-min's lower at 16 ms than at 0 ms (srtm's is at the objective all along)",
                        "see above",
                        quicker));
    }

    private static double brokers(Map<Key, Outcome> outcomes, Timing timing, int spreadMs, Policy policy) {
        return outcomes.get(new Key(timing, spreadMs, policy)).brokers.mean();
    }
}
