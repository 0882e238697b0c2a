package io.weir.transport.api;

import io.weir.config.CrossesNodes;

/**
 * Who publishes, for placement: what a client on a socket says in IDENTIFY. Whoever says nothing is at home at the
 * broker it publishes at.
 *
 * @param name of the publisher's own making, which no other publisher has; under it, it is the same at every broker.
 *     Empty: nobody in particular
 * @param group publishers of one group send at the same times; empty: it does so with nobody
 * @param rate messages a second that it is going to publish; 0: to be measured
 */
public record PublisherIdentity(String name, String group, double rate) implements CrossesNodes {
    /** Nobody in particular. */
    public static final PublisherIdentity NONE = new PublisherIdentity("", "", 0);

    public static final int MAX_KEY = 64;
    public static final double MAX_RATE = 1e9;

    public PublisherIdentity {
        check("name", name);
        check("group", group);
        if (!(rate >= 0 && rate <= MAX_RATE)) {
            throw new IllegalArgumentException(
                    "a publisher's rate is a number of messages a second from 0 to 1e9, not " + rate);
        }
        if (name.isEmpty() && (!group.isEmpty() || rate > 0)) {
            throw new IllegalArgumentException("a publisher with a group or a rate needs a name");
        }
    }

    private static void check(String what, String key) {
        if (key == null || key.length() > MAX_KEY) {
            throw new IllegalArgumentException("a publisher's " + what + " is a text of at most " + MAX_KEY
                    + " characters, not " + (key == null ? "null" : key.length() + " of them"));
        }
    }
}
