package io.weir.cluster;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.util.List;

/** A client library that others wrote, unchanged, used as an application would. Closing it ends all that it opened. */
interface RealClient extends AutoCloseable {
    /** How it talks to brokers; 0 is "as the client does by itself". */
    record Manner(int heartbeatMs, int messageTimeoutMs) {
        static final Manner USUAL = new Manner(0, 0);
    }

    /** What a consumer does with a message. */
    enum Answer {
        FINISH,
        REQUEUE,
        /** Nothing, so that it times out. */
        NONE
    }

    /** An application's part of consuming. */
    @FunctionalInterface
    interface Handler {
        Answer handle(String body, int attempts);
    }

    /** Publishes on connections of its own. */
    @FunctionalInterface
    interface Sender {
        /**
         * Returns when the client takes all of them for published; more than one go as a batch.
         *
         * @throws IOException if the client says that they are not, or that it does not know
         */
        void publish(String topic, List<String> bodies) throws IOException;
    }

    /** @param brokers in the order of preference, if the client has one */
    Sender sender(Manner manner, List<Endpoint> brokers);

    void receive(Manner manner, List<Endpoint> brokers, String topic, String channel, Handler handler);

    @Override
    void close();
}
