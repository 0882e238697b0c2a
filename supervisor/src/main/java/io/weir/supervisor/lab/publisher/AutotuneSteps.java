package io.weir.supervisor.lab.publisher;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.publisher.PublisherTrials.DRAIN_NS;
import static io.weir.supervisor.lab.publisher.PublisherTrials.SECOND;
import static io.weir.supervisor.lab.publisher.PublisherTrials.estimate;
import static io.weir.supervisor.lab.publisher.PublisherTrials.mean;
import static io.weir.supervisor.lab.publisher.PublisherTrials.overSeeds;

import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.publisher.PublisherTrials.Policy;
import io.weir.supervisor.lab.publisher.simulation.Arrivals;
import io.weir.supervisor.lab.publisher.simulation.PublisherModel;
import io.weir.supervisor.lab.publisher.simulation.PublisherRun;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** How N moves: under a constant load, and under the steps of Table II. */
public final class AutotuneSteps implements Experiment {
    /** Table II, whose times are in milliseconds. */
    private static final long[] UNTIL_NS = {100 * SECOND, 300 * SECOND, 500 * SECOND, 750 * SECOND, 1_000 * SECOND};

    private static final double[] RATES = {1.75, 55, 17.5, 35, 17.5};
    private static final long END_NS = UNTIL_NS[UNTIL_NS.length - 1] + DRAIN_NS;

    private static final double CONSTANT = 35;
    private static final long CONSTANT_END_NS = 300 * SECOND;
    private static final long WARM_UP_NS = 20 * SECOND;

    private static final List<Policy> POLICIES = List.of(
            Policy.tuned(1),
            Policy.tunedAtOnce(1),
            Policy.fixed(1),
            Policy.fixed(6),
            Policy.fixed(10),
            Policy.fixed(15),
            Policy.fixed(20),
            Policy.fixed(50));

    @Override
    public String name() {
        return "autotune-steps";
    }

    @Override
    public String summary() {
        return "how the batch size follows a constant load and one that steps";
    }

    @Override
    public String source() {
        return "Auto-tuned publisher, Fig. 10 and 11, Table II";
    }

    @Override
    public int defaultSeeds() {
        return 8;
    }

    @Override
    public LabReport run(LabRun run) {
        run.progress().at(0, POLICIES.size() + 1, "35 requests/s");
        Sample constant = overSeeds(run, seed -> constantLoad(seed).meanBatch(WARM_UP_NS, CONSTANT_END_NS));
        List<Sample> batches = samples(RATES.length);
        List<Sample> settling = samples(RATES.length);
        Sample correlation = new Sample();
        List<List<Sample>> latencies = new ArrayList<>();
        for (Policy policy : POLICIES) {
            run.progress().at(latencies.size() + 1, POLICIES.size() + 1, "Table II, " + policy.name());
            List<Sample> bySegment = samples(RATES.length + 1);
            run.seedStream().forEach(seed -> {
                PublisherRun trial = steps(policy, seed);
                addLatencies(trial, bySegment);
                if (policy == POLICIES.get(0)) {
                    BatchCourse course = new BatchCourse(trial, UNTIL_NS[RATES.length - 1]);
                    for (int i = 0; i < RATES.length; i++) {
                        batches.get(i).add(settledBatch(trial, i));
                        settling.get(i).add(i == 0 ? 0 : settlingSeconds(trial, course, i));
                    }
                    correlation.add(course.correlation(AutotuneSteps::loadAt));
                }
            });
            latencies.add(bySegment);
        }
        List<Table> tables = List.of(followed(batches, settling), latencyTable(latencies));
        List<LineChart> charts = List.of(
                constantChart(constantLoad(run.firstSeed()), constant.mean()),
                stepsChart(new BatchCourse(steps(POLICIES.get(0), run.firstSeed()), UNTIL_NS[RATES.length - 1])));
        return new LabReport(
                tables, charts, findings(constant, bestFixed(run), batches, settling, correlation, latencies));
    }

