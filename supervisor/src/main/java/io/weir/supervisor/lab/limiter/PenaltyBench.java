package io.weir.supervisor.lab.limiter;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketProfiler;
import io.weir.limiter.simulation.LimiterWorld;
import io.weir.limiter.simulation.PublisherArrivals;
import io.weir.limiter.simulation.supply.SharingWorld;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Origin;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.LimiterTrial;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.LongFunction;
import java.util.stream.IntStream;

/**
 * {@code weir bench penalty} simulated: the same load, the same way to find the limit, the same configurations, so that
 * what a real cluster measured can stand beside it. What lies between the two is the machine, and what the simulation
 * leaves out: threads that wait for a core, and loans that are asked for at the end of a turn.
 */
final class PenaltyBench {
    /** For {@code --set}: the bench's results, files with commas between them. */
    static final String OPTION = "measured";

    private static final int BROKERS = 3;
    private static final int MOST_BROKERS = 6;
    /** The bench's on a machine of two processors. */
    private static final double MESSAGES_PER_SECOND = 3_000;

    private static final int PUBLISHERS = 300;
    private static final double MARGIN = 0.1;
    private static final int TRACE_MESSAGES = 200_000;
    private static final double FROM_SECONDS = 3;
    private static final double UNTIL_SECONDS = 13;
    /** What was measured may be so many times what was simulated, or so many times less, where nobody borrows. */
    private static final double LIKE = 1.5;

    private final Limit limit;
    private final double messagesPerSecond;
    private final List<MeasuredPenalty> measured;

    private PenaltyBench(Limit limit, double messagesPerSecond, List<MeasuredPenalty> measured) {
        this.limit = limit;
        this.messagesPerSecond = messagesPerSecond;
        this.measured = measured;
    }

    /** Of the load that was measured, or else the bench's default. */
    static PenaltyBench of(LabRun run) {
        String files = run.options().get(OPTION);
        if (files == null) {
            return new PenaltyBench(profiled(run.firstSeed()), MESSAGES_PER_SECOND, List.of());
        }
        List<MeasuredPenalty> measured = Arrays.stream(files.split(","))
                .map(file -> MeasuredPenalty.read(Path.of(file)))
                .toList();
        MeasuredPenalty first = measured.get(0);
        for (MeasuredPenalty each : measured) {
            if (!each.sameLoad(first)) {
                throw new IllegalArgumentException(text(
                        "%s has %.0f msg/s and the limit %s, %s has %.0f msg/s and %s: points of one figure need the"
                                + " same load and limit (bench penalty --rate and --seed)",
                        first.file(),
                        first.messagesPerSecond(),
                        first.limit(),
                        each.file(),
                        each.messagesPerSecond(),
                        each.limit()));
            }
        }
        return new PenaltyBench(first.limit(), first.messagesPerSecond(), measured);
    }

    /** As the bench does it: r = 1.1 times the load, and the smallest b with which 99% of a trace would not wait. */
    private static Limit profiled(long seed) {
        PublisherArrivals arrivals = new PublisherArrivals(
                PUBLISHERS, MESSAGES_PER_SECOND / PUBLISHERS, 1, 1, publisher -> 0, new SplittableRandom(seed));
        long[] trace = new long[TRACE_MESSAGES];
        for (int i = 0; i < trace.length; i++) {
            trace[i] = arrivals.nextNs();
            arrivals.takeBroker();
        }
        double burst = new BucketProfiler(MARGIN).profile(trace).limit().burstMessages();
        return Limit.of(Math.rint((1 + MARGIN) * MESSAGES_PER_SECOND), burst);
    }

    private static String key(PenaltyDesign design, int k) {
        return "bench " + (k == 1 ? PenaltyDesign.CENTRAL : design) + " " + k;
    }

    private LimiterTrial trial(Map<String, LimiterTrial> trials, PenaltyDesign design, int k) {
        return trials.get(key(design, k));
    }

    private int mostBrokers() {
        return Math.max(
                MOST_BROKERS,
                measured.stream().mapToInt(MeasuredPenalty::brokers).max().orElse(0));
    }

    /** What is to be simulated. */
    Map<String, LongFunction<LimiterWorld.Result>> worlds() {
        Map<String, LongFunction<LimiterWorld.Result>> worlds = new LinkedHashMap<>();
        for (int k = 1; k <= mostBrokers(); k++) {
            double[] even = new double[k];
            Arrays.fill(even, messagesPerSecond / k);
            PenaltyDesign.Load load = new PenaltyDesign.Load(even, SharingWorld.LOAN_NS, FROM_SECONDS, UNTIL_SECONDS);
            for (PenaltyDesign design : PenaltyDesign.values()) {
                if (design == PenaltyDesign.CENTRAL == (k == 1)) {
                    worlds.put(key(design, k), seed -> design.run(limit, load, seed));
                }
            }
        }
        return worlds;
    }

