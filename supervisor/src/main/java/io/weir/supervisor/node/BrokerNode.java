package io.weir.supervisor.node;

import akka.Done;
import akka.actor.BootstrapSetup;
import akka.actor.CoordinatedShutdown;
import akka.actor.setup.ActorSystemSetup;
import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.AskPattern;
import akka.actor.typed.javadsl.Behaviors;
import akka.cluster.ClusterEvent.ClusterDomainEvent;
import akka.cluster.sharding.external.ExternalShardAllocation;
import akka.cluster.sharding.external.ExternalShardAllocationStrategy;
import akka.cluster.sharding.typed.javadsl.ClusterSharding;
import akka.cluster.sharding.typed.javadsl.Entity;
import akka.cluster.typed.Cluster;
import akka.cluster.typed.ClusterSingleton;
import akka.cluster.typed.SingletonActor;
import akka.management.cluster.bootstrap.ClusterBootstrap;
import akka.management.javadsl.AkkaManagement;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigValueFactory;
import io.weir.config.SettingsLoader;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.Adaptor;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.limiter.supply.actor.SupplyStore;
import io.weir.limiter.supply.actor.Sweeper;
import io.weir.topics.api.ApiSettings;
import io.weir.topics.api.BrokerApi;
import io.weir.topics.definition.ShardEntity;
import io.weir.topics.definition.Topic;
import io.weir.topics.definition.TopicFollower;
import io.weir.topics.definition.TopicRows;
import io.weir.topics.definition.TopicWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.stream.StreamSupport;

/**
 * One life of a broker in the cluster: an actor system with an incarnation of its own. Ends when {@link #leave} is
 * called, or when the split brain resolver takes it down.
 */
final class BrokerNode {
    private final ActorSystem<Void> system;
    private final ActorRef<SupplyCoordinator.Command> supply;

    private BrokerNode(ActorSystem<Void> system, ActorRef<SupplyCoordinator.Command> supply) {
        this.system = system;
        this.supply = supply;
    }

    static BrokerNode start(
            SettingsLoader loaded,
            long incarnation,
            Founding founding,
            SupplyCoordinator.Dependencies supply,
            BrokerTopics topics,
            Consumer<NodeView> views) {
        String id = loaded.settings().broker().id().value();
        Config config = loaded.akka()
                .withValue("akka.cluster.roles", ConfigValueFactory.fromIterable(Membership.rolesOf(id, incarnation)));
        CompletableFuture<ActorRef<SupplyCoordinator.Command>> spawned = new CompletableFuture<>();
        ActorSystem<Void> system = ActorSystem.create(
                guardian(incarnation, supply, topics, views, spawned),
                loaded.settings().cluster().name(),
                ActorSystemSetup.create(BootstrapSetup.create(config), new FoundingJoinDecider.With(founding)));
        try {
            AkkaManagement.get(system).start().toCompletableFuture().join();
        } catch (RuntimeException e) {
            system.terminate();
            system.getWhenTerminated().toCompletableFuture().join();
            throw e;
        }
        ClusterBootstrap.get(system).start();
        return new BrokerNode(system, spawned.join());
    }

    /** Only wires. */
    private static Behavior<Void> guardian(
            long incarnation,
            SupplyCoordinator.Dependencies with,
            BrokerTopics topics,
            Consumer<NodeView> views,
            CompletableFuture<ActorRef<SupplyCoordinator.Command>> spawned) {
        return Behaviors.<ClusterDomainEvent>setup(context -> {
                    ActorRef<SupplyCoordinator.Command> supply =
                            context.spawn(SupplyCoordinator.create(with), SupplyCoordinator.NAME);
                    spawned.complete(supply);
                    ClusterSingleton singletons = ClusterSingleton.get(context.getSystem());
                    singletons.init(SingletonActor.of(Adaptor.create(supply, with.settings()), "adaptor"));
                    singletons.init(SingletonActor.of(Sweeper.create(supply, with), "sweeper"));
                    ClusterSharding sharding = ClusterSharding.get(context.getSystem());
                    ActorRef<TopicFollower.Command> follower = startFollower(context, with, topics);
                    topics.follower(follower);
                    RowNews news = new RowNews(
                            context.getSystem(), supply, follower, with.me().broker());
                    startTopics(context, sharding, with, topics, supply, news);
                    Optional<ActorRef<LinkKeyExchange.Command>> keys = topics.links()
                            .map(links -> context.spawn(
                                    LinkKeyExchange.create(with.me().broker(), links), LinkKeyExchange.NAME));
                    context.spawn(
                            Membership.create(incarnation, views.andThen(view -> {
                                supply.tell(new SupplyCoordinator.Members(addresses(view)));
                                news.members(addresses(view));
                                keys.ifPresent(to -> to.tell(new LinkKeyExchange.Members(addresses(view))));
                                topics.placement().ifPresent(placement -> placement.members(addresses(view)));
                            })),
                            "membership");
                    startApi(context, topics);
                    topics.placement()
                            .ifPresent(placement ->
                                    placement.start(context, incarnation, topics, supply, with.storeExecutor()));
                    return Behaviors.empty();
                })
                .unsafeCast();
    }

