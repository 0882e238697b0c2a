package io.weir.cluster.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.SideBySide;
import io.weir.cluster.history.Invariant;
import io.weir.cluster.stage.Stage;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * {@link ChaosIT}'s run with what that leaves out; it ends before it would measure whether limits are used, so it may
 * run beside others.
 */
@SideBySide
@Timeout(300)
class StoreChaosIT {
    @Test
    void shouldKeepEveryPromiseWhenTheStoreFailsAndPublishersAreMovedWhileBrokersDie()
            throws IOException, InterruptedException {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
        ChaosOutcome outcome = ChaosIT.run(ChaosPlan.of(4, 59, Duration.ofSeconds(30), ChaosIT.directory("store"))
                .withFaults(Fault.named(List.of("store", "packet", "membership", "driver", "placement", "kill")))
                .withFloors(List.of(1.0, 0.0, 0.5))
                .endingBriefly());

        assertThat(outcome.troubles()).isEmpty();
        assertThat(outcome.violated()).as("seed 59: " + outcome.history()).isEmpty();
        assertThat(outcome.check().verdict(Invariant.C1).held()).isTrue();
        assertThat(outcome.check().verdict(Invariant.C9).held()).isTrue();
        assertThat(outcome.check().verdict(Invariant.C8))
                .as("a brief run has no flood")
                .matches(verdict -> !verdict.held() && !verdict.violated());
        assertThat(outcome.faults()).containsKeys("move", "move-and-kill", "store-full", "limit");
    }
}
