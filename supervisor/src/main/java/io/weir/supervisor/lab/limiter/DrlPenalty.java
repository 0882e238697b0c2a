package io.weir.supervisor.lab.limiter;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.simulation.LimiterWorld;
import io.weir.limiter.simulation.supply.SharingWorld;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.LimiterTrial;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import java.util.stream.IntStream;

/**
 * What splitting a limit among k brokers costs (SRTM Fig. 6a: 1,000 Poisson publishers of 10 msg/s), and what moving
 * rates and tokens between the brokers wins back: one bucket, a static split, the TB adaptor, the ring's gossip and
 * borrowing. Then the same for slower links, for traffic that has shifted to one broker, and for the load of
 * {@code weir bench penalty}, whose results {@code --set measured=FILE} puts beside it.
 *
 * <p>It all runs in {@link SharingWorld}: a broker's gate, demand window, loans, rounds, transfers and adaptor, with a
 * broker's own times and tolerances.
 */
public final class DrlPenalty implements Experiment {
    private static final Limit LIMIT = Limit.of(11_000, 27);
    private static final double MESSAGES_PER_SECOND = 10_000;
    private static final int MAX_K = 6;
    private static final double PAPER_P99_MS = 14.7;
    /** What borrowing may leave of the static split's 99th percentile. */
    private static final double BORROWING_PART = 0.1;

    private static final double BORROWING_CONTROL = 1.2;
    private static final long MICROSECOND_NS = 1_000;
    private static final double WARM_UP_SECONDS = 1;
    private static final double UNTIL_SECONDS = 12;
    private static final double SHIFT_FROM_SECONDS = 30;
    private static final double SHIFT_UNTIL_SECONDS = 36;

    private static final List<PenaltyDesign> SIDE_BY_SIDE = List.of(
            PenaltyDesign.STATIC,
            PenaltyDesign.ADAPTOR,
            PenaltyDesign.GOSSIP,
            PenaltyDesign.STATIC_BORROWING,
            PenaltyDesign.GOSSIP_BORROWING);

    private static final List<Long> LINKS_NS =
            List.of(1L, 50 * MICROSECOND_NS, SharingWorld.LOAN_NS, 200 * MICROSECOND_NS, 1_000 * MICROSECOND_NS);

    @Override
    public String name() {
        return "drl-penalty";
    }

    @Override
    public String summary() {
        return "what a split of the limit among k brokers costs, and what borrowing wins back";
    }

    @Override
    public String source() {
        return "SRTM, Fig. 6a and 5.4";
    }

    @Override
    public int defaultSeeds() {
        return 8;
    }

    @Override
    public LabReport run(LabRun run) {
        PenaltyBench bench = PenaltyBench.of(run);
        Map<String, LongFunction<LimiterWorld.Result>> worlds = worlds();
        worlds.putAll(bench.worlds());
        Map<String, LimiterTrial> trials = LimiterTrial.runWorlds(worlds, run);
        List<Finding> findings = findings(trials);
        findings.addAll(bench.findings(trials));
        return new LabReport(
                List.of(
                        splitTable(trials),
                        percentileTable(trials),
                        linkTable(trials),
                        gapTable(trials),
                        shiftTable(trials),
                        bench.table(trials)),
                List.of(chart(trials), bench.chart(trials)),
                findings);
    }

    private static Map<String, LongFunction<LimiterWorld.Result>> worlds() {
        Map<String, LongFunction<LimiterWorld.Result>> worlds = new LinkedHashMap<>();
        worlds.put(key(PenaltyDesign.CENTRAL, 1), world(PenaltyDesign.CENTRAL, even(1, SharingWorld.LOAN_NS)));
        for (int k = 2; k <= MAX_K; k++) {
            for (PenaltyDesign design : SIDE_BY_SIDE) {
                worlds.put(key(design, k), world(design, even(k, SharingWorld.LOAN_NS)));
            }
        }
        for (long linkNs : LINKS_NS) {
            worlds.put(linkKey(linkNs), world(PenaltyDesign.GOSSIP_BORROWING, even(MAX_K, linkNs)));
        }
        for (PenaltyDesign design : PenaltyDesign.values()) {
            worlds.put(shiftKey(design), world(design, shifted(design)));
        }
        return worlds;
    }

