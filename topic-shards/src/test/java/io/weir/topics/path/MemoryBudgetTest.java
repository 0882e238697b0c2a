package io.weir.topics.path;

import static io.weir.topics.path.ShardsFixture.SECOND_NS;
import static io.weir.topics.path.ShardsFixture.TOPIC;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.TopicName;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.ShardsFixture.Reader;
import io.weir.transport.gateway.AccessRights;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MemoryBudgetTest {
    private static final TopicSettings SHAPED = TopicSettings.defaults();
    private static final TopicName OTHER = new TopicName("other");

    /** A budget of so many entries, three quarters of which one topic may have. */
    private static ShardsFixture entries(int most) {
        return new ShardsFixture(PathSettings.defaults().withMemory(64 << 20, 32L * most, 0.75, 0.9));
    }

    private static ShardsFixture ample(ShardsFixture broker) {
        broker.shards.apply(Definitions.of(OTHER, SHAPED));
        return broker.supply(1_000_000, 1_000_000).supply(OTHER, 1_000_000, 1_000_000);
    }

    private static String[] channels(int count) {
        return IntStream.range(0, count).mapToObj(i -> "c" + i).toArray(String[]::new);
    }

    private static String[] bodies(int count) {
        return IntStream.range(0, count).mapToObj(i -> "m").toArray(String[]::new);
    }

    /** As often as it takes until nothing comes any more, but not for ever. */
    private static void finishAll(ShardsFixture broker, List<Reader> readers) {
        for (int i = 0; i < 200; i++) {
            readers.forEach(reader -> List.copyOf(reader.got)
                    .forEach(delivery -> reader.subscription.finish(delivery.id(), broker.nowNs)));
            broker.pass(SECOND_NS / 100);
        }
    }

    @Test
    void shouldHoldPublishersBackBeforeATokenIsSpentWhenTheTopicHasItsPartOfTheEntries() {
        ShardsFixture broker = ample(entries(1_000).topic(SHAPED, channels(10)));
        for (int i = 0; i < 100; i++) {
            broker.publish("m");
        }
        assertThat(broker.outcomes.said)
                .as("three quarters of 7/8 of 1,000 entries")
                .hasSize(65);
        assertThat(broker.gates.gate(TOPIC, broker.nowNs).admitted()).isEqualTo(65);
        assertThat(broker.stats().waiting()).isEqualTo(35);
        broker.publish(OTHER, "goes on", 0);
        assertThat(broker.outcomes.said).hasSize(66).endsWith("101 accepted");

        List<Reader> readers = new ArrayList<>();
        for (String channel : channels(10)) {
            readers.add(broker.reader(channel, 1_000));
        }
        finishAll(broker, readers);
        assertThat(broker.outcomes.said).hasSize(101).allMatch(said -> said.endsWith("accepted"));
        assertThat(readers).allMatch(reader -> reader.got.size() == 100);
    }

    @Test
    void shouldSayWhyAPublicationWaitedInVain() {
        ShardsFixture broker = ample(entries(1_000).topic(SHAPED, channels(10)));
        for (int i = 0; i < 66; i++) {
            broker.publish("m");
        }
        broker.pass(30 * SECOND_NS);
        assertThat(broker.outcomes.said.get(65))
                .startsWith("66 failed: it waited longer than the topic's 30000 ms: topic orders holds 651 messages")
                .endsWith("or raise weir.topics.store-size, queue-size or topic-share");
        assertThat(broker.shards.totals().refused()).isEqualTo(1);
        assertThat(broker.shards.totals().entries()).isEqualTo(650);
        assertThat(broker.shards.totals().maxEntries()).isEqualTo(1_000);
    }

    @Test
    void shouldRefuseAtOnceWhenItPolices() {
        ShardsFixture broker = ample(entries(1_000).topic(SHAPED.with(LimitMode.POLICE), channels(10)));
        for (int i = 0; i < 66; i++) {
            broker.publish("m");
        }
        assertThat(broker.outcomes.said).hasSize(66);
        assertThat(broker.outcomes.said.get(65)).startsWith("66 failed: topic orders holds ");
        assertThat(broker.shards.store().messages()).isEqualTo(65);
    }

    @Test
    void shouldRefuseABatchThatCouldNeverPassAndLetALargestOnePass() {
        ShardsFixture broker = ample(entries(1_000).topic(SHAPED, channels(10)));
        broker.publishBatch(bodies(56));
        assertThat(broker.outcomes.said)
                .containsExactly("1 failed: 56 messages for 10 channels of topic orders are more at once than this"
                        + " broker's memory allows: publish at most 55 at once, or raise weir.topics.queue-size");
        assertThat(broker.shards.store().messages()).isZero();
        broker.publishBatch(bodies(55));
        assertThat(broker.outcomes.said).endsWith("2 accepted");
    }

    @Test
    void shouldRefuseToStoreMoreThanMayWait() {
        ShardsFixture broker = ample(entries(1_000).topic(SHAPED, channels(10)));
        for (int i = 0; i < 200; i++) {
            broker.publish("m");
        }
        int waiting = broker.stats().waiting();
        assertThat(waiting).as("a quarter more than may pass, of what is free").isBetween(20, 60);
        assertThat(broker.outcomes.said).hasSize(200 - waiting);
        assertThat(broker.outcomes.said.get(199 - waiting)).startsWith("200 failed: topic orders holds ");
    }

    @Test
    void shouldLeaveRoomForOtherTopicsWhateverManyTake() {
        ShardsFixture broker =
                ample(new ShardsFixture(PathSettings.defaults().withMemory(16 << 20, 32 << 20, 0.75, 0.9)));
        String large = "x".repeat(100_000);
        for (int topic = 0; topic < 5; topic++) {
            TopicName hog = new TopicName("hog" + topic);
            broker.shards.apply(Definitions.of(hog, SHAPED));
            broker.supply(hog, 1_000_000, 1_000_000);
            for (int i = 0; i < 500; i++) {
                broker.publish(hog, large, 0);
            }
        }
        long before = broker.outcomes.said.size();
        assertThat(broker.shards.totals().storeBytes()).isGreaterThan(12 << 20);
        broker.publish(OTHER, large, 0);
        assertThat(broker.outcomes.said).hasSize((int) before + 1).endsWith("2501 accepted");
    }

    @Test
    void shouldRefuseATokenThatHasItsPartOverAllTopics() {
        AccessRights rights = new AccessRights(
                true,
                List.of(
                        new AccessRights.Token("billing", "a secret of billing", List.of("*"), List.of()),
                        new AccessRights.Token("shipping", "a secret of shipping", List.of("*"), List.of())));
        ShardsFixture broker = new ShardsFixture(PathSettings.defaults().withMemory(64 << 20, 32L * 1_000, 0.75, 0.5));
        ample(broker.topic(SHAPED));
        broker.outcomes.grant = rights.grant("a secret of billing").orElseThrow();
        for (int i = 0; i < 300; i++) {
            broker.publish("m");
            broker.publish(OTHER, "m", 0);
        }
        assertThat(broker.outcomes.said.stream().filter(said -> said.endsWith("accepted")))
                .hasSize(437);
        assertThat(broker.outcomes.said).last().asString().startsWith("600 failed: token billing holds 437 messages");
        broker.outcomes.grant = rights.grant("a secret of shipping").orElseThrow();
        broker.publish("m");
        assertThat(broker.outcomes.said).endsWith("601 accepted");
    }

    @Test
    void shouldKeepToTheBudgetWhenAPauseEnds() {
        ShardsFixture broker = ample(entries(1_000));
        TopicDefinition definition = Definitions.of(TOPIC, SHAPED, channels(10));
        broker.shards.apply(definition.withPaused(true));
        for (int i = 0; i < 500; i++) {
            broker.publish("m");
        }
        broker.publish("behind them");
        broker.shards.apply(Definitions.of(TOPIC, SHAPED, channels(10)));
        assertThat(broker.shards.totals().entries()).isBetween(700L, 1_000L);
        List<Reader> readers = new ArrayList<>();
        for (String channel : channels(10)) {
            readers.add(broker.reader(channel, 1_000));
        }
        finishAll(broker, readers);
        assertThat(readers)
                .allMatch(reader ->
                        reader.got.size() == 501 && reader.last().body().equals("behind them"));
        assertThat(broker.shards.totals().entries()).isZero();
    }

    @Test
    void shouldNotTakeMoreSlotsForWhatIsInFlightThanThereAre() {
        ShardsFixture broker = ample(entries(1_000).topic(SHAPED, "work"));
        List<Reader> readers = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            readers.add(broker.reader("work", 1_000));
        }
        for (int i = 0; i < 600; i++) {
            broker.publish("m");
        }
        int inFlight = broker.channel("work").inFlight();
        assertThat(inFlight).as("16 each, and at most 250 more").isBetween(160, 410);
        finishAll(broker, readers);
        assertThat(broker.channel("work").finished()).isEqualTo(600);
    }
}
