package io.weir.topics.definition;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.testkit.typed.javadsl.ActorTestKit;
import akka.actor.testkit.typed.javadsl.TestProbe;
import akka.actor.typed.ActorRef;
import com.typesafe.config.ConfigFactory;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.RunningBroker;
import io.weir.topics.path.TopicStats;
import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ShardEntityTest {
    private static final ActorTestKit KIT = ActorTestKit.create(
            "entities", ConfigFactory.parseString("akka.loglevel = OFF").withFallback(ConfigFactory.load()));
    private static final TopicName TOPIC = new TopicName("orders");
    private static final BrokerId HERE = new BrokerId("a");

    private final TestProbe<ShardEntity.Served> answers = KIT.createTestProbe();
    private RunningBroker broker;

    @BeforeEach
    void start() throws IOException {
        broker = RunningBroker.start().supply("orders", 1_000_000, 1_000_000);
    }

    @AfterEach
    void stop() {
        broker.close();
    }

    @AfterAll
    static void shutDown() {
        KIT.shutdownTestKit();
    }

    private ActorRef<ShardEntity.Command> entity() {
        return KIT.spawn(ShardEntity.create(ShardEntity.id(HERE, TOPIC), HERE, broker.path()));
    }

    /** Answers what is wrong. */
    private String serve(ActorRef<ShardEntity.Command> entity, TopicDefinition definition) {
        entity.tell(new ShardEntity.Serve(definition, answers.ref()));
        return answers.receiveMessage().problem();
    }

    private static TopicDefinition definition(String... channels) {
        return Definitions.of(TOPIC, TopicSettings.defaults(), channels);
    }

    private List<String> channels() {
        return broker.stats("orders").channels().stream()
                .map(TopicStats.ChannelStats::name)
                .toList();
    }

    @Test
    void shouldDeleteAChannelThatAFormerEntityLaidAndNoneThatAConsumerHasJustMade() throws IOException {
        ActorRef<ShardEntity.Command> former = entity();
        assertThat(serve(former, definition("work", "rest"))).isNull();
        KIT.stop(former);
        try (NsqSocket consumer = NsqSocket.greeted(broker.address());
                NsqSocket newcomer = NsqSocket.greeted(broker.address())) {
            consumer.send("SUB orders work\n");
            assertThat(consumer.answer()).isEqualTo("OK");
            newcomer.send("SUB orders new\n");
            assertThat(newcomer.answer()).isEqualTo("OK");
            assertThat(serve(entity(), definition("rest"))).isNull();
            assertThat(channels()).containsExactlyInAnyOrder("rest", "new");
            assertThat(consumer.ended()).isTrue();
        }
    }

    @Test
    void shouldLayAsManyChannelsAsATopicMayHave() {
        String[] names = IntStream.range(0, 1_000).mapToObj(i -> "c" + i).toArray(String[]::new);
        assertThat(serve(entity(), definition(names))).isNull();
        assertThat(channels()).containsExactlyInAnyOrder(names);
    }

    @Test
    void shouldSayWhatCouldNotBeLaid() {
        String[] names = IntStream.range(0, 1_001).mapToObj(i -> "c" + i).toArray(String[]::new);
        assertThat(serve(entity(), definition(names))).contains("orders").contains("1000 channels");
        assertThat(channels()).hasSize(1_000);
        broker.close();
        assertThat(serve(entity(), definition())).contains("closed");
    }

    @Test
    void shouldLeaveADefinitionThatIsOlderThanWhatWasLaid() {
        TopicDefinition older = definition("work");
        TopicDefinition newer = definition();
        assertThat(serve(entity(), newer)).isNull();
        assertThat(serve(entity(), older)).isNull();
        assertThat(channels()).isEmpty();
        assertThat(RunningBroker.await(broker.path().revisions())).containsEntry(TOPIC, newer.revision());
    }

    @Test
    void shouldTellTheBrokerOnlyWhereTheTopicIsServed() {
        ActorRef<ShardEntity.Command> entity = entity();
        TopicDefinition running = definition("work");
        entity.tell(new ShardEntity.Know(running, answers.getRef()));
        assertThat(answers.receiveMessage().problem()).isNull();
        assertThat(RunningBroker.await(broker.path().stats()))
                .as("it does not begin to be served")
                .isEmpty();
        assertThat(serve(entity, running)).isNull();
        entity.tell(new ShardEntity.Know(running.withPaused(true), answers.getRef()));
        assertThat(answers.receiveMessage().problem()).isNull();
        assertThat(broker.stats("orders").paused()).isTrue();
    }

    @Test
    void shouldRemoveATopicThatIsGone() {
        ActorRef<ShardEntity.Command> entity = entity();
        assertThat(serve(entity, definition("work"))).isNull();
        assertThat(serve(entity, Definitions.gone(TOPIC))).isNull();
        assertThat(RunningBroker.await(broker.path().stats())).isEmpty();
        answers.expectTerminated(entity);
    }
}