    private static LongFunction<LimiterWorld.Result> world(PenaltyDesign design, PenaltyDesign.Load load) {
        return seed -> design.run(LIMIT, load, seed);
    }

    private static PenaltyDesign.Load even(int k, long loanNs) {
        double[] rates = new double[k];
        Arrays.fill(rates, MESSAGES_PER_SECOND / k);
        return new PenaltyDesign.Load(rates, loanNs, WARM_UP_SECONDS, UNTIL_SECONDS);
    }

    /**
     * Half the load, so that what piles up before anything has moved is gone by the time of measuring; half of it at
     * one broker.
     */
    private static PenaltyDesign.Load shifted(PenaltyDesign design) {
        double half = MESSAGES_PER_SECOND / 2;
        double[] rates = new double[design == PenaltyDesign.CENTRAL ? 1 : MAX_K];
        Arrays.fill(rates, half / 2 / (MAX_K - 1));
        rates[0] = rates.length == 1 ? half : half / 2;
        return new PenaltyDesign.Load(rates, SharingWorld.LOAN_NS, SHIFT_FROM_SECONDS, SHIFT_UNTIL_SECONDS);
    }

    private static String key(PenaltyDesign design, int k) {
        return (k == 1 ? PenaltyDesign.CENTRAL : design) + " " + k;
    }

    private static String linkKey(long linkNs) {
        return "link " + linkNs;
    }

    private static String shiftKey(PenaltyDesign design) {
        return "shifted " + design;
    }

    private static LimiterTrial trial(Map<String, LimiterTrial> trials, PenaltyDesign design, int k) {
        return trials.get(key(design, k));
    }

    private static double modelP99Ms(int k) {
        return new BucketModel(MESSAGES_PER_SECOND, LIMIT.ratePerSecond(), LIMIT.burstMessages())
                        .share(k)
                        .delayQuantileSeconds(0.99)
                * 1e3;
    }

    private static Table splitTable(Map<String, LimiterTrial> trials) {
        List<List<Object>> rows = new ArrayList<>();
        for (int k = 1; k <= MAX_K; k++) {
            List<Object> row = new ArrayList<>();
            row.add(k);
            row.add(modelP99Ms(k));
            row.add(estimate(trial(trials, PenaltyDesign.CENTRAL, 1).p99Ms));
            for (PenaltyDesign design : SIDE_BY_SIDE) {
                row.add(estimate(trial(trials, design, k).p99Ms));
            }
            row.add(estimate(trial(trials, PenaltyDesign.GOSSIP_BORROWING, k).controlPerMessage));
            rows.add(row);
        }
        List<String> columns = new ArrayList<>(List.of("k", "model (static)", PenaltyDesign.CENTRAL.label));
        SIDE_BY_SIDE.forEach(design -> columns.add(design.label));
        columns.add(PenaltyDesign.GOSSIP_BORROWING.label + ": control messages a message");
        return new Table(
                "99th percentile of the access delay in ms; 10,000 msg/s, r = 11,000, b = 27, links of 100 µs",
                columns,
                rows);
    }

    private static Table percentileTable(Map<String, LimiterTrial> trials) {
        List<List<Object>> rows = new ArrayList<>();
        for (int k = 1; k <= MAX_K; k++) {
            LimiterTrial fixed = trial(trials, PenaltyDesign.STATIC, k);
            LimiterTrial borrowing = trial(trials, PenaltyDesign.GOSSIP_BORROWING, k);
            rows.add(List.of(
                    k,
                    estimate(fixed.p50Ms),
                    estimate(fixed.p95Ms),
                    estimate(fixed.p99Ms),
                    estimate(borrowing.p50Ms),
                    estimate(borrowing.p95Ms),
                    estimate(borrowing.p99Ms)));
        }
        return new Table(
                "Fig. 6a's percentiles of the access delay in ms",
                List.of(
                        "k",
                        "static median",
                        "static 95th",
                        "static 99th",
                        "borrowing median",
                        "borrowing 95th",
                        "borrowing 99th"),
                rows);
    }

