package io.weir.topics;

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
import java.util.HashMap;
import java.util.Map;

/**
 * The cluster's handle on one broker's part of a topic: lays the topic's definition on that broker's {@link TopicShard}, and
 * keeps it so. A sharded entity whose shard is its broker, placed there from outside. Should one wake on another broker, because its
 * own is not a member just now, it stops: a bucket is its broker's alone.
 *
 * <p>Messages never come this way, and a shard that was laid down goes on without its entity.
 */
public final class ShardEntity extends AbstractBehavior<ShardEntity.Command> {
    public static final EntityTypeKey<Command> KEY = EntityTypeKey.create(Command.class, "topic-shard");

    private static final String BETWEEN = "|";

    /** What it understands. */
    public sealed interface Command extends CrossesNodes {}

    /** The topic is like this now. Told as often as one likes; what is older than what it knows is left. */
    public record Serve(TopicDefinition definition) implements Command {}

    /**
     * The broker is to drop messages that it holds.
     *
     * @param channel whose; null for those of the topic that no channel has yet
     */
    public record Empty(String channel, ActorRef<Emptied> replyTo) implements Command {}

    /** They are dropped; or not, because the broker is too busy. */
    public record Emptied(BrokerId broker, boolean done) implements CrossesNodes {}

    private record Dropped(ActorRef<Emptied> replyTo, boolean done) implements Command {}

    private final BrokerId here;
    private final MessagePath path;
    private final TopicName topic;
    private TopicDefinition laid;

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
    public static Behavior<Command> create(String entityId, BrokerId here, MessagePath path) {
        int between = entityId.indexOf(BETWEEN);
        TopicName topic = new TopicName(entityId.substring(between + 1));
        return entityId.substring(0, between).equals(here.value())
                ? Behaviors.setup(context -> new ShardEntity(context, here, path, topic))
                : Behaviors.stopped();
    }

    private ShardEntity(ActorContext<Command> context, BrokerId here, MessagePath path, TopicName topic) {
        super(context);
        this.here = here;
        this.path = path;
        this.topic = topic;
        this.laid = TopicDefinition.none(topic);
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Serve.class, this::onServe)
                .onMessage(Empty.class, this::onEmpty)
                .onMessage(Dropped.class, this::onDropped)
                .build();
    }

    private Behavior<Command> onEmpty(Empty empty) {
        getContext()
                .pipeToSelf(
                        empty.channel == null ? path.empty(topic) : path.emptyChannel(topic, empty.channel),
                        (none, failure) -> new Dropped(empty.replyTo, failure == null));
        return this;
    }

    private Behavior<Command> onDropped(Dropped dropped) {
        dropped.replyTo.tell(new Emptied(here, dropped.done));
        return this;
    }

    private Behavior<Command> onServe(Serve serve) {
        TopicDefinition wanted = serve.definition;
        if (wanted.revision() < laid.revision()) {
            return this;
        }
        if (!wanted.exists()) {
            path.delete(topic);
            return Behaviors.stopped();
        }
        path.define(topic, wanted.delivery().settings(), wanted.limitedChannels());
        path.pause(topic, wanted.paused());
        Map<String, TopicDefinition.ChannelSettings> gone = new HashMap<>(laid.channels());
        wanted.channels().forEach((channel, settings) -> {
            gone.remove(channel);
            path.createChannel(topic, channel);
            path.pauseChannel(topic, channel, settings.paused());
        });
        gone.keySet().forEach(channel -> path.deleteChannel(topic, channel));
        laid = wanted;
        return this;
    }
}
