package io.weir.supervisor.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.weir.config.SettingsException;
import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings;
import io.weir.supervisor.cli.Weir;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import picocli.CommandLine;

/** The deployment files can't be run here; what can be checked by reading them is. */
class DeploymentFilesTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Path DEPLOY = ROOT.resolve("config/deploy");
    private static final Pattern VARIABLE = Pattern.compile("\\bWEIR_[A-Z0-9_]+\\b");
    private static final String TOKEN = "0123456789abcdef";

    @Test
    void shouldNameOnlyVariablesThatExist() throws IOException {
        Set<String> known = new TreeSet<>();
        ConfigFactory.defaultReference()
                .getConfig("weir")
                .entrySet()
                .forEach(entry -> known.add(SettingsLoader.variableOf("weir." + entry.getKey())));
        // What is no setting but an instruction to the launcher, or to the log.
        for (Path reader : List.of(ROOT.resolve("weir"), ROOT.resolve("config/src/main/resources/logback.xml"))) {
            Matcher read = Pattern.compile("\\$\\{(WEIR_[A-Z_]+)").matcher(Files.readString(reader));
            while (read.find()) {
                known.add(read.group(1));
            }
        }
        int named = 0;
        try (Stream<Path> files = Files.list(DEPLOY)) {
            for (Path file : files.toList()) {
                Matcher variable = VARIABLE.matcher(Files.readString(file));
                while (variable.find()) {
                    named++;
                    assertThat(known).as(file.getFileName().toString()).contains(variable.group());
                }
            }
        }
        assertThat(named).isGreaterThan(20);
    }

    // Docker

    @Test
    void shouldBuildInOneStageAndRunAsNobodySpecialInAnother() throws IOException {
        List<String> lines = instructions("Dockerfile");
        List<String> from =
                lines.stream().filter(line -> line.startsWith("FROM ")).toList();
        List<String> runtime = lines.subList(lines.lastIndexOf(from.get(from.size() - 1)), lines.size());

        assertThat(from).hasSize(2);
        assertThat(from.get(0)).endsWith(" AS build");
        assertThat(from.get(1)).contains(":17").doesNotContain("latest");
        assertThat(runtime)
                .filteredOn(line -> line.startsWith("USER "))
                .singleElement()
                .asString()
                .doesNotContain("root")
                .matches("USER [1-9][0-9]*:[1-9][0-9]*");
        assertThat(runtime).anyMatch(line -> line.startsWith("COPY --from=build /opt/weir "));
        assertThat(runtime).contains("VOLUME /var/lib/weir", "ENV WEIR_BROKER_DATA_DIR=/var/lib/weir");
        assertThat(lines).noneMatch(line -> line.startsWith("ADD "));
        assertThat(lines.get(lines.size() - 1)).isEqualTo("ENTRYPOINT [\"/opt/weir/weir\", \"broker\"]");
        assertCommand(List.of("/opt/weir/weir", "broker"));
    }

    @Test
    void shouldExposeThePortsThatABrokerListensOn() throws IOException {
        String ports = instructions("Dockerfile").stream()
                .filter(line -> line.startsWith("EXPOSE "))
                .findFirst()
                .orElseThrow();

        assertThat(ports.replace("/udp", "").split(" "))
                .containsExactlyInAnyOrderElementsOf(Stream.concat(
                                Stream.of("EXPOSE"),
                                defaultPorts().values().stream().map(String::valueOf))
                        .toList());
    }

    // Kubernetes

    @Test
    void shouldSelectThePodsThatThereAre() throws IOException {
        Map<String, Object> pod = map(statefulSet(), "spec", "template", "metadata", "labels");

        assertThat(map(statefulSet(), "spec", "selector", "matchLabels")).isEqualTo(pod);
        assertThat(map(one("PodDisruptionBudget"), "spec", "selector", "matchLabels"))
                .isEqualTo(pod);
        assertThat(map(one("NetworkPolicy"), "spec", "podSelector", "matchLabels"))
                .isEqualTo(pod);
        assertThat(all("Service")).hasSize(2).allSatisfy(service -> assertThat(map(service, "spec", "selector"))
                .isEqualTo(pod));
        String[] label = environment("broker")
                .get("WEIR_CLUSTER_DISCOVERY_KUBERNETES_LABEL")
                .split("=");
        assertThat(pod).containsEntry(label[0], label[1]);
        Map<String, Object> headless = all("Service").stream()
                .filter(service -> "None".equals(map(service, "spec").get("clusterIP")))
                .findFirst()
                .orElseThrow();
        assertThat(map(statefulSet(), "spec").get("serviceName"))
                .isEqualTo(map(headless, "metadata").get("name"));
    }

    @Test
    void shouldAskAndServePortsThatTheBrokerHas() throws IOException {
        Map<String, Object> broker = container("broker");
        Map<String, Integer> ports = list(broker, "ports").stream()
                .collect(Collectors.toMap(
                        port -> (String) port.get("name"), port -> (Integer) port.get("containerPort")));

        assertThat(ports).isEqualTo(defaultPorts());
        Map.of("startupProbe", "/alive", "livenessProbe", "/alive", "readinessProbe", "/ready")
                .forEach((probe, path) -> {
                    Map<String, Object> get = map(broker, probe, "httpGet");
                    assertThat(get.get("path")).as(probe).isEqualTo(path);
                    assertThat(ports).as(probe).containsKey((String) get.get("port"));
                });
        for (Map<String, Object> service : all("Service")) {
            assertThat(list(map(service, "spec"), "ports")).allSatisfy(port -> {
                assertThat(ports).containsEntry((String) port.get("targetPort"), (Integer) port.get("port"));
                assertThat(port.get("name")).isEqualTo(port.get("targetPort"));
            });
        }
        // What discovery looks for, by name, in the pods that it finds.
        String portName = SettingsLoader.load(Optional.empty(), resolvedEnvironment())
                .akka()
                .getString("akka.management.cluster.bootstrap.contact-point-discovery.port-name");
        assertThat(ports).containsKey(portName);
    }

    @Test
    void shouldTakeSecretsFromKeysThatExist() throws IOException {
        Map<String, Object> secret = one("Secret");
        List<Map<String, Object>> references = list(container("broker"), "env").stream()
                .filter(variable -> variable.containsKey("valueFrom"))
                .map(variable -> map(variable, "valueFrom"))
                .filter(source -> source.containsKey("secretKeyRef"))
                .map(source -> map(source, "secretKeyRef"))
                .toList();

        assertThat(references).allSatisfy(reference -> {
            assertThat(reference.get("name")).isEqualTo(map(secret, "metadata").get("name"));
            assertThat(map(secret, "stringData")).containsKey((String) reference.get("key"));
        });
        assertThat(references.stream().map(reference -> reference.get("key")))
                .containsExactlyInAnyOrderElementsOf(map(secret, "stringData").keySet());
    }

    @Test
    void shouldStartWithTheEnvironmentOfThePodOnceTheSecretIsFilledIn() throws IOException {
        Map<String, String> filledIn = resolvedEnvironment();
        WeirSettings settings = SettingsLoader.load(Optional.empty(), filledIn).settings();

        assertThat(settings.broker().id().value()).isEqualTo("weir-0");
        assertThat(settings.cluster().discoveryMethod()).isEqualTo("kubernetes-api");
        // What the secret's volume has under the names that 'weir certs' gives them.
        assertThat(settings.cluster().tls().orElseThrow())
                .returns(Path.of("/certs/broker.pem"), WeirSettings.ClusterTls::certificate)
                .returns(Path.of("/certs/broker.key"), WeirSettings.ClusterTls::key)
                .returns(Path.of("/certs/authority.pem"), WeirSettings.ClusterTls::authority);
        assertThat(list(container("broker"), "volumeMounts"))
                .anyMatch(mount -> "/certs".equals(mount.get("mountPath")) && "certs".equals(mount.get("name")));
        assertThat(settings.store().url()).startsWith("jdbc:postgresql:");
        int replicas = (Integer) map(statefulSet(), "spec").get("replicas");
        assertThat(settings.cluster().requiredContactPoints()).isEqualTo(replicas / 2 + 1);
        // Else the first pod, which is not ready alone, would keep the second from being started.
        assertThat(map(statefulSet(), "spec").get("podManagementPolicy")).isEqualTo("Parallel");
        assertThat((Integer) map(statefulSet(), "spec", "template", "spec").get("terminationGracePeriodSeconds"))
                .isGreaterThan(stopSeconds(settings));

        assertThat(settings.clients().auth().required()).isTrue();

        Map<String, Object> placeholders = map(one("Secret"), "stringData");
        Map.of(
                        "WEIR_STORE_URL", "store-url",
                        "WEIR_HTTP_ADMIN_TOKEN", "admin-token",
                        "WEIR_TCP_AUTH_SECRET", "client-secret")
                .forEach((variable, key) -> {
                    Map<String, String> untouched = new HashMap<>(filledIn);
                    untouched.put(variable, (String) placeholders.get(key));
                    assertThatThrownBy(() -> SettingsLoader.load(Optional.empty(), untouched))
                            .as(variable)
                            .isInstanceOf(SettingsException.class);
                });
    }

    @Test
    void shouldShareTheMediaDriversDirectoryInMemory() throws IOException {
        Map<String, Object> driver = container("media-driver");
        List<String> command = strings(driver, "command");
        String directory = environment("broker").get("WEIR_AERON_DIRECTORY");

        assertCommand(command);
        assertThat(command.subList(1, command.size())).containsExactly("media-driver", "--dir", directory);
        for (Map<String, Object> container : List.of(driver, container("broker"))) {
            assertThat(list(container, "volumeMounts"))
                    .filteredOn(mount -> directory.startsWith(mount.get("mountPath") + "/"))
                    .singleElement()
                    .returns("aeron", mount -> mount.get("name"));
        }
        Map<String, Object> volume = list(map(statefulSet(), "spec", "template", "spec"), "volumes").stream()
                .filter(candidate -> candidate.get("name").equals("aeron"))
                .findFirst()
                .orElseThrow();
        assertThat(map(volume, "emptyDir").get("medium")).isEqualTo("Memory");
    }

    @ParameterizedTest
    @ValueSource(strings = {"broker", "media-driver"})
    void shouldRunWithFewRightsAndMountOnlyWhatThereIs(String name) throws IOException {
        Map<String, Object> pod = map(statefulSet(), "spec", "template", "spec");
        Map<String, Object> container = container(name);

        assertThat(map(pod, "securityContext")).containsEntry("runAsNonRoot", true);
        assertThat(instructions("Dockerfile"))
                .contains("USER " + map(pod, "securityContext").get("runAsUser") + ":"
                        + map(pod, "securityContext").get("runAsGroup"));
        assertThat(map(container, "securityContext"))
                .containsEntry("readOnlyRootFilesystem", true)
                .containsEntry("allowPrivilegeEscalation", false);
        assertThat(map(container, "resources")).containsKeys("requests", "limits");
        Set<Object> volumes =
                list(pod, "volumes").stream().map(volume -> volume.get("name")).collect(Collectors.toSet());
        list(map(statefulSet(), "spec"), "volumeClaimTemplates")
                .forEach(claim -> volumes.add(map(claim, "metadata").get("name")));
        assertThat(list(container, "volumeMounts").stream().map(mount -> mount.get("name")))
                .isSubsetOf(volumes);
    }

    @Test
    void shouldLetBrokersListPodsAndNothingElse() throws IOException {
        String account = (String) map(one("ServiceAccount"), "metadata").get("name");
        Map<String, Object> binding = one("RoleBinding");

        assertThat(map(statefulSet(), "spec", "template", "spec").get("serviceAccountName"))
                .isEqualTo(account);
        assertThat(list(binding, "subjects")).singleElement().returns(account, subject -> subject.get("name"));
        assertThat(map(binding, "roleRef").get("name"))
                .isEqualTo(map(one("Role"), "metadata").get("name"));
        assertThat(list(one("Role"), "rules")).singleElement().satisfies(rule -> {
            assertThat(strings(rule, "resources")).containsExactly("pods");
            assertThat(strings(rule, "verbs")).contains("list").isSubsetOf("get", "list", "watch");
        });
        assertThat(documents())
                .allSatisfy(document -> assertThat(map(document, "metadata")).doesNotContainKey("namespace"));
    }

    // systemd

    @ParameterizedTest
    @ValueSource(strings = {"weir-broker@.service", "weir-media-driver.service"})
    void shouldBeAUnitThatRunsACommandOfOurs(String file) throws IOException {
        Map<String, List<String>> unit = unit(file);

        assertCommand(List.of(only(unit, "Service.ExecStart").split(" ")));
        for (String hook : unit.getOrDefault("Service.ExecStopPost", List.of())) {
            // The minus is systemd's: that a hook fails is no failure of the unit.
            assertCommand(List.of(hook.substring(1).split(" ")));
        }
        assertThat(only(unit, "Service.Restart")).isEqualTo("on-failure");
        assertThat(only(unit, "Service.KillSignal")).isEqualTo("SIGTERM");
        assertThat(only(unit, "Service.SuccessExitStatus")).isEqualTo("143");
        assertThat(only(unit, "Service.User")).isNotEqualTo("root");
        assertThat(only(unit, "Service.NoNewPrivileges")).isEqualTo("yes");
        assertThat(only(unit, "Service.ProtectSystem")).isEqualTo("strict");
        // It would stop the JVM's compiler.
        assertThat(unit).doesNotContainKey("Service.MemoryDenyWriteExecute");
        assertThat(only(unit, "Install.WantedBy")).isEqualTo("multi-user.target");
    }

    @Test
    void shouldStartWithTheExampleOnceTheSecretsAreFilledIn() throws IOException {
        Map<String, List<String>> unit = unit("weir-broker@.service");
        Map<String, String> environment = hostEnvironment(unit);
        environment.put("WEIR_STORE_PASSWORD", "secret");
        environment.put("WEIR_HTTP_ADMIN_TOKEN", TOKEN);
        environment.put("WEIR_TCP_AUTH_SECRET", TOKEN);
        Optional<Path> conf = Optional.of(DEPLOY.resolve("broker.conf"));

        WeirSettings settings = SettingsLoader.load(conf, environment).settings();

        assertThat(only(unit, "Service.ExecStart")).endsWith("--config /etc/weir/broker.conf");
        assertThat(settings.broker().id().value()).isEqualTo("b1");
        assertThat(settings.broker().dataDir())
                .isEqualTo(
                        Path.of("/var/lib", only(unit, "Service.StateDirectory").replace("%i", "b1")));
        assertThat(settings.store().url()).startsWith("jdbc:postgresql:");
        assertThat(settings.cluster().contactPoints())
                .hasSize(3)
                .contains(settings.cluster().management());
        assertThat(only(unit("weir-media-driver.service"), "Service.ExecStart"))
                .endsWith("--dir " + settings.aeronDirectory().orElseThrow());
        assertThat(Integer.parseInt(only(unit, "Service.TimeoutStopSec"))).isGreaterThan(stopSeconds(settings));

        assertThat(settings.clients().auth().required()).isTrue();

        environment.put("WEIR_TCP_AUTH_SECRET", hostEnvironment(unit).get("WEIR_TCP_AUTH_SECRET"));
        assertThatThrownBy(() -> SettingsLoader.load(conf, environment)).hasMessageContaining("weir.tcp.auth.secret");
        assertThatThrownBy(() -> SettingsLoader.load(conf, hostEnvironment(unit)))
                .hasMessageContaining("weir.http.admin-token");
    }

    /** What the unit sets for the broker b1, and the example of its environment file. */
    private static Map<String, String> hostEnvironment(Map<String, List<String>> unit) throws IOException {
        Map<String, String> environment = new HashMap<>();
        Stream.concat(
                        unit.get("Service.Environment").stream().map(line -> line.replace("%i", "b1")),
                        Files.readAllLines(DEPLOY.resolve("broker.env")).stream())
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .map(line -> line.split("=", 2))
                .forEach(pair -> environment.put(pair[0], pair[1]));
        return environment;
    }

    /** As long as the broker's own shutdown hook waits. */
    private static int stopSeconds(WeirSettings settings) {
        return (int)
                settings.cluster().leaveTimeout().multipliedBy(3).plusSeconds(5).toSeconds();
    }

    /** A command line of the launcher that names a command which exists, with options that it has. */
    private static void assertCommand(List<String> command) {
        assertThat(command.get(0)).isEqualTo("/opt/weir/weir");
        CommandLine.ParseResult parsed =
                Weir.commandLine().parseArgs(command.subList(1, command.size()).toArray(String[]::new));
        assertThat(parsed.subcommand()).as(String.join(" ", command)).isNotNull();
    }

    private static Map<String, Integer> defaultPorts() {
        Config reference = ConfigFactory.defaultReference();
        return Map.of(
                "tcp", reference.getInt("weir.tcp.port"),
                "http", reference.getInt("weir.http.port"),
                "cluster", reference.getInt("weir.cluster.port"),
                "management", reference.getInt("weir.cluster.management-port"),
                "link", reference.getInt("weir.aeron.link-port"));
    }

    /** A Dockerfile's instructions, continued lines joined, comments left out. */
    private static List<String> instructions(String file) throws IOException {
        String text = Files.readString(DEPLOY.resolve(file)).replaceAll("(?m)^#.*\\R", "");
        return Arrays.stream(text.replaceAll("\\\\\\R\\s*", "").split("\\R"))
                .filter(line -> !line.isBlank())
                .toList();
    }

    /** A systemd unit's values by {@code Section.Key}. */
    private static Map<String, List<String>> unit(String file) throws IOException {
        Map<String, List<String>> unit = new LinkedHashMap<>();
        String section = "";
        for (String line : Files.readAllLines(DEPLOY.resolve(file))) {
            if (line.startsWith("[")) {
                assertThat(line).isIn("[Unit]", "[Service]", "[Install]");
                section = line.substring(1, line.length() - 1);
            } else if (!line.isBlank() && !line.startsWith("#")) {
                String[] pair = line.split("=", 2);
                assertThat(pair).as(line).hasSize(2);
                unit.computeIfAbsent(section + "." + pair[0], key -> new ArrayList<>())
                        .add(pair[1]);
            }
        }
        return unit;
    }

    private static String only(Map<String, List<String>> unit, String key) {
        assertThat(unit).containsKey(key);
        assertThat(unit.get(key)).as(key).hasSize(1);
        return unit.get(key).get(0);
    }

    private static List<Map<String, Object>> documents() throws IOException {
        LoaderOptions options = new LoaderOptions();
        options.setAllowDuplicateKeys(false);
        return StreamSupport.stream(
                        new Yaml(new SafeConstructor(options))
                                .loadAll(Files.readString(DEPLOY.resolve("kubernetes.yaml")))
                                .spliterator(),
                        false)
                .map(DeploymentFilesTest::asMap)
                .toList();
    }

    private static List<Map<String, Object>> all(String kind) throws IOException {
        return documents().stream()
                .filter(document -> document.get("kind").equals(kind))
                .toList();
    }

    private static Map<String, Object> one(String kind) throws IOException {
        assertThat(all(kind)).as(kind).hasSize(1);
        return all(kind).get(0);
    }

    private static Map<String, Object> statefulSet() throws IOException {
        return one("StatefulSet");
    }

    private static Map<String, Object> container(String name) throws IOException {
        Map<String, Object> pod = map(statefulSet(), "spec", "template", "spec");
        return Stream.concat(list(pod, "initContainers").stream(), list(pod, "containers").stream())
                .filter(container -> container.get("name").equals(name))
                .findFirst()
                .orElseThrow();
    }

    /** The variables with a value of their own; those from elsewhere are left out. */
    private static Map<String, String> environment(String container) throws IOException {
        Map<String, String> environment = new HashMap<>();
        list(container(container), "env").stream()
                .filter(variable -> variable.containsKey("value"))
                .forEach(variable -> environment.put((String) variable.get("name"), (String) variable.get("value")));
        return environment;
    }

    /** As the pod weir-0 would get it, with a Secret that was filled in. */
    private static Map<String, String> resolvedEnvironment() throws IOException {
        Map<String, String> environment = environment("broker");
        for (Map<String, Object> variable : list(container("broker"), "env")) {
            if (variable.containsKey("valueFrom")) {
                String source = map(variable, "valueFrom").toString();
                environment.put(
                        (String) variable.get("name"),
                        source.contains("metadata.name")
                                ? "weir-0"
                                : source.contains("status.podIP")
                                        ? "10.1.2.3"
                                        : source.contains("store-url") ? "jdbc:postgresql://db/weir" : TOKEN);
            }
        }
        return environment;
    }

    private static Map<String, Object> map(Map<String, Object> from, String... path) {
        Map<String, Object> found = from;
        for (String key : path) {
            assertThat(found).containsKey(key);
            found = asMap(found.get(key));
        }
        return found;
    }

    private static List<Map<String, Object>> list(Map<String, Object> from, String key) {
        assertThat(from).containsKey(key);
        return ((List<?>) from.get(key))
                .stream().map(DeploymentFilesTest::asMap).toList();
    }

    private static List<String> strings(Map<String, Object> from, String key) {
        return ((List<?>) from.get(key)).stream().map(String.class::cast).toList();
    }

    private static Map<String, Object> asMap(Object value) {
        assertThat(value).isInstanceOf(Map.class);
        Map<String, Object> map = new LinkedHashMap<>();
        ((Map<?, ?>) value).forEach((key, child) -> map.put((String) key, child));
        return map;
    }
}
