package io.weir.supervisor.lab.publisher;

import static io.weir.supervisor.lab.LabReport.text;
import static io.weir.supervisor.lab.publisher.PublisherTrials.MS;
import static io.weir.supervisor.lab.publisher.PublisherTrials.SECOND;
import static io.weir.supervisor.lab.publisher.PublisherTrials.estimate;
import static io.weir.supervisor.lab.publisher.PublisherTrials.mean;

import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.publisher.PublisherTrials.Policy;
import io.weir.supervisor.lab.publisher.simulation.Arrivals;
import io.weir.supervisor.lab.publisher.simulation.PublisherModel;
import io.weir.supervisor.lab.publisher.simulation.PublisherRun;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** What a slow subscriber does to the publisher: who is dropped, and what keeps that from happening. */
public final class AutotuneCongestion implements Experiment {
    private static final double LOAD = 35;
    private static final double PULLS_PER_SECOND = 25;
    private static final int BROKER_BUFFER = 50;
    private static final double[] VACATIONS_S = {0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10};
    /**
     * The longest of them that is short beside the 100/35 s = 2.9 s for which the receive buffer bridges a publisher
     * whose workers all wait: an exponential vacation of mean 0.2 s is longer in one of two million cases.
     */
    private static final int SHORT = 2;

    private static final int LONG = 4;
    private static final int LONGEST = VACATIONS_S.length - 1;
    private static final long END_NS = 300 * SECOND;

    private enum Publisher {
        FIXED_10("fixed N = 10", Policy.fixed(10), false, 0),
        FIXED_50("fixed N = 50", Policy.fixed(50), false, 0),
        PRIORITY_ALONE("fixed N = 50, priority", Policy.fixed(50), true, 0),
        TUNED_ALONE("tuned, no priority", Policy.tuned(10), false, 0),
        TUNED("tuned and priority", Policy.tuned(10), true, 0),
        RESERVED("tuned, priority, 1 worker reserved", Policy.tuned(10), true, 1);

        private final String label;
        private final Policy policy;
        private final boolean receivePriority;
        private final int reservedWorkers;

        Publisher(String label, Policy policy, boolean receivePriority, int reservedWorkers) {
            this.label = label;
            this.policy = policy;
            this.receivePriority = receivePriority;
            this.reservedWorkers = reservedWorkers;
        }
    }

    private record Measured(Sample droppedPercent, Sample batch, Sample latencyMs) {
        Measured() {
            this(new Sample(), new Sample(), new Sample());
        }
    }

    @Override
    public String name() {
        return "autotune-congestion";
    }

    @Override
    public String summary() {
        return "requests dropped when the subscriber is slow and the broker holds the publisher back";
    }

    @Override
    public String source() {
        return "Auto-tuned publisher, V-B3 (no figure)";
    }

    @Override
    public int defaultSeeds() {
        return 6;
    }

    @Override
    public LabReport run(LabRun run) {
        Measured[][] measured = new Measured[Publisher.values().length][VACATIONS_S.length];
        for (Publisher publisher : Publisher.values()) {
            for (int v = 0; v < VACATIONS_S.length; v++) {
                run.progress()
                        .at(
                                publisher.ordinal() * VACATIONS_S.length + v,
                                measured.length * VACATIONS_S.length,
                                publisher.label + ", vacations of " + VACATIONS_S[v] + " s");
                measured[publisher.ordinal()][v] = measure(run, publisher, VACATIONS_S[v]);
            }
        }
        return new LabReport(List.of(table(measured)), List.of(chart(measured)), findings(measured));
    }

    private static Measured measure(LabRun run, Publisher publisher, double vacationSeconds) {
        PublisherModel model = PublisherModel.paper()
                .withPool(publisher.receivePriority, publisher.reservedWorkers)
                .withSubscriber(
                        BROKER_BUFFER, (long) (SECOND / PULLS_PER_SECOND), Math.round(vacationSeconds * 1_000) * MS);
        Measured measured = new Measured();
        run.seedStream().forEach(seed -> {
            long[] arrivalsNs = Arrivals.poisson(LOAD, END_NS, new SplittableRandom(seed));
            PublisherRun trial = publisher.policy.run(model, arrivalsNs, END_NS, seed);
            measured.droppedPercent.add(100.0 * trial.dropped() / trial.offered());
            measured.batch.add(trial.meanBatch(0, END_NS));
            measured.latencyMs.add(mean(trial.latenciesMs(0, END_NS, END_NS)));
        });
        return measured;
    }

