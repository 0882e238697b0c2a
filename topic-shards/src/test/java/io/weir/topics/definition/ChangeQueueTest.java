package io.weir.topics.definition;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.value.Holder;
import io.weir.topics.definition.Topic.ChangeLimit;
import io.weir.topics.definition.Topic.Command;
import io.weir.topics.definition.Topic.Create;
import io.weir.topics.definition.Topic.Delete;
import io.weir.topics.definition.Topic.Ensure;
import io.weir.topics.definition.Topic.LimitChannel;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ChangeQueueTest {
    private static final TopicName TOPIC = new TopicName("orders");
    private static final LimitSettings LIMIT = new LimitSettings(10_000_000, 5_000_000, 0, Sharing.DEFAULT);

    private final StoredVersions stored = new StoredVersions();
    private final ChangeQueue queue = new ChangeQueue(stored);
    private TopicDefinition now = TopicDefinition.none(TOPIC, 0).created(LIMIT, Delivery.defaults());

    private static ChangeLimit rate(long rate) {
        return new ChangeLimit(rate, null, null, null, null, null);
    }

    private static ChangeLimit burst(long burst) {
        return new ChangeLimit(null, burst, null, null, null, null);
    }

    private static ChangeLimit by(Indicator indicator) {
        return new ChangeLimit(null, null, null, null, indicator, null);
    }

    private static LimitChannel channel(String name, long rate) {
        return new LimitChannel(name, rate, 1_000_000, null);
    }

    private void isStored() {
        stored.written(now.revision(), new LimitInserts(now.limitVersions(), Map.of()));
    }

    private void isStoredExcept(TopicName key, String why) {
        Map<TopicName, Long> versions = now.limitVersions();
        versions.remove(key);
        stored.written(now.revision(), new LimitInserts(versions, Map.of(key, why)));
    }

    private List<Command> add(Command... commands) {
        for (Command command : commands) {
            queue.add(now, command, null);
        }
        return List.of(commands);
    }

    @Test
    void shouldLetAChangePassWhenTheVersionBeforeItIsStored() {
        assertThat(queue.mustWait(now, rate(1))).as("nothing is stored").isTrue();
        isStored();
        assertThat(queue.mustWait(now, rate(1))).isFalse();
    }

    @Test
    void shouldQueueBehindChangesOfTheSameLimitOnly() {
        now = now.withChannelLimit("slow", LIMIT.ofSize(1, 1));
        isStored();
        add(rate(1));
        assertThat(queue.mustWait(now, rate(2))).isTrue();
        assertThat(queue.mustWait(now, new Delete(null)))
                .as("concerns all limits")
                .isTrue();
        assertThat(queue.mustWait(now, channel("slow", 7))).as("another limit").isFalse();
        assertThat(queue.mustWait(now, new Ensure(LIMIT, Delivery.defaults(), "", null)))
                .as("changes nothing")
                .isFalse();
    }

    @Test
    void shouldHaveAChangeOfTheIndicatorConcernAllLimits() {
        now = now.withChannelLimit("slow", LIMIT.ofSize(1, 1));
        isStored();
        add(by(Indicator.SPARE_BANDWIDTH));
        assertThat(queue.mustWait(now, channel("slow", 7))).isTrue();
        now = now.withLimit(by(Indicator.SPARE_BANDWIDTH).on(LIMIT));
        assertThat(now.channelLimit("slow").orElseThrow().limit().indicator()).isEqualTo(Indicator.SPARE_BANDWIDTH);
        assertThat(stored.missing(now, () -> new Holder(new BrokerId("b1"), 1)))
                .as("the topic's row and its channel's")
                .hasSize(2)
                .allMatch(row -> row.indicator() == Indicator.SPARE_BANDWIDTH);
    }

    @Test
    void shouldTakeTheLaterIndicatorWhenChangesBecomeOneVersion() {
        isStored();
        add(by(Indicator.UTILISATION), rate(1), by(Indicator.DISCARD_RATE));
        ChangeQueue.Due due = queue.takeNext(now).orElseThrow();
        assertThat(due.command()).isEqualTo(new ChangeLimit(1L, null, null, null, Indicator.DISCARD_RATE, null));
        assertThat(due.asked()).extracting(due::supersedes).containsExactly(true, false, false);
    }

    @Test
    void shouldMakeOneVersionOfChangesThatFollowEachOther() {
        List<Command> asked = add(rate(1), burst(2), rate(3));
        assertThat(queue.takeNext(now)).as("the version before is not stored").isEmpty();
        isStored();
        ChangeQueue.Due due = queue.takeNext(now).orElseThrow();
        assertThat(due.command()).isEqualTo(new ChangeLimit(3L, 2L, null, null, null, null));
        assertThat(due.asked()).extracting(ChangeQueue.Queued::command).isEqualTo(asked);
        assertThat(due.asked()).extracting(due::supersedes).containsExactly(true, false, false);
        assertThat(queue.takeNext(now)).isEmpty();
    }

    @Test
    void shouldTakeADeletionInPlaceOfTheChangesBeforeIt() {
        isStored();
        Delete deletion = new Delete(null);
        add(rate(1), deletion);
        ChangeQueue.Due due = queue.takeNext(now).orElseThrow();
        assertThat(due.command()).isSameAs(deletion);
        assertThat(due.asked()).extracting(due::supersedes).containsExactly(true, false);
    }

    @Test
    void shouldServeAnotherLimitWhileTheFirstOneWaits() {
        now = now.withChannelLimit("slow", LIMIT.ofSize(1, 1));
        isStoredExcept(TOPIC, "it is being burned");
        add(rate(1), channel("slow", 7), channel("slow", 8));
        ChangeQueue.Due due = queue.takeNext(now).orElseThrow();
        assertThat(due.command()).isEqualTo(channel("slow", 8));
        assertThat(queue.takeNext(now)).isEmpty();
        isStored();
        assertThat(queue.takeNext(now).orElseThrow().command()).isEqualTo(rate(1));
    }

    @Test
    void shouldHaveACreationWaitForTheDeletion() {
        now = now.gone();
        Create creation = new Create(LIMIT, Delivery.defaults(), null);
        assertThat(queue.mustWait(now, creation)).isTrue();
        ChangeQueue.Queued queued = queue.add(now, creation, null);
        isStoredExcept(TOPIC, "it is being burned");
        assertThat(queue.whyWaiting(now, queued))
                .isEqualTo("the topic orders is still being deleted, and version 2 of the limit of orders can't begin:"
                        + " it is being burned");
        isStored();
        assertThat(queue.takeNext(now).orElseThrow().command()).isSameAs(creation);
    }

    @Test
    void shouldForgetWhoLeavesAndHaveABound() {
        for (int i = 0; i < ChangeQueue.MOST; i++) {
            assertThat(queue.isFull()).isFalse();
            add(rate(i));
        }
        assertThat(queue.isFull()).isTrue();
        ChangeQueue.Queued last = queue.removeAll().get(ChangeQueue.MOST - 1);
        assertThat(last.command()).isEqualTo(rate(ChangeQueue.MOST - 1));
        assertThat(queue.remove(last)).as("it has left").isFalse();
        isStored();
        assertThat(queue.takeNext(now)).isEmpty();
    }
}
