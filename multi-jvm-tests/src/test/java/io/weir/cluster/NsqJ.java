package io.weir.cluster;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.sproutsocial.nsq.Client;
import com.sproutsocial.nsq.Config;
import com.sproutsocial.nsq.DirectSubscriber;
import com.sproutsocial.nsq.Message;
import com.sproutsocial.nsq.NSQException;
import com.sproutsocial.nsq.Publisher;
import com.sproutsocial.nsq.Subscriber;
import io.weir.config.Endpoint;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.LoggerFactory;

/**
 * nsq-j. A publisher knows two brokers: when one fails, refusals included, it goes to the other; with only one it waits
 * 10 s and tries that again. It does not answer heartbeats while a publication is open, and gives up after one
 * heartbeat's interval.
 */
final class NsqJ implements RealClient {
    private static final int IN_FLIGHT = 100;

    static {
        // What it says about brokers that refuse or die is what tests provoke, a stack trace each time.
        ((Logger) LoggerFactory.getLogger("com.sproutsocial.nsq")).setLevel(Level.OFF);
    }

    private static final int FLUSH_MS = 20;
    private static final int LOOK_AGAIN_S = 1;

    /** Of its own: that of all others has its threads stopped with its last publisher. */
    private final Client client = new Client();

    private final List<Subscriber> subscribers = new ArrayList<>();

    @Override
    public Sender sender(Manner manner, List<Endpoint> brokers) {
        secure(client, manner);
        Publisher publisher = new Publisher(
                client,
                brokers.get(0).toString(),
                brokers.size() > 1 ? brokers.get(1).toString() : null);
        publisher.setConfig(config(manner));
        return (topic, bodies) -> {
            try {
                if (bodies.size() == 1) {
                    publisher.publish(topic, bytes(bodies.get(0)));
                } else {
                    publisher.publish(topic, bodies.stream().map(NsqJ::bytes).toList());
                }
            } catch (NSQException e) {
                throw new IOException(String.valueOf(e.getCause()), e);
            }
        };
    }

    @Override
    public void receive(Manner manner, List<Endpoint> brokers, String topic, String channel, Handler handler) {
        secure(Client.getDefaultClient(), manner);
        Subscriber subscriber = new DirectSubscriber(
                LOOK_AGAIN_S, brokers.stream().map(Endpoint::toString).toArray(String[]::new));
        subscriber.setConfig(config(manner));
        subscriber.setDefaultMaxInFlight(IN_FLIGHT);
        subscriber.setMaxFlushDelayMillis(FLUSH_MS);
        subscribers.add(subscriber);
        subscriber.subscribe(topic, channel, (Message message) -> {
            switch (handler.handle(new String(message.getData(), StandardCharsets.UTF_8), message.getAttempts())) {
                case FINISH -> message.finish();
                case REQUEUE -> message.requeue(10);
                case NONE -> {}
            }
        });
    }

    /** For all connections of a client. */
    private static void secure(Client client, Manner manner) {
        manner.tls()
                .ifPresent(
                        trusted -> client.setSSLSocketFactory(trusted.trusting().getSocketFactory()));
        manner.secret().ifPresent(client::setAuthSecret);
    }

    private static Config config(Manner manner) {
        Config config = new Config();
        config.setTlsV1(manner.tls().isPresent());
        config.setSnappy(manner.wire() == Wire.SNAPPY);
        config.setDeflate(manner.wire() == Wire.DEFLATE);
        if (manner.heartbeatMs() > 0) {
            config.setHeartbeatInterval(manner.heartbeatMs());
        }
        if (manner.messageTimeoutMs() > 0) {
            config.setMsgTimeout(manner.messageTimeoutMs());
        }
        return config;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        subscribers.forEach(Subscriber::stop);
        client.stop();
    }

    @Override
    public String toString() {
        return "nsq-j";
    }
}
