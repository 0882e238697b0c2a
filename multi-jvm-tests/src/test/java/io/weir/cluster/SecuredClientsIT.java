package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.cluster.RealClient.Manner;
import io.weir.cluster.RealClient.Sender;
import io.weir.cluster.RealClient.Wire;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.Weir;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Clients that others wrote, against a broker that wants TLS and a secret of everybody. */
@SideBySide
@Timeout(120)
class SecuredClientsIT {
    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String SECRET = "known-to-the-right-clients";

    private static Certificate certificate;
    private static BrokerCluster cluster;

    private final List<RealClient> opened = new ArrayList<>();
    private final Inbox inbox = new Inbox();
    private final StringWriter said = new StringWriter();

    @BeforeAll
    static void start() throws Exception {
        certificate = Certificate.create(BuiltDistribution.emptyDirectory("secured-certificate"));
        cluster = BrokerCluster.of(1)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("secured-clients"))
                .withEnvironment(Map.of(
                        "WEIR_TCP_TLS_CERTIFICATE",
                        certificate.certificate().toString(),
                        "WEIR_TCP_TLS_KEY",
                        certificate.key().toString(),
                        "WEIR_TCP_TLS_REQUIRED",
                        "on",
                        "WEIR_TCP_AUTH_SECRET",
                        SECRET))
                .start();
    }

    @AfterEach
    void close() {
        opened.forEach(RealClient::close);
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @Test
    void shouldServeNsqJWithTlsAndSecret() throws IOException {
        assertServed(NsqJ::new, "served-nsq-j");
    }

    @Test
    void shouldServeNsqjsWithTlsAndSecret() throws IOException {
        assertServed(NsqJs::new, "served-nsqjs");
    }

    private void assertServed(Supplier<RealClient> library, String topic) throws IOException {
        Manner manner = Manner.USUAL.with(certificate).with(Wire.SNAPPY).withSecret(SECRET);
        RealClient client = open(library);
        client.receive(manner, broker(), topic, "work", inbox);
        Sender sender = client.sender(manner, broker());
        sender.publish(topic, List.of("one"));
        sender.publish(topic, List.of("two", "three"));
        inbox.await(List.of("one", "two", "three"), SOON);
    }

    @Test
    void shouldServeItsOwnCommandsWithTlsAndSecret(@TempDir Path dir) throws IOException {
        String access = " --tcp " + broker().get(0) + " --tls-ca " + certificate.certificate();
        Path secret = Files.writeString(dir.resolve("secret"), SECRET + "\n");
        assertThat(weir("pub served-weir one two" + access + " --secret-file " + secret))
                .isZero();
        assertThat(weir("sub served-weir work --count 2" + access + " --secret-file " + secret))
                .isZero();
        assertThat(said.toString().lines()).contains("one", "two");

        assertThat(weir("pub served-weir three" + access)).isOne();
        assertThat(said.toString()).contains("asks for a secret: --secret-file");
        assertThat(weir("pub served-weir three --tcp " + broker().get(0) + " --secret-file " + secret))
                .isOne();
        assertThat(said.toString()).contains("TLS required").contains("--tls-ca");
    }

    private int weir(String line) {
        return Weir.commandLine()
                .setOut(new PrintWriter(said, true))
                .setErr(new PrintWriter(said, true))
                .execute(line.split(" "));
    }

    @Test
    void shouldRefuseNsqJWithAWrongSecret() {
        Sender sender = open(NsqJ::new).sender(Manner.USUAL.with(certificate).withSecret("not the right one"), twice());
        assertRefused(sender, "E_AUTH_FAILED");
    }

    @Test
    void shouldRefuseNsqJWithoutTls() {
        assertRefused(open(NsqJ::new).sender(Manner.USUAL.withSecret(SECRET), twice()), "E_");
    }

    /** It knows no AUTH, and takes errors that it does not know for success: so the broker uses one that it knows. */
    @Test
    void shouldRefuseBrainlagsClientWhichHasNoSecret() {
        assertRefused(open(Brainlag::new).sender(Manner.USUAL.with(certificate), broker()), "E_AUTH_FIRST");
    }

    private static void assertRefused(Sender sender, String error) {
        double before = admitted();
        assertThatThrownBy(() -> sender.publish("refused", List.of("nobody reads this")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(error);
        assertThat(admitted()).isEqualTo(before);
    }

    private static double admitted() {
        return new TopicClient(cluster.http("b1"), Optional.empty())
                .metric("weir_messages_admitted_total")
                .orElseThrow();
    }

    private RealClient open(Supplier<RealClient> library) {
        RealClient client = library.get();
        opened.add(client);
        return client;
    }

    private static List<Endpoint> broker() {
        return List.of(Endpoint.parse(cluster.line("b1").tcp()));
    }

    /** So that nsq-j has another to go to, and does not wait for the only one. */
    private static List<Endpoint> twice() {
        return List.of(broker().get(0), broker().get(0));
    }
}
