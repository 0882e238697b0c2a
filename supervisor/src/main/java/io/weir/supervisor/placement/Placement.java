package io.weir.supervisor.placement;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.SupervisorStrategy;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.javadsl.TimerScheduler;
import io.weir.config.CrossesNodes;
import io.weir.config.WeirSettings.PlacementMode;
import io.weir.config.WeirSettings.PlacementSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.follow.RowFollower;
import io.weir.supervisor.placement.Distributor.Proposal;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.Registration;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * SRTM's Load Distributor, a cluster singleton. It hands what brokers report to the {@link Distributor}, and stores
 * what that proposes; then the brokers' agents look at the store.
 *
 * <p>Where only topics are placed that somebody registered for, it does nothing while nobody did: no timer runs, and
 * nothing is read from the store.
 *
 * <p>Should two of it run for a while, both propose, the store takes one proposal a revision, and whoever comes second
 * adopts it. A successor begins with the stored decisions, and finishes topics that were being measured.
 */
public final class Placement extends AbstractBehavior<Placement.Command> {
    public static final String NAME = "placement";

    private static final Duration WORK_EVERY = Duration.ofMillis(500);
    private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
    private static final long NEWS_EVERY_NS = 10_000_000_000L;
    private static final int STORED_AT_ONCE = 50;
    /** Whoever wants to register beyond so many that wait for the store is to try again. */
    private static final int MOST_REGISTERING = 1_000;
    /** Topics in one answer, which must fit one frame between brokers. */
    private static final int MOST_SHOWN = 100;

    /** What it understands. */
    public sealed interface Command {}

    /** A broker's report. */
    public record Reported(Report report, ActorRef<PlacementAgent.Command> from) implements Command, CrossesNodes {}

    /** How it all is; topics by name after {@code after}. */
    public record Show(String after, int most, ActorRef<PlacementView> replyTo) implements Command, CrossesNodes {}

    /** How one topic is, and why. */
    public record Explain(TopicName topic, ActorRef<Explained> replyTo) implements Command, CrossesNodes {}

    /** Empty if the topic has no publishers, or is not known. */
    public record Explained(Optional<PlacementView.OfTopic> topic) implements CrossesNodes {}

    /** A question that changes nothing. */
    public record Plan(WhatIf what, ActorRef<WhatIf.Plan> replyTo) implements Command, CrossesNodes {}

    /** A publisher says who it is, before it publishes; {@code group} empty: none. Answered when it is stored. */
    public record Register(TopicName topic, long id, double rate, String group, ActorRef<RegisterOutcome> replyTo)
            implements Command, CrossesNodes {}

    /** A publisher counts from now on only while it publishes. Answered when it is stored. */
    public record Unregister(TopicName topic, long id, ActorRef<RegisterOutcome> replyTo)
            implements Command, CrossesNodes {}

    /**
     * What became of it.
     *
     * @param cause null if it is done
     */
    public record RegisterOutcome(RegisterRefusal cause, String text) implements CrossesNodes {
        private static final RegisterOutcome DONE = new RegisterOutcome(null, "");
    }

    /** Why a publisher was not registered, or its registration not taken back. */
    public enum RegisterRefusal {
        UNKNOWN_TOPIC,
        CONTRADICTORY_GROUP,
        IMPOSSIBLE_RATE,
        /** As many are registered as can be. */
        NO_ROOM,
        NOT_REGISTERED,
        /** The store does not answer, or too many wait for it. */
        NOT_YET
    }

    /** A part of what a broker recorded. */
    record Recorded(RecordedTraces.Part part) implements Command, CrossesNodes {}

    private record WorkDue() implements Command {}

    private record LookDue() implements Command {}

    private record Looked(
            Decisions.Changes changes,
            List<Decisions.Capacity> capacities,
            Map<TopicName, Long> objectives,
            Map<TopicName, Policy> policies)
            implements Command {}

    private record RegistrationsUnread() implements Command {}

    private record RegistrationsRead(List<Decisions.Registered> rows) implements Command {}

    /** @param why null if they are */
    private record RegistrationsStored(Registrations.Batch batch, List<ActorRef<RegisterOutcome>> waiting, String why)
            implements Command {}

    private record LookFailed(String why) implements Command {}

    /**
     * What {@link PlacementAtRest} found in the store.
     *
     * @param any whether there is anything to do; null if the store did not answer
     */
    record LookedAtRest(Boolean any) implements Command {}

    record LookAtRest() implements Command {}

    /** What became of a proposal. */
    private record Outcome(TopicName topic, boolean known, Optional<Decision> there) {}

    private record Stored(List<Outcome> outcomes) implements Command {}

