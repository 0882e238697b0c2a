package io.weir.supervisor.lab.limiter;

import static org.assertj.core.api.Assertions.assertThat;

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
                .contains("drl-penalty", "drl-tradeoff", "correlated-bursts");
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
