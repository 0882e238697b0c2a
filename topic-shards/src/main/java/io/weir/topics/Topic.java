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
import akka.persistence.typed.javadsl.SignalHandler;
import io.weir.config.CrossesNodes;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.SupplyStore;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.LimitRow;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * A topic's definition, the one authority on it in the cluster: a sharded entity, event sourced. It decides which version of the
 * limit comes next and puts that into the limits' rows, from where the brokers take it; how supply is made and moved is
 * theirs.
 *
 * <pre>
 *   create, limit ── persisted ──► row of version v inserted? ── yes ──► answered, v takes effect
 *                                      │ no: v − 1 is not done yet (a lowering is being burned), or the store is away
 *                                      └──► tried again every second; another change is refused meanwhile
 * </pre>
 */
public final class Topic extends EventSourcedBehavior<Topic.Command, Topic.Event, Topic.State> {
    public static final EntityTypeKey<Command> KEY = EntityTypeKey.create(Command.class, "topic");

    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final int MOST_WAITING = 100;

    /** What it understands. */
    public sealed interface Command extends CrossesNodes {}

    /** Defines a topic that is not there yet; the same definition again is no error. */
    public record Create(Definition definition, ActorRef<Answer> replyTo) implements Command {}

    /** Gives a topic another limit; what is absent stays as it is. */
    public record Change(
            Long rateMicros, Long burstMicros, Integer floorPermille, Sharing sharing, ActorRef<Answer> replyTo)
            implements Command {}

    public record Get(ActorRef<Answer> replyTo) implements Command {}

    private record Retry() implements Command {}

    private record Inserted(long version, boolean done, String problem) implements Command {}

    /**
     * How a topic is limited.
     *
     * @param floorPermille φ in thousandths
     */
    public record Definition(long rateMicros, long burstMicros, int floorPermille, Sharing sharing)
            implements CrossesNodes {
        Share limit() {
            return new Share(rateMicros, burstMicros);
        }
    }

    /**
     * What became of a command.
     *
     * @param version 0 if there is no such topic
     * @param pending whether the version waits for the one before it
     * @param problem why it was refused, or null
     */
    public record Answer(Definition definition, long version, boolean pending, String problem)
            implements CrossesNodes {}

    /** What happened. */
    public sealed interface Event extends CrossesNodes {}

    /** Version {@code version} of the limit was decided. */
    public record Defined(long version, Definition definition) implements Event {}

    /** The definition so far. */
    public record State(long version, Definition definition) implements CrossesNodes {}

    private final ActorContext<Command> context;
    private final TimerScheduler<Command> timers;
    private final TopicName name;
    private final SupplyStore store;
    private final Executor storeExecutor;
    private final Supplier<Holder> minter;
    private final Runnable inserted;
    private final List<ActorRef<Answer>> waiting = new ArrayList<>();
    private boolean pending;
    private boolean inserting;

    /**
     * @param minter who mints what is created here: the holder of this broker
     * @param inserted told when a row is new, so that this broker looks at once
     */
    public static Behavior<Command> create(
            TopicName name, SupplyStore store, Executor storeExecutor, Supplier<Holder> minter, Runnable inserted) {
        return Behaviors.setup(context -> Behaviors.withTimers(
                timers -> new Topic(context, timers, name, store, storeExecutor, minter, inserted)));
    }

    private Topic(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            TopicName name,
            SupplyStore store,
            Executor storeExecutor,
            Supplier<Holder> minter,
            Runnable inserted) {
        super(PersistenceId.of(KEY.name(), name.value()));
        this.context = context;
        // Found by itself it would be that of the timers around this behaviour.
        context.setLoggerName(Topic.class);
        this.timers = timers;
        this.name = name;
        this.store = store;
        this.storeExecutor = storeExecutor;
        this.minter = minter;
        this.inserted = inserted;
    }

    @Override
    public State emptyState() {
        return new State(0, null);
    }

    @Override
    public EventHandler<State, Event> eventHandler() {
        return newEventHandlerBuilder()
                .forAnyState()
                .onEvent(Defined.class, (state, event) -> new State(event.version, event.definition))
                .build();
    }

