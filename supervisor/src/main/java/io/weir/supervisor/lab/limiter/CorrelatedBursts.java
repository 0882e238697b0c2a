package io.weir.supervisor.lab.limiter;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.algorithm.Graph;
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
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * "If you split the load, split the burst" (SRTM 4.3, Fig. 9 and 10): 1,000 publishers of 10 msg/s in batches of ten,
 * those of a correlation group at the same instants, over six brokers. Groups together on one broker, dealt out
 * blindly, and spread over all brokers; and what borrowing makes of groups that are together.
 */
public final class CorrelatedBursts implements Experiment {
    private static final int PUBLISHERS = 1_000;
    private static final double MESSAGES_PER_SECOND = 10;
    private static final int BATCH = 10;
    private static final int BROKERS = 6;
    private static final List<Integer> GROUP_SIZES = List.of(5, 10, 20, 30);
    private static final double MARGIN = 0.1;
    private static final double WARM_UP_SECONDS = 6;
    private static final double UNTIL_SECONDS = 46;
    private static final long LINK_NS = 50_000;

    /** Where the publishers of a group are, in the order of the table. */
    private enum Design {
        CENTRAL("one bucket"),
        TOGETHER("together"),
        BLIND("dealt out blindly"),
        SPREAD("spread"),
        BORROWING("together, borrowing");

        final String label;

        Design(String label) {
            this.label = label;
        }

        Placement placement(int groupSize, SplittableRandom random) {
            return switch (this) {
                case CENTRAL -> publisher -> 0;
                case TOGETHER, BORROWING -> Placement.together(BROKERS, groupSize);
                case SPREAD -> Placement.spread(BROKERS);
                case BLIND -> {
                    int[] places = shuffled(random);
                    yield publisher -> places[publisher] % BROKERS;
                }
            };
        }

        Setup setup(Limit limit) {
            Setup setup = Setup.of(limit, this == CENTRAL ? 1 : BROKERS, SimulatedLinks.perfect(LINK_NS));
            return this == BORROWING
                    ? setup.borrowing(Graph.ring(
                            BROKERS, IntStream.rangeClosed(2, BROKERS / 2).toArray()))
                    : setup;
        }
    }

    private record Key(Design design, int groupSize) {}

    @Override
    public String name() {
        return "correlated-bursts";
    }

    @Override
    public String summary() {
        return "publishers that send at the same time: on one broker together, or spread over all";
    }

    @Override
    public String source() {
        return "SRTM, 4.3 and Fig. 9, 10";
    }

    @Override
    public int defaultSeeds() {
        return 4;
    }

    @Override
    public LabReport run(LabRun run) {
        Map<Integer, Limit> limits = new LinkedHashMap<>();
        Map<Key, LimiterTrial.Plan> plans = new LinkedHashMap<>();
        for (int groupSize : GROUP_SIZES) {
            Limit limit = limit(groupSize);
            limits.put(groupSize, limit);
            for (Design design : Design.values()) {
                plans.put(
                        new Key(design, groupSize),
                        new LimiterTrial.Plan(
                                design.setup(limit),
                                random -> arrivals(
                                        groupSize, design.placement(groupSize, random.split()), random.split()),
                                WARM_UP_SECONDS,
                                UNTIL_SECONDS));
            }
        }
        Map<Key, LimiterTrial> trials = LimiterTrial.run(plans, run);
        return new LabReport(
                List.of(
                        table(
                                "99th percentile of the access delay in ms, six brokers, static split",
                                limits,
                                trials,
                                false),
                        table("Part of the messages that wait", limits, trials, true)),
                List.of(chart(trials)),
                findings(trials));
    }

    private static PublisherArrivals arrivals(int groupSize, Placement placement, SplittableRandom random) {
        return new PublisherArrivals(PUBLISHERS, MESSAGES_PER_SECOND, BATCH, groupSize, placement, random);
    }

    /**
     * r 10% above the rate, and the smallest b with a 99th percentile of zero in one bucket, as the paper sets them, by
     * the model (its footnote 8): a group's bursts of X messages are the messages of an M/D/1 queue with tokens of X. A
     * trace would have to be hours long, since a busy period lasts X times as long as one of single messages.
     */
    private static Limit limit(int groupSize) {
        double rate = PUBLISHERS / groupSize * groupSize * MESSAGES_PER_SECOND;
        long burst = new BucketModel(rate, (1 + MARGIN) * rate, 1).smallestBurst(0.99);
        return Limit.of((1 + MARGIN) * rate, (double) burst * groupSize * BATCH);
    }

