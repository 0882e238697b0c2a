package io.weir.supervisor.lab.limiter;

import io.weir.limiter.algorithm.EdgeStep;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.simulation.GossipLimiters;
import io.weir.limiter.simulation.Sample;
import io.weir.limiter.simulation.SlottedLimiters;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.MeanCurve;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * gdrl III-B: the ring of ten while demand changes at once and slowly; and a surge, under which GDRL is put beside
 * global random drop (GRD) and flow proportional share (FPS) as gdrl I-C describes them.
 *
 * <p>As printed, the slow change starts at i/(N+1), where the segment before it does not end, and ends where the next
 * does not start: two further jumps. The text says that only τ₀ is abrupt and the figure that λ_i(t) is piecewise
 * linear, so the two weights are swapped here.
 */
public final class GdrlDynamic implements Experiment {
    private static final int N = 10;
    private static final int TAU = 10_000;
    private static final int SPACING = 100;
    private static final int POINTS = 4 * TAU / SPACING;
    private static final int[] DRAWN = {0, 3, 6, 9};

    /** The last slots of a segment, when its transient is over. */
    private static final int TAIL = 2_000;

    private static final int[] SURGE_LIMITERS = {10, 50, 100, 500};
    private static final int SURGE_AT = 5_000;
    private static final int SURGE_SLOTS = 3_000;
    private static final String[] SCHEMES = {"GRD", "FPS", "GDRL, ring", "GDRL, ring, accelerated"};

    /** What summing shares as doubles may add; that their sum is exact is a matter of integers, checked elsewhere. */
    private static final double ROUNDING = 1e-9;

    @Override
    public String name() {
        return "gdrl-dynamic";
    }

    @Override
    public String summary() {
        return "the ring of ten under abrupt and slow changes of demand, and beside GRD and FPS under a surge";
    }

    @Override
    public String source() {
        return "GDRL, Fig. 5 and 6, section I-C";
    }

    @Override
    public int defaultSeeds() {
        return 6;
    }

    @Override
    public LabReport run(LabRun run) {
        Evolution evolution = new Evolution();
        Surge[] surges = new Surge[SURGE_LIMITERS.length];
        for (int s = 0; s < surges.length; s++) {
            surges[s] = new Surge(SURGE_LIMITERS[s]);
        }
        int done = 0;
        for (long seed : run.seedStream().toArray()) {
            SplittableRandom random = new SplittableRandom(seed);
            evolution.add(random.split());
            for (Surge surge : surges) {
                surge.add(random.split());
            }
            run.progress().at(++done, run.seeds(), "seed " + seed);
        }
        List<Finding> findings = new ArrayList<>(evolution.findings());
        findings.addAll(surgeFindings(surges));
        return new LabReport(
                List.of(evolution.table(), surgeTable(surges)),
                List.of(evolution.fig5(), evolution.fig6q(), evolution.fig6jain(), surgeChart(surges[0])),
                findings);
    }

    /** λ_i(t), in packets a slot. */
    private static double demand(int limiter, long slot) {
        double rising = GdrlSetup.sorted(limiter, N);
        double falling = 1 - rising;
        if (slot < TAU || slot >= 3 * TAU) {
            return rising;
        }
        if (slot < 2 * TAU) {
            return falling;
        }
        double part = (slot - 2.0 * TAU) / TAU;
        return (1 - part) * falling + part * rising;
    }

    /** Figures 5 and 6 over all seeds. */
    private static final class Evolution {
        private final MeanCurve[] q = new MeanCurve[N];
        private final MeanCurve jain = new MeanCurve(SPACING, POINTS);
        private final Sample[] settled = {new Sample(), new Sample(), new Sample(), new Sample()};
        private final Sample recovery = new Sample();
        private double[][] estimates;

        Evolution() {
            for (int i = 0; i < N; i++) {
                q[i] = new MeanCurve(SPACING, POINTS);
            }
        }

