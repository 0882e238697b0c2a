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
 * Fig. 7: an aggressive workflow F begins at 50 s. A to D are steady (100 a second, one read and one write at extent
 * nodes), E stays at the partition servers, G is bursty: every two seconds 400 reads, then 400 writes, of 200 ms each.
 * Requests time out after ten seconds. The paper gives neither F's rate nor pools; here all but F need two fifths of
 * the extent nodes, and F asks for as much as there is.
 */
public final class WispIsolation implements Experiment {
    private static final long START_NS = 50 * SECOND_NS;
    private static final long SETTLED_NS = 80 * SECOND_NS;
    private static final long END_NS = 120 * SECOND_NS;
    private static final long TIMEOUT_NS = 10 * SECOND_NS;
    private static final int EN_HANDLERS = 24;
    private static final double EN_MS = 20;
    private static final int F = 6;
    private static final int G = 7;
    private static final double STEADY = 100;
    private static final double AGGRESSIVE = 6_000;
    private static final double PAPER_TIMEOUTS = 12;

    private static final Map<String, Control> SCENARIOS = scenarios();

    private static Map<String, Control> scenarios() {
        Map<String, Control> scenarios = new LinkedHashMap<>();
        scenarios.put("timeouts only", Control.BASELINE);
        scenarios.put("rate control", Control.rates(Schedule.FIFO));
        scenarios.put("rate control + DRR", Control.rates(Schedule.FIFO).fairly());
        return scenarios;
    }

    /** What came out of one scenario, over seeds. */
    private static final class Outcome {
        final List<Sample> rates =
                IntStream.rangeClosed(0, G).mapToObj(w -> new Sample()).toList();
        final Sample steadyP50Ms = new Sample();
        final Sample steadyP99Ms = new Sample();
        final Sample burstyP50Ms = new Sample();
        final Sample burstyLate = new Sample();
        double[] courseMs;

        double steadyPart() {
            double least = Double.POSITIVE_INFINITY;
            for (int w = 1; w <= 5; w++) {
                least = Math.min(least, rates.get(w).mean() / STEADY);
            }
            return least;
        }
    }

    @Override
    public String name() {
        return "wisp-isolation";
    }

    @Override
    public String summary() {
        return "an aggressive and a bursty workflow beside steady ones";
    }

    @Override
    public String source() {
        return "Wisp, Fig. 7";
    }

    @Override
    public int defaultSeeds() {
        return 2;
    }

    @Override
    public LabReport run(LabRun run) {
        Map<String, Outcome> outcomes = new LinkedHashMap<>();
        SCENARIOS.forEach((name, control) -> {
            run.progress().at(outcomes.size(), SCENARIOS.size(), name);
            Outcome outcome = new Outcome();
            run.seedStream().forEach(seed -> run(control, seed, outcome));
            outcomes.put(name, outcome);
        });
        return new LabReport(List.of(table(outcomes)), List.of(chart(outcomes)), findings(outcomes));
    }

    private static void run(Control control, long seed, Outcome outcome) {
        ServiceWorld world =
                new ServiceWorld(new Setup(Storage.tiers(16, EN_HANDLERS), control), new SplittableRandom(seed));
        long[] done = new long[G + 1];
        long[] bursty = new long[2];
        Sample steadyMs = new Sample();
        Sample burstyMs = new Sample();
        List<Sample> course = IntStream.rangeClosed(0, (int) (END_NS / SECOND_NS))
                .mapToObj(i -> new Sample())
                .toList();
        Consumer<Request> count = request -> {
            int w = request.workflow();
            if (w == G && request.startNs() >= START_NS && request.startNs() < END_NS - TIMEOUT_NS) {
                bursty[request.inTime() ? 0 : 1]++;
                burstyMs.add(request.latencyMs());
            }
            if (w <= 4 && request.end() == Request.End.DONE) {
                course.get((int) (request.endNs() / SECOND_NS)).add(request.latencyMs());
            }
            if (request.inTime() && request.endNs() >= SETTLED_NS) {
                done[w]++;
                if (w <= 4) {
                    steadyMs.add(request.latencyMs());
                }
            }
        };
        for (int w = 1; w <= 4; w++) {
            Flow flow = Storage.flow(w, String.valueOf((char) ('A' + w - 1)), 5, 2, 1, EN_MS, List.of());
            world.open(flow, STEADY, END_NS, TIMEOUT_NS, count);
        }
        world.open(Storage.flow(5, "E", 5, 0, 0, 0, List.of()), STEADY, END_NS, TIMEOUT_NS, count);
        Flow aggressive = Storage.flow(F, "F", 1, 2, 1, EN_MS, List.of());
        world.after(START_NS, () -> world.open(aggressive, AGGRESSIVE, END_NS, TIMEOUT_NS, count));
        Flow burst = Storage.flow(G, "G", 5, 2, 400, 200, List.of());
        for (long atNs = 2 * SECOND_NS; atNs < END_NS; atNs += 2 * SECOND_NS) {
            world.after(atNs, () -> world.submit(burst, TIMEOUT_NS, count));
        }
        world.run(END_NS);
        double seconds = (END_NS - SETTLED_NS) / (double) SECOND_NS;
        for (int w = 1; w <= G; w++) {
            outcome.rates.get(w).add(done[w] / seconds);
        }
        outcome.steadyP50Ms.add(steadyMs.size() == 0 ? TIMEOUT_NS / 1e6 : steadyMs.quantile(0.5));
        outcome.steadyP99Ms.add(steadyMs.size() == 0 ? TIMEOUT_NS / 1e6 : steadyMs.quantile(0.99));
        outcome.burstyP50Ms.add(burstyMs.size() == 0 ? TIMEOUT_NS / 1e6 : burstyMs.quantile(0.5));
        // Those that have not ended by now are late, too: they came more than a timeout ago.
        outcome.burstyLate.add(bursty[0] + bursty[1] == 0 ? 100 : 100.0 * bursty[1] / (bursty[0] + bursty[1]));
        if (outcome.courseMs == null) {
            outcome.courseMs = Course.medians(course);
        }
    }

