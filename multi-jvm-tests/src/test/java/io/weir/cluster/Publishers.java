package io.weir.cluster;

import io.weir.cluster.chaos.client.PacedPublisher;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.client.NsqConnection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Publishers over TCP, as NSQ's clients are: a few connections for each broker and topic, on each one message at a
 * time, the next when the last is acknowledged and due. A connection that breaks, because its broker was killed, is
 * made again.
 */
final class Publishers implements PublisherLoad, AutoCloseable {
    private static final int CONNECTIONS = 4;
    private static final byte[] BODY = "x".repeat(32).getBytes(StandardCharsets.US_ASCII);

    private record Where(String broker, String topic) {}

    private final Function<String, Endpoint> tcp;
    private final Map<Where, List<Publisher>> pressing = new ConcurrentHashMap<>();

    /** @param tcp a broker's gateway */
    Publishers(Function<String, Endpoint> tcp) {
        this.tcp = tcp;
    }

    @Override
    public void press(String broker, String topic, double perSecond) {
        List<Publisher> before = pressing.remove(new Where(broker, topic));
        if (before != null) {
            before.forEach(Publisher::end);
        }
        if (perSecond > 0) {
            List<Publisher> now = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                Publisher publisher = new Publisher(tcp.apply(broker), topic);
                publisher.pace(perSecond / CONNECTIONS);
                publisher.start();
                now.add(publisher);
            }
            pressing.put(new Where(broker, topic), now);
        }
    }

    @Override
    public void close() {
        pressing.values().forEach(all -> all.forEach(Publisher::end));
        pressing.clear();
    }

    private static final class Publisher extends PacedPublisher {
        private final String topic;

        Publisher(Endpoint broker, String topic) {
            super("publisher-" + broker + "-" + topic, broker);
            this.topic = topic;
        }

        @Override
        protected void publish(NsqConnection connection) throws IOException {
            connection.publishAndWait(topic, BODY);
        }
    }
}
