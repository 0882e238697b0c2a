package io.weir.transport.client;

import java.time.Duration;
import java.util.Optional;

/** What became of a published message. */
public sealed interface Outcome {
    /** The broker has it: it has passed the topic's limit and is with the channels. */
    record Accepted() implements Outcome {
        static final Accepted INSTANCE = new Accepted();
    }

    /**
     * The topic's limit did not let it pass, and it was not published: it was over the limit of a topic that polices,
     * or was held up for as long as a topic that shapes does, or too many waited there already.
     *
     * @param retryAfter when there will be tokens if nobody else takes them; empty if the broker does not know
     */
    record Refused(Optional<Duration> retryAfter) implements Outcome {}

    /** It was not published, and why. */
    record Failed(String reason) implements Outcome {}

    /**
     * It may have been published, or may not: it was on its way when the connection broke, or no answer came in time.
     */
    record Unknown(String reason) implements Outcome {}

    default boolean accepted() {
        return this instanceof Accepted;
    }
}
