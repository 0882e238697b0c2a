package io.weir.topics.definition;

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
import io.weir.limiter.follow.RowFollower;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * One broker's knowledge of all topics: reads their definitions from the store's rows as they change, and has those
 * that this broker serves applied by their {@link ShardEntity}. A topic is served here once somebody publishes to it,
 * consumes it, or makes one of its channels, for which every broker must keep messages. A topic that is published to
 * and does not exist is made, by the defaults.
 *
 * <p>At most {@value #MOST_APPLYING} topics are applied at a time; what failed is tried again at the next look. The
 * broker's {@link TopicServer} outlives this actor and may miss what happens between two of its lives. So after the
 * first look, and then every half minute, this actor asks the server what it has, and applies what is newer. It then
 * also reports which ephemeral topics are used here: those that no broker uses are deleted.
 */
public final class TopicFollower extends AbstractBehavior<TopicFollower.Command> {
    private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
    private static final Duration REVIEW_EVERY = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    /** Of looks that fail one after another, every so-manieth is warned of. */
    private static final int LOOKS_A_WARNING = 30;
    /** After so many looks that failed all rows are read; well within the time that the store keeps deleted ones. */
    private static final int LOOKS_UNTIL_ALL_ARE_READ = 300;
    /** Less often than it takes an unused topic to go. */
    private static final int REVIEWS_A_WAKE = 6;
    /** An entity answers within milliseconds when sharding knows its home. */
    private static final Duration ENTITY_PATIENCE = Duration.ofSeconds(1);
    /** A part of what the message path's queue holds, which others need too. */
    private static final int MOST_APPLYING = 256;

    /** What it understands. */
    public sealed interface Command {}

    /** Somebody publishes to or consumes a topic that the message path does not know. */
    public record Wanted(TopicName topic, String token) implements Command {}

    /** Another broker wants to borrow tokens of this topic. */
    public record LenderWanted(TopicName topic) implements Command {}

    /** A consumer came for a channel: all brokers of the topic are to keep messages for it. */
    public record ChannelWanted(TopicName topic, String channel) implements Command {}

    /** The message path has let go of a topic. */
    public record Ended(TopicName topic) implements Command {}

    /** A row is new. */
    public record LookNow() implements Command, CrossesNodes {}

    /** How many names it remembers, be they of topics that are gone; for tests. */
    record HowMany(ActorRef<Integer> replyTo) implements Command {}

    private record LookDue() implements Command {}

    private record Looked(TopicRows.Changes changes) implements Command {}

    private record LookFailed(String why) implements Command {}

    private record Applied(TopicName topic, String problem) implements Command {}

    private record ReviewDue() implements Command {}

    private record Reviewed(Map<TopicName, Long> revisions, String problem) implements Command {}

    private record Answered(TopicName topic, String token, Topic.Answer answer) implements Command {}

    private record ChannelMade(TopicName topic, TopicDefinition definition, String problem) implements Command {}

    private record NoAnswer(TopicName topic, String token, String why) implements Command {}

    private final BrokerId here;
    private final TopicServer server;
    private final RowFollower<Command, TopicRows.Changes> follower;
    private final TopicDefaults defaults;
    private final Consumer<TopicDefinition> learned;
    private final Consumer<Set<TopicName>> learnedAll;
    private final Duration reviewEvery;
    private final ClusterSharding sharding;
    private final TimerScheduler<Command> timers;
    private final Map<TopicName, TopicDefinition> known = new HashMap<>();
    /** Those in {@link #known} that are deleted, with the review before which that was learned. */
    private final Map<TopicName, Long> deleted = new HashMap<>();

    private final Set<TopicName> served = new HashSet<>();
    private final Set<TopicName> asking = new HashSet<>();
    /** Those that could not be made, and by whose token they are wanted; they wait for the next look. */
    private final Map<TopicName, String> notMade = new HashMap<>();
    /** Whose definition is newer than the one in force here; in the order in which they came. */
    private final Set<TopicName> toApply = new LinkedHashSet<>();
    /** Those on their way to the server. */
    private final Set<TopicName> applying = new HashSet<>();
    /** Those that could not be applied; they wait for the next look. */
    private final Set<TopicName> notApplied = new HashSet<>();
    /** That consumers here came for, and that are not known to be in the definition. */
    private final Map<TopicName, Set<String>> channels = new HashMap<>();

    private final Set<TopicName> makingChannel = new HashSet<>();
    /** The topics found since a reading of all rows began; null while only changes are read. */
    private Set<TopicName> found = new HashSet<>();

    private boolean readOnce;
    private boolean reviewedOnce;
    private int failedLooks;
    private long reviews;

    /**
     * @param learned called with every definition that is new, of topics that this broker serves or not; must not wait
     * @param learnedAll called with all topics that there are when all rows were read; must not wait
     */
    public static Behavior<Command> create(
            BrokerId here,
            TopicServer server,
            TopicRows rows,
            Executor storeThreads,
            TopicDefaults defaults,
            Consumer<TopicDefinition> learned,
            Consumer<Set<TopicName>> learnedAll) {
        return create(here, server, rows, storeThreads, defaults, learned, learnedAll, REVIEW_EVERY);
    }

    /** With another time between two reviews, for tests. */
    static Behavior<Command> create(
            BrokerId here,
            TopicServer server,
            TopicRows rows,
            Executor storeThreads,
            TopicDefaults defaults,
            Consumer<TopicDefinition> learned,
            Consumer<Set<TopicName>> learnedAll,
            Duration reviewEvery) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers -> new TopicFollower(
                context, timers, here, server, rows, storeThreads, defaults, learned, learnedAll, reviewEvery)));
    }

    private TopicFollower(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            BrokerId here,
            TopicServer server,
            TopicRows rows,
            Executor storeThreads,
            TopicDefaults defaults,
            Consumer<TopicDefinition> learned,
            Consumer<Set<TopicName>> learnedAll,
            Duration reviewEvery) {
        super(context);
        // Akka would otherwise derive the logger's name from the withTimers wrapper.
        context.setLoggerName(TopicFollower.class);
        this.timers = timers;
        this.here = here;
        this.server = server;
        this.defaults = defaults;
        this.learned = learned;
        this.learnedAll = learnedAll;
        this.reviewEvery = reviewEvery;
        this.sharding = ClusterSharding.get(context.getSystem());
        this.follower = new RowFollower<>(
                context,
                timers,
                storeThreads,
                LOOK_EVERY,
                rows::after,
                new LookDue(),
                (changes, failure) -> failure == null ? new Looked(changes) : new LookFailed(failure.getMessage()));
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Wanted.class, this::onWanted)
                .onMessage(LenderWanted.class, this::onLenderWanted)
                .onMessage(ChannelWanted.class, this::onChannelWanted)
                .onMessage(Ended.class, this::onEnded)
                .onMessage(LookNow.class, now -> onLookNow())
                .onMessage(HowMany.class, this::onHowMany)
                .onMessage(LookDue.class, due -> onLookDue())
                .onMessage(Looked.class, this::onLooked)
                .onMessage(LookFailed.class, this::onLookFailed)
                .onMessage(ChannelMade.class, this::onChannelMade)
                .onMessage(Applied.class, this::onApplied)
                .onMessage(ReviewDue.class, due -> onReviewDue())
                .onMessage(Reviewed.class, this::onReviewed)
                .onMessage(Answered.class, this::onAnswered)
                .onMessage(NoAnswer.class, this::onNoAnswer)
                .build();
    }

    private Behavior<Command> onWanted(Wanted wanted) {
        served.add(wanted.topic);
        TopicDefinition definition = known.get(wanted.topic);
        if (definition != null && definition.exists()) {
            sayInUse(Stream.of(wanted.topic));
            apply(wanted.topic);
        } else if (readOnce) {
            make(wanted.topic, wanted.token);
        }
        return this;
    }

    private Behavior<Command> onLenderWanted(LenderWanted wanted) {
        TopicDefinition definition = known.get(wanted.topic);
        if (definition != null && definition.exists()) {
            served.add(wanted.topic);
            apply(wanted.topic);
        }
        return this;
    }

    private void make(TopicName topic, String token) {
        if (!asking.add(topic)) {
            return;
        }
        defaults.limitOf(topic)
                .ifPresentOrElse(
                        limit -> ask(
                                topic,
                                token,
                                replyTo ->
                                        new Topic.Ensure(limit, TopicDefinition.Delivery.defaults(), token, replyTo)),
                        () -> {
                            asking.remove(topic);
                            server.refuse(topic, "there is no such topic, and no default limit is set for its name");
                        });
    }

    private void ask(
            TopicName topic, String token, akka.japi.function.Function<ActorRef<Topic.Answer>, Topic.Command> command) {
        getContext()
                .pipeToSelf(
                        sharding.entityRefFor(Topic.KEY, topic.value()).ask(command, PATIENCE),
                        (answer, failure) -> failure == null
                                ? new Answered(topic, token, answer)
                                : new NoAnswer(topic, token, failure.getMessage()));
    }

    private Behavior<Command> onAnswered(Answered answered) {
        asking.remove(answered.topic);
        String problem = answered.answer.problem();
        if (answered.answer.outcome() == Topic.Outcome.ASK_AGAIN) {
            // Its name is still being freed, or its entity moves.
            notMade(answered.topic, answered.token, problem);
        } else if (problem != null) {
            server.refuse(answered.topic, problem);
        } else {
            learn(answered.answer.definition());
        }
        return this;
    }

    private Behavior<Command> onNoAnswer(NoAnswer none) {
        asking.remove(none.topic);
        notMade(none.topic, none.token, none.why);
        return this;
    }

    /** The message path asks again only when somebody comes; a consumer that is there already would wait for that. */
    private void notMade(TopicName topic, String token, String why) {
        getContext().getLog().debug("{} could not make {}: {}", here, topic, why);
        notMade.put(topic, token);
    }

    private void makeAgain() {
        Map<TopicName, String> again = Map.copyOf(notMade);
        notMade.clear();
        again.forEach((topic, token) -> {
            if (served.contains(topic)) {
                onWanted(new Wanted(topic, token));
            }
        });
    }

    private Behavior<Command> onChannelWanted(ChannelWanted wanted) {
        channels.computeIfAbsent(wanted.topic, topic -> new LinkedHashSet<>()).add(wanted.channel);
        makeChannels(wanted.topic);
        return this;
    }

    /** A topic with channels is served wherever they have to be kept, whether somebody is there for it or not. */
    private Behavior<Command> onEnded(Ended ended) {
        TopicDefinition definition = known.get(ended.topic);
        if (definition == null || definition.channels().isEmpty()) {
            served.remove(ended.topic);
        }
        return this;
    }

    /** The next of those that consumers here came for and the topic does not have yet; a topic must be there first. */
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
        if (!makingChannel.add(topic)) {
            return;
        }
        String channel = wanted.iterator().next();
        // It stands last from now on, so that one that is refused does not keep the others from their turn.
        wanted.remove(channel);
        wanted.add(channel);
        getContext()
                .pipeToSelf(
                        sharding.entityRefFor(Topic.KEY, topic.value())
                                .<Topic.Answer>ask(replyTo -> new Topic.EnsureChannel(channel, replyTo), PATIENCE),
                        (answer, failure) -> new ChannelMade(
                                topic,
                                failure == null ? answer.definition() : null,
                                failure == null ? answer.problem() : failure.getMessage()));
    }

    /** What could not be made is tried again at the next look. */
    private Behavior<Command> onChannelMade(ChannelMade made) {
        makingChannel.remove(made.topic);
        if (made.problem != null) {
            getContext().getLog().debug("{} got no channel of {}: {}", here, made.topic, made.problem);
        } else {
            learn(made.definition);
        }
        return this;
    }

    private Behavior<Command> onHowMany(HowMany question) {
        Set<TopicName> names = new HashSet<>(known.keySet());
        List.of(served, asking, toApply, applying, notApplied, makingChannel).forEach(names::addAll);
        names.addAll(deleted.keySet());
        names.addAll(notMade.keySet());
        names.addAll(channels.keySet());
        question.replyTo.tell(names.size());
        return this;
    }

    private Behavior<Command> onLookNow() {
        follower.lookNow();
        return this;
    }

    private Behavior<Command> onLookDue() {
        follower.look();
        return this;
    }

    /** What could not be done is tried again after every look. */
    private void tryAgain() {
        toApply.addAll(notApplied);
        notApplied.clear();
        applyNext();
        makeAgain();
        List.copyOf(channels.keySet()).forEach(this::makeChannels);
    }

    private Behavior<Command> onLookFailed(LookFailed failed) {
        if (failedLooks++ % LOOKS_A_WARNING == 0) {
            getContext()
                    .getLog()
                    .warn(
                            "{} can't read the topics, {}: {}; it tries again",
                            here,
                            readOnce ? "so it does not know what changes" : "so it serves none yet",
                            failed.why);
        }
        if (failedLooks > LOOKS_UNTIL_ALL_ARE_READ && readOnce && found == null) {
            // A deletion may be forgotten by the time that this broker reads again.
            found = new HashSet<>();
            follower.startOver();
        }
        tryAgain();
        follower.failed();
        return this;
    }

    private Behavior<Command> onLooked(Looked looked) {
        if (failedLooks > 0) {
            getContext().getLog().info("{} reads the topics again", here);
            failedLooks = 0;
        }
        looked.changes.definitions().forEach(this::learn);
        if (found != null) {
            looked.changes.definitions().forEach(definition -> found.add(definition.name()));
            if (!looked.changes.more()) {
                onAllRead();
            }
        }
        if (!looked.changes.more()) {
            tryAgain();
        }
        follower.looked(looked.changes.upTo(), looked.changes.more());
        return this;
    }

    /** What the store does not have any more was deleted while nobody looked, and is forgotten. */
    private void onAllRead() {
        List<TopicName> missing =
                known.keySet().stream().filter(topic -> !found.contains(topic)).toList();
        missing.forEach(topic -> {
            TopicDefinition last = known.get(topic);
            if (last.exists()) {
                learn(last.gone());
            }
        });
        found = null;
        Set<TopicName> there = new HashSet<>(known.keySet());
        there.removeAll(deleted.keySet());
        learnedAll.accept(there);
        if (!readOnce) {
            readOnce = true;
            getContext().getLog().info("{} has read {} topics", here, there.size());
            getContext().getSelf().tell(new ReviewDue());
        }
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
            apply(definition.name());
        }
        if (definition.exists()) {
            deleted.remove(definition.name());
            makeChannels(definition.name());
        } else {
            deleted.put(definition.name(), reviews);
            served.remove(definition.name());
            channels.remove(definition.name());
        }
    }

    private void apply(TopicName topic) {
        toApply.add(topic);
        applyNext();
    }

    /** At most one definition of a topic is on its way at a time. */
    private void applyNext() {
        Iterator<TopicName> next = toApply.iterator();
        while (next.hasNext() && applying.size() < MOST_APPLYING) {
            TopicName topic = next.next();
            if (applying.add(topic)) {
                next.remove();
                TopicDefinition definition = known.get(topic);
                getContext()
                        .pipeToSelf(
                                applyByEntity(definition),
                                (problem, failure) ->
                                        new Applied(topic, failure == null ? problem : failure.getMessage()));
            }
        }
    }

    /**
     * The entity lives on this broker, but the way to it leads by sharding's coordinator, which knows no home of it
     * while a broker that died is still a member, or hands shards over. The topic is then applied without its entity:
     * what the broker holds of a limit must not lie idle.
     *
     * @return what is wrong, or null
     */
    private CompletionStage<String> applyByEntity(TopicDefinition definition) {
        return sharding.entityRefFor(ShardEntity.KEY, ShardEntity.id(here, definition.name()))
                .<ShardEntity.Served>ask(replyTo -> new ShardEntity.Serve(definition, replyTo), ENTITY_PATIENCE)
                .handle((served, failure) -> failure == null
                        ? CompletableFuture.completedStage(served.problem())
                        : server.apply(definition).<String>thenApply(applied -> null))
                .thenCompose(stage -> stage);
    }

    private Behavior<Command> onApplied(Applied applied) {
        applying.remove(applied.topic);
        if (applied.problem != null) {
            getContext().getLog().debug("{} could not apply {}: {}", here, applied.topic, applied.problem);
            notApplied.add(applied.topic);
        }
        applyNext();
        return this;
    }

    private Behavior<Command> onReviewDue() {
        getContext()
                .pipeToSelf(
                        server.revisions(),
                        (revisions, failure) -> new Reviewed(revisions, failure == null ? null : failure.getMessage()));
        return this;
    }

    private Behavior<Command> onReviewed(Reviewed reviewed) {
        if (reviewed.problem != null) {
            getContext().getLog().debug("{} can't see what its message path has: {}", here, reviewed.problem);
            timers.startSingleTimer(new ReviewDue(), LOOK_EVERY);
            return this;
        }
        reviews++;
        forgetDeleted();
        reviewed.revisions.forEach((topic, revision) -> {
            served.add(topic);
            TopicDefinition definition = known.get(topic);
            if (revision == 0) {
                // Perhaps it was wanted while this actor was not there.
                onWanted(new Wanted(topic, ""));
            } else if (definition != null && definition.revision() > revision) {
                apply(topic);
            }
        });
        sayInUse();
        timers.startSingleTimer(new ReviewDue(), reviewEvery);
        return this;
    }

    /**
     * Answers to what was asked before a topic's deletion may still come and would bring it back; after the second
     * review none does.
     */
    private void forgetDeleted() {
        deleted.entrySet().removeIf(gone -> {
            TopicName topic = gone.getKey();
            boolean over = gone.getValue() < reviews - 1
                    && !toApply.contains(topic)
                    && !applying.contains(topic)
                    && !notApplied.contains(topic);
            if (over) {
                known.remove(topic);
                // A review that began before the deletion may have found it at the message path.
                served.remove(topic);
            }
            return over;
        });
    }

    /**
     * Some reviews also wake the ephemeral topics that nobody uses here. Otherwise one whose broker died, or that a
     * previous cluster left, would never be found unused.
     */
    private void sayInUse() {
        sayInUse(served.stream());
        if (!reviewedOnce || reviews % REVIEWS_A_WAKE == 0) {
            reviewedOnce = true;
            known.values().stream()
                    .filter(definition ->
                            definition.exists() && definition.name().ephemeral() && !served.contains(definition.name()))
                    .forEach(definition -> sharding.entityRefFor(
                                    Topic.KEY, definition.name().value())
                            .tell(new Topic.Wake()));
        }
    }

    private void sayInUse(Stream<TopicName> used) {
        used.filter(TopicName::ephemeral).forEach(topic -> sharding.entityRefFor(Topic.KEY, topic.value())
                .tell(new Topic.InUse()));
    }
}
