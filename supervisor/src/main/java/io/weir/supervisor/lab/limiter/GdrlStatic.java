package io.weir.supervisor.lab.limiter;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.EdgeStep;
import io.weir.limiter.algorithm.Graph;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.SynchronousGdrl;
import io.weir.limiter.simulation.Sample;
import io.weir.limiter.simulation.SlottedLimiters;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.MeanCurve;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * gdrl III-A: ten limiters on a ring under constant demand, q(t) and JFI(q(t)); how much the filter's noise costs; and
 * the same ring with each of the five indicators, in both forms.
 */
public final class GdrlStatic implements Experiment {
    private static final int N = 10;
    private static final int SLOTS = 10_000;
    private static final int SPACING = 100;
    private static final double[] ALPHAS = {1e-2, 1e-3, 1e-4};
    private static final int MAX_ROUNDS = 20_000;

    @Override
    public String name() {
        return "gdrl-static";
    }

    @Override
    public String summary() {
        return "ten limiters on a ring equalise their spare bandwidth under constant demand";
    }

    @Override
    public String source() {
        return "GDRL, Fig. 3 and 4, eq. 9 and 17";
    }

    @Override
    public int defaultSeeds() {
        return 10;
    }

    @Override
    public LabReport run(LabRun run) {
        Evolution evolution = new Evolution();
        Sample[] jains = {new Sample(), new Sample(), new Sample()};
        Sample[] pairwise = new Sample[Indicator.values().length];
        Arrays.setAll(pairwise, i -> new Sample());
        int done = 0;
        for (long seed : run.seedStream().toArray()) {
            SplittableRandom random = new SplittableRandom(seed);
            evolution.add(random.split());
            for (int a = 0; a < ALPHAS.length; a++) {
                jains[a].add(settledJain(ALPHAS[a], random.split()));
            }
            for (Indicator indicator : Indicator.values()) {
                pairwise[indicator.ordinal()].add(pairwiseRounds(indicator, random.split()));
            }
            run.progress().at(++done, run.seeds(), "seed " + seed);
        }
        int[] synchronous = new int[pairwise.length];
        int[] asPrinted = new int[pairwise.length];
        for (Indicator indicator : Indicator.values()) {
            synchronous[indicator.ordinal()] = synchronousRounds(indicator, false);
            asPrinted[indicator.ordinal()] = synchronousRounds(indicator, true);
        }
        return new LabReport(
                List.of(evolution.table(), filterTable(jains), indicatorTable(synchronous, pairwise, asPrinted)),
                List.of(evolution.fig3(), evolution.fig4()),
                List.of(
                        evolution.equalised(),
                        evolution.jainCloseToOne(),
                        evolution.conserved(),
                        filterFinding(jains),
                        indicatorFinding(synchronous, pairwise)));
    }

    /** Figures 3 and 4 over all seeds. */
    private static final class Evolution {
        private final MeanCurve[] q = new MeanCurve[N];
        private final MeanCurve jain = new MeanCurve(SPACING, SLOTS / SPACING);
        private final Sample[] settledQ = new Sample[N];
        private final Sample[] settledSupply = new Sample[N];
        private final Sample settledJain = new Sample();
        private long slotsOffTheTotal;
        private double leastSupply = Double.POSITIVE_INFINITY;

        Evolution() {
            for (int i = 0; i < N; i++) {
                q[i] = new MeanCurve(SPACING, SLOTS / SPACING);
                settledQ[i] = new Sample();
                settledSupply[i] = new Sample();
            }
        }

        void add(SplittableRandom random) {
            SlottedLimiters limiters = ring(GdrlSetup.ALPHA, random);
            long total = Math.round(GdrlSetup.rate(N) * Limit.MICROS);
            double[] meanQ = new double[N];
            double meanJain = 0;
            for (int slot = 0; slot < SLOTS; slot++) {
                if (slot % SPACING == 0) {
                    for (int i = 0; i < N; i++) {
                        q[i].add(slot / SPACING, limiters.q(i));
                    }
                    jain.add(slot / SPACING, limiters.jain());
                }
                limiters.slot();
                slotsOffTheTotal += limiters.totalSupplyMicros() == total ? 0 : 1;
                for (int i = 0; i < N; i++) {
                    leastSupply = Math.min(leastSupply, limiters.supply(i));
                    meanQ[i] += slot < SLOTS / 2 ? 0 : limiters.q(i) / (SLOTS / 2);
                }
                meanJain += slot < SLOTS / 2 ? 0 : limiters.jain() / (SLOTS / 2);
            }
            for (int i = 0; i < N; i++) {
                settledQ[i].add(meanQ[i]);
                settledSupply[i].add(GdrlSetup.sorted(i, N) - meanQ[i]);
            }
            settledJain.add(meanJain);
        }

