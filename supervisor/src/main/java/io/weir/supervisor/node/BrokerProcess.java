package io.weir.supervisor.node;

import akka.http.javadsl.model.StatusCodes;
import io.weir.config.SettingsException;
import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings;
import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.actor.Failpoints;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.limiter.supply.value.Holder;
import io.weir.supervisor.node.http.HttpServer;
import io.weir.supervisor.store.BrokerRegistry;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import io.weir.supervisor.store.StoreException;
import io.weir.topics.definition.Topic;
import io.weir.topics.definition.TopicDefinition;
import io.weir.transport.MediaDriverProcess;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A broker as an operating system process. It holds the data directory's lock and the HTTP server for its whole life,
 * and within it runs one {@link BrokerNode} after another:
 *
 * <pre>
 * starting ── store answers, incarnation allocated ──► node runs
 * node runs ── removed by the split brain resolver ──► back-off ──► next incarnation ──► node runs
 * node runs ── stop requested (SIGTERM, POST /stop) ──► leaves the cluster ──► ended, exit code 0
 * starting ── anything that an operator must mend ──► ended, one readable reason, exit code not 0
 * </pre>
 */
public final class BrokerProcess implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerProcess.class);

    private final SettingsLoader loaded;
    private final WeirSettings settings;
    private final DataDirectory directory;
    private final BrokerRegistry registry;
    private final HttpServer http;
    private final BrokerTopics topics;
    private final BrokerSupply supply;
    private final IdleCollector collector;
    private final Thread registryReader;
    private final CountDownLatch stopRequested = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private final long startedNs = System.nanoTime();
    private final LastParts lastParts = new LastParts(System::nanoTime);

    private volatile NodeView view = NodeView.down(0);
    private volatile List<RegisteredBroker> known = List.of();
    private volatile long knownAtNs = System.nanoTime();
    private volatile boolean recovered;
    private volatile long rejoins;
    private volatile BrokerNode node;

    private BrokerProcess(SettingsLoader loaded) {
        Failpoints failpoints = failpoints();
        this.loaded = loaded;
        this.settings = loaded.settings();
        settings.cluster().tls().ifPresent(files -> BrokerTls.check(files, Instant.now()));
        this.directory = DataDirectory.lock(settings.broker().dataDir());
        this.registry = new BrokerRegistry(settings.store());
        this.registryReader = new Thread(this::readRegistry, "weir-registry-reader");
        registryReader.setDaemon(true);
        BrokerTopics ofThisProcess = null;
        try {
            ofThisProcess = new BrokerTopics(settings, failpoints.clock(), failpoints.loanCopies());
            this.http = HttpServer.start(this, ofThisProcess, settings.http(), loaded.akka());
        } catch (StartException | SettingsException e) {
            if (ofThisProcess != null) {
                ofThisProcess.close();
            }
            registry.close();
            directory.close();
            throw e;
        }
        this.topics = ofThisProcess;
        this.supply =
                new BrokerSupply(settings, http.system(), directory, topics::wakeUp, this::beginAgain, failpoints);
        topics.start(supply.gates());
        this.collector = IdleCollector.start(topics::threadId);
        http.bind(supply, topics);
    }

    /** There are none unless the chaos tool's jar is on the class path. */
    private static Failpoints failpoints() {
        Optional<Failpoints> found;
        try {
            found = ServiceLoader.load(Failpoints.class).findFirst();
        } catch (ServiceConfigurationError e) {
            throw new StartException("the failpoints on the class path can't be used: " + rootMessage(e));
        }
        found.ifPresent(failpoints -> LOG.warn(
                "FAILPOINTS are on the class path: this broker is for chaos tests only and does not keep what Weir promises. Armed: {}",
                failpoints.armed().isEmpty() ? "none" : String.join("; ", failpoints.armed())));
        return found.orElse(Failpoints.NONE);
    }

    /**
     * Runs a broker until somebody stops it.
     *
     * @throws StartException if it can't start, with the reason
     * @throws SettingsException if a setting is wrong
     */
    public static void run(SettingsLoader loaded) {
        try (BrokerProcess process = new BrokerProcess(loaded)) {
            Thread hook = new Thread(process::stopAndWait, "weir-stop");
            Runtime.getRuntime().addShutdownHook(hook);
            process.live();
        }
    }

    private void live() {
        try {
            if (!registry.awaitStore(this::stopping)) {
                return;
            }
            registryReader.start();
            boolean first = true;
            while (!stopping()) {
                runOneLife(first);
                first = false;
                stopRequested.await(settings.cluster().rejoinBackoff().toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (StoreException e) {
            throw new StartException(e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void runOneLife(boolean first) throws InterruptedException {
        long incarnation;
        try {
            incarnation = registry.nextIncarnation(settings, topics::linkWord);
        } catch (StoreException e) {
            if (first) {
                throw e;
            }
            LOG.debug("{} waits for the store before it joins again: {}", id(), e.getMessage());
            return;
        }
        refuseAStoreThatForgot(incarnation);
        SupplyCoordinator.Dependencies dependencies;
        try {
            dependencies = supply.begin(incarnation);
        } catch (StoreException e) {
            if (first) {
                throw e;
            }
            LOG.debug("{} could not begin to hold supply: {}", id(), e.getMessage());
            return;
        }
        directory.writeIncarnation(incarnation);
        view = NodeView.down(incarnation);
        if (!first) {
            rejoins++;
            LOG.info("{} is in no cluster any more and joins again as incarnation {}", id(), incarnation);
        } else {
            LOG.info(
                    "{} starts as incarnation {} (pid {})",
                    id(),
                    incarnation,
                    ProcessHandle.current().pid());
        }
        BrokerNode life = startNode(incarnation, dependencies, first);
        if (life == null) {
            return;
        }
        node = life;
        recovered = true;
        // If the tenure was closed while this life began, there was no node to end yet.
        if (stopping() || supply.tenureOver()) {
            life.leave();
        }
        life.terminated().toCompletableFuture().join();
        recovered = false;
        node = null;
        view = NodeView.down(incarnation);
        if (stopping()) {
            markStopped(incarnation);
        }
    }

    /**
     * Incarnations only grow. One that does not comes from another store, or from a store that was restored from an
     * older state.
     */
    private void refuseAStoreThatForgot(long incarnation) {
        long last = directory.lastIncarnation();
        if (incarnation <= last) {
            throw new StartException("the store gave " + id() + " the incarnation " + incarnation
                    + ", but this data directory has already had " + last + ": is "
                    + settings.store().safeUrl()
                    + " the store that it belongs to? If that one is lost for good, start with a new data directory");
        }
    }

    private BrokerNode startNode(long incarnation, SupplyCoordinator.Dependencies dependencies, boolean first) {
        try {
            return BrokerNode.start(
                    loaded,
                    incarnation,
                    new Founding(registry, settings, incarnation),
                    dependencies,
                    topics,
                    seen -> view = seen);
        } catch (RuntimeException e) {
            Throwable cause = e instanceof CompletionException && e.getCause() != null ? e.getCause() : e;
            String reason =
                    "the actor system can't start on " + settings.cluster().address() + " with management on "
                            + settings.cluster().management() + ": " + rootMessage(cause);
            LOG.debug("{} could not start its actor system", id(), cause);
            if (first) {
                throw new StartException(reason + "; is a port taken? Set weir.cluster.port and management-port");
            }
            LOG.warn("{} could not start again and tries once more: {}", id(), reason);
            return null;
        }
    }

    private void markStopped(long incarnation) {
        try {
            registry.markStopped(settings.broker().id(), incarnation);
        } catch (StoreException e) {
            LOG.debug("{} could not tell the store that it stopped: {}", id(), e.getMessage());
        }
    }

    private void readRegistry() {
        boolean loggedNamesake = false;
        Reunion reunion = new Reunion(id());
        try {
            while (!stopping()) {
                try {
                    known = registry.brokers();
                    topics.follow(known);
                    knownAtNs = System.nanoTime();
                    if (!loggedNamesake && hasNamesake()) {
                        LOG.error("Another process runs as {}: give one of them another weir.broker.id", id());
                        loggedNamesake = true;
                    }
                    joinTheOthersIfApart(reunion);
                } catch (StoreException e) {
                    LOG.debug("{} could not read the registry: {}", id(), e.getMessage());
                }
                stopRequested.await(settings.store().registryInterval().toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean hasNamesake() {
        long own = view.incarnation();
        return own > 0
                && known.stream()
                        .anyMatch(broker -> broker.id().equals(settings.broker().id())
                                && broker.pid() != ProcessHandle.current().pid()
                                && broker.incarnation() > own);
    }

    private void joinTheOthersIfApart(Reunion reunion) {
        BrokerNode current = node;
        if (current != null && reunion.shouldJoinAnother(view, known)) {
            LOG.info("{} leaves its cluster: the other brokers are in another", id());
            current.leave();
        }
    }

    /**
     * Begins to stop; returns at once. The gates close first, so that the buddy inherits while this broker still
     * leaves.
     */
    public void requestStop() {
        stopRequested.countDown();
        Thread leaving = new Thread(
                () -> {
                    supply.leave();
                    BrokerNode current = node;
                    if (current != null) {
                        current.leave();
                    }
                },
                "weir-leave");
        leaving.setDaemon(true);
        leaving.start();
    }

    /** Fenced: this life is over, the next one holds supply under a new incarnation. */
    private void beginAgain() {
        BrokerNode current = node;
        if (current != null && !stopping()) {
            current.leave();
        }
    }

    /**
     * What the cluster can be asked about topics.
     *
     * @throws Refusal while this broker is in none
     */
    public TopicAdmin cluster() {
        BrokerNode current = node;
        if (current == null) {
            throw new Refusal(StatusCodes.SERVICE_UNAVAILABLE, "UNAVAILABLE", id() + " is not in a cluster just now");
        }
        return current.topics(supply.store(), topics.rows(), lastParts, supply.storeThreads(), askTimeout());
    }

    /**
     * How long a request over HTTP waits for the cluster. A third of its time-out leaves time for a second question,
     * and for the answer that the cluster did not reply.
     */
    public Duration askTimeout() {
        return settings.http().requestTimeout().dividedBy(3);
    }

    public void learned(TopicDefinition definition) {
        topics.learned(definition);
    }

    /**
     * The same answer, when all brokers that are up go by the definition in it. They would read it from the store
     * within a second anyway; whoever pauses a topic wants to know that it is paused.
     *
     * @throws Refusal if some do not say so in time
     */
    public CompletionStage<Topic.Answer> toldEverywhere(Topic.Answer answer) {
        if (answer.problem() != null || answer.pending()) {
            return CompletableFuture.completedFuture(answer);
        }
        List<BrokerId> up = brokersUp().stream().map(RegisteredBroker::id).toList();
        return cluster().tell(answer.definition(), up).thenApply(silent -> {
            if (!silent.isEmpty()) {
                throw new Refusal(
                        StatusCodes.SERVICE_UNAVAILABLE,
                        "NOT_TOLD",
                        "it is decided, but these brokers did not say in time that they go by it: " + silent
                                + "; they will as soon as they read the store");
            }
            return answer;
        });
    }

    /**
     * The brokers that clients may go to: members of the cluster that are up as seen from here. While this broker is in
     * no cluster itself, those that the registry believes to run.
     */
    public List<RegisteredBroker> brokersUp() {
        NodeView seen = view;
        return known.stream()
                .filter(RegisteredBroker::running)
                .filter(broker -> !seen.up() || seen.members().stream().anyMatch(isUp(broker)))
                .toList();
    }

    private static Predicate<NodeView.MemberView> isUp(RegisteredBroker broker) {
        return member -> member.state().equals("up")
                && member.id().equals(broker.id().value())
                && member.incarnation() == broker.incarnation();
    }

    public WeirSettings settings() {
        return settings;
    }

    public long uptimeMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNs);
    }

    /**
     * Stores that this life of a broker is over, and makes every broker look at the rows, so that the heir does not
     * wait for its next look.
     */
    public void confirmStopped(BrokerId victim, long incarnation) {
        supply.store().stop(new Holder(victim, incarnation));
        BrokerNode current = node;
        if (current != null) {
            current.lookEverywhere(askTimeout());
        }
    }

    public BrokerSupply supply() {
        return supply;
    }

    private void stopAndWait() {
        requestStop();
        Duration patience = settings.cluster().leaveTimeout().multipliedBy(3).plusSeconds(5);
        try {
            if (!ended.await(patience.toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.warn(
                        "{} did not leave in good order within {} s and ends all the same", id(), patience.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        stopRequested.countDown();
        collector.close();
        supply.close();
        topics.close();
        http.close();
        registry.close();
        directory.close();
        LOG.info("{} has stopped", id());
        ended.countDown();
    }

    private boolean stopping() {
        return stopRequested.getCount() == 0;
    }

    public String id() {
        return settings.broker().id().value();
    }

    public NodeView view() {
        return view;
    }

    public long rejoins() {
        return rejoins;
    }

    public long registryAgeMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - knownAtNs);
    }

    public boolean mediaDriverActive() {
        return settings.aeronDirectory().map(MediaDriverProcess::isActive).orElse(false);
    }

    public Readiness readiness() {
        List<String> waitingFor = new ArrayList<>();
        if (!recovered) {
            waitingFor.add("the broker's state to be recovered from the store");
        }
        if (!view.up()) {
            waitingFor.add("the cluster to take this broker in (now: " + view.state() + ")");
        }
        if (recovered && supply.leaseRemainingNs() <= 0) {
            waitingFor.add(
                    "the store to renew its lease: until then it admits nothing beyond topics' floors (the store was last"
                            + " heard of " + TimeUnit.MILLISECONDS.toSeconds(registryAgeMs()) + " s ago)");
        }
        if (stopping()) {
            waitingFor.add("nothing: it is stopping");
        }
        return new Readiness(waitingFor.isEmpty(), waitingFor);
    }

    public BrokerStatus status() {
        NodeView seen = view;
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        return new BrokerStatus(
                id(),
                stopping() && seen.up() ? "leaving" : seen.state(),
                seen.incarnation(),
                ProcessHandle.current().pid(),
                settings.tcp().toString(),
                settings.http().address().toString(),
                settings.cluster().address().toString(),
                uptimeMs(),
                heap.getUsed(),
                heap.getMax(),
                rejoins,
                settings.aeronDirectory().isEmpty() ? "none" : mediaDriverActive() ? "active" : "absent",
                seen.leader().orElse(null),
                seen.singletonHost().orElse(null),
                seen.members(),
                known.stream()
                        .map(broker -> new BrokerStatus.Known(
                                broker.id().value(),
                                broker.incarnation(),
                                broker.pid(),
                                broker.tcp(),
                                broker.http(),
                                broker.running()))
                        .toList());
    }

    private static String rootMessage(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage();
    }
}
