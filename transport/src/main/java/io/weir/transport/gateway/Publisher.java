package io.weir.transport.gateway;

import io.weir.config.value.BrokerId;
import java.nio.ByteBuffer;

/**
 * Whoever published: a client, or another broker. It is told the outcome of each publication once. It must not publish
 * during that call, because the topic is in the midst of its work.
 */
public interface Publisher {
    /** The {@link #id} of one that is nobody in particular, such as a request over HTTP. */
    long NOBODY = 0;

    /**
     * Who it is, for placement: the same for as long as it publishes, at whichever broker. The home of {@link #NOBODY}
     * is the broker where it came in.
     */
    default long id() {
        return NOBODY;
    }

    /** The {@link #id} of whoever goes by this name, or {@link #NOBODY} without one: FNV-1a of it, mixed. */
    static long idOf(String name) {
        if (name.isEmpty()) {
            return NOBODY;
        }
        long hash = 0xcbf29ce484222325L;
        for (int i = 0; i < name.length(); i++) {
            hash = (hash ^ name.charAt(i)) * 0x100000001b3L;
        }
        hash = (hash ^ hash >>> 32) * 0xbf58476d1ce4e5b9L;
        return hash == NOBODY ? 1 : hash;
    }

    /** Whether its {@link #id} is of a name that it gave itself, so that it is the same at every broker. */
    default boolean named() {
        return false;
    }

    /** Which publishers' bursts come together with its own; empty if it did not say. */
    default String group() {
        return "";
    }

    /** The rights that its client showed a secret for, or null: a broker's memory is shared by these, too. */
    default AccessRights.Grant grant() {
        return null;
    }

    /** Messages a second that it is going to publish; 0 if it did not say. */
    default double expectedRate() {
        return 0;
    }

    /**
     * It is on its way to its home; the outcome follows. What is published until then {@link PublishRequest#follows}
     * it, and need not wait.
     */
    default void forwarded(long ticket, BrokerId home) {}

    /** Every message of the publication has its token and its place with the channels. */
    void accepted(long ticket);

    /** The topic is over its limit and does not let publishers wait; nothing was published. */
    void throttled(long ticket, long retryAfterNs);

    /** It cannot be done. Of a batch that waited too long, the first messages may have been published. */
    void failed(long ticket, String reason);

    /** The way to its home broke before the outcome came: it may have been published. */
    default void mayHavePassed(long ticket, String reason) {
        failed(ticket, reason);
    }

    /** Refused, nothing was published: the waiting line is full, or the message exceeded its maximum delay. */
    default void heldUpTooLong(long ticket, String reason) {
        failed(ticket, reason);
    }

    /**
     * Told with every publication, before its outcome, by a broker that has links: where this publisher's messages of
     * that topic pass the limit.
     *
     * @param in holds the topic's name at {@code topicAt}, during the call
     * @param home null for this broker
     */
    default void belongsTo(BrokerId home, ByteBuffer in, int topicAt, int topicLength) {}

    /** It cannot be done, because there is no such topic. */
    default void unknownTopic(long ticket, String reason) {
        failed(ticket, reason);
    }
}