    private static Table linkTable(Map<String, LimiterTrial> trials) {
        List<List<Object>> rows = new ArrayList<>();
        for (long linkNs : LINKS_NS) {
            LimiterTrial trial = trials.get(linkKey(linkNs));
            rows.add(List.of(
                    linkNs / (double) MICROSECOND_NS,
                    estimate(trial.p99Ms),
                    estimate(trial.controlPerMessage),
                    estimate(trial.delayedPart)));
        }
        return new Table(
                "Gossip and borrowing at k = 6 over other links",
                List.of("link in µs", "99th percentile in ms", "control messages a message", "part delayed"),
                rows);
    }

    /** The way from one bucket to borrowing in steps, each adding one cause. */
    private static Table gapTable(Map<String, LimiterTrial> trials) {
        LimiterTrial central = trial(trials, PenaltyDesign.CENTRAL, 1);
        LimiterTrial noLink = trials.get(linkKey(LINKS_NS.get(0)));
        LimiterTrial borrowing = trial(trials, PenaltyDesign.GOSSIP_BORROWING, MAX_K);
        return new Table(
                "What borrowing's distance from one bucket is made of (k = 6)",
                List.of(
                        "world",
                        "99th percentile in ms",
                        "part delayed",
                        "of these: no broker had a whole token",
                        "control messages a message"),
                List.of(
                        gapRow("one bucket: the limit itself is exhausted", central),
                        gapRow("+ split, links of 1 ns: fractions of tokens at six brokers", noLink),
                        gapRow("+ links of 100 µs: tokens on their way, old news of who is rich", borrowing)));
    }

    private static List<Object> gapRow(String what, LimiterTrial trial) {
        return List.of(
                what,
                estimate(trial.p99Ms),
                estimate(trial.delayedPart),
                estimate(trial.allEmptyPart),
                estimate(trial.controlPerMessage));
    }

    private static Table shiftTable(Map<String, LimiterTrial> trials) {
        List<List<Object>> rows = new ArrayList<>();
        for (PenaltyDesign design : PenaltyDesign.values()) {
            LimiterTrial trial = trials.get(shiftKey(design));
            rows.add(List.of(design.label, estimate(trial.p99Ms), estimate(trial.controlPerMessage)));
        }
        return new Table(
                "Traffic has shifted: 5,000 msg/s, half of them at one of six brokers, 30 s after an even start",
                List.of("design", "99th percentile in ms", "control messages a message"),
                rows);
    }

    private static LineChart chart(Map<String, LimiterTrial> trials) {
        double[] ks = IntStream.rangeClosed(1, MAX_K).asDoubleStream().toArray();
        List<Series> series = new ArrayList<>();
        series.add(new Series("SRTM, end to end", new double[] {MAX_K}, new double[] {PAPER_P99_MS}, true));
        series.add(new Series(
                "model (static split)",
                ks,
                IntStream.rangeClosed(1, MAX_K)
                        .mapToDouble(DrlPenalty::modelP99Ms)
                        .toArray(),
                false));
        for (PenaltyDesign design : SIDE_BY_SIDE) {
            double[] ys = IntStream.rangeClosed(1, MAX_K)
                    .mapToDouble(k -> trial(trials, design, k).p99Ms.mean())
                    .toArray();
            series.add(new Series(design.label, ks, ys, false));
        }
        return new LineChart(
                "drl-penalty",
                "DRL penalty: 1,000 Poisson publishers of 10 msg/s (SRTM Fig. 6a)",
                new Axis("number of brokers k", false),
                new Axis("99th percentile latency (ms)", true),
                series);
    }

