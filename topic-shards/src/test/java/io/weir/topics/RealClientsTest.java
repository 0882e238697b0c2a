package io.weir.topics;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.brainlag.nsq.NSQConsumer;
import com.github.brainlag.nsq.NSQProducer;
import com.github.brainlag.nsq.ServerAddress;
import com.github.brainlag.nsq.lookup.NSQLookup;
import com.sproutsocial.nsq.DirectSubscriber;
import com.sproutsocial.nsq.Publisher;
import com.sproutsocial.nsq.Subscriber;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients that others wrote, unchanged, against a broker. */
@Timeout(60)
class RealClientsTest {
    private final Set<String> got = ConcurrentHashMap.newKeySet();

    @Test
    void shouldServeNsqJ() throws Exception {
        try (RunningBroker broker = RunningBroker.start().supply("orders", 1_000_000, 1_000_000)) {
            String host = "127.0.0.1:" + broker.port();
            Publisher publisher = new Publisher(host);
            for (int i = 0; i < 100; i++) {
                publisher.publish("orders", bytes("m" + i));
            }
            publisher.publish("orders", batch(100, 200));
            publisher.publishDeferred("orders", bytes("m200"), 50, TimeUnit.MILLISECONDS);
            Subscriber subscriber = new DirectSubscriber(1, host);
            subscriber.subscribe("orders", "work", (byte[] data) -> got.add(text(data)));
            RunningBroker.await("all 201 came", () -> got.size() == 201);
            RunningBroker.await(
                    "all are acknowledged",
                    () -> broker.channel("orders", "work").finished() == 201);
            subscriber.stop();
            publisher.stop();
            assertThat(broker.channel("orders", "work").timedOut()).isZero();
        }
    }

    @Test
    void shouldServeBrainlagsClient() throws Exception {
        try (RunningBroker broker = RunningBroker.start().supply("orders", 1_000_000, 1_000_000)) {
            AtomicInteger givenBack = new AtomicInteger();
            NSQConsumer consumer = new NSQConsumer(new OneBroker(broker.port()), "orders", "work", message -> {
                if (message.getAttempts() == 1 && givenBack.getAndIncrement() == 0) {
                    message.requeue(10);
                } else {
                    got.add(text(message.getMessage()));
                    message.finished();
                }
            });
            consumer.start();
            NSQProducer producer =
                    new NSQProducer().addAddress("127.0.0.1", broker.port()).start();
            for (int i = 0; i < 100; i++) {
                producer.produce("orders", bytes("m" + i));
            }
            producer.produceMulti("orders", batch(100, 200));
            RunningBroker.await("all 200 came", () -> got.size() == 200);
            RunningBroker.await(
                    "all are acknowledged",
                    () -> broker.channel("orders", "work").finished() == 200);
            assertThat(broker.channel("orders", "work").requeued()).isEqualTo(1);
            producer.shutdown();
            consumer.close();
        }
    }

    @Test
    void shouldDelayAThrottledPublisherAndLoseNothing() throws Exception {
        try (RunningBroker broker = RunningBroker.start().supply("slow", 50, 1)) {
            String host = "127.0.0.1:" + broker.port();
            Subscriber subscriber = new DirectSubscriber(1, host);
            subscriber.subscribe("slow", "work", (byte[] data) -> got.add(text(data)));
            Publisher publisher = new Publisher(host);
            for (int i = 0; i < 20; i++) {
                publisher.publish("slow", bytes("m" + i));
            }
            RunningBroker.await("all 20 came", () -> got.size() == 20);
            assertThat(broker.gate("slow").delayed()).isPositive();
            assertThat(broker.gate("slow").refused()).isZero();
            assertThat(broker.gate("slow").admitted()).isEqualTo(20);
            subscriber.stop();
            publisher.stop();
        }
    }

    private static List<byte[]> batch(int from, int to) {
        List<byte[]> batch = new ArrayList<>();
        for (int i = from; i < to; i++) {
            batch.add(bytes("m" + i));
        }
        return batch;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** A lookup that knows one broker. */
    private record OneBroker(int port) implements NSQLookup {
        @Override
        public Set<ServerAddress> lookup(String topic) {
            return Set.of(new ServerAddress("127.0.0.1", port));
        }

        @Override
        public void addLookupAddress(String host, int lookupPort) {
            throw new UnsupportedOperationException("there is only one broker");
        }
    }
}
