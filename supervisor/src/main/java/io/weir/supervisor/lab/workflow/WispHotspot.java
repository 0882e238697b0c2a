package io.weir.supervisor.lab.workflow;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;
import static io.weir.supervisor.lab.workflow.Storage.SECOND_NS;

import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.chart.LineChart;
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
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Fig. 9: A and B go to the same partition server. B begins at 40 s, and doubles at 60 s; C and D load the extent
 * nodes. All queues are first come, first served, so what shields A is rate adaptation alone. The paper gives no
 * numbers; here the partition server does 200 requests/s, A sends 20, B 250 and then 500.
 */
public final class WispHotspot implements Experiment {
    private static final long B_NS = 40 * SECOND_NS;
    private static final long DOUBLED_NS = 60 * SECOND_NS;
    private static final long END_NS = 100 * SECOND_NS;
    private static final long TIMEOUT_NS = 10 * SECOND_NS;
    private static final int A = 1;
    private static final int B = 2;
    private static final int D = 4;
    private static final double A_RATE = 20;
    private static final double B_RATE = 250;
    private static final double BACKGROUND = 200;

    private static final class Outcome {
        final Sample aloneMs = new Sample();
        final Sample firstMs = new Sample();
        final Sample doubledMs = new Sample();
        final Sample spikeMs = new Sample();
        final Sample bPerSecond = new Sample();
        final Sample backgroundPart = new Sample();
        double[] courseMs;
    }

    @Override
    public String name() {
        return "wisp-hotspot";
    }

    @Override
    public String summary() {
        return "two workflows at one hot partition, one of them too fast";
    }

    @Override
    public String source() {
        return "Wisp, Fig. 9";
    }

    @Override
    public int defaultSeeds() {
        return 3;
    }

    @Override
    public LabReport run(LabRun run) {
        Map<String, Outcome> outcomes = new LinkedHashMap<>();
        Map<String, Control> scenarios = new LinkedHashMap<>();
        scenarios.put("baseline", Control.BASELINE);
        scenarios.put("Wisp", Control.rates(Schedule.FIFO));
        scenarios.forEach((name, control) -> {
            run.progress().at(outcomes.size(), scenarios.size(), name);
            Outcome outcome = new Outcome();
            run.seedStream().forEach(seed -> run(control, seed, outcome));
            outcomes.put(name, outcome);
        });
        return new LabReport(List.of(table(outcomes)), List.of(chart(outcomes)), findings(outcomes));
    }

    private static void run(Control control, long seed, Outcome outcome) {
        ServiceWorld world = new ServiceWorld(new Setup(Storage.tiers(4, 8), control), new SplittableRandom(seed));
        List<Sample> course = IntStream.rangeClosed(0, (int) (END_NS / SECOND_NS))
                .mapToObj(i -> new Sample())
                .toList();
        long[] inTime = new long[D + 1];
        Consumer<Request> count = request -> {
            if (request.workflow() == A && request.end() == Request.End.DONE) {
                course.get((int) (request.endNs() / SECOND_NS)).add(request.latencyMs());
            }
            if (request.inTime() && request.endNs() >= DOUBLED_NS + 10 * SECOND_NS) {
                inTime[request.workflow()]++;
            }
        };
        Flow b = Storage.flow(B, "B", 20, 0, 0, 0, List.of(0));
        world.open(Storage.flow(A, "A", 20, 0, 0, 0, List.of(0)), A_RATE, END_NS, TIMEOUT_NS, count);
        world.after(B_NS, () -> world.open(b, B_RATE, END_NS, TIMEOUT_NS, count));
        world.after(DOUBLED_NS, () -> world.open(b, B_RATE, END_NS, TIMEOUT_NS, count));
        List<Integer> others = IntStream.range(1, 10).boxed().toList();
        for (int w = B + 1; w <= D; w++) {
            world.open(Storage.flow(w, "background", 2, 1, 4, 20, others), BACKGROUND, END_NS, TIMEOUT_NS, count);
        }
        world.run(END_NS);
        outcome.aloneMs.add(median(course, 20, 40));
        outcome.firstMs.add(median(course, 50, 60));
        outcome.spikeMs.add(median(course, 60, 65));
        outcome.doubledMs.add(median(course, 75, 100));
        double seconds = (END_NS - DOUBLED_NS) / (double) SECOND_NS - 10;
        outcome.bPerSecond.add(inTime[B] / seconds);
        outcome.backgroundPart.add((inTime[B + 1] + inTime[D]) / (2 * BACKGROUND * seconds));
        if (outcome.courseMs == null) {
            outcome.courseMs = Course.medians(course);
        }
    }