    /**
     * What it works with.
     *
     * @param me one name for every life of it
     * @param limits of the topics that there are; asked by the actor's thread, so it must not wait
     * @param news has every broker look at the store
     */
    public record Dependencies(
            PlacementSettings settings,
            String me,
            Function<TopicName, Optional<Limit>> limits,
            Decisions decisions,
            Executor storeThreads,
            PlacementCounters counters,
            Runnable news,
            RandomGenerator random,
            LongSupplier clock,
            LongSupplier wallMs) {}

    private final Dependencies with;
    private final Distributor distributor;
    private final RowFollower<Command, Looked> follower;
    private final Map<BrokerId, ActorRef<PlacementAgent.Command>> agents = new HashMap<>();
    /** One a topic at most. */
    private final Deque<Proposal> toStore = new ArrayDeque<>();
    /** Topics whose last proposal may or may not be in the store. */
    private final List<TopicName> uncertain = new ArrayList<>();

    /** Those whose registrations the next batch has. */
    private List<ActorRef<RegisterOutcome>> registering = new ArrayList<>();

    /** Came before the registrations were read. */
    private final List<Command> early = new ArrayList<>();

    private long newsNs;
    private boolean read;
    private boolean registrationsRead;
    private boolean storing;
    private boolean storingRegistrations;

    public static Behavior<Command> create(Dependencies with) {
        Behavior<Command> placement =
                with.settings.mode() == PlacementMode.REGISTERED ? PlacementAtRest.create(with) : awake(with);
        // A restart loses nothing: brokers report again, and the rest is in the store.
        return Behaviors.supervise(placement).onFailure(RuntimeException.class, SupervisorStrategy.restart());
    }

    static Behavior<Command> awake(Dependencies with) {
        return Behaviors.setup(context -> Behaviors.withTimers(timers -> new Placement(context, timers, with)));
    }

    static Distributor distributor(Dependencies with) {
        return new Distributor(
                Distributor.Settings.of(with.settings, with.me), with.limits, with.random, with.clock.getAsLong());
    }

