package io.weir.cluster.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.BuiltDistribution;
import io.weir.cluster.Measuring;
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

/**
 * What {@code weir chaos} does, for a short while. {@link StoreChaosIT} has another seed, other floors and other
 * families of faults; {@link ChaosLongIT} is the long one.
 */
@Measuring
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

    static Path directory(String name) throws IOException {
        return BuiltDistribution.emptyDirectory("chaos-" + name);
    }

    static ChaosOutcome run(ChaosPlan plan) throws IOException, InterruptedException {
        ChaosOutcome outcome = new ChaosRun(plan, BuiltDistribution.installation(), LOG::info).run();
        VerdictText.lines(outcome.check()).forEach(LOG::info);
        return outcome;
    }
}
