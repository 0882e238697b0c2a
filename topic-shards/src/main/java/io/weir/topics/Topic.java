package io.weir.topics;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.TimerScheduler;
import akka.cluster.sharding.typed.javadsl.EntityTypeKey;
import akka.persistence.typed.PersistenceId;
import akka.persistence.typed.RecoveryCompleted;
import akka.persistence.typed.javadsl.CommandHandler;
import akka.persistence.typed.javadsl.Effect;
import akka.persistence.typed.javadsl.EventHandler;
import akka.persistence.typed.javadsl.EventSourcedBehavior;
import akka.persistence.typed.javadsl.RetentionCriteria;
import akka.persistence.typed.javadsl.SignalHandler;
import io.weir.config.CrossesNodes;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.SupplyStore;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.LimitRow;
import io.weir.topics.TopicDefinition.ChannelSettings;
import io.weir.topics.TopicDefinition.Delivery;
import io.weir.topics.TopicDefinition.DeliveryChange;
import io.weir.topics.TopicDefinition.LimitSettings;
import io.weir.topics.TopicDefinition.LimitVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/**
 * A topic's definition, the one authority on it in the cluster: a sharded entity, event sourced. It decides what comes next and
 * puts that into the store's rows, from where all brokers take it: the definition, and each version of the limit. How supply is
 * made and moved is the brokers' business.
 *
 * <pre>
 *   a change ── persisted ──► rows written? ── yes ──► answered, it takes effect
 *                                 │ no: the limit's version before is not done yet (a lowering is being burned), or the
 *                                 │ store is away
 *                                 └──► answered as pending, tried again every second; another limit is refused meanwhile
 * </pre>
 */
public final class Topic extends EventSourcedBehavior<Topic.Command, Topic.Changed, TopicDefinition> {
    public static final EntityTypeKey<Command> KEY = EntityTypeKey.create(Command.class, "topic");

    /** Three times as long as brokers take to say {@link InUse} again, and short of the two idle minutes after which Akka passivates. */
    public static final Duration UNUSED_AFTER = Duration.ofSeconds(90);

    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final int MOST_WAITING = 100;
    private static final int MOST_CHANNELS = 1_000;

    /** What it understands. */
    public sealed interface Command extends CrossesNodes {}

    /** Makes a topic that is not there. The same again is no error; another limit is. */
    public record Create(LimitSettings limit, Delivery delivery, ActorRef<Answer> replyTo) implements Command {}

    /** Makes a topic if it is not there, and whatever is there is fine: somebody publishes or consumes. */
    public record Ensure(LimitSettings limit, Delivery delivery, ActorRef<Answer> replyTo) implements Command {}

    /** Gives a topic another limit; what is null stays as it is. */
    public record ChangeLimit(
            Long rateMicros, Long burstMicros, Integer floorPermille, Sharing sharing, ActorRef<Answer> replyTo)
            implements Command {}

    /** Changes how messages are treated. */
    public record ChangeDelivery(DeliveryChange change, ActorRef<Answer> replyTo) implements Command {}

    /** Messages are let in, and kept from the channels. */
    public record Pause(boolean paused, ActorRef<Answer> replyTo) implements Command {}

    /** Its messages are dropped everywhere, its limit goes to nothing. */
    public record Delete(ActorRef<Answer> replyTo) implements Command {}

    /** Makes a channel, or changes it. */
    public record SetChannel(String channel, ChannelSettings settings, ActorRef<Answer> replyTo) implements Command {}

    /** A consumer came for a channel: it is made if it is not there. */
    public record EnsureChannel(String channel, ActorRef<Answer> replyTo) implements Command {}

    /** The messages that brokers keep for it are dropped, its limit goes to nothing. */
    public record DeleteChannel(String channel, ActorRef<Answer> replyTo) implements Command {}

    /** Limits what a channel hands out in the whole cluster, and makes the channel if need be; rate and burst of 0 are no limit. */
    public record LimitChannel(String channel, long rateMicros, long burstMicros, ActorRef<Answer> replyTo)
            implements Command {}

