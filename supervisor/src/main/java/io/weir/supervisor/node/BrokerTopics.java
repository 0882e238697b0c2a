package io.weir.supervisor.node;

import akka.actor.typed.ActorRef;
import com.sun.management.HotSpotDiagnosticMXBean;
import io.weir.config.SettingsException;
import io.weir.config.TcpSettings;
import io.weir.config.WeirSettings;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.SupplyStore;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import io.weir.supervisor.store.TopicQuotas;
import io.weir.supervisor.store.TopicTable;
import io.weir.topics.api.InProcessPublisher;
import io.weir.topics.definition.TopicDefaults;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDirectory;
import io.weir.topics.definition.TopicFollower;
import io.weir.topics.definition.TopicRows;
import io.weir.topics.definition.TopicWriter;
import io.weir.topics.federation.Federation;
import io.weir.topics.federation.FederationStats;
import io.weir.topics.federation.Homes;
import io.weir.topics.path.MessagePath;
import io.weir.topics.path.PathSettings;
import io.weir.topics.path.TopicStats;
import io.weir.transport.gateway.AccessRights;
import io.weir.transport.gateway.BrokerDirectory;
import io.weir.transport.gateway.ClientStats;
import io.weir.transport.gateway.ClientTerms;
import io.weir.transport.gateway.GatewayLoop;
import io.weir.transport.gateway.GatewaySettings;
import io.weir.transport.gateway.GatewayStats;
import io.weir.transport.gateway.TlsOffer;
import io.weir.transport.link.LinkStats;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A broker's message path for as long as its process lives: sockets, queues and gates go on while the actor system is
 * away, and ask the current life's {@link TopicFollower} for topics that they do not know.
 */
