package io.weir.transport.client;

import static io.weir.transport.Awaiting.await;
import static io.weir.transport.client.Publishing.clientOf;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.transport.wire.TestCertificate;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Until a connection can be used: TLS and the secret. */
@Timeout(60)
class ClientHandshakeTest {
    @TempDir
    private static Path dir;

    private static SSLContext context(String hostInCertificate) throws Exception {
        return TestCertificate.forBothEnds(dir, hostInCertificate);
    }

    /**
     * Publishes until it is accepted, or fails for a reason that contains {@code reason}: how long the first attempt
     * takes is not known.
     */
    private static void awaitFailure(ClientSettings settings, String reason) {
        try (WeirClient client = WeirClient.create(settings);
                AutoTunedPublisher publisher =
                        client.publisher(PublisherSettings.defaults().withAnswerWithin(Duration.ofMillis(100)))) {
            await(reason, () -> {
                Outcome outcome = publisher.publish("orders", new byte[] {1}).join();
                assertThat(outcome).isInstanceOf(Outcome.Failed.class);
                return ((Outcome.Failed) outcome).reason().contains(reason);
            });
        }
    }

    @Test
    void shouldPublishOverTls() throws Exception {
        SSLContext context = context("ip:127.0.0.1");
        try (ScriptedBroker broker = new ScriptedBroker().offering(context);
                WeirClient client = WeirClient.create(clientOf(broker).withTls(context));
                AutoTunedPublisher publisher = client.publisher()) {
            byte[] large = new byte[100_000];
            List<CompletableFuture<Outcome>> futures = IntStream.range(0, 200)
                    .mapToObj(i -> publisher.publish("orders", i % 10 == 0 ? large : new byte[100]))
                    .toList();

            assertThat(futures).allSatisfy(future -> assertThat(future.join()).isEqualTo(new Outcome.Accepted()));
            assertThat(broker.published()).hasSize(200);
        }
    }

    @Test
    void shouldNotTrustACertificateOfAnotherHost() throws Exception {
        SSLContext context = context("dns:elsewhere.example");
        try (ScriptedBroker broker = new ScriptedBroker().offering(context)) {
            awaitFailure(clientOf(broker).withTls(context), "No subject alternative names matching");
            assertThat(broker.published()).isEmpty();
        }
    }

    @Test
    void shouldNotSpeakToABrokerWithoutTlsWhenItShould() throws Exception {
        try (ScriptedBroker broker = new ScriptedBroker().asksForASecret()) {
            awaitFailure(clientOf(broker).withTls(context("ip:127.0.0.1")).withSecret("hush"), "does not offer TLS");
            assertThat(broker.secrets()).isEmpty();
        }
    }

    @Test
    void shouldBelieveNothingThatWasSaidInTheOpenWhenItWantsTls() throws Exception {
        SSLContext context = context("ip:127.0.0.1");
        byte[] ok = ScriptedBroker.response("OK");
        List<String> handled = new CopyOnWriteArrayList<>();
        // One OK for TLS, one for SUB, and a message that no broker sent.
        try (ScriptedBroker broker = new ScriptedBroker()
                        .offering(context)
                        .sayingBeforeTls(ok, ok, ScriptedBroker.message("0000000000000001", 1, "forged"));
                WeirClient client = WeirClient.create(clientOf(broker).withTls(context));
                MessageConsumer consumer = client.consume("orders", "audit", delivery -> handled.add(delivery.id()))) {
            await("several attempts", () -> broker.connections() >= 3);

            assertThat(consumer.stats().received()).isZero();
            assertThat(handled).isEmpty();
            assertThat(broker.lines()).noneMatch(line -> line.startsWith("SUB"));
        }
        try (ScriptedBroker broker = new ScriptedBroker().offering(context).sayingBeforeTls(ok)) {
            awaitFailure(clientOf(broker).withTls(context), "more than it may before TLS");
        }
    }