    private static PublisherRun constantLoad(long seed) {
        long[] arrivalsNs = Arrivals.poisson(CONSTANT, CONSTANT_END_NS, new SplittableRandom(seed));
        return Policy.tuned(1).run(PublisherModel.paper(), arrivalsNs, CONSTANT_END_NS, seed);
    }

    private static PublisherRun steps(Policy policy, long seed) {
        long[] arrivalsNs = Arrivals.steps(UNTIL_NS, RATES, new SplittableRandom(seed));
        return policy.run(PublisherModel.paper(), arrivalsNs, END_NS, seed);
    }

    private static void addLatencies(PublisherRun trial, List<Sample> bySegment) {
        for (int i = 0; i < RATES.length; i++) {
            bySegment.get(i).add(mean(trial.latenciesMs(startNs(i), UNTIL_NS[i], END_NS)));
        }
        bySegment.get(RATES.length).add(mean(trial.latenciesMs(0, END_NS, END_NS)));
    }

    private static long startNs(int segment) {
        return segment == 0 ? 0 : UNTIL_NS[segment - 1];
    }

    private static double loadAt(long nowNs) {
        int segment = 0;
        while (nowNs >= UNTIL_NS[segment]) {
            segment++;
        }
        return RATES[segment];
    }

    private static double settledBatch(PublisherRun trial, int segment) {
        return trial.meanBatch((startNs(segment) + UNTIL_NS[segment]) / 2, UNTIL_NS[segment]);
    }

    /** From a step until N has gone 80% of the way from its old to its new mean. */
    private static double settlingSeconds(PublisherRun trial, BatchCourse course, int segment) {
        double from = settledBatch(trial, segment - 1);
        double to = settledBatch(trial, segment);
        return (course.reachedNs(startNs(segment), from, to, 0.8, UNTIL_NS[segment]) - startNs(segment)) / 1e9;
    }

    private static List<Sample> samples(int count) {
        return IntStream.range(0, count).mapToObj(i -> new Sample()).toList();
    }

    private static Table followed(List<Sample> batches, List<Sample> settling) {
        List<List<Object>> rows = new ArrayList<>();
        for (int i = 0; i < RATES.length; i++) {
            rows.add(List.of(
                    startNs(i) / SECOND,
                    UNTIL_NS[i] / SECOND,
                    RATES[i],
                    estimate(batches.get(i)),
                    i == 0 ? "" : estimate(settling.get(i))));
        }
        return new Table(
                "Fig. 11: N under the load of Table II",
                List.of("from (s)", "to (s)", "requests/s", "mean N, second half", "settled after (s)"),
                rows);
    }

    private static Table latencyTable(List<List<Sample>> latencies) {
        List<String> columns = new ArrayList<>(List.of("policy"));
        for (double rate : RATES) {
            columns.add(rate + " req/s");
        }
        columns.add("all requests");
        List<List<Object>> rows = new ArrayList<>();
        for (int p = 0; p < POLICIES.size(); p++) {
            List<Object> row = new ArrayList<>(List.of(POLICIES.get(p).name()));
            latencies.get(p).forEach(sample -> row.add(estimate(sample)));
            rows.add(row);
        }
        return new Table("Mean latency (ms) under the load of Table II, by the time of arrival", columns, rows);
    }

    private static LineChart constantChart(PublisherRun trial, double mean) {
        long[] pollsNs = trial.pollsNs();
        int[] batches = trial.batches();
        int shown = (int) IntStream.range(0, pollsNs.length)
                .takeWhile(i -> pollsNs[i] < 100 * SECOND)
                .count();
        double[] xs =
                IntStream.range(0, shown).mapToDouble(i -> pollsNs[i] / 1e6).toArray();
        double[] ys = IntStream.range(0, shown).mapToDouble(i -> batches[i]).toArray();
        double[] ends = {0, 100_000};
        return new LineChart(
                "autotune-steps-fig10",
                "Fig. 10: N at 35 requests/s",
                new Axis("time (ms)", false),
                new Axis("N", false),
                List.of(
                        new Series("N", xs, ys, false),
                        new Series("mean N", ends, new double[] {mean, mean}, false),
                        new Series("paper's mean N, slightly less than 10", ends, new double[] {10, 10}, true)));
    }

