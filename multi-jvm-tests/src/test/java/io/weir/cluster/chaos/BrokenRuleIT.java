package io.weir.cluster.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.SideBySide;
import io.weir.cluster.failpoints.BrokenRule;
import io.weir.cluster.history.Invariant;
import io.weir.cluster.stage.Stage;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A checker that cannot fail proves nothing: {@link ChaosIT}'s run, with a rule of the protocol left out.
 * {@link ChaosLongIT} has the other rules.
 */
@SideBySide
@Timeout(300)
class BrokenRuleIT {
    @Test
    void shouldNoticeWhenNobodyLooksAtTheLease() throws IOException, InterruptedException {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
        ChaosOutcome outcome =
                ChaosIT.run(ChaosPlan.of(3, 13, Duration.ofSeconds(5), ChaosIT.directory("no-lease-check"))
                        .withFaults(List.of(Fault.PARTITION_ONE))
                        .flooding()
                        .endingBriefly()
                        .breaking(BrokenRule.NO_LEASE_CHECK));

        assertThat(outcome.check().verdict(Invariant.C4).violated()).isTrue();
        assertThat(outcome.allHeld()).isFalse();
    }
}
