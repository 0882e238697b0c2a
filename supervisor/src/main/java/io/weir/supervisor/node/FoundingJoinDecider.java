package io.weir.supervisor.node;

import akka.actor.ActorSystem;
import akka.actor.setup.Setup;
import akka.management.cluster.bootstrap.ClusterBootstrapSettings;
import akka.management.cluster.bootstrap.JoinDecision;
import akka.management.cluster.bootstrap.JoinSelf$;
import akka.management.cluster.bootstrap.KeepProbing$;
import akka.management.cluster.bootstrap.LowestAddressJoinDecider;
import akka.management.cluster.bootstrap.SeedNodesInformation;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import scala.concurrent.Future;
import scala.jdk.javaapi.FutureConverters;

/** Akka's bootstrap with one more condition: who would found a cluster must win the claim to it ({@link Founding}). */
public final class FoundingJoinDecider extends LowestAddressJoinDecider {
    /** How a {@link Founding} reaches the decider, which Akka makes from its class name. */
    static final class With extends Setup {
        private final Founding founding;

        With(Founding founding) {
            this.founding = founding;
        }
    }

    private final Founding founding;

    public FoundingJoinDecider(ActorSystem system, ClusterBootstrapSettings settings) {
        super(system, settings);
        this.founding = system.settings().setup().get(With.class).orElseThrow().founding;
    }

    @Override
    public Future<JoinDecision> decide(SeedNodesInformation info) {
        CompletionStage<JoinDecision> decision = FutureConverters.asJava(super.decide(info))
                .thenCompose(found -> found == JoinSelf$.MODULE$
                        // The store blocks: not on an actor's thread.
                        ? CompletableFuture.supplyAsync(() -> founding.mayFound(System.nanoTime())
                                ? JoinSelf$.MODULE$
                                : (JoinDecision) KeepProbing$.MODULE$)
                        : CompletableFuture.completedFuture(found));
        return FutureConverters.asScala(decision);
    }
}
