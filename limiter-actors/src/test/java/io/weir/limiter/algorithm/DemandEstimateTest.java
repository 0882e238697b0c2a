package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.weir.config.value.Limit;
import org.junit.jupiter.api.Test;

class DemandEstimateTest {
    private static final long SECOND = 1_000_000_000L;

    @Test
    void shouldFollowThePapersFilter() {
        DemandEstimate estimate = new DemandEstimate(0.1, SECOND);
        estimate.observe(100 * Limit.MICROS, SECOND);
        assertThat(estimate.microsPerSecond()).isEqualTo(10 * Limit.MICROS);
        estimate.observe(0, SECOND);
        assertThat(estimate.microsPerSecond()).isEqualTo(9 * Limit.MICROS);
    }

    @Test
    void shouldWeighALateSlotAsTheSlotsItLasted() {
        DemandEstimate late = new DemandEstimate(0.2, SECOND);
        DemandEstimate onTime = new DemandEstimate(0.2, SECOND);
        late.observe(300, 3 * SECOND);
        for (int i = 0; i < 3; i++) {
            onTime.observe(100, SECOND);
        }
        assertThat(late.microsPerSecond()).isEqualTo(onTime.microsPerSecond());
    }

    @Test
    void shouldMeasureARateWhateverTheSlot() {
        DemandEstimate estimate = new DemandEstimate(1, SECOND / 10);
        estimate.observe(5 * Limit.MICROS, SECOND / 10);
        assertThat((double) estimate.microsPerSecond()).isCloseTo(50.0 * Limit.MICROS, within(1.0));
    }

    @Test
    void shouldRefuseAFilterThatIsNone() {
        assertThatIllegalArgumentException().isThrownBy(() -> new DemandEstimate(0, SECOND));
        assertThatIllegalArgumentException().isThrownBy(() -> new DemandEstimate(1.1, SECOND));
        assertThatIllegalArgumentException().isThrownBy(() -> new DemandEstimate(0.5, SECOND).observe(1, 0));
    }
}
