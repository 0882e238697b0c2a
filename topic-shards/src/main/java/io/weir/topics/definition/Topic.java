package io.weir.topics.definition;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.PostStop;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.javadsl.TimerScheduler;
import akka.cluster.sharding.typed.javadsl.EntityTypeKey;
import io.weir.config.CrossesNodes;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.value.Holder;
import io.weir.topics.definition.TopicDefinition.ChannelSettings;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.DeliveryChange;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import io.weir.topics.definition.TopicDefinition.LimitVersion;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The one authority on a topic in the cluster: a sharded entity whose state is the topic's row in the store, from where
 * all brokers take it. It decides what comes next; how supply is made and moved is the brokers' business.
 *
 * <pre>
 *   loaded ── a change ──► row and limits written, together with other topics' ({@link TopicWriter})
 *                ├── both are in the store ──► answered, it is in force
 *                ├── a limit's turn has not come: a lowering is still being burned
 *                │        └──► tried again; answered when in force, or as pending after {@link #PATIENCE}
 *                ├── a quota is used up ──► refused, and as it was before
 *                └── the row is another one, or the store did not answer ──► loaded anew; who waited is told to ask again
 *   a change of a limit whose last version is not in the store yet ──► the queue
 *   the version is in the store ──► all queued changes of that limit become the next version, the last one wins
 * </pre>
 *
 * A row is only written over the revision that was read, so of two entities of one topic, which there may be for a
 * moment, one loses and loads anew. What is asked for while one write is under way goes into the next.
 *
 * <p>The {@link ChangeQueue} is in memory and bounded. Whoever leaves it without a version is told to ask again, and
 * nothing of that change is kept.
 */
public final class Topic extends AbstractBehavior<Topic.Command> {
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

    /** One that changes limits: at once, or in its turn. */
    sealed interface OfLimits extends Command {
        ActorRef<Answer> replyTo();
    }

    /** Makes a topic that is not there. The same again is no error; another limit is. */
    public record Create(LimitSettings limit, Delivery delivery, ActorRef<Answer> replyTo) implements OfLimits {}

    /**
     * Makes a topic if it is not there, and whatever is there is fine: somebody publishes or consumes.
     *
     * @param owner the name of that client's token, which has a quota of topics; empty for others
     */
    public record Ensure(LimitSettings limit, Delivery delivery, String owner, ActorRef<Answer> replyTo)
            implements OfLimits {
        public Ensure {
            // A broker of an older version says nothing.
            owner = owner == null ? "" : owner;
        }
    }

    /** Gives a topic another limit; what is null stays as it is. */
    public record ChangeLimit(
            Long rateMicros,
            Long burstMicros,
            Integer floorPermille,
            Sharing sharing,
            Indicator indicator,
            ActorRef<Answer> replyTo)
            implements OfLimits {
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
    public record Delete(ActorRef<Answer> replyTo) implements OfLimits {}

    /** Makes a channel, or changes it. */
    public record SetChannel(String channel, ChannelSettings settings, ActorRef<Answer> replyTo) implements Command {}

    /** A consumer came for a channel: it is made if it is not there. */
    public record EnsureChannel(String channel, ActorRef<Answer> replyTo) implements Command {}

    /** The messages that brokers keep for it are dropped, its limit goes to nothing. */
    public record DeleteChannel(String channel, ActorRef<Answer> replyTo) implements OfLimits {}

    /** Limits what a channel hands out in the whole cluster, made if need be; rate and burst of 0 are no limit. */
    public record LimitChannel(String channel, long rateMicros, long burstMicros, ActorRef<Answer> replyTo)
            implements OfLimits {}

    /**
     * A broker uses it, though nothing about it changes. An ephemeral topic without channels of which that is not said
     * for a while is deleted.
     */
    public record InUse() implements Command {}

    /** Asks for the definition, changes nothing. */
    public record Get(ActorRef<Answer> replyTo) implements Command {}

    /** A broker knows the topic and does not use it: it is loaded, and if it is ephemeral its time runs. */
    public record Wake() implements Command {}

    private record Retry() implements Command {}

    private record Unused() implements Command {}

    /** The store has answered what it knows; {@code problem} is null if it has. */
    private record Loaded(TopicRows.Loaded rows, String problem) implements Command {}

    /** The store has answered what became of {@code change}; {@code problem} is null if it has. */
    private record Written(TopicRows.Change change, TopicWriter.Written written, String problem) implements Command {}

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
        /** A quota of topics is used up; nothing was made. */
        OVER_QUOTA,
        /** Nothing of it was kept, unless the problem says that this is not known; it may work later. */
        ASK_AGAIN
    }

    /**
     * What became of a command.
     *
     * @param definition as it is now
     * @param problem what is in the way, for {@link Outcome#REFUSED}, {@link Outcome#OVER_QUOTA} and
     *     {@link Outcome#ASK_AGAIN}; else null
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

    private final TimerScheduler<Command> timers;
    private final TopicName name;
    private final TopicWriter writer;
    private final Supplier<Holder> minter;
    private final Duration unusedAfter;
    private final Duration patience;
    private final List<Waiter> waiting = new ArrayList<>();
    private final StoredVersions stored = new StoredVersions();
    private final ChangeQueue queue = new ChangeQueue(stored);
    /** What came before the row was loaded. */
    private final ArrayDeque<Command> early = new ArrayDeque<>();

    /** Null until it is loaded. */
    private TopicDefinition now;
    /** As it is in the store; null until it is loaded. */
    private TopicDefinition kept;

    private boolean hasRow;
    private String owner = "";
    private Duration retry = FIRST_RETRY;
    private boolean writing;

    /**
     * @param minter who mints what is created here: the holder of this broker
     * @param unusedAfter how long an ephemeral topic stays that no broker uses; {@link #UNUSED_AFTER}
     * @param patience how long a caller waits; {@link #PATIENCE}
     */
    public static Behavior<Command> create(
            TopicName name, TopicWriter writer, Supplier<Holder> minter, Duration unusedAfter, Duration patience) {
        return Behaviors.setup(context -> Behaviors.withTimers(
                timers -> new Topic(context, timers, name, writer, minter, unusedAfter, patience)));
    }

    private Topic(
            ActorContext<Command> context,
            TimerScheduler<Command> timers,
            TopicName name,
            TopicWriter writer,
            Supplier<Holder> minter,
            Duration unusedAfter,
            Duration patience) {
        super(context);
        // Akka would otherwise derive the logger's name from the withTimers wrapper.
        context.setLoggerName(Topic.class);
        this.timers = timers;
        this.name = name;
        this.writer = writer;
        this.minter = minter;
        this.unusedAfter = unusedAfter;
        this.patience = patience;
        load();
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Loaded.class, this::onLoaded)
                .onMessage(Written.class, this::onWritten)
                .onMessage(Retry.class, due -> onRetry())
                .onMessage(GiveUp.class, this::onGiveUp)
                // Everything else is about what was loaded.
                .onMessage(Command.class, command -> now == null, this::onEarly)
                .onMessage(OfLimits.class, this::onOfLimits)
                .onMessage(ChangeDelivery.class, this::onChangeDelivery)
                .onMessage(Pause.class, this::onPause)
                .onMessage(SetChannel.class, this::onSetChannel)
                .onMessage(EnsureChannel.class, this::onEnsureChannel)
                .onMessage(Get.class, this::onGet)
                .onMessage(InUse.class, used -> used())
                .onMessage(Wake.class, woken -> this)
                .onMessage(Unused.class, due -> onUnused())
                .onMessage(Next.class, due -> onNext())
                .onSignal(PostStop.class, stopped -> onStop())
                .build();
    }

    /** To another broker, or for good. What is kept is finished by the next life; what queues is not kept. */
    private Behavior<Command> onStop() {
        String moving = "the topic " + name + " is being moved to another broker: ";
        waiting.forEach(waiter -> {
            if (isKept(waiter)) {
                reply(waiter.caller, Outcome.PENDING, null);
            } else {
                reply(
                        waiter.caller,
                        Outcome.ASK_AGAIN,
                        moving + "whether this change was kept is not known, ask again");
            }
        });
        waiting.clear();
        queue.removeAll()
                .forEach(queued -> askAgain(queued.replyTo(), moving + "nothing of this change was kept, ask again"));
        return this;
    }

    // ---- the row

    private void load() {
        now = null;
        kept = null;
        getContext()
                .pipeToSelf(
                        writer.load(name),
                        (rows, failure) -> new Loaded(rows, failure == null ? null : failure.getMessage()));
    }

    private Behavior<Command> onLoaded(Loaded loaded) throws Exception {
        if (loaded.problem != null) {
            getContext().getLog().warn("{} can't read its definition from the store: {}", name, loaded.problem);
            retryLater();
            return this;
        }
        retry = FIRST_RETRY;
        hasRow = loaded.rows.definition().isPresent();
        now = loaded.rows.definition().orElseGet(() -> TopicDefinition.none(name, loaded.rows.lastChange()));
        kept = now;
        stored.loaded(now, loaded.rows.versions());
        used();
        if (!stored.has(now)) {
            // A former life has decided a version whose turn had not come.
            write();
        }
        while (!early.isEmpty()) {
            receive(getContext(), early.poll());
        }
        return onNext();
    }

    private Behavior<Command> onEarly(Command command) {
        if (early.size() < MOST_WAITING) {
            early.add(command);
        } else if (command instanceof OfLimits change) {
            askAgain(change.replyTo(), "the store does not answer what " + name + " is like: ask again later");
        }
        return this;
    }

    private Behavior<Command> onRetry() {
        if (now == null) {
            load();
        } else if (!stored.has(now)) {
            write();
        }
        return this;
    }

    private void retryLater() {
        timers.startSingleTimer(new Retry(), retry);
        Duration twice = retry.multipliedBy(2);
        retry = twice.compareTo(LAST_RETRY) < 0 ? twice : LAST_RETRY;
    }

    private void write() {
        if (writing) {
            return;
        }
        writing = true;
        TopicRows.Change change = new TopicRows.Change(kept, now, !hasRow, owner, stored.missing(now, minter));
        getContext()
                .pipeToSelf(
                        writer.write(change),
                        (written, failure) ->
                                new Written(change, written, failure == null ? null : failure.getMessage()));
    }

    private Behavior<Command> onWritten(Written outcome) {
        writing = false;
        if (outcome.problem != null) {
            getContext().getLog().warn("{} could not put its definition into the store: {}", name, outcome.problem);
            startOver("the store did not answer, so whether this change was kept is not known: ask again");
            return this;
        }
        TopicRows.Outcome row = outcome.written.outcome();
        if (row.kind() == TopicRows.Kind.CONFLICT) {
            startOver("the topic " + name
                    + " was changed by another broker at the same time: nothing of this was kept, ask again");
            return this;
        }
        if (row.kind() == TopicRows.Kind.OVER_QUOTA) {
            now = kept;
            answer(List.copyOf(waiting), Outcome.OVER_QUOTA, row.problem());
            queue.removeAll()
                    .forEach(queued -> reply(new Caller(queued.replyTo(), false), Outcome.OVER_QUOTA, row.problem()));
            return this;
        }
        hasRow = true;
        kept = outcome.change.next();
        stored.written(kept.revision(), outcome.written.limits());
        answer(
                waiting.stream()
                        .filter(waiter -> stored.has(waiter.revision, waiter.versions))
                        .toList(),
                Outcome.IN_FORCE,
                null);
        if (stored.has(now)) {
            retry = FIRST_RETRY;
        } else if (now.revision() > kept.revision()) {
            write();
        } else {
            retry = outcome.written.limits().inserted().isEmpty() ? retry : FIRST_RETRY;
            retryLater();
        }
        getContext().getSelf().tell(new Next());
        return this;
    }

    /** Reads the row anew. What is in it is pending for those who wait for it; the others are told to ask again. */
    private void startOver(String problem) {
        List<Waiter> inTheRow = waiting.stream().filter(this::isKept).toList();
        answer(inTheRow, Outcome.PENDING, null);
        answer(List.copyOf(waiting), Outcome.ASK_AGAIN, problem);
        load();
    }

    private boolean isKept(Waiter waiter) {
        return waiter.revision <= stored.revision();
    }

    // ---- changes

    private Behavior<Command> onOfLimits(OfLimits command) {
        if (!queue.mustWait(now, command)) {
            perform(command, Caller.of(command.replyTo()));
        } else if (queue.isFull()) {
            askAgain(command.replyTo(), ChangeQueue.MOST + " changes of " + name + " queue already: ask again later");
        } else {
            giveUpLater(queue.add(now, command, command.replyTo()));
        }
        return this;
    }

    private void perform(Command command, List<Caller> callers) {
        if (command instanceof Create create) {
            onCreate(create, callers);
        } else if (command instanceof Ensure ensure) {
            used();
            create(ensure.limit, ensure.delivery, ensure.owner, callers);
        } else if (command instanceof ChangeLimit change) {
            LimitSettings wanted = change.on(now.limit());
            ifThere(wanted.equals(now.limit()) ? now : now.withLimit(wanted), callers);
        } else if (command instanceof LimitChannel limit) {
            onLimitChannel(limit, callers);
        } else if (command instanceof DeleteChannel deletion) {
            boolean known = now.channels().containsKey(deletion.channel);
            ifThere(known ? now.withoutChannel(deletion.channel) : now, callers);
        } else if (command instanceof Delete) {
            ifThere(now.gone(), callers);
        } else {
            throw new IllegalArgumentException(command + " changes no limit");
        }
    }

    private Behavior<Command> onNext() {
        queue.takeNext(now).ifPresent(this::perform);
        return this;
    }

    private void perform(ChangeQueue.Due due) {
        due.asked().forEach(timers::cancel);
        getContext().getSelf().tell(new Next());
        perform(
                due.command(),
                due.asked().stream()
                        .map(asked -> new Caller(asked.replyTo(), due.supersedes(asked)))
                        .toList());
    }

    private void giveUpLater(Object whom) {
        timers.startSingleTimer(whom, new GiveUp(whom), patience);
    }

    private Behavior<Command> onGiveUp(GiveUp late) {
        if (late.whom instanceof Waiter waiter && waiting.remove(waiter)) {
            boolean inTheRow = isKept(waiter);
            reply(
                    waiter.caller,
                    inTheRow ? Outcome.PENDING : Outcome.ASK_AGAIN,
                    inTheRow
                            ? null
                            : "the store did not answer yet, so whether this change is kept is not known: ask again");
        } else if (late.whom instanceof ChangeQueue.Queued queued && queue.remove(queued)) {
            String why = now == null ? "the store does not answer" : queue.whyWaiting(now, queued);
            askAgain(queued.replyTo(), why + ". Nothing of this change was kept: ask again");
            getContext().getSelf().tell(new Next());
        }
        return this;
    }

    private Behavior<Command> onGet(Get command) {
        reply(new Caller(command.replyTo, false), stored.has(kept) ? Outcome.IN_FORCE : Outcome.PENDING, null);
        return this;
    }

    private void onCreate(Create command, List<Caller> callers) {
        if (now.exists()
                && !(now.limit().equals(command.limit) && now.delivery().equals(command.delivery))) {
            refuse(callers, "there is a topic " + name + " already, with another definition");
        } else {
            create(command.limit, command.delivery, "", callers);
        }
    }

    private void create(LimitSettings limit, Delivery delivery, String byToken, List<Caller> callers) {
        if (!now.exists()) {
            owner = byToken;
        }
        change(now.exists() ? now : now.created(limit, delivery), callers);
    }

    private Behavior<Command> onChangeDelivery(ChangeDelivery command) {
        Delivery wanted = command.change.on(now.delivery());
        return ifThere(now.delivery().equals(wanted) ? now : now.withDelivery(wanted), Caller.of(command.replyTo));
    }

    private Behavior<Command> onPause(Pause command) {
        return ifThere(
                now.paused() == command.paused ? now : now.withPaused(command.paused), Caller.of(command.replyTo));
    }

    private Behavior<Command> onSetChannel(SetChannel command) {
        return setChannel(command.channel, command.settings, command.replyTo);
    }

    private Behavior<Command> onEnsureChannel(EnsureChannel command) {
        ChannelSettings known = now.channels().get(command.channel);
        return setChannel(command.channel, known == null ? new ChannelSettings(false) : known, command.replyTo);
    }

    private Behavior<Command> setChannel(String channel, ChannelSettings settings, ActorRef<Answer> replyTo) {
        if (!now.channels().containsKey(channel) && now.channels().size() >= MOST_CHANNELS) {
            return refuse(Caller.of(replyTo), name + " has " + MOST_CHANNELS + " channels already");
        }
        return ifThere(
                settings.equals(now.channels().get(channel)) ? now : now.withChannel(channel, settings),
                Caller.of(replyTo));
    }

    private void onLimitChannel(LimitChannel command, List<Caller> callers) {
        String channel = command.channel;
        boolean none = command.rateMicros == 0 && command.burstMicros == 0;
        LimitSettings wanted = none ? LimitSettings.NONE : now.limit().ofSize(command.rateMicros, command.burstMicros);
        LimitVersion before = now.channelLimits().get(channel);
        boolean same = before == null ? none : before.limit().equals(wanted);
        if (!now.exists() || same && now.channels().containsKey(channel)) {
            ifThere(now, callers);
        } else if (!now.channels().containsKey(channel)
                && (none || now.channels().size() >= MOST_CHANNELS)) {
            refuse(
                    callers,
                    none ? name + " has no channel " + channel : name + " has " + MOST_CHANNELS + " channels already");
        } else if (before == null && now.channelLimits().size() >= MOST_CHANNELS) {
            refuse(callers, MOST_CHANNELS + " channels of " + name + " have or had a limit already");
        } else {
            change(now.withChannelLimit(channel, wanted), callers);
        }
    }

    private Behavior<Command> ifThere(TopicDefinition next, List<Caller> callers) {
        if (now.exists()) {
            change(next, callers);
        } else {
            refuse(callers, "there is no topic " + name);
        }
        return this;
    }

    private void change(TopicDefinition next, List<Caller> callers) {
        if (next == now && stored.has(now)) {
            callers.forEach(caller -> reply(caller, Outcome.IN_FORCE, null));
            return;
        }
        Map<TopicName, Long> made = next.limitVersions();
        if (next != now) {
            made.entrySet().removeAll(now.limitVersions().entrySet());
        }
        now = next;
        callers.forEach(caller -> await(new Waiter(caller, next.revision(), made)));
        used();
        write();
    }

    /** One too many is answered at once. */
    private void await(Waiter waiter) {
        if (waiting.size() == MOST_WAITING) {
            askAgain(waiter.caller.replyTo, MOST_WAITING + " changes of " + name + " wait for the store: ask again");
        } else {
            waiting.add(waiter);
            giveUpLater(waiter);
        }
    }

    private Behavior<Command> refuse(List<Caller> callers, String problem) {
        callers.forEach(caller -> reply(caller, Outcome.REFUSED, problem));
        return this;
    }

    private void askAgain(ActorRef<Answer> replyTo, String problem) {
        reply(new Caller(replyTo, false), Outcome.ASK_AGAIN, problem);
    }

    private void reply(Caller caller, Outcome outcome, String problem) {
        boolean superseded = outcome == Outcome.IN_FORCE && caller.superseded;
        // What is not in the store yet is nobody's to go by.
        TopicDefinition known = outcome == Outcome.REFUSED ? now : kept;
        caller.replyTo.tell(new Answer(
                known == null ? TopicDefinition.none(name, 0) : known,
                superseded ? Outcome.SUPERSEDED : outcome,
                problem));
    }

    private void answer(List<Waiter> whom, Outcome outcome, String problem) {
        whom.forEach(waiter -> {
            waiting.remove(waiter);
            timers.cancel(waiter);
            reply(waiter.caller, outcome, problem);
        });
    }

    // ---- unused

    private Behavior<Command> used() {
        if (name.ephemeral() && now.exists()) {
            timers.startSingleTimer(new Unused(), unusedAfter);
        }
        return this;
    }

    private Behavior<Command> onUnused() {
        if (!now.exists() || !now.channels().isEmpty() || stored.firstPending(now) != null) {
            return used();
        }
        getContext().getLog().debug("{} is deleted: no broker uses it", name);
        change(now.gone(), List.of());
        return this;
    }
}