        Table table() {
            List<List<Object>> rows = new ArrayList<>();
            for (int i = 0; i < N; i++) {
                rows.add(List.of(
                        i + 1,
                        GdrlSetup.sorted(i, N),
                        MeanCurve.estimate(settledSupply[i]),
                        MeanCurve.estimate(settledQ[i]),
                        1 / -settledQ[i].mean()));
            }
            return new Table(
                    "Limiters after " + SLOTS / 2 + " slots (ring of 10, gain 1/4, alpha 0.001, C = 1.1 Λ)",
                    List.of("limiter", "λ_i", "C_i", "q_i = λ_i − C_i", "1/(C_i − λ_i), slots"),
                    rows);
        }

        LineChart fig3() {
            return GdrlSetup.indicatorChart(
                    "gdrl-static-q", "Performance indicators q(t), as GDRL Fig. 3", "q_i(t) = λ_i − C_i(t)", q);
        }

        LineChart fig4() {
            return GdrlSetup.fairnessChart("gdrl-static-jfi", "JFI(q(t)), as GDRL Fig. 4", jain);
        }

        Finding equalised() {
            double furthest = 0;
            for (Sample sample : settledQ) {
                furthest = Math.max(furthest, Math.abs(sample.mean() - GdrlSetup.Q_STAR));
            }
            return new Finding(
                    "the q_i converge to (approximately) the same value (Fig. 3)",
                    LabReport.text(
                            "all at (Λ − C)/N = %.3f, within a fifth of it; they start up to %.2f away",
                            GdrlSetup.Q_STAR, GdrlSetup.sorted(N - 1, N) - 0.5),
                    LabReport.text("at most %.4f away after %d slots", furthest, SLOTS / 2),
                    furthest < Math.abs(GdrlSetup.Q_STAR) / 5);
        }

        Finding jainCloseToOne() {
            return new Finding(
                    "JFI(q) converges to the region very close to 1 (Fig. 4)",
                    "at least 0.95 in the second half, from below 0.1 at the start",
                    LabReport.text("%.4f, from %.3f at the start", settledJain.mean(), jain.at(0)),
                    settledJain.mean() >= 0.95 && jain.at(0) < 0.1);
        }

        Finding conserved() {
            return new Finding(
                    "the capacity constraint ΣC_i = C holds at all t (Lemma 1)",
                    "to the last micro-token in every slot of every run, and no C_i below 0",
                    LabReport.text("%d slots off, least C_i %.4f", slotsOffTheTotal, leastSupply),
                    slotsOffTheTotal == 0 && leastSupply >= 0);
        }
    }

    private static SlottedLimiters ring(double alpha, SplittableRandom random) {
        return GdrlSetup.limiters(Graph.ring(N), alpha, GdrlSetup.rate(N), (i, slot) -> GdrlSetup.sorted(i, N), random);
    }

    /** The mean JFI over thirty times the filter's memory, after ten times to settle. */
    private static double settledJain(double alpha, SplittableRandom random) {
        SlottedLimiters limiters = ring(alpha, random);
        long settled = Math.round(10 / alpha);
        double sum = 0;
        for (long slot = 0; slot < 4 * settled; slot++) {
            limiters.slot();
            sum += slot < settled ? 0 : limiters.jain();
        }
        return sum / (3 * settled);
    }

    private static double predictedJain(double alpha) {
        return GdrlSetup.jainWithError(GdrlSetup.filterVariance(alpha, N));
    }

    private static Table filterTable(Sample[] jains) {
        List<List<Object>> rows = new ArrayList<>();
        for (int a = 0; a < ALPHAS.length; a++) {
            rows.add(List.of(ALPHAS[a], MeanCurve.estimate(jains[a]), predictedJain(ALPHAS[a])));
        }
        return new Table(
                "What the noise of the estimates costs",
                List.of("alpha", "JFI(q)", "predicted from the filter's variance"),
                rows);
    }

