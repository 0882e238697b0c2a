package io.weir.supervisor.store;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.PoisonPill;
import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Behavior;
import akka.actor.typed.Props;
import akka.actor.typed.javadsl.Adapter;
import akka.actor.typed.javadsl.AskPattern;
import akka.actor.typed.javadsl.Behaviors;
import akka.japi.function.Function;
import akka.serialization.Serialization;
import akka.serialization.SerializationExtension;
import io.weir.config.SettingsLoader;
import io.weir.config.value.BrokerId;
import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.supervisor.Await;
import io.weir.topics.definition.Borrow;
import io.weir.topics.definition.BucketClock;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.ShardEntity;
import io.weir.topics.definition.Topic;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import io.weir.topics.definition.TopicWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A topic's entity on a real store; the brokers that make its limits come true are played by the test. */
@Timeout(120)
class TopicTest {
    /** As long as names may be. */
    private static final TopicName TOPIC = TopicName.of("t".repeat(64));

    private static final String CHANNEL = "c".repeat(64);
    private static final TopicName KEY = TopicName.ofChannel(TOPIC, new ChannelName(CHANNEL));
    private static final Holder ME = new Holder(new BrokerId("b1"), 3);
    private static final LimitSettings LIMIT = new LimitSettings(1_000 * MICROS, 100 * MICROS, 250, Sharing.GOSSIP);
    private static final Delivery DELIVERY =
            new Delivery(LimitMode.POLICE, 100, 10, 20, Overflow.DROP_OLDEST, BucketClock.ARRIVAL, Borrow.OFF);

    @TempDir
    private Path dir;

    /** Store and entity; the entity can die and come back. */
    private static final class Stage implements AutoCloseable {
        final RunningStore store;
        final SupplyTables limits;
        final TopicTable rows;
        private final TopicWriter writer;
        private final SettingsLoader loaded;
        private final ExecutorService storeThreads = Executors.newFixedThreadPool(2);
        private final TopicName name;
        private Duration patience = Duration.ofSeconds(1);
        private ActorSystem<Topic.Command> system;

        Stage(Path dir) {
            this(dir, TOPIC);
        }

        Stage(Path dir, TopicName name) {
            this.name = name;
            store = RunningStore.start();
            loaded = store.settings("b1", dir);
            try (BrokerRegistry registry = new BrokerRegistry(loaded.settings().store())) {
                registry.awaitStore();
            }
            limits = new SupplyTables(loaded.settings().store(), Duration.ofSeconds(10));
            rows = new TopicTable(loaded.settings().store(), Duration.ofSeconds(10), new TopicQuotas(100_000, 10_000));
            writer = new TopicWriter(rows, limits, storeThreads, minted -> {}, () -> {});
            begin();
        }

        Behavior<Topic.Command> topic(TopicName of) {
            return Topic.create(of, writer, () -> ME, Duration.ofMillis(200), patience);
        }

        void begin() {
            system = ActorSystem.create(topic(name), "weir", loaded.akka());
        }

        void end() {
            system.terminate();
            system.getWhenTerminated().toCompletableFuture().join();
        }

        Topic.Answer ask(Function<ActorRef<Topic.Answer>, Topic.Command> command) {
            return later(command).join();
        }

        CompletableFuture<Topic.Answer> later(Function<ActorRef<Topic.Answer>, Topic.Command> command) {
            return ask(system, command);
        }

        CompletableFuture<Topic.Answer> ask(
                ActorRef<Topic.Command> topic, Function<ActorRef<Topic.Answer>, Topic.Command> command) {
            return AskPattern.ask(topic, command, Duration.ofSeconds(60), system.scheduler())
                    .toCompletableFuture();
        }

        Topic.Answer create() {
            return ask(replyTo -> new Topic.Create(LIMIT, DELIVERY, replyTo));
        }

        Topic.Answer limitChannel(long rate, long burst) {
            return ask(replyTo -> new Topic.LimitChannel(CHANNEL, rate * MICROS, burst * MICROS, replyTo));
        }