    private static int[] shuffled(SplittableRandom random) {
        int[] places = IntStream.range(0, PUBLISHERS).toArray();
        for (int i = places.length - 1; i > 0; i--) {
            int j = random.nextInt(i + 1);
            int place = places[i];
            places[i] = places[j];
            places[j] = place;
        }
        return places;
    }

    private static Table table(
            String title, Map<Integer, Limit> limits, Map<Key, LimiterTrial> trials, boolean delayedPart) {
        List<String> columns = new ArrayList<>(List.of("group size", "r", "b"));
        for (Design design : Design.values()) {
            columns.add(design.label);
        }
        List<List<Object>> rows = new ArrayList<>();
        limits.forEach((groupSize, limit) -> {
            List<Object> row = new ArrayList<>(List.of(groupSize, limit.ratePerSecond(), limit.burstMessages()));
            for (Design design : Design.values()) {
                LimiterTrial trial = trials.get(new Key(design, groupSize));
                row.add(estimate(delayedPart ? trial.delayedPart : trial.p99Ms));
            }
            rows.add(row);
        });
        return new Table(title, columns, rows);
    }

    private static LineChart chart(Map<Key, LimiterTrial> trials) {
        double[] sizes = GROUP_SIZES.stream().mapToDouble(Integer::doubleValue).toArray();
        List<Series> series = new ArrayList<>();
        for (Design design : Design.values()) {
            series.add(new Series(
                    design.label,
                    sizes,
                    GROUP_SIZES.stream()
                            .mapToDouble(size ->
                                    trials.get(new Key(design, size)).p99Ms.mean())
                            .toArray(),
                    false));
        }
        return new LineChart(
                "correlated-bursts",
                "Correlated publishers over six brokers (SRTM Fig. 9a)",
                new Axis("correlation group size", false),
                new Axis("99th percentile access delay (ms)", true),
                series);
    }

    private static List<Finding> findings(Map<Key, LimiterTrial> trials) {
        boolean ordered = true;
        boolean nearCentral = true;
        boolean borrowingHelps = true;
        StringBuilder delays = new StringBuilder();
        StringBuilder parts = new StringBuilder();
        StringBuilder borrowed = new StringBuilder();
        for (int size : GROUP_SIZES) {
            LimiterTrial central = trials.get(new Key(Design.CENTRAL, size));
            LimiterTrial together = trials.get(new Key(Design.TOGETHER, size));
            LimiterTrial blind = trials.get(new Key(Design.BLIND, size));
            LimiterTrial spread = trials.get(new Key(Design.SPREAD, size));
            LimiterTrial borrowing = trials.get(new Key(Design.BORROWING, size));
            ordered &= spread.p99Ms.mean() <= blind.p99Ms.mean() && blind.p99Ms.mean() < together.p99Ms.mean();
            nearCentral &= spread.delayedPart.mean() - central.delayedPart.mean()
                    < (together.delayedPart.mean() - central.delayedPart.mean()) / 10;
            borrowingHelps &= borrowing.p99Ms.mean() < together.p99Ms.mean() / 10;
            delays.append(text(
                    "%s%d: %.2f, %.2f, %.0f ms",
                    delays.isEmpty() ? "" : "; ",
                    size,
                    spread.p99Ms.mean(),
                    blind.p99Ms.mean(),
                    together.p99Ms.mean()));
            parts.append(text(
                    "%s%d: %.4f, %.4f, %.4f",
                    parts.isEmpty() ? "" : "; ",
                    size,
                    central.delayedPart.mean(),
                    spread.delayedPart.mean(),
                    together.delayedPart.mean()));
            borrowed.append(text(
                    "%s%d: %.1f against %.0f ms",
                    borrowed.isEmpty() ? "" : "; ", size, borrowing.p99Ms.mean(), together.p99Ms.mean()));
        }
        return List.of(
                new Finding(
                        "4.3: spreading a correlation group over the brokers mitigates the DRL penalty (Fig. 10: Max-Min, "
                                + "blind to groups, is worse with as many brokers)",
                        "spread ≤ blind < together for every group size",
                        delays.toString(),
                        ordered),
                new Finding(
                        "2.1: if the burst is split as the bucket is, the odds of waiting are mostly unchanged",
                        "spread adds less than a tenth of what together adds to one bucket's part of waiting messages",
                        parts + " (one bucket, spread, together)",
                        nearCentral),
                new Finding(
                        "Borrowing makes up for groups that are together (ours)",
                        "99th percentile below a tenth of the static split's",
                        borrowed.toString(),
                        borrowingHelps));
    }
}
