package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class FairnessIndexTest {
    @Test
    void shouldBeOneWhenAllAreEqualAndOneOverNWhenOneHasEverything() {
        assertThat(FairnessIndex.jain(new double[] {-3, -3, -3})).isEqualTo(1);
        assertThat(FairnessIndex.jain(new double[] {0, 0, 0, 8})).isEqualTo(0.25);
        assertThat(FairnessIndex.jain(new double[] {0, 0})).isEqualTo(1);
        assertThat(FairnessIndex.jain(new double[] {1, 2, 3})).isCloseTo(36.0 / 42, within(1e-12));
    }
}