    /** Topics by hash over the brokers; their shards, each on the broker whose name it bears. */
    private static void startTopics(
            ActorContext<?> context,
            ClusterSharding sharding,
            SupplyCoordinator.Dependencies with,
            BrokerTopics topics,
            ActorRef<SupplyCoordinator.Command> supply,
            RowNews news) {
        BrokerId here = with.me().broker();
        TopicWriter writer =
                topics.writer(with.store(), rows -> supply.tell(new SupplyCoordinator.Inserted(rows)), news);
        sharding.init(
                Entity.of(ShardEntity.KEY, entity -> ShardEntity.create(entity.getEntityId(), here, topics.path()))
                        .withMessageExtractor(ShardEntity.extractor())
                        .withAllocationStrategy(
                                ExternalShardAllocationStrategy.create(context.getSystem(), ShardEntity.KEY.name())));
        ExternalShardAllocation.get(context.getSystem())
                .getClient(ShardEntity.KEY.name())
                .setShardLocation(
                        here.value(),
                        Cluster.get(context.getSystem()).selfMember().address());
        sharding.init(Entity.of(
                Topic.KEY,
                entity -> Topic.create(
                        new TopicName(entity.getEntityId()), writer, with::me, Topic.UNUSED_AFTER, Topic.PATIENCE)));
    }

    private static ActorRef<TopicFollower.Command> startFollower(
            ActorContext<?> context, SupplyCoordinator.Dependencies with, BrokerTopics topics) {
        return context.spawn(
                TopicFollower.create(
                        with.me().broker(),
                        topics.path(),
                        topics.rows(),
                        with.storeExecutor(),
                        topics.defaults(),
                        topics::learned,
                        topics::learnedAll),
                "topics");
    }

    /** The way in for applications' actors, which find it through the receptionist. */
    private static void startApi(ActorContext<?> context, BrokerTopics topics) {
        Cluster cluster = Cluster.get(context.getSystem());
        long maxFrameBytes =
                context.getSystem().settings().config().getBytes("akka.remote.artery.advanced.maximum-frame-size");
        context.spawn(
                BrokerApi.create(
                        topics.path(),
                        ApiSettings.of(topics.gateway(), maxFrameBytes),
                        address -> StreamSupport.stream(
                                        cluster.state().getMembers().spliterator(), false)
                                .anyMatch(member -> member.address().equals(address)),
                        topics.clock()),
                BrokerApi.NAME,
                BrokerApi.props());
    }

    private static Map<BrokerId, String> addresses(NodeView view) {
        Map<BrokerId, String> addresses = new HashMap<>();
        for (NodeView.MemberView member : view.members()) {
            if (!member.state().equals("down")) {
                addresses.put(new BrokerId(member.id()), member.address());
            }
        }
        return addresses;
    }

    TopicAdmin topics(SupplyStore store, TopicRows rows, LastParts lastParts, Executor storeThreads, Duration timeout) {
        return new TopicAdmin(system, supply, store, rows, lastParts, storeThreads, timeout);
    }

    /** Makes the supply actors of all reachable brokers look at the store's rows now. */
    void lookEverywhere(Duration timeout) {
        AskPattern.ask(supply, SupplyCoordinator.WhoIsThere::new, timeout, system.scheduler())
                .thenAccept(peers -> peers.refs().values().forEach(peer -> peer.tell(new SupplyCoordinator.LookNow())));
    }

    CompletionStage<Done> terminated() {
        return system.getWhenTerminated();
    }

    /** Leaves the cluster in good order and ends the actor system. May be called more than once. */
    CompletionStage<Done> leave() {
        return CoordinatedShutdown.get(system).runAll(CoordinatedShutdown.jvmExitReason());
    }
}
