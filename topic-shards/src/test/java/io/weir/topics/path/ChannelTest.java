package io.weir.topics.path;

import static io.weir.topics.path.ShardsFixture.SECOND_NS;
import static io.weir.topics.path.ShardsFixture.TIMEOUT_NS;
import static io.weir.topics.path.ShardsFixture.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.TopicName;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.ShardsFixture.Delivery;
import io.weir.topics.path.ShardsFixture.Reader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ChannelTest {
    private final ShardsFixture broker =
            new ShardsFixture().topic(TopicSettings.defaults()).supply(1_000_000, 1_000_000);

    @AfterEach
    void shouldHoldNothingOnceTheTopicIsGone() {
        broker.shards.remove(TOPIC, "the test is over");
        assertThat(broker.shards.store().messages()).isZero();
        assertThat(broker.shards.store().bytesInUse()).isZero();
    }

    @Test
    void shouldGiveEveryChannelACopyAndConsumersOfAChannelTheirTurns() {
        Reader all = broker.reader("audit", 100);
        Reader one = broker.reader("work", 100);
        Reader other = broker.reader("work", 100);
        for (int i = 0; i < 6; i++) {
            broker.publish("m" + i);
        }
        assertThat(all.bodies()).containsExactly("m0", "m1", "m2", "m3", "m4", "m5");
        assertThat(one.got).hasSize(3);
        assertThat(other.got).hasSize(3);
        List<String> both = new ArrayList<>(one.bodies());
        both.addAll(other.bodies());
        assertThat(both).containsExactlyInAnyOrderElementsOf(all.bodies());
    }

    @Test
    void shouldGiveNoMoreThanTheCredit() {
        Reader reader = broker.reader("work", 2);
        for (int i = 0; i < 5; i++) {
            broker.publish("m" + i);
        }
        assertThat(reader.bodies()).containsExactly("m0", "m1");
        assertThat(reader.subscription.finish(reader.got.get(0).id(), broker.nowNs))
                .isTrue();
        assertThat(reader.bodies()).containsExactly("m0", "m1", "m2");
        reader.subscription.ready(0, broker.nowNs);
        reader.subscription.finish(reader.got.get(1).id(), broker.nowNs);
        assertThat(reader.got).hasSize(3);
        reader.subscription.ready(10, broker.nowNs);
        assertThat(reader.bodies()).containsExactly("m0", "m1", "m2", "m3", "m4");
    }

    @Test
    void shouldFinishAMessageOnce() {
        Reader reader = broker.reader("work", 1);
        broker.publish("m");
        long id = reader.last().id();
        assertThat(reader.subscription.finish(id + 1, broker.nowNs)).isFalse();
        assertThat(reader.subscription.finish(id, broker.nowNs)).isTrue();
        assertThat(reader.subscription.finish(id, broker.nowNs)).isFalse();
        assertThat(reader.subscription.requeue(id, 0, broker.nowNs)).isFalse();
        assertThat(reader.subscription.touch(id, broker.nowNs)).isFalse();
        assertThat(broker.shards.store().messages()).isZero();
    }

    @Test
    void shouldNotLetOneConsumerFinishWhatAnotherHolds() {
        Reader one = broker.reader("work", 1);
        broker.publish("m");
        Reader other = broker.reader("work", 1);
        assertThat(other.subscription.finish(one.last().id(), broker.nowNs)).isFalse();
        assertThat(one.subscription.finish(one.last().id(), broker.nowNs)).isTrue();
    }

    @Test
    void shouldDeliverAgainWithTheSameIdWhenTheTimeOutHasPassed() {
        Reader reader = broker.reader("work", 1);
        broker.publish("m");
        broker.pass(TIMEOUT_NS - 1);
        assertThat(reader.got).hasSize(1);
        assertThat(broker.shards.nextDeadlineNs()).isEqualTo(broker.nowNs + 1);
        broker.pass(1);
        long id = reader.got.get(0).id();
        assertThat(reader.got).containsExactly(new Delivery(id, 1, "m"), new Delivery(id, 2, "m"));
        assertThat(broker.channel("work").timedOut()).isEqualTo(1);
        assertThat(broker.gates.gate(TOPIC, broker.nowNs).admitted()).isEqualTo(1);
    }

    @Test
    void shouldDeliverARequeuedMessageAfterItsDelayWithOneMoreAttempt() {
        Reader reader = broker.reader("work", 5);
        broker.publish("m");
        assertThat(reader.subscription.requeue(reader.last().id(), 10 * SECOND_NS, broker.nowNs))
                .isTrue();
        assertThat(broker.channel("work").deferred()).isEqualTo(1);
        broker.pass(10 * SECOND_NS - 1);
        assertThat(reader.got).hasSize(1);
        broker.pass(1);
        assertThat(reader.last().attempts()).isEqualTo(2);
        reader.subscription.requeue(reader.last().id(), 0, broker.nowNs);
        assertThat(reader.last().attempts()).isEqualTo(3);
        assertThat(broker.channel("work").requeued()).isEqualTo(2);
    }

    @Test
    void shouldExtendTheTimeOutByTouchUpToItsBound() {
        Reader reader = broker.reader("work", 1);
        broker.publish("m");
        long sentNs = broker.nowNs;
        long longestNs = PathSettings.defaults().maxMessageTimeoutNs();
        while (broker.nowNs - sentNs < longestNs - TIMEOUT_NS / 2) {
            broker.pass(TIMEOUT_NS / 2);
            assertThat(reader.subscription.touch(reader.last().id(), broker.nowNs))
                    .isTrue();
        }
        assertThat(reader.got).hasSize(1);
        broker.pass(sentNs + longestNs - broker.nowNs);
        assertThat(reader.got).hasSize(2);
    }

    @Test
    void shouldDeliverADeferredMessageWhenItIsDue() {
        Reader reader = broker.reader("work", 5);
        broker.publish(TOPIC, "later", 2 * SECOND_NS);
        broker.publish("now");
        assertThat(reader.bodies()).containsExactly("now");
        broker.pass(2 * SECOND_NS);
        assertThat(reader.bodies()).containsExactly("now", "later");
        assertThat(reader.last().attempts()).isEqualTo(1);
    }

    @Test
    void shouldHandOutNothingWhilePaused() {
        Reader reader = broker.reader("work", 5);
        TopicDefinition flowing = Definitions.of(TOPIC, TopicSettings.defaults(), "work");
        broker.shards.apply(flowing.withChannel("work", new TopicDefinition.ChannelSettings(true)));
        broker.publish("m");
        broker.pass(SECOND_NS);
        assertThat(reader.got).isEmpty();
        broker.shards.apply(flowing.withChannel("work", new TopicDefinition.ChannelSettings(false)));
        assertThat(reader.bodies()).containsExactly("m");
    }

    @Test
    void shouldKeepMessagesFromChannelsWhileTheTopicIsPaused() {
        Reader reader = broker.reader("work", 5);
        broker.shards.apply(Definitions.of(TOPIC, TopicSettings.defaults()).withPaused(true));
        broker.publish("m");
        assertThat(reader.got).isEmpty();
        assertThat(broker.stats().unrouted()).isEqualTo(1);
        broker.shards.apply(Definitions.of(TOPIC, TopicSettings.defaults()).withPaused(false));
        assertThat(reader.bodies()).containsExactly("m");
    }

    @Test
    void shouldGiveWhatADeadConsumerHeldToAnotherAndLoseNone() {
        Reader victim = broker.reader("work", 10);
        for (int i = 0; i < 30; i++) {
            broker.publish("m" + i);
        }
        assertThat(victim.got).hasSize(10);
        for (int i = 0; i < 4; i++) {
            victim.subscription.finish(victim.got.get(i).id(), broker.nowNs);
        }
        int held = victim.got.size() - 4;
        assertThat(broker.channel("work").inFlight()).isEqualTo(held);
        Reader heir = broker.reader("work", 100);
        victim.subscription.close(broker.nowNs);
        List<String> seen = new ArrayList<>(heir.bodies());
        victim.got.subList(0, 4).forEach(delivery -> seen.add(delivery.body()));
        assertThat(seen).hasSize(30).doesNotHaveDuplicates();
        assertThat(heir.got.stream().filter(delivery -> delivery.attempts() == 2))
                .hasSize(held);
        assertThat(victim.subscription.finish(victim.last().id(), broker.nowNs)).isFalse();
    }

    @Test
    void shouldPassOverAConsumerWhoseSocketIsFullUntilItHasRoom() {
        Reader slow = broker.reader("work", 10);
        Reader fast = broker.reader("work", 10);
        slow.room = 0;
        for (int i = 0; i < 4; i++) {
            broker.publish("m" + i);
        }
        assertThat(slow.got).isEmpty();
        assertThat(fast.got).hasSize(4);
        assertThat(fast.got).allMatch(delivery -> delivery.attempts() == 1);
        slow.room = 5;
        slow.subscription.writable(broker.nowNs);
        fast.subscription.ready(0, broker.nowNs);
        broker.publish("m4");
        assertThat(slow.bodies()).containsExactly("m4");
    }

    @Test
    void shouldDropTheOldestAndCountItWhenThatIsTheRule() {
        broker.topic(TopicSettings.defaults().withQueue(3, Overflow.DROP_OLDEST));
        Reader reader = broker.reader("work", 0);
        for (int i = 0; i < 5; i++) {
            broker.publish("m" + i);
        }
        assertThat(broker.outcomes.said).hasSize(5).allMatch(said -> said.endsWith("accepted"));
        assertThat(broker.channel("work").dropped()).isEqualTo(2);
        reader.subscription.ready(10, broker.nowNs);
        assertThat(reader.bodies()).containsExactly("m2", "m3", "m4");
    }

    @Test
    void shouldDropANewcomerWhenAllTheRoomIsTakenByDeferredOnes() {
        broker.topic(TopicSettings.defaults().withQueue(2, Overflow.DROP_OLDEST));
        Reader reader = broker.reader("work", 0);
        broker.publish(TOPIC, "d0", SECOND_NS);
        broker.publish(TOPIC, "d1", SECOND_NS);
        broker.publish("m");
        assertThat(broker.channel("work").dropped()).isEqualTo(1);
        reader.subscription.ready(10, broker.nowNs);
        broker.pass(SECOND_NS);
        assertThat(reader.bodies()).containsExactlyInAnyOrder("d0", "d1");
    }

    @Test
    void shouldHoldBackPublishersWhenAChannelIsFull() {
        broker.topic(TopicSettings.defaults().withQueue(2, Overflow.HOLD_BACK));
        Reader slow = broker.reader("slow", 0);
        Reader quick = broker.reader("quick", 100);
        for (int i = 0; i < 4; i++) {
            broker.publish("m" + i);
        }
        assertThat(broker.outcomes.said).containsExactly("1 accepted", "2 accepted");
        assertThat(broker.gates.gate(TOPIC, broker.nowNs).admitted()).isEqualTo(2);
        slow.subscription.ready(1, broker.nowNs);
        broker.work();
        assertThat(broker.outcomes.said).containsExactly("1 accepted", "2 accepted", "3 accepted");
        slow.subscription.ready(10, broker.nowNs);
        broker.work();
        assertThat(slow.bodies()).containsExactly("m0", "m1", "m2", "m3");
        assertThat(quick.bodies()).containsExactly("m0", "m1", "m2", "m3");
    }

    @Test
    void shouldKeepMessagesOfATopicWithoutChannelsForTheFirst() {
        broker.publish("m0");
        broker.publish(TOPIC, "later", SECOND_NS);
        Reader first = broker.reader("first", 10);
        Reader second = broker.reader("second", 10);
        assertThat(first.bodies()).containsExactly("m0");
        broker.pass(SECOND_NS);
        assertThat(first.bodies()).containsExactly("m0", "later");
        assertThat(second.got).isEmpty();
    }

    @Test
    void shouldEndAnEphemeralChannelWithItsLastConsumer() {
        Reader one = broker.reader("tail#ephemeral", 1);
        Reader other = broker.reader("tail#ephemeral", 1);
        for (int i = 0; i < 5; i++) {
            broker.publish("m" + i);
        }
        one.subscription.close(broker.nowNs);
        assertThat(broker.stats().channels()).hasSize(1);
        other.subscription.close(broker.nowNs);
        assertThat(broker.stats().channels()).isEmpty();
        assertThat(broker.shards.store().messages()).isZero();
    }

    @Test
    void shouldEndAnEphemeralTopicWithItsLastChannel() {
        TopicName topic = new TopicName("ticks#ephemeral");
        broker.shards.apply(Definitions.of(topic, TopicSettings.defaults()));
        Reader reader = broker.reader(topic, "c#ephemeral", 1);
        assertThat(broker.shards.stats()).hasSize(2);
        reader.subscription.close(broker.nowNs);
        assertThat(broker.shards.stats()).hasSize(1);
    }

    @Test
    void shouldCloseTheConsumersOfADeletedChannelAndReleaseItsMessages() {
        Reader reader = broker.reader("work", 1);
        broker.publish("m0");
        broker.publish("m1");
        broker.shards.apply(Definitions.of(TOPIC, TopicSettings.defaults(), "work"));
        broker.shards.apply(Definitions.of(TOPIC, TopicSettings.defaults()));
        assertThat(reader.gone).isEqualTo("the channel was deleted");
        assertThat(broker.shards.store().messages()).isZero();
        reader.subscription.close(broker.nowNs);
    }

    /** Another broker that has not heard of a channel's deletion yet makes it again, and then lets go of it. */
    @Test
    void shouldNotKeepAChannelThatOnlyAnotherBrokersConsumersMadeAndNoDefinitionNames() {
        for (String claim : List.of("nobody", "a definition", "a consumer here", "a consumer there")) {
            ShardsFixture broker = new ShardsFixture()
                    .topic(TopicSettings.defaults(), "work")
                    .topic(TopicSettings.defaults())
                    .supply(10, 10);
            Consumer remote = broker.shards.subscribeRemote(new Reader(), TOPIC, "work", broker.nowNs);
            broker.publish("m");
            remote.close(broker.nowNs);
            broker.pass(30 * SECOND_NS);
            switch (claim) {
                case "a definition" -> broker.topic(TopicSettings.defaults(), "work");
                case "a consumer here" -> broker.reader("work", 0).subscription.close(broker.nowNs);
                case "a consumer there" -> broker.shards.subscribeRemote(new Reader(), TOPIC, "work", broker.nowNs);
                default -> assertThat(broker.channel("work").queued()).isEqualTo(1);
            }
            broker.pass(30 * SECOND_NS);
            assertThat(broker.stats().channels()).as("claimed by " + claim).hasSize(claim.equals("nobody") ? 0 : 1);
            assertThat(broker.shards.store().messages()).isEqualTo(claim.equals("nobody") ? 0 : 1);
        }
    }

    /** The broker that its consumers came to could not have it stored, and is gone or cut off. */
    @Test
    void shouldKeepWhatIsInAChannelThatOnlyAnotherBrokersConsumersMadeAndHaveItNamed() {
        for (boolean lost : new boolean[] {false, true}) {
            ShardsFixture broker =
                    new ShardsFixture().topic(TopicSettings.defaults()).supply(10, 10);
            Consumer remote = broker.shards.subscribeRemote(new Reader(), TOPIC, "work", broker.nowNs);
            Consumer idle = broker.shards.subscribeRemote(new Reader(), TOPIC, "idle", broker.nowNs);
            broker.publish("m");
            broker.shards.emptyChannel(TOPIC, "idle");
            if (lost) {
                remote.lost(broker.nowNs);
                idle.lost(broker.nowNs);
            } else {
                remote.close(broker.nowNs);
                idle.close(broker.nowNs);
            }
            broker.pass(60 * SECOND_NS);
            assertThat(broker.stats().channels()).as("nothing is in the other").hasSize(1);
            assertThat(broker.channelsWanted).containsExactly("orders work");
            broker.pass(60 * SECOND_NS);
            assertThat(broker.channelsWanted).as("nobody heard").containsExactly("orders work", "orders work");
            broker.topic(TopicSettings.defaults(), "work");
            broker.pass(600 * SECOND_NS);
            assertThat(broker.reader("work", 1).bodies()).containsExactly("m");
        }
    }

    @Test
    void shouldKeepAnEphemeralChannelForAWhileWhenTheLinkToItsConsumerIsLost() {
        Reader away = new Reader();
        Consumer remote = broker.shards.subscribeRemote(away, TOPIC, "tail#ephemeral", broker.nowNs);
        remote.ready(1, broker.nowNs);
        broker.publish("with the consumer");
        broker.publish("queued");
        remote.lost(broker.nowNs);
        broker.publish("meanwhile");
        broker.pass(59 * SECOND_NS);
        Reader again = new Reader();
        Consumer back = broker.shards.subscribeRemote(again, TOPIC, "tail#ephemeral", broker.nowNs);
        back.ready(10, broker.nowNs);
        assertThat(again.bodies()).containsExactlyInAnyOrder("with the consumer", "queued", "meanwhile");
        broker.pass(600 * SECOND_NS);
        assertThat(broker.stats().channels()).hasSize(1);
        back.lost(broker.nowNs);
        broker.pass(60 * SECOND_NS);
        assertThat(broker.stats().channels()).as("it did not come back").isEmpty();
        assertThat(broker.shards.store().messages()).isZero();
    }

    @Test
    void shouldLookAtChannelsNoMoreOftenThanEveryMillisecond() {
        Reader reader = broker.reader("work", 1);
        broker.publish("m");
        broker.pass(TIMEOUT_NS);
        reader.subscription.requeue(reader.last().id(), 1, broker.nowNs);
        assertThat(broker.shards.nextDeadlineNs()).isEqualTo(broker.nowNs + TimeUnit.MILLISECONDS.toNanos(1));
    }

    @Test
    void shouldDropAllThatItHoldsWhenEmptied() {
        Reader reader = broker.reader("work", 1);
        Reader other = broker.reader("audit", 10);
        broker.publish("held");
        broker.publish("queued");
        broker.publish(TOPIC, "deferred", SECOND_NS);
        broker.shards.emptyChannel(TOPIC, "work");
        assertThat(broker.channel("work").queued()).isZero();
        assertThat(broker.channel("work").deferred()).isZero();
        assertThat(broker.channel("work").inFlight()).isZero();
        assertThat(broker.channel("work").received()).isEqualTo(3);
        assertThat(reader.subscription.finish(reader.last().id(), broker.nowNs)).isFalse();
        broker.pass(2 * SECOND_NS);
        broker.publish("next");
        assertThat(reader.bodies()).containsExactly("held", "next");
        assertThat(other.bodies()).containsExactly("held", "queued", "deferred", "next");
    }

    @Test
    void shouldDropWhatNoChannelHasYetWhenTheTopicIsEmptied() {
        broker.publish("before");
        assertThat(broker.stats().unrouted()).isEqualTo(1);
        broker.shards.empty(TOPIC);
        broker.publish("after");
        assertThat(broker.reader("work", 10).bodies()).containsExactly("after");
    }

    @Test
    void shouldFindNothingToEmptyWhereATopicOrChannelIsNotKnown() {
        broker.shards.empty(new TopicName("unknown"));
        broker.shards.emptyChannel(new TopicName("unknown"), "work");
        broker.shards.emptyChannel(TOPIC, "unknown");
        assertThat(broker.shards.stats()).hasSize(1);
    }
}