    private Placement(ActorContext<Command> context, TimerScheduler<Command> timers, Dependencies with) {
        super(context);
        // Akka would otherwise derive the logger's name from the withTimers wrapper.
        context.setLoggerName(Placement.class);
        this.with = with;
        this.distributor = distributor(with);
        this.newsNs = with.clock.getAsLong();
        timers.startTimerWithFixedDelay(new WorkDue(), WORK_EVERY);
        follower = new RowFollower<>(
                context,
                timers,
                with.storeThreads,
                LOOK_EVERY,
                after -> read(with.decisions, after),
                new LookDue(),
                (looked, failure) -> failure == null ? looked : new LookFailed(failure.getMessage()));
        context.getLog().info("placement runs here, by the policy {}", with.settings.policy());
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Reported.class, this::onReported)
                .onMessage(Show.class, this::onShow)
                .onMessage(Explain.class, this::onExplain)
                .onMessage(Plan.class, this::onPlan)
                .onMessage(Recorded.class, this::onRecorded)
                .onMessage(Register.class, this::onRegister)
                .onMessage(Unregister.class, this::onUnregister)
                .onMessage(RegistrationsRead.class, this::onRegistrationsRead)
                .onMessage(RegistrationsUnread.class, unread -> onRegistrationsUnread())
                .onMessage(RegistrationsStored.class, this::onRegistrationsStored)
                .onMessage(WorkDue.class, due -> onWorkDue())
                .onMessage(Stored.class, this::onStored)
                .onMessage(LookDue.class, due -> onLookDue())
                .onMessage(Looked.class, this::onLooked)
                .onMessage(LookFailed.class, this::onLookFailed)
                .build();
    }

    /** Before the stored decisions are read, nobody knows who has a seat already. Brokers report again later. */
    private Behavior<Command> onReported(Reported reported) {
        if (!read) {
            return this;
        }
        Report report = reported.report;
        switch (distributor.report(report, with.clock.getAsLong(), with.wallMs.getAsLong())) {
            case TAKEN -> agents.put(report.broker(), reported.from);
            case GAP -> reported.from.tell(new PlacementAgent.SendAll());
            case ABSURD ->
                getContext().getLog().warn("a report of {} is left aside: {}", report.broker(), report.problem());
        }
        return this;
    }

    private Behavior<Command> onShow(Show show) {
        int most = Math.max(1, Math.min(show.most, MOST_SHOWN));
        show.replyTo.tell(distributor.questions().view(show.after, most, with.clock.getAsLong()));
        return this;
    }

    private Behavior<Command> onExplain(Explain explain) {
        explain.replyTo.tell(new Explained(distributor.questions().explain(explain.topic, with.clock.getAsLong())));
        return this;
    }

    private Behavior<Command> onPlan(Plan plan) {
        plan.replyTo.tell(distributor.questions().plan(plan.what));
        return this;
    }

    private Behavior<Command> onRecorded(Recorded recorded) {
        distributor.recorded(recorded.part);
        return this;
    }

    private Behavior<Command> onRegister(Register register) {
        if (mayRegister(register, register.replyTo)) {
            Registration outcome = distributor.declare(
                    register.topic,
                    register.id,
                    register.rate,
                    register.group,
                    with.clock.getAsLong(),
                    with.wallMs.getAsLong());
            if (outcome instanceof Registration.Refused refused) {
                register.replyTo.tell(new RegisterOutcome(
                        RegisterRefusal.valueOf(refused.cause().name()), refused.text()));
            } else {
                registering.add(register.replyTo);
                storeRegistrations();
            }
        }
        return this;
    }

    private Behavior<Command> onUnregister(Unregister unregister) {
        if (mayRegister(unregister, unregister.replyTo)) {
            if (distributor.withdraw(unregister.topic, unregister.id, with.clock.getAsLong())) {
                registering.add(unregister.replyTo);
                storeRegistrations();
            } else {
                unregister.replyTo.tell(new RegisterOutcome(
                        RegisterRefusal.NOT_REGISTERED,
                        "publisher " + unregister.id + " of topic " + unregister.topic + " is not registered"));
            }
        }
        return this;
    }

    /** Before those in the store are read it waits. */
    private boolean mayRegister(Command command, ActorRef<RegisterOutcome> replyTo) {
        if (registering.size() + early.size() >= MOST_REGISTERING) {
            replyTo.tell(new RegisterOutcome(
                    RegisterRefusal.NOT_YET,
                    MOST_REGISTERING + " registrations wait for the store already: try again"));
            return false;
        }
        if (!registrationsRead) {
            early.add(command);
        }
        return registrationsRead;
    }

    /** One batch after the other: what comes meanwhile goes into the next. */
    private void storeRegistrations() {
        if (storingRegistrations || !registrationsRead) {
            return;
        }
        Registrations.Batch batch = distributor.publishers().registrations().take(with.clock.getAsLong());
        if (batch.isEmpty() && registering.isEmpty()) {
            return;
        }
        storingRegistrations = true;
        List<ActorRef<RegisterOutcome>> waiting = registering;
        registering = new ArrayList<>();
        getContext()
                .pipeToSelf(
                        CompletableFuture.runAsync(
                                () -> with.decisions.register(batch.put(), batch.gone()), with.storeThreads),
                        (done, failure) ->
                                new RegistrationsStored(batch, waiting, failure == null ? null : failure.getMessage()));
    }

    private Behavior<Command> onRegistrationsStored(RegistrationsStored stored) {
        storingRegistrations = false;
        if (stored.why == null) {
            with.news.run();
            stored.waiting.forEach(each -> each.tell(RegisterOutcome.DONE));
            storeRegistrations();
        } else {
            getContext().getLog().warn("registrations of publishers could not be stored yet: {}", stored.why);
            distributor.publishers().registrations().again(stored.batch);
            stored.waiting.forEach(each -> each.tell(new RegisterOutcome(
                    RegisterRefusal.NOT_YET, "the store does not answer, and it may be registered or not: try again")));
        }
        return this;
    }

    /** The next look reads them. */
    private Behavior<Command> onRegistrationsUnread() {
        read = false;
        return this;
    }

    private Behavior<Command> onRegistrationsRead(RegistrationsRead rows) {
        distributor.registered(rows.rows, with.clock.getAsLong());
        registrationsRead = true;
        early.forEach(getContext().getSelf()::tell);
        early.clear();
        return this;
    }

    private Behavior<Command> onWorkDue() {
        if (read && registrationsRead) {
            toStore.addAll(distributor.work(with.clock.getAsLong(), with.wallMs.getAsLong()));
            distributor.toBeAsked().forEach(broker -> tellAgent(broker, new PlacementAgent.SendAll()));
            agents.keySet().retainAll(distributor.publishers().brokers());
            with.counters.update(distributor);
            storeRegistrations();
            store();
            haveAllLookNowAndThen();
            if (mayRest()) {
                getContext().getLog().info("placement rests: no publisher is registered");
                return PlacementAtRest.create(with);
            }
        }
        return this;
    }

    /** A broker that is asleep, and missed that somebody registered elsewhere, hears of it now. */
    private void haveAllLookNowAndThen() {
        long nowNs = with.clock.getAsLong();
        if (with.settings.mode() == PlacementMode.REGISTERED && nowNs - newsNs >= NEWS_EVERY_NS) {
            newsNs = nowNs;
            with.news.run();
        }
    }

    private boolean mayRest() {
        return distributor.idle(with.clock.getAsLong())
                && !storing
                && !storingRegistrations
                && toStore.isEmpty()
                && uncertain.isEmpty()
                && registering.isEmpty();
    }

    private void tellAgent(BrokerId broker, PlacementAgent.Command command) {
        ActorRef<PlacementAgent.Command> agent = agents.get(broker);
        if (agent != null) {
            agent.tell(command);
        }
    }

    private void store() {
        if (storing || toStore.isEmpty() && uncertain.isEmpty()) {
            return;
        }
        storing = true;
        List<Proposal> batch = new ArrayList<>();
        while (!toStore.isEmpty() && batch.size() < STORED_AT_ONCE) {
            batch.add(toStore.poll());
        }
        List<TopicName> again = List.copyOf(uncertain);
        uncertain.clear();
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(() -> put(batch, again), with.storeThreads),
                        (outcomes, failure) -> new Stored(failure == null ? outcomes : unknown(batch, again)));
    }

    private List<Outcome> put(List<Proposal> batch, List<TopicName> again) {
        List<Outcome> outcomes = new ArrayList<>();
        for (TopicName topic : again) {
            outcomes.add(look(topic));
        }
        for (Proposal proposal : batch) {
            Decision decision = proposal.decision();
            try {
                outcomes.add(
                        with.decisions.replace(proposal.expected(), decision)
                                ? new Outcome(decision.topic(), true, Optional.of(decision))
                                : look(decision.topic()));
            } catch (RuntimeException e) {
                // It may be stored all the same: the next look shows.
                outcomes.add(new Outcome(decision.topic(), false, Optional.empty()));
            }
        }
        return outcomes;
    }

    private Outcome look(TopicName topic) {
        try {
            return new Outcome(topic, true, with.decisions.get(topic));
        } catch (RuntimeException e) {
            return new Outcome(topic, false, Optional.empty());
        }
    }

    private static List<Outcome> unknown(List<Proposal> batch, List<TopicName> again) {
        List<Outcome> outcomes = new ArrayList<>();
        batch.forEach(each -> outcomes.add(new Outcome(each.decision().topic(), false, Optional.empty())));
        again.forEach(topic -> outcomes.add(new Outcome(topic, false, Optional.empty())));
        return outcomes;
    }

    private Behavior<Command> onStored(Stored stored) {
        storing = false;
        boolean any = false;
        for (Outcome outcome : stored.outcomes) {
            if (!outcome.known) {
                uncertain.add(outcome.topic);
                continue;
            }
            any = true;
            distributor.settled(outcome.topic, outcome.there, with.clock.getAsLong());
            outcome.there.ifPresent(this::logOutcome);
        }
        if (any) {
            agents.values().forEach(agent -> agent.tell(new PlacementAgent.LookNow()));
        }
        if (uncertain.isEmpty()) {
            store();
        }
        return this;
    }

    /** What an operator, or something that starts brokers, wants to know. */
    private void logOutcome(Decision decision) {
        switch (decision.state()) {
            case FITTED ->
                getContext()
                        .getLog()
                        .info(
                                "topic {} is placed on {} brokers (revision {}, {})",
                                decision.topic(),
                                decision.parts().size(),
                                decision.revision(),
                                decision.trigger());
            case KEPT_BEST ->
                getContext()
                        .getLog()
                        .warn(
                                "topic {} needs more brokers: {} of its messages a second have no place, and the best assignment is kept"
                                        + " (revision {})",
                                decision.topic(),
                                Math.round(decision.unplacedRate()),
                                decision.revision());
            default -> {
                // On its way.
            }
        }
    }

    private static Looked read(Decisions decisions, long after) {
        return new Looked(decisions.after(after), decisions.capacities(), decisions.objectives(), decisions.policies());
    }

    private Behavior<Command> onLookDue() {
        follower.look();
        return this;
    }

    private Behavior<Command> onLooked(Looked looked) {
        distributor.capacities().calibrated(looked.capacities);
        distributor.topics().objectives(looked.objectives);
        distributor.topics().policies(looked.policies);
        looked.changes.decisions().forEach(decision -> distributor.stored(decision, with.clock.getAsLong()));
        if (!read) {
            readRegistrations();
        }
        read = true;
        follower.looked(looked.changes.upTo());
        return this;
    }

    /** Once; from then on only this one writes them. */
    private void readRegistrations() {
        getContext()
                .pipeToSelf(
                        CompletableFuture.supplyAsync(with.decisions::registrations, with.storeThreads),
                        (rows, failure) -> failure == null ? new RegistrationsRead(rows) : new RegistrationsUnread());
    }

    private Behavior<Command> onLookFailed(LookFailed failed) {
        getContext().getLog().debug("placement can't read the store: {}", failed.why);
        follower.failed();
        return this;
    }
}