    /** A former life may have died between the event and the row. */
    @Override
    public SignalHandler<State> signalHandler() {
        return newSignalHandlerBuilder()
                .onSignal(RecoveryCompleted.instance(), state -> {
                    pending = state.version > 0;
                    if (pending) {
                        context.getSelf().tell(new Retry());
                    }
                })
                .build();
    }

    @Override
    public CommandHandler<Command, Event, State> commandHandler() {
        return newCommandHandlerBuilder()
                .forAnyState()
                .onCommand(Create.class, this::onCreate)
                .onCommand(Change.class, this::onChange)
                .onCommand(Get.class, this::onGet)
                .onCommand(Retry.class, (state, retry) -> onRetry(state))
                .onCommand(Inserted.class, this::onInserted)
                .build();
    }

    private Effect<Event, State> onCreate(State state, Create command) {
        if (state.version > 0 && !state.definition.equals(command.definition)) {
            return refuse(state, command.replyTo, "there is a topic " + name + " already, with another definition");
        }
        return state.version > 0 ? answer(state, command.replyTo) : define(state, command.definition, command.replyTo);
    }

    private Effect<Event, State> onChange(State state, Change command) {
        if (state.version == 0) {
            return refuse(state, command.replyTo, "there is no topic " + name);
        }
        Definition now = state.definition;
        Definition wanted = new Definition(
                command.rateMicros == null ? now.rateMicros : command.rateMicros,
                command.burstMicros == null ? now.burstMicros : command.burstMicros,
                command.floorPermille == null ? now.floorPermille : command.floorPermille,
                command.sharing == null ? now.sharing : command.sharing);
        if (wanted.equals(now)) {
            return answer(state, command.replyTo);
        }
        if (pending) {
            return refuse(
                    state,
                    command.replyTo,
                    "the change to version " + state.version + " of " + name + " has not begun yet: try again later");
        }
        return define(state, wanted, command.replyTo);
    }

    private Effect<Event, State> define(State state, Definition definition, ActorRef<Answer> replyTo) {
        if (waiting.size() == MOST_WAITING) {
            return refuse(state, replyTo, "too many changes of " + name + " wait already");
        }
        return Effect().persist(new Defined(state.version + 1, definition)).thenRun(now -> {
            pending = true;
            waiting.add(replyTo);
            insert(now);
        });
    }

    private Effect<Event, State> refuse(State state, ActorRef<Answer> replyTo, String problem) {
        replyTo.tell(new Answer(state.definition, state.version, pending, problem));
        return Effect().none();
    }

    private Effect<Event, State> answer(State state, ActorRef<Answer> replyTo) {
        if (pending && waiting.size() < MOST_WAITING) {
            waiting.add(replyTo);
            insert(state);
        } else {
            replyTo.tell(new Answer(state.definition, state.version, pending, null));
        }
        return Effect().none();
    }

    private Effect<Event, State> onGet(State state, Get command) {
        command.replyTo.tell(new Answer(state.definition, state.version, pending, null));
        return Effect().none();
    }

    private Effect<Event, State> onRetry(State state) {
        if (pending) {
            insert(state);
        }
        return Effect().none();
    }

    private void insert(State state) {
        if (inserting) {
            return;
        }
        inserting = true;
        LimitRow row = new LimitRow(
                name,
                state.version,
                state.definition.limit(),
                state.definition.floorPermille,
                state.definition.sharing,
                Optional.of(minter.get()),
                false);
        context.pipeToSelf(
                CompletableFuture.supplyAsync(() -> store.insert(row), storeExecutor),
                (done, failure) -> new Inserted(
                        state.version, failure == null && done, failure == null ? null : failure.getMessage()));
    }

    private Effect<Event, State> onInserted(State state, Inserted answer) {
        inserting = false;
        if (answer.done) {
            pending = answer.version != state.version;
            inserted.run();
        } else {
            if (answer.problem != null) {
                context.getLog()
                        .warn("{} could not put version {} into the store: {}", name, answer.version, answer.problem);
            }
            timers.startSingleTimer(new Retry(), RETRY);
        }
        // Whoever waits is told how far it is, rather than left without an answer.
        waiting.forEach(replyTo -> replyTo.tell(new Answer(state.definition, state.version, pending, null)));
        waiting.clear();
        return Effect().none();
    }
}
