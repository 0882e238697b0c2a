package io.weir.limiter.supply.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.value.Holder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FarAsksTest {
    private final FarAsks asks = new FarAsks(-7);

    @Test
    void shouldAskAnotherOneEachRoundWhenNobodyGives() {
        List<Holder> far = far(5);
        List<Holder> asked = new ArrayList<>();
        for (int round = 0; round < 5; round++) {
            assertThat(asks.round(far)).hasSize(1).allSatisfy(asked::add);
        }
        assertThat(asked).containsExactlyInAnyOrderElementsOf(far);
    }

    @Test
    void shouldAskTwiceAsManyAfterARoundInWhichOneGaveUntilItIsEverybody() {
        List<Holder> far = far(100);
        Set<Holder> asked = new HashSet<>();
        int[] expected = {1, 2, 4, 8, 16, 32, 64, 100, 100};
        for (int count : expected) {
            List<Holder> round = asks.round(far);
            assertThat(round).hasSize(count).doesNotHaveDuplicates();
            asked.addAll(round);
            asks.given();
            asks.given();
        }
        assertThat(asked).hasSize(100);
    }

    @Test
    void shouldAskHalfAsManyAfterARoundInVain() {
        List<Holder> far = far(8);
        for (int round = 0; round < 4; round++) {
            asks.round(far);
            asks.given();
        }
        assertThat(asks.round(far)).hasSize(8);
        assertThat(asks.round(far)).hasSize(4);
        assertThat(asks.round(far)).hasSize(2);
        assertThat(asks.round(far)).hasSize(1);
        assertThat(asks.round(far)).hasSize(1);
    }

    @Test
    void shouldAskThoseWhoAreLeftWhenTheRingShrinks() {
        for (int round = 0; round < 4; round++) {
            asks.round(far(30));
            asks.given();
        }
        assertThat(asks.round(far(2))).containsExactlyInAnyOrderElementsOf(far(2));
    }

    @Test
    void shouldBeginSomewhereElseAtAnotherBroker() {
        assertThat(asks.round(far(10))).isNotEqualTo(new FarAsks(12).round(far(10)));
        FarAsks overflowing = new FarAsks(Integer.MAX_VALUE);
        assertThat(overflowing.round(far(10))).hasSize(1);
        assertThat(overflowing.round(far(10))).hasSize(1);
    }

    private static List<Holder> far(int count) {
        List<Holder> far = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            far.add(new Holder(new BrokerId("b" + i), 1));
        }
        return far;
    }
}
