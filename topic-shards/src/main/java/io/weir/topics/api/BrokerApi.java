package io.weir.topics.api;

import akka.actor.Address;
import akka.actor.typed.Behavior;
import akka.actor.typed.MailboxSelector;
import akka.actor.typed.Props;
import akka.actor.typed.SupervisorStrategy;
import akka.actor.typed.javadsl.AbstractBehavior;
import akka.actor.typed.javadsl.ActorContext;
import akka.actor.typed.javadsl.Behaviors;
import akka.actor.typed.javadsl.Receive;
import akka.actor.typed.receptionist.Receptionist;
import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.topics.path.MessagePath;
import io.weir.transport.api.BrokerCommand;
import io.weir.transport.api.BrokerCommand.Publish;
import io.weir.transport.api.BrokerCommand.PublishBatch;
import io.weir.transport.api.BrokerCommand.Subscribe;
import io.weir.transport.api.ConsumerEvent;
import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.slf4j.event.Level;

/**
 * A broker's way in for actors. Checks each command and hands it to the message path; the outcome goes from there
 * straight to whoever asked, and a consumer gets an {@link ApiSubscription} of its own.
 *
 * <p>Bounds: those of its {@link InProcessPublisher} for publications. What comes faster than this actor can look at it
 * is lost beyond {@value #MAILBOX} messages, and whoever asked gets no answer.
 */
public final class BrokerApi extends AbstractBehavior<BrokerCommand> {
    public static final String NAME = "api";

    private static final int MAILBOX = 16 * 1024;

    private final MessagePath path;
    private final ApiSettings settings;
    private final Predicate<Address> members;
    private final InProcessPublisher intake;

    /**
     * Registers with the receptionist.
     *
     * @param members whether a node is a member of the cluster: others' deaths would go unnoticed, so they do not
     *     consume
     * @param clock the message path's
     */
    public static Behavior<BrokerCommand> create(
            MessagePath path, ApiSettings settings, Predicate<Address> members, LongSupplier clock) {
        Behavior<BrokerCommand> api = Behaviors.setup(context -> {
            context.getSystem().receptionist().tell(Receptionist.register(BrokerCommand.KEY, context.getSelf()));
            return new BrokerApi(context, path, settings, members, clock);
        });
        // A message that lacks what it must have, such as whom to answer, is left aside.
        return Behaviors.supervise(api)
                .onFailure(RuntimeException.class, SupervisorStrategy.resume().withLogLevel(Level.DEBUG));
    }

    /** How it is to be spawned: with a bounded mailbox. */
    public static Props props() {
        return MailboxSelector.bounded(MAILBOX);
    }

    private BrokerApi(
            ActorContext<BrokerCommand> context,
            MessagePath path,
            ApiSettings settings,
            Predicate<Address> members,
            LongSupplier clock) {
        super(context);
        this.path = path;
        this.settings = settings;
        this.members = members;
        this.intake = new InProcessPublisher(path, settings.intake(), clock);
    }

    @Override
    public Receive<BrokerCommand> createReceive() {
        return newReceiveBuilder()
                .onMessage(Publish.class, this::onPublish)
                .onMessage(PublishBatch.class, this::onPublishBatch)
                .onMessage(Subscribe.class, this::onSubscribe)
                .build();
    }

    private Behavior<BrokerCommand> onPublish(Publish publish) {
        intake.publish(
                publish.topic(), publish.context(), publish.publisher(), publish.body(), 0, publish.replyTo()::tell);
        return this;
    }

    private Behavior<BrokerCommand> onPublishBatch(PublishBatch publish) {
        intake.publishBatch(
                publish.topic(), publish.context(), publish.publisher(), publish.bodies(), publish.replyTo()::tell);
        return this;
    }

    private Behavior<BrokerCommand> onSubscribe(Subscribe subscribe) {
        String problem = problemOf(subscribe);
        if (problem == null) {
            getContext().spawnAnonymous(ApiSubscription.create(path, settings, subscribe), props());
        } else {
            subscribe.consumer().tell(new ConsumerEvent.Ended(subscribe.topic(), subscribe.channel(), problem));
        }
        return this;
    }

    private String problemOf(Subscribe subscribe) {
        Address from = subscribe.consumer().path().address();
        if (from.hasGlobalScope() && !members.test(from)) {
            return "the consumer's node " + from + " is not a member of the cluster, so its death would go unnoticed";
        }
        if (getContext().getChildren().size() >= settings.maxSubscriptions()) {
            return "this broker has " + settings.maxSubscriptions() + " consumers already";
        }
        if (subscribe.credit() < 0 || subscribe.credit() > settings.maxCredit()) {
            return "a credit of " + subscribe.credit() + " is not between 0 and " + settings.maxCredit();
        }
        if (subscribe.messageTimeout() == null
                || subscribe.messageTimeout().isNegative()
                || subscribe.messageTimeout().isZero()
                || subscribe.messageTimeout().compareTo(Duration.ofMillis(settings.maxTimeoutMs())) > 0) {
            return "a message time-out of " + subscribe.messageTimeout() + " is not between 0 and "
                    + settings.maxTimeoutMs() + " ms";
        }
        String problem = problemOf(() -> TopicName.of(subscribe.topic()));
        return problem != null ? problem : problemOf(() -> new ChannelName(subscribe.channel()));
    }

    private static String problemOf(Runnable check) {
        try {
            check.run();
            return null;
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
    }
}
