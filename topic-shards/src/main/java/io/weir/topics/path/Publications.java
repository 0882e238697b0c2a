package io.weir.topics.path;

import io.weir.topics.algorithm.MessageStore;
import io.weir.transport.gateway.Publisher;
import java.util.ArrayDeque;

/** The publications of a message path, used again and again, and the one way in which each ends. */
final class Publications {
    private static final int KEPT = 16_384;
    /** The array of a larger batch is not kept. */
    private static final int KEPT_BATCH = 1024;

    private final MessageStore store;
    private final ArrayDeque<Publication> spare = new ArrayDeque<>();

    Publications(MessageStore store) {
        this.store = store;
    }

    /** @param capacity of messages */
    Publication begin(Publisher publisher, long ticket, long arrivalNs, int capacity) {
        Publication publication = spare.pollFirst();
        if (publication == null) {
            publication = new Publication();
        }
        publication.begin(publisher, ticket, arrivalNs, capacity);
        return publication;
    }

    /**
     * Drops the messages that have not passed, and gives the publisher its outcome last: it may publish again from
     * within that call.
     *
     * @param retryAfterNs for {@link Publication.Outcome#THROTTLED}
     * @param reason for the outcomes that have one
     */
    void end(Publication publication, Publication.Outcome outcome, long retryAfterNs, String reason) {
        Publisher publisher = publication.publisher;
        long ticket = publication.ticket;
        while (publication.left() > 0) {
            store.release(publication.messages[publication.next++]);
        }
        recycle(publication);
        switch (outcome) {
            case ACCEPTED -> publisher.accepted(ticket);
            case THROTTLED -> publisher.throttled(ticket, retryAfterNs);
            case HELD_UP -> publisher.heldUpTooLong(ticket, reason);
            case UNKNOWN_TOPIC -> publisher.unknownTopic(ticket, reason);
            case FAILED -> publisher.failed(ticket, reason);
            default -> throw new IllegalArgumentException("no publication ends with " + outcome);
        }
    }

    private void recycle(Publication publication) {
        publication.publisher = null;
        if (publication.messages.length <= KEPT_BATCH && spare.size() < KEPT) {
            spare.addFirst(publication);
        }
    }
}
