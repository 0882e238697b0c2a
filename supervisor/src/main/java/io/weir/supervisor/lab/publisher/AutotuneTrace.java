package io.weir.supervisor.lab.publisher;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.publisher.PublisherTrials.DRAIN_NS;
import static io.weir.supervisor.lab.publisher.PublisherTrials.SECOND;
import static io.weir.supervisor.lab.publisher.PublisherTrials.estimate;

import io.weir.limiter.simulation.Sample;
import io.weir.limiter.simulation.TraceCsv;
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
import io.weir.supervisor.lab.publisher.simulation.LookupServiceTrace;
import io.weir.supervisor.lab.publisher.simulation.PublisherModel;
import io.weir.supervisor.lab.publisher.simulation.PublisherRun;
import io.weir.transport.algorithm.BatchTuner.Bounds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * A lookup service's write requests, as they are and 50 times as fast. The paper's trace is not public, so one of its
 * described shape is generated for each seed; {@code --set trace=FILE} takes a real one instead.
 */
public final class AutotuneTrace implements Experiment {
    private static final double FASTER = 50;
    /** Longer traces are cut: a poll every 50 ms makes a day a matter of minutes. */
    private static final long LONGEST_NS = 3 * 3_600 * SECOND;

    private static final int LEAST_REQUESTS = 200;
    private static final int RATE_OVER = 100;

    private static final double[] QUANTILES = {0.05, 0.25, 0.5, 0.75, 0.95};

    private static final List<Policy> POLICIES = List.of(
            Policy.fixed(1),
            Policy.fixed(10),
            Policy.fixed(50),
            Policy.fixedWithoutT(10),
            Policy.fixedWithoutT(50),
            Policy.tuned(1),
            Policy.tuned(10),
            Policy.tuned(50),
            Policy.tunedAtOnce(1),
            new Policy("deployed: T_poll = T = 1 s", Bounds.fixed(50, SECOND, SECOND), 50));

    private static final int FIXED = 0;
    private static final int WITHOUT_T = 3;
    private static final int TUNED = 5;
    private static final int DEPLOYED = 9;

    /** Response times of a policy: their mean, and the quantiles of a box plot; a value a seed. */
    private record Box(Sample mean, List<Sample> quantiles) {
        Box() {
            this(
                    new Sample(),
                    Arrays.stream(QUANTILES).mapToObj(q -> new Sample()).toList());
        }

        void add(double[] latenciesMs) {
            Sample latencies = new Sample();
            Arrays.stream(latenciesMs).forEach(latencies::add);
            mean.add(latencies.mean());
            for (int i = 0; i < QUANTILES.length; i++) {
                quantiles.get(i).add(latencies.quantile(QUANTILES[i]));
            }
        }
    }

    @Override
    public String name() {
        return "autotune-trace";
    }

    @Override
    public String summary() {
        return "response times on a lookup service's trace, as it is and 50 times as fast (--set trace=FILE)";
    }

    @Override
    public String source() {
        return "Auto-tuned publisher, Fig. 12 to 14";
    }

    @Override
    public int defaultSeeds() {
        return 5;
    }

    @Override
    public LabReport run(LabRun run) {
        long[] given = run.file("trace").map(AutotuneTrace::read).orElse(null);
        List<long[]> traces = run.seedStream()
                .mapToObj(seed ->
                        given != null ? given : LookupServiceTrace.generate(LONGEST_NS, new SplittableRandom(seed)))
                .toList();
        List<long[]> faster =
                traces.stream().map(trace -> Arrivals.faster(trace, FASTER)).toList();
        List<Box> real = measure(run, traces, 0);
        List<Box> scaled = measure(run, faster, POLICIES.size());

        Sample correlation = new Sample();
        for (int i = 0; i < faster.size(); i++) {
            correlation.add(course(faster.get(i), run.firstSeed() + i).correlation(new Rate(faster.get(i))::at));
        }
        String origin = given == null ? "generated trace" : "given trace";
        List<Table> tables = List.of(
                table("Fig. 12: response times (ms), " + origin + described(traces), real),
                table("Fig. 13: response times (ms), 50 times as fast" + described(faster), scaled));
        List<LineChart> charts = List.of(
                boxChart("autotune-trace-fig12", "Fig. 12: response times", real),
                boxChart("autotune-trace-fig13", "Fig. 13: response times, 50 times the load", scaled),
                courseChart(faster.get(0), course(faster.get(0), run.firstSeed())));
        return new LabReport(tables, charts, findings(real, scaled, correlation));
    }

