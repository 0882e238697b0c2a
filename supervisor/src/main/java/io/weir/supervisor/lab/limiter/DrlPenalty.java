package io.weir.supervisor.lab.limiter;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.simulation.LimiterWorld.Setup;
import io.weir.limiter.simulation.PublisherArrivals;
import io.weir.limiter.simulation.PublisherArrivals.Placement;
import io.weir.limiter.simulation.SimulatedLinks;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * What splitting a limit among k brokers costs (SRTM Fig. 6a: 1,000 Poisson publishers of 10 msg/s), and what moving
 * rates and tokens between the brokers wins back: one bucket, a static split, the TB adaptor, the ring's gossip and
 * borrowing on the same messages. Then the same for slower links, and for traffic that has shifted to one broker.
 */
public final class DrlPenalty implements Experiment {
    private static final Limit LIMIT = Limit.of(11_000, 27);
    private static final int PUBLISHERS = 1_000;
    private static final double MESSAGES_PER_SECOND = 10;
    private static final int MAX_K = 6;
    private static final double PAPER_P99_MS = 14.7;
    private static final double BORROWING_P99_MS = 0.8;
    private static final double BORROWING_CONTROL = 1.2;
    private static final long MICROSECOND_NS = 1_000;
    private static final long LINK_NS = 50 * MICROSECOND_NS;
    private static final double WARM_UP_SECONDS = 1;
    private static final double UNTIL_SECONDS = 12;
    private static final double SHIFT_FROM_SECONDS = 30;
    private static final double SHIFT_UNTIL_SECONDS = 36;

    /** The designs in the order of the table. */
    private enum Design {
        CENTRAL("one bucket"),
        STATIC("static split"),
        ADAPTOR("TB adaptor"),
        GOSSIP("gossip"),
        BORROWING("borrowing"),
        BOTH("gossip + borrowing");

        final String label;

        Design(String label) {
            this.label = label;
        }

        Setup setup(int k, Limit limit, SimulatedLinks links) {
            Setup even = Setup.of(limit, this == CENTRAL ? 1 : k, links);
            return switch (this) {
                case CENTRAL, STATIC -> even;
                case ADAPTOR -> even.sharing(Sharing.ADAPTOR);
                case GOSSIP -> even.sharing(Sharing.GOSSIP);
                case BORROWING -> even.borrowing(everybody(k));
                case BOTH -> even.sharing(Sharing.GOSSIP).borrowing(everybody(k));
            };
        }
    }