    private static LineChart stepsChart(BatchCourse course) {
        double[] xs = new double[RATES.length * 2];
        double[] ys = new double[RATES.length * 2];
        for (int i = 0; i < RATES.length; i++) {
            xs[2 * i] = startNs(i) / 1e6;
            xs[2 * i + 1] = UNTIL_NS[i] / 1e6;
            ys[2 * i] = RATES[i];
            ys[2 * i + 1] = RATES[i];
        }
        return new LineChart(
                "autotune-steps-fig11",
                "Fig. 11: N under the load of Table II",
                new Axis("time (ms)", false),
                new Axis("N, and load in requests/s", false),
                List.of(
                        new Series("N, averaged over 5 samples", course.timesMs(), course.batches(), false),
                        new Series("load of Table II", xs, ys, true)));
    }

    /** The fixed N with the lowest latency under the constant load. */
    private static int bestFixed(LabRun run) {
        int best = 0;
        double lowest = Double.POSITIVE_INFINITY;
        for (int batch : new int[] {4, 5, 6, 7, 8, 9, 10, 11, 12, 15}) {
            Policy policy = Policy.fixed(batch);
            double latency = overSeeds(run, seed -> AutotuneLoad.meanLatencyMs(policy, CONSTANT, seed))
                    .mean();
            if (latency < lowest) {
                best = batch;
                lowest = latency;
            }
        }
        return best;
    }

    private static List<Finding> findings(
            Sample constant,
            int bestFixed,
            List<Sample> batches,
            List<Sample> settling,
            Sample correlation,
            List<List<Sample>> latencies) {
        List<Finding> findings = new ArrayList<>();
        findings.add(new Finding(
                "The paper has an average N slightly below the best fixed one (10) at 35 requests/s; ours: well below it",
                "between half of the best fixed N and all of it, since each poll that finds too few halves N at once",
                text("%.2f, the best fixed N being %d", constant.mean(), bestFixed),
                constant.mean() > bestFixed / 2.0 && constant.mean() < bestFixed));

        double[] mean = batches.stream().mapToDouble(Sample::mean).toArray();
        findings.add(new Finding(
                "N follows the steps of the load",
                "larger for a larger load, and the same again when a load comes back",
                text(
                        "%.1f at 1.75, %.1f and %.1f at 17.5, %.1f at 35, %.1f at 55 requests/s",
                        mean[0], mean[2], mean[4], mean[3], mean[1]),
                mean[0] < mean[2]
                        && mean[2] < mean[3]
                        && mean[3] < mean[1]
                        && Math.abs(mean[2] - mean[4]) < 0.1 * mean[2]));

        double slowest = settling.stream().mapToDouble(Sample::mean).max().orElseThrow();
        findings.add(new Finding(
                "N adapts quickly",
                "quickly (here: 80% of the way within 5 s, of the 200 s or more until the next step)",
                text("%.1f s for the slowest step", slowest),
                slowest < 5));

        findings.add(new Finding(
                "N correlates well with the load",
                "well (here: r > 0.8 between N, averaged over 5 samples, and the load)",
                text("r = %.2f", correlation.mean()),
                correlation.mean() > 0.8));

        double tuned = overall(latencies, 0);
        double atOnce = overall(latencies, 1);
        double small = overall(latencies, 2);
        double lowestFixed = IntStream.range(2, POLICIES.size())
                .mapToDouble(p -> overall(latencies, p))
                .min()
                .orElseThrow();
        findings.add(new Finding(
                "The paper has latency significantly lower with tuning; ours: than with N = 1 by far, than with the N that is "
                        + "best for the whole profile only when a batch goes at once",
                "a tenth of N = 1's at the most; at once: below the best fixed N's",
                text(
                        "%.0f ms tuned, %.0f ms tuned at once; %.0f ms for N = 1, %.0f ms for the best fixed N",
                        tuned, atOnce, small, lowestFixed),
                tuned < small / 10 && atOnce < lowestFixed));
        return findings;
    }

    private static double overall(List<List<Sample>> latencies, int policy) {
        return latencies.get(policy).get(RATES.length).mean();
    }
}