    private static long[] read(Path file) {
        try {
            long[] timesNs = TraceCsv.read(file);
            long[] arrivalsNs = Arrays.stream(timesNs)
                    .map(ns -> ns - timesNs[0])
                    .takeWhile(ns -> ns < LONGEST_NS)
                    .toArray();
            if (arrivalsNs.length < LEAST_REQUESTS || arrivalsNs[arrivalsNs.length - 1] < SECOND) {
                throw new IllegalArgumentException(file.getFileName() + " holds " + arrivalsNs.length
                        + " requests in its first three hours: at least " + LEAST_REQUESTS
                        + " over more than a second are needed");
            }
            return arrivalsNs;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Box> measure(LabRun run, List<long[]> traces, int done) {
        List<Box> boxes = new ArrayList<>();
        for (Policy policy : POLICIES) {
            run.progress().at(done + boxes.size(), 2 * POLICIES.size(), policy.name());
            Box box = new Box();
            for (int i = 0; i < traces.size(); i++) {
                long[] arrivalsNs = traces.get(i);
                long endNs = arrivalsNs[arrivalsNs.length - 1] + DRAIN_NS;
                PublisherRun trial = policy.run(PublisherModel.paper(), arrivalsNs, endNs, run.firstSeed() + i);
                box.add(trial.latenciesMs(0, endNs, endNs));
            }
            boxes.add(box);
        }
        return boxes;
    }

    private static BatchCourse course(long[] arrivalsNs, long seed) {
        long endNs = arrivalsNs[arrivalsNs.length - 1];
        return new BatchCourse(Policy.tuned(1).run(PublisherModel.paper(), arrivalsNs, endNs, seed), endNs);
    }

    private static String described(List<long[]> traces) {
        long[] first = traces.get(0);
        double seconds = first[first.length - 1] / 1e9;
        return text(" (the first seed: %d requests, %.2f/s)", first.length, first.length / seconds);
    }

    private static Table table(String title, List<Box> boxes) {
        List<List<Object>> rows = new ArrayList<>();
        for (int i = 0; i < boxes.size(); i++) {
            List<Object> row = new ArrayList<>(List.of(POLICIES.get(i).name(), estimate(boxes.get(i).mean)));
            boxes.get(i).quantiles.forEach(quantile -> row.add(estimate(quantile)));
            rows.add(row);
        }
        return new Table(title, List.of("policy", "mean", "5%", "25%", "median", "75%", "95%"), rows);
    }

    private static LineChart boxChart(String file, String title, List<Box> boxes) {
        double[] batches = {1, 10, 50};
        List<Series> series = new ArrayList<>();
        for (int q = 1; q < QUANTILES.length - 1; q++) {
            String quartile = new String[] {"", "lower quartile", "median", "upper quartile"}[q];
            series.add(new Series("tuning off, " + quartile, batches, quantile(boxes, FIXED, q), false));
            series.add(new Series("tuning on, " + quartile, batches, quantile(boxes, TUNED, q), false));
        }
        return new LineChart(
                file,
                title,
                new Axis("N (tuning on: at the start)", true),
                new Axis("response time (ms)", true),
                series);
    }

    private static double[] quantile(List<Box> boxes, int first, int q) {
        return IntStream.range(first, first + 3)
                .mapToDouble(i -> boxes.get(i).quantiles.get(q).mean())
                .toArray();
    }

    private static LineChart courseChart(long[] arrivalsNs, BatchCourse course) {
        Rate rate = new Rate(arrivalsNs);
        double[] xs = course.timesMs();
        double[] ys = Arrays.stream(xs).map(ms -> rate.at((long) (ms * 1e6))).toArray();
        return new LineChart(
                "autotune-trace-fig14",
                "Fig. 14: N on the trace, 50 times as fast",
                new Axis("time (ms)", false),
                new Axis("N, and load in requests/s", false),
                List.of(
                        new Series("N, averaged over 5 samples", xs, course.batches(), false),
                        new Series("load, averaged over 100 requests", xs, ys, false)));
    }

    private static List<Finding> findings(List<Box> real, List<Box> scaled, Sample correlation) {
        List<Finding> findings = new ArrayList<>();
        findings.add(new Finding(
                "On the trace as it is, without tuning, the smallest N is best and response times rise with N",
                "N = 1, then 10, then 50 (T = 200 ms ends the rise)",
                text(
                        "%.0f ms; %.0f and %.0f ms; without T %.0f and %.0f ms",
                        mean(real, FIXED),
                        mean(real, FIXED + 1),
                        mean(real, FIXED + 2),
                        mean(real, WITHOUT_T),
                        mean(real, WITHOUT_T + 1)),
                mean(real, FIXED) < mean(real, FIXED + 1)
                        && mean(real, FIXED) < mean(real, WITHOUT_T)
                        && mean(real, WITHOUT_T) < mean(real, WITHOUT_T + 1)));
        findings.add(new Finding(
                "Tuned, response times are the same whatever N is set",
                "the same, at both loads (here: within 10%)",
                text(
                        "%.1f%% apart on the trace, %.1f%% at 50 times its load",
                        100 * spread(real), 100 * spread(scaled)),
                spread(real) < 0.1 && spread(scaled) < 0.1));
        findings.add(new Finding(
                "Tuned, the mean delay is lower than that of the current deployment",
                "significantly lower than with T_poll = 1000 ms",
                text("%.0f ms against %.0f ms", mean(real, TUNED), mean(real, DEPLOYED)),
                mean(real, TUNED) < 0.75 * mean(real, DEPLOYED)));
        findings.add(new Finding(
                "At 50 times the load N = 1 is very slow without tuning",
                "very high (here: more than 10 times the tuned one)",
                text("%.0f ms against %.0f ms tuned", mean(scaled, FIXED), mean(scaled, TUNED)),
                mean(scaled, FIXED) > 10 * mean(scaled, TUNED)));
        double bestFixed = Math.min(mean(scaled, FIXED + 1), mean(scaled, FIXED + 2));
        findings.add(new Finding(
                "At 50 times the load tuning performs well",
                "well (here: within 35% of the better of N = 10 and 50)",
                text(
                        "%.0f ms tuned, %.0f ms tuned at once, %.0f ms for the better fixed N",
                        mean(scaled, TUNED), mean(scaled, TUNED + 3), bestFixed),
                mean(scaled, TUNED) < 1.35 * bestFixed));
        findings.add(new Finding(
                "N correlates well with the changes of the load",
                "well (here: r > 0.6 between N over 5 samples and the load over 100 requests)",
                text("r = %.2f", correlation.mean()),
                correlation.mean() > 0.6));
        return findings;
    }

    private static double mean(List<Box> boxes, int policy) {
        return boxes.get(policy).mean.mean();
    }

    private static double spread(List<Box> boxes) {
        double[] means = IntStream.range(TUNED, TUNED + 3)
                .mapToDouble(i -> mean(boxes, i))
                .toArray();
        return Arrays.stream(means).max().orElseThrow()
                        / Arrays.stream(means).min().orElseThrow()
                - 1;
    }

    /** The load of a trace, averaged over the 100 requests around a time as in Fig. 3. */
    private record Rate(long[] arrivalsNs) {
        double at(long nowNs) {
            int found = Arrays.binarySearch(arrivalsNs, nowNs);
            int next = found < 0 ? -found - 1 : found;
            int first = Math.max(0, Math.min(next - RATE_OVER / 2, arrivalsNs.length - 1 - RATE_OVER));
            return RATE_OVER * 1e9 / Math.max(1, arrivalsNs[first + RATE_OVER] - arrivalsNs[first]);
        }
    }
}
