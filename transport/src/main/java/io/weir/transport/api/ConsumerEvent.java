package io.weir.transport.api;

import akka.actor.typed.ActorRef;
import io.weir.config.CrossesNodes;

/** What a broker tells a consumer. */
public sealed interface ConsumerEvent extends CrossesNodes {
    /** It is a consumer from now on; comes before the first delivery. */
    record Subscribed(String topic, String channel, ActorRef<SubscriptionCommand> subscription)
            implements ConsumerEvent {}

    /**
     * A message, held by the consumer until it is finished, given back, or timed out.
     *
     * @param id names it in answers to {@code subscription}
     * @param attempts deliveries so far, this one included
     * @param timestampNs when it came to its broker, in nanoseconds since 1970
     * @param context to be passed on with what is published because of it
     */
    record Delivery(
            long id,
            int attempts,
            long timestampNs,
            byte[] body,
            MessageContext context,
            ActorRef<SubscriptionCommand> subscription)
            implements ConsumerEvent {}

    /**
     * An acknowledgement came too late, or was of something else: the consumer does not hold that message (any more).
     */
    record NotHeld(long id) implements ConsumerEvent {}

    /** It is no consumer (any more), and holds nothing. Not sent when it unsubscribed. */
    record Ended(String topic, String channel, String reason) implements ConsumerEvent {}
}