    private static Table table(Measured[][] measured) {
        List<List<Object>> rows = new ArrayList<>();
        for (Publisher publisher : Publisher.values()) {
            for (int v = 0; v < VACATIONS_S.length; v++) {
                Measured each = measured[publisher.ordinal()][v];
                rows.add(List.of(
                        publisher.label,
                        VACATIONS_S[v],
                        estimate(each.droppedPercent),
                        estimate(each.batch),
                        estimate(each.latencyMs)));
            }
        }
        return new Table(
                text("Slow subscriber: %.0f requests/s, pulls of %.0f/s", LOAD, PULLS_PER_SECOND),
                List.of("publisher", "mean vacation (s)", "dropped (%)", "mean N", "mean latency (ms)"),
                rows);
    }

    private static LineChart chart(Measured[][] measured) {
        List<Series> series = new ArrayList<>();
        for (Publisher publisher : Publisher.values()) {
            double[] ys = Arrays.stream(measured[publisher.ordinal()])
                    .mapToDouble(each -> each.droppedPercent.mean())
                    .toArray();
            series.add(new Series(publisher.label, VACATIONS_S, ys, false));
        }
        return new LineChart(
                "autotune-congestion",
                "V-B3: requests dropped when the subscriber is slow",
                new Axis("mean vacation of the subscriber (s)", true),
                new Axis("dropped requests (%)", false),
                series);
    }

    private static List<Finding> findings(Measured[][] measured) {
        List<Finding> findings = new ArrayList<>();
        double fast = dropped(measured, Publisher.FIXED_50, 0);
        double slow = dropped(measured, Publisher.FIXED_50, SHORT);
        double slowest = dropped(measured, Publisher.FIXED_50, LONGEST);
        findings.add(new Finding(
                "Without tuning and priority a slow subscriber takes the workers from receiving, and requests are dropped",
                "drops, more the slower it is",
                text("fixed N = 50: %.2f%% at 0.05 s, %.2f%% at 0.2 s, %.1f%% at 10 s", fast, slow, slowest),
                slow > 0.1 && fast < slow && slow < slowest));

        double tuned = worst(measured, Publisher.TUNED, SHORT);
        findings.add(new Finding(
                "Tuned, and with priority for receiving, there are no losses",
                "none (here: up to vacations of 0.2 s, with 10 requests/s too many for the subscriber)",
                text(
                        "%.2f%% tuned and with priority, %.2f%% with neither (at 1 s, where it ends: %.1f%% with both, "
                                + "%.1f%% by priority alone, %.1f%% by tuning alone, %.1f%% with neither)",
                        tuned,
                        slow,
                        dropped(measured, Publisher.TUNED, LONG),
                        dropped(measured, Publisher.PRIORITY_ALONE, LONG),
                        dropped(measured, Publisher.TUNED_ALONE, LONG),
                        dropped(measured, Publisher.FIXED_50, LONG)),
                tuned == 0 && slow > 0));

        double most = PULLS_PER_SECOND * 0.2 + 1;
        double batch = measured[Publisher.TUNED.ordinal()][SHORT].batch.mean();
        findings.add(new Finding(
                "The publish thread takes fewer workers when the broker holds it back",
                text("N ≤ 25/s · 0.2 s + 1 = %.0f, the pulls in a poll and one, though thousands wait", most),
                text("mean N = %.1f at vacations of 0.2 s", batch),
                batch <= most));

        double tunedLongest = dropped(measured, Publisher.TUNED, LONGEST);
        double reserved = worst(measured, Publisher.RESERVED, LONGEST);
        findings.add(new Finding(
                "However long the vacations",
                "paper: no losses, without a bound. It cannot be: priority that does not preempt has no worker to give "
                        + "while all of them wait for the broker. Ours: no losses once one worker is kept for receiving",
                text("at 10 s %.0f%% dropped as in the paper; %.1f%% with a worker reserved", tunedLongest, reserved),
                tunedLongest > 1 && reserved == 0));
        return findings;
    }

    private static double worst(Measured[][] measured, Publisher publisher, int untilVacation) {
        return Arrays.stream(measured[publisher.ordinal()], 0, untilVacation + 1)
                .mapToDouble(each -> each.droppedPercent.mean())
                .max()
                .orElseThrow();
    }

    private static double dropped(Measured[][] measured, Publisher publisher, int vacation) {
        return measured[publisher.ordinal()][vacation].droppedPercent.mean();
    }
}