    /**
     * A broker uses it, though nothing about it changes. An ephemeral topic without channels of which that is not said for a while is
     * deleted.
     */
    public record InUse() implements Command {}

    /** Asks for the definition, changes nothing. */
    public record Get(ActorRef<Answer> replyTo) implements Command {}

    private record Retry() implements Command {}

    private record Unused() implements Command {}

    private record Written(long revision, Map<TopicName, Long> limits, String problem) implements Command {}

    /**
     * What became of a command.
     *
     * @param pending whether the rows are not written yet
     * @param problem why it was refused, or null
     */
    public record Answer(TopicDefinition definition, boolean pending, String problem) implements CrossesNodes {}

    /** The one event: this is the definition now. */
    public record Changed(TopicDefinition definition) implements CrossesNodes {}

    private final ActorContext<Command> context;
    private final TimerScheduler<Command> timers;
    private final TopicName name;
    private final SupplyStore limits;
    private final TopicRows rows;
    private final Executor storeThreads;
    private final Supplier<Holder> minter;
    private final Runnable written;
    private final Duration unusedAfter;
    private final List<ActorRef<Answer>> waiting = new ArrayList<>();
    /** The version of each limit that is known to be there, by the limit's key. */
    private final Map<TopicName, Long> limitsInStore = new HashMap<>();

    private long revisionInStore;
    private boolean writing;
    /** After a recovery nothing is known about the rows until the first outcome: whoever would change a limit waits for it. */
    private boolean knowsRows;

    /**
     * @param minter who mints what is created here: the holder of this broker
     * @param written told when a row is new, so that brokers look at once
     * @param unusedAfter how long an ephemeral topic stays that no broker uses; {@link #UNUSED_AFTER}
     */
    public static Behavior<Command> create(
            TopicName name,
            SupplyStore limits,
            TopicRows rows,
            Executor storeThreads,
            Supplier<Holder> minter,
            Runnable written,
            Duration unusedAfter) {
        return Behaviors.setup(context -> Behaviors.withTimers(
                timers -> new Topic(context, timers, name, limits, rows, storeThreads, minter, written, unusedAfter)));
    }

    private Topic(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            TopicName name,
            SupplyStore limits,
            TopicRows rows,
            Executor storeThreads,
            Supplier<Holder> minter,
            Runnable written,
            Duration unusedAfter) {
        super(PersistenceId.of(KEY.name(), name.value()));
        this.context = context;
        // Found by itself it would be that of the timers around this behaviour.
        context.setLoggerName(Topic.class);
        this.timers = timers;
        this.name = name;
        this.limits = limits;
        this.rows = rows;
        this.storeThreads = storeThreads;
        this.minter = minter;
        this.written = written;
        this.unusedAfter = unusedAfter;
    }

    @Override
    public TopicDefinition emptyState() {
        return TopicDefinition.none(name);
    }

    @Override
    public EventHandler<TopicDefinition, Changed> eventHandler() {
        return (before, event) -> event.definition;
    }

    @Override
    public RetentionCriteria retentionCriteria() {
        return RetentionCriteria.snapshotEvery(20, 2).withDeleteEventsOnSnapshot();
    }

    /** A former life may have died between the event and the rows. */
    @Override
    public SignalHandler<TopicDefinition> signalHandler() {
        return newSignalHandlerBuilder()
                .onSignal(RecoveryCompleted.instance(), now -> {
                    if (now.revision() > 0) {
                        context.getSelf().tell(new Retry());
                    }
                    used(now);
                })
                .build();
    }

