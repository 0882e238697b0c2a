package io.weir.cluster.bench.limited;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.cluster.bench.Load;
import io.weir.config.value.Limit;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PlacementScenarioTest {
    @Test
    void shouldTellEveryPublisherTheGroupThatItSendsWith() {
        PlacementScenario scenario = PlacementScenario.CORRELATED;
        Load.Shape.OpenLoop shape = scenario.shape(1);
        Map<String, Long> sizes = IntStream.range(0, scenario.publishers())
                .mapToObj(scenario.group())
                .collect(Collectors.groupingBy(group -> group, Collectors.counting()));
        assertThat(sizes).hasSize(12).allSatisfy((group, size) -> assertThat(size)
                .isEqualTo(12));
        for (int group = 0; group < scenario.groups(); group++) {
            for (int publisher = shape.firstOf(group); publisher < shape.firstOf(group + 1); publisher++) {
                assertThat(scenario.group().apply(publisher)).isEqualTo("g" + group);
            }
        }
        assertThat(PlacementScenario.LOW_LOAD.group().apply(7)).isEmpty();
    }

    @Test
    void shouldSetTheLimitATenthAboveTheLoadWithABurstThatOneBucketNeeds() {
        for (long seed = 1; seed <= 5; seed++) {
            Limit poisson = PlacementScenario.LOW_LOAD.limit(seed);
            assertThat(poisson.rateMicros() / 1e6).as("seed %d", seed).isCloseTo(528, within(6.0));
            // What the model says for Poisson arrivals and this margin is 26.
            assertThat(poisson.burstMicros() / 1e6).as("seed %d", seed).isBetween(18.0, 40.0);
            Limit correlated = PlacementScenario.CORRELATED.limit(seed);
            assertThat(correlated.rateMicros() / 1e6).as("seed %d", seed).isCloseTo(3_168, within(10.0));
            assertThat(correlated.burstMicros() / 1e6)
                    .as("at least one group at once, seed %d", seed)
                    .isGreaterThan(119);
        }
    }

    @Test
    void shouldFitOneBrokerAtLowLoadAndNeedAllSixOtherwise() {
        assertThat(PlacementScenario.LOW_LOAD.messagesPerSecond()).isLessThan(PlacementScenario.CAPACITY);
        assertThat(PlacementScenario.CORRELATED.messagesPerSecond())
                .isBetween(5 * PlacementScenario.CAPACITY, 6 * PlacementScenario.CAPACITY);
    }
}