        void add(SplittableRandom random) {
            SlottedLimiters limiters =
                    GdrlSetup.limiters(Graph.ring(N), GdrlSetup.ALPHA, GdrlSetup.rate(N), GdrlDynamic::demand, random);
            double[][] drawn = new double[DRAWN.length][POINTS];
            double[] tail = new double[4];
            int recovered = 2 * TAU;
            for (int slot = 0; slot < 4 * TAU; slot++) {
                double fairness = limiters.jain();
                if (slot % SPACING == 0) {
                    int point = slot / SPACING;
                    jain.add(point, fairness);
                    for (int i = 0; i < N; i++) {
                        q[i].add(point, limiters.q(i));
                    }
                    for (int d = 0; d < DRAWN.length; d++) {
                        drawn[d][point] = limiters.estimate(DRAWN[d]);
                    }
                }
                tail[slot / TAU] += slot % TAU < TAU - TAIL ? 0 : fairness / TAIL;
                if (slot >= TAU && fairness >= 0.9) {
                    recovered = Math.min(recovered, slot);
                }
                limiters.slot();
            }
            for (int segment = 0; segment < 4; segment++) {
                settled[segment].add(tail[segment]);
            }
            recovery.add(recovered - TAU);
            if (estimates == null) {
                estimates = drawn;
            }
        }

        Table table() {
            String[] names = {"constant", "after the abrupt change", "during the slow change", "constant again"};
            List<List<Object>> rows = new ArrayList<>();
            for (int segment = 0; segment < 4; segment++) {
                int from = segment * TAU / SPACING;
                rows.add(List.of(
                        names[segment], jain.least(from, from + TAU / SPACING), MeanCurve.estimate(settled[segment])));
            }
            return new Table(
                    "JFI(q(t)) (ring of 10, gain 1/4, alpha 0.001, segments of 10,000 slots)",
                    List.of("segment", "least of the mean", "last " + TAIL + " slots"),
                    rows);
        }

        LineChart fig5() {
            List<Series> series = new ArrayList<>();
            for (int d = 0; d < DRAWN.length; d++) {
                double[] xs = new double[POINTS];
                double[] real = new double[POINTS];
                for (int point = 0; point < POINTS; point++) {
                    xs[point] = point * SPACING;
                    real[point] = demand(DRAWN[d], (long) point * SPACING);
                }
                series.add(new Series("λ_" + (DRAWN[d] + 1), xs, real, true));
                series.add(new Series("estimate of λ_" + (DRAWN[d] + 1), xs, estimates[d], false));
            }
            return new LineChart(
                    "gdrl-dynamic-demand",
                    "Demand and its estimates, as GDRL Fig. 5 (four of ten limiters, one seed)",
                    new Axis("time (slots)", false),
                    new Axis("λ_i(t)", false),
                    series);
        }

        LineChart fig6q() {
            return GdrlSetup.indicatorChart(
                    "gdrl-dynamic-q", "Performance indicators q(t), as GDRL Fig. 6", "q_i(t) = λ_i(t) − C_i(t)", q);
        }

        LineChart fig6jain() {
            return GdrlSetup.fairnessChart("gdrl-dynamic-jfi", "JFI(q(t)), as GDRL Fig. 6", jain);
        }

        List<Finding> findings() {
            double least = Math.min(settled[0].mean(), Math.min(settled[1].mean(), settled[3].mean()));
            double dip = jain.least(TAU / SPACING, TAU / SPACING + 10);
            Finding stabilises = new Finding(
                    "GDRL stabilises after the transients of an abrupt and of a slow change (Fig. 6)",
                    "JFI falls below 0.2 at the abrupt change, and is above 0.95 at the end of every constant segment",
                    LabReport.text(
                            "falls to %.3f; at the ends %.3f, %.3f, %.3f",
                            dip, settled[0].mean(), settled[1].mean(), settled[3].mean()),
                    dip < 0.2 && least >= 0.95);
            double slow = jain.least(2 * TAU / SPACING, 3 * TAU / SPACING);
            double lagging = laggingJain();
            Finding gentle = new Finding(
                    "a slow change disturbs less than an abrupt one; during it q_i is off by the filter's lag, λ'/α (ours)",
                    LabReport.text("JFI stays above the abrupt change's and settles at %.2f, ±0.1", lagging),
                    LabReport.text("least %.3f against %.3f, settles at %.3f", slow, dip, settled[2].mean()),
                    slow > 2 * dip && Math.abs(settled[2].mean() - lagging) < 0.1);
            double alone = filterRecovery();
            Finding filter = new Finding(
                    "the recovery from the abrupt change is the filter's: the ring of ten adds little to it (ours)",
                    LabReport.text("JFI 0.9 after %.0f slots for the filter alone, without noise; ±15%%", alone),
                    LabReport.text("%.0f ± %.0f slots", recovery.mean(), recovery.halfWidth95()),
                    Math.abs(recovery.mean() - alone) < 0.15 * alone);
            return List.of(stabilises, gentle, filter);
        }

