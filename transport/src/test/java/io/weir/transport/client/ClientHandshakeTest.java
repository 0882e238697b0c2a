package io.weir.transport.client;

import static io.weir.transport.client.AutoTunedPublisherTest.await;
import static io.weir.transport.client.AutoTunedPublisherTest.clientOf;
import static org.assertj.core.api.Assertions.assertThat;

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

/** Until a connection can be used: TLS and the secret. */
@Timeout(60)
class ClientHandshakeTest {
    @TempDir
    private static Path dir;

    private static SSLContext context(String hostInCertificate) throws Exception {
        return TestCertificate.context(dir, hostInCertificate);
    }

    /** Publishes until it is accepted, or fails for a reason that contains {@code reason}: how long the first attempt takes is not known. */
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
}
