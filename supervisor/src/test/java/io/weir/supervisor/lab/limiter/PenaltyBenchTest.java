package io.weir.supervisor.lab.limiter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.chart.LineChart.Origin;
import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.LimiterTrial;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PenaltyBenchTest {
    @TempDir
    Path directory;

    @Test
    void shouldFindTheBenchsLimitAndSimulateItsConfigurationsWithoutAFile() {
        LabRun run = run(Map.of());
        PenaltyBench bench = PenaltyBench.of(run);
        Map<String, LimiterTrial> trials = LimiterTrial.runWorlds(bench.worlds(), run);

        Table table = bench.table(trials);
        assertThat(table.title()).contains("3,000 msg/s, r = 3,300, b = 2");
        assertThat(table.columns()).noneMatch(column -> column.contains("measured"));
        assertThat(table.rows())
                .extracting(row -> row.get(0))
                .containsExactly(
                        "single", "static", "adaptor", "gossip", "static-borrow", "adaptor-borrow", "gossip-borrow");
        assertThat(p99(table, "static")).isBetween(7.0, 25.0);
        assertThat(p99(table, "gossip-borrow"))
                .as("borrowing wins most of it back")
                .isLessThan(p99(table, "static") / 3);
        assertThat(bench.findings(trials)).isEmpty();
        assertThat(bench.chart(trials).series())
                .allMatch(series -> series.origin() == Origin.OURS && series.xs().length == 6);
    }

    @Test
    void shouldPutWhatWasMeasuredBesideWhatIsSimulatedAtTheSameLoad() throws IOException {
        Path three = measured("three.json", 3, 1_000, 14.9);
        Path six = measured("six.json", 6, 1_000, 3_000);
        LabRun run = run(Map.of(PenaltyBench.OPTION, three + "," + six));
        PenaltyBench bench = PenaltyBench.of(run);
        Map<String, LimiterTrial> trials = LimiterTrial.runWorlds(bench.worlds(), run);

        Table table = bench.table(trials);
        assertThat(table.title()).contains("1,000 msg/s, r = 1,100, b = 26");
        assertThat(table.rows()).hasSize(8);
        List<Object> fixed = row(table, "static");
        assertThat(fixed.subList(5, 10)).containsExactly(8.26, 14.9, 12.0, 17.0, 14.6);
        assertThat((double) fixed.get(10)).isEqualTo(14.9 / p99(table, "static"));
        assertThat(row(table, "gossip-borrow-arrival").subList(2, 5)).containsExactly("-", "-", "-");

        assertThat(bench.chart(trials).series())
                .filteredOn(series -> series.origin() == Origin.MEASURED)
                .extracting(LineChart.Series::label)
                .containsExactly("one bucket, measured", "static split, measured", "gossip + borrowing, measured");
        LineChart.Series points = bench.chart(trials).series().stream()
                .filter(series -> series.label().equals("static split, measured"))
                .findFirst()
                .orElseThrow();
        assertThat(points.xs()).containsExactly(3, 6);
        assertThat(points.ys()).containsExactly(14.9, 3_000);
        assertThat(bench.findings(trials))
                .as("three seconds are not what a perfect split over six brokers costs")
                .hasSize(2)
                .last()
                .matches(finding -> !finding.holds());
    }

    @Test
    void shouldRefusePointsOfDifferentLoads() throws IOException {
        Path one = measured("one.json", 3, 1_000, 14.9);
        Path other = measured("other.json", 6, 3_000, 14.9);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PenaltyBench.of(run(Map.of(PenaltyBench.OPTION, one + "," + other))))
                .withMessageContaining("other.json has 3000 msg/s")
                .withMessageContaining("need the same load and limit");
    }

    @Test
    void shouldSayWhatIsWrongWithAFile() throws IOException {
        Path none = directory.resolve("none.json");
        assertThatThrownBy(() -> MeasuredPenalty.read(none))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("there is no file " + none);
        Path text = Files.writeString(directory.resolve("text.json"), "p99 {");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MeasuredPenalty.read(text))
                .withMessage(text + " is not JSON, as 'weir bench penalty -o json' prints it");
        Path other =
                Files.writeString(directory.resolve("other.json"), "{\"configurations\": [{\"name\": \"static\"}]}");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MeasuredPenalty.read(other))
                .withMessageEndingWith("it has no p95Micros");
    }

    private static LabRun run(Map<String, String> options) {
        return new LabRun(2, 1, options, (done, total, what) -> {});
    }

    private static List<Object> row(Table table, String configuration) {
        return table.rows().stream()
                .filter(row -> row.get(0).equals(configuration))
                .findFirst()
                .orElseThrow();
    }

    private static double p99(Table table, String configuration) {
        return ((Estimate) row(table, configuration).get(3)).mean();
    }

    /** A result of the bench, without what is not read. */
    private Path measured(String name, int brokers, int messagesPerSecond, double staticP99Ms) throws IOException {
        String json = """
                {"brokers": %d, "messagesPerSecond": %d.0, "limitRate": %d.0, "limitBurst": 26.0, "rounds": 9,
                 "configurations": [%s, %s, %s, %s]}
                """.formatted(
                        brokers,
                        messagesPerSecond,
                        messagesPerSecond * 11 / 10,
                        configuration("single", 0.32),
                        configuration("static", staticP99Ms),
                        configuration("gossip-borrow", 1.21),
                        configuration("gossip-borrow-arrival", 1.1));
        return Files.writeString(directory.resolve(name), json);
    }

    private static String configuration(String name, double p99Ms) {
        return """
                {"name": "%s", "p95Micros": {"median": 8260.0, "min": 1.0, "max": 2.0},
                 "p99Micros": {"median": %s, "min": 12000.0, "max": 17000.0},
                 "idealP99Micros": {"median": 14600.0, "min": 1.0, "max": 2.0}, "transfers": null}
                """.formatted(name, p99Ms * 1e3);
    }
}
