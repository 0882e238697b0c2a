package io.weir.cluster;

import io.weir.config.Endpoint;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** A client library that others wrote, unchanged, used as an application would. Closing it ends all that it opened. */
interface RealClient extends AutoCloseable {
    /** What it asks brokers to do with the bytes. */
    enum Wire {
        PLAIN,
        SNAPPY,
        DEFLATE
    }

    /**
     * How it talks to brokers.
     *
     * @param heartbeatMs 0: as the client does by itself
     * @param messageTimeoutMs 0: as the broker does by itself
     * @param tls whom to trust, if it is to encrypt
     * @param secret for AUTH, if it is to
     */
    record Manner(
            int heartbeatMs, int messageTimeoutMs, Wire wire, Optional<Certificate> tls, Optional<String> secret) {
        static final Manner USUAL = new Manner(0, 0, Wire.PLAIN, Optional.empty(), Optional.empty());

        Manner withHeartbeat(int ms) {
            return new Manner(ms, messageTimeoutMs, wire, tls, secret);
        }

        Manner withMessageTimeout(int ms) {
            return new Manner(heartbeatMs, ms, wire, tls, secret);
        }

        Manner with(Wire newWire) {
            return new Manner(heartbeatMs, messageTimeoutMs, newWire, tls, secret);
        }

        Manner with(Certificate trusted) {
            return new Manner(heartbeatMs, messageTimeoutMs, wire, Optional.of(trusted), secret);
        }

        Manner withSecret(String newSecret) {
            return new Manner(heartbeatMs, messageTimeoutMs, wire, tls, Optional.of(newSecret));
        }
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