    Table table(Map<String, LimiterTrial> trials) {
        List<String> columns = new ArrayList<>(List.of(
                "configuration",
                "brokers",
                "simulated 95th",
                "simulated 99th",
                "simulated control messages a message"));
        if (!measured.isEmpty()) {
            columns.addAll(List.of(
                    "measured 95th",
                    "measured 99th",
                    "lowest round's 99th",
                    "highest round's 99th",
                    "perfect buckets' 99th",
                    "measured / simulated 99th"));
        }
        List<List<Object>> rows = new ArrayList<>();
        if (measured.isEmpty()) {
            for (PenaltyDesign design : PenaltyDesign.values()) {
                rows.add(simulated(trials, design, design == PenaltyDesign.CENTRAL ? 1 : BROKERS));
            }
        }
        for (MeasuredPenalty each : measured) {
            each.configurations().forEach((name, delays) -> rows.add(row(trials, each, name, delays)));
        }
        return new Table(
                text(
                        "'weir bench penalty' simulated: access delay in ms; %,.0f msg/s, r = %,.0f, b = %.0f",
                        messagesPerSecond, limit.ratePerSecond(), limit.burstMessages()),
                columns,
                rows);
    }

    private List<Object> simulated(Map<String, LimiterTrial> trials, PenaltyDesign design, int k) {
        LimiterTrial trial = trial(trials, design, k);
        return new ArrayList<>(List.of(
                design.configuration,
                k,
                estimate(trial.p95Ms),
                estimate(trial.p99Ms),
                estimate(trial.controlPerMessage)));
    }

    /** A configuration that only the bench knows, such as one with another clock, has no simulated figures. */
    private List<Object> row(
            Map<String, LimiterTrial> trials, MeasuredPenalty from, String name, MeasuredPenalty.Delays delays) {
        PenaltyDesign design = design(name);
        int k = design == PenaltyDesign.CENTRAL ? 1 : from.brokers();
        List<Object> row =
                design == null ? new ArrayList<>(List.of(name, k, "-", "-", "-")) : simulated(trials, design, k);
        double simulatedMs =
                design == null ? Double.NaN : trial(trials, design, k).p99Ms.mean();
        row.addAll(List.of(
                delays.p95Ms(),
                delays.p99Ms(),
                delays.lowestP99Ms(),
                delays.highestP99Ms(),
                delays.idealP99Ms(),
                simulatedMs > 0 ? (Object) (delays.p99Ms() / simulatedMs) : "-"));
        return row;
    }

    /** Null for one that is not simulated. */
    private static PenaltyDesign design(String configuration) {
        return Arrays.stream(PenaltyDesign.values())
                .filter(design -> design.configuration.equals(configuration))
                .findFirst()
                .orElse(null);
    }

    LineChart chart(Map<String, LimiterTrial> trials) {
        int most = mostBrokers();
        double[] ks = IntStream.rangeClosed(1, most).asDoubleStream().toArray();
        List<Series> series = new ArrayList<>();
        for (PenaltyDesign design : PenaltyDesign.values()) {
            if (design != PenaltyDesign.CENTRAL) {
                double[] ys = IntStream.rangeClosed(1, most)
                        .mapToDouble(k -> trial(trials, design, k).p99Ms.mean())
                        .toArray();
                series.add(new Series(design.label, ks, ys, Origin.OURS));
            }
        }
        for (PenaltyDesign design : PenaltyDesign.values()) {
            List<MeasuredPenalty> with = measured.stream()
                    .filter(each -> each.configurations().containsKey(design.configuration))
                    .toList();
            if (!with.isEmpty()) {
                series.add(new Series(
                        design.label + ", measured",
                        with.stream()
                                .mapToDouble(each -> design == PenaltyDesign.CENTRAL ? 1 : each.brokers())
                                .toArray(),
                        with.stream()
                                .mapToDouble(each -> each.configurations()
                                        .get(design.configuration)
                                        .p99Ms())
                                .toArray(),
                        Origin.MEASURED));
            }
        }
        return new LineChart(
                "drl-penalty-bench",
                text(
                        "Access delay as simulated%s: %,.0f msg/s, r = %,.0f, b = %.0f",
                        measured.isEmpty() ? "" : " and as measured on real brokers",
                        messagesPerSecond,
                        limit.ratePerSecond(),
                        limit.burstMessages()),
                new Axis("number of brokers k", false),
                new Axis("99th percentile of the access delay (ms)", true),
                series);
    }

    /** None unless something was measured: then the static split, where neither loans nor shares move, has to agree. */
    List<Finding> findings(Map<String, LimiterTrial> trials) {
        List<Finding> findings = new ArrayList<>();
        for (MeasuredPenalty each : measured) {
            MeasuredPenalty.Delays delays = each.configurations().get(PenaltyDesign.STATIC.configuration);
            if (delays != null) {
                double simulatedMs = trial(trials, PenaltyDesign.STATIC, each.brokers())
                        .p99Ms
                        .mean();
                findings.add(new Finding(
                        text("The static split over %d real brokers costs what is simulated (ours)", each.brokers()),
                        text("%.2f ms, within a factor of %.1f", simulatedMs, LIKE),
                        text("%.2f ms", delays.p99Ms()),
                        delays.p99Ms() < simulatedMs * LIKE && delays.p99Ms() > simulatedMs / LIKE));
            }
        }
        return findings;
    }
}