        LimitRow last(TopicName key) {
            List<LimitRow> versions = limits.limits(key);
            return versions.get(versions.size() - 1);
        }

        void finish(TopicName key) {
            limits.finished(key, last(key).version());
        }

        void awaitVersion(TopicName key, long version) throws Exception {
            Await.until(
                    "version " + version + " of " + key + " is in the store",
                    () -> !limits.limits(key).isEmpty() && last(key).version() == version);
        }

        @Override
        public void close() {
            end();
            storeThreads.shutdownNow();
            rows.close();
            limits.close();
            store.close();
        }
    }

    private static Share share(long rate, long burst) {
        return new Share(rate * MICROS, burst * MICROS);
    }

    @Test
    void shouldKeepAChannelsLimitUnderItsOwnKeyWithVersionsOfItsOwn() throws Exception {
        try (Stage stage = new Stage(dir)) {
            assertThat(stage.create().problem()).isNull();
            Topic.Answer limited = stage.limitChannel(50, 10);
            assertThat(limited.problem()).isNull();
            assertThat(limited.pending()).isFalse();
            assertThat(limited.definition().channels()).containsKey(CHANNEL);
            LimitRow first = stage.last(KEY);
            assertThat(first.version()).isEqualTo(1);
            assertThat(first.limit()).isEqualTo(share(50, 10));
            assertThat(first.floorPermille()).as("as the topic's").isEqualTo(250);
            assertThat(first.minter()).contains(ME);
            assertThat(stage.last(TOPIC).version()).as("the topic's own").isEqualTo(1);

            // The first is not done: the second waits in the definition, and a third waits for that one.
            assertThat(stage.limitChannel(20, 5).outcome()).isEqualTo(Topic.Outcome.PENDING);
            Topic.Answer third = stage.limitChannel(30, 5);
            assertThat(third.outcome()).isEqualTo(Topic.Outcome.ASK_AGAIN);
            assertThat(third.problem())
                    .contains("version 2")
                    .contains("version 1 is not done, which b1#3 makes true")
                    .contains("ask again");
            assertThat(stage.ask(replyTo -> new Topic.DeleteChannel(CHANNEL, replyTo))
                            .problem())
                    .contains("ask again");
            assertThat(stage.limits.limits(KEY)).hasSize(1);
            stage.finish(KEY);
            stage.awaitVersion(KEY, 2);
            assertThat(stage.last(KEY).limit()).isEqualTo(share(20, 5));
            stage.finish(KEY);

            assertThat(stage.ask(replyTo -> new Topic.DeleteChannel(CHANNEL, replyTo))
                            .outcome())
                    .isEqualTo(Topic.Outcome.IN_FORCE);
            stage.awaitVersion(KEY, 3);
            assertThat(stage.last(KEY).limit().isNone()).isTrue();
            stage.finish(KEY);
            Topic.Answer again = stage.limitChannel(7, 1);
            assertThat(again.definition().channelLimit(CHANNEL).orElseThrow().version())
                    .as("versions do not begin again")
                    .isEqualTo(4);
            stage.awaitVersion(KEY, 4);
            assertThat(stage.rows.after(0).definitions()).last().isEqualTo(again.definition());
        }
    }

