package io.weir.supervisor.lab.limiter;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.simulation.Sample;
import io.weir.limiter.simulation.supply.SharingWorld;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Origin;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * How long supply takes to a hot spot on rings of 3 to 100 brokers, with a broker's own classes and times
 * ({@link SharingWorld}): demand was even, and then all of it, or most of it, is at one broker. And what moves while
 * demand stays even.
 */
public final class RingSize implements Experiment {
    private static final List<Integer> SIZES = List.of(3, 8, 16, 30, 60, 100);
    private static final Limit LIMIT = Limit.of(10_000, 300);
    private static final double LOAD = 9_000;
    private static final int OPEN = 1_000;
    private static final double PART = 0.9;
    /** Of its demand, what stays at every other broker when most of it moves. */
    private static final double STAYING = 0.3;

    private static final double EVEN_SECONDS = 12;
    private static final double STEADY_SECONDS = 20;
    private static final double STEP_SECONDS = 0.25;
    private static final double LONGEST_SECONDS = 60;
    private static final double GOAL_SECONDS = 10;
    private static final double GOAL_BUSY_SECONDS = 15;
    private static final double GOAL_TRANSFERS = 4;

    /** One size's figures, a value a seed. */
    private static final class Trial {
        final Sample allSeconds = new Sample();
        final Sample allMessages = new Sample();
        final Sample mostSeconds = new Sample();
        final Sample mostMessages = new Sample();
        final Sample servedSeconds = new Sample();
        final Sample steadyTransfers = new Sample();
        final Sample borrowingTransfers = new Sample();

        void add(Figures figures) {
            allSeconds.add(figures.all.seconds);
            allMessages.add(figures.all.messages);
            mostSeconds.add(figures.most.seconds);
            mostMessages.add(figures.most.messages);
            servedSeconds.add(figures.served.seconds);
            steadyTransfers.add(figures.steadyTransfers);
            borrowingTransfers.add(figures.borrowingTransfers);
        }
    }

    /** How long it took, and what the brokers told each other meanwhile. */
    private record Arrival(double seconds, long messages) {}

    /** What a seed says of one size. */
    private record Figures(Arrival all, Arrival most, Arrival served, long steadyTransfers, long borrowingTransfers) {}

    @Override
    public String name() {
        return "ring-size";
    }

    @Override
    public String summary() {
        return "how long supply takes to a hot spot on a ring of 3 to 100 brokers";
    }

    @Override
    public String source() {
        return "GDRL, IV; Weir's supply protocol";
    }

    @Override
    public int defaultSeeds() {
        return 5;
    }

    @Override
    public LabReport run(LabRun run) {
        int[] done = {0};
        List<Map<Integer, Figures>> seeds = run.seedStream()
                .parallel()
                .mapToObj(seed -> {
                    Map<Integer, Figures> figures = new LinkedHashMap<>();
                    SIZES.forEach(size -> figures.put(size, figures(size, seed)));
                    synchronized (done) {
                        run.progress().at(++done[0], run.seeds(), "seed " + seed);
                    }
                    return figures;
                })
                .toList();
        Map<Integer, Trial> trials = new LinkedHashMap<>();
        for (int size : SIZES) {
            Trial trial = new Trial();
            seeds.forEach(seed -> trial.add(seed.get(size)));
            trials.put(size, trial);
        }
        return new LabReport(List.of(table(trials)), List.of(chart(trials)), findings(trials));
    }

    private static Figures figures(int brokers, long seed) {
        int hot = brokers / 2;
        long transfers = transfersIn(even(brokers, false, seed));
        SharingWorld borrowing = even(brokers, true, seed);
        long borrowingTransfers = transfersIn(borrowing);
        return new Figures(
                arrival(even(brokers, false, seed), brokers, 0, supplyAt(hot)),
                arrival(even(brokers, false, seed), brokers, STAYING, supplyAt(hot)),
                arrival(borrowing, brokers, 0, served(hot)),
                transfers,
                borrowingTransfers);
    }

    private static SharingWorld even(int brokers, boolean borrow, long seed) {
        SharingWorld world = new SharingWorld(Share.even(LIMIT, brokers), Sharing.GOSSIP, seed);
        if (borrow) {
            world.borrow();
        }
        for (int broker = 0; broker < brokers; broker++) {
            world.publish(broker, LOAD / brokers, OPEN);
        }
        world.run(EVEN_SECONDS);
        return world;
    }

