package io.weir.supervisor.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.supervisor.placement.algorithm.TopicTrace;
import io.weir.topics.algorithm.SendingRecording;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RecordedTracesTest {
    private static final TopicName ORDERS = new TopicName("orders");
    private static final BrokerId A = new BrokerId("a");
    private static final BrokerId B = new BrokerId("b");
    private static final long SECOND_NS = 1_000_000_000L;
    private static final long WALL_NS = 1_700_000_000L * SECOND_NS;
    /** Two publishers, 7 and 9, of 20 messages a second each. */
    private static final long[] IDS = {7, 9};

    private static final TopicMembers MEMBERS =
            TopicMembers.of(new int[] {0, 1}, new double[] {20, 20}, new double[] {1, 1}, new int[] {-1, -1});

    private final RecordedTraces traces = new RecordedTraces();

    /** Two seconds in which one publisher sends two messages ten times a second. */
    private static SendingRecording recording(long publisher, long beganNs, long wallNs) {
        SendingRecording recording = new SendingRecording(ORDERS, 1_000, 2 * SECOND_NS);
        recording.begin(beganNs, wallNs);
        for (int i = 0; i < 20; i++) {
            recording.sent(publisher, 2, beganNs + i * SECOND_NS / 10);
        }
        return recording;
    }

    private void hear(BrokerId broker, SendingRecording recording) {
        RecordedTraces.Part.of(broker, recording).forEach(traces::heard);
    }

    private Optional<TopicTrace> trace() {
        return traces.of(ORDERS, MEMBERS, IDS);
    }

    @Test
    void shouldMergeWhatBrokersRecordedByTheirWallClocks() {
        hear(A, recording(7, 500, WALL_NS));
        assertThat(trace()).as("who sends half of the messages is missing").isEmpty();
        hear(B, recording(9, 900_000, WALL_NS + SECOND_NS / 20));
        TopicTrace trace = trace().orElseThrow();
        assertThat(trace.atNs()[0]).as("from where both recorded").isZero();
        assertThat(trace.member()).as("in turn").startsWith(1, 0, 1, 0).hasSize(trace.size());
        assertThat(trace.messages()).containsOnly(2);
        assertThat(trace.size()).isBetween(38, 39);
    }

    @Test
    void shouldNotGoByATopicThatHasChanged() {
        hear(A, recording(7, 0, WALL_NS));
        hear(B, recording(9, 0, WALL_NS));
        assertThat(trace()).isPresent();
        TopicMembers faster =
                TopicMembers.of(new int[] {0, 1}, new double[] {20, 40}, new double[] {1, 1}, new int[] {-1, -1});
        assertThat(traces.of(ORDERS, faster, IDS)).isEmpty();
        assertThat(traces.of(ORDERS, MEMBERS, new long[] {7, 11}))
                .as("somebody else sends")
                .isEmpty();
        assertThat(traces.of(new TopicName("other"), MEMBERS, IDS)).isEmpty();
        traces.forget(ORDERS);
        assertThat(trace()).isEmpty();
    }

    @Test
    void shouldNotMixRecordingsOfDifferentTimes() {
        hear(A, recording(7, 0, WALL_NS));
        hear(B, recording(9, 0, WALL_NS + 60 * SECOND_NS));
        assertThat(trace()).isEmpty();
        hear(A, recording(7, 0, WALL_NS + 60 * SECOND_NS));
        assertThat(trace()).as("the newer one replaces it").isPresent();
    }

    @Test
    void shouldWaitForAllPartsOfALongRecording() {
        SendingRecording many = new SendingRecording(ORDERS, SendingRecording.MOST, 2 * SECOND_NS);
        many.begin(0, WALL_NS);
        for (int i = 0; i < 2 * RecordedTraces.MOST_AT_ONCE + 5; i++) {
            many.sent(i % 2 == 0 ? 7 : 9, 1, i * 100L);
        }
        List<RecordedTraces.Part> parts = RecordedTraces.Part.of(A, many);
        assertThat(parts).hasSize(3);
        double rate = many.size() / 4.0;
        TopicMembers members =
                TopicMembers.of(new int[] {0, 1}, new double[] {rate, rate}, new double[] {1, 1}, new int[] {-1, -1});
        traces.heard(parts.get(2));
        traces.heard(parts.get(0));
        assertThat(traces.of(ORDERS, members, IDS)).isEmpty();
        traces.heard(parts.get(1));
        assertThat(traces.of(ORDERS, members, IDS).orElseThrow().size()).isEqualTo(many.size());
    }

    @Test
    void shouldLeavePartsThatMakeNoSense() {
        long[] one = {7};
        for (RecordedTraces.Part absurd : List.of(
                new RecordedTraces.Part(A, ORDERS, WALL_NS, SECOND_NS, 0, 0, one, one, new int[] {1}),
                new RecordedTraces.Part(A, ORDERS, WALL_NS, SECOND_NS, 1, 1, one, one, new int[] {1}),
                new RecordedTraces.Part(A, ORDERS, WALL_NS, SECOND_NS, 0, 1_000_000, one, one, new int[] {1}),
                new RecordedTraces.Part(A, ORDERS, WALL_NS, SECOND_NS, 0, 1, one, new long[] {-1}, new int[] {1}),
                new RecordedTraces.Part(A, ORDERS, WALL_NS, SECOND_NS, 0, 1, one, new long[0], new int[] {1}),
                new RecordedTraces.Part(A, ORDERS, WALL_NS, SECOND_NS, 0, 1, one, one, new int[] {0}),
                new RecordedTraces.Part(A, null, WALL_NS, SECOND_NS, 0, 1, one, one, new int[] {1}))) {
            traces.heard(absurd);
        }
        assertThat(traces.size()).isZero();
    }

    @Test
    void shouldForgetTheOldestTopicWhenThereAreTooMany() {
        for (int i = 0; i <= RecordedTraces.MOST_TOPICS; i++) {
            traces.heard(new RecordedTraces.Part(
                    A, new TopicName("t" + i), WALL_NS, SECOND_NS, 0, 1, new long[] {7}, new long[] {5}, new int[] {1
                    }));
        }
        assertThat(traces.size()).isEqualTo(RecordedTraces.MOST_TOPICS);
    }
}