    @Override
    public CommandHandler<Command, Changed, TopicDefinition> commandHandler() {
        return newCommandHandlerBuilder()
                .forAnyState()
                .onCommand(Create.class, knowing(this::onCreate))
                .onCommand(Ensure.class, knowing(this::onEnsure))
                .onCommand(ChangeLimit.class, knowing(this::onChangeLimit))
                .onCommand(ChangeDelivery.class, this::onChangeDelivery)
                .onCommand(Pause.class, this::onPause)
                .onCommand(Delete.class, knowing(this::onDelete))
                .onCommand(SetChannel.class, this::onSetChannel)
                .onCommand(EnsureChannel.class, this::onEnsureChannel)
                .onCommand(DeleteChannel.class, knowing(this::onDeleteChannel))
                .onCommand(LimitChannel.class, knowing(this::onLimitChannel))
                .onCommand(Get.class, (now, command) -> answer(now, command.replyTo, null))
                .onCommand(InUse.class, (now, command) -> onInUse(now))
                .onCommand(Unused.class, knowing((now, command) -> onUnused(now)))
                .onCommand(Retry.class, (now, command) -> onRetry(now))
                .onCommand(Written.class, this::onWritten)
                .build();
    }

    private <C extends Command> BiFunction<TopicDefinition, C, Effect<Changed, TopicDefinition>> knowing(
            BiFunction<TopicDefinition, C, Effect<Changed, TopicDefinition>> handler) {
        return (now, command) -> now.revision() > 0 && !knowsRows ? Effect().stash() : handler.apply(now, command);
    }

    private Effect<Changed, TopicDefinition> onCreate(TopicDefinition now, Create command) {
        if (now.exists()
                && !(now.limit().equals(command.limit) && now.delivery().equals(command.delivery))) {
            return answer(now, command.replyTo, "there is a topic " + name + " already, with another definition");
        }
        return create(now, command.limit, command.delivery, command.replyTo);
    }

    private Effect<Changed, TopicDefinition> onEnsure(TopicDefinition now, Ensure command) {
        used(now);
        return create(now, command.limit, command.delivery, command.replyTo);
    }

    private Effect<Changed, TopicDefinition> create(
            TopicDefinition now, LimitSettings limit, Delivery delivery, ActorRef<Answer> replyTo) {
        if (now.exists()) {
            return change(now, now, replyTo);
        }
        if (anyPending(now)) {
            return answer(now, replyTo, "the topic " + name + " is still being deleted: try again in a moment");
        }
        return change(now, now.created(limit, delivery), replyTo);
    }

    private Effect<Changed, TopicDefinition> onChangeLimit(TopicDefinition now, ChangeLimit command) {
        LimitSettings limit = now.limit();
        LimitSettings wanted = new LimitSettings(
                command.rateMicros == null ? limit.rateMicros() : command.rateMicros,
                command.burstMicros == null ? limit.burstMicros() : command.burstMicros,
                command.floorPermille == null ? limit.floorPermille() : command.floorPermille,
                command.sharing == null ? limit.sharing() : command.sharing);
        boolean ofChannelsToo = wanted.floorPermille() != limit.floorPermille() || wanted.sharing() != limit.sharing();
        if (now.exists() && !wanted.equals(limit) && (ofChannelsToo ? anyPending(now) : pending(now, name))) {
            return stillChanging(now, ofChannelsToo ? firstPending(now) : name, command.replyTo);
        }
        return ifThere(now, wanted.equals(limit) ? now : now.withLimit(wanted), command.replyTo);
    }

    private Effect<Changed, TopicDefinition> onChangeDelivery(TopicDefinition now, ChangeDelivery command) {
        Delivery wanted = command.change.on(now.delivery());
        return ifThere(now, now.delivery().equals(wanted) ? now : now.withDelivery(wanted), command.replyTo);
    }

    private Effect<Changed, TopicDefinition> onPause(TopicDefinition now, Pause command) {
        return ifThere(now, now.paused() == command.paused ? now : now.withPaused(command.paused), command.replyTo);
    }

    private Effect<Changed, TopicDefinition> onDelete(TopicDefinition now, Delete command) {
        if (now.exists() && anyPending(now)) {
            return stillChanging(now, firstPending(now), command.replyTo);
        }
        return ifThere(now, now.gone(), command.replyTo);
    }

