package io.weir.supervisor.node;

import io.weir.config.Endpoint;
import io.weir.config.WeirSettings;
import io.weir.config.value.BrokerId;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import io.weir.transport.link.LinkSettings;
import io.weir.transport.link.Links;
import io.weir.transport.link.PeerAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A broker's links to the others. Every broker writes into the registry where its end of a link is. Links live as long
 * as the process, like the sockets that they serve.
 */
final class BrokerLinks implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerLinks.class);
    /** Equal for processes that share a kernel since it started. */
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    /** Differs between containers on one kernel, which each see a file system of their own. */
    private static final Path HOSTNAME = Path.of("/proc/sys/kernel/hostname");

    private static final int PARTS = 4;
    private static final long UNKNOWN = 0;

    private volatile PeerAddress self;
    private final LinkSettings settings;
    private final Links links;
    private Set<BrokerId> connected = Set.of();

    /** Empty without a media driver: then no messages flow between brokers. */
    static Optional<BrokerLinks> start(WeirSettings settings, Runnable wakeUp, LongSupplier clock) {
        return settings.aeronDirectory().map(directory -> new BrokerLinks(settings, directory, wakeUp, clock));
    }

    private BrokerLinks(WeirSettings settings, Path directory, Runnable wakeUp, LongSupplier clock) {
        this.self = new PeerAddress(
                settings.broker().id(), UNKNOWN, hostKey(settings), directory.toString(), settings.link());
        LinkSettings defaults = LinkSettings.defaults();
        int body = Math.max(defaults.maxBodyBytes(), settings.topics().maxMessageBytes() + 16 * 1024);
        this.settings = new LinkSettings(
                body,
                defaults.maxPeers(),
                defaults.helloInterval(),
                defaults.silence(),
                defaults.retry(),
                settings.sealLoopback());
        this.links = Links.start(self, this.settings, wakeUp, clock);
    }

    private static String hostKey(WeirSettings settings) {
        try {
            return Files.readString(BOOT_ID).strip() + "/"
                    + Files.readString(HOSTNAME).strip();
        } catch (IOException e) {
            // Not Linux: brokers that bind to the same address are on the same host.
            return settings.cluster().address().host();
        }
    }

    Links links() {
        return links;
    }

    /** The life of this process, as the peers know it; 0 before the store has given one. */
    long incarnation() {
        return self.incarnation();
    }

    int maxBodyBytes() {
        return settings.maxBodyBytes();
    }

    /**
     * What the registry has for the others to read.
     *
     * @param incarnation that the store gives out now. The first one is the links' for as long as the process lives: it
     *     is higher than that of any earlier process, whatever became of the clock
     */
    String word(long incarnation) {
        if (self.incarnation() == UNKNOWN) {
            links.begin(incarnation);
            self = new PeerAddress(self.id(), incarnation, self.host(), self.aeronDirectory(), self.endpoint());
        }
        return self.incarnation() + "|" + self.host() + "|" + self.endpoint() + "|" + self.aeronDirectory();
    }

    /** Links to the brokers that run, and drops links to the others; from this process's first incarnation on. */
    void follow(List<RegisteredBroker> brokers) {
        if (self.incarnation() == UNKNOWN) {
            return;
        }
        Set<BrokerId> wanted = new HashSet<>();
        for (RegisteredBroker broker : brokers) {
            if (broker.running() && !broker.id().equals(self.id())) {
                address(broker).ifPresent(peer -> {
                    wanted.add(peer.id());
                    links.connect(peer);
                });
            }
        }
        connected.stream().filter(peer -> !wanted.contains(peer)).forEach(links::disconnect);
        connected = wanted;
    }

    private static Optional<PeerAddress> address(RegisteredBroker broker) {
        String[] parts = broker.link().split("\\|", PARTS);
        if (parts.length < PARTS) {
            return Optional.empty();
        }
        try {
            return Optional.of(new PeerAddress(
                    broker.id(), Long.parseLong(parts[0]), parts[1], parts[3], Endpoint.parse(parts[2])));
        } catch (IllegalArgumentException e) {
            LOG.debug("{} says of its link what nobody understands: {}", broker.id(), e.getMessage());
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        links.close();
    }
}
