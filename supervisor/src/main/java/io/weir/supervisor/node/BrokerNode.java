package io.weir.supervisor.node;

import akka.Done;
import akka.actor.BootstrapSetup;
import akka.actor.CoordinatedShutdown;
import akka.actor.setup.ActorSystemSetup;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.Behaviors;
import akka.cluster.ClusterEvent.ClusterDomainEvent;
import akka.management.cluster.bootstrap.ClusterBootstrap;
import akka.management.javadsl.AkkaManagement;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigValueFactory;
import io.weir.config.SettingsLoader;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * One life of a broker in the cluster: an actor system with an incarnation of its own. Ends when it is told to leave, or
 * when the split brain resolver takes it down.
 */
final class BrokerNode {
    private final ActorSystem<Void> system;

    private BrokerNode(ActorSystem<Void> system) {
        this.system = system;
    }

    static BrokerNode start(SettingsLoader loaded, long incarnation, Founding founding, Consumer<NodeView> views) {
        String id = loaded.settings().broker().id().value();
        Config config = loaded.akka()
                .withValue("akka.cluster.roles", ConfigValueFactory.fromIterable(Membership.rolesOf(id, incarnation)));
        ActorSystem<Void> system = ActorSystem.create(
                guardian(incarnation, views),
                loaded.settings().cluster().name(),
                ActorSystemSetup.create(BootstrapSetup.create(config), new FoundingJoinDecider.With(founding)));
        try {
            AkkaManagement.get(system).start().toCompletableFuture().join();
        } catch (RuntimeException e) {
            system.terminate();
            system.getWhenTerminated().toCompletableFuture().join();
            throw e;
        }
        ClusterBootstrap.get(system).start();
        return new BrokerNode(system);
    }

    /** Only wires. */
    private static Behavior<Void> guardian(long incarnation, Consumer<NodeView> views) {
        return Behaviors.<ClusterDomainEvent>setup(context -> {
                    context.spawn(Membership.create(incarnation, views), "membership");
                    return Behaviors.empty();
                })
                .unsafeCast();
    }

    CompletionStage<Done> terminated() {
        return system.getWhenTerminated();
    }

    /** Leaves the cluster in good order and ends the actor system; the same whoever asks, and however often. */
    CompletionStage<Done> leave() {
        return CoordinatedShutdown.get(system).runAll(CoordinatedShutdown.jvmExitReason());
    }
}
