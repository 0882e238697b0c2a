package io.weir.transport.client;

import java.net.InetAddress;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An application's access to a Weir cluster, or to anything that speaks NSQ V2. Its publishers and consumers share one
 * thread for input and output and the handler threads of {@link ClientSettings#handlerThreads()}; others look up host
 * names while there is something to look up. Connections are opened when they are needed, and opened again when they
 * break.
 */
public final class WeirClient implements AutoCloseable {
    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final int HANDLER_IDLE_SECONDS = 5;

    private final ClientSettings settings;
    private final ClientLoop loop;
    private final HostLookup hosts;
    private final ThreadPoolExecutor handlers;
    private final CopyOnWriteArrayList<AutoTunedPublisher> publishers = new CopyOnWriteArrayList<>();
    private final CopyOnWriteArrayList<MessageConsumer> consumers = new CopyOnWriteArrayList<>();

    private WeirClient(ClientSettings settings, HostLookup.Source source) {
        this.settings = settings;
        String name = "weir-client-" + NUMBER.incrementAndGet();
        loop = new ClientLoop(name);
        // The loop looks at what was found in its next turn.
        hosts = new HostLookup(source, () -> loop.execute(() -> {}), daemons(name + "-names"));
        // Holds no more than consumers let in: their credit, and what is left of connections that they lost.
        handlers = new ThreadPoolExecutor(
                settings.handlerThreads(),
                settings.handlerThreads(),
                HANDLER_IDLE_SECONDS,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                daemons(name + "-handler"));
        handlers.allowCoreThreadTimeOut(true);
        loop.start();
    }

    private static ThreadFactory daemons(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    public static WeirClient create(ClientSettings settings) {
        return create(settings, InetAddress::getAllByName);
    }

    static WeirClient create(ClientSettings settings, HostLookup.Source source) {
        return new WeirClient(settings, source);
    }

    public AutoTunedPublisher publisher() {
        return publisher(PublisherSettings.defaults());
    }

    public AutoTunedPublisher publisher(PublisherSettings publishing) {
        AutoTunedPublisher publisher = new AutoTunedPublisher(loop, settings, publishing, hosts);
        publishers.removeIf(AutoTunedPublisher::ended);
        publishers.add(publisher);
        return publisher;
    }

    public MessageConsumer consume(String topic, String channel, DeliveryHandler handler) {
        return consume(topic, channel, ConsumerSettings.defaults(), handler);
    }

    public MessageConsumer consume(String topic, String channel, ConsumerSettings consuming, DeliveryHandler handler) {
        MessageConsumer consumer =
                new MessageConsumer(loop, settings, consuming, hosts, handlers, topic, channel, handler);
        consumers.removeIf(MessageConsumer::ended);
        consumers.add(consumer);
        return consumer;
    }

    /** Closes its consumers and publishers, as their settings say, and ends its threads. */
    @Override
    public void close() {
        consumers.forEach(MessageConsumer::close);
        publishers.forEach(AutoTunedPublisher::close);
        loop.close();
        handlers.shutdownNow();
        hosts.close();
    }
}
