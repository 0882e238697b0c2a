package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.Endpoint;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;

/**
 * Strangers take all that they can get of a real broker's connections, while a client beside them, at the same address,
 * publishes and consumes all along.
 */
@Timeout(120)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@SideBySide
class HostileConnectionsIT {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final Duration SOON = Duration.ofSeconds(30);
    private static final String SECRET = "known-to-the-right-clients";
    private static final String DEFLATE = "{\"feature_negotiation\":true,\"deflate\":true}";
    /** More than all connections that the brokers of this test have. */
    private static final int STRANGERS = 2_500;

    private static BrokerCluster cluster;

    private final List<AutoCloseable> opened = new ArrayList<>();

    /** A client that says what is asked of it, and waits for each answer. */
    private static final class WellBehaved implements AutoCloseable {
        private final Socket socket = new Socket();
        private final DataInputStream in;

        WellBehaved(Endpoint broker) throws IOException {
            socket.connect(new InetSocketAddress(broker.host(), broker.port()));
            socket.setSoTimeout(30_000);
            in = new DataInputStream(socket.getInputStream());
            send("  V2");
            send("AUTH", SECRET);
            assertThat(answer()).contains("\"identity\"");
        }

        void send(String line) throws IOException {
            socket.getOutputStream().write(line.getBytes(StandardCharsets.US_ASCII));
        }

        void send(String line, String body) throws IOException {
            socket.getOutputStream().write(command(line, body));
        }

        byte[] frame() throws IOException {
            byte[] frame = in.readNBytes(in.readInt());
            if (new String(frame, StandardCharsets.US_ASCII).endsWith("_heartbeat_")) {
                send("NOP\n");
                return frame();
            }
            return frame;
        }

        String answer() throws IOException {
            byte[] frame = frame();
            return new String(frame, 4, frame.length - 4, StandardCharsets.US_ASCII);
        }

        WellBehaved subscribed(String topic, int ready) throws IOException {
            send("SUB " + topic + " work\n");
            assertThat(answer()).isEqualTo("OK");
            send("RDY " + ready + "\n");
            return this;
        }

        void publish(String topic, String body) throws IOException {
            send("PUB " + topic, body);
            assertThat(answer()).isEqualTo("OK");
        }

        /** The next message's body, finished. */
        String take() throws IOException {
            byte[] frame = frame();
            send("FIN " + new String(frame, 14, 16, StandardCharsets.US_ASCII) + "\n");
            return body(frame);
        }

        static String body(byte[] frame) {
            return new String(frame, 30, frame.length - 30, StandardCharsets.US_ASCII);
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static byte[] command(String line, String body) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeBytes(line + "\n");
        out.writeInt(body.length());
        out.writeBytes(body);
        return bytes.toByteArray();
    }

    @BeforeAll
    static void start() {
        cluster = BrokerCluster.of(2)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("hostile-connections"))
                .withEnvironment(Map.of("WEIR_TCP_AUTH_SECRET", SECRET, "WEIR_TCP_MAX_CONNECTIONS", "1500"))
                .start();
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    private WellBehaved client(String broker) throws IOException {
        WellBehaved client = new WellBehaved(cluster.tcp(broker));
        opened.add(client);
        return client;
    }

    /** A broker may close it at any time. */
    private SocketChannel stranger(Endpoint at) throws IOException {
        SocketChannel channel = SocketChannel.open(new InetSocketAddress(at.host(), at.port()));
        opened.add(channel);
        return channel;
    }

    private static double metric(String broker, String name) {
        return new TopicClient(cluster.http(broker), Optional.empty())
                .metric(name)
                .orElseThrow();
    }

