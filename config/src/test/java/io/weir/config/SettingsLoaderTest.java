package io.weir.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsLoaderTest {
    @TempDir
    private Path dir;

    private final Map<String, String> environment = new HashMap<>(Map.of(
            "WEIR_BROKER_ID", "b1",
            "WEIR_BROKER_DATA_DIR", "/tmp/b1",
            "WEIR_STORE_URL", "jdbc:postgresql://127.0.0.1:4158/weir",
            "WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS", "127.0.0.1:4153"));

    @Test
    void shouldReadDefaultsWhenOnlyWhatHasNoneIsGiven() {
        WeirSettings settings = load();

        assertThat(settings.broker().id().value()).isEqualTo("b1");
        assertThat(settings.http().address()).isEqualTo(new Endpoint("127.0.0.1", 4151));
        assertThat(settings.cluster().contactPoints()).containsExactly(new Endpoint("127.0.0.1", 4153));
        assertThat(settings.topics().queueBytes()).as("auto").isEmpty();
    }

    @Test
    void shouldReadWhatMessagesMayTake() {
        environment.put("WEIR_TOPICS_QUEUE_SIZE", "64MiB");
        environment.put("WEIR_TOPICS_TOPIC_SHARE", "0.5");

        WeirSettings.TopicsSettings topics = load().topics();

        assertThat(topics.queueBytes()).hasValue(64 << 20);
        assertThat(topics.topicShare()).isEqualTo(0.5);
        assertThat(topics.tokenShare()).isEqualTo(0.9);
    }

    /** Akka's own 30 s and 60 s kept every ledger shut for so long after a store was back. */
    @Test
    void shouldTryJournalAndSnapshotsAgainSoonWhenTheStoreIsBack() {
        Config akka = SettingsLoader.load(Optional.empty(), environment).akka();

        assertThat(List.of("jdbc-journal", "jdbc-snapshot-store"))
                .allSatisfy(plugin -> assertThat(akka.getDuration(plugin + ".circuit-breaker.reset-timeout"))
                        .isLessThanOrEqualTo(Duration.ofSeconds(1)));
    }

    @Test
    void shouldPreferTheEnvironmentWhenTheFileSaysOtherwise() throws IOException {
        Path file = file("weir { broker.id = from-file, http.port = 5000, tcp.port = 5001 }");
        environment.put("WEIR_HTTP_PORT", "6000");
        environment.remove("WEIR_BROKER_ID");

        WeirSettings settings =
                SettingsLoader.load(Optional.of(file), environment).settings();

        assertThat(settings.broker().id().value()).isEqualTo("from-file");
        assertThat(settings.http().address().port()).isEqualTo(6000);
        assertThat(settings.tcp().port()).isEqualTo(5001);
    }

    @Test
    void shouldSplitListsWhenTheyComeFromTheEnvironment() {
        environment.put("WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS", "h1:1, h2:2 ,h3:3");
        environment.put("WEIR_CLUSTER_DISCOVERY_REQUIRED_CONTACT_POINTS", "2");

        assertThat(load().cluster().contactPoints())
                .containsExactly(new Endpoint("h1", 1), new Endpoint("h2", 2), new Endpoint("h3", 3));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            WEIR_BROKER_ID               | a b       | weir.broker.id = "a b"
            WEIR_BROKER_ID               | ''        | weir.broker.id is not set
            WEIR_BROKER_DATA_DIR         | ''        | weir.broker.data-dir is not set
            WEIR_TOPICS_QUEUE_SIZE       | much      | weir.topics.queue-size = "much": must be a size from
            WEIR_TOPICS_TOPIC_SHARE      | 1         | weir.topics.topic-share = 1.0: must be a number from 0 to 0.99
            WEIR_TOPICS_TOKEN_SHARE      | 0         | weir.topics.token-share = 0.0: must be a number from 0.01 to 0.99
            WEIR_HTTP_PORT               | 70000     | weir.http.port = 70000: must be a whole number from 1 to 65535
            WEIR_HTTP_PORT               | many      | weir.http.port = "many": must be a whole number from 1 to 65535
            WEIR_CLUSTER_TRANSPORT       | pigeon    | weir.cluster.transport = "pigeon": must be one of tcp, tls-tcp, aeron-udp
            WEIR_CLUSTER_TRANSPORT       | aeron-udp | weir.aeron.directory
            WEIR_CLUSTER_STABLE_AFTER    | 1ms       | weir.cluster.stable-after = "1ms": must be a duration from 2s
            WEIR_CLUSTER_STABLE_AFTER    | soon      | weir.cluster.stable-after = "soon": must be a duration
            WEIR_STORE_URL               | jdbc:oracle:x | must begin with jdbc:postgresql:
            WEIR_STORE_URL               | jdbc:h2:tcp://x | (H2 is no store any more: it lost what it had acknowledged)
            WEIR_HTTP_ADMIN_TOKEN        | short     | at least 16 are needed
            WEIR_TCP_AUTH_SECRET         | short     | weir.tcp.auth.secret has 5 characters: at least 16
            WEIR_TCP_AUTH_REQUIRED       | on        | needs weir.tcp.auth.secret or weir.tcp.auth.tokens
            WEIR_TCP_AUTH_REQUIRED       | perhaps   | must be one of auto, on, off
            WEIR_TCP_AUTH_TOKENS         | a,b       | weir.tcp.auth.tokens must be a list of
            WEIR_TCP_TLS_REQUIRED        | on        | needs weir.tcp.tls.certificate
            WEIR_TCP_TLS_REQUIRED        | maybe     | must be on or off
            WEIR_TCP_TLS_KEY             | /a.key    | only one of weir.tcp.tls.certificate and weir.tcp.tls.key is set
            WEIR_TCP_TLS_CLIENT_CA       | /ca.pem   | it would do nothing
            WEIR_HTTP_HOST               | 0.0.0.0   | weir.http.admin-token is empty, but this broker binds to 0.0.0.0:4151
            WEIR_CLUSTER_TRANSPORT       | tls-tcp   | weir.cluster.tls is not set: set its certificate, key and authority
            WEIR_CLUSTER_TLS_KEY         | /a.key    | has only some of certificate, key and authority
            WEIR_AERON_SEAL              | never     | weir.aeron.seal = "never": must be one of network, always
            WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS | '' | must list every broker's management address
            WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS | nowhere | 'nowhere' is not HOST:PORT
            WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS | a:1,b:2,c:3 | must be a majority of the 3 contact points
            """)
    void shouldNameKeyValueAndRuleWhenASettingIsWrong(String variable, String value, String message) {
        environment.put(variable, value);

        assertThatThrownBy(this::load).isInstanceOf(SettingsException.class).hasMessageContaining(message);
    }

    @Test
    void shouldRefuseAClusterThatStrangersReachUnlessItHasCertificates() {
        environment.put("WEIR_CLUSTER_HOST", "10.1.2.3");
        environment.put("WEIR_HTTP_ADMIN_TOKEN", "0123456789abcdef");
        assertThatThrownBy(this::load)
                .isInstanceOf(SettingsException.class)
                .hasMessageContaining("weir.cluster.tls is not set, but other brokers reach this one at 10.1.2.3:")
                .hasMessageContaining("weir certs init");

        environment.put("WEIR_CLUSTER_TLS_CERTIFICATE", "/b.pem");
        environment.put("WEIR_CLUSTER_TLS_KEY", "/b.key");
        environment.put("WEIR_CLUSTER_TLS_AUTHORITY", "/a.pem");
        SettingsLoader loaded = SettingsLoader.load(Optional.empty(), environment);
        assertThat(loaded.settings().cluster().tls())
                .contains(new WeirSettings.ClusterTls(Path.of("/b.pem"), Path.of("/b.key"), Path.of("/a.pem")));
        assertThat(loaded.akka().getString("akka.remote.artery.transport")).isEqualTo("tls-tcp");
        assertThat(loaded.akka().getString("akka.remote.artery.ssl.rotating-keys-engine.key-file"))
                .isEqualTo("/b.key");

        environment.put("WEIR_CLUSTER_TRANSPORT", "aeron-udp");
        environment.put("WEIR_AERON_DIRECTORY", "/dev/shm/d");
        assertThatThrownBy(this::load).hasMessageContaining("aeron-udp, which has no TLS");
    }

    @Test
    void shouldReadTokensWithTheirSecretsFromTextOrFileAndNeverShowThem() throws IOException {
        Path secret = Files.writeString(dir.resolve("billing.secret"), "billing-secret-0123\n");
        Path file = file("weir.tcp.auth.tokens = [{ name = billing, secret-file = \"" + secret
                + "\", publish = [\"invoices.*\"], subscribe = [\"orders:billing\"] },"
                + " { name = reader, secret = reader-secret-0123, subscribe = [\"*\"] }]");

        TcpSettings clients =
                SettingsLoader.load(Optional.of(file), environment).settings().clients();

        assertThat(clients.auth().required()).isTrue();
        assertThat(clients.auth().tokens())
                .containsExactly(
                        new TcpSettings.TokenSettings(
                                "billing", "billing-secret-0123", List.of("invoices.*"), List.of("orders:billing")),
                        new TcpSettings.TokenSettings("reader", "reader-secret-0123", List.of(), List.of("*")));
        assertThat(clients.toString()).doesNotContain("secret-0123");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '\'', textBlock = """
            name = a                                                   | a needs one of secret and secret-file
            name = "a b", secret = s123456789abcdef                    | must be 1 to 64 letters
            name = a, secret = short                                   | has 5 characters
            name = a, secret-file = "/nowhere/at/all"                  | can't be read
            name = a, secret = s123456789abcdef, rights = all          | has the key rights, which does not exist
            name = a, secret = s123456789abcdef, publish = ["a b"]     | which no name can fit
            name = a, secret = s123456789abcdef, publish = ["a:b"]     | which no name can fit
            name = all, secret = s123456789abcdee                      | two of the name all
            name = b, secret = s123456789abcdef                        | has the secret of another
            """)
    void shouldRefuseATokenThatMakesNoSenseWithoutShowingItsSecret(String token, String message) throws IOException {
        Path file = file("weir.tcp.auth { secret = s123456789abcdef, tokens = [{ " + token + " }] }");

        assertThatThrownBy(() -> SettingsLoader.load(Optional.of(file), environment))
                .isInstanceOf(SettingsException.class)
                .hasMessageContaining(message.strip())
                .hasMessageNotContaining("s123456789abcde");
    }

    @Test
    void shouldRefuseAKeyThatDoesNotExistAndNameTheNearest() throws IOException {
        Path file = file("weir.http.prot = 5000");

        assertThatThrownBy(() -> SettingsLoader.load(Optional.of(file), environment))
                .hasMessageContaining("weir.http.prot")
                .hasMessageContaining("weir.http.port");
    }

    @Test
    void shouldSayWhichFileWhenItIsMissingOrBroken() throws IOException {
        assertThatThrownBy(() -> SettingsLoader.load(Optional.of(dir.resolve("none.conf")), environment))
                .hasMessageContaining("none.conf");
        Path broken = file("weir { http { port = ");
        assertThatThrownBy(() -> SettingsLoader.load(Optional.of(broken), environment))
                .isInstanceOf(SettingsException.class)
                .hasMessageContaining(broken.toString());
    }

    @Test
    void shouldKeepSecretsOutOfWhatMayBeLogged() {
        environment.put("WEIR_STORE_PASSWORD", "hunter2-hunter2");
        environment.put("WEIR_STORE_URL", "jdbc:postgresql://weir:hunter2-hunter2@db/weir?password=hunter2-hunter2");
        environment.put("WEIR_HTTP_ADMIN_TOKEN", "hunter2-hunter2-hunter2");

        assertThat(load().toString()).doesNotContain("hunter2");

        environment.put("WEIR_STORE_URL", "jdbc:mysql://weir:hunter2-hunter2@db/weir");
        assertThatThrownBy(this::load).hasMessageNotContaining("hunter2");
    }

    @Test
    void shouldGiveEveryKeyAVariableOfItsOwn() {
        List<String> keys = ConfigFactory.parseResources("reference.conf").entrySet().stream()
                .map(Map.Entry::getKey)
                .collect(Collectors.toList());

        assertThat(keys).isNotEmpty();
        assertThat(keys.stream().map(SettingsLoader::variableOf)).doesNotHaveDuplicates();
    }

    private WeirSettings load() {
        return SettingsLoader.load(Optional.empty(), environment).settings();
    }

    private Path file(String text) throws IOException {
        return Files.writeString(dir.resolve("broker.conf"), text);
    }

    /** Without it, a store that is gone without a word held every ledger up until the network gave up. */
    @Test
    void shouldBoundHowLongAJournalWaitsForASilentStore() {
        environment.put("WEIR_STORE_STATEMENT_TIMEOUT", "2500ms");
        Config driver = SettingsLoader.load(Optional.empty(), environment)
                .akka()
                .getConfig("akka-persistence-jdbc.shared-databases.slick.db.properties");

        assertThat(driver.getString("socketTimeout")).isEqualTo("3");
        assertThat(driver.getString("connectTimeout")).isEqualTo("3");
    }
}