    private static Finding filterFinding(Sample[] jains) {
        boolean holds = true;
        StringBuilder offsets = new StringBuilder();
        for (int a = 0; a < ALPHAS.length; a++) {
            double offset = 1 - jains[a].mean();
            double predicted = 1 - predictedJain(ALPHAS[a]);
            holds &= Math.abs(offset - predicted) < 0.3 * predicted;
            holds &= a == 0 || offset < (1 - jains[a - 1].mean()) / 3;
            offsets.append(LabReport.text("%s%.4f", a == 0 ? "" : ", ", offset));
        }
        return new Finding(
                "the offset of JFI from 1 is the estimate's noise and can be made arbitrarily small by a small alpha",
                LabReport.text(
                        "for alpha 0.01, 0.001, 0.0001: %.4f, %.4f, %.4f (from the filter's variance, ±30%%)",
                        1 - predictedJain(ALPHAS[0]), 1 - predictedJain(ALPHAS[1]), 1 - predictedJain(ALPHAS[2])),
                offsets.toString(),
                holds);
    }

    private static long[] demands() {
        long[] demands = new long[N];
        Arrays.setAll(demands, i -> Math.round(1_000 * Limit.MICROS * GdrlSetup.sorted(i, N)));
        return demands;
    }

    private static long[] supplies() {
        return SynchronousGdrl.evenSplit(Math.round(1_000 * Limit.MICROS * GdrlSetup.rate(N)), N);
    }

    /** Rounds until all q are within a hundredth of the range in which they started; demand known exactly. */
    private static int synchronousRounds(Indicator indicator, boolean asPrinted) {
        long[] supplies = supplies();
        long[] demands = demands();
        double unit = indicator == Indicator.SPARE_BANDWIDTH ? 0.5 : 1;
        EdgeStep step = asPrinted
                ? EdgeStep.synchronousAsPrinted(
                        indicator, EdgeStep.largestPrintedGain(indicator, supplies, demands) / 2, 2, supplies, demands)
                : EdgeStep.synchronous(indicator, unit / 2, 2);
        SynchronousGdrl gdrl = new SynchronousGdrl(Graph.ring(N), step);
        double start = range(indicator, supplies, demands);
        int rounds = 0;
        while (range(indicator, supplies, demands) > start / 100 && rounds < MAX_ROUNDS) {
            gdrl.round(supplies, demands);
            rounds++;
        }
        return rounds;
    }

    /** The same for the pairwise form, edges in random order; N exchanges are a round. */
    private static double pairwiseRounds(Indicator indicator, SplittableRandom random) {
        long[] supplies = supplies();
        long[] demands = demands();
        Graph graph = Graph.ring(N);
        EdgeStep step = EdgeStep.pairwise(indicator, indicator == Indicator.SPARE_BANDWIDTH ? 0.5 : 1);
        double start = range(indicator, supplies, demands);
        int exchanges = 0;
        while (range(indicator, supplies, demands) > start / 100 && exchanges < N * MAX_ROUNDS) {
            int edge = random.nextInt(graph.edges());
            int i = graph.first(edge);
            int j = graph.second(edge);
            long move = step.toFirst(supplies[i], demands[i], supplies[j], demands[j]);
            supplies[i] += move;
            supplies[j] -= move;
            exchanges++;
        }
        return exchanges / (double) N;
    }

    private static double range(Indicator indicator, long[] supplies, long[] demands) {
        double least = Double.POSITIVE_INFINITY;
        double most = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < supplies.length; i++) {
            double q = indicator.q(supplies[i], demands[i]);
            least = Math.min(least, q);
            most = Math.max(most, q);
        }
        return most - least;
    }

    private static Table indicatorTable(int[] synchronous, Sample[] pairwise, int[] asPrinted) {
        List<List<Object>> rows = new ArrayList<>();
        for (Indicator indicator : Indicator.values()) {
            int i = indicator.ordinal();
            rows.add(List.of(
                    indicator.label(),
                    synchronous[i],
                    MeanCurve.estimate(pairwise[i]),
                    asPrinted[i] == MAX_ROUNDS ? "> " + MAX_ROUNDS : asPrinted[i]));
        }
        return new Table(
                "Rounds until the q_i are within 1% of their first range, demand known, each at its largest gain",
                List.of("indicator", "synchronous", "pairwise", "eq. 7 as printed, Theorem 1's gain"), rows);
    }

    private static Finding indicatorFinding(int[] synchronous, Sample[] pairwise) {
        int slowest = Arrays.stream(synchronous).max().getAsInt();
        double slowestPairwise =
                Arrays.stream(pairwise).mapToDouble(Sample::max).max().getAsDouble();
        return new Finding(
                "GDRL solves the problem for every indicator that is falling and convex (Theorem 1; pairwise: Theorem 2)",
                "all five indicators converge in both forms, within 1,000 rounds",
                LabReport.text("slowest %d rounds synchronous, %.0f pairwise", slowest, slowestPairwise),
                slowest < 1_000 && slowestPairwise < 1_000);
    }
}
