package io.weir.topics.path;

import static io.weir.topics.path.ShardsFixture.SECOND_NS;
import static io.weir.topics.path.ShardsFixture.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.ArrivalRecording;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicSettings;
import org.junit.jupiter.api.Test;

/** What a broker records of a topic's arrivals. */
class RecordingTest {
    private final ArrivalRecording recording = new ArrivalRecording(100, SECOND_NS);

    @Test
    void shouldRecordWhateverArrivesAndWhatTheLimitMadeOfIt() {
        ShardsFixture broker = new ShardsFixture()
                .topic(new TopicSettings(LimitMode.SHAPE, SECOND_NS, 3, 1_000, Overflow.HOLD_BACK))
                .supply(1, 2);
        broker.publish("not recorded");
        broker.shards.record(TOPIC, recording);
        broker.publish("passes");
        broker.nowNs += 5;
        broker.publishBatch("wait", "wait", "wait");
        broker.nowNs += 5;
        broker.publishBatch("refused", "refused");
        broker.publish(new TopicName("others"), "another topic's", 0);
        broker.nowNs += 90;

        assertThat(broker.shards.recorded(recording, false))
                .isEqualTo(new ArrivalRecording.Progress(100, 6, 3, false, false, 3, 2));
        assertThat(broker.shards.recorded(recording, true).over()).isTrue();
        broker.publish("after its end");
        assertThat(broker.shards.recorded(recording, false).messages()).isEqualTo(6);
        assertThat(recording.arrivals().timesNs()).containsExactly(0, 5, 10);
        assertThat(recording.arrivals().counts()).containsExactly(1, 3, 2);
    }

    @Test
    void shouldEndByItselfWhenItsTimeIsOver() {
        ShardsFixture broker =
                new ShardsFixture().topic(TopicSettings.defaults()).supply(100, 100);
        broker.shards.record(TOPIC, recording);
        broker.publish("recorded");
        broker.nowNs += SECOND_NS;
        broker.publish("too late");

        ArrivalRecording.Progress progress = broker.shards.recorded(recording, false);
        assertThat(progress.over()).isTrue();
        assertThat(progress.lengthNs()).isEqualTo(SECOND_NS);
        assertThat(progress.messages()).isEqualTo(1);
    }

    @Test
    void shouldRecordATopicThatComesToThisBrokerOnlyLater() {
        ShardsFixture broker = new ShardsFixture();
        broker.shards.record(TOPIC, recording);
        broker.nowNs += 1;
        broker.publish("the first here");
        broker.topic(TopicSettings.defaults()).supply(100, 100);
        broker.shards.remove(TOPIC, "deleted");
        broker.nowNs += 1;
        broker.publish("made again");

        assertThat(broker.shards.recorded(recording, true).messages()).isEqualTo(2);
    }

    @Test
    void shouldEndOneRecordingWhenAnotherBegins() {
        ShardsFixture broker =
                new ShardsFixture().topic(TopicSettings.defaults()).supply(100, 100);
        ArrivalRecording second = new ArrivalRecording(100, SECOND_NS);
        broker.shards.record(TOPIC, recording);
        broker.publish("m0");
        broker.shards.record(TOPIC, second);
        broker.publish("m1");
        broker.publish("m2");

        assertThat(broker.shards.recorded(recording, false).over()).isTrue();
        assertThat(broker.shards.recorded(recording, false).messages()).isEqualTo(1);
        assertThat(broker.shards.recorded(second, true).messages()).isEqualTo(2);
    }
}
