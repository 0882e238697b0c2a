package io.weir.supervisor.node;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorRefResolver;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import io.weir.config.CrossesNodes;
import io.weir.config.value.BrokerId;
import java.time.Duration;
import java.util.Map;

/**
 * Exchanges the public keys of links that leave the host, over the brokers' control connections: those prove by TLS
 * that a broker sent them. A broker that lacks a member's key sends its own and asks for that one's, until it has it.
 * Where no link leaves the host, nobody lacks a key and nothing is sent.
 */
final class LinkKeyExchange extends AbstractBehavior<LinkKeyExchange.Command> {
    static final String NAME = "link-keys";
    private static final Duration RETRY = Duration.ofSeconds(1);

    /** What it understands. */
    sealed interface Command {}

    /** The members of the cluster, as {@code host:port}. */
    record Members(Map<BrokerId, String> addresses) implements Command {}

    /**
     * The key of one life of a broker's links.
     *
     * @param asks whether it wants this broker's key in return
     */
    record Key(BrokerId from, long incarnation, byte[] publicKey, boolean asks) implements Command, CrossesNodes {}

    private record Due() implements Command {}

    private final BrokerId here;
    private final BrokerLinks links;
    private Map<BrokerId, String> addresses = Map.of();

    static Behavior<Command> create(BrokerId here, BrokerLinks links) {
        return Behaviors.withTimers(timers -> {
            timers.startTimerWithFixedDelay(new Due(), RETRY);
            return Behaviors.setup(context -> new LinkKeyExchange(context, here, links));
        });
    }

    private LinkKeyExchange(ActorContext<Command> context, BrokerId here, BrokerLinks links) {
        super(context);
        context.setLoggerName(LinkKeyExchange.class);
        this.here = here;
        this.links = links;
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Members.class, this::onMembers)
                .onMessage(Due.class, due -> askForMissing())
                .onMessage(Key.class, this::onKey)
                .build();
    }

    private Behavior<Command> onMembers(Members members) {
        addresses = members.addresses;
        return askForMissing();
    }

    private Behavior<Command> askForMissing() {
        for (BrokerId peer : addresses.keySet()) {
            if (!peer.equals(here) && links.links().lacksKeyOf(peer)) {
                tell(peer, true);
            }
        }
        return this;
    }

    private Behavior<Command> onKey(Key key) {
        if (!addresses.containsKey(key.from)) {
            return this; // it asks again when both know each other as members
        }
        try {
            links.links().agree(key.from, key.incarnation, key.publicKey);
            getContext().getLog().debug("key of {}#{} for links is known", key.from, key.incarnation);
        } catch (IllegalArgumentException e) {
            getContext().getLog().warn("link to {} stays down: {}", key.from, e.getMessage());
        }
        if (key.asks) {
            tell(key.from, false);
        }
        return this;
    }

    private void tell(BrokerId peer, boolean asks) {
        String path = "akka://" + getContext().getSystem().name() + "@" + addresses.get(peer)
                + getContext().getSelf().path().toStringWithoutAddress();
        ActorRef<Command> there = ActorRefResolver.get(getContext().getSystem()).resolveActorRef(path);
        there.tell(new Key(here, links.incarnation(), links.links().publicKey(), asks));
    }
}
