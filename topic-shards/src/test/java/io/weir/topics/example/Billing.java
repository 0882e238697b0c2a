package io.weir.topics.example;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.receptionist.Receptionist;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.weir.transport.api.BrokerCommand;
import io.weir.transport.api.BrokerCommand.Publish;
import io.weir.transport.api.BrokerCommand.Subscribe;
import io.weir.transport.api.ConsumerEvent;
import io.weir.transport.api.ConsumerEvent.Delivery;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.api.PublishOutcome.Accepted;
import io.weir.transport.api.PublishOutcome.Refused;
import io.weir.transport.api.SubscriptionCommand;
import io.weir.transport.api.SubscriptionCommand.Finish;
import io.weir.transport.api.SubscriptionCommand.Requeue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Publishes an invoice for every order. Finishes an order if its invoice is accepted; if not, it comes again. */
public final class Billing extends AbstractBehavior<Billing.Command> {
    /** What it understands. */
    public sealed interface Command {}

    private record Brokers(Receptionist.Listing listing) implements Command {}

    private record Told(ConsumerEvent event) implements Command {}

    private record Invoiced(Delivery order, PublishOutcome outcome) implements Command {}

    private ActorRef<BrokerCommand> broker;

    public static Behavior<Command> create() {
        return Behaviors.setup(Billing::new);
    }

    /** @param seed host:port of any broker's cluster port */
    public static ActorSystem<Command> start(String seed) {
        Config own = ConfigFactory.parseString("akka.remote.artery.canonical { hostname = 127.0.0.1, port = 0 }\n"
                + "akka.cluster.seed-nodes = [\"akka://weir@" + seed + "\"]");
        Config config = own.withFallback(ConfigFactory.parseResources("weir-application.conf"))
                .withFallback(ConfigFactory.load());
        return ActorSystem.create(create(), "weir", config);
    }

    private Billing(ActorContext<Command> context) {
        super(context);
        ActorRef<Receptionist.Listing> listings = context.messageAdapter(Receptionist.Listing.class, Brokers::new);
        context.getSystem().receptionist().tell(Receptionist.subscribe(BrokerCommand.KEY, listings));
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Brokers.class, this::onBrokers)
                .onMessage(Told.class, this::onTold)
                .onMessage(Invoiced.class, this::onInvoiced)
                .build();
    }

    /** Stays with its broker as long as that is there. */
    private Behavior<Command> onBrokers(Brokers brokers) {
        var all = brokers.listing.getServiceInstances(BrokerCommand.KEY);
        if (!all.contains(broker)) {
            broker = all.stream().findAny().orElse(null);
            if (broker != null) {
                ActorRef<ConsumerEvent> consumer = getContext().messageAdapter(ConsumerEvent.class, Told::new);
                broker.tell(new Subscribe("orders", "billing", 100, Duration.ofSeconds(60), consumer));
            }
        }
        return this;
    }

    private Behavior<Command> onTold(Told told) {
        if (told.event instanceof Delivery order) {
            String invoice = "invoice for " + new String(order.body(), StandardCharsets.UTF_8);
            getContext()
                    .ask(
                            PublishOutcome.class,
                            broker,
                            Duration.ofSeconds(35),
                            replyTo -> new Publish(
                                    "invoices", invoice.getBytes(StandardCharsets.UTF_8), order.context(), replyTo),
                            (outcome, failure) -> new Invoiced(
                                    order, failure == null ? outcome : new PublishOutcome.Failed("no answer")));
        }
        return this;
    }

    private Behavior<Command> onInvoiced(Invoiced invoiced) {
        Delivery order = invoiced.order;
        SubscriptionCommand answer = new Requeue(order.id(), Duration.ofSeconds(1));
        if (invoiced.outcome instanceof Accepted) {
            answer = new Finish(order.id());
        } else if (invoiced.outcome instanceof Refused refused) {
            answer = new Requeue(order.id(), refused.retryAfter().orElse(Duration.ofSeconds(1)));
        }
        order.subscription().tell(answer);
        return this;
    }
}
