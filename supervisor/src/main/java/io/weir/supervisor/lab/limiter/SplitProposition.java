package io.weir.supervisor.lab.limiter;

import static io.weir.supervisor.lab.LabReport.text;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.limiter.simulation.ArrivalProcess;
import io.weir.limiter.simulation.BucketSplit;
import io.weir.limiter.simulation.Sample;
import io.weir.limiter.simulation.ShapedArrivals;
import io.weir.limiter.simulation.SplitComparison;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Splitting a bucket never helps (SRTM, Proposition 1), on five kinds of arrivals: through one bucket, through k even
 * shares, and, because the proposition holds however bucket and messages are split, through k random shares as well.
 */
public final class SplitProposition implements Experiment {
    private static final Limit LIMIT = Limit.of(1_000, 24);
    private static final double LOAD = 0.9;
    private static final int MESSAGES = 20_000;
    private static final int MODEL_MESSAGES = 100_000;
    private static final int MAX_K = 6;

    /** Load and burst of the model's comparison: few enough messages wait to tell Eq. 1 from the exact mean. */
    private static final double[][] MODELS = {{0.5, 3}, {0.8, 4}, {0.8, 8}};

    @Override
    public String name() {
        return "split-proposition";
    }

    @Override
    public String summary() {
        return "splitting a token bucket never shortens the sum of the waits, whatever the arrivals";
    }

    @Override
    public String source() {
        return "SRTM, Proposition 1 and Eq. 1";
    }

    @Override
    public int defaultSeeds() {
        return 20;
    }

    @Override
    public LabReport run(LabRun run) {
        Map<ArrivalProcess, Outcome[]> outcomes = new EnumMap<>(ArrivalProcess.class);
        for (ArrivalProcess process : ArrivalProcess.values()) {
            Outcome[] byK = new Outcome[MAX_K + 1];
            for (int k = 1; k <= MAX_K; k++) {
                byK[k] = new Outcome();
            }
            outcomes.put(process, byK);
        }
        Verdict verdict = new Verdict();
        Sample[] modelDelays = new Sample[MODELS.length];
        for (int m = 0; m < MODELS.length; m++) {
            modelDelays[m] = new Sample();
        }

        int done = 0;
        for (long seed : run.seedStream().toArray()) {
            SplittableRandom random = new SplittableRandom(seed);
            for (ArrivalProcess process : ArrivalProcess.values()) {
                replay(process, random.split(), outcomes.get(process), verdict);
            }
            for (int m = 0; m < MODELS.length; m++) {
                simulate(MODELS[m][0], MODELS[m][1], random.split(), modelDelays[m]);
            }
            run.progress().at(++done, run.seeds(), "seed " + seed);
        }
        List<Finding> findings = new ArrayList<>(verdict.findings());
        findings.add(kFold(outcomes.get(ArrivalProcess.POISSON)));
        findings.add(synchronisedBursts(outcomes));
        findings.add(exactMean(modelDelays));
        return new LabReport(
                List.of(delayTable(outcomes), modelTable(modelDelays)),
                List.of(chart(outcomes)),
                List.copyOf(findings));
    }

    /** What the seeds gave for one process and one k. */
    private static final class Outcome {
        final Sample meanDelayMs = new Sample();
        final Sample delayedPart = new Sample();
        final Sample leftEarlierPart = new Sample();

        void add(ShapedArrivals shaped, SplitComparison comparison) {
            long sumNs = 0;
            int delayed = 0;
            for (int i = 0; i < shaped.messages(); i++) {
                sumNs += shaped.delayNs(i);
                delayed += shaped.delayNs(i) > 0 ? 1 : 0;
            }
            meanDelayMs.add(sumNs / 1e6 / shaped.messages());
            delayedPart.add(delayed / (double) shaped.messages());
            leftEarlierPart.add(comparison.leftEarlier() / (double) shaped.messages());
        }
    }

    /** The proposition over all comparisons. */
    private static final class Verdict {
        int comparisons;
        int sumBelow;
        int departureBefore;
        int someLeftEarlier;

        void add(SplitComparison comparison) {
            comparisons++;
            sumBelow += comparison.leastSumGapNs() < 0 ? 1 : 0;
            departureBefore += comparison.leastLeadNs() < 0 ? 1 : 0;
            someLeftEarlier += comparison.leftEarlier() > 0 ? 1 : 0;
        }

