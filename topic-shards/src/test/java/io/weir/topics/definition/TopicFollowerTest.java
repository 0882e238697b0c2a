package io.weir.topics.definition;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.testkit.typed.javadsl.ActorTestKit;
import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AskPattern;
import akka.actor.typed.javadsl.Behaviors;
import akka.cluster.sharding.typed.javadsl.ClusterSharding;
import akka.cluster.sharding.typed.javadsl.Entity;
import akka.cluster.typed.Cluster;
import akka.cluster.typed.Join;
import com.typesafe.config.ConfigFactory;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.RunningBroker;
import io.weir.topics.path.TopicStats;
import io.weir.transport.gateway.GatewaySettings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A desk with a real message path in a cluster of one; topics are played by the test. */
@Timeout(60)
class TopicFollowerTest {
    private static final Duration REVIEW_EVERY = Duration.ofMillis(200);

    private static final BrokerId HERE = new BrokerId("a");
    private static final TopicSettings SETTINGS = TopicSettings.defaults();

    private static ActorTestKit kit;
    private static volatile TopicFollowerTest current;

    private final Rows rows = new Rows();
    private final AtomicInteger laysThatFail = new AtomicInteger();
    private final AtomicInteger ensuresThatFail = new AtomicInteger();
    private final ConcurrentLinkedQueue<String> asked = new ConcurrentLinkedQueue<>();
    private final List<ActorRef<TopicFollower.Command>> desks = new ArrayList<>();
    private volatile boolean entitiesAreOutOfReach;
    private RunningBroker broker;

    /** The store's, in memory. */
    private static final class Rows implements TopicRows {
        private final Map<TopicName, TopicDefinition> last = new ConcurrentHashMap<>();
        private final List<TopicDefinition> changes = new ArrayList<>();
        private int page = 100;
        private volatile boolean fail;
        private volatile int reads;

        synchronized void clear() {
            last.clear();
            changes.clear();
        }

        synchronized void put(TopicDefinition definition) {
            last.put(definition.name(), definition);
            changes.add(definition);
        }

        @Override
        public List<Loaded> load(List<TopicName> topics) {
            throw new UnsupportedOperationException("for topics' entities, which are not real here");
        }

        @Override
        public List<Outcome> write(List<Change> written) {
            throw new UnsupportedOperationException("for topics' entities, which are not real here");
        }

        @Override
        public synchronized Changes after(long after) {
            reads++;
            if (fail) {
                throw new IllegalStateException("the store is away");
            }
            int from = (int) after;
            int to = Math.min(changes.size(), from + page);
            return new Changes(to, List.copyOf(changes.subList(from, to)), to < changes.size());
        }

        @Override
        public Optional<TopicDefinition> get(TopicName topic) {
            return Optional.ofNullable(last.get(topic));
        }
    }

    @BeforeAll
    static void startCluster() {
        kit = ActorTestKit.create("desks", ConfigFactory.parseString("""
                        akka.loglevel = OFF
                        akka.actor.provider = cluster
                        akka.remote.artery.canonical { hostname = "127.0.0.1", port = 0 }
                        akka.cluster.jmx.multi-mbeans-in-same-jvm = on
                        """).withFallback(ConfigFactory.load()));
        Cluster cluster = Cluster.get(kit.system());
        cluster.manager().tell(Join.create(cluster.selfMember().address()));
        ClusterSharding sharding = ClusterSharding.get(kit.system());
        sharding.init(Entity.of(ShardEntity.KEY, entity -> shardEntity(entity.getEntityId()))
                .withMessageExtractor(ShardEntity.extractor()));
        sharding.init(Entity.of(Topic.KEY, entity -> topic(new TopicName(entity.getEntityId()))));
    }

    @AfterAll
    static void stopCluster() {
        kit.shutdownTestKit();
    }

    @BeforeEach
    void start() throws IOException {
        current = this;
        broker = new RunningBroker(
                GatewaySettings.defaults(),
                (path, topic) -> desks.forEach(desk -> desk.tell(new TopicFollower.Wanted(topic, ""))));
    }

    @AfterEach
    void stop() {
        desks.forEach(kit::stop);
        broker.close();
    }

    /** The real one, but for those times that the message path is said to be too busy. */
    private static Behavior<ShardEntity.Command> shardEntity(String id) {
        TopicFollowerTest test = current;
        Behavior<ShardEntity.Command> real = ShardEntity.create(id, HERE, test.broker.path());
        return Behaviors.setup(context -> {
            ActorRef<ShardEntity.Command> behind = context.spawnAnonymous(real);
            return Behaviors.receiveMessage(message -> {
                if (message instanceof ShardEntity.Serve serve && test.laysThatFail.getAndDecrement() > 0) {
                    serve.replyTo().tell(new ShardEntity.Served("busy"));
                } else if (test.entitiesAreOutOfReach) {
                    test.asked.add("nobody");
                } else {
                    behind.tell(message);
                }
                return Behaviors.same();
            });
        });
    }

