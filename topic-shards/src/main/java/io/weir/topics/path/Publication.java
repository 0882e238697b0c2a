package io.weir.topics.path;

import io.weir.transport.gateway.Publisher;

/**
 * One or several messages with one outcome, waiting for tokens or room. Used again and again, see {@link Publications}.
 */
final class Publication {
    /** How it ends for its publisher. */
    enum Outcome {
        ACCEPTED,
        /** Refused by a topic that polices. */
        THROTTLED,
        /** Refused by a topic that shapes: it cannot pass within the longest delay, or the line is full. */
        HELD_UP,
        UNKNOWN_TOPIC,
        FAILED
    }

    Publisher publisher;
    long ticket;
    /** When it came to the cluster's first broker: its delay counts from here, whichever broker it passes at. */
    long arrivalNs;
    /** What the longest delay counts from, see {@link TokenLine}. */
    long sinceNs;

    int[] messages = new int[1];
    int count;
    /** The first that has not passed yet. */
    int next;

    int left() {
        return count - next;
    }

    void begin(Publisher newPublisher, long newTicket, long newArrivalNs, int capacity) {
        publisher = newPublisher;
        ticket = newTicket;
        arrivalNs = newArrivalNs;
        sinceNs = newArrivalNs;
        count = 0;
        next = 0;
        if (messages.length < capacity) {
            messages = new int[capacity];
        }
    }

    void add(int message) {
        messages[count++] = message;
    }
}