    private static final List<Design> SIDE_BY_SIDE =
            List.of(Design.STATIC, Design.ADAPTOR, Design.GOSSIP, Design.BORROWING);

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
        Map<String, LimiterTrial> trials = LimiterTrial.run(plans(), run);
        return new LabReport(
                List.of(
                        splitTable(trials),
                        percentileTable(trials),
                        linkTable(trials),
                        gapTable(trials),
                        shiftTable(trials)),
                List.of(chart(trials)),
                findings(trials));
    }

    private static Map<String, LimiterTrial.Plan> plans() {
        Map<String, LimiterTrial.Plan> plans = new LinkedHashMap<>();
        SimulatedLinks links = SimulatedLinks.perfect(LINK_NS);
        plans.put(key(Design.CENTRAL, 1), plan(Design.CENTRAL.setup(1, LIMIT, links), 1));
        for (int k = 2; k <= MAX_K; k++) {
            for (Design design : SIDE_BY_SIDE) {
                plans.put(key(design, k), plan(design.setup(k, LIMIT, links), k));
            }
        }
        for (LinkCase link : LINK_CASES) {
            plans.put(link.key(), plan(link.setup(), MAX_K));
        }
        for (Design design : Design.values()) {
            plans.put(shiftKey(design), shifted(design));
        }
        return plans;
    }

    private static LimiterTrial.Plan plan(Setup setup, int k) {
        return new LimiterTrial.Plan(
                setup,
                random -> new PublisherArrivals(PUBLISHERS, MESSAGES_PER_SECOND, 1, 1, Placement.spread(k), random),
                WARM_UP_SECONDS,
                UNTIL_SECONDS);
    }

    /**
     * Half the load, so that what piles up before anything has moved is gone by the time of measuring; half of it at
     * one broker.
     */
    private static LimiterTrial.Plan shifted(Design design) {
        Placement placement = design == Design.CENTRAL
                ? publisher -> 0
                : publisher -> publisher % 2 == 0 ? 0 : 1 + publisher / 2 % (MAX_K - 1);
        return new LimiterTrial.Plan(
                design.setup(MAX_K, LIMIT, SimulatedLinks.perfect(LINK_NS)),
                random -> new PublisherArrivals(PUBLISHERS / 2, MESSAGES_PER_SECOND, 1, 1, placement, random),
                SHIFT_FROM_SECONDS,
                SHIFT_UNTIL_SECONDS);
    }

    /** Borrowing at k = 6 over other links and from fewer brokers. */
    private record LinkCase(String from, long linkNs, Graph lenders) {
        String key() {
            return from + " " + linkNs;
        }

        Setup setup() {
            return Setup.of(LIMIT, MAX_K, SimulatedLinks.perfect(linkNs)).borrowing(lenders);
        }
    }

    private static final LinkCase NO_LINK = new LinkCase("everybody", 1, everybody(MAX_K));

    private static final List<LinkCase> LINK_CASES = List.of(
            NO_LINK,
            new LinkCase("everybody", LINK_NS, everybody(MAX_K)),
            new LinkCase("everybody", 200 * MICROSECOND_NS, everybody(MAX_K)),
            new LinkCase("everybody", 1_000 * MICROSECOND_NS, everybody(MAX_K)),
            new LinkCase("ring neighbours", LINK_NS, Graph.ring(MAX_K)),
            new LinkCase("ring neighbours", 200 * MICROSECOND_NS, Graph.ring(MAX_K)),
            new LinkCase("ring neighbours", 1_000 * MICROSECOND_NS, Graph.ring(MAX_K)));

    private static Graph everybody(int k) {
        return Graph.ring(k, IntStream.rangeClosed(2, k / 2).toArray());
    }

    private static String key(Design design, int k) {
        return (k == 1 ? Design.CENTRAL : design) + " " + k;
    }

    private static String shiftKey(Design design) {
        return "shifted " + design;
    }

    private static LimiterTrial trial(Map<String, LimiterTrial> trials, Design design, int k) {
        return trials.get(key(design, k));
    }

    private static double modelP99Ms(int k) {
        return new BucketModel(PUBLISHERS * MESSAGES_PER_SECOND, LIMIT.ratePerSecond(), LIMIT.burstMessages())
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
            row.add(estimate(trial(trials, Design.CENTRAL, 1).p99Ms));
            for (Design design : SIDE_BY_SIDE) {
                row.add(estimate(trial(trials, design, k).p99Ms));
            }
            row.add(estimate(trial(trials, Design.BORROWING, k).controlPerMessage));
            rows.add(row);
        }
        return new Table(
                "99th percentile of the access delay in ms; 10,000 msg/s, r = 11,000, b = 27, links of 50 µs",
                List.of(
                        "k",
                        "model (static)",
                        Design.CENTRAL.label,
                        Design.STATIC.label,
                        Design.ADAPTOR.label,
                        Design.GOSSIP.label,
                        Design.BORROWING.label,
                        "borrowing: control messages a message"),
                rows);
    }

    private static Table percentileTable(Map<String, LimiterTrial> trials) {
        List<List<Object>> rows = new ArrayList<>();
        for (int k = 1; k <= MAX_K; k++) {
            LimiterTrial fixed = trial(trials, Design.STATIC, k);
            LimiterTrial borrowing = trial(trials, Design.BORROWING, k);
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
        for (LinkCase link : LINK_CASES) {
            LimiterTrial trial = trials.get(link.key());
            rows.add(List.of(
                    link.from(),
                    link.linkNs() / (double) MICROSECOND_NS,
                    estimate(trial.p99Ms),
                    estimate(trial.controlPerMessage),
                    estimate(trial.delayedPart)));
        }
        return new Table(
                "Borrowing at k = 6 over other links",
                List.of("asks", "link in µs", "99th percentile in ms", "control messages a message", "part delayed"),
                rows);
    }

    /** The way from one bucket to borrowing in steps, each adding one cause. */
    private static Table gapTable(Map<String, LimiterTrial> trials) {
        LimiterTrial central = trial(trials, Design.CENTRAL, 1);
        LimiterTrial noLink = trials.get(NO_LINK.key());
        LimiterTrial borrowing = trial(trials, Design.BORROWING, MAX_K);
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
                        gapRow(
                                "+ split, links of 1 ns: fractions of tokens at six brokers, asking only for β/3",
                                noLink),
                        gapRow("+ links of 50 µs: tokens on their way, old news of who is rich", borrowing)));
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
        for (Design design : Design.values()) {
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
        for (Design design : SIDE_BY_SIDE) {
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
        LimiterTrial fixed = trial(trials, Design.STATIC, MAX_K);
        LimiterTrial borrowing = trial(trials, Design.BORROWING, MAX_K);
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
                text("99th percentile at most %.1f ms at k = 6 with links of 50 µs", BORROWING_P99_MS),
                text("%.3f ± %.3f ms", borrowing.p99Ms.mean(), borrowing.p99Ms.halfWidth95()),
                borrowing.p99Ms.mean() <= BORROWING_P99_MS));
        findings.add(new Finding(
                "Borrowing is cheap (ours)",
                text("fewer than %.1f control messages a message", BORROWING_CONTROL),
                text("%.2f", borrowing.controlPerMessage.mean()),
                borrowing.controlPerMessage.mean() < BORROWING_CONTROL));
        long invented = trials.values().stream()
                .mapToLong(trial -> trial.inventedMicros)
                .max()
                .orElse(0);
        long excess = trials.values().stream()
                .mapToLong(trial -> trial.excessMicros)
                .max()
                .orElse(0);
        findings.add(new Finding(
                "No design creates supply or exceeds the limit (ours)",
                "Σλ + in flight ≤ b after every event, and no interval admits more than b + r·t",
                invented + " and " + excess + " micro-tokens too many at the worst",
                invented == 0 && excess == 0));
        findings.add(shiftIsFollowed(trials));
        return findings;
    }

    private static Finding risesWithK(Map<String, LimiterTrial> trials) {
        boolean rises = true;
        StringBuilder measured = new StringBuilder();
        for (int k = 1; k <= MAX_K; k++) {
            double p99Ms = trial(trials, Design.STATIC, k).p99Ms.mean();
            rises &= k == 1 || p99Ms > trial(trials, Design.STATIC, k - 1).p99Ms.mean();
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
        LimiterTrial trial = trial(trials, Design.STATIC, k);
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
        double fixedMs = trials.get(shiftKey(Design.STATIC)).p99Ms.mean();
        double adaptorMs = trials.get(shiftKey(Design.ADAPTOR)).p99Ms.mean();
        double gossipMs = trials.get(shiftKey(Design.GOSSIP)).p99Ms.mean();
        return new Finding(
                "5.4: the TB adaptor avoids the penalty of shifted traffic, and the ring does without it (ours)",
                "both below a thousandth of the static split's 99th percentile",
                text("static %.0f ms, adaptor %.3f ms, gossip %.3f ms", fixedMs, adaptorMs, gossipMs),
                Math.max(adaptorMs, gossipMs) < fixedMs / 1_000);
    }
}
