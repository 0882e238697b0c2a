package io.weir.topics.federation;

import io.weir.config.Endpoint;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.definition.TopicSettings;
import io.weir.topics.path.NsqSocket;
import io.weir.topics.path.RunningBroker;
import io.weir.transport.gateway.GatewaySettings;
import io.weir.transport.link.LinkSettings;
import io.weir.transport.link.Links;
import io.weir.transport.link.PeerAddress;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.function.Function;
import java.util.function.IntSupplier;

/** A running broker with links. */
final class LinkedBroker implements AutoCloseable {
    final PeerAddress address;
    final RunningBroker broker;
    /** Where this broker's publishers are at home; null: here. */
    volatile BrokerId home;

    /** Who knows, if not all are at the same. */
    volatile Homes homes = request -> home;

    /** What it knows of topics when it is asked. */
    volatile Function<TopicName, TopicSettings> topics = topic -> TopicSettings.defaults();

    /** How often each of its frames of loans is sent. */
    volatile IntSupplier loanCopies = () -> 1;

    private Links links;
    private Federation federation;

    LinkedBroker(String id, Path aeronDirectory) throws IOException {
        this(id, aeronDirectory, GatewaySettings.defaults(), LinkSettings.defaults());
    }

    LinkedBroker(String id, Path aeronDirectory, GatewaySettings gateway, LinkSettings linkSettings)
            throws IOException {
        address = address(id, aeronDirectory);
        broker = new RunningBroker(id, gateway, topic -> topics.apply(topic), loop -> {
            links = Links.start(address, linkSettings, loop::wakeUp);
            federation = new Federation(
                    links, linkSettings.maxBodyBytes(), request -> homes.homeOf(request), () -> loanCopies.getAsInt());
            return federation;
        });
    }

    static PeerAddress address(String id, Path aeronDirectory) throws IOException {
        try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getByName("127.0.0.1"))) {
            return new PeerAddress(
                    new BrokerId(id),
                    1,
                    "127.0.0.1",
                    aeronDirectory.toString(),
                    new Endpoint("127.0.0.1", socket.getLocalPort()));
        }
    }

    static void join(LinkedBroker... brokers) {
        for (LinkedBroker one : brokers) {
            for (LinkedBroker other : brokers) {
                if (one != other) {
                    one.links.connect(other.address);
                }
            }
        }
        for (LinkedBroker one : brokers) {
            RunningBroker.await(one.id() + " is linked", () -> one.stats().peers() == brokers.length - 1);
        }
    }

    BrokerId id() {
        return address.id();
    }

    Links links() {
        return links;
    }

    Federation federation() {
        return federation;
    }

    FederationStats stats() {
        return federation.stats();
    }

    LinkedBroker supply(String topic) {
        broker.supply(topic, 10_000_000, 10_000_000);
        return this;
    }

    NsqSocket publisher() throws IOException {
        return NsqSocket.greeted(broker.address());
    }

    /** Subscribed and answered, without credit yet. */
    NsqSocket consumer(String topic, String channel) throws IOException {
        NsqSocket socket = NsqSocket.greeted(broker.address());
        socket.send("SUB " + topic + " " + channel + "\n");
        if (!socket.answer().equals("OK")) {
            throw new IOException("SUB was refused");
        }
        return socket;
    }

    /** Consumers at other brokers that this one knows of, of a channel. */
    boolean hasConsumers(String topic, String channel, int count) {
        return RunningBroker.await(broker.path().stats()).stream()
                .filter(stats -> stats.topic().value().equals(topic))
                .flatMap(stats -> stats.channels().stream())
                .anyMatch(stats -> stats.name().equals(channel) && stats.consumers() == count);
    }

    boolean isWaiting(String topic, int messages) {
        return RunningBroker.await(broker.path().stats()).stream()
                .anyMatch(stats -> stats.topic().value().equals(topic) && stats.waiting() == messages);
    }

    /** Gone in the midst of everything, as its peers see it. */
    void cut() {
        links.close();
    }

    @Override
    public void close() {
        links.close();
        broker.close();
    }
}