    private static Behavior<Topic.Command> topic(TopicName name) {
        TopicFollowerTest test = current;
        return Behaviors.receiveMessage(message -> {
            test.asked.add(message.getClass().getSimpleName() + " " + name);
            if (message instanceof Topic.Ensure ensure) {
                if (test.ensuresThatFail.getAndDecrement() > 0) {
                    ensure.replyTo()
                            .tell(new Topic.Answer(
                                    TopicDefinition.none(name, 0), Topic.Outcome.ASK_AGAIN, "still being deleted"));
                } else {
                    test.rows.put(Definitions.of(name, SETTINGS));
                    ensure.replyTo().tell(new Topic.Answer(test.rows.get(name).get(), Topic.Outcome.IN_FORCE, null));
                }
            } else if (message instanceof Topic.EnsureChannel ensure) {
                if (test.ensuresThatFail.getAndDecrement() > 0) {
                    ensure.replyTo()
                            .tell(new Topic.Answer(test.rows.get(name).get(), Topic.Outcome.REFUSED, "not now"));
                } else {
                    TopicDefinition next = test.rows
                            .get(name)
                            .get()
                            .withChannel(ensure.channel(), new TopicDefinition.ChannelSettings(false));
                    test.rows.put(next);
                    ensure.replyTo().tell(new Topic.Answer(next, Topic.Outcome.IN_FORCE, null));
                }
            }
            return Behaviors.same();
        });
    }

    private ActorRef<TopicFollower.Command> desk() {
        ActorRef<TopicFollower.Command> desk = kit.spawn(TopicFollower.create(
                HERE,
                broker.path(),
                rows,
                ForkJoinPool.commonPool(),
                new TopicDefaults(List.of("* 1000 100")),
                definition -> {},
                all -> {},
                REVIEW_EVERY));
        desks.add(desk);
        return desk;
    }

    private int names(ActorRef<TopicFollower.Command> desk) {
        return RunningBroker.await(AskPattern.<TopicFollower.Command, Integer>ask(
                desk, TopicFollower.HowMany::new, Duration.ofSeconds(10), kit.scheduler()));
    }

    private static TopicName topic(String test) {
        // Entities of one test must not be found by the next.
        return new TopicName(test);
    }

    private List<String> channelsHere(TopicName topic) {
        return RunningBroker.await(broker.path().stats()).stream()
                .filter(stats -> stats.topic().equals(topic))
                .flatMap(stats -> stats.channels().stream().map(TopicStats.ChannelStats::name))
                .sorted()
                .toList();
    }

    @Test
    void shouldLayWhatWasDeletedWhileNoDeskWasThere() {
        TopicName gone = topic("gone-meanwhile");
        TopicName kept = topic("kept");
        RunningBroker.await(broker.path().apply(Definitions.of(gone, SETTINGS, "work")));
        RunningBroker.await(broker.path().apply(Definitions.of(kept, SETTINGS, "work", "rest")));
        rows.put(Definitions.gone(gone));
        rows.put(Definitions.of(kept, SETTINGS));
        desk();
        RunningBroker.await(
                "the deleted topic is gone",
                () -> !RunningBroker.await(broker.path().revisions()).containsKey(gone));
        RunningBroker.await(
                "the deleted channels are gone", () -> channelsHere(kept).isEmpty());
    }

    @Test
    void shouldServeATopicWhoseTokensOthersWantAndMakeNoneThatIsNotThere() {
        TopicName idle = topic("lent");
        TopicName unknown = topic("lent-and-unknown");
        rows.put(Definitions.of(idle, SETTINGS));
        ActorRef<TopicFollower.Command> desk = desk();
        RunningBroker.await("others can borrow here", () -> {
            desk.tell(new TopicFollower.LenderWanted(unknown));
            desk.tell(new TopicFollower.LenderWanted(idle));
            return RunningBroker.await(broker.path().revisions()).containsKey(idle);
        });
        assertThat(RunningBroker.await(broker.path().revisions())).doesNotContainKey(unknown);
        assertThat(asked).isEmpty();
    }

    @Test
    void shouldLayATopicWhoseEntityCannotBeReached() {
        entitiesAreOutOfReach = true;
        TopicName topic = topic("out-of-reach");
        rows.put(Definitions.of(topic, SETTINGS, "work"));
        desk();
        RunningBroker.await("it is applied", () -> channelsHere(topic).equals(List.of("work")));
        assertThat(asked).contains("nobody");
    }

    @Test
    void shouldLayAgainWhatCouldNotBeLaid() {
        laysThatFail.set(2);
        TopicName topic = topic("applied-again");
        rows.put(Definitions.of(topic, SETTINGS, "work"));
        desk();
        RunningBroker.await("it is applied", () -> channelsHere(topic).equals(List.of("work")));
        assertThat(laysThatFail.get()).isNegative();
    }

