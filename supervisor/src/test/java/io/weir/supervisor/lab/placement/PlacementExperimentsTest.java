package io.weir.supervisor.lab.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabRun;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

class PlacementExperimentsTest {
    private static LabReport run(Experiment experiment, int seeds, Map<String, String> options) {
        return experiment.run(new LabRun(seeds, 1, options, (done, total, what) -> {}));
    }

    @Test
    void shouldBeFoundByTheirNames() {
        assertThat(ServiceLoader.load(Experiment.class).stream()
                        .map(provider -> provider.get().name()))
                .contains(
                        "placement-concentration",
                        "placement-maxmin",
                        "placement-correlation",
                        "placement-noise",
                        "placement-latency",
                        "placement-scale");
    }

    @Test
    void shouldFindFewBrokersBetterThanAllWhenTheyHoldTheTopic() {
        assertThat(run(new PlacementConcentration(), 1, Map.of()).findings())
                .isNotEmpty()
                .allMatch(LabReport.Finding::holds);
    }

    @Test
    void shouldConvergeSoonerThanThePaperWhenItForecasts() {
        assertThat(run(new PlacementLatency(), 1, Map.of()).findings())
                .isNotEmpty()
                .allMatch(LabReport.Finding::holds);
    }

    @Test
    void shouldPlaceEverybodyWhenPlanningForManyTopics() {
        LabReport report = run(new PlacementScale(), 1, Map.of("publishers", "50000"));
        assertThat(report.findings())
                .filteredOn(finding -> finding.claim().startsWith("Everybody"))
                .singleElement()
                .matches(LabReport.Finding::holds);
    }

    @Test
    void shouldGiveTheSameWhenTheSeedIsTheSame() {
        PlacementNoise noise = new PlacementNoise();
        assertThat(run(noise, 1, Map.of()).tables().toString())
                .isEqualTo(run(noise, 1, Map.of()).tables().toString());
    }
}