    private Effect<Changed, TopicDefinition> onSetChannel(TopicDefinition now, SetChannel command) {
        return setChannel(now, command.channel, command.settings, command.replyTo);
    }

    private Effect<Changed, TopicDefinition> onEnsureChannel(TopicDefinition now, EnsureChannel command) {
        ChannelSettings known = now.channels().get(command.channel);
        return setChannel(now, command.channel, known == null ? new ChannelSettings(false) : known, command.replyTo);
    }

    private Effect<Changed, TopicDefinition> setChannel(
            TopicDefinition now, String channel, ChannelSettings settings, ActorRef<Answer> replyTo) {
        if (!now.channels().containsKey(channel) && now.channels().size() >= MOST_CHANNELS) {
            return answer(now, replyTo, name + " has " + MOST_CHANNELS + " channels already");
        }
        return ifThere(
                now, settings.equals(now.channels().get(channel)) ? now : now.withChannel(channel, settings), replyTo);
    }

    private Effect<Changed, TopicDefinition> onLimitChannel(TopicDefinition now, LimitChannel command) {
        String channel = command.channel;
        boolean none = command.rateMicros == 0 && command.burstMicros == 0;
        LimitSettings wanted = none ? LimitSettings.NONE : now.limit().ofSize(command.rateMicros, command.burstMicros);
        LimitVersion before = now.channelLimits().get(channel);
        boolean same = before == null ? none : before.limit().equals(wanted);
        if (!now.exists() || same && now.channels().containsKey(channel)) {
            return ifThere(now, now, command.replyTo);
        }
        if (!now.channels().containsKey(channel) && (none || now.channels().size() >= MOST_CHANNELS)) {
            return answer(
                    now,
                    command.replyTo,
                    none ? name + " has no channel " + channel : name + " has " + MOST_CHANNELS + " channels already");
        }
        if (before == null && now.channelLimits().size() >= MOST_CHANNELS) {
            return answer(
                    now, command.replyTo, MOST_CHANNELS + " channels of " + name + " have or had a limit already");
        }
        if (before != null && pending(now, now.key(channel))) {
            return stillChanging(now, now.key(channel), command.replyTo);
        }
        return change(now, now.withChannelLimit(channel, wanted), command.replyTo);
    }

    private Effect<Changed, TopicDefinition> stillChanging(
            TopicDefinition now, TopicName key, ActorRef<Answer> replyTo) {
        return answer(
                now,
                replyTo,
                "the change to version " + now.limits().get(key).version() + " of the limit of " + key
                        + " has not begun yet: try again in a moment");
    }

    private Effect<Changed, TopicDefinition> onDeleteChannel(TopicDefinition now, DeleteChannel command) {
        if (now.channelLimit(command.channel).isPresent() && pending(now, now.key(command.channel))) {
            return stillChanging(now, now.key(command.channel), command.replyTo);
        }
        return ifThere(
                now,
                now.channels().containsKey(command.channel) ? now.withoutChannel(command.channel) : now,
                command.replyTo);
    }

    private Effect<Changed, TopicDefinition> ifThere(
            TopicDefinition now, TopicDefinition next, ActorRef<Answer> replyTo) {
        return now.exists() ? change(now, next, replyTo) : answer(now, replyTo, "there is no topic " + name);
    }

    private Effect<Changed, TopicDefinition> change(
            TopicDefinition now, TopicDefinition next, ActorRef<Answer> replyTo) {
        if (next == now) {
            if (!inStore(now) && waiting.size() < MOST_WAITING) {
                waiting.add(replyTo);
                write(now);
                return Effect().none();
            }
            return answer(now, replyTo, null);
        }
        if (waiting.size() == MOST_WAITING) {
            return answer(now, replyTo, "too many changes of " + name + " wait already");
        }
        return Effect().persist(new Changed(next)).thenRun(stored -> {
            waiting.add(replyTo);
            used(stored);
            write(stored);
        });
    }

