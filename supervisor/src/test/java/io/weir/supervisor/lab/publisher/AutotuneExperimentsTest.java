package io.weir.supervisor.lab.publisher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.publisher.simulation.LookupServiceTrace;
import io.weir.supervisor.lab.publisher.simulation.PublisherModel;
import io.weir.supervisor.lab.publisher.simulation.PublisherSimulation;
import io.weir.transport.algorithm.BatchTuner.Bounds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AutotuneExperimentsTest {
    private static final long SECOND = 1_000_000_000L;

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"autotune-load", "autotune-steps", "autotune-congestion", "autotune-trace"})
    void shouldHoldWhenRunWithOneSeed(String name) {
        LabReport report = experiment(name).run(oneSeed(Map.of()));

        assertThat(report.findings()).hasSizeGreaterThanOrEqualTo(4).allSatisfy(finding -> assertThat(finding.holds())
                .as("%s: %s, measured %s", name, finding.claim(), finding.measured())
                .isTrue());
        assertThat(report.tables()).isNotEmpty().allSatisfy(table -> assertThat(table.rows())
                .isNotEmpty());
        assertThat(report.charts()).isNotEmpty().allSatisfy(chart -> assertThat(chart.series())
                .allSatisfy(series ->
                        assertThat(series.xs()).hasSameSizeAs(series.ys()).isNotEmpty()));
    }

    @Test
    void shouldUseTheTraceThatIsGiven() throws IOException {
        long[] arrivalsNs = LookupServiceTrace.generate(900 * SECOND, new SplittableRandom(5));
        Path file = directory.resolve("trace.csv");
        Files.writeString(
                file,
                Arrays.stream(arrivalsNs)
                        .mapToObj(ns -> Long.toString(ns + 77 * SECOND))
                        .collect(Collectors.joining("\n", "time_ns\n", "\n")));

        LabReport report = experiment("autotune-trace").run(oneSeed(Map.of("trace", file.toString())));

        assertThat(report.tables())
                .extracting(Table::title)
                .first()
                .asString()
                .contains("given trace")
                .contains(arrivalsNs.length + " requests");
    }

    @Test
    void shouldRefuseATraceThatIsTooShortOrMissing() throws IOException {
        Path file = directory.resolve("short.csv");
        Files.writeString(file, "0.5\n1.5\n");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> experiment("autotune-trace").run(oneSeed(Map.of("trace", file.toString()))))
                .withMessageContaining("short.csv holds 2 requests");
        assertThatExceptionOfType(UncheckedIOException.class)
                .isThrownBy(() -> experiment("autotune-trace").run(oneSeed(Map.of("trace", "no-such-file"))));
    }

    @Test
    void shouldFindNoCorrelationWhenNIsFixed() {
        long[] arrivalsNs = LookupServiceTrace.generate(900 * SECOND, new SplittableRandom(5));
        BatchCourse course = new BatchCourse(
                PublisherSimulation.run(
                        PublisherModel.paper(),
                        Bounds.fixed(3, SECOND / 20, SECOND / 5),
                        3,
                        arrivalsNs,
                        900 * SECOND,
                        1),
                900 * SECOND);

        assertThat(course.batches()).containsOnly(3.0);
        assertThat(course.correlation(ns -> ns)).isZero();
        assertThat(course.reachedNs(0, 1, 3, 0.8, -1)).isLessThan(SECOND).isNotNegative();
        assertThat(course.reachedNs(0, 3, 5, 0.8, -1)).isEqualTo(-1);
    }

    @Test
    void shouldSayWhichFindingDiffersWhenTheTraceHasNoLoad() throws IOException {
        Path file = directory.resolve("idle.csv");
        StringBuilder idle = new StringBuilder();
        for (int i = 0; i < 210; i++) {
            idle.append(i * 15).append('\n');
        }
        Files.writeString(file, idle);

        LabReport report = experiment("autotune-trace").run(oneSeed(Map.of("trace", file.toString())));

        assertThat(report.holds()).isFalse();
        assertThat(report.findings())
                .filteredOn(finding -> !finding.holds())
                .extracting(Finding::claim)
                .contains("At 50 times the load N = 1 is very slow without tuning");
    }

    private static Experiment experiment(String name) {
        return ServiceLoader.load(Experiment.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(each -> each.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static LabRun oneSeed(Map<String, String> options) {
        return new LabRun(1, 1, options, (done, total, what) -> {});
    }
}
