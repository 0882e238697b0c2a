package io.weir.supervisor.lab.limiter;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabRun;
import java.util.Arrays;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class GdrlExperimentsTest {
    private static LabReport run(Experiment experiment, int seeds) {
        AtomicInteger last = new AtomicInteger();
        LabReport report = experiment.run(new LabRun(seeds, 1, Map.of(), (done, total, what) -> {
            assertThat(done).isEqualTo(last.incrementAndGet()).isLessThanOrEqualTo(total);
        }));
        assertThat(last.get()).isPositive();
        return report;
    }

    @Test
    void shouldBeFoundByTheirNames() {
        assertThat(ServiceLoader.load(Experiment.class).stream()
                        .map(provider -> provider.get().name()))
                .contains("gdrl-static", "gdrl-dynamic", "gdrl-scale", "ramsden-membership");
    }

    @Test
    void shouldFindThePapersShapesUnderConstantDemand() {
        assertEveryFindingHolds(run(new GdrlStatic(), 3));
    }

    @Test
    void shouldFindThePapersShapesUnderChangingDemand() {
        assertEveryFindingHolds(run(new GdrlDynamic(), 1));
    }

    @Test
    void shouldFindWhatRamsdenDescribesWhenMembersChange() {
        LabReport report = run(new RamsdenMembership(), 3);
        assertEveryFindingHolds(report);
        assertThat(run(new RamsdenMembership(), 3).tables()).isEqualTo(report.tables());
    }

    private static void assertEveryFindingHolds(LabReport report) {
        assertThat(report.findings()).isNotEmpty().allMatch(LabReport.Finding::holds);
        for (LineChart chart : report.charts()) {
            for (LineChart.Series series : chart.series()) {
                assertThat(series.xs()).hasSameSizeAs(series.ys());
                assertThat(Arrays.stream(series.ys()).allMatch(Double::isFinite))
                        .isTrue();
            }
        }
    }
}
