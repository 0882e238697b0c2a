package io.weir.supervisor.placement;

import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.TimerScheduler;
import io.weir.supervisor.placement.Placement.Command;
import io.weir.supervisor.placement.Placement.Dependencies;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * {@link Placement} while nobody is registered, as far as it knows: it does nothing until somebody is. It looks at the
 * store once, since a predecessor may have known better.
 */
final class PlacementAtRest {
    private static final Duration AGAIN = Duration.ofSeconds(1);

    private final ActorContext<Command> context;
    private final TimerScheduler<Command> timers;
    private final Dependencies with;

    static Behavior<Command> create(Dependencies with) {
        return Behaviors.setup(
                context -> Behaviors.withTimers(timers -> new PlacementAtRest(context, timers, with).behavior()));
    }

    private PlacementAtRest(ActorContext<Command> context, TimerScheduler<Command> timers, Dependencies with) {
        this.context = context;
        this.timers = timers;
        this.with = with;
    }

    private Behavior<Command> behavior() {
        // They would outlive the behaviour that started them.
        timers.cancelAll();
        with.counters().update(Placement.distributor(with));
        look();
        return Behaviors.receive(Command.class)
                .onMessage(Placement.LookedAtRest.class, this::onLooked)
                .onMessage(Placement.LookAtRest.class, due -> look())
                .onMessage(Placement.Reported.class, this::onReported)
                .onMessage(Placement.Register.class, this::awakeFor)
                .onMessage(Placement.Unregister.class, this::awakeFor)
                .onMessage(Placement.Show.class, this::onShow)
                .onMessage(Placement.Explain.class, this::onExplain)
                .onMessage(Placement.Plan.class, this::onPlan)
                // What was under way when it came to rest.
                .onAnyMessage(late -> Behaviors.same())
                .build();
    }

    private Behavior<Command> look() {
        context.pipeToSelf(
                CompletableFuture.supplyAsync(() -> anythingToDo(with.decisions()), with.storeThreads()),
                (any, failure) -> new Placement.LookedAtRest(failure == null ? any : null));
        return Behaviors.same();
    }

    static boolean anythingToDo(Decisions decisions) {
        return decisions.registeredTopics(0).stream()
                        .anyMatch(registered -> !registered.topics().isEmpty())
                || decisions.after(0).decisions().stream()
                        .anyMatch(decision -> !decision.parts().isEmpty());
    }

    private Behavior<Command> onLooked(Placement.LookedAtRest looked) {
        if (looked.any() == null) {
            timers.startSingleTimer(new Placement.LookAtRest(), AGAIN);
        }
        return Boolean.TRUE.equals(looked.any()) ? Placement.awake(with) : Behaviors.same();
    }

    /** A broker that has something reports again with everything, when this one is awake. */
    private Behavior<Command> onReported(Placement.Reported reported) {
        Report report = reported.report();
        if (report.topics() != null && !report.topics().isEmpty()) {
            return Placement.awake(with);
        }
        if (report.number() > 0) {
            reported.from().tell(new PlacementAgent.SendAll());
        }
        return Behaviors.same();
    }

    private Behavior<Command> awakeFor(Command command) {
        context.getSelf().tell(command);
        return Placement.awake(with);
    }

    private Behavior<Command> onShow(Placement.Show show) {
        show.replyTo()
                .tell(Placement.distributor(with)
                        .questions()
                        .view(show.after(), 1, with.clock().getAsLong()));
        return Behaviors.same();
    }

    private Behavior<Command> onExplain(Placement.Explain explain) {
        explain.replyTo().tell(new Placement.Explained(Optional.empty()));
        return Behaviors.same();
    }

    private Behavior<Command> onPlan(Placement.Plan plan) {
        plan.replyTo().tell(Placement.distributor(with).questions().plan(plan.what()));
        return Behaviors.same();
    }
}
