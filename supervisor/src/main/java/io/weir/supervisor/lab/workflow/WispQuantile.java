package io.weir.supervisor.lab.workflow;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;
import static io.weir.supervisor.lab.workflow.Storage.SECOND_NS;

import io.weir.limiter.simulation.Sample;
import io.weir.limiter.workflow.algorithm.ShardRates.Knob;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.workflow.simulation.Request;
import io.weir.supervisor.lab.workflow.simulation.ServiceWorld;
import io.weir.supervisor.lab.workflow.simulation.Setup;
import io.weir.supervisor.lab.workflow.simulation.Setup.Control;
import io.weir.supervisor.lab.workflow.simulation.Setup.Flow;
import io.weir.topics.algorithm.Schedule;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Fig. 10: a scan by 180 clients, ten requests to extent nodes one after the other, beside a light open workflow; the
 * quantile knob q is 0, 0.5 or 1. The paper gives neither service times nor pools; here an extent node has two handlers
 * and a task takes 10 ms, so the scan overloads them.
 */
public final class WispQuantile implements Experiment {
    private static final List<Double> KNOBS = List.of(0.0, 0.5, 1.0);
    private static final int CLIENTS = 180;
    private static final int SCAN = 1;
    private static final int LIGHT = 2;
    private static final long TIMEOUT_NS = 10 * SECOND_NS;
    private static final long BACK_NS = 100_000_000L;
    private static final long FROM_NS = 20 * SECOND_NS;
    private static final long END_NS = 80 * SECOND_NS;

    private static final class Outcome {
        final Sample perSecond = new Sample();
        final Sample entrySigma = new Sample();
        final Sample unrest = new Sample();
        final Sample extentSigma = new Sample();
        final Sample queued = new Sample();
        double[] course;
    }

    @Override
    public String name() {
        return "wisp-quantile";
    }

    @Override
    public String summary() {
        return "the quantile knob between idle capacity and overload";
    }

    @Override
    public String source() {
        return "Wisp, Fig. 10";
    }

    @Override
    public int defaultSeeds() {
        return 3;
    }

    @Override
    public LabReport run(LabRun run) {
        Map<Double, Outcome> outcomes = new LinkedHashMap<>();
        for (double q : KNOBS) {
            run.progress().at(outcomes.size(), KNOBS.size(), "q = " + q);
            Outcome outcome = new Outcome();
            run.seedStream().forEach(seed -> run(q, seed, outcome));
            outcomes.put(q, outcome);
        }
        return new LabReport(List.of(table(outcomes)), List.of(chart(outcomes)), findings(outcomes));
    }

    private static void run(double q, long seed, Outcome outcome) {
        Control control = Control.rates(Schedule.FIFO).with(Knob.quantile(q));
        ServiceWorld world = new ServiceWorld(new Setup(Storage.tiers(16, 2), control), new SplittableRandom(seed));
        long[] done = new long[1];
        Sample[] seconds = new Sample[(int) (END_NS / SECOND_NS) + 1];
        Sample extent = new Sample();
        Sample queued = new Sample();
        world.everyInterval(now -> {
            int second = (int) (now.nowNs() / SECOND_NS);
            seconds[second] = seconds[second] == null ? new Sample() : seconds[second];
            seconds[second].add(now.announced(Storage.FE, SCAN));
            if (now.nowNs() >= FROM_NS) {
                extent.add(now.announced(Storage.EN, SCAN));
                queued.add(now.queued(Storage.EN));
            }
        });
        Flow scan = Storage.flow(SCAN, "scan", 2, 10, 1, 10, List.of());
        for (int i = 0; i < CLIENTS; i++) {
            world.after(
                    1 + i * 1_000_000L,
                    () -> world.closed(scan, TIMEOUT_NS, BACK_NS, request -> {
                        boolean served = request.end() == Request.End.DONE && request.endNs() >= FROM_NS;
                        done[0] += served ? 1 : 0;
                    }));
        }
        world.open(Storage.flow(LIGHT, "light", 2, 1, 1, 10, List.of()), 100, END_NS, TIMEOUT_NS, request -> {});
        world.run(END_NS);
        Sample settled = new Sample();
        for (int second = (int) (FROM_NS / SECOND_NS); second < END_NS / SECOND_NS; second++) {
            settled.add(seconds[second].mean());
        }
        double squares = 0;
        for (int second = (int) (FROM_NS / SECOND_NS); second < END_NS / SECOND_NS; second++) {
            squares += Math.pow(seconds[second].mean() - settled.mean(), 2);
        }
        outcome.perSecond.add(done[0] * 1e9 / (END_NS - FROM_NS));
        outcome.entrySigma.add(settled.mean());
        outcome.unrest.add(100 * Math.sqrt(squares / settled.size()) / settled.mean());
        outcome.extentSigma.add(extent.mean());
        outcome.queued.add(queued.mean());
        if (outcome.course == null) {
            outcome.course = IntStream.range(0, (int) (END_NS / SECOND_NS))
                    .mapToDouble(second -> seconds[second].mean())
                    .toArray();
        }
    }