    private static long transfersIn(SharingWorld world) {
        world.measure();
        world.run(STEADY_SECONDS);
        return world.transfers();
    }

    private static ToDoubleFunction<SharingWorld> supplyAt(int hot) {
        return world -> world.share(hot).rateMicros() / (double) Limit.MICROS;
    }

    /** Messages a second since the last look. */
    private static ToDoubleFunction<SharingWorld> served(int hot) {
        long[] before = {0};
        return world -> {
            long admitted = world.admitted(hot) - before[0];
            before[0] += admitted;
            return admitted / STEP_SECONDS;
        };
    }

    /** Demand moves, and {@code has} says what the hot spot has got; {@value #LONGEST_SECONDS} s if never enough. */
    private static Arrival arrival(
            SharingWorld world, int brokers, double staying, ToDoubleFunction<SharingWorld> has) {
        double others = staying * LOAD / brokers;
        double need = LOAD - others * (brokers - 1);
        for (int broker = 0; broker < brokers; broker++) {
            world.publish(broker, broker == brokers / 2 ? need : others, OPEN);
        }
        world.measure();
        double seconds = 0;
        do {
            world.run(STEP_SECONDS);
            seconds += STEP_SECONDS;
        } while (has.applyAsDouble(world) < PART * need && seconds < LONGEST_SECONDS);
        return new Arrival(seconds, world.ringMessages());
    }

    private static Table table(Map<Integer, Trial> trials) {
        List<List<Object>> rows = new ArrayList<>();
        trials.forEach((size, trial) -> rows.add(List.of(
                size,
                estimate(trial.allSeconds),
                estimate(trial.allMessages),
                estimate(trial.mostSeconds),
                estimate(trial.mostMessages),
                estimate(trial.servedSeconds),
                estimate(trial.steadyTransfers),
                estimate(trial.borrowingTransfers))));
        return new Table(
                "Demand of 9,000 msg/s moves to one broker; r = 10,000, b = 300",
                List.of(
                        "brokers",
                        "all of it: seconds until the broker has 90% of its need",
                        "control messages until then",
                        "a third stays: seconds",
                        "control messages",
                        "all of it, borrowing: seconds until 90% is served",
                        "even demand: transfers in 20 s",
                        "the same, borrowing"),
                rows);
    }

    private static LineChart chart(Map<Integer, Trial> trials) {
        double[] sizes = SIZES.stream().mapToDouble(Integer::intValue).toArray();
        return new LineChart(
                "ring-size",
                "Time until a hot spot has 90% of what it needs",
                new Axis("number of brokers", false),
                new Axis("seconds", false),
                List.of(
                        series("all demand moves", sizes, trials, trial -> trial.allSeconds),
                        series("a third stays", sizes, trials, trial -> trial.mostSeconds),
                        series("all demand moves, borrowing: served", sizes, trials, trial -> trial.servedSeconds)));
    }

    private static Series series(String label, double[] sizes, Map<Integer, Trial> trials, Function<Trial, Sample> of) {
        return new Series(
                label,
                sizes,
                trials.values().stream()
                        .mapToDouble(trial -> of.apply(trial).mean())
                        .toArray(),
                Origin.OURS);
    }

    private static List<Finding> findings(Map<Integer, Trial> trials) {
        double all = slowest(trials, trial -> trial.allSeconds);
        double most = slowest(trials, trial -> trial.mostSeconds);
        double borrowing = slowest(trials, trial -> trial.borrowingTransfers);
        return List.of(
                new Finding(
                        "Supply reaches a hot spot within seconds, however large the ring is (ours)",
                        text("at most %.0f s", GOAL_SECONDS),
                        text("%.1f s at the slowest size", all),
                        all <= GOAL_SECONDS),
                new Finding(
                        "The same where all others stay busy (ours)",
                        text("at most %.0f s", GOAL_BUSY_SECONDS),
                        text("%.1f s at the slowest size", most),
                        most <= GOAL_BUSY_SECONDS),
                new Finding(
                        "Even demand moves next to nothing where brokers borrow (ours)",
                        text("at most %.0f transfers in %.0f s", GOAL_TRANSFERS, STEADY_SECONDS),
                        text("%.1f at the worst size", borrowing),
                        borrowing <= GOAL_TRANSFERS));
    }

    private static double slowest(Map<Integer, Trial> trials, Function<Trial, Sample> of) {
        return trials.values().stream()
                .mapToDouble(trial -> of.apply(trial).mean())
                .max()
                .orElseThrow();
    }
}
