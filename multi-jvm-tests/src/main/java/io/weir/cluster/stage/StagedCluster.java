package io.weir.cluster.stage;

import io.weir.cluster.TopicClient;
import io.weir.config.Endpoint;
import io.weir.supervisor.local.CertificateAuthority;
import io.weir.supervisor.local.Installation;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.node.BrokerStatus;
import io.weir.supervisor.node.Readiness;
import io.weir.supervisor.store.StoreServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A cluster on a {@link Stage}: a broker and a media driver on each broker's host, with the usual ports, and the store
 * on the host {@link #STORE}. Every process can be killed, stopped and started again, and packets are
 * {@link Stage#network}'s matter; a slow store is one whose directions are delayed. What asks the brokers here goes
 * through doors that no cut closes.
 *
 * <p>Brokers trust nobody who lacks the admin token, nor a broker without a certificate of the stage's own authority,
 * since their addresses are not loopback. The directory, with settings and logs, stays behind when this is closed; it
 * must be new. What the embedded store wrote does not stay: its disk is memory of a given size, so that it can be
 * filled.
 */
public final class StagedCluster implements AutoCloseable {
    /** The host of the store. */
    public static final String STORE = "store";

    public static final int TCP = 4150;
    public static final int HTTP = 4151;
    private static final int CLUSTER = 4152;
    private static final int MANAGEMENT = 4153;
    private static final int LINK = 4154;
    private static final int STORE_PORT = 4160;
    private static final String TOKEN = "only-for-this-stage";
    private static final Duration END_WITHIN = Duration.ofSeconds(20);
    private static final Duration STORE_UP_WITHIN = Duration.ofSeconds(30);
    private static final int DEFAULT_DISK_MIB = 128;
    private static final int CERTIFICATE_DAYS = 30;

    /** What a cluster will be. */
    public static final class Builder {
        private final Stage stage;
        private Installation installation;
        private Path directory;
        private List<String> brokers = List.of();
        private Optional<String> storeUrl = Optional.empty();
        private int diskMib = DEFAULT_DISK_MIB;
        private Map<String, String> environment = Map.of();

        private Builder(Stage stage) {
            this.stage = stage;
        }

        public Builder from(Installation used) {
            this.installation = used;
            return this;
        }

        /** Where settings, data and logs are; it must be new. */
        public Builder in(Path used) {
            this.directory = used.toAbsolutePath();
            return this;
        }

        /** Whom it begins with: hosts of the stage. Brokers of other hosts may join later. */
        public Builder brokers(List<String> ids) {
            this.brokers = List.copyOf(ids);
            return this;
        }

        /**
         * A PostgreSQL that somebody else runs, as this process reaches it, with user and password in the URL. It gets
         * a place at the host {@link #STORE}, and what befalls that host's network befalls it; its process and disk are
         * not ours to touch.
         */
        public Builder withStore(String url) {
            this.storeUrl = Optional.of(url);
            return this;
        }

        /** How much the embedded store's disk holds. */
        public Builder withStoreDisk(int mib) {
            this.diskMib = mib;
            return this;
        }

        /** Settings of every broker, by their variables. */
        public Builder withEnvironment(Map<String, String> all) {
            this.environment = Map.copyOf(all);
            return this;
        }

        /** Nothing runs yet. */
        public StagedCluster build() {
            return new StagedCluster(this);
        }
    }

    private final Stage stage;
    private final Installation installation;
    private final Path directory;
    private final int founders;
    private final Set<String> ids;
    private final Map<String, String> environment;
    private final PostgresUrl postgres;
    private final Map<String, StagedProcess> brokers = new LinkedHashMap<>();
    private final Map<String, StagedProcess> drivers = new LinkedHashMap<>();
    private final List<StagedProcess> publishers = new ArrayList<>();
    private final Map<String, Endpoint> doors = new HashMap<>();
    private final Path authority;
    /** One for all brokers, good at any host: their hosts are this test's own. */
    private final CertificateAuthority.Issued certificates;

    private StagedProcess store;

    private StagedCluster(Builder plan) {
        stage = plan.stage;
        installation = plan.installation;
        directory = plan.directory;
        founders = plan.brokers.size();
        ids = new LinkedHashSet<>(plan.brokers);
        environment = plan.environment;
        postgres = plan.storeUrl.map(PostgresUrl::parse).orElse(null);
        // Names a host that the stage lacks.
        ids.forEach(stage::address);
        stage.address(STORE);
        try {
            Files.createDirectories(storeDirectory());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        CertificateAuthority own = CertificateAuthority.create(directory.resolve("certs"), CERTIFICATE_DAYS);
        authority = own.certificate();
        certificates = own.issue("broker", List.of(), CERTIFICATE_DAYS, directory.resolve("certs"));
        if (postgres != null) {
            stage.outlet(STORE, postgres.server().port(), postgres.server());
        } else {
            stage.run(List.of(
                    "mount",
                    "-t",
                    "tmpfs",
                    "-o",
                    "size=" + plan.diskMib + "m,mode=0700",
                    "tmpfs",
                    storeDirectory().toString()));
        }
    }

    public static Builder on(Stage stage) {
        return new Builder(stage);
    }

    /**
     * Starts the store and every media driver and broker that does not run; whether they are ready is for
     * {@link #allReady} to say.
     */
    public void start() {
        if (postgres == null && !isStoreAlive()) {
            startStore();
        }
        for (String id : ids) {
            if (!isMediaDriverAlive(id)) {
                startMediaDriver(id);
            }
            if (!isAlive(id)) {
                start(id);
            }
        }
    }

    /** The brokers that belong to the cluster: those it began with and those that joined, without those that left. */
    public List<String> ids() {
        return List.copyOf(ids);
    }

    /** Starts a broker; its media driver is a process of its own and stays as it is. */
    public void start(String id) {
        start(id, Map.of(), List.of());
    }

    /** Starts a broker with further variables and jars, for this one time. */
    public void start(String id, Map<String, String> extraEnvironment, List<Path> extraClassPath) {
        if (isAlive(id)) {
            throw new IllegalStateException(id + " runs already");
        }
        try {
            Path own = Files.createDirectories(directory.resolve(id));
            Path settings = own.resolve("broker.conf");
            Files.writeString(settings, settings(id, own));
            Map<String, String> all = new HashMap<>(environment);
            all.putAll(extraEnvironment);
            List<String> command =
                    installation.command("broker", extraClassPath, List.of("broker", "--config", settings.toString()));
            brokers.put(id, stage.start(id, command, all, log(id)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A broker of a host where none was: its media driver and itself. */
    public void join(String id) {
        stage.address(id);
        if (!ids.add(id)) {
            throw new IllegalStateException(id + " is a member already");
        }
        if (!isMediaDriverAlive(id)) {
            startMediaDriver(id);
        }
        start(id);
    }

    /** The broker leaves in good order; returns when its process has ended. It may {@link #join} again. */
    public void leave(String id) {
        StagedProcess broker = running(id);
        broker.terminate();
        if (!broker.awaitExit(END_WITHIN)) {
            throw new IllegalStateException(
                    id + " did not leave within " + END_WITHIN.toSeconds() + " s; its log: " + log(id));
        }
        ids.remove(id);
    }

    /** kill -9; returns when the process is gone. */
    public void kill(String id) {
        running(id).kill();
    }

    /** SIGSTOP. */
    public void pause(String id) {
        running(id).pause();
    }

    /** SIGCONT. */
    public void resume(String id) {
        running(id).resume();
    }

    public boolean isAlive(String id) {
        return brokers.containsKey(id) && brokers.get(id).isAlive();
    }

    public boolean isPaused(String id) {
        return brokers.containsKey(id) && brokers.get(id).isPaused();
    }

    /** The broker's process, alive or not. */
    public StagedProcess broker(String id) {
        StagedProcess broker = brokers.get(id);
        if (broker == null) {
            throw new IllegalArgumentException("no broker " + id + " was ever started");
        }
        return broker;
    }

    private StagedProcess running(String id) {
        StagedProcess broker = broker(id);
        if (!broker.isAlive()) {
            throw new IllegalStateException(id + " does not run; its log: " + log(id));
        }
        return broker;
    }

    /** Starts a host's media driver with an empty directory. */
    public void startMediaDriver(String id) {
        if (isMediaDriverAlive(id)) {
            throw new IllegalStateException("the media driver of " + id + " runs already");
        }
        // A dead one's would look alive for as long as drivers are given to answer.
        stage.run(List.of("rm", "-rf", aeron(id)));
        drivers.put(
                id,
                stage.start(
                        id,
                        installation.command("media-driver", List.of("media-driver", "--dir", aeron(id))),
                        Map.of(),
                        log(id + "-media-driver")));
    }

    /** kill -9. */
    public void killMediaDriver(String id) {
        if (!drivers.containsKey(id)) {
            throw new IllegalArgumentException("no media driver of " + id + " was ever started");
        }
        drivers.get(id).kill();
    }

    public boolean isMediaDriverAlive(String id) {
        return drivers.containsKey(id) && drivers.get(id).isAlive();
    }

    /** In the stage's own shared memory, which nobody outside sees; each host's is its own. */
    private static String aeron(String id) {
        return "/dev/shm/aeron-" + id;
    }

    /** Why the store's process and disk can't be touched; empty if they can. */
    public Optional<String> storeObstacle() {
        return postgres == null
                ? Optional.empty()
                : Optional.of("the store is a PostgreSQL that runs elsewhere: only its network can be broken");
    }

    /** Starts the embedded store; returns when it accepts connections. */
    public void startStore() {
        checkStoreIsOurs();
        if (isStoreAlive()) {
            throw new IllegalStateException("the store runs already");
        }
        store = stage.start(
                STORE,
                installation.command(
                        "store",
                        List.of(
                                "store",
                                "--dir",
                                storeDirectory().toString(),
                                "--host",
                                stage.address(STORE),
                                "--port",
                                Integer.toString(STORE_PORT))),
                Map.of("WEIR_STORE_PASSWORD", TOKEN),
                log(STORE));
        Stage.await(
                "the store accepts connections; its log: " + log(STORE),
                STORE_UP_WITHIN,
                () -> stage.accepts(STORE, STORE_PORT));
    }

    /** kill -9. */
    public void killStore() {
        store().kill();
    }

    /** kill -9 of its process and of those that serve its connections. */
    public void killStoreWithItsChildren() {
        store().killAll();
    }

    /** SIGSTOP. */
    public void pauseStore() {
        store().pause();
    }

    /** SIGCONT. */
    public void resumeStore() {
        store().resume();
    }

    public boolean isStoreAlive() {
        return store != null && store.isAlive();
    }

    private StagedProcess store() {
        checkStoreIsOurs();
        if (store == null) {
            throw new IllegalStateException("the store was never started");
        }
        return store;
    }

    /** Takes all that is left of the store's disk. */
    public void fillStoreDisk() {
        checkStoreIsOurs();
        stage.fill(ballast());
    }

    /** Gives it back. */
    public void freeStoreDisk() {
        checkStoreIsOurs();
        stage.run(List.of("rm", "-f", ballast().toString()));
    }

    public long storeDiskFreeBytes() {
        checkStoreIsOurs();
        String answer = stage.run(
                        List.of("stat", "-f", "-c", "%a %S", storeDirectory().toString()))
                .strip();
        String[] blocksAndSize = answer.split(" ");
        return Long.parseLong(blocksAndSize[0]) * Long.parseLong(blocksAndSize[1]);
    }

    private Path ballast() {
        return storeDirectory().resolve("ballast");
    }

    private Path storeDirectory() {
        return directory.resolve(STORE);
    }

    private void checkStoreIsOurs() {
        storeObstacle().ifPresent(why -> {
            throw new IllegalStateException(why);
        });
    }

    /** The store as this process reaches it, whatever happens to the network; with user and password. */
    public String storeUrl() {
        return postgres != null ? postgres.original() : StoreServer.url(door(STORE, STORE_PORT), TOKEN);
    }

    private String storeUrlOnStage() {
        return postgres != null
                ? postgres.at(stage.address(STORE))
                : StoreServer.url(new Endpoint(stage.address(STORE), STORE_PORT));
    }

    /** Why {@link #cpuQuota} is impossible; empty if it is possible. */
    public Optional<String> cpuObstacle() {
        return stage.cpuObstacle();
    }

    /** So many hundredths of one core, until {@link #noCpuQuota} or the process's end. */
    public void cpuQuota(String id, int percent) {
        stage.cpuQuota(running(id), percent);
    }

    public void noCpuQuota(String id) {
        stage.noCpuQuota(running(id));
    }

    /**
     * Publishes at a broker from inside its own network, so that it goes on when that is cut off; until this is closed.
     */
    public void publish(String id, String topic, int perSecond) {
        List<String> arguments = List.of(
                "pub",
                topic,
                "a message of some length",
                "--rate",
                Integer.toString(perSecond),
                "--count",
                Long.toString(Long.MAX_VALUE),
                "--tcp",
                tcp(id).toString());
        publishers.add(stage.start(id, installation.command("cli", arguments), Map.of(), log(id + "-publisher")));
    }

    private String settings(String id, Path own) {
        String host = stage.address(id);
        String contacts = ids.stream()
                .map(other -> "\"" + stage.address(other) + ":" + MANAGEMENT + "\"")
                .collect(Collectors.joining(", "));
        Stream<String> user = postgres != null
                ? Stream.of()
                : Stream.of("  store { user = \"" + StoreServer.USER + "\", password = \"" + TOKEN + "\" }");
        return Stream.of(
                        Stream.of(
                                "weir {",
                                "  broker { id = \"" + id + "\", data-dir = \"" + own + "\" }",
                                "  tcp { host = \"" + host + "\", port = " + TCP + " }",
                                "  http { host = \"" + host + "\", port = " + HTTP + ", admin-token = \"" + TOKEN
                                        + "\" }",
                                "  cluster { host = \"" + host + "\", port = " + CLUSTER + ", management-port = "
                                        + MANAGEMENT + " }",
                                "  cluster.tls { certificate = \"" + certificates.certificate() + "\", key = \""
                                        + certificates.key() + "\", authority = \"" + authority + "\" }",
                                "  cluster.discovery { contact-points = [" + contacts + "], required-contact-points = "
                                        + (founders / 2 + 1) + " }",
                                "  aeron { directory = \"" + aeron(id) + "\", link-port = " + LINK + " }",
                                "  store.url = \"" + storeUrlOnStage() + "\""),
                        user,
                        Stream.of("}", ""))
                .flatMap(lines -> lines)
                .collect(Collectors.joining("\n"));
    }

    /** What a process printed: a broker by its id, {@code store}, {@code b1-media-driver}, {@code b1-publisher}. */
    public Path log(String name) {
        return directory.resolve(name + ".log");
    }

    public boolean allReady() {
        return ids.stream().allMatch(this::isReady);
    }

    public boolean isReady(String id) {
        return client(id).readiness().join().map(Readiness::ready).orElse(false);
    }

    /** Empty if the broker does not answer: it does not run, or stands still. One that is cut off does answer. */
    public Optional<BrokerStatus> status(String id) {
        return client(id).status().join();
    }

    /** Asks a broker through its door. */
    public BrokerClient client(String id) {
        return new BrokerClient(http(id));
    }

    /** Changes and describes topics at one broker, through its door. */
    public TopicClient topics(String id) {
        return new TopicClient(http(id), Optional.of(TOKEN));
    }

    public String adminToken() {
        return TOKEN;
    }

    /** Where this process reaches a broker's HTTP server. */
    public Endpoint http(String id) {
        return door(id, HTTP);
    }

    /** Where clients on the stage find a broker. */
    public Endpoint tcp(String id) {
        return new Endpoint(stage.address(id), TCP);
    }

    private synchronized Endpoint door(String host, int port) {
        return doors.computeIfAbsent(host + ":" + port, key -> stage.door(host, port));
    }

    @Override
    public void close() {
        if (!stage.isAlive()) {
            return;
        }
        publishers.forEach(StagedProcess::kill);
        // Nobody is left to whom leaving in good order would matter.
        brokers.values().forEach(StagedProcess::kill);
        drivers.values().forEach(StagedProcess::kill);
        if (store != null) {
            store.kill();
        }
    }

    /** A PostgreSQL's URL, whose server is replaced by its place on the stage. */
    private record PostgresUrl(String original, Endpoint server) {
        private static final String SCHEME = "jdbc:postgresql://";

        static PostgresUrl parse(String url) {
            int end = url.indexOf('/', SCHEME.length());
            if (!url.startsWith(SCHEME) || end < 0) {
                throw new IllegalArgumentException("a store's URL begins with " + SCHEME + "HOST:PORT/, not " + url);
            }
            return new PostgresUrl(url, Endpoint.parse(url.substring(SCHEME.length(), end)));
        }

        String at(String host) {
            String place = SCHEME + server;
            return SCHEME + new Endpoint(host, server.port()) + original.substring(place.length());
        }
    }
}
