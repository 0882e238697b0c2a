package io.weir.cluster.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.BuiltDistribution;
import io.weir.cluster.history.Invariant;
import io.weir.cluster.history.Verdict;
import io.weir.cluster.stage.Stage;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What {@code weir chaos} does, for a short while each: seeds, floors and families of faults differ. The long one is {@link ChaosLongIT}. */
@Timeout(300)
class ChaosIT {
    private static final Logger LOG = LoggerFactory.getLogger(ChaosIT.class);

    @BeforeAll
    static void hasNetworks() {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
    }

    @Test
    void shouldKeepEveryPromiseWhenBrokersDieAndNetworksAreCut() throws IOException, InterruptedException {
        ChaosOutcome outcome = run(ChaosPlan.of(3, 11, Duration.ofSeconds(35), directory("cut"))
                .withFaults(Fault.named(List.of("kill", "pause", "partition", "failpoint")))
                .withFloors(List.of(0.0, 0.5, 1.0)));

        assertThat(outcome.troubles()).isEmpty();
        assertThat(outcome.check().verdicts())
                .as("seed 11: " + outcome.history())
                .allMatch(Verdict::held);
        assertThat(outcome.faults()).isNotEmpty();
        assertThat(outcome.allHeld()).isTrue();
    }

    @Test
    void shouldKeepEveryPromiseWhenTheStoreFailsAndPublishersAreMovedWhileBrokersDie()
            throws IOException, InterruptedException {
        ChaosOutcome outcome = run(ChaosPlan.of(4, 59, Duration.ofSeconds(30), directory("store"))
                .withFaults(Fault.named(List.of("store", "packet", "membership", "driver", "placement", "kill")))
                .withFloors(List.of(1.0, 0.0, 0.5))
                .endingBriefly());

        assertThat(outcome.troubles()).isEmpty();
        assertThat(outcome.violated()).as("seed 59: " + outcome.history()).isEmpty();
        assertThat(outcome.check().verdict(Invariant.C1).held()).isTrue();
        assertThat(outcome.check().verdict(Invariant.C9).held()).isTrue();
        assertThat(outcome.faults()).containsKeys("move", "move-and-kill", "store-full", "limit");
    }

    static Path directory(String name) throws IOException {
        return BuiltDistribution.emptyDirectory("chaos-" + name);
    }

    static ChaosOutcome run(ChaosPlan plan) throws IOException, InterruptedException {
        ChaosOutcome outcome = new ChaosRun(plan, BuiltDistribution.installation(), LOG::info).run();
        VerdictText.lines(outcome.check()).forEach(LOG::info);
        return outcome;
    }
}
