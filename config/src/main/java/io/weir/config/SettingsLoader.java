package io.weir.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigList;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigValueFactory;
import io.weir.config.WeirSettings.BrokerSettings;
import io.weir.config.WeirSettings.ClusterSettings;
import io.weir.config.WeirSettings.ClusterTls;
import io.weir.config.WeirSettings.DemandWindowSettings;
import io.weir.config.WeirSettings.HttpSettings;
import io.weir.config.WeirSettings.PlacementMode;
import io.weir.config.WeirSettings.PlacementSettings;
import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.WeirSettings.SupplySettings;
import io.weir.config.WeirSettings.TopicsSettings;
import io.weir.config.value.BrokerId;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Layers a broker's settings, strongest first: environment, system properties, the operator's file,
 * {@code weir-akka.conf}, the libraries' references. A {@code weir} key that no reference names is a typing error and
 * is refused.
 *
 * @param settings the settings, valid
 * @param akka the same as the actor system's configuration
 */
public record SettingsLoader(WeirSettings settings, Config akka) {
    private static final String STORE_SCHEME = "jdbc:postgresql:";
    private static final int MIN_TOKEN_LENGTH = 16;

    /** Loads for a broker process. */
    public static SettingsLoader load(Optional<Path> file, Map<String, String> environment) {
        Config reference = ConfigFactory.defaultReferenceUnresolved();
        Config own = file.map(SettingsLoader::parse).orElseGet(ConfigFactory::empty);
        refuseUnknownKeys(own, reference, file);
        try {
            Config layered = fromEnvironment(reference, environment)
                    .withFallback(ConfigFactory.systemEnvironmentOverrides())
                    .withFallback(ConfigFactory.systemProperties())
                    .withFallback(own)
                    .withFallback(ConfigFactory.parseResources("weir-akka.conf"))
                    .withFallback(reference)
                    .resolve();
            WeirSettings settings = read(layered);
            return new SettingsLoader(settings, derived(settings).withFallback(layered));
        } catch (ConfigException e) {
            throw new SettingsException("settings can't be read: " + e.getMessage());
        }
    }

