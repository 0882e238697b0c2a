package io.weir.supervisor.lab.workflow;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.LimiterTrial.estimate;
import static io.weir.supervisor.lab.workflow.Storage.SECOND_NS;

import io.weir.limiter.simulation.Sample;
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

/**
 * Fig. 8: six clients that want answers within 300 ms, beside 40 to 200 that send as fast as they are answered, twenty
 * tasks at extent nodes a request. The pools are fitted so that, as in the figure, the baseline meets all deadlines
 * with 40 clients; the rest is prediction.
 */
public final class WispLowLatency implements Experiment {
    private static final List<Integer> CLIENTS = List.of(40, 80, 120, 160, 200);
    private static final int LOW_LATENCY = 6;
    private static final int BULK = LOW_LATENCY + 1;
    private static final double RATE = 10;
    private static final long DEADLINE_NS = 300_000_000L;
    private static final long BULK_TIMEOUT_NS = 10 * SECOND_NS;
    private static final long BACK_NS = 100_000_000L;
    private static final long FROM_NS = 20 * SECOND_NS;
    private static final long END_NS = 60 * SECOND_NS;
    private static final int EN_HANDLERS = 12;
    private static final double EN_MS = 15;

    private static final Control WISP = Control.rates(Schedule.FIFO).fairly();

    private static final class Outcome {
        final Sample meanMs = new Sample();
        final Sample late = new Sample();
        final Sample bulkPerSecond = new Sample();
    }

    @Override
    public String name() {
        return "wisp-low-latency";
    }

    @Override
    public String summary() {
        return "workflows with short deadlines beside bulk reads";
    }

    @Override
    public String source() {
        return "Wisp, Fig. 8";
    }

    @Override
    public int defaultSeeds() {
        return 3;
    }

    @Override
    public LabReport run(LabRun run) {
        Map<Integer, Outcome> baseline = new LinkedHashMap<>();
        Map<Integer, Outcome> wisp = new LinkedHashMap<>();
        for (int clients : CLIENTS) {
            run.progress().at(wisp.size(), CLIENTS.size(), clients + " bulk clients");
            baseline.put(clients, trial(clients, Control.BASELINE, run));
            wisp.put(clients, trial(clients, WISP, run));
        }
        return new LabReport(List.of(table(baseline, wisp)), List.of(chart(baseline, wisp)), findings(baseline, wisp));
    }

    private static Outcome trial(int clients, Control control, LabRun run) {
        Outcome outcome = new Outcome();
        run.seedStream().forEach(seed -> {
            ServiceWorld world =
                    new ServiceWorld(new Setup(Storage.tiers(16, EN_HANDLERS), control), new SplittableRandom(seed));
            Sample latencyMs = new Sample();
            long[] counts = new long[3];
            for (int w = 1; w <= LOW_LATENCY; w++) {
                Flow flow = Storage.flow(w, "low latency " + w, 5, 1, 1, EN_MS, List.of());
                world.open(flow, RATE, END_NS, DEADLINE_NS, request -> {
                    if (request.startNs() >= FROM_NS) {
                        counts[request.inTime() ? 0 : 1]++;
                        if (request.end() == Request.End.DONE) {
                            latencyMs.add(request.latencyMs());
                        }
                    }
                });
            }
            Flow bulk = Storage.flow(BULK, "bulk", 5, 1, 20, EN_MS, List.of());
            for (int i = 0; i < clients; i++) {
                world.after(
                        1 + i * 1_000_000L,
                        () -> world.closed(bulk, BULK_TIMEOUT_NS, BACK_NS, request -> {
                            boolean measured = request.endNs() >= FROM_NS && request.endNs() < END_NS;
                            counts[2] += request.end() == Request.End.DONE && measured ? 1 : 0;
                        }));
            }
            world.run(END_NS + SECOND_NS);
            outcome.meanMs.add(latencyMs.mean());
            outcome.late.add(100.0 * counts[1] / (counts[0] + counts[1]));
            outcome.bulkPerSecond.add(counts[2] * 1e9 / (END_NS - FROM_NS));
        });
        return outcome;
    }

    private static Table table(Map<Integer, Outcome> baseline, Map<Integer, Outcome> wisp) {
        List<List<Object>> rows = new ArrayList<>();
        for (int clients : CLIENTS) {
            Outcome before = baseline.get(clients);
            Outcome after = wisp.get(clients);
            rows.add(List.of(
                    clients,
                    estimate(before.meanMs),
                    estimate(after.meanMs),
                    estimate(before.late),
                    estimate(after.late),
                    estimate(before.bulkPerSecond),
                    estimate(after.bulkPerSecond)));
        }
        return new Table(
                "Low-latency requests",
                List.of(
                        "bulk clients",
                        "baseline mean ms",
                        "Wisp mean ms",
                        "baseline late %",
                        "Wisp late %",
                        "baseline bulk/s",
                        "Wisp bulk/s"),
                rows);
    }

    private static LineChart chart(Map<Integer, Outcome> baseline, Map<Integer, Outcome> wisp) {
        double[] clients = CLIENTS.stream().mapToDouble(n -> n).toArray();
        return new LineChart(
                "wisp-low-latency",
                "Mean latency of low-latency workflows (Wisp Fig. 8)",
                new Axis("bulk clients", false),
                new Axis("ms", false),
                List.of(
                        new Series("baseline", clients, means(baseline), false),
                        new Series("Wisp", clients, means(wisp), false)));
    }

    private static double[] means(Map<Integer, Outcome> outcomes) {
        return CLIENTS.stream().mapToDouble(n -> outcomes.get(n).meanMs.mean()).toArray();
    }

    private static List<Finding> findings(Map<Integer, Outcome> baseline, Map<Integer, Outcome> wisp) {
        double before = baseline.get(200).meanMs.mean();
        double after = wisp.get(200).meanMs.mean();
        double lateWith40 =
                Math.max(baseline.get(40).late.mean(), wisp.get(40).late.mean());
        return List.of(
                new Finding(
                        "Fig. 8: with 40 clients both meet all deadlines (fitted on the baseline's)",
                        "100%; ours: over 99%",
                        text("%.1f%% at the worst", 100 - lateWith40),
                        lateWith40 < 1),
                new Finding(
                        "Fig. 8: with 200 clients the average latency is twice as good",
                        "2 times; at least that",
                        text("%.0f ms instead of %.0f ms, %.1f times", after, before, before / after),
                        before / after >= 2),
                new Finding(
                        "Fig. 8: with 200 clients about 80% meet their deadline",
                        "80%; at least that",
                        text(
                                "%.1f%%, baseline %.1f%%",
                                100 - wisp.get(200).late.mean(),
                                100 - baseline.get(200).late.mean()),
                        wisp.get(200).late.mean() <= 20),
                new Finding(
                        "Ours: what that costs the bulk clients",
                        "less than a tenth of their throughput",
                        text(
                                "%.0f instead of %.0f requests/s",
                                wisp.get(200).bulkPerSecond.mean(),
                                baseline.get(200).bulkPerSecond.mean()),
                        wisp.get(200).bulkPerSecond.mean()
                                > 0.9 * baseline.get(200).bulkPerSecond.mean()));
    }
}
