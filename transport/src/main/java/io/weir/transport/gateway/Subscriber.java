package io.weir.transport.gateway;

import java.nio.ByteBuffer;

/**
 * Whoever consumes: a client, or another broker on behalf of one. It must not call its {@link Subscription} during the
 * calls here: the channel is in the midst of its work.
 */
public interface Subscriber {
    /**
     * Takes a message, or has no room and takes nothing; then it says when it has, by {@link Subscription#writable}.
     *
     * @param body valid during the call, positions untouched
     */
    boolean deliver(long timestampNs, int attempts, long id, ByteBuffer body, int bodyAt, int bodyLength);

    /**
     * As the other, for a message with a context, which stands in the same buffer; whoever has no use for it gets the
     * body alone.
     */
    default boolean deliver(
            long timestampNs,
            int attempts,
            long id,
            ByteBuffer in,
            int contextAt,
            int contextLength,
            int bodyAt,
            int bodyLength) {
        return deliver(timestampNs, attempts, id, in, bodyAt, bodyLength);
    }

    /** The rights that its client showed a secret for, or null: they have a quota of topics. */
    default AccessRights.Grant grant() {
        return null;
    }

    /** The channel is gone, and the subscription with it. */
    void gone(String reason);
}