    /** The environment variable that overrides {@code key}. */
    public static String variableOf(String key) {
        return key.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    private static Config parse(Path file) {
        if (!Files.isReadable(file)) {
            throw new SettingsException(
                    "settings file " + file + " can't be read: does it exist, and may this user read it?");
        }
        try {
            return ConfigFactory.parseFile(
                    file.toFile(), ConfigParseOptions.defaults().setAllowMissing(false));
        } catch (ConfigException e) {
            throw new SettingsException("settings file " + file + " can't be parsed: " + e.getMessage());
        }
    }

    private static void refuseUnknownKeys(Config own, Config reference, Optional<Path> file) {
        if (!own.hasPath("weir")) {
            return;
        }
        List<String> known = weirKeys(reference);
        for (String key : weirKeys(own)) {
            if (!known.contains(key)) {
                throw new SettingsException("settings file " + file.orElseThrow() + " has the key " + key
                        + ", which does not exist; the nearest that does is " + nearest(key, known));
            }
        }
    }

    private static List<String> weirKeys(Config config) {
        List<String> keys = new ArrayList<>();
        collect("weir", config.root().get("weir"), keys);
        return keys;
    }

    private static void collect(String path, Object value, List<String> into) {
        if (value instanceof com.typesafe.config.ConfigObject object) {
            object.forEach((key, child) -> collect(path + "." + key, child, into));
        } else {
            into.add(path);
        }
    }

    private static String nearest(String key, List<String> known) {
        return known.stream()
                .min((a, b) -> Integer.compare(distance(key, a), distance(key, b)))
                .orElse("none");
    }

    /** Levenshtein's edit distance. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int substituted = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(substituted, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }

    private static Config fromEnvironment(Config reference, Map<String, String> environment) {
        Map<String, Object> overrides = new TreeMap<>();
        for (String key : weirKeys(reference)) {
            String value = environment.get(variableOf(key));
            if (value != null) {
                boolean list = reference.root().toConfig().getValue(key) instanceof ConfigList;
                overrides.put(
                        key,
                        list
                                ? List.of(
                                        value.isBlank()
                                                ? new String[0]
                                                : value.trim().split("\\s*,\\s*"))
                                : value);
            }
        }
        return ConfigFactory.parseMap(overrides, "environment");
    }

    /** Akka's settings that depend on Weir's and can't be written as a substitution in {@code weir-akka.conf}. */
    private static Config derived(WeirSettings settings) {
        Map<String, Object> derived = new HashMap<>();
        List<Map<String, Object>> endpoints = new ArrayList<>();
        for (Endpoint contact : settings.cluster().contactPoints()) {
            endpoints.add(Map.of("host", contact.host(), "port", contact.port()));
        }
        settings.cluster().tls().ifPresent(tls -> {
            String engine = "akka.remote.artery.ssl.rotating-keys-engine.";
            derived.put("akka.remote.artery.transport", "tls-tcp");
            derived.put(engine + "cert-file", tls.certificate().toString());
            derived.put(engine + "key-file", tls.key().toString());
            derived.put(engine + "ca-cert-file", tls.authority().toString());
        });
        derived.put("akka.discovery.config.services." + settings.cluster().name() + ".endpoints", endpoints);
        // As StoreConnection has it for the other connections: a store that is gone without a word must not hold a
        // ledger up until
        // the network gives up. Whole seconds, rounded up: an answer that is still in time must not be cut off.
        String seconds = Long.toString((settings.store().statementTimeout().toMillis() + 999) / 1_000);
        String driver = "akka-persistence-jdbc.shared-databases.slick.db.properties.";
        derived.put(driver + "socketTimeout", seconds);
        derived.put(driver + "connectTimeout", seconds);
        derived.put(driver + "tcpKeepAlive", "true");
        Config config = ConfigFactory.empty("derived");
        for (Map.Entry<String, Object> entry : derived.entrySet()) {
            config = config.withValue(entry.getKey(), ConfigValueFactory.fromAnyRef(entry.getValue()));
        }
        return config;
    }

    private static WeirSettings read(Config config) {
        ClusterSettings cluster = cluster(config);
        Endpoint tcp = new Endpoint(text(config, "weir.tcp.host"), port(config, "weir.tcp.port"));
        HttpSettings http = http(config, cluster, tcp);
        refuseAnOpenCluster(cluster);
        return new WeirSettings(
                broker(config),
                cluster,
                tcp,
                TcpSettings.read(config),
                http,
                store(config),
                supply(config),
                topics(config),
                placement(config),
                aeronDirectory(config, cluster),
                new Endpoint(cluster.address().host(), port(config, "weir.aeron.link-port")),
                oneOf(config, "weir.aeron.seal", "network", "always").equals("always"));
    }

    /** Whoever reaches a broker's cluster port without TLS can do what a broker can. */
    private static void refuseAnOpenCluster(ClusterSettings cluster) {
        boolean open = cluster.tls().isEmpty();
        if (open && cluster.transport().equals("tls-tcp")) {
            throw new SettingsException("weir.cluster.transport is tls-tcp, but weir.cluster.tls is not set: set its"
                    + " certificate, key and authority, which 'weir certs init' and 'weir certs issue' make");
        }
        if (open && !cluster.address().loopback()) {
            throw new SettingsException("weir.cluster.tls is not set, but other brokers reach this one at "
                    + cluster.address() + ", and so may strangers: make certificates with 'weir certs init' and"
                    + " 'weir certs issue', and set weir.cluster.tls.certificate, key and authority; or set"
                    + " weir.cluster.host to a loopback address");
        }
        if (!open && cluster.transport().equals("aeron-udp")) {
            throw new SettingsException(
                    "weir.cluster.transport is aeron-udp, which has no TLS, but weir.cluster.tls is set:"
                            + " set transport to tcp");
        }
    }

    private static Optional<ClusterTls> tls(Config config) {
        Optional<Path> certificate = file(config, "weir.cluster.tls.certificate");
        Optional<Path> key = file(config, "weir.cluster.tls.key");
        Optional<Path> authority = file(config, "weir.cluster.tls.authority");
        if (certificate.isEmpty() && key.isEmpty() && authority.isEmpty()) {
            return Optional.empty();
        }
        if (certificate.isEmpty() || key.isEmpty() || authority.isEmpty()) {
            throw new SettingsException(
                    "weir.cluster.tls has only some of certificate, key and authority: set all three, or none");
        }
        return Optional.of(new ClusterTls(certificate.get(), key.get(), authority.get()));
    }

    private static Optional<Path> file(Config config, String key) {
        String name = text(config, key);
        return name.isEmpty() ? Optional.empty() : Optional.of(path(key, name));
    }

    private static BrokerSettings broker(Config config) {
        String id = required(config, "weir.broker.id", "every broker needs an id of its own");
        BrokerId brokerId;
        try {
            brokerId = new BrokerId(id);
        } catch (IllegalArgumentException e) {
            throw SettingsException.of("weir.broker.id", id, e.getMessage());
        }
        String dataDir = required(config, "weir.broker.data-dir", "every broker needs a directory of its own");
        return new BrokerSettings(brokerId, path("weir.broker.data-dir", dataDir));
    }

    private static ClusterSettings cluster(Config config) {
        String host = required(config, "weir.cluster.host", "the other brokers must reach this one somewhere");
        String method = oneOf(config, "weir.cluster.discovery.method", "config", "kubernetes-api");
        List<Endpoint> contacts = new ArrayList<>();
        for (String contact : config.getStringList("weir.cluster.discovery.contact-points")) {
            try {
                contacts.add(Endpoint.parse(contact));
            } catch (IllegalArgumentException e) {
                throw SettingsException.of("weir.cluster.discovery.contact-points", contact, e.getMessage());
            }
        }
        if (method.equals("config") && contacts.isEmpty()) {
            throw SettingsException.of(
                    "weir.cluster.discovery.contact-points",
                    contacts,
                    "with discovery.method = config it must list every broker's management address, as host:port");
        }
        int required = whole(config, "weir.cluster.discovery.required-contact-points", 1, 1_000);
        if (method.equals("config") && (required > contacts.size() || 2 * required <= contacts.size())) {
            throw SettingsException.of(
                    "weir.cluster.discovery.required-contact-points",
                    required,
                    "must be a majority of the " + contacts.size()
                            + " contact points, else two halves of a cut network could form two clusters");
        }
        String name = required(config, "weir.cluster.name", "a cluster needs a name");
        if (!name.matches("[a-zA-Z0-9][a-zA-Z0-9-]{0,62}")) {
            throw SettingsException.of(
                    "weir.cluster.name", name, "must be 1 to 63 letters, digits or '-', a letter or digit first");
        }
        duration(config, "weir.cluster.discovery.stable-margin", Duration.ofMillis(50), Duration.ofMinutes(5));
        duration(config, "weir.cluster.gossip-interval", Duration.ofMillis(50), Duration.ofSeconds(10));
        duration(config, "weir.cluster.acceptable-pause", Duration.ofSeconds(1), Duration.ofMinutes(2));
        duration(config, "weir.cluster.join-timeout", Duration.ofSeconds(2), Duration.ofMinutes(10));
        Duration stableAfter =
                duration(config, "weir.cluster.stable-after", Duration.ofSeconds(2), Duration.ofMinutes(5));
        duration(config, "weir.cluster.down-all-when-unstable", stableAfter.plusSeconds(4), Duration.ofMinutes(30));
        return new ClusterSettings(
                name,
                new Endpoint(host, port(config, "weir.cluster.port")),
                new Endpoint(host, port(config, "weir.cluster.management-port")),
                oneOf(config, "weir.cluster.transport", "tcp", "tls-tcp", "aeron-udp"),
                tls(config),
                method,
                List.copyOf(contacts),
                required,
                duration(config, "weir.cluster.founding-patience", Duration.ofSeconds(5), Duration.ofMinutes(10)),
                duration(config, "weir.cluster.leave-timeout", Duration.ofSeconds(1), Duration.ofMinutes(2)),
                duration(config, "weir.cluster.rejoin-backoff", Duration.ofMillis(100), Duration.ofMinutes(2)));
    }

    private static HttpSettings http(Config config, ClusterSettings cluster, Endpoint tcp) {
        Endpoint address = new Endpoint(text(config, "weir.http.host"), port(config, "weir.http.port"));
        String token = text(config, "weir.http.admin-token");
        if (token.isEmpty()) {
            for (Endpoint bound : List.of(address, tcp, cluster.address())) {
                if (!bound.loopback()) {
                    throw new SettingsException("weir.http.admin-token is empty, but this broker binds to " + bound
                            + ": set a token of at least " + MIN_TOKEN_LENGTH
                            + " characters, or bind to loopback only");
                }
            }
        } else if (token.length() < MIN_TOKEN_LENGTH) {
            throw new SettingsException("weir.http.admin-token has " + token.length() + " characters: at least "
                    + MIN_TOKEN_LENGTH + " are needed");
        }
        return new HttpSettings(
                address,
                token.isEmpty() ? Optional.empty() : Optional.of(token),
                List.copyOf(config.getStringList("weir.http.names")),
                duration(config, "weir.http.request-timeout", Duration.ofMillis(100), Duration.ofMinutes(5)),
                whole(config, "weir.http.max-publications", 1, 65_536),
                whole(config, "weir.http.max-connections", 1, 65_536),
                whole(config, "weir.http.max-connections-per-address", 1, 65_536),
                duration(config, "weir.http.idle-timeout", Duration.ofSeconds(1), Duration.ofMinutes(10)));
    }

    private static StoreSettings store(Config config) {
        String url = required(config, "weir.store.url", "a broker needs a store, as jdbc:postgresql:…");
        // The URL may carry a password: the message shows its scheme only.
        if (!url.startsWith(STORE_SCHEME)) {
            throw SettingsException.of(
                    "weir.store.url",
                    url.replaceFirst("(?<=^.{0,20}:).*", "…"),
                    "must begin with " + STORE_SCHEME
                            + (url.startsWith("jdbc:h2:")
                                    ? " (H2 is no store any more: it lost what it had acknowledged)"
                                    : ""));
        }
        return new StoreSettings(
                url,
                text(config, "weir.store.user"),
                text(config, "weir.store.password"),
                whole(config, "weir.store.pool-size", 1, 100),
                duration(config, "weir.store.start-timeout", Duration.ofSeconds(1), Duration.ofMinutes(10)),
                duration(config, "weir.store.statement-timeout", Duration.ofSeconds(1), Duration.ofMinutes(2)),
                duration(config, "weir.store.registry-interval", Duration.ofMillis(100), Duration.ofMinutes(1)),
                oneOf(config, "weir.store.may-lose-commits", "on", "off", "true", "false")
                        .matches("on|true"));
    }

    private static SupplySettings supply(Config config) {
        String history = text(config, "weir.supply.history");
        return new SupplySettings(
                duration(config, "weir.supply.lease", Duration.ofSeconds(1), Duration.ofMinutes(5)),
                duration(config, "weir.supply.guard", Duration.ofMillis(100), Duration.ofMinutes(1)),
                whole(config, "weir.supply.drift-ppm", 0, 9_000),
                duration(config, "weir.supply.round", Duration.ofMillis(50), Duration.ofMinutes(1)),
                duration(config, "weir.supply.adaptation", Duration.ofMillis(50), Duration.ofMinutes(5)),
                part(config, "weir.supply.dead-band", 0.5),
                part(config, "weir.supply.reserve", 0.5),
                window(config),
                history.isEmpty() ? Optional.empty() : Optional.of(path("weir.supply.history", history)));
    }

    private static DemandWindowSettings window(Config config) {
        int slots = whole(config, "weir.supply.window.slots", 2, 1_000);
        return new DemandWindowSettings(
                duration(config, "weir.supply.window.slot", Duration.ofMillis(10), Duration.ofMinutes(1)),
                slots,
                whole(config, "weir.supply.window.long-slots", slots, 1_000));
    }

    private static TopicsSettings topics(Config config) {
        return new TopicsSettings(
                List.copyOf(config.getStringList("weir.topics.defaults")),
                bytes(config, "weir.topics.store-size", 16L << 20, 1L << 40),
                (int) bytes(config, "weir.topics.max-message-size", 1, 64L << 20),
                whole(config, "weir.tcp.max-connections", 1, 1_000_000),
                text(config, "weir.topics.queue-size").equals("auto")
                        ? OptionalLong.empty()
                        : OptionalLong.of(bytes(config, "weir.topics.queue-size", 1L << 20, 1L << 40)),
                share(config, "weir.topics.topic-share"),
                share(config, "weir.topics.token-share"));
    }

    private static double share(Config config, String key) {
        double share = part(config, key, 0.99);
        if (share < 0.01) {
            throw SettingsException.of(key, share, "must be a number from 0.01 to 0.99");
        }
        return share;
    }

    private static PlacementSettings placement(Config config) {
        return new PlacementSettings(
                placementMode(oneOf(config, "weir.placement.enabled", "registered", "on", "off", "true", "false")),
                oneOf(config, "weir.placement.policy", "lb", "conc", "max-min", "srtm"),
                duration(config, "weir.placement.objective", Duration.ofNanos(100_000), Duration.ofMinutes(1)),
                whole(config, "weir.placement.capacity", 1, 100_000_000),
                duration(config, "weir.placement.report", Duration.ofMillis(100), Duration.ofSeconds(10)),
                duration(config, "weir.placement.settle", Duration.ofMillis(100), Duration.ofMinutes(1)),
                duration(config, "weir.placement.round", Duration.ofSeconds(1), Duration.ofMinutes(10)),
                duration(config, "weir.placement.broken-for", Duration.ofSeconds(1), Duration.ofHours(1)),
                duration(config, "weir.placement.pause", Duration.ofSeconds(1), Duration.ofDays(1)),
                oneOf(config, "weir.placement.find-groups", "on", "off", "true", "false")
                        .matches("on|true"),
                duration(config, "weir.placement.registration", Duration.ofMinutes(1), Duration.ofDays(30)));
    }

    private static PlacementMode placementMode(String enabled) {
        return switch (enabled) {
            case "registered" -> PlacementMode.REGISTERED;
            case "on", "true" -> PlacementMode.ALL;
            default -> PlacementMode.OFF;
        };
    }

    private static Optional<Path> aeronDirectory(Config config, ClusterSettings cluster) {
        String directory = text(config, "weir.aeron.directory");
        if (directory.isEmpty() && cluster.transport().equals("aeron-udp")) {
            throw SettingsException.of(
                    "weir.aeron.directory",
                    "",
                    "weir.cluster.transport = aeron-udp needs the directory of a running media driver");
        }
        return directory.isEmpty() ? Optional.empty() : Optional.of(path("weir.aeron.directory", directory));
    }

    static String text(Config config, String key) {
        try {
            return config.getString(key).trim();
        } catch (ConfigException.WrongType e) {
            throw SettingsException.of(key, config.getValue(key).unwrapped(), "must be a text");
        }
    }

    private static String required(Config config, String key, String why) {
        String value = text(config, key);
        if (value.isEmpty()) {
            throw new SettingsException(
                    key + " is not set: " + why + "; set it in the settings file or as " + variableOf(key));
        }
        return value;
    }

    static String oneOf(Config config, String key, String... allowed) {
        String value = text(config, key);
        if (!List.of(allowed).contains(value)) {
            throw SettingsException.of(key, value, "must be one of " + String.join(", ", allowed));
        }
        return value;
    }

    private static int port(Config config, String key) {
        return whole(config, key, 1, 65_535);
    }

    static int whole(Config config, String key, int min, int max) {
        String rule = "must be a whole number from " + min + " to " + max;
        try {
            int value = config.getInt(key);
            if (value < min || value > max) {
                throw SettingsException.of(key, value, rule);
            }
            return value;
        } catch (ConfigException e) {
            throw SettingsException.of(key, config.getValue(key).unwrapped(), rule);
        }
    }

    static long bytes(Config config, String key, long min, long max) {
        String rule = "must be a size from " + min + " to " + max + " bytes, such as 256MiB";
        try {
            long value = config.getBytes(key);
            if (value < min || value > max) {
                throw SettingsException.of(key, config.getValue(key).unwrapped(), rule);
            }
            return value;
        } catch (ConfigException e) {
            throw SettingsException.of(key, config.getValue(key).unwrapped(), rule);
        }
    }

    private static double part(Config config, String key, double max) {
        String rule = "must be a number from 0 to " + max;
        try {
            double value = config.getDouble(key);
            if (!(value >= 0 && value <= max)) {
                throw SettingsException.of(key, value, rule);
            }
            return value;
        } catch (ConfigException e) {
            throw SettingsException.of(key, config.getValue(key).unwrapped(), rule);
        }
    }

    static Duration duration(Config config, String key, Duration min, Duration max) {
        String rule = "must be a duration from " + show(min) + " to " + show(max) + ", such as 500ms or 5s";
        try {
            Duration value = config.getDuration(key);
            if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
                throw SettingsException.of(key, config.getValue(key).unwrapped(), rule);
            }
            return value;
        } catch (ConfigException e) {
            throw SettingsException.of(key, config.getValue(key).unwrapped(), rule);
        }
    }

    private static String show(Duration duration) {
        return duration.toMillis() % 1_000 == 0 ? duration.toSeconds() + "s" : duration.toMillis() + "ms";
    }

    static Path path(String key, String value) {
        try {
            return Path.of(value).toAbsolutePath().normalize();
        } catch (InvalidPathException e) {
            throw SettingsException.of(key, value, "is not a path");
        }
    }
}
