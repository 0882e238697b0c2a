package io.weir.topics;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.javadsl.TimerScheduler;
import akka.cluster.sharding.typed.javadsl.ClusterSharding;
import io.weir.config.CrossesNodes;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * One broker's knowledge of all topics: reads their definitions from the store's rows as they change, and has those that this
 * broker serves laid on its message path by their {@link ShardEntity}. A topic is served here once somebody publishes to it, consumes it,
 * or makes one of its channels, for which every broker must keep messages. What is published to and is not there is made, by the defaults.
 */
public final class TopicDesk extends AbstractBehavior<TopicDesk.Command> {
    private static final Duration LOOK_EVERY = Duration.ofSeconds(1);

    /** What it understands. */
    public sealed interface Command {}

    /** Somebody publishes to or consumes a topic that the message path does not know. */
    public record Wanted(TopicName topic) implements Command {}

    /** A consumer came for a channel: all brokers of the topic are to keep messages for it. */
    public record ChannelWanted(TopicName topic, String channel) implements Command {}

    /** A row is new. */
    public record LookNow() implements Command, CrossesNodes {}

    private record LookDue() implements Command {}

    private record Looked(TopicRows.Changes changes) implements Command {}

    private record LookFailed(String why) implements Command {}

    private record Answered(TopicName topic, Topic.Answer answer) implements Command {}

    private record NoAnswer(TopicName topic, String why) implements Command {}

    private final BrokerId here;
    private final MessagePath path;
    private final TopicRows rows;
    private final Executor storeThreads;
    private final TopicDefaults defaults;
    private final Consumer<TopicDefinition> learned;
    private final ClusterSharding sharding;
    private final TimerScheduler<Command> timers;
    private final Map<TopicName, TopicDefinition> known = new HashMap<>();
    private final Set<TopicName> served = new HashSet<>();
    private final Set<TopicName> asking = new HashSet<>();
    private final Map<TopicName, Set<String>> channels = new HashMap<>();
    private long upTo;
    private boolean readOnce;
    private boolean looking;
    private boolean lookAgain;

    /** @param learned told every definition that is new, of topics that this broker serves or not; must not wait */
    public static Behavior<Command> create(
            BrokerId here,
            MessagePath path,
            TopicRows rows,
            Executor storeThreads,
            TopicDefaults defaults,
            Consumer<TopicDefinition> learned) {
        return Behaviors.setup(context -> Behaviors.withTimers(
                timers -> new TopicDesk(context, timers, here, path, rows, storeThreads, defaults, learned)));
    }