        /** Mean square of what the abrupt change moves, (1 − 2i/(N+1))². */
        private static double meanSquareOfChange() {
            double sum = 0;
            for (int i = 0; i < N; i++) {
                double change = 1 - 2 * GdrlSetup.sorted(i, N);
                sum += change * change / N;
            }
            return sum;
        }

        /** When e^−2αt of the change's mean square leaves a JFI of 0.9. */
        private static double filterRecovery() {
            double allowed = GdrlSetup.Q_STAR * GdrlSetup.Q_STAR * (1 / 0.9 - 1);
            return Math.log(meanSquareOfChange() / allowed) / (2 * GdrlSetup.ALPHA);
        }

        private static double laggingJain() {
            double lag = 1 / (GdrlSetup.ALPHA * TAU);
            return GdrlSetup.jainWithError(
                    lag * lag * meanSquareOfChange() + GdrlSetup.filterVariance(GdrlSetup.ALPHA, N));
        }
    }

    /** Half of the limiters double their demand: from a load of 0.9 to one of about 1.36. */
    private static final class Surge {
        private final int limiters;
        private final double rate;
        private final MeanCurve randomDrop = new MeanCurve(SPACING, (SURGE_AT + SURGE_SLOTS) / SPACING);
        private final MeanCurve proportional = new MeanCurve(SPACING, (SURGE_AT + SURGE_SLOTS) / SPACING);
        private final MeanCurve gdrl = new MeanCurve(SPACING, (SURGE_AT + SURGE_SLOTS) / SPACING);
        private final MeanCurve accelerated = new MeanCurve(SPACING, (SURGE_AT + SURGE_SLOTS) / SPACING);
        private final Sample[] peak = {new Sample(), new Sample(), new Sample(), new Sample()};
        private final Sample[] mean = {new Sample(), new Sample(), new Sample(), new Sample()};

        Surge(int limiters) {
            this.limiters = limiters;
            this.rate = GdrlSetup.rate(limiters) / 2;
        }

        private double demand(int limiter, long slot) {
            return GdrlSetup.sorted(limiter, limiters) * (slot >= SURGE_AT && limiter % 2 == 1 ? 1 : 0.5);
        }

