package io.weir.supervisor.lab.limiter;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabRun;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

class SplitPropositionExperimentTest {
    @Test
    void shouldHoldAndRepeatItselfWhenRunTwiceOnTheSameSeeds() {
        Experiment experiment = new SplitProposition();
        int[] told = {0};
        LabRun run = new LabRun(4, 1, Map.of(), (done, total, what) -> told[0] = done);

        LabReport first = experiment.run(run);
        LabReport second = experiment.run(run);

        assertThat(first.findings())
                .allSatisfy(
                        finding -> assertThat(finding.holds()).as("%s", finding).isTrue());
        assertThat(second.tables()).isEqualTo(first.tables());
        assertThat(told[0]).isEqualTo(4);
    }

    @Test
    void shouldBeFoundByItsName() {
        assertThat(ServiceLoader.load(Experiment.class))
                .extracting(Experiment::name)
                .contains("split-proposition");
    }
}
