package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class SampleTest {
    @Test
    void shouldGiveTheSmallestValueThatCoversThePartWhenAskedForAQuantile() {
        Sample sample = new Sample();
        for (int i = 100; i >= 1; i--) {
            sample.add(i);
        }

        assertThat(sample.quantile(0.99)).isEqualTo(99);
        assertThat(sample.quantile(0.5)).isEqualTo(50);
        assertThat(sample.quantile(0)).isEqualTo(1);
        assertThat(sample.quantile(1)).isEqualTo(100);
        assertThat(sample.max()).isEqualTo(100);
        assertThat(sample.mean()).isEqualTo(50.5);
    }

    @Test
    void shouldUseStudentsTWhenValuesAreFew() {
        Sample sample = new Sample();
        sample.add(1);
        assertThat(sample.halfWidth95()).isNaN();
        sample.add(3);

        // s = √2, n = 2: 12.7062·√2/√2.
        assertThat(sample.halfWidth95()).isCloseTo(12.7062, within(1e-9));
    }

    @Test
    void shouldContinueTheTableWhenValuesAreMany() {
        Sample sample = new Sample();
        for (int i = 0; i < 41; i++) {
            sample.add(i % 2);
        }
        double deviation = Math.sqrt((21.0 * 20 / 41) / 40);

        assertThat(sample.halfWidth95()).isCloseTo(2.0211 * deviation / Math.sqrt(41), within(1e-5));
    }

    @Test
    void shouldRefuseWhenThereIsNothingToSay() {
        assertThatThrownBy(() -> new Sample().mean()).hasMessageContaining("empty");
        assertThatThrownBy(() -> new Sample().add(Double.NaN)).hasMessageContaining("NaN");
    }
}
