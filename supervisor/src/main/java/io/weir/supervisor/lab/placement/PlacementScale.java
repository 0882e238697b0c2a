package io.weir.supervisor.lab.placement;

import static io.weir.supervisor.lab.LabReport.text;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.placement.algorithm.Assignment;
import io.weir.supervisor.placement.algorithm.BrokerCapacities;
import io.weir.supervisor.placement.algorithm.ClusterPlan;
import io.weir.supervisor.placement.algorithm.PlacedTopic;
import io.weir.supervisor.placement.algorithm.Planner;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.PublisherTable;
import io.weir.supervisor.placement.algorithm.Slo;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * How planning grows: a hundredth as many topics as publishers, topics of very different sizes, publishers of different
 * rates in groups of about ten, on a hundred brokers that are 70% full afterwards. {@code --set publishers=N} sets the
 * largest number.
 */
public final class PlacementScale implements Experiment {
    private static final int BROKERS = 100;
    private static final int PER_TOPIC = 100;
    private static final int GROUP = 10;
    private static final double UTILISATION = 0.7;
    private static final double MOST_SECONDS = 10;
    private static final double MOST_MB = 300;
    private static final double MB = 1 << 20;

    private record Row(
            int publishers,
            double registerSeconds,
            double planSeconds,
            double tableMb,
            double planMb,
            ClusterPlan plan,
            double overfull) {}

    @Override
    public String name() {
        return "placement-scale";
    }

    @Override
    public String summary() {
        return "time and memory to plan up to a million publishers on a hundred brokers";
    }

    @Override
    public String source() {
        return "ours";
    }

    @Override
    public int defaultSeeds() {
        return 1;
    }

    @Override
    public LabReport run(LabRun run) {
        int most = Integer.parseInt(run.options().getOrDefault("publishers", "1000000"));
        List<Row> rows = new ArrayList<>();
        List<Integer> sizes = IntStream.of(most / 100, most / 10, most).boxed().toList();
        for (int publishers : sizes) {
            rows.add(plan(publishers, run.firstSeed()));
            run.progress().at(rows.size(), sizes.size(), publishers + " publishers");
        }
        return new LabReport(List.of(table(rows)), List.of(chart(rows)), findings(rows));
    }

    private static Row plan(int publishers, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        long before = usedBytes();
        long startNs = System.nanoTime();
        PublisherTable table = new PublisherTable();
        int topics = Math.max(1, publishers / PER_TOPIC);
        TopicName[] names = new TopicName[topics];
        for (int t = 0; t < topics; t++) {
            names[t] = new TopicName("topic-" + t);
            table.define(new PlacedTopic(names[t], Limit.of(1_000, 100), Slo.p99(1_000_000)));
        }
        double total = 0;
        for (int id = 0; id < publishers; id++) {
            // By a fourth power: the largest topic has a tenth of all publishers, most have a few dozen.
            double u = random.nextDouble();
            int topic = (int) (u * u * u * u * topics);
            double rate = 1 + 9 * random.nextDouble();
            total += rate;
            table.register(names[topic], id, rate, "g" + random.nextInt(1 + PER_TOPIC / GROUP));
        }
        double registerSeconds = (System.nanoTime() - startNs) / 1e9;
        double tableMb = (usedBytes() - before) / MB;
        double[] mcap = new double[BROKERS];
        Arrays.fill(mcap, total / BROKERS / UTILISATION);
        List<BrokerId> ids =
                IntStream.range(0, BROKERS).mapToObj(i -> new BrokerId("b" + i)).toList();
        BrokerCapacities capacities = new BrokerCapacities(ids, mcap);
        startNs = System.nanoTime();
        ClusterPlan plan = new Planner(Policy.SRTM, random).planAll(table, capacities);
        double planSeconds = (System.nanoTime() - startNs) / 1e9;
        double planMb = (usedBytes() - before) / MB - tableMb;
        Reference.reachabilityFence(table);
        double overfull = 0;
        for (int b = 0; b < BROKERS; b++) {
            overfull = Math.max(overfull, capacities.allocated(b) - capacities.mcap(b));
        }
        return new Row(publishers, registerSeconds, planSeconds, tableMb, planMb, plan, overfull);
    }

    /** What is alive; asks for a collection, since only what stays matters here. */
    private static long usedBytes() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private static Table table(List<Row> rows) {
        List<List<Object>> cells = new ArrayList<>();
        for (Row row : rows) {
            int split = 0;
            int topics = row.publishers() / PER_TOPIC;
            for (int t = 0; t < topics; t++) {
                split += row.plan().brokersUsed(t) > 1 ? 1 : 0;
            }
            cells.add(List.of(
                    row.publishers(),
                    topics,
                    row.registerSeconds(),
                    row.planSeconds(),
                    1e9 * row.planSeconds() / row.publishers(),
                    row.tableMb(),
                    row.planMb(),
                    split,
                    row.plan().unplaced()));
        }
        return new Table(
                "Planning for 100 brokers, srtm",
                List.of(
                        "publishers",
                        "topics",
                        "register (s)",
                        "plan (s)",
                        "plan: ns a publisher",
                        "table (MB alive)",
                        "plan (MB alive)",
                        "topics on several brokers",
                        "unplaced"),
                cells);
    }

    private static LineChart chart(List<Row> rows) {
        double[] xs = rows.stream().mapToDouble(Row::publishers).toArray();
        return new LineChart(
                "placement-scale",
                "Planning for 100 brokers",
                new Axis("publishers", true),
                new Axis("seconds", true),
                List.of(
                        new Series(
                                "register",
                                xs,
                                rows.stream().mapToDouble(Row::registerSeconds).toArray(),
                                false),
                        new Series(
                                "plan",
                                xs,
                                rows.stream().mapToDouble(Row::planSeconds).toArray(),
                                false)));
    }

    private static List<Finding> findings(List<Row> rows) {
        Row last = rows.get(rows.size() - 1);
        boolean placed = true;
        double overfull = 0;
        for (Row row : rows) {
            for (int p = 0; p < row.publishers(); p++) {
                placed &= row.plan().home(p) != Assignment.UNPLACED;
            }
            overfull = Math.max(overfull, row.overfull());
        }
        return List.of(
                new Finding(
                        "Planning takes seconds, not minutes",
                        text("at most %.0f s for %,d publishers", MOST_SECONDS, last.publishers()),
                        text("%.2f s, and %.2f s to register them", last.planSeconds(), last.registerSeconds()),
                        last.planSeconds() < MOST_SECONDS),
                new Finding(
                        "In a few hundred MB",
                        text("at most %.0f MB alive", MOST_MB),
                        text(
                                "%.0f MB for the publishers, %.0f MB for the plan and its reasons",
                                last.tableMb(), last.planMb()),
                        last.tableMb() + last.planMb() < MOST_MB),
                new Finding(
                        "Everybody is placed and no broker is overfull",
                        "brokers 70% full on average",
                        text("%s; overfull by %.0f msg/s", placed ? "all placed" : "some are not", overfull),
                        placed && overfull <= 1e-6));
    }
}
