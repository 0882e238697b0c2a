package io.weir.transport.gateway;

import static io.weir.transport.Awaiting.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.transport.wire.TestCertificate;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients can negotiate, over real sockets, with layers that others wrote at the client's end. */
@Timeout(60)
class NegotiationTest {
    private static final String SECRET = "a-secret-of-orders";
    private static final AccessRights RIGHTS = new AccessRights(
            true,
            List.of(
                    new AccessRights.Token("orders", SECRET, List.of("orders*"), List.of("orders:audit")),
                    new AccessRights.Token("nothing", "a-secret-of-nothing", List.of(), List.of())));

    @TempDir
    private static Path dir;

    private static TestCertificate broker;
    private static TestCertificate known;

    private final RecordingPort port = new RecordingPort();
    private GatewayLoop loop;

    @BeforeAll
    static void makeCertificates() throws Exception {
        broker = new TestCertificate(dir, "broker", "-keyalg", "EC", "-groupname", "secp256r1");
        known = new TestCertificate(dir, "known", "-keyalg", "RSA", "-keysize", "2048");
    }

    private static ClientTerms terms(boolean tlsRequired, Optional<Path> clientCa, AccessRights rights) {
        return new ClientTerms(
                Optional.of(TlsOffer.read(broker.certificate, broker.key, clientCa)),
                tlsRequired,
                true,
                true,
                6,
                rights);
    }

    private void start(ClientTerms terms) throws IOException {
        start(terms, GatewaySettings.defaults());
    }

    private void start(ClientTerms terms, GatewaySettings settings) throws IOException {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        loop = new GatewayLoop(any, settings, terms, BrokerDirectory.ALONE, System::nanoTime);
        loop.start(port);
    }

    @AfterEach
    void stop() {
        if (loop != null) {
            loop.close();
        }
    }

    private List<ClientStats> clients() {
        CompletableFuture<List<ClientStats>> answer = new CompletableFuture<>();
        port.work.add(() -> answer.complete(
                IntStream.range(0, loop.connections()).mapToObj(loop::client).toList()));
        loop.wakeUp();
        return answer.orTimeout(20, TimeUnit.SECONDS).join();
    }

