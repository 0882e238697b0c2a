package io.weir.topics.definition;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.cluster.sharding.typed.ShardingEnvelope;
import akka.cluster.sharding.typed.ShardingMessageExtractor;
import akka.cluster.sharding.typed.javadsl.EntityTypeKey;
import io.weir.config.CrossesNodes;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import java.util.concurrent.CompletionStage;

/**
 * The cluster's handle on one broker's part of a topic: applies the topic's definition there. A sharded entity whose
 * shard is its broker, placed there from outside. An entity that wakes on another broker, because its own is not a
 * member at the moment, stops: a bucket belongs to one broker alone.
 *
 * <p>It remembers nothing, so it may be passivated, or begin anew in the next life of the actor system: the broker
 * itself knows which revision was applied and which channels a definition once named. Messages never come this way, and
 * the broker goes on without this entity.
 */
public final class ShardEntity extends AbstractBehavior<ShardEntity.Command> {
    public static final EntityTypeKey<Command> KEY = EntityTypeKey.create(Command.class, "topic-shard");

    private static final String BETWEEN = "|";

    /** What it understands. */
    public sealed interface Command extends CrossesNodes {}

    /**
     * The topic is like this now. May be sent any number of times; an older revision than the one in force is ignored.
     */
    public record Serve(TopicDefinition definition, ActorRef<Served> replyTo) implements Command {}

    /** As {@link Serve} where the topic is served already; elsewhere there is nothing that could be paused. */
    public record Know(TopicDefinition definition, ActorRef<Served> replyTo) implements Command {}

    /**
     * The definition is applied.
     *
     * @param problem why it is not, or null
     */
    public record Served(String problem) implements CrossesNodes {}

    /**
     * The broker is to drop messages that it holds.
     *
     * @param channel whose; null for those of the topic that no channel has yet
     */
    public record Empty(String channel, ActorRef<Emptied> replyTo) implements Command {}

    /** They are dropped; or not, because the broker is too busy. */
    public record Emptied(BrokerId broker, boolean done) implements CrossesNodes {}

    private record Applied(boolean gone, String problem, ActorRef<Served> replyTo) implements Command {}

    private record Dropped(ActorRef<Emptied> replyTo, boolean done) implements Command {}

    private final BrokerId here;
    private final TopicServer server;
    private final TopicName topic;

    /** Sharding by broker: an entity's shard is the broker it belongs to. */
    public static ShardingMessageExtractor<ShardingEnvelope<Command>, Command> extractor() {
        return new ShardingMessageExtractor<>() {
            @Override
            public String entityId(ShardingEnvelope<Command> message) {
                return message.entityId();
            }

            @Override
            public String shardId(String entityId) {
                return entityId.substring(0, entityId.indexOf(BETWEEN));
            }

            @Override
            public Command unwrapMessage(ShardingEnvelope<Command> message) {
                return message.message();
            }
        };
    }

    public static String id(BrokerId broker, TopicName topic) {
        return broker + BETWEEN + topic;
    }

    /** @param here the broker that this runs on */
    public static Behavior<Command> create(String entityId, BrokerId here, TopicServer server) {
        int between = entityId.indexOf(BETWEEN);
        TopicName topic = new TopicName(entityId.substring(between + 1));
        return entityId.substring(0, between).equals(here.value())
                ? Behaviors.setup(context -> new ShardEntity(context, here, server, topic))
                : Behaviors.stopped();
    }

    private ShardEntity(ActorContext<Command> context, BrokerId here, TopicServer server, TopicName topic) {
        super(context);
        this.here = here;
        this.server = server;
        this.topic = topic;
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(
                        Serve.class, serve -> onServe(serve.definition, server.apply(serve.definition), serve.replyTo))
                .onMessage(Know.class, know -> onServe(know.definition, server.update(know.definition), know.replyTo))
                .onMessage(Applied.class, this::onApplied)
                .onMessage(Empty.class, this::onEmpty)
                .onMessage(Dropped.class, this::onDropped)
                .build();
    }

    private Behavior<Command> onEmpty(Empty empty) {
        getContext()
                .pipeToSelf(
                        empty.channel == null ? server.empty(topic) : server.emptyChannel(topic, empty.channel),
                        (none, failure) -> new Dropped(empty.replyTo, failure == null));
        return this;
    }

    private Behavior<Command> onDropped(Dropped dropped) {
        dropped.replyTo.tell(new Emptied(here, dropped.done));
        return this;
    }

    private Behavior<Command> onServe(
            TopicDefinition definition, CompletionStage<Void> applied, ActorRef<Served> replyTo) {
        boolean gone = !definition.exists();
        getContext()
                .pipeToSelf(
                        applied,
                        (none, failure) -> new Applied(gone, failure == null ? null : failure.getMessage(), replyTo));
        return this;
    }

    private Behavior<Command> onApplied(Applied applied) {
        applied.replyTo.tell(new Served(applied.problem));
        return applied.gone && applied.problem == null ? Behaviors.stopped() : this;
    }
}
