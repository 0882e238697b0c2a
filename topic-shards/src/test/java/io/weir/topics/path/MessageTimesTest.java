package io.weir.topics.path;

import static io.weir.topics.path.ShardsFixture.SECOND_NS;
import static io.weir.topics.path.ShardsFixture.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicSettings;
import java.util.List;
import java.util.Set;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

/** How long messages take until consumers have them, and what is not the brokers' time. */
class MessageTimesTest {
    private static final long MS = 1_000_000;

    private final ShardsFixture broker = new ShardsFixture()
            .topic(new TopicSettings(LimitMode.SHAPE, 100 * SECOND_NS, 1_000, 1_000, Overflow.HOLD_BACK), "work")
            .supply(10, 2);

    private Delivered only() {
        List<Delivered> all = broker.shards.takeDeliveries();
        assertThat(all).hasSize(1);
        assertThat(all.get(0).topic()).isEqualTo(TOPIC);
        assertThat(all.get(0).home()).as("this broker").isNull();
        return all.get(0);
    }

    private void measure() {
        broker.shards.measure(Set.of(TOPIC));
    }

    @Test
    void shouldCountFromArrivalUntilAConsumerHasTheMessage() {
        measure();
        broker.reader("work", 100);
        broker.publishCame("came 3 ms ago", broker.nowNs - 3 * MS, broker.nowNs);
        Delivered delivered = only();
        assertThat(delivered.delays().messages()).isEqualTo(1);
        assertThat(delivered.delays().quantileNs(1)).isCloseTo(3 * MS, Percentage.withPercentage(4));
        assertThat(delivered.late().messages()).isZero();
        assertThat(broker.shards.takeDeliveries()).as("taken").isEmpty();
        assertThat(broker.shards.deliveries().delays().messages()).isEqualTo(1);
    }

    @Test
    void shouldCountTheWaitForTheLimitAsTheBrokers() {
        measure();
        broker.reader("work", 100);
        broker.publishBatch("a", "b");
        broker.publish("has to wait for a token");
        broker.pass(SECOND_NS / 10);
        Delivered delivered = only();
        assertThat(delivered.delays().messages()).isEqualTo(3);
        assertThat(delivered.delays().quantileNs(1)).isCloseTo(SECOND_NS / 10, Percentage.withPercentage(4));
        assertThat(delivered.late().messages()).isZero();
    }

    @Test
    void shouldCountTheWaitForAConsumerApart() {
        measure();
        ShardsFixture.Reader slow = broker.reader("work", 0);
        broker.publishCame("came 3 ms ago", broker.nowNs - 3 * MS, broker.nowNs);
        Delivered ready = only();
        assertThat(ready.delays().quantileNs(1))
                .as("a consumer could have had it then")
                .isCloseTo(3 * MS, Percentage.withPercentage(4));
        assertThat(ready.late().messages()).isZero();
        broker.pass(5 * SECOND_NS);
        slow.subscription.ready(1, broker.nowNs);
        Delivered late = only();
        assertThat(late.delays().messages()).as("counted already").isZero();
        assertThat(late.late().quantileNs(1)).isCloseTo(5 * SECOND_NS, Percentage.withPercentage(4));
        // It comes again, which says nothing about how fast brokers are.
        slow.subscription.requeue(slow.last().id(), 0, broker.nowNs);
        assertThat(slow.got).hasSize(2);
        assertThat(broker.shards.takeDeliveries()).isEmpty();
    }

    @Test
    void shouldCountWhatHasNoChannelYetAsReady() {
        ShardsFixture without = new ShardsFixture()
                .topic(new TopicSettings(LimitMode.SHAPE, 100 * SECOND_NS, 1_000, 1_000, Overflow.HOLD_BACK))
                .supply(10, 2);
        without.shards.measure(null);
        without.publishCame("came 3 ms ago", without.nowNs - 3 * MS, without.nowNs);
        assertThat(without.shards.deliveries().delays().messages()).isEqualTo(1);
        without.pass(SECOND_NS);
        without.reader("first", 1);
        List<Delivered> delivered = without.shards.takeDeliveries();
        assertThat(delivered).hasSize(1);
        assertThat(delivered.get(0).delays().messages()).as("once").isEqualTo(1);
        assertThat(delivered.get(0).late().messages()).isEqualTo(1);
    }

    @Test
    void shouldNotCountWhatIsMeantToComeLater() {
        measure();
        broker.reader("work", 100);
        broker.publish(TOPIC, "in a second", SECOND_NS);
        broker.pass(2 * SECOND_NS);
        assertThat(broker.stats().published()).isEqualTo(1);
        assertThat(broker.channel("work").delivered()).isEqualTo(1);
        assertThat(broker.shards.takeDeliveries()).isEmpty();
    }

    @Test
    void shouldCountATopicForItselfOnlyIfSomebodyWantsToKnow() {
        broker.reader("work", 100);
        broker.publish("m");
        assertThat(broker.shards.takeDeliveries()).isEmpty();
        assertThat(broker.shards.deliveries().delays().messages())
                .as("all together")
                .isEqualTo(1);
        measure();
        broker.publish("m");
        assertThat(only().delays().messages()).isEqualTo(1);
        broker.shards.measure(Set.of());
        broker.pass(SECOND_NS);
        broker.publish("m");
        assertThat(broker.shards.takeDeliveries()).isEmpty();
    }

    @Test
    void shouldSayHowManyTookAtMostSoLong() {
        broker.reader("work", 100);
        broker.publishCame("3 ms", broker.nowNs - 3 * MS, broker.nowNs);
        broker.publishCame("30 ms", broker.nowNs - 30 * MS, broker.nowNs);
        DeliveryTotals totals = broker.shards.deliveries();
        assertThat(totals.delays().within(MS)).isZero();
        assertThat(totals.delays().within(10 * MS)).isEqualTo(1);
        assertThat(totals.delays().within(Long.MAX_VALUE)).isEqualTo(2);
        assertThat(totals.delays().sumNs()).isCloseTo(33.0 * MS, within(1.0));
        assertThat(totals.late().within(Long.MAX_VALUE)).isZero();
    }
}
