package io.weir.transport.gateway;

import java.util.Arrays;

/**
 * A client's publications that are not answered yet, in the order in which they came. Answers keep that order, outcomes
 * may not: an outcome waits here for those before it.
 */
final class OpenPublications {
    /** At most so many. */
    static final int MOST = 64;

    private Verb[] verbs = new Verb[1];
    private int[] messages = new int[1];
    private String[] errors = new String[1];
    private byte[] outcomes = new byte[1];
    private long first;
    private long next;

    private static final byte OPEN = 0;
    private static final byte ACCEPTED = 1;
    private static final byte REFUSED = 2;
    private static final byte FAILED = 3;

    boolean isEmpty() {
        return first == next;
    }

    boolean isFull() {
        return next - first == MOST;
    }

    /** Answers its ticket. */
    long add(Verb verb, int count) {
        if (next - first == verbs.length) {
            grow();
        }
        int at = at(next);
        verbs[at] = verb;
        messages[at] = count;
        outcomes[at] = OPEN;
        return next++;
    }

    private void grow() {
        Verb[] oldVerbs = verbs;
        int[] oldMessages = messages;
        String[] oldErrors = errors;
        byte[] oldOutcomes = outcomes;
        verbs = Arrays.copyOf(oldVerbs, 2 * oldVerbs.length);
        messages = new int[verbs.length];
        errors = new String[verbs.length];
        outcomes = new byte[verbs.length];
        for (long ticket = first; ticket < next; ticket++) {
            int from = (int) ticket & oldVerbs.length - 1;
            verbs[at(ticket)] = oldVerbs[from];
            messages[at(ticket)] = oldMessages[from];
            errors[at(ticket)] = oldErrors[from];
            outcomes[at(ticket)] = oldOutcomes[from];
        }
    }

    /** Takes the last one back: it was not published after all. */
    void removeLast() {
        next--;
    }

    Verb verb(long ticket) {
        return verbs[at(ticket)];
    }

    int messages(long ticket) {
        return messages[at(ticket)];
    }

    void accepted(long ticket) {
        outcomes[at(ticket)] = ACCEPTED;
    }

    void refused(long ticket, String error) {
        outcomes[at(ticket)] = REFUSED;
        errors[at(ticket)] = error;
    }

    void failed(long ticket, String error) {
        outcomes[at(ticket)] = FAILED;
        errors[at(ticket)] = error;
    }

    /** Whether the oldest can be answered. */
    boolean hasAnswer() {
        return first != next && outcomes[at(first)] != OPEN;
    }

    /** The oldest one's error, or null if it was accepted. */
    String error() {
        return outcomes[at(first)] == ACCEPTED ? null : errors[at(first)];
    }

    /** Whether the oldest one's error ends the connection. */
    boolean isFatal() {
        return outcomes[at(first)] == FAILED;
    }

    void removeFirst() {
        errors[at(first)] = null;
        first++;
    }

    private int at(long ticket) {
        return (int) ticket & verbs.length - 1;
    }
}
