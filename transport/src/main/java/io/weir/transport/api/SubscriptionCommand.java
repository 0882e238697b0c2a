package io.weir.transport.api;

import io.weir.config.CrossesNodes;
import java.time.Duration;

/** What a consumer tells its subscription. */
public sealed interface SubscriptionCommand extends CrossesNodes {
    /** The message is dealt with. */
    record Finish(long id) implements SubscriptionCommand {}

    /** The message goes back to the channel, and to whoever is next after the delay. */
    record Requeue(long id, Duration delay) implements SubscriptionCommand {}

    /** The consumer still works on the message: its time-out begins anew. */
    record Touch(long id) implements SubscriptionCommand {}

    /** So many messages may be unacknowledged at a time; 0 pauses. */
    record Credit(int messages) implements SubscriptionCommand {}

    /** The consumer wants no more; what it holds goes to others. */
    record Unsubscribe() implements SubscriptionCommand {}
}