    /** The median of the seconds' medians; those in which none was answered count as a timeout. */
    private static double median(List<Sample> course, int from, int until) {
        Sample medians = new Sample();
        for (int second = from; second < until; second++) {
            Sample sample = course.get(second);
            medians.add(sample.size() == 0 ? TIMEOUT_NS / 1e6 : sample.quantile(0.5));
        }
        return medians.quantile(0.5);
    }

    private static Table table(Map<String, Outcome> outcomes) {
        List<List<Object>> rows = new ArrayList<>();
        outcomes.forEach((name, outcome) -> rows.add(List.of(
                name,
                estimate(outcome.aloneMs),
                estimate(outcome.firstMs),
                estimate(outcome.spikeMs),
                estimate(outcome.doubledMs),
                estimate(outcome.bPerSecond),
                estimate(outcome.backgroundPart))));
        return new Table(
                "Median latency of A in ms",
                List.of(
                        "control",
                        "alone",
                        "beside B (50 to 60 s)",
                        "B doubles (60 to 65 s)",
                        "after (75 to 100 s)",
                        "B in time/s",
                        "C and D: part served"),
                rows);
    }

    private static LineChart chart(Map<String, Outcome> outcomes) {
        Map<String, double[]> courses = new LinkedHashMap<>();
        outcomes.forEach((name, outcome) -> courses.put(name, outcome.courseMs));
        return Course.chart("wisp-hotspot", "Median latency of A (Wisp Fig. 9)", courses);
    }

    private static List<Finding> findings(Map<String, Outcome> outcomes) {
        Outcome baseline = outcomes.get("baseline");
        Outcome wisp = outcomes.get("Wisp");
        double alone = wisp.aloneMs.mean();
        return List.of(
                new Finding(
                        "Fig. 9: without Wisp B's requests inflate A's latency",
                        "by far; ours: more than ten times",
                        text("%.0f ms instead of %.0f ms", baseline.doubledMs.mean(), baseline.aloneMs.mean()),
                        baseline.doubledMs.mean() > 10 * baseline.aloneMs.mean()),
                new Finding(
                        "Fig. 9: Wisp shields A from B in both instances, once rates have settled",
                        "A retains its expected latency; ours: within 250 ms, what a FIFO queue at 97% holds",
                        text(
                                "%.0f ms alone, %.0f ms beside B, %.0f ms after B doubled",
                                alone, wisp.firstMs.mean(), wisp.doubledMs.mean()),
                        wisp.firstMs.mean() < 250 && wisp.doubledMs.mean() < 250),
                new Finding(
                        "Fig. 9: B is throttled at the entry, what is left of the partition is used",
                        "180/s, what A leaves of 200/s; ours: at least 80% of it, because 0.97·C less the backlog is"
                                + " divided and ten waiting requests are 50 ms of this small pool",
                        text("%.0f/s in time, baseline %.0f/s", wisp.bPerSecond.mean(), baseline.bPerSecond.mean()),
                        wisp.bPerSecond.mean() > 0.8 * 180),
                new Finding(
                        "Fig. 9: background workflows within their fair parts are not throttled",
                        "all of it; ours: at least 98%",
                        text("%.1f%%", 100 * wisp.backgroundPart.mean()),
                        wisp.backgroundPart.mean() > 0.98));
    }
}