    @Test
    void shouldNotGoOnWhenTlsIsNotFollowedByOk() throws Exception {
        SSLContext context = context("ip:127.0.0.1");
        try (ScriptedBroker broker = new ScriptedBroker().offering(context).sayingAfterTls("KO")) {
            awaitFailure(clientOf(broker).withTls(context), "not followed by OK");
        }
    }

    @Test
    void shouldSendTheSecretWhereOneIsWanted() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().asksForASecret();
                WeirClient client = WeirClient.create(clientOf(broker).withSecret("hush"));
                AutoTunedPublisher publisher = client.publisher()) {
            assertThat(publisher.publish("orders", new byte[] {1}).join()).isEqualTo(new Outcome.Accepted());
            assertThat(broker.secrets()).containsExactly("hush");
            assertThat(clientOf(broker).withSecret("hush").toString()).doesNotContain("hush");
        }
    }

    @Test
    void shouldSayThatASecretIsWanted() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().asksForASecret()) {
            awaitFailure(clientOf(broker), "wants a secret");
        }
    }

    @Test
    void shouldSayThatTheSecretIsWrongAndPublishNothing() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().asksForTheSecret("hush")) {
            awaitFailure(clientOf(broker).withSecret("loud"), "E_AUTH_FAILED");
            assertThat(broker.secrets()).containsOnly("loud");
            assertThat(broker.lines()).noneMatch(line -> line.contains("PUB"));
        }
    }

    @Test
    void shouldConsumeOverTls() throws Exception {
        SSLContext context = context("ip:127.0.0.1");
        List<Integer> handled = new CopyOnWriteArrayList<>();
        try (ScriptedBroker broker = new ScriptedBroker().offering(context).asksForTheSecret("hush");
                WeirClient client =
                        WeirClient.create(clientOf(broker).withTls(context).withSecret("hush"));
                MessageConsumer consumer =
                        client.consume("orders", "audit", delivery -> handled.add(delivery.body().length))) {
            await("the credit", () -> broker.lines().contains("RDY 200"));
            // More than a record of TLS holds, and several in one record.
            broker.deliver("0000000000000001", 1, "x".repeat(300_000));
            for (int i = 2; i <= 9; i++) {
                broker.deliver("000000000000000" + i, 1, "x".repeat(i));
            }

            await("all are finished", () -> consumer.stats().finished() == 9);
            assertThat(handled).containsExactlyInAnyOrder(300_000, 2, 3, 4, 5, 6, 7, 8, 9);
            await(
                    "the broker knows",
                    () -> broker.lines().stream()
                                    .filter(line -> line.startsWith("FIN"))
                                    .count()
                            == 9);
            assertThat(consumer.stats().connectionsLost()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "nope",
                "[]",
                "7",
                "{",
                "{\"tls_v1\":",
                "{\"tls_v1\":tru}",
                "{\"msg_timeout\":99999999999999999999}",
                "{\"max_rdy_count\":99999999999}",
                "{\"version\":\"\u0000\"}"
            })
    void shouldLeaveABrokerWhoseAnswerToIdentifyMakesNoSense(String answer) throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answeringIdentify(answer);
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            CompletableFuture<Outcome> waits = publisher.publish("orders", new byte[] {1});
            await("another attempt", () -> broker.identities().size() >= 2);
            assertThat(waits).isNotDone();
            broker.answeringIdentify(null);

            assertThat(waits.join()).isEqualTo(new Outcome.Accepted());
        }
    }

    @Test
    void shouldSayThatTheAnswerToIdentifyMakesNoSense() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answeringIdentify("nope")) {
            awaitFailure(clientOf(broker), "IDENTIFY is answered with");
        }
    }

    @Test
    void shouldTakeABrokerThatDoesNotNegotiate() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker().answeringIdentify("OK");
                WeirClient client = WeirClient.create(clientOf(broker));
                AutoTunedPublisher publisher = client.publisher()) {
            assertThat(publisher.publish("orders", new byte[] {1}).join()).isEqualTo(new Outcome.Accepted());
        }
    }
}
