package io.weir.topics.federation;

import io.weir.transport.gateway.Publisher;

/** The publications that were sent to one home broker and have no outcome yet. */
final class Forwards {
    static final int MOST = 4096;
    static final long FULL = -1;

    private static final int SLOT_BITS = 12;

    private final Publisher[] publishers = new Publisher[MOST];
    private final long[] tickets = new long[MOST];
    private final long[] names = new long[MOST];
    private final int[] free = new int[MOST];
    private int freeCount = MOST;

    Forwards() {
        for (int i = 0; i < MOST; i++) {
            free[i] = MOST - 1 - i;
        }
    }

    /**
     * The name under which its outcome will come, or {@link #FULL}. No two have the same, whichever links they go by.
     */
    long add(Publisher publisher, long ticket, long number) {
        if (freeCount == 0) {
            return FULL;
        }
        int slot = free[--freeCount];
        publishers[slot] = publisher;
        tickets[slot] = ticket;
        names[slot] = number << SLOT_BITS & Long.MAX_VALUE | slot;
        return names[slot];
    }

    boolean has(long name) {
        int slot = slot(name);
        return publishers[slot] != null && names[slot] == name;
    }

    long ticket(long name) {
        return tickets[slot(name)];
    }

    /** Whose it was. */
    Publisher remove(long name) {
        int slot = slot(name);
        Publisher publisher = publishers[slot];
        publishers[slot] = null;
        free[freeCount++] = slot;
        return publisher;
    }

    /** Answers how many there were. */
    int failAll(String reason) {
        int failed = 0;
        for (int slot = 0; slot < MOST; slot++) {
            if (publishers[slot] != null) {
                long ticket = tickets[slot];
                remove(names[slot]).mayHavePassed(ticket, reason);
                failed++;
            }
        }
        return failed;
    }

    private static int slot(long name) {
        return (int) name & MOST - 1;
    }
}
