package io.weir.supervisor.lab.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.lab.placement.PlacementTrial.Outcome;
import io.weir.supervisor.lab.placement.PlacementTrial.Setup;
import io.weir.supervisor.lab.placement.PublisherTraffic.Kind;
import io.weir.supervisor.lab.placement.PublisherTraffic.Timing;
import io.weir.supervisor.placement.algorithm.Policy;
import java.util.Locale;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

class PlacementExperimentsTest {
    private static final Logger LOG = LoggerFactory.getLogger(PlacementExperimentsTest.class);

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
    void shouldPlaceByFoundGroupsNearlyAsWellAsByToldOnesAndBetterThanByNone() {
        for (Timing timing : Timing.values()) {
            Kind kind = new Kind(timing, 1_000, PlacementTrial.PUBLISHER_RATE, 10, 20, 0);
            Setup told = Setup.of(kind, Policy.SRTM, 30).unfitted(4);
            Setup blind = Setup.of(kind, Policy.MAX_MIN, 30).unfitted(4);
            Map<String, Outcome> outcomes = PlacementTrial.run(
                    Map.of("told", told, "found", told.finding(), "none", blind),
                    new LabRun(4, 1, Map.of(), (done, total, what) -> {}));
            double byTold = outcomes.get("told").pooled.tooSlowPart();
            double byFound = outcomes.get("found").pooled.tooSlowPart();
            double byNone = outcomes.get("none").pooled.tooSlowPart();
            LOG.info(String.format(
                    Locale.ROOT,
                    "%s, part slower than 1 ms at the worst broker: told %.4f, found %.4f, none %.4f; p99 %.2f, %.2f, %.2f ms",
                    timing.label,
                    byTold,
                    byFound,
                    byNone,
                    outcomes.get("told").pooledP99Ms(),
                    outcomes.get("found").pooledP99Ms(),
                    outcomes.get("none").pooledP99Ms()));
            assertThat(byFound).as("%s, seeds 1 to 4", timing).isLessThan(byNone);
            assertThat(byFound - byTold)
                    .as("%s: found closes most of the gap between none and told, seeds 1 to 4", timing)
                    .isLessThan(0.5 * (byNone - byTold));
        }
    }

    @Test
    void shouldGiveTheSameWhenTheSeedIsTheSame() {
        PlacementNoise noise = new PlacementNoise();
        assertThat(run(noise, 1, Map.of()).tables().toString())
                .isEqualTo(run(noise, 1, Map.of()).tables().toString());
    }
}
