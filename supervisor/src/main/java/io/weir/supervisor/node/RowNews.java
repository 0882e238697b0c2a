package io.weir.supervisor.node;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorRefResolver;
import akka.actor.typed.ActorSystem;
import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.topics.definition.TopicFollower;
import java.util.Map;

/**
 * Tells all brokers that the store has new rows of topics or limits, so that they look at once. Only a hint: if it is
 * lost, they look within a second anyway.
 */
final class RowNews implements Runnable {
    private final ActorSystem<?> system;
    private final ActorRef<SupplyCoordinator.Command> supply;
    private final ActorRef<TopicFollower.Command> follower;
    private final BrokerId here;
    /** Written by {@link Membership}'s thread, read by topics' entities. */
    private volatile Map<BrokerId, String> addresses = Map.of();

    RowNews(
            ActorSystem<?> system,
            ActorRef<SupplyCoordinator.Command> supply,
            ActorRef<TopicFollower.Command> follower,
            BrokerId here) {
        this.system = system;
        this.supply = supply;
        this.follower = follower;
        this.here = here;
    }

    /** @param members as {@code host:port} */
    void members(Map<BrokerId, String> members) {
        addresses = Map.copyOf(members);
    }

    @Override
    public void run() {
        supply.tell(new SupplyCoordinator.LookNow());
        follower.tell(new TopicFollower.LookNow());
        addresses.forEach((broker, address) -> {
            if (!broker.equals(here)) {
                this.<SupplyCoordinator.Command>there(address, supply).tell(new SupplyCoordinator.LookNow());
                this.<TopicFollower.Command>there(address, follower).tell(new TopicFollower.LookNow());
            }
        });
    }

    /** The other broker's actor of the same name. */
    private <C> ActorRef<C> there(String address, ActorRef<C> mine) {
        String path = "akka://" + system.name() + "@" + address + mine.path().toStringWithoutAddress();
        return ActorRefResolver.get(system).resolveActorRef(path);
    }
}
