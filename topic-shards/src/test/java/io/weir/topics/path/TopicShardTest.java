package io.weir.topics.path;

import static io.weir.topics.path.ShardsFixture.SECOND_NS;
import static io.weir.topics.path.ShardsFixture.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.gate.TopicGate;
import io.weir.limiter.supply.value.Holding;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.algorithm.DelayTotals;
import io.weir.topics.definition.BucketClock;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.ShardsFixture.Reader;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TopicShardTest {
    private static final TopicSettings SHAPED = TopicSettings.defaults();

    @Test
    void shouldDelayTheAnswerUntilTheTokenIsThere() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED).supply(10, 2);
        Reader reader = broker.reader("work", 100);
        for (int i = 0; i < 4; i++) {
            broker.publish("m" + i);
        }
        broker.work();
        assertThat(broker.outcomes.said).containsExactly("1 accepted", "2 accepted");
        broker.pass(SECOND_NS / 10 - 1);
        assertThat(broker.outcomes.said).hasSize(2);
        broker.pass(1);
        assertThat(broker.outcomes.said).containsExactly("1 accepted", "2 accepted", "3 accepted");
        broker.pass(SECOND_NS / 10);
        assertThat(reader.bodies()).containsExactly("m0", "m1", "m2", "m3");
        assertThat(gate(broker).delayed()).isEqualTo(2);
        assertThat(gate(broker).admitted()).isEqualTo(4);
    }

    @Test
    void shouldNotGoByAReadingOfTheClockFromAnEarlierTurn() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED).supply(10, 20);
        broker.publish("m0");
        broker.publish("m1");
        // The next turn begins with what its sockets brought, before any duty.
        broker.nowNs += 3_600 * SECOND_NS;
        broker.publish("m2");
        assertThat(broker.outcomes.said).as("past the lease").containsExactly("1 accepted", "2 accepted");
    }

    @Test
    void shouldNotGoByAnEarlierReadingWhenTheLineMovesOn() {
        long longNs = 7_200 * SECOND_NS;
        ShardsFixture broker = new ShardsFixture()
                .topic(new TopicSettings(LimitMode.SHAPE, longNs, 100, 1, Overflow.HOLD_BACK))
                .supply(10, 20);
        broker.publish("m0");
        broker.publishBatch("1", "2", "3", "4", "5");
        broker.publish("m6");
        broker.nowNs += 3_600 * SECOND_NS;
        // There is room now, and the batch in front is refused without a look at the gate.
        broker.shards.apply(
                Definitions.of(TOPIC, new LimitSettings(1, 2_000_000, 0, Sharing.DEFAULT), Definitions.hasty(longNs)));
        broker.work();
        assertThat(broker.outcomes.said).hasSize(2).first().isEqualTo("1 accepted");
        assertThat(broker.outcomes.said.get(1)).startsWith("2 failed: the topic's limit lets at most 2 messages pass");
        assertThat(broker.stats().waiting()).as("past the lease").isEqualTo(1);
    }

    @Test
    void shouldReadTheClockOnceForSeveralMessagesOfOnePublisherInATurn() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED).supply(10, 20);
        broker.reads = 0;
        for (int i = 0; i < 10; i++) {
            broker.publish("m" + i);
        }
        assertThat(broker.reads).as("before and after the first").isEqualTo(2);
        broker.work();
        broker.publish("m10");
        assertThat(broker.reads).isEqualTo(4);
    }

    @Test
    void shouldAskToBeWokenWhenTheNextTokenComes() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED).supply(1_000, 1);
        broker.publish("m0");
        broker.publish("m1");
        broker.work();
        assertThat(broker.shards.nextDeadlineNs()).isEqualTo(broker.nowNs + TimeUnit.MILLISECONDS.toNanos(1));
    }

    @Test
    void shouldFailAPublicationThatWaitedTooLong() {
        ShardsFixture broker =
                new ShardsFixture().topic(Definitions.hasty(SECOND_NS)).supply(0.1, 1);
        broker.publish("m0");
        broker.publish("m1");
        broker.pass(SECOND_NS - 1);
        assertThat(broker.outcomes.said).containsExactly("1 accepted");
        broker.pass(broker.shards.nextDeadlineNs() - broker.nowNs);
        assertThat(broker.outcomes.said)
                .containsExactly("1 accepted", "2 failed: it waited longer than the topic's 1000 ms");
        assertThat(broker.shards.store().messages()).isEqualTo(1);
        assertThat(gate(broker).refused()).isEqualTo(1);
    }

    @Test
    void shouldCountTheDelayOfWhatWaitedFromItsArrivalAtTheCluster() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED).supply(10, 1);
        broker.nowNs += 10 * SECOND_NS;
        broker.publish("takes the token");
        broker.shards.takeDelays();
        broker.publishCame("came over a link", broker.nowNs - 4 * SECOND_NS, broker.nowNs);
        broker.publishBatchCame(broker.nowNs - 4 * SECOND_NS, "a", "b");
        for (int i = 0; i < 4; i++) {
            broker.pass(SECOND_NS / 10);
        }
        assertThat(broker.outcomes.said).containsExactly("1 accepted", "2 accepted", "3 accepted");
        DelayCounts.Window delays = broker.shards.takeDelays().get(TOPIC);
        assertThat(delays.messages()).isEqualTo(3);
        assertThat(delays.longerThan(7 * SECOND_NS / 2))
                .as("of all, the age too")
                .isEqualTo(3);
        DelayTotals all = broker.shards.delays(Optional.of(TOPIC.value())).get(TOPIC);
        assertThat(all.messages()).as("nothing was taken from these").isEqualTo(4);
        assertThat(all.waited()).isEqualTo(3);
        assertThat(broker.shards.delays(Optional.of("other"))).isEmpty();
    }

    /** As of a client that sends many at once: its second has its turn when the first is answered. */
    @Test
    void shouldCountTheLongestDelayFromArrival() {
        String late = " failed: it waited longer than the topic's 1000 ms";
        ShardsFixture broker =
                new ShardsFixture().topic(Definitions.hasty(SECOND_NS)).supply(0.1, 1);
        broker.nowNs += 10 * SECOND_NS;
        broker.publish("takes the token");
        broker.publish("fresh");
        broker.publishCame("late already", broker.nowNs - SECOND_NS, broker.nowNs);
        assertThat(broker.outcomes.said).containsExactly("1 accepted", "3" + late);
        broker.publishCame("half its time is over", broker.nowNs - SECOND_NS / 2, broker.nowNs);
        broker.publishBatchCame(broker.nowNs - SECOND_NS / 4, "a", "b");
        broker.publish("last");
        broker.pass(SECOND_NS / 2 - 1);
        assertThat(broker.outcomes.said).hasSize(2);
        broker.pass(broker.shards.nextDeadlineNs() - broker.nowNs);
        assertThat(broker.outcomes.said).as("though another is before it").endsWith("4" + late);
        broker.pass(SECOND_NS / 4);
        assertThat(broker.outcomes.said).hasSize(4).endsWith("5" + late);
        broker.pass(SECOND_NS / 4);
        assertThat(broker.outcomes.said).hasSize(6).endsWith("2" + late, "6" + late);
        assertThat(broker.stats().waiting()).isZero();
        assertThat(broker.shards.store().messages()).isEqualTo(1);
    }

    @Test
    void shouldLetALateOnePassThatNeedNotWait() {
        ShardsFixture broker =
                new ShardsFixture().topic(Definitions.hasty(SECOND_NS)).supply(0.1, 1);
        broker.nowNs += 10 * SECOND_NS;
        broker.publishCame("late", broker.nowNs - 5 * SECOND_NS, broker.nowNs);
        assertThat(broker.outcomes.said).containsExactly("1 accepted");
    }

    @Test
    void shouldFailAPublicationWhenTheLineIsFull() {
        TopicSettings narrow = new TopicSettings(LimitMode.SHAPE, 30 * SECOND_NS, 2, 100, Overflow.HOLD_BACK);
        ShardsFixture broker = new ShardsFixture().topic(narrow).supply(0.1, 1);
        for (int i = 0; i < 4; i++) {
            broker.publish("m" + i);
        }
        assertThat(broker.outcomes.said)
                .containsExactly("1 accepted", "4 failed: more than 2 messages wait for the topic's limit");
        assertThat(broker.stats().waiting()).isEqualTo(2);
    }

    @Test
    void shouldRefuseAtOnceAndSayWhenToComeAgainWhenItPolices() {
        ShardsFixture broker =
                new ShardsFixture().topic(SHAPED.with(LimitMode.POLICE)).supply(10, 2);
        broker.publish("m0");
        broker.publishBatch("a", "b");
        broker.publish("m1");
        broker.publishBatch("a", "b", "c");
        broker.publish("m2");
        assertThat(broker.outcomes.said)
                .containsExactly(
                        "1 accepted",
                        "2 throttled " + SECOND_NS / 10,
                        "3 accepted",
                        "4 throttled " + Long.MAX_VALUE,
                        "5 throttled " + SECOND_NS / 10);
        assertThat(gate(broker).refused()).isEqualTo(6);
        assertThat(broker.shards.store().messages()).isEqualTo(2);
        broker.pass(SECOND_NS / 10);
        broker.publish("m3");
        assertThat(broker.outcomes.said).endsWith("6 accepted");
    }

    @Test
    void shouldLetEverythingPassAndCountWhenItOnlyShadows() {
        ShardsFixture broker =
                new ShardsFixture().topic(SHAPED.with(LimitMode.SHADOW)).supply(10, 2);
        for (int i = 0; i < 5; i++) {
            broker.publish("m" + i);
        }
        assertThat(broker.outcomes.said).hasSize(5).allMatch(said -> said.endsWith("accepted"));
        assertThat(gate(broker).admitted()).isEqualTo(2);
        assertThat(gate(broker).delayed()).isEqualTo(3);
    }

    @Test
    void shouldPassABatchLargerThanTheBurstInPartsAndAnswerAfterTheLast() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED).supply(10, 2);
        Reader reader = broker.reader("work", 100);
        broker.publishBatch("a", "b", "c", "d");
        broker.publish("next");
        broker.work();
        assertThat(reader.bodies()).containsExactly("a", "b");
        broker.pass(SECOND_NS / 10);
        assertThat(reader.bodies()).containsExactly("a", "b", "c");
        assertThat(broker.outcomes.said).isEmpty();
        broker.pass(SECOND_NS / 10);
        assertThat(broker.outcomes.said).containsExactly("1 accepted");
        broker.pass(SECOND_NS / 10);
        assertThat(reader.bodies()).containsExactly("a", "b", "c", "d", "next");
        assertThat(gate(broker).admitted()).isEqualTo(5);
    }

    @Test
    void shouldGoOnWithABatchThatHasBegunToPassAndFailThoseBehindItThatWaitedTooLong() {
        ShardsFixture broker =
                new ShardsFixture().topic(Definitions.hasty(SECOND_NS)).supply(1, 2);
        Reader reader = broker.reader("work", 100);
        broker.publishBatch("a", "b", "c", "d");
        broker.publish("behind");
        for (int i = 0; i < 25; i++) {
            broker.pass(SECOND_NS / 10);
        }
        assertThat(broker.outcomes.said)
                .containsExactly("2 failed: it waited longer than the topic's 1000 ms", "1 accepted");
        assertThat(reader.bodies()).containsExactly("a", "b", "c", "d");
        assertThat(broker.shards.store().messages()).as("all with the reader").isEqualTo(4);
    }

    @Test
    void shouldRefuseABatchAtOnceThatTheWholeLimitCouldNotLetPassInTime() {
        TopicSettings hasty = Definitions.hasty(SECOND_NS / 2);
        LimitSettings limit = new LimitSettings(4_000_000, 2_000_000, 0, Sharing.DEFAULT);
        ShardsFixture broker = new ShardsFixture().supply(1, 1);
        broker.publishBatch("1", "2", "3", "4", "5");
        broker.shards.apply(Definitions.of(TOPIC, limit, hasty));
        broker.work();
        String refusal =
                "failed: the topic's limit lets at most 4 messages pass within its 500 ms: publish fewer than 5 at once";
        assertThat(broker.outcomes.said).as("it came before the definition").containsExactly("1 " + refusal);
        broker.publishBatch("1", "2", "3", "4", "5");
        assertThat(broker.outcomes.said).as("as it comes").containsExactly("1 " + refusal, "2 " + refusal);
        assertThat(broker.shards.store().messages())
                .as("nothing of them passed")
                .isZero();
        assertThat(gate(broker).refused()).isEqualTo(10);
        broker.publishBatch("1", "2", "3", "4");
        for (int i = 0; i < 40; i++) {
            broker.pass(SECOND_NS / 10);
        }
        assertThat(broker.outcomes.said)
                .as("it has begun, though most of the limit is elsewhere")
                .endsWith("3 accepted");
        broker.shards.apply(Definitions.of(TOPIC, limit, hasty.with(LimitMode.SHADOW)));
        broker.publishBatch("1", "2", "3", "4", "5");
        assertThat(broker.outcomes.said).endsWith("4 accepted");
    }

    @Test
    void shouldLetABatchPassThatHasBegunWhenTheTopicComesToPolice() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED).supply(10, 2);
        Reader reader = broker.reader("work", 100);
        broker.publishBatch("a", "b", "c", "d");
        broker.work();
        broker.topic(SHAPED.with(LimitMode.POLICE));
        broker.pass(SECOND_NS / 10);
        broker.pass(SECOND_NS / 10);
        assertThat(broker.outcomes.said).containsExactly("1 accepted");
        assertThat(reader.bodies()).containsExactly("a", "b", "c", "d");
    }

    @Test
    void shouldKeepWhatIsPublishedToAnEphemeralTopicBeforeItsFirstChannel() {
        TopicName topic = new TopicName("reply#ephemeral");
        ShardsFixture broker = new ShardsFixture().supply(topic, 10, 10);
        broker.publish(topic, "early", 0);
        broker.work();
        broker.shards.apply(Definitions.of(topic, SHAPED));
        broker.work();
        assertThat(broker.outcomes.said).containsExactly("1 accepted");
        broker.publish(topic, "too", 0);
        broker.work();
        assertThat(broker.wanted).as("it is known from now on").containsExactly(topic);
        Reader reader = broker.reader(topic, "c#ephemeral", 10);
        assertThat(reader.bodies()).containsExactly("early", "too");
        reader.subscription.close(broker.nowNs);
        assertThat(broker.shards.stats()).as("gone with its last channel").isEmpty();
        assertThat(broker.ended).containsExactly(topic);
        assertThat(broker.shards.store().messages()).isZero();
    }

    @Test
    void shouldHoldEverythingWhileTheLeaseIsOut() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED).supply(1_000, 1_000);
        broker.nowNs += 3_600 * SECOND_NS;
        broker.publish("m");
        broker.work();
        assertThat(broker.outcomes.said).isEmpty();
        broker.lease.renewed(broker.nowNs);
        broker.pass(TimeUnit.MILLISECONDS.toNanos(10));
        assertThat(broker.outcomes.said).containsExactly("1 accepted");
    }

    @Test
    void shouldGoOnAtOnceWhenSupplyComes() {
        ShardsFixture broker = new ShardsFixture().topic(SHAPED);
        broker.publish("m");
        broker.work();
        assertThat(broker.outcomes.said).isEmpty();
        broker.supply(1, 1);
        assertThat(broker.outcomes.said).containsExactly("1 accepted");
    }

    @Test
    void shouldLetSupplyAccrueFromWhenItCameWhenTheThreadStoodStillInTheMiddleOfItsTurn() {
        ShardsFixture broker = new ShardsFixture().topic(TopicSettings.defaults(), "billing");
        long turnNs = broker.nowNs;
        // The turn has begun. The thread stands still for a second, and meanwhile a transfer is stored.
        broker.nowNs += SECOND_NS;
        broker.gates.add(
                broker.holder,
                Map.of(ShardsFixture.TOPIC, Holding.of(new Share(1_000 * Limit.MICROS, 5 * Limit.MICROS), 0)));
        broker.shards.doWork(turnNs);

        broker.publish("too early");

        assertThat(broker.outcomes.said).as("nothing has accrued").isEmpty();
    }

    @Test
    void shouldWaitForTheDefinitionOfATopicItDoesNotKnow() {
        ShardsFixture broker = new ShardsFixture().supply(10, 10);
        broker.publish("m0");
        broker.publish("m1");
        broker.work();
        assertThat(broker.wanted).containsExactly(TOPIC);
        assertThat(broker.outcomes.said).isEmpty();
        broker.topic(SHAPED);
        broker.work();
        assertThat(broker.outcomes.said).containsExactly("1 accepted", "2 accepted");
    }

    @Test
    void shouldAskAgainForADefinitionThatDoesNotCome() {
        ShardsFixture broker = new ShardsFixture();
        broker.publish("m0");
        broker.pass(SECOND_NS);
        broker.publish("m1");
        assertThat(broker.wanted).containsExactly(TOPIC, TOPIC);
        broker.pass(PathSettings.defaults().definitionWaitNs());
        assertThat(broker.outcomes.said)
                .containsExactly("1 failed: the topic is not known here", "2 failed: the topic is not known here");
        assertThat(broker.shards.stats()).isEmpty();
    }

    @Test
    void shouldTellThoseWhoWaitWhenATopicIsRefused() {
        ShardsFixture broker = new ShardsFixture();
        broker.publish("m0");
        Reader reader = broker.reader("work", 1);
        broker.shards.remove(TOPIC, "no such topic");
        assertThat(broker.outcomes.said).containsExactly("1 failed: no such topic");
        assertThat(reader.gone).isEqualTo("no such topic");
        assertThat(broker.shards.store().messages()).isZero();
        broker.work();
        assertThat(broker.shards.nextDeadlineNs()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void shouldRefuseTopicsAndChannelsBeyondTheirBounds() {
        PathSettings narrow = new PathSettings(1, 1, 8 << 20, SECOND_NS, SECOND_NS);
        ShardsFixture broker = new ShardsFixture(narrow).topic(SHAPED).supply(10, 10);
        broker.publish(new TopicName("other"), "m", 0);
        assertThat(broker.outcomes.said).containsExactly("1 failed: this broker has no room for another topic");
        broker.reader("one", 1);
        assertThat(broker.shards.subscribe(new Reader(), "orders", "two", SECOND_NS, broker.nowNs))
                .isNull();
        assertThat(broker.channelsWanted).as("none that nobody got").containsExactly("orders one");
    }

    @Test
    void shouldHoldBackAndThenRefuseWhenTheStoreIsFull() {
        PathSettings narrow = new PathSettings(10, 10, 16 << 20, SECOND_NS, 60 * SECOND_NS);
        ShardsFixture broker = new ShardsFixture(narrow).topic(SHAPED).supply(1_000_000, 1_000_000);
        Reader reader = broker.reader("work", 0);
        String large = "x".repeat(1 << 19);
        for (int i = 0; i < 40; i++) {
            broker.publish(large);
        }
        long accepted = count(broker, "accepted");
        long refused = broker.outcomes.said.stream()
                .filter(said -> said.contains("failed: topic orders holds "))
                .count();
        assertThat(accepted).isPositive();
        assertThat(refused).isPositive();
        int waiting = broker.stats().waiting();
        assertThat(accepted + refused + waiting).isEqualTo(40);
        assertThat(waiting).isPositive();
        reader.subscription.ready(1_000, broker.nowNs);
        while (!reader.got.isEmpty()) {
            reader.subscription.finish(reader.got.remove(0).id(), broker.nowNs);
            broker.pass(TimeUnit.MILLISECONDS.toNanos(10));
        }
        assertThat(count(broker, "accepted")).isEqualTo(accepted + waiting);
        assertThat(broker.shards.store().messages()).isZero();
    }

    private static long count(ShardsFixture broker, String ending) {
        return broker.outcomes.said.stream()
                .filter(said -> said.endsWith(ending))
                .count();
    }

    @Test
    void shouldGoByArrivalWhenATurnTakesLong() {
        for (BucketClock clock : BucketClock.values()) {
            ShardsFixture broker = new ShardsFixture()
                    .topic(SHAPED.with(LimitMode.POLICE).with(clock))
                    .supply(10, 2);
            long wokenNs = broker.nowNs;
            for (int i = 0; i < 4; i++) {
                broker.publishCame("m" + i, wokenNs, wokenNs);
                broker.nowNs += SECOND_NS / 10;
            }
            assertThat(broker.outcomes.said.stream().filter(said -> said.endsWith("accepted")))
                    .as("by %s", clock)
                    .hasSize(clock == BucketClock.ARRIVAL ? 2 : 4);
        }
    }

    @Test
    void shouldGoByTheArrivalThatAMessageBringsAlong() {
        ShardsFixture broker = new ShardsFixture()
                .topic(SHAPED.with(LimitMode.POLICE).with(BucketClock.ARRIVAL))
                .supply(10, 1);
        long startNs = broker.nowNs;
        broker.nowNs += SECOND_NS;
        for (int i = 0; i <= 5; i++) {
            broker.publishCame("m" + i, startNs + i * SECOND_NS / 10, broker.nowNs);
        }
        // From another broker, and older than what has passed already: the token of 0.5 s is gone.
        broker.publishCame("old", startNs, broker.nowNs);
        assertThat(broker.outcomes.said)
                .containsExactly(
                        "1 accepted",
                        "2 accepted",
                        "3 accepted",
                        "4 accepted",
                        "5 accepted",
                        "6 accepted",
                        "7 throttled " + SECOND_NS / 10);
    }

    @Test
    void shouldShapeByArrivalToo() {
        ShardsFixture broker =
                new ShardsFixture().topic(SHAPED.with(BucketClock.ARRIVAL)).supply(10, 1);
        broker.publish("m0");
        broker.publish("m1");
        broker.pass(SECOND_NS / 10 - 1);
        assertThat(broker.outcomes.said).containsExactly("1 accepted");
        broker.pass(1);
        assertThat(broker.outcomes.said).containsExactly("1 accepted", "2 accepted");
        assertThat(gate(broker).stampNs()).isEqualTo(broker.nowNs);
    }

    private static TopicGate gate(ShardsFixture broker) {
        return broker.gates.gate(TOPIC, broker.nowNs);
    }

    @Test
    void shouldLetAnEphemeralTopicGoThatWaitsInVainForAChannel() {
        TopicName passing = new TopicName("passing#ephemeral");
        ShardsFixture fixture = new ShardsFixture();
        fixture.shards.apply(Definitions.of(passing, TopicSettings.defaults()));
        fixture.nowNs += 59 * ShardsFixture.SECOND_NS;
        fixture.shards.doWork(fixture.nowNs);
        assertThat(fixture.ended).isEmpty();
        fixture.nowNs += 2 * ShardsFixture.SECOND_NS;
        fixture.shards.doWork(fixture.nowNs);
        assertThat(fixture.ended).containsExactly(passing);
        assertThat(fixture.shards.revisions()).isEmpty();
    }
}
