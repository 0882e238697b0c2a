package io.weir.topics.path;

import io.weir.transport.gateway.Publisher;

/** One or several messages with one outcome, waiting for tokens or room. Used again and again. */
public final class Publication {
    Publisher publisher;
    long ticket;
    long arrivedNs;
    int[] messages = new int[1];
    int count;
    /** The first that has not passed yet. */
    int next;

    Publication() {}

    int left() {
        return count - next;
    }

    void begin(Publisher newPublisher, long newTicket, long nowNs, int capacity) {
        publisher = newPublisher;
        ticket = newTicket;
        arrivedNs = nowNs;
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