    @ParameterizedTest
    @CsvSource({"false, none", "true, none", "false, snappy", "false, deflate", "true, snappy", "true, deflate"})
    void shouldCarryEveryMessageUnchangedWhenLayersAreNegotiated(boolean tls, String compression) throws Exception {
        start(terms(false, Optional.empty(), AccessRights.OPEN));
        try (Client client = Client.greeted(loop)) {
            String answer = client.identify("{\"feature_negotiation\":true,\"tls_v1\":" + tls + ",\"snappy\":"
                    + compression.equals("snappy") + ",\"deflate\":" + compression.equals("deflate")
                    + ",\"deflate_level\":3,\"client_id\":\"me\",\"user_agent\":\"test/1\"}");
            assertThat(answer)
                    .contains("\"tls_v1\":" + tls)
                    .contains("\"snappy\":" + compression.equals("snappy"))
                    .contains("\"deflate\":" + compression.equals("deflate"));
            if (tls) {
                client.tls(broker.trusting(null));
                assertThat(client.answer()).isEqualTo("OK");
            }
            if (!compression.equals("none")) {
                Client compressing = compression.equals("snappy") ? client.snappy() : client.deflate();
                assertThat(compressing.answer()).isEqualTo("OK");
            }
            long seed = 11;
            Random random = new Random(seed);
            assertThat(client.send("SUB orders audit\n").answer()).isEqualTo("OK");
            client.send("RDY 100\n");
            // Larger than any buffer, compressible and not, and many small ones in one write.
            for (int size : new int[] {1, 100, 20_000, 70_000, 400_000, 1 << 20}) {
                for (boolean noise : new boolean[] {true, false}) {
                    byte[] body = new byte[size];
                    if (noise) {
                        random.nextBytes(body);
                    }
                    client.send(Client.command("PUB orders", body));
                    Client.Frame first = client.frame();
                    Client.Frame second = client.frame();
                    Client.Frame message = first.type() == Frames.MESSAGE ? first : second;
                    assertThat((message == first ? second : first).text()).isEqualTo("OK");
                    assertThat(port.published.poll().body())
                            .as("seed " + seed + ", size " + size)
                            .isEqualTo(body);
                    assertThat(message.body())
                            .as("seed " + seed + ", size " + size)
                            .isEqualTo(body);
                    client.send("FIN " + message.id() + "\n");
                }
            }
            ClientStats stats = clients().get(0);
            assertThat(stats.clientId()).isEqualTo("me");
            assertThat(stats.userAgent()).isEqualTo("test/1");
            assertThat(stats.tls()).isEqualTo(tls);
            assertThat(stats.tlsVersion()).isEqualTo(tls ? "TLSv1.3" : "");
            assertThat(stats.snappy()).isEqualTo(compression.equals("snappy"));
            assertThat(stats.deflate()).isEqualTo(compression.equals("deflate"));
            assertThat(stats.state()).isEqualTo(3);
            assertThat(stats.messages()).isEqualTo(12);
            assertThat(stats.published()).isEqualTo(12);
            assertThat(stats.readyCount()).isEqualTo(100);
            assertThat(stats.subscription()).contains(new ClientStats.Subscribed("orders", "audit"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"snappy", "deflate"})
    void shouldTakeWhatAHastyClientSendsBeforeItsCompressionIsAnswered(String compression) throws Exception {
        start(ClientTerms.defaults());
        try (Client client = Client.greeted(loop)) {
            client.send(Client.command("IDENTIFY", "{\"feature_negotiation\":true,\"" + compression + "\":true}"));
            // The request is on its way already when the answers are read.
            (compression.equals("snappy") ? client.snappyOut() : client.deflateOut())
                    .send(Client.command("PUB orders", "early"));
            assertThat(client.answer()).contains("\"" + compression + "\":true");
            if (compression.equals("snappy")) {
                client.snappyIn();
            } else {
                client.deflateIn();
            }
            assertThat(client.answer()).isEqualTo("OK");
            assertThat(client.answer()).isEqualTo("OK");
            assertThat(port.published.poll().body()).asString().isEqualTo("early");
        }
    }

    @Test
    void shouldNotTakeForPrivateWhatWasSaidInTheOpenBeforeTls() throws Exception {
        start(terms(true, Optional.empty(), AccessRights.OPEN));
        try (Client client = Client.greeted(loop)) {
            byte[] identify = Client.command("IDENTIFY", "{\"feature_negotiation\":true,\"tls_v1\":true}");
            byte[] injected = Client.command("PUB orders", "injected");
            byte[] both = new byte[identify.length + injected.length];
            System.arraycopy(identify, 0, both, 0, identify.length);
            System.arraycopy(injected, 0, both, identify.length, injected.length);
            client.send(both);
            assertThat(client.answer()).contains("\"tls_v1\":true");
            assertThatThrownBy(() -> client.tls(broker.trusting(null))).isInstanceOf(IOException.class);
            assertThat(port.published).isEmpty();
        }
    }

    @Test
    void shouldServeNobodyInTheOpenWhenTlsIsRequired() throws Exception {
        start(terms(true, Optional.empty(), AccessRights.OPEN));
        try (Client client = Client.greeted(loop)) {
            assertThat(client.identify("{\"feature_negotiation\":true}")).contains("\"tls_v1\":false");
            assertThat(client.send(Client.command("PUB orders", "x")).answer())
                    .isEqualTo("E_INVALID cannot PUB in current state (TLS required)");
            assertThat(client.ended()).isTrue();
            assertThat(port.published).isEmpty();
        }
    }

    @Test
    void shouldAskForACertificateOfAKnownAuthority() throws Exception {
        start(terms(false, Optional.of(known.certificate), AccessRights.OPEN));
        for (TestCertificate shown : new TestCertificate[] {known, broker, null}) {
            try (Client client = Client.greeted(loop)) {
                client.identify("{\"feature_negotiation\":true,\"tls_v1\":true}");
                SSLContext context = broker.trusting(shown);
                if (shown == known) {
                    assertThat(client.tls(context).answer()).isEqualTo("OK");
                } else {
                    // With TLS 1.3 the client learns it when it reads.
                    assertThatThrownBy(() -> client.tls(context).answer()).isInstanceOf(IOException.class);
                }
            }
        }
    }

    @Test
    void shouldNameTheFileWhenACertificateCantBeUsed() throws IOException {
        assertThatThrownBy(() -> TlsOffer.read(dir.resolve("none.crt"), broker.key, Optional.empty()))
                .hasMessageContaining("none.crt");
        assertThatThrownBy(() -> TlsOffer.read(broker.certificate, known.key, Optional.empty()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("known.key");
        Path old = Files.writeString(dir.resolve("old.key"), "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n");
        assertThatThrownBy(() -> TlsOffer.read(broker.certificate, old, Optional.empty()))
                .hasMessageContaining("openssl pkcs8");
    }

    @Test
    void shouldCloseClientsThatNeverFinishWhatTheyBegan() throws Exception {
        GatewaySettings usual = GatewaySettings.defaults();
        GatewaySettings impatient = new GatewaySettings(
                usual.maxConnections(),
                usual.maxConnectionsByAddress(),
                usual.maxStrangersByAddress(),
                usual.maxMessageBytes(),
                usual.maxBodyBytes(),
                usual.maxReady(),
                usual.bufferBytes(),
                usual.maxBufferBytes(),
                usual.heartbeatNs(),
                usual.maxHeartbeatNs(),
                usual.messageTimeoutNs(),
                usual.maxMessageTimeoutNs(),
                usual.maxDelayNs(),
                usual.stallNs(),
                TimeUnit.MILLISECONDS.toNanos(300));
        start(terms(false, Optional.empty(), AccessRights.OPEN), impatient);
        try (Client mute = Client.silent(loop);
                Client half = Client.silent(loop).send("  V");
                Client noTls = Client.greeted(loop);
                Client halfTls = Client.greeted(loop);
                Client fine = Client.greeted(loop)) {
            noTls.identify("{\"feature_negotiation\":true,\"tls_v1\":true}");
            halfTls.identify("{\"feature_negotiation\":true,\"tls_v1\":true}");
            // A record's head, and nothing of what it announces.
            halfTls.send(new byte[] {0x16, 3, 1, 2, 0});
            assertThat(mute.ended()).isTrue();
            assertThat(half.ended()).isTrue();
            assertThat(noTls.ended()).isTrue();
            assertThat(halfTls.ended()).isTrue();
            assertThat(fine.send(Client.command("PUB orders", "x")).answer()).isEqualTo("OK");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"tls_v1", "snappy", "deflate"})
    void shouldCloseAClientWhoseLayerIsNoise(String layer) throws Exception {
        start(terms(false, Optional.empty(), AccessRights.OPEN));
        long seed = 5;
        Random random = new Random(seed);
        for (int round = 0; round < 20; round++) {
            try (Client client = Client.greeted(loop);
                    Client other = Client.greeted(loop)) {
                client.identify("{\"feature_negotiation\":true,\"" + layer + "\":true}");
                byte[] noise = new byte[20_000];
                random.nextBytes(noise);
                noise[0] = 0x07; // No block type of deflate, no chunk of snappy, no record of TLS.
                try {
                    client.send(noise);
                    while (!client.ended()) {
                        assertThat(client)
                                .as("seed " + seed + ", round " + round)
                                .isNotNull();
                    }
                } catch (IOException reset) {
                    // Closed while it still sent.
                    assertThat(reset).as("seed " + seed + ", round " + round).isNotNull();
                }
                assertThat(other.send(Client.command("PUB orders", "x")).answer())
                        .isEqualTo("OK");
            }
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {"feature_negotiation":true,"snappy":true,"deflate":true} | E_IDENTIFY_FAILED cannot enable both
            {"sample_rate":100}                 | E_BAD_BODY IDENTIFY sample rate (100) is invalid
            {"sample_rate":-1}                  | E_BAD_BODY IDENTIFY sample rate (-1) is invalid
            {"heartbeat_interval":999}          | E_BAD_BODY IDENTIFY heartbeat interval (999) is invalid
            {"heartbeat_interval":60001}        | E_BAD_BODY IDENTIFY heartbeat interval (60001) is invalid
            {"output_buffer_size":65537}        | E_BAD_BODY IDENTIFY output buffer size (65537) is invalid
            {"output_buffer_timeout":30001}     | E_BAD_BODY IDENTIFY output buffer timeout (30001) is invalid
            {"heartbeat_interval":"often"}      | E_BAD_BODY IDENTIFY heartbeat_interval is not a number
            {"msg_timeout":9999999999}          | E_BAD_BODY IDENTIFY msg timeout (9999999999) is invalid
            {"output_buffer_size":63}           | E_BAD_BODY IDENTIFY output buffer size (63) is invalid
            {"output_buffer_timeout":24}        | E_BAD_BODY IDENTIFY output buffer timeout (24) is invalid
            {"tls_v1":"yes"}                    | E_BAD_BODY IDENTIFY tls_v1 is not true or false
            {"client_id":7}                     | E_BAD_BODY IDENTIFY client_id is not a string
            {"weir_rate":-3}                    | E_BAD_BODY IDENTIFY weir_rate is not a number of messages a second
            {"weir_homes":1}                    | E_BAD_BODY IDENTIFY weir_homes is not true or false
            {"client_id":                       | E_BAD_BODY IDENTIFY failed to decode JSON body
            []                                  | E_BAD_BODY IDENTIFY failed to decode JSON body
            """)
    void shouldRefuseAnIdentityThatMakesNoSenseAndClose(String json, String error) throws Exception {
        start(ClientTerms.defaults());
        try (Client client = Client.greeted(loop)) {
            assertThat(client.identify(json)).startsWith(error);
            assertThat(client.ended()).isTrue();
        }
    }

    @Test
    void shouldRefuseAGroupThatIsTooLongAndKeepWhatFits() throws Exception {
        start(ClientTerms.defaults());
        try (Client client = Client.greeted(loop)) {
            assertThat(client.identify("{\"weir_group\":\"" + "g".repeat(65) + "\"}"))
                    .contains("longer than 64");
        }
        try (Client client = Client.greeted(loop)) {
            assertThat(client.identify(
                            "{\"weir_group\":\"g\",\"weir_workflow\":\"w\",\"weir_rate\":12.5,\"hostname\":\""
                                    + "h".repeat(300) + "\",\"unknown\":{\"deep\":[1,{}]}}"))
                    .isEqualTo("OK");
            ClientStats stats = clients().stream()
                    .filter(seen -> seen.group().equals("g"))
                    .findFirst()
                    .orElseThrow();
            assertThat(stats.workflow()).isEqualTo("w");
            assertThat(stats.expectedRate()).isEqualTo(12.5);
            assertThat(stats.hostname()).hasSize(255);
            assertThat(stats.remoteAddress()).startsWith("127.0.0.1:");
        }
    }

    @Test
    void shouldAnswerWhatItGrants() throws Exception {
        start(new ClientTerms(Optional.empty(), false, false, true, 4, AccessRights.OPEN));
        try (Client client = Client.greeted(loop)) {
            assertThat(client.identify(
                            "{\"feature_negotiation\":true,\"tls_v1\":true,\"snappy\":true,\"sample_rate\":7,"
                                    + "\"heartbeat_interval\":-1,\"msg_timeout\":2000,\"output_buffer_size\":-1,"
                                    + "\"output_buffer_timeout\":-1,\"weir_homes\":true}"))
                    .isEqualTo("{\"max_rdy_count\":2500,\"version\":\"weir-1\",\"max_msg_timeout\":900000,"
                            + "\"msg_timeout\":2000,\"heartbeat_interval\":0,\"tls_v1\":false,\"deflate\":false,"
                            + "\"deflate_level\":0,\"max_deflate_level\":4,\"snappy\":false,\"sample_rate\":7,"
                            + "\"auth_required\":false,\"output_buffer_size\":16384,\"output_buffer_timeout\":0,"
                            + "\"broker_id\":\"\",\"weir_homes\":true}");
        }
    }

    @Test
    void shouldLetATokenDoWhatItMayAndNothingElse() throws Exception {
        start(new ClientTerms(Optional.empty(), false, true, true, 6, RIGHTS));
        try (Client client = Client.greeted(loop)) {
            assertThat(client.identify("{\"feature_negotiation\":true}")).contains("\"auth_required\":true");
            assertThat(client.send(Client.command("AUTH", SECRET)).answer())
                    .isEqualTo("{\"identity\":\"orders\",\"identity_url\":\"\",\"permission_count\":2}");
            assertThat(client.send(Client.command("PUB orders.new", "x")).answer())
                    .isEqualTo("OK");
            assertThat(client.send("SUB orders audit\n").answer()).isEqualTo("OK");
            assertThat(clients().get(0).token()).contains("orders");
            assertThat(client.send(Client.command("PUB invoices", "x")).answer())
                    .isEqualTo("E_UNAUTHORIZED AUTH failed for PUB on \"invoices\" \"\"");
            assertThat(client.ended()).isTrue();
        }
        assertThat(port.published).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            PUB orders\\n\\0\\0\\0\\1x                   | E_AUTH_FIRST AUTH required before PUB
            MPUB orders\\n\\0\\0\\0\\11\\0\\0\\0\\1\\0\\0\\0\\1x | E_AUTH_FIRST AUTH required before MPUB
            DPUB orders 5\\n\\0\\0\\0\\1x                | E_AUTH_FIRST AUTH required before DPUB
            SUB orders audit\\n                       | E_AUTH_FIRST AUTH required before SUB
            AUTH\\n\\0\\0\\0\\5wrong                     | E_AUTH_FAILED AUTH failed
            AUTH\\n\\0\\0\\0\\23a-secret-of-nothing      | E_UNAUTHORIZED AUTH no authorizations found
            """)
    void shouldServeNobodyWithoutAToken(String command, String error) throws Exception {
        start(new ClientTerms(Optional.empty(), false, true, true, 6, RIGHTS));
        try (Client client = Client.greeted(loop)) {
            assertThat(client.send(command.translateEscapes()).answer()).isEqualTo(error);
            assertThat(client.ended()).isTrue();
        }
        assertThat(port.published).isEmpty();
    }

    /** Else strangers could fill the memory that all clients share. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            PUB orders\\n\\0\\20\\0\\0            | E_AUTH_FIRST AUTH required before PUB
            DPUB orders 5\\n\\0\\20\\0\\0         | E_AUTH_FIRST AUTH required before DPUB
            MPUB orders\\n\\0\\100\\0\\0\\0\\0\\0\\1 | E_AUTH_FIRST AUTH required before MPUB
            AUTH\\n\\0\\2\\0\\0                  | E_BAD_BODY AUTH body too big 131072 > 65536
            IDENTIFY\\n\\0\\2\\0\\0              | E_BAD_BODY IDENTIFY body too big 131072 > 65536
            """)
    void shouldNotWaitForTheBodyOfAStranger(String begun, String error) throws Exception {
        start(new ClientTerms(Optional.empty(), false, true, true, 6, RIGHTS));
        try (Client client = Client.greeted(loop)) {
            assertThat(client.send(begun.translateEscapes()).answer()).isEqualTo(error);
            assertThat(client.ended()).isTrue();
        }
    }

    @Test
    void shouldRefuseToRenegotiate() throws Exception {
        start(terms(false, Optional.empty(), AccessRights.OPEN));
        try (Client client = Client.greeted(loop)) {
            client.identify("{\"feature_negotiation\":true,\"tls_v1\":true}");
            assertThat(client.tls(broker.trusting(null), "TLSv1.2").answer()).isEqualTo("OK");
            assertThat(client.send(Client.command("PUB orders", "x")).answer()).isEqualTo("OK");
            assertThatThrownBy(() -> {
                        client.renegotiate();
                        client.send(Client.command("PUB orders", "y")).answer();
                    })
                    .isInstanceOf(IOException.class);
        }
        assertThat(port.published).hasSize(1);
    }

    /**
     * The answer to new keys can't go before what the client does not read, and nothing can be read before that answer.
     */
    @Test
    void shouldTakeNewKeysFromAClientThatDoesNotReadAndGoOnWhenItDoes() throws Exception {
        start(terms(false, Optional.empty(), AccessRights.OPEN));
        int messages = 400;
        try (Client client = Client.greeted(loop);
                Client publisher = Client.greeted(loop)) {
            client.identify("{\"feature_negotiation\":true,\"tls_v1\":true}");
            assertThat(client.tls(broker.trusting(null), "TLSv1.3").answer()).isEqualTo("OK");
            assertThat(client.send("SUB orders audit\n").answer()).isEqualTo("OK");
            client.send("RDY 2500\n");
            for (int i = 0; i < messages; i++) {
                assertThat(publisher
                                .send(Client.command("PUB orders", new byte[50_000]))
                                .answer())
                        .isEqualTo("OK");
            }
            // With 1.3 new keys for both sides.
            client.renegotiate();
            client.send(Client.command("PUB orders", "last"));
            int received = 0;
            boolean answered = false;
            while (received <= messages || !answered) {
                Client.Frame frame = client.frame();
                received += frame.type() == Frames.MESSAGE ? 1 : 0;
                answered |= frame.type() == Frames.RESPONSE;
            }
            assertThat(received).isEqualTo(messages + 1);
        }
    }

    @Test
    void shouldRefuseDeflateWhenTheMemoryForItIsTaken() throws Exception {
        start(terms(false, Optional.empty(), AccessRights.OPEN));
        List<Client> many = new ArrayList<>();
        try {
            String answer = "OK";
            while (answer.equals("OK") && many.size() < 1_000) {
                Client client = Client.greeted(loop);
                many.add(client);
                client.identify("{\"feature_negotiation\":true,\"deflate\":true,\"snappy\":false}");
                answer = client.frameOfEither().text();
            }
            // Of 128 MiB three quarters, 300 KiB each.
            assertThat(many).hasSizeBetween(300, 330);
            assertThat(answer).startsWith("E_INVALID no memory left for deflate");
            try (Client plain = Client.greeted(loop)) {
                assertThat(plain.send(Client.command("PUB orders", "x")).answer())
                        .isEqualTo("OK");
            }
        } finally {
            for (Client client : many) {
                client.close();
            }
        }
        await("their memory is back", () -> clients().isEmpty());
        try (Client client = Client.greeted(loop)) {
            client.identify("{\"feature_negotiation\":true,\"deflate\":true,\"snappy\":false}");
            assertThat(client.deflate().answer()).isEqualTo("OK");
        }
    }

    @Test
    void shouldRefuseAnotherChannelAndASecondAuth() throws Exception {
        start(new ClientTerms(Optional.empty(), false, true, true, 6, RIGHTS));
        try (Client client = Client.greeted(loop)) {
            client.send(Client.command("AUTH", SECRET)).answer();
            assertThat(client.send("SUB orders billing\n").answer())
                    .isEqualTo("E_UNAUTHORIZED AUTH failed for SUB on \"orders\" \"billing\"");
        }
        try (Client client = Client.greeted(loop)) {
            client.send(Client.command("AUTH", SECRET)).answer();
            assertThat(client.send(Client.command("AUTH", SECRET)).answer()).isEqualTo("E_INVALID AUTH already set");
        }
    }

    @Test
    void shouldSayWhenThereIsNothingToAuthenticateFor() throws Exception {
        start(ClientTerms.defaults());
        try (Client client = Client.greeted(loop)) {
            assertThat(client.send(Client.command("AUTH", SECRET)).answer()).isEqualTo("E_AUTH_DISABLED AUTH disabled");
        }
        try (Client client = Client.greeted(loop)) {
            assertThat(client.send("SUB orders full\n").answer()).startsWith("E_SUB_FAILED");
            assertThat(client.ended()).isTrue();
        }
    }

    @Test
    void shouldGiveAConsumerItsSampleAndFinishTheRest() throws Exception {
        start(ClientTerms.defaults());
        try (Client client = Client.greeted(loop)) {
            client.identify("{\"feature_negotiation\":true,\"sample_rate\":20}");
            client.send("SUB orders audit\n").answer();
            client.send("RDY 10\n");
            int got = 0;
            int all = 4_000;
            for (int i = 0; i < all; i++) {
                client.send(Client.command("PUB orders", "m" + i));
                Client.Frame frame = client.frame();
                while (frame.type() == Frames.MESSAGE) {
                    got++;
                    client.send("FIN " + frame.id() + "\n");
                    frame = client.frame();
                }
                assertThat(frame.text()).isEqualTo("OK");
            }
            // The mean is 800 and the deviation 25: ten of them away is no chance any more.
            assertThat(got).isBetween(550, 1_050);
            int finished = clients().isEmpty() ? 0 : port.finished;
            assertThat(finished).isGreaterThanOrEqualTo(all - 10);
        }
    }
}
