package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.simulation.Replay.Outcome;
import io.weir.limiter.simulation.Replay.Terms;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class ReplayTest {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final long LONG_NS = 60 * SECOND_NS;
    private static final Offset<Double> EXACT = within(1e-12);

    /** Four at once and one a second later, against ten a second and two at once. */
    private static final ArrivalTrace FIVE =
            new ArrivalTrace(List.of("b1"), new long[] {7, 7 + SECOND_NS}, new int[] {4, 1}, new int[] {0, 0});

    private static final Limit TEN_AND_TWO = Limit.of(10, 2);

    /** Two find a token, the next two wait for a tenth and two tenths of a second; then the bucket is full again. */
    @Test
    void shouldWaitAsLongAsComputedByHand() {
        Outcome outcome = Replay.of(FIVE, shaped(TEN_AND_TWO, 1));

        assertThat(outcome.messages()).isEqualTo(5);
        assertThat(outcome.delayed()).isEqualTo(2);
        assertThat(outcome.delayedFraction()).isEqualTo(0.4);
        assertThat(outcome.refused()).isZero();
        assertThat(outcome.p50Seconds()).isZero();
        assertThat(outcome.p99Seconds()).isCloseTo(0.2, EXACT);
        assertThat(outcome.longestSeconds()).isCloseTo(0.2, EXACT);
    }

    @Test
    void shouldRefuseWhatFindsNoTokenWhenTheTopicPolices() {
        Outcome outcome = Replay.of(FIVE, shaped(TEN_AND_TWO, 1).policing());

        assertThat(outcome.messages()).isEqualTo(5);
        assertThat(outcome.refused()).isEqualTo(2);
        assertThat(outcome.refusedFraction()).isEqualTo(0.4);
        assertThat(outcome.delayed()).isZero();
        assertThat(outcome.longestSeconds()).isZero();
    }

    @Test
    void shouldRefuseWhatTheLineDoesNotHoldOrHoldsForTooLong() {
        Outcome full = Replay.of(FIVE, new Terms(TEN_AND_TWO, 1, Sharing.STATIC, false, 1, LONG_NS));
        assertThat(full.refused()).isEqualTo(1);
        assertThat(full.delayed()).isEqualTo(1);
        assertThat(full.longestSeconds()).isCloseTo(0.1, EXACT);

        Outcome late = Replay.of(FIVE, new Terms(TEN_AND_TWO, 1, Sharing.STATIC, false, 100, 150_000_000));
        assertThat(late.refused()).isEqualTo(1);
        assertThat(late.delayed()).isEqualTo(2);
        assertThat(late.longestSeconds()).isCloseTo(0.1, EXACT);
    }

    /** Five at a broker that holds four: the fifth waits for own refill, or for the way there and back. */
    @Test
    void shouldBorrowWhatTheOtherBrokerHas() {
        ArrivalTrace atOne =
                new ArrivalTrace(List.of("b1", "b2"), new long[] {0, SECOND_NS}, new int[] {5, 1}, new int[] {0, 1});
        Terms alone = shaped(Limit.of(10, 8), 2);

        assertThat(Replay.of(atOne, alone).delayed()).isEqualTo(1);
        assertThat(Replay.of(atOne, alone).longestSeconds()).isCloseTo(0.2, EXACT);
        assertThat(Replay.of(atOne, alone.at(2, true)).longestSeconds()).isCloseTo(200e-6, EXACT);
        assertThat(Replay.of(atOne, alone.at(1, true)).delayed())
                .as("one broker has all eight")
                .isZero();
    }

    @Test
    void shouldReplayTheSameWhenTheBrokersAreOthersThanRecorded() {
        ArrivalTrace trace = steady(2_000, 1_000_000, 2);
        Terms three = shaped(Limit.of(900, 30), 3);

        Outcome first = Replay.of(trace, three);
        assertThat(first.messages()).isEqualTo(2_000);
        assertThat(first.delayed()).isPositive();
        assertThat(Replay.of(trace, three)).isEqualTo(first);
    }

    /** 800 a second come to one of two brokers, which has half of 1,000 at first. */
    @Test
    void shouldFindItsSharesBeforeItCountsWhenSupplyFollowsDemand() {
        ArrivalTrace trace = steady(16_000, 1_250_000, 2);
        Terms gossip = new Terms(Limit.of(1_000, 100), 2, Sharing.GOSSIP, false, 1_000_000, LONG_NS);

        assertThat(Replay.of(trace, shaped(gossip.limit(), 2)).delayedFraction())
                .as("equal parts for ever")
                .isGreaterThan(0.9);
        Outcome followed = Replay.of(trace, gossip);
        assertThat(followed.messages()).as("one pass counts").isEqualTo(16_000);
        assertThat(followed.delayedFraction()).isLessThan(0.05);
    }

    @Test
    void shouldSayWhyWhenAShareHoldsLessThanAMessage() {
        assertThatThrownBy(() -> shaped(TEN_AND_TWO, 3))
                .hasMessage("a burst of 2.0 over 3 brokers leaves each less than one message, so none would pass");
        assertThatThrownBy(() -> shaped(TEN_AND_TWO, 0)).hasMessageContaining("1 broker or more, not 0");
    }

    private static Terms shaped(Limit limit, int brokers) {
        return new Terms(limit, brokers, Sharing.STATIC, false, 1_000_000, LONG_NS);
    }

    /** All at the first broker. */
    private static ArrivalTrace steady(int messages, long gapNs, int brokers) {
        int[] ones = new int[messages];
        Arrays.fill(ones, 1);
        return new ArrivalTrace(
                List.of("b1", "b2").subList(0, brokers),
                LongStream.range(0, messages).map(i -> i * gapNs).toArray(),
                ones,
                new int[messages]);
    }
}
