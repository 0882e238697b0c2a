package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.weir.config.value.BrokerId;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RingTest {
    private static final BrokerId A = new BrokerId("a");
    private static final BrokerId B = new BrokerId("b");
    private static final BrokerId C = new BrokerId("c");
    private static final BrokerId D = new BrokerId("d");

    @Test
    void shouldBeTheSameForEveryoneWhoKnowsTheSameMembers() {
        Ring ring = Ring.of(List.of(C, A, D, B, A));
        assertThat(ring.members()).containsExactly(A, B, C, D);
        assertThat(ring.neighbours(A)).containsExactly(B, D);
        assertThat(ring.successor(D)).isEqualTo(A);
        assertThat(ring.predecessor(A)).isEqualTo(D);
        assertThat(ring.degree()).isEqualTo(2);
    }

    @Test
    void shouldLetTheSuccessorInheritFirst() {
        Ring ring = Ring.of(List.of(A, B, C, D));
        assertThat(ring.buddy(D)).contains(A);
        assertThat(ring.heirs(C)).containsExactly(D, A, B);
    }

    @Test
    void shouldCloseAgainWhenABrokerJoinsOrLeaves() {
        Ring ring = Ring.of(List.of(A, C));
        assertThat(ring.degree()).isEqualTo(1);
        assertThat(ring.with(B).neighbours(B)).containsExactly(A, C);
        assertThat(ring.with(B).without(B).members()).containsExactly(A, C);
        assertThat(ring.contains(B)).isFalse();
    }

    @Test
    void shouldHaveNoNeighbourAndNoBuddyWhenAlone() {
        Ring ring = Ring.of(List.of(A));
        assertThat(ring.neighbours(A)).isEmpty();
        assertThat(ring.buddy(A)).isEmpty();
        assertThat(ring.heirs(A)).isEmpty();
        assertThat(ring.degree()).isEqualTo(1);
    }

    @Test
    void shouldJoinBrokersAcrossTheRingWithChords() {
        assertThat(Ring.of(List.of(A, B, C, D), 2).neighbours(A)).containsExactly(B, C, D);
    }

    @Test
    void shouldBorrowFromEverybodyOnASmallRingAndFromSomeNearAndFarOnALargeOne() {
        assertThat(Ring.of(List.of(A, B, C, D)).lenders(B, 3)).containsExactly(A, C, D);
        assertThat(Ring.of(List.of(A)).lenders(A, 3)).isEmpty();
        List<BrokerId> many =
                IntStream.range(10, 30).mapToObj(i -> new BrokerId("b" + i)).toList();
        Ring ring = Ring.of(many);
        assertThat(ring.lenders(many.get(0), 8))
                .extracting(BrokerId::value)
                .containsExactlyInAnyOrder("b11", "b12", "b14", "b29", "b28", "b26");
        for (BrokerId lender : ring.lenders(many.get(7), 8)) {
            assertThat(ring.lenders(lender, 8)).as("either way").contains(many.get(7));
        }
    }

    @Test
    void shouldSayWhoIsMissing() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Ring.of(List.of(A, B)).successor(C))
                .withMessageContaining("c");
        assertThatIllegalArgumentException().isThrownBy(() -> Ring.of(List.of()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Ring.of(List.of(A)).without(A));
    }
}
