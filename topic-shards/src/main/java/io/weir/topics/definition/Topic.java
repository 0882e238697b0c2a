package io.weir.topics.definition;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.PostStop;
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
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.actor.SupplyStore;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.topics.definition.TopicDefinition.ChannelSettings;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.DeliveryChange;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import io.weir.topics.definition.TopicDefinition.LimitVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The one authority on a topic in the cluster: a sharded, event-sourced entity. It decides what comes next and writes
 * it into the store's rows, from where all brokers take it. How supply is made and moved is the brokers' business.
 *
 * <pre>
 *   a change ── persisted ──► rows written? ── yes ──► answered, it is in force
 *                                 │ no: a lowering is still being burned, or the store is away
 *                                 └──► tried again; answered when in force, or as pending after {@link #PATIENCE}
 *   a change of a limit whose last version is not in the store yet ──► the queue
 *   the version is in the store ──► all queued changes of that limit become the next version, the last one wins
 * </pre>
 *
 * The {@link ChangeQueue} is in memory and bounded. Whoever leaves it without a version is told to ask again, and
 * nothing of that change is kept.
 */
public final class Topic extends EventSourcedBehavior<Topic.Command, Topic.Changed, TopicDefinition> {
    public static final EntityTypeKey<Command> KEY = EntityTypeKey.create(Command.class, "topic");

    /** Three times what brokers take to say {@link InUse} again; Akka passivates after two idle minutes. */
    public static final Duration UNUSED_AFTER = Duration.ofSeconds(90);

    /** How long a caller waits for its change at the most: less than any caller waits for the answer. */
    public static final Duration PATIENCE = Duration.ofSeconds(4);

    private static final Duration FIRST_RETRY = Duration.ofMillis(50);
    private static final Duration LAST_RETRY = Duration.ofSeconds(1);
    /** Of callers whose change is kept and waits for its rows. */
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
            Long rateMicros,
            Long burstMicros,
            Integer floorPermille,
            Sharing sharing,
            Indicator indicator,
            ActorRef<Answer> replyTo)
            implements Command {
        LimitSettings on(LimitSettings limit) {
            return new LimitSettings(
                    rateMicros == null ? limit.rateMicros() : rateMicros,
                    burstMicros == null ? limit.burstMicros() : burstMicros,
                    floorPermille == null ? limit.floorPermille() : floorPermille,
                    sharing == null ? limit.sharing() : sharing,
                    indicator == null ? limit.indicator() : indicator);
        }

        /** Both as one change; where they differ the later one wins. */
        ChangeLimit then(ChangeLimit later) {
            return new ChangeLimit(
                    later.rateMicros == null ? rateMicros : later.rateMicros,
                    later.burstMicros == null ? burstMicros : later.burstMicros,
                    later.floorPermille == null ? floorPermille : later.floorPermille,
                    later.sharing == null ? sharing : later.sharing,
                    later.indicator == null ? indicator : later.indicator,
                    later.replyTo);
        }
    }

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

    /** Limits what a channel hands out in the whole cluster, made if need be; rate and burst of 0 are no limit. */
    public record LimitChannel(String channel, long rateMicros, long burstMicros, ActorRef<Answer> replyTo)
            implements Command {}

    /**
     * A broker uses it, though nothing about it changes. An ephemeral topic without channels of which that is not said
     * for a while is deleted.
     */
    public record InUse() implements Command {}

    /** Asks for the definition, changes nothing. */
    public record Get(ActorRef<Answer> replyTo) implements Command {}

    private record Retry() implements Command {}

    private record Unused() implements Command {}

    /**
     * The store has answered.
     *
     * @param revision of the definition that was written; 0 if it was not
     */
    private record Written(long revision, LimitInserts limits, String problem) implements Command {}

    /** A change of the queue may be due. */
    private record Next() implements Command {}

    /** {@code whom} has waited for long enough, in the queue or for its version. */
    private record GiveUp(Object whom) implements Command {}

    /** What became of a command. */
    public enum Outcome {
        /** The definition, with the change in it, is in the store: all brokers go by it. */
        IN_FORCE,
        /** A change that came later took its place; the definition has that one in it, and is in the store. */
        SUPERSEDED,
        /** Decided and kept, and the store does not have it yet. */
        PENDING,
        /** The definition does not allow it. */
        REFUSED,
        /** Nothing of it was kept, and it may work later. */
        ASK_AGAIN
    }

    /**
     * What became of a command.
     *
     * @param definition as it is now
     * @param problem what is in the way, for {@link Outcome#REFUSED} and {@link Outcome#ASK_AGAIN}; else null
     */
    public record Answer(TopicDefinition definition, Outcome outcome, String problem) implements CrossesNodes {
        public boolean pending() {
            return outcome == Outcome.PENDING;
        }
    }

    /** Who asked for a change, and whether a later one took its place. */
    private record Caller(ActorRef<Answer> replyTo, boolean superseded) {
        static List<Caller> of(ActorRef<Answer> replyTo) {
            return List.of(new Caller(replyTo, false));
        }
    }

    /** A caller whose change is kept and waits for its rows. */
    private record Waiter(Caller caller, long revision, Map<TopicName, Long> versions) {}

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
    private final Duration patience;
    private final List<Waiter> waiting = new ArrayList<>();
    private final StoredVersions stored = new StoredVersions();
    private final ChangeQueue queue = new ChangeQueue(stored);
    private Duration retry = FIRST_RETRY;
    private boolean writing;
    /**
     * After a recovery nothing is known about the rows until the first outcome: whoever would change a limit waits for
     * it.
     */
    private boolean knowsRows;

    /**
     * @param minter who mints what is created here: the holder of this broker
     * @param written called when a row is new, so that brokers look at once
     * @param unusedAfter how long an ephemeral topic stays that no broker uses; {@link #UNUSED_AFTER}
     * @param patience how long a caller waits; {@link #PATIENCE}
     */
    public static Behavior<Command> create(
            TopicName name,
            SupplyStore limits,
            TopicRows rows,
            Executor storeThreads,
            Supplier<Holder> minter,
            Runnable written,
            Duration unusedAfter,
            Duration patience) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers ->
                new Topic(context, timers, name, limits, rows, storeThreads, minter, written, unusedAfter, patience)));
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
            Duration unusedAfter,
            Duration patience) {
        super(PersistenceId.of(KEY.name(), name.value()));
        this.context = context;
        // Akka would otherwise derive the logger's name from the withTimers wrapper.
        context.setLoggerName(Topic.class);
        this.timers = timers;
        this.name = name;
        this.limits = limits;
        this.rows = rows;
        this.storeThreads = storeThreads;
        this.minter = minter;
        this.written = written;
        this.unusedAfter = unusedAfter;
        this.patience = patience;
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

    @Override
    public SignalHandler<TopicDefinition> signalHandler() {
        return newSignalHandlerBuilder()
                .onSignal(RecoveryCompleted.instance(), now -> {
                    if (now.revision() > 0) {
                        // A former life may have died between the event and the rows.
                        context.getSelf().tell(new Retry());
                    }
                    used(now);
                })
                .onSignal(PostStop.instance(), this::onStop)
                .build();
    }

    /** To another broker, or for good. What is kept is finished by the next life; what queues is not kept. */
    private void onStop(TopicDefinition now) {
        waiting.forEach(waiter -> reply(now, waiter.caller, Outcome.PENDING, null));
        waiting.clear();
        queue.removeAll()
                .forEach(queued -> askAgain(
                        now,
                        queued.replyTo(),
                        "the topic " + name
                                + " is being moved to another broker: nothing of this change was kept, ask again"));
    }

    @Override
    public CommandHandler<Command, Changed, TopicDefinition> commandHandler() {
        return newCommandHandlerBuilder()
                .forAnyState()
                .onCommand(Create.class, queueing(Create::replyTo))
                .onCommand(Ensure.class, queueing(Ensure::replyTo))
                .onCommand(ChangeLimit.class, queueing(ChangeLimit::replyTo))
                .onCommand(ChangeDelivery.class, this::onChangeDelivery)
                .onCommand(Pause.class, this::onPause)
                .onCommand(Delete.class, queueing(Delete::replyTo))
                .onCommand(SetChannel.class, this::onSetChannel)
                .onCommand(EnsureChannel.class, this::onEnsureChannel)
                .onCommand(DeleteChannel.class, queueing(DeleteChannel::replyTo))
                .onCommand(LimitChannel.class, queueing(LimitChannel::replyTo))
                .onCommand(Get.class, this::onGet)
                .onCommand(InUse.class, (now, command) -> Effect().none().thenRun(this::used))
                .onCommand(Unused.class, knowing((now, command) -> onUnused(now)))
                .onCommand(Retry.class, (now, command) -> onRetry(now))
                .onCommand(Written.class, this::onWritten)
                .onCommand(Next.class, (now, command) -> onNext(now))
                .onCommand(GiveUp.class, this::onGiveUp)
                .build();
    }

    private <C extends Command> BiFunction<TopicDefinition, C, Effect<Changed, TopicDefinition>> knowing(
            BiFunction<TopicDefinition, C, Effect<Changed, TopicDefinition>> handler) {
        return (now, command) -> now.revision() > 0 && !knowsRows ? Effect().stash() : handler.apply(now, command);
    }

    /** For what changes limits: at once, or in its turn. */
    private <C extends Command> BiFunction<TopicDefinition, C, Effect<Changed, TopicDefinition>> queueing(
            Function<C, ActorRef<Answer>> replyTo) {
        return knowing((now, command) -> {
            ActorRef<Answer> caller = replyTo.apply(command);
            if (!queue.mustWait(now, command)) {
                return perform(now, command, Caller.of(caller));
            }
            if (queue.isFull()) {
                return askAgain(
                        now, caller, ChangeQueue.MOST + " changes of " + name + " queue already: ask again later");
            }
            giveUpLater(queue.add(now, command, caller));
            return Effect().none();
        });
    }

    private Effect<Changed, TopicDefinition> perform(TopicDefinition now, Command command, List<Caller> callers) {
        if (command instanceof Create create) {
            return onCreate(now, create, callers);
        }
        if (command instanceof Ensure ensure) {
            used(now);
            return create(now, ensure.limit, ensure.delivery, callers);
        }
        if (command instanceof ChangeLimit change) {
            LimitSettings wanted = change.on(now.limit());
            return ifThere(now, wanted.equals(now.limit()) ? now : now.withLimit(wanted), callers);
        }
        if (command instanceof LimitChannel limit) {
            return onLimitChannel(now, limit, callers);
        }
        if (command instanceof DeleteChannel deletion) {
            boolean known = now.channels().containsKey(deletion.channel);
            return ifThere(now, known ? now.withoutChannel(deletion.channel) : now, callers);
        }
        if (command instanceof Delete) {
            return ifThere(now, now.gone(), callers);
        }
        throw new IllegalArgumentException(command + " changes no limit");
    }

    private Effect<Changed, TopicDefinition> onNext(TopicDefinition now) {
        return queue.takeNext(now).map(due -> perform(now, due)).orElseGet(() -> Effect()
                .none());
    }

    private Effect<Changed, TopicDefinition> perform(TopicDefinition now, ChangeQueue.Due due) {
        due.asked().forEach(timers::cancel);
        context.getSelf().tell(new Next());
        return perform(
                now,
                due.command(),
                due.asked().stream()
                        .map(asked -> new Caller(asked.replyTo(), due.supersedes(asked)))
                        .toList());
    }

    private void giveUpLater(Object whom) {
        timers.startSingleTimer(whom, new GiveUp(whom), patience);
    }

    private Effect<Changed, TopicDefinition> onGiveUp(TopicDefinition now, GiveUp late) {
        if (late.whom instanceof Waiter waiter && waiting.remove(waiter)) {
            reply(now, waiter.caller, Outcome.PENDING, null);
        } else if (late.whom instanceof ChangeQueue.Queued queued && queue.remove(queued)) {
            askAgain(
                    now,
                    queued.replyTo(),
                    queue.whyWaiting(now, queued) + ". Nothing of this change was kept: ask again");
            context.getSelf().tell(new Next());
        }
        return Effect().none();
    }

    private Effect<Changed, TopicDefinition> onGet(TopicDefinition now, Get command) {
        command.replyTo.tell(new Answer(now, stored.has(now) ? Outcome.IN_FORCE : Outcome.PENDING, null));
        return Effect().none();
    }

    private Effect<Changed, TopicDefinition> onCreate(TopicDefinition now, Create command, List<Caller> callers) {
        if (now.exists()
                && !(now.limit().equals(command.limit) && now.delivery().equals(command.delivery))) {
            return refuse(now, callers, "there is a topic " + name + " already, with another definition");
        }
        return create(now, command.limit, command.delivery, callers);
    }

    private Effect<Changed, TopicDefinition> create(
            TopicDefinition now, LimitSettings limit, Delivery delivery, List<Caller> callers) {
        return change(now, now.exists() ? now : now.created(limit, delivery), callers);
    }

    private Effect<Changed, TopicDefinition> onChangeDelivery(TopicDefinition now, ChangeDelivery command) {
        Delivery wanted = command.change.on(now.delivery());
        return ifThere(now, now.delivery().equals(wanted) ? now : now.withDelivery(wanted), Caller.of(command.replyTo));
    }

    private Effect<Changed, TopicDefinition> onPause(TopicDefinition now, Pause command) {
        return ifThere(
                now, now.paused() == command.paused ? now : now.withPaused(command.paused), Caller.of(command.replyTo));
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
            return refuse(now, Caller.of(replyTo), name + " has " + MOST_CHANNELS + " channels already");
        }
        return ifThere(
                now,
                settings.equals(now.channels().get(channel)) ? now : now.withChannel(channel, settings),
                Caller.of(replyTo));
    }

    private Effect<Changed, TopicDefinition> onLimitChannel(
            TopicDefinition now, LimitChannel command, List<Caller> callers) {
        String channel = command.channel;
        boolean none = command.rateMicros == 0 && command.burstMicros == 0;
        LimitSettings wanted = none ? LimitSettings.NONE : now.limit().ofSize(command.rateMicros, command.burstMicros);
        LimitVersion before = now.channelLimits().get(channel);
        boolean same = before == null ? none : before.limit().equals(wanted);
        if (!now.exists() || same && now.channels().containsKey(channel)) {
            return ifThere(now, now, callers);
        }
        if (!now.channels().containsKey(channel) && (none || now.channels().size() >= MOST_CHANNELS)) {
            return refuse(
                    now,
                    callers,
                    none ? name + " has no channel " + channel : name + " has " + MOST_CHANNELS + " channels already");
        }
        if (before == null && now.channelLimits().size() >= MOST_CHANNELS) {
            return refuse(now, callers, MOST_CHANNELS + " channels of " + name + " have or had a limit already");
        }
        return change(now, now.withChannelLimit(channel, wanted), callers);
    }

    private Effect<Changed, TopicDefinition> ifThere(TopicDefinition now, TopicDefinition next, List<Caller> callers) {
        return now.exists() ? change(now, next, callers) : refuse(now, callers, "there is no topic " + name);
    }

    private Effect<Changed, TopicDefinition> change(TopicDefinition now, TopicDefinition next, List<Caller> callers) {
        if (next == now) {
            if (stored.has(now)) {
                callers.forEach(caller -> reply(now, caller, Outcome.IN_FORCE, null));
            } else {
                callers.forEach(caller -> await(new Waiter(caller, now.revision(), now.limitVersions()), now));
                write(now);
            }
            return Effect().none();
        }
        Map<TopicName, Long> made = next.limitVersions();
        made.entrySet().removeAll(now.limitVersions().entrySet());
        return Effect().persist(new Changed(next)).thenRun(changed -> {
            callers.forEach(caller -> await(new Waiter(caller, changed.revision(), made), changed));
            used(changed);
            write(changed);
        });
    }

    /** One too many is answered at once. */
    private void await(Waiter waiter, TopicDefinition now) {
        if (waiting.size() == MOST_WAITING) {
            reply(now, waiter.caller, Outcome.PENDING, null);
        } else {
            waiting.add(waiter);
            giveUpLater(waiter);
        }
    }

    private Effect<Changed, TopicDefinition> refuse(TopicDefinition now, List<Caller> callers, String problem) {
        callers.forEach(caller -> reply(now, caller, Outcome.REFUSED, problem));
        return Effect().none();
    }

    private Effect<Changed, TopicDefinition> askAgain(TopicDefinition now, ActorRef<Answer> replyTo, String problem) {
        replyTo.tell(new Answer(now, Outcome.ASK_AGAIN, problem));
        return Effect().none();
    }

    private static void reply(TopicDefinition now, Caller caller, Outcome outcome, String problem) {
        boolean superseded = outcome == Outcome.IN_FORCE && caller.superseded;
        caller.replyTo.tell(new Answer(now, superseded ? Outcome.SUPERSEDED : outcome, problem));
    }

    private void used(TopicDefinition now) {
        if (name.ephemeral() && now.exists()) {
            timers.startSingleTimer(new Unused(), unusedAfter);
        }
    }

    private Effect<Changed, TopicDefinition> onUnused(TopicDefinition now) {
        if (!now.exists() || !now.channels().isEmpty() || stored.firstPending(now) != null) {
            used(now);
            return Effect().none();
        }
        context.getLog().debug("{} is deleted: no broker uses it", name);
        return Effect().persist(new Changed(now.gone())).thenRun(this::write);
    }

    private Effect<Changed, TopicDefinition> onRetry(TopicDefinition now) {
        if (!stored.has(now)) {
            write(now);
        }
        return Effect().none();
    }

    private void write(TopicDefinition now) {
        if (writing) {
            return;
        }
        writing = true;
        List<LimitRow> missing = stored.missing(now, minter);
        context.pipeToSelf(
                CompletableFuture.supplyAsync(
                        () -> {
                            rows.put(now);
                            return new Written(now.revision(), LimitInserts.into(limits, missing), null);
                        },
                        storeThreads),
                (done, failure) -> failure == null ? done : new Written(0, LimitInserts.NONE, failure.getMessage()));
    }

    private Effect<Changed, TopicDefinition> onWritten(TopicDefinition now, Written outcome) {
        writing = false;
        knowsRows = true;
        stored.written(outcome.revision, outcome.limits);
        if (outcome.revision > 0) {
            written.run();
        }
        if (outcome.problem != null) {
            context.getLog().warn("{} could not put its definition into the store: {}", name, outcome.problem);
            // Nobody knows when the store is back, so nobody waits for it.
            answer(now, waiting, Outcome.PENDING);
        }
        answer(
                now,
                waiting.stream()
                        .filter(waiter -> stored.has(waiter.revision, waiter.versions))
                        .toList(),
                Outcome.IN_FORCE);
        if (stored.has(now)) {
            retry = FIRST_RETRY;
        } else {
            boolean nothingNew = outcome.limits.inserted().isEmpty() && outcome.revision == now.revision()
                    || outcome.problem != null;
            retry = nothingNew ? retryAfter(retry) : FIRST_RETRY;
            timers.startSingleTimer(new Retry(), retry);
        }
        context.getSelf().tell(new Next());
        return Effect().none().thenUnstashAll();
    }

    private static Duration retryAfter(Duration last) {
        Duration twice = last.multipliedBy(2);
        return twice.compareTo(LAST_RETRY) < 0 ? twice : LAST_RETRY;
    }

    private void answer(TopicDefinition now, List<Waiter> whom, Outcome outcome) {
        List.copyOf(whom).forEach(waiter -> {
            waiting.remove(waiter);
            timers.cancel(waiter);
            reply(now, waiter.caller, outcome, null);
        });
    }
}
