package io.weir.limiter.supply.actor;

import akka.actor.typed.ActorRef;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import io.weir.limiter.supply.protocol.PeerMessage;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Carries this broker's messages (fill ratios, transfers of supply, acknowledgements) to one other broker. What to tell
 * and how much to hand over is decided by the ring edges of the {@link io.weir.limiter.supply.protocol.SupplyNode}.
 */
final class RingNeighbour extends AbstractBehavior<PeerMessage> {
    private final ActorRef<SupplyCoordinator.Command> peer;
    private final AtomicLong sent;

    /** @param sent counts the messages */
    static Behavior<PeerMessage> create(ActorRef<SupplyCoordinator.Command> peer, AtomicLong sent) {
        return Behaviors.setup(context -> new RingNeighbour(context, peer, sent));
    }

    private RingNeighbour(
            ActorContext<PeerMessage> context, ActorRef<SupplyCoordinator.Command> peer, AtomicLong sent) {
        super(context);
        this.peer = peer;
        this.sent = sent;
    }

    @Override
    public Receive<PeerMessage> createReceive() {
        return newReceiveBuilder().onMessage(PeerMessage.class, this::onMessage).build();
    }

    private Behavior<PeerMessage> onMessage(PeerMessage message) {
        sent.incrementAndGet();
        peer.tell(new SupplyCoordinator.Mail(message));
        return this;
    }
}
