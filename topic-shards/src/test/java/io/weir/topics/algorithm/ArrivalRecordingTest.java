package io.weir.topics.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

class ArrivalRecordingTest {
    private static final long BEGAN_NS = -5_000;

    @Test
    void shouldCountWhatArrivedAtOneInstantTogetherAndPutInstantsInOrder() {
        ArrivalRecording recording = begun(10, 1_000);
        assertThat(recording.arrived(1, at(7), at(7))).isTrue();
        assertThat(recording.arrived(30, at(7), at(8))).isTrue();
        assertThat(recording.arrived(1, at(9), at(9))).isTrue();
        assertThat(recording.arrived(2, at(3), at(9)))
                .as("over a link, with its age")
                .isTrue();
        assertThat(recording.arrived(5, at(-1), at(9)))
                .as("came before the beginning")
                .isTrue();
        assertThat(recording.end(at(20), 4, 2)).isEqualTo(new ArrivalRecording.Progress(20, 34, 3, true, false, 3, 1));

        assertThat(recording.arrivals().timesNs()).containsExactly(3, 7, 9);
        assertThat(recording.arrivals().counts()).containsExactly(2, 31, 1);
    }

    @Test
    void shouldEndInTimeWhetherSomethingComesOrNot() {
        ArrivalRecording recording = begun(10, 1_000);
        assertThat(recording.arrived(1, at(999), at(999))).isTrue();
        assertThat(recording.isOver(at(999))).isFalse();
        assertThat(recording.running(at(999))).isTrue();
        assertThat(recording.arrived(1, at(999), at(1_000))).isFalse();
        assertThat(recording.isOver(at(1_000))).isTrue();
        assertThat(recording.running(at(1_000))).isFalse();
        assertThat(recording.end(at(9_000), 0, 0).lengthNs())
                .as("nothing after its time counts as recorded")
                .isEqualTo(1_000);
        assertThat(recording.progress(at(9_999), 7, 7).messages()).isEqualTo(1);
    }

    @Test
    void shouldEndAtTheFirstInstantThatHasNoRoom() {
        ArrivalRecording recording = begun(2, 1_000);
        assertThat(recording.arrived(1, at(1), at(1))).isTrue();
        assertThat(recording.arrived(1, at(8), at(8))).isTrue();
        assertThat(recording.arrived(1, at(8), at(8)))
                .as("no new instant needs no room")
                .isTrue();
        assertThat(recording.arrived(1, at(5), at(9))).isFalse();
        assertThat(recording.arrived(1, at(10), at(10))).isFalse();
        assertThat(recording.isOver(at(10))).isTrue();
        ArrivalRecording.Progress ended = recording.end(at(11), 0, 0);
        assertThat(ended.full()).isTrue();
        assertThat(ended.lengthNs()).isEqualTo(5);
        assertThat(recording.arrivals().timesNs())
                .as("whole until it was full, and nothing after")
                .containsExactly(1);
    }

    @Test
    void shouldEndWithTheLastMessageThatATraceMayHold() {
        ArrivalRecording recording = begun(10, 1_000);
        assertThat(recording.arrived(9_999_999, at(1), at(1))).isTrue();
        assertThat(recording.arrived(1, at(1), at(1))).isTrue();
        assertThat(recording.arrived(1, at(4), at(4))).isFalse();
        assertThat(recording.end(at(9), 1, 1))
                .isEqualTo(new ArrivalRecording.Progress(4, 10_000_000, 1, true, true, 0, 0));
        assertThat(recording.arrivals().counts()).containsExactly(10_000_000);
    }

    @Test
    void shouldAllocateNothingWhileItRecords() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        ArrivalRecording recording = new ArrivalRecording(100_000, ArrivalRecording.LONGEST_NS);
        threads.getThreadAllocatedBytes(self);
        long before = threads.getThreadAllocatedBytes(self);
        recording.begin(BEGAN_NS, 0, 0);
        for (int i = 0; i < 200_000; i++) {
            recording.arrived(1 + i % 3, at(i), at(i));
        }
        long after = threads.getThreadAllocatedBytes(self);
        assertThat(after - before).as("bytes for 200,000 publications").isLessThan(1_000);
        assertThat(recording.end(at(200_000), 0, 0).instants()).isEqualTo(100_000);
    }

    @Test
    void shouldNotBeReadBeforeItIsOver() {
        ArrivalRecording recording = new ArrivalRecording(1, 10);
        assertThat(recording.running(123)).as("it is about to begin").isTrue();
        assertThat(recording.isOver(123)).isFalse();
        assertThatThrownBy(recording::arrivals).isInstanceOf(IllegalStateException.class);
        recording.begin(0, 0, 0);
        assertThatThrownBy(recording::arrivals).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> recording.begin(1, 0, 0)).hasMessageContaining("begins once");
        assertThatThrownBy(() -> new ArrivalRecording(1, ArrivalRecording.LONGEST_NS + 1))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static ArrivalRecording begun(int instants, long forNs) {
        ArrivalRecording recording = new ArrivalRecording(instants, forNs);
        recording.begin(BEGAN_NS, 1, 1);
        return recording;
    }

    private static long at(long sinceNs) {
        return BEGAN_NS + sinceNs;
    }
}
