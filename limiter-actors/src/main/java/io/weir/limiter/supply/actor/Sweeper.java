package io.weir.limiter.supply.actor;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.Behaviors;
import java.time.Duration;

/**
 * A cluster singleton that makes the broker it runs on take care of what nobody else finished: victims without an heir,
 * versions of a limit whose minter died. It decides nothing itself, so two of it do no harm.
 */
public final class Sweeper {
    private enum Due {
        DUE
    }

    private Sweeper() {}

    /** @param local the coordinator of the broker that it runs on */
    public static Behavior<?> create(ActorRef<SupplyCoordinator.Command> local, SupplyCoordinator.Dependencies with) {
        Duration interval = Duration.ofNanos(with.times().sweepNs());
        return Behaviors.<Due>withTimers(timers -> {
            timers.startTimerWithFixedDelay(Due.DUE, interval);
            return Behaviors.receive(Due.class)
                    .onMessage(Due.class, due -> {
                        local.tell(new SupplyCoordinator.Sweep());
                        return Behaviors.same();
                    })
                    .build();
        });
    }
}
