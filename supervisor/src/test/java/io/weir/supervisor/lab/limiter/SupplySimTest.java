package io.weir.supervisor.lab.limiter;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limiter.simulation.supply.Flaw;
import io.weir.supervisor.lab.Catalogue;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabRun;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SupplySimTest {
    @Test
    void shouldFindNoViolationAndEveryFlawWhenItRuns() {
        LabReport report = new SupplySim().run(new LabRun(10, 1, Map.of(), (done, total, what) -> {}));
        assertThat(report.findings()).hasSize(2).allMatch(LabReport.Finding::holds);
        assertThat(report.tables()).as("no history without a failure").hasSize(3);
        assertThat(report.tables().get(2).rows()).hasSize(Flaw.values().length);
    }

    @Test
    void shouldBeFoundByItsName() {
        assertThat(Catalogue.onClassPath().find("supply-sim")).isPresent();
    }
}