    private static Table table(Map<Double, Outcome> outcomes) {
        List<List<Object>> rows = new ArrayList<>();
        outcomes.forEach((q, outcome) -> rows.add(List.of(
                q,
                estimate(outcome.perSecond),
                estimate(outcome.entrySigma),
                estimate(outcome.unrest),
                estimate(outcome.extentSigma),
                estimate(outcome.queued))));
        return new Table(
                "The scan workflow",
                List.of("q", "scans/s", "Σσ at FEs", "its deviation %", "Σσ at ENs", "queued at ENs"),
                rows);
    }

    private static LineChart chart(Map<Double, Outcome> outcomes) {
        List<Series> series = new ArrayList<>();
        outcomes.forEach((q, outcome) -> series.add(new Series(
                "q = " + q,
                IntStream.range(0, outcome.course.length).asDoubleStream().toArray(),
                outcome.course,
                false)));
        return new LineChart(
                "wisp-quantile",
                "Σσ at the front ends (Wisp Fig. 10)",
                new Axis("s", false),
                new Axis("1/s", false),
                series);
    }

    private static List<Finding> findings(Map<Double, Outcome> outcomes) {
        Outcome slowest = outcomes.get(0.0);
        Outcome middle = outcomes.get(0.5);
        Outcome fastest = outcomes.get(1.0);
        return List.of(
                new Finding(
                        "Fig. 10: q = 0 is conservative, and lowers the throughput",
                        "lower than with 0.5",
                        text("%.1f scans/s against %.1f", slowest.perSecond.mean(), middle.perSecond.mean()),
                        slowest.perSecond.mean() < middle.perSecond.mean()),
                new Finding(
                        "Fig. 10: with q = 0 extent nodes probe for more than the entries admit",
                        "Σσ of extent nodes above ten times that of front ends",
                        text("%.0f against 10 · %.1f", slowest.extentSigma.mean(), slowest.entrySigma.mean()),
                        slowest.extentSigma.mean() > 10 * slowest.entrySigma.mean()),
                new Finding(
                        "Fig. 10: q = 1 congests the extent nodes",
                        "more is queued than with 0.5",
                        text("%.0f tasks against %.0f", fastest.queued.mean(), middle.queued.mean()),
                        fastest.queued.mean() > middle.queued.mean()),
                new Finding(
                        "Fig. 10: with q = 0.5 σ at the front ends does not oscillate as with 0 and 1",
                        "the smallest deviation of the three",
                        text(
                                "%.0f%%; q = 0: %.0f%%, q = 1: %.0f%%",
                                middle.unrest.mean(), slowest.unrest.mean(), fastest.unrest.mean()),
                        middle.unrest.mean() <= slowest.unrest.mean()
                                && middle.unrest.mean() <= fastest.unrest.mean()));
    }
}