    @Test
    void shouldTryAgainToMakeAChannelThatCouldNotBeMade() {
        ensuresThatFail.set(2);
        TopicName topic = topic("wanted-again");
        rows.put(Definitions.of(topic, SETTINGS));
        ActorRef<TopicFollower.Command> desk = desk();
        desk.tell(new TopicFollower.ChannelWanted(topic, "work"));
        desk.tell(new TopicFollower.ChannelWanted(topic, "rest"));
        RunningBroker.await("both are applied", () -> channelsHere(topic).equals(List.of("rest", "work")));
    }

    /** A consumer comes once, and waits. */
    @Test
    void shouldTryAgainToMakeATopicThatIsStillBeingDeletedOrWasWantedBeforeTheDeskCame() throws IOException {
        ensuresThatFail.set(2);
        TopicName topic = topic("made-again");
        try (NsqSocket consumer = NsqSocket.greeted(broker.address())) {
            consumer.send("SUB " + topic + " work\n");
            assertThat(consumer.answer()).isEqualTo("OK");
            assertThat(revision(topic)).isZero();
            desk();
            RunningBroker.await("it is made", () -> revision(topic) > 0);
            assertThat(asked.stream().filter(("Ensure " + topic)::equals)).hasSize(3);
        }
    }

    @Test
    void shouldSayThatAnEphemeralTopicIsUsedWhereItIs() {
        TopicName left = topic("left-behind#ephemeral");
        TopicName used = topic("used#ephemeral");
        rows.put(Definitions.of(left, SETTINGS));
        ActorRef<TopicFollower.Command> desk = desk();
        RunningBroker.await("its topic is woken", () -> asked.contains("Wake " + left));
        rows.put(Definitions.of(used, SETTINGS));
        desk.tell(new TopicFollower.LookNow());
        RunningBroker.await("it is known", () -> {
            desk.tell(new TopicFollower.Wanted(used, ""));
            return asked.contains("InUse " + used);
        });
    }

    @Test
    void shouldLayNoMoreOfATopicThatThePathLetGoOf() {
        TopicName topic = topic("let-go#ephemeral");
        TopicName marker = topic("marker");
        TopicDefinition definition = Definitions.of(topic, SETTINGS);
        rows.put(definition);
        ActorRef<TopicFollower.Command> desk = desk();
        desk.tell(new TopicFollower.Wanted(topic, ""));
        RunningBroker.await("it is applied", () -> revision(topic) == definition.revision());
        RunningBroker.await(broker.path().apply(definition.gone()));
        desk.tell(new TopicFollower.Ended(topic));
        rows.put(definition.withPaused(true));
        rows.put(Definitions.of(marker, SETTINGS, "work"));
        RunningBroker.await("what came after it is applied", () -> revision(marker) > 0);
        assertThat(revision(topic)).isNegative();
    }

    private long revision(TopicName topic) {
        return RunningBroker.await(broker.path().revisions()).getOrDefault(topic, -1L);
    }

    @Test
    void shouldLayMoreTopicsThanThePathTakesCommandsAtOnce() {
        for (int i = 0; i < 3_000; i++) {
            rows.put(Definitions.of(topic("many-" + i), SETTINGS, "work"));
        }
        desk();
        RunningBroker.await(
                "all are applied",
                () -> RunningBroker.await(broker.path().revisions()).size() == 3_000);
    }

    @Test
    void shouldRememberNoNameOfTopicsThatCameAndWent() {
        ActorRef<TopicFollower.Command> desk = desk();
        List<TopicDefinition> passing = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            passing.add(Definitions.of(topic("passing-" + i), SETTINGS, i % 100 == 0 ? "work" : "rest"));
        }
        passing.forEach(rows::put);
        desk.tell(new TopicFollower.LookNow());
        RunningBroker.await("all are known", () -> names(desk) == passing.size());
        passing.forEach(definition -> rows.put(definition.gone()));
        desk.tell(new TopicFollower.LookNow());
        RunningBroker.await("none is remembered", () -> names(desk) == 0);
        assertThat(RunningBroker.await(broker.path().revisions())).isEmpty();
    }

    @Test
    void shouldLearnThatATopicIsGoneOfWhichTheStoreHasForgottenEverything() {
        TopicDefinition forgotten = Definitions.of(topic("forgotten"), SETTINGS, "work");
        ActorRef<TopicFollower.Command> first = desk();
        RunningBroker.await(broker.path().apply(forgotten));
        RunningBroker.await("it serves what the path has", () -> names(first) == 1);
        rows.put(forgotten);
        first.tell(new TopicFollower.LookNow());
        RunningBroker.await("it is applied", () -> revision(forgotten.name()) == forgotten.revision());
        rows.clear();
        rows.fail = true;
        RunningBroker.await("it reads all when it can read again", () -> {
            first.tell(new TopicFollower.LookNow());
            return rows.reads > 400;
        });
        rows.fail = false;
        RunningBroker.await("the path has let go of it", () -> revision(forgotten.name()) < 0);
    }
}