        void add(SplittableRandom random) {
            GossipLimiters gossip = new GossipLimiters(limiters, GdrlSetup.ALPHA, rate, this::demand, random.split());
            SlottedLimiters ring =
                    GdrlSetup.limiters(Graph.ring(limiters), GdrlSetup.ALPHA, rate, this::demand, random.split());
            SlottedLimiters fast = new SlottedLimiters(
                    Graph.ring(limiters),
                    EdgeStep.synchronous(Indicator.SPARE_BANDWIDTH, 0.25, 2).accelerated(limiters),
                    GdrlSetup.ALPHA,
                    rate,
                    this::demand,
                    random.split());
            double[] most = new double[SCHEMES.length];
            double[] sum = new double[SCHEMES.length];
            for (int slot = 0; slot < SURGE_AT + SURGE_SLOTS; slot++) {
                gossip.slot();
                ring.slot();
                fast.slot();
                if (slot < SURGE_AT - 1 && slot % SPACING != 0) {
                    continue;
                }
                double[] part = {
                    gossip.admittedByRandomDrop() / rate,
                    gossip.admittedByProportionalShare() / rate,
                    ring.admitted() / rate,
                    fast.admitted() / rate
                };
                if (slot % SPACING == 0) {
                    randomDrop.add(slot / SPACING, part[0]);
                    proportional.add(slot / SPACING, part[1]);
                    gdrl.add(slot / SPACING, part[2]);
                    accelerated.add(slot / SPACING, part[3]);
                }
                if (slot >= SURGE_AT - 1) {
                    for (int scheme = 0; scheme < SCHEMES.length; scheme++) {
                        most[scheme] = Math.max(most[scheme], part[scheme]);
                        sum[scheme] += part[scheme] / (SURGE_SLOTS + 1);
                    }
                }
            }
            for (int scheme = 0; scheme < SCHEMES.length; scheme++) {
                peak[scheme].add(most[scheme]);
                mean[scheme].add(sum[scheme]);
            }
        }
    }

    private static Table surgeTable(Surge[] surges) {
        List<List<Object>> rows = new ArrayList<>();
        for (Surge surge : surges) {
            for (int scheme = 0; scheme < SCHEMES.length; scheme++) {
                rows.add(List.of(
                        surge.limiters,
                        SCHEMES[scheme],
                        MeanCurve.estimate(surge.peak[scheme]),
                        MeanCurve.estimate(surge.mean[scheme])));
            }
        }
        return new Table(
                "Admitted over the limit C in the " + SURGE_SLOTS
                        + " slots after half of the limiters double their demand (alpha 0.001, one gossip round a slot)",
                List.of("limiters", "scheme", "peak / C", "mean / C"),
                rows);
    }

    private static LineChart surgeChart(Surge surge) {
        return new LineChart(
                "gdrl-dynamic-surge",
                "Admitted by all limiters when half of ten double their demand",
                new Axis("time (slots)", false),
                new Axis("admitted / C", false),
                List.of(
                        surge.randomDrop.series("GRD"),
                        surge.proportional.series("FPS"),
                        surge.gdrl.series("GDRL, ring of 10"),
                        surge.accelerated.series("GDRL, ring of 10, accelerated")));
    }

    private static List<Finding> surgeFindings(Surge[] surges) {
        double hardest = 0;
        double leastDrop = Double.POSITIVE_INFINITY;
        double leastShare = Double.POSITIVE_INFINITY;
        StringBuilder drops = new StringBuilder();
        for (Surge surge : surges) {
            hardest = Math.max(hardest, Math.max(surge.peak[2].max(), surge.peak[3].max()));
            leastDrop = Math.min(leastDrop, surge.peak[0].mean());
            leastShare = Math.min(leastShare, surge.peak[1].mean());
            drops.append(LabReport.text(
                    "%sN = %d: %.1f%%", drops.isEmpty() ? "" : ", ", surge.limiters, 100 * (surge.mean[0].mean() - 1)));
        }
        double firstExcess = surges[0].mean[0].mean() - 1;
        return List.of(
                new Finding(
                        "FPS and GRD estimate locally and let the aggregate exceed C for a while; GDRL passes supply and never does",
                        "peaks above C for GRD and FPS at every N, at most C for GDRL",
                        LabReport.text(
                                "least peaks: GRD %.3f C, FPS %.4f C; largest GDRL peak %.6f C",
                                leastDrop, leastShare, hardest),
                        leastDrop > 1.01 && leastShare > 1 && hardest <= 1 + ROUNDING),
                new Finding(
                        "gdrl quotes that GRD fails to limit beyond 50 limiters; ours: when demand rises faster than its estimate,"
                                + " it fails at 10 as well",
                        "mean excess after the surge above 5% already at N = 10, and at N = 500 within half of that",
                        drops.toString(),
                        firstExcess > 0.05
                                && Math.abs(surges[surges.length - 1].mean[0].mean() - 1 - firstExcess)
                                        < firstExcess / 2));
    }
}