        List<Finding> findings() {
            return List.of(
                    new Finding(
                            "Proposition 1: the running sum of the delays of a split is never below the whole's",
                            "S^(k)(t) ≥ S(t) for every t, irrespective of how messages are distributed",
                            sumBelow + " of " + comparisons + " comparisons have a t where it is below",
                            sumBelow == 0),
                    new Finding(
                            "Its proof: never fewer messages wait in a split",
                            "N(t) ≤ Σ N_l(t) for every t: the n-th departure is never earlier",
                            departureBefore + " of " + comparisons + " comparisons have an n that is",
                            departureBefore == 0),
                    new Finding(
                            "It holds of the sum, not of each message (ours: the paper claims the sum only)",
                            "in some split, some message overtakes those it would have queued behind",
                            "so it was in " + someLeftEarlier + " of " + comparisons + " comparisons",
                            someLeftEarlier > 0));
        }
    }

    private static void replay(ArrivalProcess process, SplittableRandom random, Outcome[] byK, Verdict verdict) {
        long[] arrivals = process.arrivalsNs(MESSAGES, LOAD * LIMIT.ratePerSecond(), random);
        ShapedArrivals whole = ShapedArrivals.through(full(LIMIT), arrivals);
        byK[1].add(whole, SplitComparison.of(whole, whole));
        for (int k = 2; k <= MAX_K; k++) {
            int[] bucketOf = process == ArrivalProcess.BATCHES ? inTurn(k) : atRandom(k, random);
            ShapedArrivals even =
                    ShapedArrivals.through(BucketSplit.even(LIMIT, k).buckets(0), arrivals, bucketOf);
            SplitComparison comparison = SplitComparison.of(whole, even);
            byK[k].add(even, comparison);
            verdict.add(comparison);

            BucketSplit uneven = BucketSplit.random(LIMIT, k, random);
            verdict.add(SplitComparison.of(
                    whole, ShapedArrivals.through(uneven.buckets(0), arrivals, atRandom(k, random))));
        }
    }

    /** Synchronised publishers spread over all shares: the split splits the burst. */
    private static int[] inTurn(int k) {
        int[] bucketOf = new int[MESSAGES];
        for (int i = 0; i < MESSAGES; i++) {
            bucketOf[i] = i % k;
        }
        return bucketOf;
    }

    private static int[] atRandom(int k, SplittableRandom random) {
        return random.ints(MESSAGES, 0, k).toArray();
    }

    /** Adds the mean delay of each of five blocks, so that even one seed has an interval. */
    private static void simulate(double load, double burst, SplittableRandom random, Sample meanDelaysMs) {
        long[] arrivals = ArrivalProcess.POISSON.arrivalsNs(MODEL_MESSAGES, load * 1_000, random);
        ShapedArrivals shaped = ShapedArrivals.through(full(Limit.of(1_000, burst)), arrivals);
        int block = MODEL_MESSAGES / 5;
        for (int start = 0; start < MODEL_MESSAGES; start += block) {
            double sumNs = 0;
            for (int i = start; i < start + block; i++) {
                sumNs += shaped.delayNs(i);
            }
            meanDelaysMs.add(sumNs / block / 1e6);
        }
    }

    private static TokenBucket full(Limit limit) {
        return new TokenBucket(limit.rateMicros(), limit.burstMicros(), limit.burstMicros(), 0);
    }

    private static Table delayTable(Map<ArrivalProcess, Outcome[]> outcomes) {
        List<List<Object>> rows = new ArrayList<>();
        outcomes.forEach((process, byK) -> {
            for (int k = 1; k <= MAX_K; k++) {
                rows.add(List.of(
                        process.label(),
                        k,
                        estimate(byK[k].meanDelayMs, 1),
                        estimate(byK[k].delayedPart, 100),
                        estimate(byK[k].leftEarlierPart, 100)));
            }
        });
        return new Table(
                text("Access delay in k even shares of r = 1000 msg/s, b = 24 at load %.1f", LOAD),
                List.of("arrivals", "k", "mean delay [ms]", "delayed [%]", "left earlier than with k = 1 [%]"),
                rows);
    }

    private static Table modelTable(Sample[] modelDelays) {
        List<List<Object>> rows = new ArrayList<>();
        for (int m = 0; m < MODELS.length; m++) {
            BucketModel model = model(m);
            rows.add(List.of(
                    MODELS[m][0],
                    MODELS[m][1],
                    estimate(modelDelays[m], 1),
                    model.meanDelaySeconds() * 1_000,
                    model.meanDelayByEq1Seconds() * 1_000));
        }
        return new Table(
                "Mean access delay of Poisson messages at r = 1000 msg/s",
                List.of("load", "b", "simulated [ms]", "exact model [ms]", "Eq. 1 [ms]"),
                rows);
    }