    private TopicDesk(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            BrokerId here,
            MessagePath path,
            TopicRows rows,
            Executor storeThreads,
            TopicDefaults defaults,
            Consumer<TopicDefinition> learned) {
        super(context);
        // Found by itself it would be that of the timers around this behaviour.
        context.setLoggerName(TopicDesk.class);
        this.timers = timers;
        this.here = here;
        this.path = path;
        this.rows = rows;
        this.storeThreads = storeThreads;
        this.defaults = defaults;
        this.learned = learned;
        this.sharding = ClusterSharding.get(context.getSystem());
        context.getSelf().tell(new LookDue());
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Wanted.class, this::onWanted)
                .onMessage(ChannelWanted.class, this::onChannelWanted)
                .onMessage(LookNow.class, now -> onLookNow())
                .onMessage(LookDue.class, due -> onLookDue())
                .onMessage(Looked.class, this::onLooked)
                .onMessage(LookFailed.class, this::onLookFailed)
                .onMessage(Answered.class, this::onAnswered)
                .onMessage(NoAnswer.class, this::onNoAnswer)
                .build();
    }

    private Behavior<Command> onWanted(Wanted wanted) {
        served.add(wanted.topic);
        TopicDefinition definition = known.get(wanted.topic);
        if (definition != null && definition.exists()) {
            lay(definition);
        } else if (readOnce) {
            make(wanted.topic);
        }
        return this;
    }

    private void make(TopicName topic) {
        if (!asking.add(topic)) {
            return;
        }
        defaults.limitOf(topic)
                .ifPresentOrElse(
                        limit -> ask(
                                topic,
                                replyTo -> new Topic.Ensure(limit, TopicDefinition.Delivery.defaults(), replyTo)),
                        () -> {
                            asking.remove(topic);
                            path.refuse(topic, "there is no such topic, and no default limit is set for its name");
                        });
    }

    private void ask(TopicName topic, akka.japi.function.Function<ActorRef<Topic.Answer>, Topic.Command> command) {
        getContext()
                .pipeToSelf(
                        sharding.entityRefFor(Topic.KEY, topic.value()).ask(command, Duration.ofSeconds(5)),
                        (answer, failure) -> failure == null
                                ? new Answered(topic, answer)
                                : new NoAnswer(topic, failure.getMessage()));
    }

    private Behavior<Command> onAnswered(Answered answered) {
        asking.remove(answered.topic);
        if (answered.answer.problem() != null) {
            path.refuse(answered.topic, answered.answer.problem());
        } else {
            learn(answered.answer.definition());
        }
        return this;
    }

    /** The message path asks again. */
    private Behavior<Command> onNoAnswer(NoAnswer none) {
        asking.remove(none.topic);
        getContext().getLog().debug("{} got no answer about {}: {}", here, none.topic, none.why);
        return this;
    }

    private Behavior<Command> onChannelWanted(ChannelWanted wanted) {
        channels.computeIfAbsent(wanted.topic, topic -> new HashSet<>()).add(wanted.channel);
        makeChannels(wanted.topic);
        return this;
    }

    /** Those that consumers here came for and the topic does not have yet; a topic must be there first. */
    private void makeChannels(TopicName topic) {
        TopicDefinition definition = known.get(topic);
        Set<String> wanted = channels.get(topic);
        if (wanted == null || definition == null || !definition.exists()) {
            return;
        }
        wanted.removeAll(definition.channels().keySet());
        if (wanted.isEmpty()) {
            channels.remove(topic);
            return;
        }
        String channel = wanted.iterator().next();
        getContext()
                .pipeToSelf(
                        sharding.entityRefFor(Topic.KEY, topic.value())
                                .<Topic.Answer>ask(
                                        replyTo -> new Topic.EnsureChannel(channel, replyTo), Duration.ofSeconds(5)),
                        (answer, failure) -> failure == null && answer.problem() == null
                                ? new Answered(topic, answer)
                                : new NoAnswer(topic, failure == null ? answer.problem() : failure.getMessage()));
    }

    private Behavior<Command> onLookNow() {
        if (looking) {
            lookAgain = true;
            return this;
        }
        return onLookDue();
    }

    private Behavior<Command> onLookDue() {
        if (looking) {
            return this;
        }
        looking = true;
        long after = upTo;
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(() -> rows.after(after), storeThreads),
                        (changes, failure) ->
                                failure == null ? new Looked(changes) : new LookFailed(failure.getMessage()));
        return this;
    }

    private void planLook() {
        looking = false;
        timers.startSingleTimer(new LookDue(), lookAgain ? Duration.ofMillis(1) : LOOK_EVERY);
        lookAgain = false;
    }

    private Behavior<Command> onLookFailed(LookFailed failed) {
        getContext().getLog().debug("{} can't read the topics: {}", here, failed.why);
        planLook();
        return this;
    }

    private Behavior<Command> onLooked(Looked looked) {
        readOnce = true;
        upTo = looked.changes.upTo();
        looked.changes.definitions().forEach(this::learn);
        planLook();
        return this;
    }

    private void learn(TopicDefinition definition) {
        TopicDefinition before = known.get(definition.name());
        if (before != null && before.revision() > definition.revision()) {
            return;
        }
        known.put(definition.name(), definition);
        learned.accept(definition);
        if (served.contains(definition.name()) || !definition.channels().isEmpty()) {
            served.add(definition.name());
            lay(definition);
        }
        if (definition.exists()) {
            makeChannels(definition.name());
        } else {
            served.remove(definition.name());
            channels.remove(definition.name());
        }
    }

    private void lay(TopicDefinition definition) {
        sharding.entityRefFor(ShardEntity.KEY, ShardEntity.id(here, definition.name()))
                .tell(new ShardEntity.Serve(definition));
    }
}
