package io.weir.supervisor.lab.workflow;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabRun;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

/** With one seed each; {@code wisp-isolation} and {@code wisp-low-latency} take too long for every build. */
class WispExperimentsTest {
    private static LabReport run(Experiment experiment) {
        return experiment.run(new LabRun(1, 1, Map.of(), (done, total, what) -> {}));
    }

    @Test
    void shouldBeFoundByTheirNames() {
        assertThat(ServiceLoader.load(Experiment.class).stream()
                        .map(provider -> provider.get().name()))
                .contains("wisp-isolation", "wisp-deadlines", "wisp-low-latency", "wisp-hotspot", "wisp-quantile");
    }

    @Test
    void shouldShieldAWorkflowFromAnotherAtAHotPartition() {
        assertThat(run(new WispHotspot()).findings()).isNotEmpty().allMatch(LabReport.Finding::holds);
    }

    @Test
    void shouldTradeIdleCapacityForOverloadByTheQuantileKnob() {
        assertThat(run(new WispQuantile()).findings()).isNotEmpty().allMatch(LabReport.Finding::holds);
    }

    @Test
    void shouldMeetDeadlinesUnderOverloadWhenOrderedByThem() {
        assertThat(run(new WispDeadlines()).findings()).isNotEmpty().allMatch(LabReport.Finding::holds);
    }
}
