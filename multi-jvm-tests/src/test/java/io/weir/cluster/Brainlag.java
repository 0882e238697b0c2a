package io.weir.cluster;

import com.github.brainlag.nsq.NSQConfig;
import com.github.brainlag.nsq.NSQConsumer;
import com.github.brainlag.nsq.NSQProducer;
import com.github.brainlag.nsq.ServerAddress;
import com.github.brainlag.nsq.exceptions.NSQException;
import com.github.brainlag.nsq.lookup.NSQLookup;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.weir.config.Endpoint;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import javax.net.ssl.SSLException;

/**
 * brainlag's nsq-client. A producer goes round its brokers, message by message. <b>It takes every error that it does
 * not know for success</b>, so the gateway tells it of failures by one that it knows; and an answer that does not come
 * within 15 s for a failure.
 *
 * <p>It can encrypt, if the broker's certificate is an RSA one: the Netty that it needs (4.0.39) offers no cipher for
 * others. Neither of its compressions works, with any broker. Snappy: that Netty masks a block's checksum with a shift
 * that keeps the sign, so half of the blocks that it sends have a wrong one, and who checks them must close. Deflate,
 * and snappy on the way in: it puts the decompressor in the place of its frame decoder, and then takes each piece that
 * comes out of it for one frame; two frames in one piece, or one in two, and it is lost.
 */
final class Brainlag implements RealClient {
    private static final int IN_FLIGHT = 100;
    private static final int LOOK_AGAIN_MS = 500;

    private final List<NSQProducer> producers = new ArrayList<>();
    private final List<NSQConsumer> consumers = new ArrayList<>();

    @Override
    public Sender sender(Manner manner, List<Endpoint> brokers) {
        NSQProducer producer = new NSQProducer().setConfig(config(manner));
        brokers.forEach(broker -> producer.addAddress(broker.host(), broker.port()));
        producers.add(producer.start());
        return (topic, bodies) -> {
            try {
                producer.produceMulti(
                        topic,
                        bodies.stream()
                                .map(body -> body.getBytes(StandardCharsets.UTF_8))
                                .toList());
            } catch (NSQException | TimeoutException e) {
                throw new IOException(e.toString(), e);
            }
        };
    }

    @Override
    public void receive(Manner manner, List<Endpoint> brokers, String topic, String channel, Handler handler) {
        NSQConsumer consumer = new NSQConsumer(
                new Known(brokers),
                topic,
                channel,
                message -> {
                    switch (handler.handle(
                            new String(message.getMessage(), StandardCharsets.UTF_8), message.getAttempts())) {
                        case FINISH -> message.finished();
                        case REQUEUE -> message.requeue(10);
                        case NONE -> {}
                    }
                },
                config(manner));
        consumers.add(consumer.setMessagesPerBatch(IN_FLIGHT)
                .setLookupPeriod(LOOK_AGAIN_MS)
                .start());
    }

    private static NSQConfig config(Manner manner) {
        NSQConfig config = new NSQConfig();
        if (manner.wire() != Wire.PLAIN || manner.secret().isPresent()) {
            throw new UnsupportedOperationException("it knows no AUTH, and its compressions do not work");
        }
        manner.tls().ifPresent(trusted -> config.setSslContext(tls(trusted)));
        if (manner.heartbeatMs() > 0) {
            config.setHeartbeatInterval(manner.heartbeatMs());
        }
        if (manner.messageTimeoutMs() > 0) {
            config.setMsgTimeout(manner.messageTimeoutMs());
        }
        return config;
    }

    private static SslContext tls(Certificate trusted) {
        try {
            return SslContextBuilder.forClient()
                    .trustManager(trusted.certificate().toFile())
                    .build();
        } catch (SSLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        producers.forEach(NSQProducer::shutdown);
        consumers.forEach(NSQConsumer::shutdown);
    }

    @Override
    public String toString() {
        return "brainlag";
    }

    /** A lookup that knows its brokers beforehand. */
    private record Known(List<Endpoint> brokers) implements NSQLookup {
        @Override
        public Set<ServerAddress> lookup(String topic) {
            return brokers.stream()
                    .map(broker -> new ServerAddress(broker.host(), broker.port()))
                    .collect(Collectors.toSet());
        }

        @Override
        public void addLookupAddress(String host, int port) {
            throw new UnsupportedOperationException("the brokers are known");
        }
    }
}