    private static HttpResponse<String> http(String broker, String method, String path) throws Exception {
        return HTTP.send(
                HttpRequest.newBuilder(URI.create("http://" + cluster.http(broker) + path))
                        .timeout(SOON)
                        .method(method, HttpRequest.BodyPublishers.noBody())
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private static JsonNode stats(String broker, String topic) throws Exception {
        JsonNode all = JSON.readTree(
                http(broker, "GET", "/stats?format=json&topic=" + topic).body());
        return all.path("topics").path(0);
    }

    @Test
    void shouldServeAClientBesideStrangersThatTakeEveryConnection() throws Exception {
        WellBehaved publisher = client("b1");
        WellBehaved consumer = client("b1").subscribed("calm", 10);
        for (int i = 0; i < STRANGERS; i++) {
            SocketChannel stranger = stranger(cluster.tcp("b1"));
            if (i % 2 == 0) {
                say(stranger, "  V2".getBytes(StandardCharsets.US_ASCII));
            }
            if (i % 50 == 0) {
                publisher.publish("calm", "m" + i);
                assertThat(consumer.take()).isEqualTo("m" + i);
            }
        }
        WellBehaved newcomer = client("b1");
        newcomer.publish("calm", "from a newcomer");
        assertThat(consumer.take()).isEqualTo("from a newcomer");
        assertThat(metric("b1", "weir_gateway_strangers_displaced_total")).isPositive();
        assertThat(metric("b1", "weir_gateway_refused_total")).isZero();
        closeStrangers();
        cluster.await("only clients are left", SOON, () -> metric("b1", "weir_gateway_strangers") == 0);
        assertThat(cluster.isAlive("b1")).isTrue();
    }

    @Test
    void shouldServeAClientBesideStrangersThatAskForDeflate() throws Exception {
        WellBehaved publisher = client("b1");
        WellBehaved consumer = client("b1").subscribed("deflated", 10);
        publisher.publish("deflated", "first");
        assertThat(consumer.take()).isEqualTo("first");
        double before = metric("b1", "weir_gateway_buffers_bytes");
        for (int i = 0; i < 400; i++) {
            SocketChannel stranger = stranger(cluster.tcp("b1"));
            say(stranger, "  V2".getBytes(StandardCharsets.US_ASCII));
            say(stranger, command("IDENTIFY", DEFLATE));
            if (i % 20 == 0) {
                publisher.publish("deflated", "m" + i);
                assertThat(consumer.take()).isEqualTo("m" + i);
            }
        }
        assertThat(metric("b1", "weir_gateway_buffers_bytes"))
                .as("an eighth of 128 MiB, and what is pooled")
                .isLessThan(32 << 20);
        closeStrangers();
        cluster.await(
                "their memory is back", SOON, () -> metric("b1", "weir_gateway_buffers_bytes") <= before + (4 << 20));
    }

    /** What the broker has closed can't be written to. */
    private static void say(SocketChannel stranger, byte[] words) {
        try {
            stranger.write(ByteBuffer.wrap(words));
        } catch (IOException e) {
            assertThat(stranger.isOpen()).isTrue();
        }
    }

    private void closeStrangers() throws Exception {
        for (AutoCloseable each : opened) {
            if (each instanceof SocketChannel) {
                each.close();
            }
        }
    }

    @Test
    void shouldSayThatItIsAliveBesideIdleConnections() throws Exception {
        for (int i = 0; i < 1_200; i++) {
            stranger(cluster.http("b1"));
        }
        assertThat(http("b1", "GET", "/alive").statusCode()).isEqualTo(200);
        assertThat(http("b1", "GET", "/ready").statusCode()).isEqualTo(200);
    }

    @Test
    void shouldAnswerManyWhoAskForStatisticsBesideAPublisher() throws Exception {
        WellBehaved publisher = client("b1");
        List<CompletableFuture<HttpResponse<String>>> asked = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            asked.add(HTTP.sendAsync(
                    HttpRequest.newBuilder(URI.create("http://" + cluster.http("b1") + "/stats?format=json"))
                            .timeout(SOON)
                            .build(),
                    HttpResponse.BodyHandlers.ofString()));
            publisher.publish("counted", "m" + i);
        }
        asked.forEach(answer -> assertThat(answer.join().statusCode()).isEqualTo(200));
        assertThat(stats("b1", "counted").path("message_count").asInt()).isEqualTo(100);
    }

    @Test
    void shouldPauseEverywhereBeforeItAnswersAndDeleteForWhoeverAsksNext() throws Exception {
        WellBehaved publisher = client("b1");
        client("b2").subscribed("paused", 1);
        publisher.publish("paused", "m");
        cluster.await("b2 serves it", SOON, () -> hasTopic("b2", "paused"));
        for (boolean paused : new boolean[] {true, false, true}) {
            assertThat(http("b1", "POST", "/topic/" + (paused ? "pause" : "unpause") + "?topic=paused")
                            .statusCode())
                    .isEqualTo(200);
            assertThat(stats("b2", "paused").path("paused").asBoolean()).isEqualTo(paused);
            assertThat(stats("b1", "paused").path("paused").asBoolean()).isEqualTo(paused);
        }
        assertThat(http("b2", "POST", "/channel/pause?topic=paused&channel=work")
                        .statusCode())
                .isEqualTo(200);
        assertThat(stats("b1", "paused").path("channels").path(0).path("paused").asBoolean())
                .isTrue();
        for (String what : List.of("/channel/delete?topic=paused&channel=work", "/topic/delete?topic=paused")) {
            assertThat(http("b1", "POST", what).statusCode()).as(what).isEqualTo(200);
            assertThat(http("b2", "POST", what).statusCode())
                    .as("the next: " + what)
                    .isEqualTo(200);
        }
        assertThat(http("b2", "POST", "/topic/delete?topic=never-there").statusCode())
                .isEqualTo(404);
    }

    private static boolean hasTopic(String broker, String topic) {
        try {
            return stats(broker, topic).path("channels").size() > 0;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** Last, because it costs a broker. */
    @Test
    @Order(Integer.MAX_VALUE)
    void shouldDeliverAgainWhatWasOnItsWayToABrokerThatIsKilled() throws Exception {
        WellBehaved publisher = client("b1");
        WellBehaved victim = client("b2").subscribed("returned", 3);
        for (int i = 0; i < 3; i++) {
            publisher.publish("returned", "m" + i);
        }
        for (int i = 0; i < 3; i++) {
            victim.frame();
        }
        WellBehaved heir = client("b1").subscribed("returned", 3);
        cluster.kill("b2");
        Set<String> again = new HashSet<>();
        for (int i = 0; i < 3; i++) {
            again.add(heir.take());
        }
        assertThat(again).containsExactlyInAnyOrder("m0", "m1", "m2");
    }
}
