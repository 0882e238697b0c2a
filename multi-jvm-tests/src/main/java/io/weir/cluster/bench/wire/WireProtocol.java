package io.weir.cluster.bench.wire;

import java.io.IOException;

/**
 * A protocol that brokers speak, as far as the generator needs it: open a connection, publish messages of one size to
 * one topic, take what comes in. What is called for every message allocates nothing.
 */
public interface WireProtocol {
    /** What connections are opened for. */
    record Subject(
            String topic, String channel, int credit, int bodyBytes, boolean lowLatency, boolean sharedByConsumers) {}

    /**
     * One publish, ready to be written once its bodies are filled in: the first at {@code bodyAt}, the others
     * {@code bodyEvery} bytes apart.
     */
    record Publish(byte[] bytes, int bodyAt, int bodyEvery, int messages) {}

    /** What came in. */
    interface Inbox {
        void acknowledged(BenchConnection from);

        void refused(BenchConnection from, String text);

        /**
         * A message whose body is {@code from.in}'s bytes from {@code at}; {@code again}: the broker says it was
         * delivered before.
         */
        void message(BenchConnection from, int at, int bodyBytes, boolean again);
    }

    String name();

    /** Whether the broker answers each publish. */
    boolean acknowledges();

    /** @param number which of the publishing connections it is, from 0 on */
    void openPublisher(Handshake handshake, Subject subject, int number) throws IOException;

    void openConsumer(Handshake handshake, Subject subject) throws IOException;

    /** The whole publish, ready to be written once the body is filled in. */
    byte[] publish(Subject subject);

    /** Where the body starts in {@link #publish}. */
    int bodyAt(Subject subject);

    /** One publish of so many messages; of a single one where the protocol has no batches. */
    default Publish publish(Subject subject, int messages) {
        return new Publish(publish(subject), bodyAt(subject), 0, 1);
    }

    /** Lets a consumer that was opened without credit have messages; false where the protocol knows no credit. */
    default boolean grant(BenchConnection consumer, int credit) {
        return false;
    }

    /** Whether several consumers can divide a topic's messages among themselves. */
    default boolean shares() {
        return true;
    }

    /**
     * Gives a publish that starts at {@code at} in the connection's outbound buffer a number of its own, where the
     * protocol wants one.
     */
    default void number(BenchConnection connection, int at) {}

    /**
     * Takes every whole frame from {@code connection.in} and answers into {@code connection.out}. Stops early, with
     * {@link BenchConnection#stalled} set, when there is no room for an answer.
     */
    void receive(BenchConnection connection, Inbox inbox) throws WireException;
}