    private static LineChart chart(Map<ArrivalProcess, Outcome[]> outcomes) {
        List<Series> series = new ArrayList<>();
        outcomes.forEach((process, byK) -> {
            double[] ks = new double[MAX_K];
            double[] means = new double[MAX_K];
            for (int k = 1; k <= MAX_K; k++) {
                ks[k - 1] = k;
                means[k - 1] = byK[k].meanDelayMs.mean();
            }
            series.add(new Series(process.label(), ks, means, false));
        });
        return new LineChart(
                "split-proposition",
                "Splitting a token bucket never helps",
                new Axis("number of sub-token buckets k", false),
                new Axis("mean access delay [ms]", true),
                series);
    }

    /** Eq. 1's consequence: 1/(2r_l) alone gives the factor k, and the smaller buckets add to it. */
    private static Finding kFold(Outcome[] poisson) {
        boolean holds = true;
        StringBuilder measured = new StringBuilder();
        for (int k : new int[] {2, 3, 6}) {
            double factor = poisson[k].meanDelayMs.mean() / poisson[1].meanDelayMs.mean();
            holds &= factor >= k;
            measured.append(text("%s%.1f-fold at k = %d", measured.isEmpty() ? "" : ", ", factor, k));
        }
        return new Finding(
                "Poisson: splitting k ways raises the access delay at least k-fold (section 2.1)",
                "a factor of k or more",
                measured.toString(),
                holds);
    }

    private static Finding synchronisedBursts(Map<ArrivalProcess, Outcome[]> outcomes) {
        double batches = delayedFactor(outcomes.get(ArrivalProcess.BATCHES));
        double poisson = delayedFactor(outcomes.get(ArrivalProcess.POISSON));
        return new Finding(
                "Synchronised publishers spread over the shares: the odds of a delay are mostly unchanged (section 2.1)",
                "P(U_2 > b/2 − 1) ≈ P(U > b − 1): within 10% at k = 2, while for Poisson it grows",
                text("%.2f times the odds; Poisson %.2f times", batches, poisson),
                Math.abs(batches - 1) < 0.1 && poisson > 1.1);
    }

    private static double delayedFactor(Outcome[] byK) {
        return byK[2].delayedPart.mean() / byK[1].delayedPart.mean();
    }

    /** Where the paper can't be right: its mean wait of those that wait is that of b = 1. */
    private static Finding exactMean(Sample[] modelDelays) {
        boolean fits = true;
        boolean nearer = true;
        StringBuilder measured = new StringBuilder();
        for (int m = 0; m < MODELS.length; m++) {
            double simulated = modelDelays[m].mean();
            double exactOff = model(m).meanDelaySeconds() * 1_000 / simulated - 1;
            double eq1Off = model(m).meanDelayByEq1Seconds() * 1_000 / simulated - 1;
            // Twice the 95% interval: of three comparisons none shall fail by chance.
            double noise = 2 * modelDelays[m].halfWidth95() / simulated;
            fits &= Math.abs(exactOff) <= noise;
            nearer &= m > 0 || Math.abs(exactOff) < Math.abs(eq1Off);
            measured.append(text(
                    "%sload %.1f, b = %.0f: exact %+.1f%%, Eq. 1 %+.1f%%, noise ±%.1f%%",
                    measured.isEmpty() ? "off the simulation by, at " : "; ",
                    MODELS[m][0],
                    MODELS[m][1],
                    exactOff * 100,
                    eq1Off * 100,
                    noise * 100));
        }
        return new Finding(
                "Mean delay (ours: Eq. 1's mean wait 1/(2r(1−λ/r)) is true for b = 1 only, and too long beyond)",
                "the exact M/D/1 mean lies within the simulation's noise, and at load 0.5 nearer to it than Eq. 1",
                measured.toString(),
                fits && nearer);
    }

    private static BucketModel model(int m) {
        return new BucketModel(MODELS[m][0] * 1_000, 1_000, MODELS[m][1]);
    }

    private static Estimate estimate(Sample sample, double unit) {
        return new Estimate(sample.mean() * unit, sample.halfWidth95() * unit);
    }
}