public final class BrokerTopics implements TopicDirectory, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerTopics.class);
    private static final long STATS_WITHIN_MS = 1_000;
    /** Ten looks a second at what the message path holds are enough for everybody who asks. */
    private static final Duration LOOK_EVERY = Duration.ofMillis(100);

    /** Where clients reach the brokers that run, as of the last look at the registry. */
    static final class Neighbours implements BrokerDirectory {
        private final BrokerId self;
        private volatile Map<BrokerId, String> tcp = Map.of();

        Neighbours(BrokerId self) {
            this.self = self;
        }

        void follow(List<RegisteredBroker> brokers) {
            tcp = brokers.stream()
                    .filter(RegisteredBroker::running)
                    .collect(Collectors.toUnmodifiableMap(
                            RegisteredBroker::id, broker -> broker.clientsAt().toString()));
        }

        @Override
        public Optional<BrokerId> self() {
            return Optional.of(self);
        }

        @Override
        public Optional<String> tcpOf(BrokerId broker) {
            return Optional.ofNullable(tcp.get(broker));
        }
    }

    private final LongSupplier clock;
    private final IntSupplier loanCopies;
    private final TopicTable rows;
    private final TopicTable written;
    private final ExecutorService writers = Executors.newFixedThreadPool(2, task -> {
        Thread thread = new Thread(task, "weir-topic-writer");
        thread.setDaemon(true);
        return thread;
    });
    private final TopicDefaults defaults;
    private final GatewayLoop loop;
    private final GatewaySettings gateway;
    private final ClientTerms terms;
    private final Neighbours neighbours;
    private final PathSettings bounds;
    private final InProcessPublisher.Bounds intakeBounds;
    private final Optional<BrokerLinks> links;
    private final Optional<BrokerPlacement> placement;
    private final TopicRecorder recorder;
    private volatile MessagePath path;
    private volatile InProcessPublisher intake;
    private final SharedLook<PathView> looks;
    private final SharedLook<List<ClientStats>> clients;
    private volatile Federation federation;
    private volatile ActorRef<TopicFollower.Command> follower;
    /**
     * Kept here, and not with the follower, so that clients find their brokers also while the store or the cluster is
     * away.
     */
    private final Map<String, TopicDefinition> known = new ConcurrentSkipListMap<>();

    private final LatelyGone gone = new LatelyGone();

    /**
     * @param clock also the clock of the leases
     * @param loanCopies how often each frame of loans is sent
     */
    BrokerTopics(WeirSettings settings, LongSupplier clock, IntSupplier loanCopies) {
        this.clock = clock;
        this.loanCopies = loanCopies;
        looks = new SharedLook<>(() -> path.looks().thenCombine(path.totals(), PathView::new), LOOK_EVERY);
        clients = new SharedLook<>(() -> path.clients(), LOOK_EVERY);
        try {
            defaults = new TopicDefaults(settings.topics().defaults());
        } catch (IllegalArgumentException e) {
            throw new SettingsException("weir.topics.defaults: " + e.getMessage());
        }
        GatewaySettings base = GatewaySettings.defaults();
        int largest = settings.topics().maxMessageBytes();
        try {
            gateway = new GatewaySettings(
                    settings.topics().maxConnections(),
                    settings.clients().maxConnectionsPerAddress(),
                    settings.clients().maxStrangersPerAddress(),
                    largest,
                    Math.max(base.maxBodyBytes(), largest),
                    base.maxReady(),
                    base.bufferBytes(),
                    settings.clients().bufferBytes(),
                    base.heartbeatNs(),
                    base.maxHeartbeatNs(),
                    base.messageTimeoutNs(),
                    base.maxMessageTimeoutNs(),
                    base.maxDelayNs(),
                    base.stallNs(),
                    settings.clients().handshakeTimeout().toNanos());
        } catch (IllegalArgumentException e) {
            throw new SettingsException("weir.tcp.buffers: " + e.getMessage());
        }
        warnIfMemoryIsShort(settings.topics().storeBytes() + gateway.maxBufferBytes());
        terms = terms(settings);
        neighbours = new Neighbours(settings.broker().id());
        bounds = PathSettings.defaults()
                .withTopics(settings.topics().maxTopics())
                .withMemory(
                        settings.topics().storeBytes(),
                        queueBytes(settings.topics().queueBytes()),
                        settings.topics().topicShare(),
                        settings.topics().tokenShare());
        intakeBounds = new InProcessPublisher.Bounds(
                gateway.maxMessageBytes(),
                gateway.maxBodyBytes(),
                TimeUnit.NANOSECONDS.toMillis(gateway.maxDelayNs()),
                settings.http().maxPublications(),
                64L << 20);
        try {
            loop = new GatewayLoop(
                    new InetSocketAddress(settings.tcp().host(), settings.tcp().port()),
                    gateway,
                    terms,
                    neighbours,
                    clock);
        } catch (IOException e) {
            throw new StartException("TCP can't listen on " + settings.tcp() + " (" + e.getMessage()
                    + "): is the port taken? Set weir.tcp.port");
        }
        TopicQuotas quotas =
                new TopicQuotas(settings.topics().maxTopics(), settings.topics().maxTopicsPerToken());
        rows = new TopicTable(settings.store(), settings.store().statementTimeout(), quotas);
        written = new TopicTable(settings.store(), settings.store().statementTimeout(), quotas);
        links = BrokerLinks.start(settings, loop::wakeUp, clock);
        placement = BrokerPlacement.of(settings, links.isPresent());
        recorder = new TopicRecorder(
                settings.broker().id(),
                this::path,
                clock,
                (topic, forNs) -> placement.ifPresent(to -> to.record(path(), topic, forNs)));
    }

    private static long queueBytes(OptionalLong set) {
        long heapBytes = Runtime.getRuntime().maxMemory();
        if (set.orElse(0) > heapBytes / 2) {
            LOG.warn(
                    "weir.topics.queue-size is {} MiB, more than half of the heap's {} MiB: set -Xmx (conf/broker.jvm)",
                    set.getAsLong() >> 20,
                    heapBytes >> 20);
        }
        return set.orElse(heapBytes / 4);
    }

    /** Warns at the start, because an allocation that fails later stops the message path for half a second. */
    private static void warnIfMemoryIsShort(long wantedBytes) {
        HotSpotDiagnosticMXBean jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        long set = jvm == null
                ? 0
                : Long.parseLong(jvm.getVMOption("MaxDirectMemorySize").getValue());
        long mostBytes = set > 0 ? set : Runtime.getRuntime().maxMemory();
        if (wantedBytes > mostBytes) {
            LOG.warn(
                    "weir.topics.store-size and weir.tcp.buffers are {} MiB together, and the process may have {} MiB outside its heap: set"
                            + " -XX:MaxDirectMemorySize (conf/broker.jvm)",
                    wantedBytes >> 20,
                    mostBytes >> 20);
        }
    }

    private static ClientTerms terms(WeirSettings settings) {
        TcpSettings clients = settings.clients();
        if (clients.auth().tokens().isEmpty()
                && !clients.auth().chosen()
                && !settings.tcp().loopback()) {
            LOG.warn(
                    "whoever reaches {} may publish and consume everything: set weir.tcp.auth.secret or tokens, or weir.tcp.auth.required ="
                            + " off if that is meant",
                    settings.tcp());
        }
        try {
            return new ClientTerms(
                    clients.tls().map(files -> TlsOffer.read(files.certificate(), files.key(), files.clientCa())),
                    clients.tlsRequired(),
                    clients.snappy(),
                    clients.deflate(),
                    clients.maxDeflateLevel(),
                    new AccessRights(
                            clients.auth().required(),
                            clients.auth().tokens().stream()
                                    .map(token -> new AccessRights.Token(
                                            token.name(), token.secret(), token.publish(), token.subscribe()))
                                    .toList()));
        } catch (IllegalArgumentException e) {
            throw new SettingsException("weir.tcp.tls: " + e.getMessage());
        }
    }

    /** Who may publish and consume what, for other ways in than the gateway. */
    public AccessRights rights() {
        return terms.rights();
    }

    LongSupplier clock() {
        return clock;
    }

    /** To be called after the gates were given something to do. */
    void wakeUp() {
        loop.wakeUp();
    }

    void start(Gates gates) {
        if (links.isPresent()) {
            Homes homes = placement.<Homes>map(BrokerPlacement::table).orElse(Homes.LOCAL);
            federation = new Federation(links.get().links(), links.get().maxBodyBytes(), homes, loanCopies);
            path = MessagePath.start(loop, gateway, bounds, gates, this, federation, clock);
        } else {
            path = MessagePath.start(loop, gateway, bounds, gates, this, clock);
        }
        intake = new InProcessPublisher(path, intakeBounds, clock);
    }

    /** Where HTTP publishes; empty until the message path has started. */
    public Optional<InProcessPublisher> intake() {
        return Optional.ofNullable(intake);
    }

    Optional<BrokerLinks> links() {
        return links;
    }

    /** How the others link to this broker in the life that begins; empty if they can't. */
    String linkWord(long incarnation) {
        return links.map(to -> to.word(incarnation)).orElse("");
    }

    /** The brokers that the registry knows. */
    void follow(List<RegisteredBroker> brokers) {
        neighbours.follow(brokers);
        links.ifPresent(to -> to.follow(brokers));
    }

    public Optional<FederationStats> federation() {
        return Optional.ofNullable(federation).map(Federation::stats);
    }

    /** Empty where it is off, or no other broker can be reached. */
    public Optional<BrokerPlacement> placement() {
        return placement;
    }

    /** Of every link; empty where there are none. */
    public List<LinkStats> linkStats() {
        return links.map(to -> to.links().stats()).orElse(List.of());
    }

    public MessagePath path() {
        return path;
    }

    /** All topics, seen after this call, together with whoever else asks. Not before the message path has started. */
    public CompletionStage<PathView> look() {
        return looks.next();
    }

    /** The same for who is connected. */
    public CompletionStage<List<ClientStats>> lookAtClients() {
        return clients.next();
    }

    public TopicRecorder recorder() {
        return recorder;
    }

    public InProcessPublisher.Bounds intakeBounds() {
        return intakeBounds;
    }

    GatewaySettings gateway() {
        return gateway;
    }

    TopicRows rows() {
        return rows;
    }

    /** How topics' entities of this life of the actor system reach their rows; on a connection of its own. */
    TopicWriter writer(SupplyStore limits, Consumer<List<LimitRow>> inserted, Runnable news) {
        return new TopicWriter(written, limits, writers, inserted, news);
    }

    public TopicDefaults defaults() {
        return defaults;
    }

    /** Since the message path's thread began its last turn. */
    public Duration turnAge() {
        return Duration.ofNanos(loop.turnAgeNs());
    }

    public GatewayStats gatewayStats() {
        return loop.stats();
    }

    public long threadId() {
        return loop.threadId();
    }

    /** The follower of this life of the actor system. */
    void follower(ActorRef<TopicFollower.Command> ofThisLife) {
        follower = ofThisLife;
    }

    /** What a topic is like now; an older definition than the last is ignored. */
    void learned(TopicDefinition definition) {
        TopicDefinition before = known.get(definition.name().value());
        if (before != null && before.revision() < definition.revision()) {
            gone.changed(before, definition, System.nanoTime());
        }
        known.compute(
                definition.name().value(),
                (name, last) -> last != null && last.revision() > definition.revision()
                        ? last
                        : definition.exists() ? definition : null);
    }

    /** There are no other topics than these. */
    void learnedAll(Set<TopicName> topics) {
        known.values().removeIf(definition -> !topics.contains(definition.name()));
    }

    /** Whether this broker believes in the topic, or did a moment ago. */
    public boolean wasThereLately(TopicName topic) {
        return definition(topic.value()).isPresent() || gone.lately(topic, System.nanoTime());
    }

    /** The same for a channel. */
    public boolean wasThereLately(TopicName topic, String channel) {
        return definition(topic.value())
                        .filter(now -> now.channels().containsKey(channel))
                        .isPresent()
                || gone.lately(topic, channel, System.nanoTime());
    }

    /** The topics that this broker knows, by name. It learns of another broker's change within a second. */
    public List<TopicDefinition> definitions() {
        return List.copyOf(known.values());
    }

    public Optional<TopicDefinition> definition(String topic) {
        return Optional.ofNullable(known.get(topic));
    }

    @Override
    public void wanted(TopicName topic, String token) {
        tellFollower(new TopicFollower.Wanted(topic, token));
    }

    @Override
    public void lenderWanted(TopicName topic) {
        tellFollower(new TopicFollower.LenderWanted(topic));
    }

    @Override
    public void channelWanted(TopicName topic, String channel) {
        tellFollower(new TopicFollower.ChannelWanted(topic, channel));
    }

    @Override
    public void ended(TopicName topic) {
        tellFollower(new TopicFollower.Ended(topic));
    }

    /** While there is none, the message path asks again. */
    private void tellFollower(TopicFollower.Command command) {
        ActorRef<TopicFollower.Command> there = follower;
        if (there != null) {
            there.tell(command);
        }
    }

    @Override
    public void close() {
        links.ifPresent(BrokerLinks::close);
        if (path != null) {
            warnOfLostMessages();
            path.close();
        }
        writers.shutdownNow();
        written.close();
        rows.close();
        placement.ifPresent(BrokerPlacement::close);
    }

    /** Messages are in memory: an operator who stops a broker should know what is lost. */
    private void warnOfLostMessages() {
        try {
            List<TopicStats> holding =
                    path.stats().toCompletableFuture().get(STATS_WITHIN_MS, TimeUnit.MILLISECONDS).stream()
                            .filter(topic -> held(topic) > 0)
                            .toList();
            long messages = holding.stream().mapToLong(BrokerTopics::held).sum();
            if (messages > 0) {
                LOG.warn(
                        "stops with {} {} of {} {} that nobody has finished (a copy in each channel counts): they are lost",
                        messages,
                        messages == 1 ? "message" : "messages",
                        holding.size(),
                        holding.size() == 1 ? "topic" : "topics");
            }
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("stops, and can't tell what it held: {}", e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long held(TopicStats topic) {
        return topic.waiting()
                + topic.unrouted()
                + topic.channels().stream()
                        .mapToLong(channel -> channel.queued() + channel.ownDeferred() + channel.ownInFlight())
                        .sum();
    }
}
