package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ArrivalTraceTest {
    @Test
    void shouldMergeByTheWallClockWhatAllBrokersRecorded() {
        ArrivalTrace merged = ArrivalTrace.merged(
                List.of(
                        // From 1,000 to 1,100, the other from 1,010 to 1,090.
                        part("b1", 1_000, 100, new long[] {5, 10, 40, 95}, 1, 2, 3, 4),
                        part("b2", 1_010, 80, new long[] {0, 30, 79}, 5, 6, 7),
                        part("b3", 1_002, 200, new long[0])),
                10);

        assertThat(merged.brokers()).containsExactly("b1", "b2", "b3");
        assertThat(merged.timesNs()).containsExactly(0, 0, 30, 30, 79);
        assertThat(merged.brokerOf()).containsExactly(0, 1, 0, 1, 1);
        assertThat(merged.counts()).containsExactly(2, 5, 3, 6, 7);
        assertThat(merged.messages()).isEqualTo(23);
        assertThat(merged.messagesAt(0)).isEqualTo(5);
        assertThat(merged.messagesAt(2)).isZero();
    }

    @Test
    void shouldGoByTheBeginningsWhenTheClocksContradictThatAllBeganAtOnce() {
        List<ArrivalTrace.Part> parts = List.of(
                part("b1", 1_000, 100, new long[] {5, 60}, 1, 1), part("b2", 9_000, 50, new long[] {4, 20}, 1, 1));

        assertThat(ArrivalTrace.clocksDiffer(parts, 7_999)).isTrue();
        ArrivalTrace merged = ArrivalTrace.merged(parts, 7_999);
        assertThat(merged.timesNs()).containsExactly(4, 5, 20);
        assertThat(merged.brokerOf()).containsExactly(1, 0, 1);
        assertThat(ArrivalTrace.clocksDiffer(parts, 8_000)).isFalse();
        assertThat(ArrivalTrace.merged(parts, 8_000).messages())
                .as("no time in common")
                .isZero();
    }

    @Test
    void shouldEndWithTheLastInstantThatMayBeHeldInMemory() {
        ArrivalTrace merged = ArrivalTrace.merged(
                List.of(
                        part("b1", 0, 100, new long[] {1, 3}, 6_000_000, 1),
                        part("b2", 0, 100, new long[] {2}, 6_000_000)),
                0);

        assertThat(merged.messages()).isEqualTo(6_000_000);
        assertThat(merged.timesNs()).containsExactly(1);
    }

    @Test
    void shouldCutAfterTheInstantThatCompletesWhatWasAskedFor() {
        ArrivalTrace trace =
                new ArrivalTrace(List.of("b1"), new long[] {1, 2, 3}, new int[] {2, 2, 2}, new int[] {0, 0, 0});

        assertThat(trace.first(3).messageTimesNs()).containsExactly(1, 1, 2, 2);
        assertThat(trace.first(7)).isSameAs(trace);
        assertThat(trace.messageTimesNs()).containsExactly(1, 1, 2, 2, 3, 3);
    }

    private static ArrivalTrace.Part part(String broker, long beganNs, long lengthNs, long[] timesNs, int... counts) {
        return new ArrivalTrace.Part(
                broker, beganNs, lengthNs, new ArrivalTrace(List.of(broker), timesNs, counts, new int[timesNs.length]));
    }
}