    private static List<Finding> findings(Map<String, LimiterTrial> trials) {
        LimiterTrial fixed = trial(trials, PenaltyDesign.STATIC, MAX_K);
        LimiterTrial borrowing = trial(trials, PenaltyDesign.GOSSIP_BORROWING, MAX_K);
        List<Finding> findings = new ArrayList<>();
        findings.add(risesWithK(trials));
        double fixedMs = fixed.p99Ms.mean();
        findings.add(new Finding(
                "The static split at k = 6 costs what the paper measured",
                "14.7 ms end to end; the access delay is the largest part of it",
                text("%.2f ms access delay", fixedMs),
                fixedMs > PAPER_P99_MS / 2 && fixedMs <= PAPER_P99_MS));
        findings.add(likeTheModel(trials, 2));
        findings.add(likeTheModel(trials, MAX_K));
        findings.add(new Finding(
                "Borrowing wins the penalty back (ours)",
                text("at k = 6 at most %.1f of the static split's 99th percentile", BORROWING_PART),
                text(
                        "%.3f ± %.3f ms, %.2f of it",
                        borrowing.p99Ms.mean(), borrowing.p99Ms.halfWidth95(), borrowing.p99Ms.mean() / fixedMs),
                borrowing.p99Ms.mean() <= BORROWING_PART * fixedMs));
        findings.add(new Finding(
                "Borrowing is cheap (ours)",
                text("fewer than %.1f control messages a message", BORROWING_CONTROL),
                text("%.2f", borrowing.controlPerMessage.mean()),
                borrowing.controlPerMessage.mean() < BORROWING_CONTROL));
        long excess = trials.values().stream()
                .mapToLong(trial -> trial.excessMicros)
                .max()
                .orElse(0);
        findings.add(new Finding(
                "No design exceeds the limit (ours)",
                "no interval admits more than b + r·t",
                excess + " micro-tokens too many at the worst",
                excess == 0));
        findings.add(shiftIsFollowed(trials));
        return findings;
    }

    private static Finding risesWithK(Map<String, LimiterTrial> trials) {
        boolean rises = true;
        StringBuilder measured = new StringBuilder();
        for (int k = 1; k <= MAX_K; k++) {
            double p99Ms = trial(trials, PenaltyDesign.STATIC, k).p99Ms.mean();
            rises &= k == 1
                    || p99Ms > trial(trials, PenaltyDesign.STATIC, k - 1).p99Ms.mean();
            measured.append(k == 1 ? "" : ", ").append(text("%.2f", p99Ms));
        }
        return new Finding(
                "Fig. 6a: the 99th percentile rises with every broker that the topic is split across",
                "rises from k = 1 to 6",
                measured + " ms",
                rises);
    }

    private static Finding likeTheModel(Map<String, LimiterTrial> trials, int k) {
        double modelMs = modelP99Ms(k);
        LimiterTrial trial = trial(trials, PenaltyDesign.STATIC, k);
        double mean = trial.p99Ms.mean();
        double noise = trial.p99Ms.halfWidth95();
        boolean precise = !Double.isNaN(noise) && noise < modelMs / 2;
        return new Finding(
                text("The static split at k = %d costs what Eq. 1's queue says", k),
                text("%.3f ms, at most two half widths off: one would fail by chance in one run of twenty", modelMs),
                text("%.3f ± %.3f ms", mean, noise),
                precise && Math.abs(mean - modelMs) <= 2 * noise);
    }

    private static Finding shiftIsFollowed(Map<String, LimiterTrial> trials) {
        double fixedMs = trials.get(shiftKey(PenaltyDesign.STATIC)).p99Ms.mean();
        double adaptorMs = trials.get(shiftKey(PenaltyDesign.ADAPTOR)).p99Ms.mean();
        double gossipMs = trials.get(shiftKey(PenaltyDesign.GOSSIP)).p99Ms.mean();
        return new Finding(
                "5.4: the TB adaptor avoids the penalty of shifted traffic, and the ring does without it (ours)",
                "both below a thousandth of the static split's 99th percentile",
                text("static %.0f ms, adaptor %.3f ms, gossip %.3f ms", fixedMs, adaptorMs, gossipMs),
                Math.max(adaptorMs, gossipMs) < fixedMs / 1_000);
    }
}
