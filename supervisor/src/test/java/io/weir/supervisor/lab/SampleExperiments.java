package io.weir.supervisor.lab;

import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Axis;
import io.weir.supervisor.chart.LineChart.Series;
import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.util.Enumeration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Experiments that only the tests know: one that holds, one that does not, one full of odd values. */
public final class SampleExperiments {
    /** How many experiments ran, to see that a wrong command line starts none. */
    public static final AtomicInteger RUNS = new AtomicInteger();

    private SampleExperiments() {}

    /** Finds these experiments and no other, so that a test of the whole lab does not run the real one. */
    public static ClassLoader loader() {
        URL root = SampleExperiments.class.getResource("/lab-under-test/");
        return new URLClassLoader(new URL[] {root}, SampleExperiments.class.getClassLoader()) {
            @Override
            public Enumeration<URL> getResources(String name) throws IOException {
                return name.endsWith(Experiment.class.getName()) ? findResources(name) : super.getResources(name);
            }
        };
    }

    private abstract static class Sample implements Experiment {
        private final String name;

        Sample(String name) {
            this.name = name;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public String summary() {
            return "what " + name + " shows";
        }

        @Override
        public String source() {
            return "a test";
        }

        @Override
        public int defaultSeeds() {
            return 3;
        }

        @Override
        public LabReport run(LabRun run) {
            RUNS.incrementAndGet();
            run.progress().at(1, 2, "half way");
            return report(run);
        }

        abstract LabReport report(LabRun run);
    }

    /** Two plain tables, a chart beside the paper's numbers, and an option of its own. */
    public static final class Holding extends Sample {
        public Holding() {
            super("steady-flow");
        }

        @Override
        LabReport report(LabRun run) {
            double scale = Double.parseDouble(run.options().getOrDefault("scale", "1"));
            run.file("trace").ifPresent(trace -> {
                try {
                    Files.readString(trace);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            double seedMean = run.seedStream().average().orElseThrow();
            Table delays = new Table(
                    "p99 access delay",
                    List.of("k", "static (ms)", "note"),
                    List.of(
                            List.of(1, new Estimate(0, 0), "none"),
                            List.of(2, new Estimate(2.1283 * scale, 0.0421), "as expected"),
                            List.of(6, new Estimate(11.2934 * scale, 0.3), "worst")));
            Table seeds =
                    new Table("seeds", List.of("mean of all the seeds", "n"), List.of(List.of(seedMean, run.seeds())));
            LineChart chart = new LineChart(
                    "delay",
                    "Delay & brokers",
                    new Axis("brokers k", false),
                    new Axis("p99 (ms)", false),
                    List.of(
                            new Series("static", new double[] {1, 2, 6}, new double[] {0, 2.1, 11.3}, false),
                            new Series("static", new double[] {1, 2, 6}, new double[] {0, 2.9, 14.7}, true)));
            return new LabReport(
                    List.of(delays, seeds), List.of(chart), List.of(new Finding("it flows", "yes", "yes", true)));
        }
    }

    /** One finding holds and one does not. */
    public static final class Failing extends Sample {
        public Failing() {
            super("broken-dam");
        }

        @Override
        LabReport report(LabRun run) {
            return new LabReport(
                    List.of(),
                    List.of(),
                    List.of(
                            new Finding("water is wet", "wet", "wet", true),
                            new Finding("the dam holds back", "below 5 m", "7.3 m", false)));
        }
    }

    /** Values and names that break a careless writer. */
    public static final class Odd extends Sample {
        public Odd() {
            super("odd-values");
        }

        @Override
        LabReport report(LabRun run) {
            Table table = new Table(
                    "a \"quoted\", title",
                    List.of("name, with comma", "value"),
                    List.of(
                            List.of("line\nbreak", new Estimate(Double.NaN, Double.NaN)),
                            List.of("\"quotes\"", Double.POSITIVE_INFINITY),
                            List.of("<tag> & co", new Estimate(1.5, Double.NaN)),
                            List.of("", 12_345_678_901L)));
            LineChart chart = new LineChart(
                    "odd-values",
                    "<odd> & \"odder\"",
                    new Axis("x", true),
                    new Axis("y", true),
                    List.of(
                            new Series("nothing", new double[0], new double[0], false),
                            new Series("'zero'", new double[] {1, 2}, new double[] {0, 0}, false)));
            return new LabReport(List.of(table, table), List.of(chart, chart), List.of());
        }
    }
}