    private Effect<Changed, TopicDefinition> answer(TopicDefinition now, ActorRef<Answer> replyTo, String problem) {
        replyTo.tell(new Answer(now, !inStore(now), problem));
        return Effect().none();
    }

    private Effect<Changed, TopicDefinition> onInUse(TopicDefinition now) {
        used(now);
        return Effect().none();
    }

    private void used(TopicDefinition now) {
        if (name.ephemeral() && now.exists()) {
            timers.startSingleTimer(new Unused(), unusedAfter);
        }
    }

    private Effect<Changed, TopicDefinition> onUnused(TopicDefinition now) {
        if (!now.exists() || !now.channels().isEmpty() || anyPending(now)) {
            used(now);
            return Effect().none();
        }
        context.getLog().debug("{} is deleted: no broker uses it", name);
        return Effect().persist(new Changed(now.gone())).thenRun(this::write);
    }

    private boolean pending(TopicDefinition now, TopicName key) {
        return limitsInStore.getOrDefault(key, 0L) < now.limits().get(key).version();
    }

    private boolean anyPending(TopicDefinition now) {
        return firstPending(now) != null;
    }

    private TopicName firstPending(TopicDefinition now) {
        for (Map.Entry<TopicName, LimitVersion> each : now.limits().entrySet()) {
            if (limitsInStore.getOrDefault(each.getKey(), 0L) < each.getValue().version()) {
                return each.getKey();
            }
        }
        return null;
    }

    private boolean inStore(TopicDefinition now) {
        return revisionInStore >= now.revision() && !anyPending(now);
    }

    private Effect<Changed, TopicDefinition> onRetry(TopicDefinition now) {
        if (!inStore(now)) {
            write(now);
        }
        return Effect().none();
    }

    private void write(TopicDefinition now) {
        if (writing) {
            return;
        }
        writing = true;
        List<LimitRow> missing = missing(now);
        context.pipeToSelf(
                CompletableFuture.supplyAsync(
                        () -> {
                            rows.put(now);
                            Map<TopicName, Long> inserted = new HashMap<>();
                            for (LimitRow row : missing) {
                                if (limits.insert(row)) {
                                    inserted.put(row.topic(), row.version());
                                }
                            }
                            return inserted;
                        },
                        storeThreads),
                (inserted, failure) -> failure == null
                        ? new Written(now.revision(), inserted, null)
                        : new Written(0, Map.of(), failure.getMessage()));
    }

    private List<LimitRow> missing(TopicDefinition now) {
        List<LimitRow> missing = new ArrayList<>();
        now.limits().forEach((key, limit) -> {
            if (limitsInStore.getOrDefault(key, 0L) < limit.version()) {
                missing.add(new LimitRow(
                        key,
                        limit.version(),
                        limit.limit().share(),
                        limit.limit().floorPermille(),
                        limit.limit().sharing(),
                        Optional.of(minter.get()),
                        false));
            }
        });
        return missing;
    }

    private Effect<Changed, TopicDefinition> onWritten(TopicDefinition now, Written outcome) {
        writing = false;
        knowsRows = true;
        revisionInStore = Math.max(revisionInStore, outcome.revision);
        // A version never changes its content, so what was inserted counts, whatever was decided meanwhile.
        limitsInStore.putAll(outcome.limits);
        if (outcome.revision > 0) {
            written.run();
        }
        if (outcome.problem != null) {
            context.getLog().warn("{} could not put its definition into the store: {}", name, outcome.problem);
        }
        if (!inStore(now)) {
            timers.startSingleTimer(new Retry(), RETRY);
        }
        // Whoever waits is told how far it is, rather than left without an answer.
        waiting.forEach(replyTo -> replyTo.tell(new Answer(now, !inStore(now), null)));
        waiting.clear();
        return Effect().none().thenUnstashAll();
    }
}
