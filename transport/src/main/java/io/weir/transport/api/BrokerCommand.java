package io.weir.transport.api;

import akka.actor.typed.ActorRef;
import akka.actor.typed.receptionist.ServiceKey;
import io.weir.config.CrossesNodes;
import java.time.Duration;
import java.util.List;

/**
 * What an application's actors tell a broker. Every command is answered once by its {@code replyTo} or its consumer.
 */
public sealed interface BrokerCommand extends CrossesNodes {
    /** Every broker of the cluster is registered with the receptionist under this key. */
    ServiceKey<BrokerCommand> KEY = ServiceKey.create(BrokerCommand.class, "weir-broker");

    /**
     * Publishes a message. A topic that shapes answers when the message's turn has come, so an ask should wait at least
     * as long as the topic's longest delay. An application that tells instead of asking stays within what
     * {@link PublishOutcome.Failed} tells of.
     *
     * <p>With placement, a publisher that said who it is has a home broker that may change; who wants its messages in
     * order across that waits for each outcome.
     *
     * @param body not to be changed afterwards
     * @param publisher {@link PublisherIdentity#NONE}, or null, for nobody in particular
     */
    record Publish(
            String topic,
            byte[] body,
            MessageContext context,
            PublisherIdentity publisher,
            ActorRef<PublishOutcome> replyTo)
            implements BrokerCommand {
        public Publish(String topic, byte[] body, MessageContext context, ActorRef<PublishOutcome> replyTo) {
            this(topic, body, context, PublisherIdentity.NONE, replyTo);
        }
    }

    /** Publishes several messages with one outcome; each of them gets the context. */
    record PublishBatch(
            String topic,
            List<byte[]> bodies,
            MessageContext context,
            PublisherIdentity publisher,
            ActorRef<PublishOutcome> replyTo)
            implements BrokerCommand {
        public PublishBatch(
                String topic, List<byte[]> bodies, MessageContext context, ActorRef<PublishOutcome> replyTo) {
            this(topic, bodies, context, PublisherIdentity.NONE, replyTo);
        }
    }

    /**
     * Makes an actor a consumer of a channel, which comes to be by that. The actor is watched: when it or its node is
     * gone, what it held goes to others.
     *
     * @param credit the most messages that the consumer holds unacknowledged; may be changed by
     *     {@link SubscriptionCommand.Credit}
     * @param messageTimeout how long it may hold one before it goes to another
     */
    record Subscribe(
            String topic, String channel, int credit, Duration messageTimeout, ActorRef<ConsumerEvent> consumer)
            implements BrokerCommand {}
}
