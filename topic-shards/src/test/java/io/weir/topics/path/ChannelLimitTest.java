package io.weir.topics.path;

import static io.weir.config.value.Limit.MICROS;
import static io.weir.topics.path.ShardsFixture.SECOND_NS;
import static io.weir.topics.path.ShardsFixture.TIMEOUT_NS;
import static io.weir.topics.path.ShardsFixture.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.ChannelName;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.simulation.HardBound;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.limiter.supply.value.GateSample;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.ShardsFixture.Reader;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ChannelLimitTest {
    private static final TopicName KEY = TopicName.ofChannel(TOPIC, new ChannelName("slow"));
    private static final TopicSettings SETTINGS = TopicSettings.defaults();

    /** A topic that lets everything pass, with a channel that does not. */
    private static ShardsFixture broker(TopicSettings settings, double rate, double burst) {
        ShardsFixture broker = new ShardsFixture().supply(1_000_000, 100_000).supply(KEY, rate, burst);
        broker.shards.apply(Definitions.limiting(Definitions.of(TOPIC, settings), "slow"));
        return broker;
    }

    private static TopicGate gate(ShardsFixture broker) {
        return broker.gates.gate(KEY, broker.nowNs);
    }

    private static GateSample sample(ShardsFixture broker) {
        var asked = broker.gates.sample(KEY);
        broker.work();
        return asked.toCompletableFuture().join();
    }

    @Test
    void shouldHandOutAsTokensComeAndLeaveOtherChannelsAlone() {
        ShardsFixture broker = broker(SETTINGS, 10, 2);
        Reader slow = broker.reader("slow", 100);
        Reader free = broker.reader("free", 100);
        for (int i = 0; i < 5; i++) {
            broker.publish("m" + i);
        }
        assertThat(free.got).hasSize(5);
        assertThat(slow.bodies()).containsExactly("m0", "m1");
        assertThat(broker.outcomes.said).as("publishers do not wait").hasSize(5);
        broker.pass(SECOND_NS / 10 - 1);
        assertThat(slow.got).hasSize(2);
        broker.pass(1);
        assertThat(slow.bodies()).containsExactly("m0", "m1", "m2");
        broker.pass(SECOND_NS / 10);
        broker.pass(SECOND_NS / 10);
        assertThat(slow.bodies()).containsExactly("m0", "m1", "m2", "m3", "m4");
        assertThat(gate(broker).admitted()).isEqualTo(5);
    }

    @Test
    void shouldAskToBeWokenWhenTheNextTokenComesAndNoLongerWhenNothingWaits() {
        ShardsFixture broker = broker(SETTINGS, 1_000, 1);
        Reader slow = broker.reader("slow", 100);
        broker.publish("m0");
        broker.publish("m1");
        assertThat(broker.shards.nextDeadlineNs()).isEqualTo(broker.nowNs + SECOND_NS / 1_000);
        broker.pass(SECOND_NS / 1_000);
        assertThat(slow.got).hasSize(2);
        assertThat(broker.shards.nextDeadlineNs() - broker.nowNs).isGreaterThan(SECOND_NS);
    }

    @Test
    void shouldLookForSupplyEveryTenMillisecondsWhenNoTokenWillCome() {
        ShardsFixture broker = new ShardsFixture().supply(1_000, 100);
        broker.shards.apply(Definitions.limiting(Definitions.of(TOPIC, SETTINGS), "slow"));
        Reader slow = broker.reader("slow", 100);
        broker.publish("m0");
        assertThat(broker.shards.nextDeadlineNs()).isEqualTo(broker.nowNs + SECOND_NS / 100);
        broker.pass(1);
        assertThat(slow.got).isEmpty();
        broker.supply(KEY, 10, 1);
        assertThat(slow.got).hasSize(1);
    }

    @Test
    void shouldChargeARedeliveryToo() {
        ShardsFixture broker = broker(SETTINGS, 1, 2);
        Reader slow = broker.reader("slow", 100);
        broker.publish("m");
        slow.subscription.requeue(slow.last().id(), 0, broker.nowNs);
        assertThat(slow.got).hasSize(2);
        slow.subscription.requeue(slow.last().id(), 0, broker.nowNs);
        assertThat(slow.got).hasSize(2);
        broker.pass(SECOND_NS);
        assertThat(slow.last().attempts()).isEqualTo(3);
        broker.pass(TIMEOUT_NS);
        assertThat(slow.last().attempts()).as("after its time-out").isEqualTo(4);
        assertThat(gate(broker).admitted()).isEqualTo(4);
    }

    @Test
    void shouldTakeNoTokenWhenNoConsumerHasCredit() {
        ShardsFixture broker = broker(SETTINGS, 1, 3);
        Reader slow = broker.reader("slow", 1);
        for (int i = 0; i < 3; i++) {
            broker.publish("m" + i);
        }
        broker.work();
        assertThat(gate(broker).admitted()).isEqualTo(1);
        assertThat(broker.shards.nextDeadlineNs() - broker.nowNs).isGreaterThan(SECOND_NS);
        slow.subscription.finish(slow.last().id(), broker.nowNs);
        assertThat(slow.got).hasSize(2);
        assertThat(gate(broker).admitted()).isEqualTo(2);
    }

    @Test
    void shouldServeConsumersInTurnThoughTokensAreScarce() {
        ShardsFixture broker = broker(SETTINGS, 10, 1);
        Reader one = broker.reader("slow", 100);
        Reader two = broker.reader("slow", 100);
        for (int i = 0; i < 10; i++) {
            broker.publish("m" + i);
        }
        for (int i = 0; i < 10; i++) {
            // Looked at in vain between any two tokens.
            broker.pass(SECOND_NS / 20);
            broker.pass(SECOND_NS / 20);
        }
        assertThat(one.got).hasSize(5);
        assertThat(two.got).hasSize(5);
    }

    @Test
    void shouldHoldBackPublishersWhenItsQueueIsFull() {
        ShardsFixture broker = broker(SETTINGS.withQueue(3, Overflow.HOLD_BACK), 10, 1);
        Reader slow = broker.reader("slow", 100);
        for (int i = 0; i < 6; i++) {
            broker.publish("m" + i);
        }
        assertThat(broker.outcomes.said).hasSize(4);
        assertThat(broker.stats().waiting()).isEqualTo(2);
        broker.pass(SECOND_NS / 10);
        assertThat(slow.got).hasSize(2);
        assertThat(broker.outcomes.said).hasSize(5);
    }

    @Test
    void shouldDropTheOldestWhenItsQueueIsFullAndTheTopicSaysSo() {
        ShardsFixture broker = broker(SETTINGS.withQueue(2, Overflow.DROP_OLDEST), 10, 1);
        Reader slow = broker.reader("slow", 100);
        for (int i = 0; i < 5; i++) {
            broker.publish("m" + i);
        }
        broker.pass(SECOND_NS / 10);
        broker.pass(SECOND_NS / 10);
        assertThat(slow.bodies()).containsExactly("m0", "m3", "m4");
        assertThat(broker.channel("slow").dropped()).isEqualTo(2);
    }

    @Test
    void shouldSayWhatItWantsWhereSomebodyConsumes() {
        ShardsFixture broker = broker(SETTINGS, 1, 1);
        broker.shards.apply(Definitions.limiting(Definitions.of(TOPIC, SETTINGS, "slow"), "slow"));
        broker.publish("m0");
        broker.publish("m1");
        assertThat(sample(broker).demand().rateMicros()).as("nobody consumes").isZero();
        Reader slow = broker.reader("slow", 100);
        broker.publish("m2");
        broker.pass(SECOND_NS / 2);
        GateSample wanting = sample(broker);
        assertThat(wanting.demand().rateMicros())
                .as("3 messages in 0.5 s, over 10.5 s")
                .isBetween(280_000L, 300_000L);
        assertThat(wanting.waiting()).isEqualTo(2);
        slow.subscription.close(broker.nowNs);
        assertThat(sample(broker).waiting()).isZero();
    }

    @Test
    void shouldGoOnWantingWhatWaitsThoughNothingNewComes() {
        ShardsFixture broker = broker(SETTINGS, 10, 1);
        broker.reader("slow", 10_000);
        for (int i = 0; i < 2_000; i++) {
            broker.publish("m" + i);
        }
        for (int i = 0; i < 100; i++) {
            broker.pass(SECOND_NS / 10);
        }
        GateSample wanting = sample(broker);
        assertThat(wanting.waiting()).isEqualTo(1_899);
        assertThat(wanting.demand().rateMicros()).isGreaterThan(1_500 * MICROS);
    }

    @Test
    void shouldBeginAndEndWithTheDefinition() {
        ShardsFixture broker =
                new ShardsFixture().topic(SETTINGS).supply(1_000, 100).supply(KEY, 10, 1);
        Reader slow = broker.reader("slow", 100);
        broker.publish("a");
        broker.publish("b");
        assertThat(slow.got).hasSize(2);
        broker.shards.apply(Definitions.limiting(Definitions.of(TOPIC, SETTINGS), "slow"));
        broker.publish("c");
        broker.publish("d");
        assertThat(slow.got).hasSize(3);
        broker.shards.apply(Definitions.of(TOPIC, SETTINGS));
        assertThat(slow.bodies()).containsExactly("a", "b", "c", "d");
        broker.work();
        assertThat(broker.shards.nextDeadlineNs() - broker.nowNs).isGreaterThan(SECOND_NS);
    }

    @Test
    void shouldForgetAChannelThatWaitsForTokensWhenItIsDeleted() {
        ShardsFixture broker = broker(SETTINGS, 0.1, 1);
        Reader slow = broker.reader("slow", 100);
        broker.publish("m0");
        broker.publish("m1");
        broker.shards.apply(Definitions.limiting(Definitions.of(TOPIC, SETTINGS, "slow"), "slow"));
        broker.shards.apply(Definitions.of(TOPIC, SETTINGS));
        assertThat(slow.gone).isEqualTo("the channel was deleted");
        broker.pass(SECOND_NS);
        assertThat(broker.shards.nextDeadlineNs() - broker.nowNs).isGreaterThan(SECOND_NS);
        assertThat(broker.shards.store().messages()).isZero();
    }

    @Test
    void shouldKeepTheBoundHoweverConsumersComeGoAndGiveBack() {
        for (long seed = 1; seed <= 50; seed++) {
            Random random = new Random(seed);
            ShardsFixture broker = broker(SETTINGS, 1_000, 5);
            HardBound bound = new HardBound(Limit.of(1_000, 5), broker.nowNs);
            Reader reader = broker.reader("slow", 10);
            long seen = 0;
            long all = 0;
            for (int step = 0; step < 2_000; step++) {
                switch (random.nextInt(8)) {
                    case 0 -> {
                        reader.subscription.close(broker.nowNs);
                        reader = broker.reader("slow", 1 + random.nextInt(10));
                        seen = reader.got.size();
                        for (int i = 0; i < seen; i++) {
                            bound.admitted(MICROS, broker.nowNs);
                        }
                        all += seen;
                    }
                    case 1, 2 -> {
                        if (!reader.got.isEmpty()) {
                            reader.subscription.requeue(
                                    reader.last().id(), random.nextInt(2) * 2_000_000L, broker.nowNs);
                        }
                    }
                    case 3 -> {
                        if (!reader.got.isEmpty()) {
                            reader.subscription.finish(reader.last().id(), broker.nowNs);
                        }
                    }
                    case 4 -> {
                        reader.room = random.nextInt(4);
                        reader.subscription.writable(broker.nowNs);
                    }
                    case 5 -> broker.pass(random.nextInt(5_000_000));
                    default -> broker.publish("m");
                }
                for (; seen < reader.got.size(); seen++, all++) {
                    bound.admitted(MICROS, broker.nowNs);
                }
            }
            assertThat(bound.excessMicros()).as("seed %d", seed).isZero();
            assertThat(all).as("seed %d", seed).isGreaterThan(100);
        }
    }
}