    private static Table table(Map<String, Outcome> outcomes) {
        List<List<Object>> rows = new ArrayList<>();
        outcomes.forEach((name, outcome) -> rows.add(List.of(
                name,
                text("%.0f%%", 100 * outcome.steadyPart()),
                estimate(outcome.rates.get(F)),
                estimate(outcome.steadyP50Ms),
                estimate(outcome.steadyP99Ms),
                estimate(outcome.burstyP50Ms),
                estimate(outcome.burstyLate))));
        return new Table(
                "After F began (in time, 80 to 120 s)",
                List.of(
                        "control",
                        "A to E: least part served",
                        "F/s",
                        "A to D p50 ms",
                        "A to D p99 ms",
                        "G p50 ms",
                        "G late %"),
                rows);
    }

    private static LineChart chart(Map<String, Outcome> outcomes) {
        Map<String, double[]> courses = new LinkedHashMap<>();
        outcomes.forEach((name, outcome) -> courses.put(name, outcome.courseMs));
        return Course.chart("wisp-isolation", "Median latency of A to D (Wisp Fig. 7, left)", courses);
    }

    private static List<Finding> findings(Map<String, Outcome> outcomes) {
        Outcome baseline = outcomes.get("timeouts only");
        Outcome rates = outcomes.get("rate control");
        Outcome fair = outcomes.get("rate control + DRR");
        return List.of(
                new Finding(
                        "Fig. 7: with timeouts only the overload drives all workflows to collapse",
                        "A to D are served far less than they send",
                        text("%.0f%% of it in time", 100 * baseline.rates.get(1).mean() / STEADY),
                        baseline.rates.get(1).mean() < 0.5 * STEADY),
                new Finding(
                        "Fig. 7: rate control throttles F, the others retain their throughput",
                        "A to E served as they send; ours: at least 95%",
                        text(
                                "%.0f%% at the least; F has %.0f of %.0f/s",
                                100 * rates.steadyPart(), rates.rates.get(F).mean(), AGGRESSIVE),
                        rates.steadyPart() > 0.95 && rates.rates.get(F).mean() < AGGRESSIVE),
                new Finding(
                        "Fig. 7: with rate control alone the bursty workflow still times out",
                        text("%.0f%%; ours: at most that", PAPER_TIMEOUTS),
                        text("%.1f%%", rates.burstyLate.mean()),
                        rates.burstyLate.mean() <= PAPER_TIMEOUTS),
                new Finding(
                        "Fig. 7: with fair queuing as well it does not",
                        "0%; ours: under 1%",
                        text(
                                "%.1f%%, and its median is %.1f s instead of %.1f s",
                                fair.burstyLate.mean(), fair.burstyP50Ms.mean() / 1e3, rates.burstyP50Ms.mean() / 1e3),
                        fair.burstyLate.mean() < 1),
                new Finding(
                        "Goal: the aggressive workflow costs the others less than 5% of their throughput",
                        "at least 95%", text("%.0f%%", 100 * fair.steadyPart()), fair.steadyPart() > 0.95));
    }
}