    @Test
    void shouldFinishAfterRecoveryWhatAFormerLifeLeftPending() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.create();
            stage.limitChannel(50, 10);
            TopicDefinition before = stage.limitChannel(20, 5).definition();
            stage.end();
            stage.finish(KEY);
            stage.begin();
            stage.awaitVersion(KEY, 2);
            TopicDefinition recovered = stage.ask(Topic.Get::new).definition();
            assertThat(recovered).isEqualTo(before);
            assertThat(recovered.delivery().clock()).isEqualTo(BucketClock.ARRIVAL);
            assertThat(stage.last(KEY).limit()).isEqualTo(share(20, 5));
        }
    }

    @Test
    void shouldMakeFewVersionsOfFiftyChangesAndLetTheLastOneWin() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.patience = Duration.ofSeconds(60);
            stage.end();
            stage.begin();
            stage.create();
            List<CompletableFuture<Topic.Answer>> answers = new ArrayList<>();
            for (int i = 1; i <= 50; i++) {
                long rate = i;
                answers.add(stage.later(replyTo ->
                        new Topic.ChangeLimit(rate * MICROS, null, rate == 7 ? 500 : null, null, null, replyTo)));
            }
            // Answered after them: all of them wait by then.
            stage.ask(Topic.Get::new);
            CompletableFuture<Void> all = CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new));
            Await.until("all are answered", () -> {
                List<LimitRow> versions = stage.limits.limits(TOPIC);
                assertThat(versions.subList(0, versions.size() - 1)).allMatch(LimitRow::done);
                stage.finish(TOPIC);
                return all.isDone();
            });
            LimitRow last = stage.last(TOPIC);
            assertThat(last.limit()).isEqualTo(share(50, 100));
            assertThat(last.floorPermille())
                    .as("what the last one left as it was")
                    .isEqualTo(500);
            assertThat(last.version())
                    .as("the one before, the first, and the rest as one")
                    .isEqualTo(3);
            Map<Topic.Outcome, Long> outcomes = answers.stream()
                    .map(CompletableFuture::join)
                    .collect(Collectors.groupingBy(Topic.Answer::outcome, Collectors.counting()));
            assertThat(outcomes).isEqualTo(Map.of(Topic.Outcome.IN_FORCE, 2L, Topic.Outcome.SUPERSEDED, 48L));
            Topic.Answer lastAnswer = answers.get(49).join();
            assertThat(lastAnswer.outcome()).isEqualTo(Topic.Outcome.IN_FORCE);
            assertThat(lastAnswer.definition().limitVersion()).isEqualTo(3);
            Topic.Answer superseded = answers.get(10).join();
            assertThat(superseded.definition().limitVersion()).isEqualTo(3);
            assertThat(superseded.definition().limit().rateMicros()).isEqualTo(50 * MICROS);
        }
    }

    @Test
    void shouldLetACreationWaitForTheDeletionAndSayWhatHoldsItUp() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.create();
            assertThat(stage.ask(Topic.Delete::new).outcome())
                    .as("version 1 is not done")
                    .isEqualTo(Topic.Outcome.PENDING);
            Holder gone = new Holder(new BrokerId("b9"), 1);
            stage.limits.register(gone);
            stage.limits.fence(gone, 0);
            Topic.Answer early = stage.create();
            assertThat(early.outcome()).isEqualTo(Topic.Outcome.ASK_AGAIN);
            assertThat(early.problem())
                    .contains("still being deleted")
                    .contains("version 1 is not done, which b1#3 makes true")
                    .contains("b9#1")
                    .contains("ask again");
            CompletableFuture<Topic.Answer> later = stage.later(replyTo -> new Topic.Create(LIMIT, DELIVERY, replyTo));
            stage.finish(TOPIC);
            stage.awaitVersion(TOPIC, 2);
            stage.finish(TOPIC);
            assertThat(later.join().outcome()).isEqualTo(Topic.Outcome.IN_FORCE);
            assertThat(later.join().definition().exists()).isTrue();
            assertThat(stage.last(TOPIC).version()).isEqualTo(3);
            assertThat(stage.last(TOPIC).limit()).isEqualTo(share(1_000, 100));
        }
    }

    @Test
    void shouldNotPutTogetherChangesOfWhichOneConcernsALimitWhoseTurnHasNotCome() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.create();
            stage.finish(TOPIC);
            stage.limitChannel(50, 10);
            assertThat(stage.limitChannel(20, 5).pending()).isTrue();
            stage.end();
            stage.patience = Duration.ofSeconds(60);
            stage.begin();
            List<CompletableFuture<Topic.Answer>> answers = new ArrayList<>();
            for (long rate = 1; rate <= 3; rate++) {
                long wanted = rate * MICROS;
                answers.add(stage.later(replyTo -> new Topic.ChangeLimit(wanted, null, null, null, null, replyTo)));
            }
            answers.add(stage.later(replyTo -> new Topic.ChangeLimit(null, null, 500, null, null, replyTo)));
            stage.ask(Topic.Get::new);
            // The second and the third become one. The last one concerns the channel too, whose second version waits.
            for (long version = 2; version <= 3; version++) {
                stage.awaitVersion(TOPIC, version);
                stage.finish(TOPIC);
            }
            assertThat(answers.get(2).join().outcome()).isEqualTo(Topic.Outcome.IN_FORCE);
            assertThat(answers.get(3)).isNotDone();
            for (long version = 1; version <= 2; version++) {
                stage.awaitVersion(KEY, version);
                stage.finish(KEY);
            }
            assertThat(answers.get(3).join().outcome()).isEqualTo(Topic.Outcome.IN_FORCE);
            assertThat(stage.last(KEY).version()).isEqualTo(3);
            assertThat(stage.last(KEY).limit()).isEqualTo(share(20, 5));
            assertThat(stage.last(KEY).floorPermille()).isEqualTo(500);
            assertThat(stage.last(TOPIC).version()).isEqualTo(4);
        }
    }

    @Test
    void shouldCreateATopicAgainWhoseRowsAreForgotten() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.create();
            stage.finish(TOPIC);
            stage.ask(Topic.Delete::new);
            stage.finish(TOPIC);
            assertThat(stage.limits.forgetName(TOPIC, 2)).isTrue();
            stage.end();
            stage.begin();
            Topic.Answer again = stage.create();
            assertThat(again.outcome()).isEqualTo(Topic.Outcome.IN_FORCE);
            assertThat(stage.limits.limits(TOPIC)).singleElement().satisfies(row -> {
                assertThat(row.version())
                        .as("ledgers remember the versions before")
                        .isEqualTo(3);
                assertThat(row.first()).as("so it begins full").isTrue();
            });
        }
    }

    @Test
    void shouldLetADeletionTakeThePlaceOfChangesThatQueue() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.patience = Duration.ofSeconds(60);
            stage.end();
            stage.begin();
            stage.create();
            CompletableFuture<Topic.Answer> pending =
                    stage.later(replyTo -> new Topic.ChangeLimit(5 * MICROS, null, null, null, null, replyTo));
            CompletableFuture<Topic.Answer> queued =
                    stage.later(replyTo -> new Topic.ChangeLimit(6 * MICROS, null, null, null, null, replyTo));
            CompletableFuture<Topic.Answer> deletion = stage.later(Topic.Delete::new);
            CompletableFuture<Topic.Answer> after =
                    stage.later(replyTo -> new Topic.ChangeLimit(7 * MICROS, null, null, null, null, replyTo));
            stage.finish(TOPIC);
            stage.awaitVersion(TOPIC, 2);
            stage.finish(TOPIC);
            stage.awaitVersion(TOPIC, 3);
            assertThat(pending.join().outcome()).isEqualTo(Topic.Outcome.IN_FORCE);
            assertThat(queued.join().outcome()).isEqualTo(Topic.Outcome.SUPERSEDED);
            assertThat(deletion.join().outcome()).isEqualTo(Topic.Outcome.IN_FORCE);
            assertThat(deletion.join().definition().exists()).isFalse();
            assertThat(after.join().outcome()).isEqualTo(Topic.Outcome.REFUSED);
            assertThat(stage.last(TOPIC).limit().isNone()).isTrue();
        }
    }

    @Test
    void shouldTurnAwayWhoeverFindsTheQueueFullAndTellTheOthersWhenItMoves() throws Exception {
        TopicName name = TopicName.of("moving");
        try (Stage stage = new Stage(dir)) {
            stage.patience = Duration.ofSeconds(60);
            ActorRef<Topic.Command> moving = stage.system.systemActorOf(stage.topic(name), "moving", Props.empty());
            stage.ask(moving, replyTo -> new Topic.Create(LIMIT, DELIVERY, replyTo))
                    .join();
            CompletableFuture<Topic.Answer> kept =
                    stage.ask(moving, replyTo -> new Topic.ChangeLimit(5 * MICROS, null, null, null, null, replyTo));
            List<CompletableFuture<Topic.Answer>> queued = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                queued.add(stage.ask(
                        moving, replyTo -> new Topic.ChangeLimit(6 * MICROS, null, null, null, null, replyTo)));
            }
            Topic.Answer tooMany = stage.ask(
                            moving, replyTo -> new Topic.ChangeLimit(7 * MICROS, null, null, null, null, replyTo))
                    .join();
            assertThat(tooMany.outcome()).isEqualTo(Topic.Outcome.ASK_AGAIN);
            assertThat(tooMany.problem()).contains("100 changes").contains("ask again");
            assertThat(queued).noneMatch(CompletableFuture::isDone);
            // As sharding stops an entity that moves.
            Adapter.toClassic(moving).tell(PoisonPill.getInstance(), akka.actor.ActorRef.noSender());
            assertThat(kept.join().outcome()).isEqualTo(Topic.Outcome.PENDING);
            assertThat(queued)
                    .extracting(CompletableFuture::join)
                    .allMatch(answer -> answer.outcome() == Topic.Outcome.ASK_AGAIN
                            && answer.problem().contains("moved to another broker"));
        }
    }

    @Test
    void shouldChangeALimitAtOnceAfterARecovery() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.create();
            stage.limitChannel(50, 10);
            stage.finish(KEY);
            stage.end();
            stage.begin();
            assertThat(stage.limitChannel(60, 10).problem()).isNull();
            stage.awaitVersion(KEY, 2);
        }
    }

    @Test
    void shouldLowerEveryLimitToNothingWhenTheTopicIsDeleted() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.create();
            stage.limitChannel(50, 10);
            stage.finish(TOPIC);
            stage.finish(KEY);
            assertThat(stage.ask(replyTo -> new Topic.Pause(true, replyTo))
                            .definition()
                            .paused())
                    .isTrue();
            Topic.Answer gone = stage.ask(Topic.Delete::new);
            assertThat(gone.definition().exists()).isFalse();
            assertThat(stage.last(TOPIC).limit().isNone()).isTrue();
            assertThat(stage.last(KEY).limit().isNone()).isTrue();
            assertThat(stage.limitChannel(1, 1).problem()).contains("there is no topic");
            stage.finish(TOPIC);
            stage.finish(KEY);
            Topic.Answer created = stage.create();
            assertThat(created.definition().paused()).isFalse();
            assertThat(created.definition().channelLimit(CHANNEL)).isEmpty();
            assertThat(stage.limitChannel(5, 1)
                            .definition()
                            .channelLimit(CHANNEL)
                            .orElseThrow()
                            .version())
                    .isEqualTo(3);
        }
    }

    @Test
    void shouldTakeAChannelsLimitAwayAndShareItAsTheTopicDoes() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.create();
            assertThat(stage.ask(replyTo -> new Topic.LimitChannel(CHANNEL, 0, 0, replyTo))
                            .problem())
                    .contains("has no channel");
            stage.limitChannel(50, 10);
            stage.finish(TOPIC);
            stage.finish(KEY);
            stage.ask(
                    replyTo -> new Topic.ChangeLimit(null, null, 500, Sharing.STATIC, Indicator.UTILISATION, replyTo));
            assertThat(stage.last(KEY).version()).isEqualTo(2);
            assertThat(stage.last(KEY).floorPermille()).isEqualTo(500);
            assertThat(stage.last(KEY).sharing()).isEqualTo(Sharing.STATIC);
            assertThat(stage.last(KEY).indicator()).isEqualTo(Indicator.UTILISATION);
            stage.finish(TOPIC);
            stage.finish(KEY);
            stage.ask(replyTo -> new Topic.ChangeLimit(2_000 * MICROS, null, null, null, null, replyTo));
            assertThat(stage.last(KEY).version()).as("the topic's alone").isEqualTo(2);
            Topic.Answer unlimited = stage.ask(replyTo -> new Topic.LimitChannel(CHANNEL, 0, 0, replyTo));
            assertThat(unlimited.definition().channels()).containsKey(CHANNEL);
            assertThat(unlimited.definition().channelLimit(CHANNEL)).isEmpty();
            assertThat(stage.last(KEY).limit().isNone()).isTrue();
        }
    }

    @Test
    void shouldDeleteAnEphemeralTopicThatNobodyUses() throws Exception {
        TopicName reply = TopicName.of("reply#ephemeral");
        try (Stage stage = new Stage(dir, reply)) {
            stage.create();
            // Its first limit is still being minted; it can't be deleted before that is done.
            stage.finish(reply);
            Await.until(
                    "it is deleted",
                    () -> stage.rows.get(reply).filter(TopicDefinition::exists).isEmpty());
            assertThat(stage.last(reply).limit().isNone()).isTrue();

            stage.finish(reply);
            Await.until("it can be made again", () -> stage.create().problem() == null);
            stage.finish(reply);
            stage.ask(replyTo -> new Topic.EnsureChannel("work", replyTo));
            stage.end();
            stage.begin();
            long untilNs = System.nanoTime() + Duration.ofSeconds(1).toNanos();
            Await.until("time has passed", () -> System.nanoTime() - untilNs > 0);
            assertThat(stage.ask(Topic.Get::new).definition().exists())
                    .as("as long as it has a channel")
                    .isTrue();
            stage.ask(replyTo -> new Topic.DeleteChannel("work", replyTo));
            Await.until(
                    "after its last channel",
                    () -> stage.rows.get(reply).filter(TopicDefinition::exists).isEmpty());
        }
    }

    @Test
    void shouldKeepATopicThatIsNotEphemeralAndOneThatIsUsed() throws Exception {
        TopicName used = TopicName.of("used#ephemeral");
        try (Stage stage = new Stage(dir, used)) {
            stage.create();
            stage.finish(used);
            long untilNs = System.nanoTime() + Duration.ofSeconds(2).toNanos();
            Await.until("time has passed", () -> {
                stage.system.tell(new Topic.InUse());
                return System.nanoTime() - untilNs > 0;
            });
            assertThat(stage.ask(Topic.Get::new).definition().exists()).isTrue();
        }
        try (Stage stage = new Stage(dir.resolve("other"))) {
            stage.create();
            stage.finish(TOPIC);
            long untilNs = System.nanoTime() + Duration.ofSeconds(1).toNanos();
            Await.until("time has passed", () -> System.nanoTime() - untilNs > 0);
            assertThat(stage.ask(Topic.Get::new).definition().exists()).isTrue();
        }
    }

    @Test
    void shouldCarryWhatBrokersTellTopicsAndShardsBetweenThem() throws Exception {
        try (Stage stage = new Stage(dir)) {
            ActorRef<ShardEntity.Served> replyTo =
                    stage.system.systemActorOf(Behaviors.<ShardEntity.Served>ignore(), "replies", Props.empty());
            Serialization serialization = SerializationExtension.get(stage.system);
            for (Object message : List.of(
                    new Topic.InUse(),
                    new ShardEntity.Serve(stage.create().definition(), replyTo),
                    new ShardEntity.Served("busy"),
                    new ShardEntity.Served(null))) {
                byte[] bytes = serialization.serialize(message).get();
                assertThat(serialization.deserialize(bytes, message.getClass()).get())
                        .isEqualTo(message);
            }
        }
    }

    @Test
    void shouldReadADefinitionFromBeforeChannelsHadLimitsAndBucketsAClock() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.store.execute("INSERT INTO weir_topic (name, revision, definition, change_no) VALUES ('old', 1,"
                    + " '{\"name\":{\"value\":\"old\"},\"revision\":1,\"limitVersion\":1,"
                    + "\"limit\":{\"rateMicros\":1,\"burstMicros\":1000000,\"floorPermille\":0,\"sharing\":\"GOSSIP\"},"
                    + "\"delivery\":{\"mode\":\"SHAPE\",\"maxDelayMs\":1,\"maxWaiting\":2,\"maxQueued\":3,\"overflow\":\"HOLD_BACK\"},"
                    + "\"paused\":false,\"channels\":{\"work\":{\"paused\":true}},\"deleted\":false}', 1)");
            TopicDefinition old = stage.rows.after(0).definitions().get(0);
            assertThat(old.delivery().clock()).isEqualTo(BucketClock.GATE);
            assertThat(old.limit().indicator()).isEqualTo(Indicator.FILL_RATIO);
            assertThat(old.channels().get("work").paused()).isTrue();
            assertThat(old.channelLimit("work")).isEmpty();
        }
    }

    @Test
    void shouldMakeRoomForChannelsKeysInAStoreThatHadTopicsOnly() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.store.execute("ALTER TABLE weir_limit ALTER COLUMN topic SET DATA TYPE VARCHAR(64)");
            stage.store.execute("UPDATE weir_schema SET version = 2");
            try (BrokerRegistry registry =
                    new BrokerRegistry(stage.loaded.settings().store())) {
                registry.awaitStore();
            }
            assertThat(stage.limits.insert(
                            new LimitRow(KEY, 1, share(5, 1), 0, Sharing.GOSSIP, Optional.empty(), false)))
                    .isTrue();
            assertThat(stage.last(KEY).topic()).isEqualTo(KEY);
        }
    }

    @Test
    void shouldTakeLimitsFromBeforeThereWereIndicatorsToGoByTheFillRatio() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.create();
            stage.store.execute("ALTER TABLE weir_limit DROP COLUMN indicator");
            stage.store.execute("UPDATE weir_schema SET version = 5");
            try (BrokerRegistry registry =
                    new BrokerRegistry(stage.loaded.settings().store())) {
                registry.awaitStore();
            }
            assertThat(stage.last(TOPIC).indicator()).isEqualTo(Indicator.FILL_RATIO);
            stage.finish(TOPIC);
            stage.ask(replyTo -> new Topic.ChangeLimit(null, null, null, null, Indicator.MEAN_RESPONSE_TIME, replyTo));
            assertThat(stage.last(TOPIC).indicator()).isEqualTo(Indicator.MEAN_RESPONSE_TIME);
        }
    }

    @Test
    void shouldRefuseATopicForWhichThereIsNoRoomAndMakeItWhenThereIs() {
        try (Stage stage = new Stage(dir)) {
            stage.store.execute("UPDATE weir_counter SET number = 100000 WHERE name = 'topics'");
            Topic.Answer refused = stage.create();
            assertThat(refused.outcome()).isEqualTo(Topic.Outcome.OVER_QUOTA);
            assertThat(refused.problem())
                    .contains("weir.topics.max-topics allows 100000")
                    .contains("delete");
            assertThat(refused.definition().exists()).isFalse();
            stage.store.execute("UPDATE weir_counter SET number = 99999 WHERE name = 'topics'");
            assertThat(stage.create().outcome()).isEqualTo(Topic.Outcome.IN_FORCE);
        }
    }

    @Test
    void shouldTellOneOfTwoEntitiesOfATopicToAskAgain() throws Exception {
        try (Stage stage = new Stage(dir)) {
            ActorRef<Topic.Command> other = stage.system.systemActorOf(stage.topic(TOPIC), "other", Props.empty());
            stage.ask(other, Topic.Get::new).join();
            stage.create();
            Topic.Answer late = stage.ask(
                            other,
                            replyTo -> new Topic.Create(
                                    new LimitSettings(1, MICROS, 0, Sharing.GOSSIP), DELIVERY, replyTo))
                    .join();
            assertThat(late.outcome()).isEqualTo(Topic.Outcome.ASK_AGAIN);
            assertThat(late.problem()).contains("another broker").contains("ask again");
            assertThat(stage.last(TOPIC).limit()).isEqualTo(share(1_000, 100));
            assertThat(stage.ask(other, Topic.Get::new).join().definition().limit())
                    .as("it has loaded what the first one wrote")
                    .isEqualTo(LIMIT);
        }
    }
}
