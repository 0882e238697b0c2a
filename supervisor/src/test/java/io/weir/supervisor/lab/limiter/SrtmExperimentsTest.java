package io.weir.supervisor.lab.limiter;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.chart.LineChart;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabRun;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

class SrtmExperimentsTest {
    @Test
    void shouldBeFoundByTheirNames() {
        assertThat(ServiceLoader.load(Experiment.class).stream()
                        .map(provider -> provider.get().name()))
                .contains("drl-penalty", "drl-tradeoff", "correlated-bursts", "ring-size");
    }

    @Test
    void shouldFindThePenaltyAndWhatWinsItBack() {
        LabReport report = new DrlPenalty().run(new LabRun(4, 1, Map.of(), (done, total, what) -> {}));
        assertThat(report.findings()).hasSizeGreaterThan(6).allMatch(LabReport.Finding::holds);
        assertThat(report.charts()).extracting(LineChart::fileName).containsExactly("drl-penalty", "drl-penalty-bench");
    }

    @Test
    void shouldFindThatSupplyReachesAHotSpotOnEveryRing() {
        LabRun run = new LabRun(1, 1, Map.of(), (done, total, what) -> {});
        LabReport report = new RingSize().run(run);
        assertThat(report.findings()).hasSize(3).allMatch(LabReport.Finding::holds);
        assertThat(report.tables().get(0).rows()).extracting(row -> row.get(0)).containsExactly(3, 8, 16, 30, 60, 100);
    }

    @Test
    void shouldFindTwoBrokersBestWhenOneIsOverloaded() {
        assertThat(new DrlTradeoff()
                        .run(new LabRun(1, 1, Map.of(), (done, total, what) -> {}))
                        .findings())
                .isNotEmpty()
                .allMatch(LabReport.Finding::holds);
    }

    @Test
    void shouldFindSpreadGroupsBetterWhenTheyBurstTogether() {
        assertThat(new CorrelatedBursts()
                        .run(new LabRun(1, 2, Map.of(), (done, total, what) -> {}))
                        .findings())
                .isNotEmpty()
                .allMatch(LabReport.Finding::holds);
    }
}
