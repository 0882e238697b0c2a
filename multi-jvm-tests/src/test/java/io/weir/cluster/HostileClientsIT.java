package io.weir.cluster;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.Endpoint;
import io.weir.supervisor.cli.client.NsqConnection;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients that would end a broker, or take it from others, against a real one with the usual heap. */
@SideBySide
@Timeout(120)
class HostileClientsIT {
    private static final Duration SOON = Duration.ofSeconds(30);
    private static final String BROKER = "b1";

    private static BrokerCluster cluster;
    private static TopicClient topics;

    private final List<Socket> opened = new ArrayList<>();

    @BeforeAll
    static void start() {
        cluster = BrokerCluster.of(1)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("hostile-clients"))
                .start();
        topics = new TopicClient(cluster.http(BROKER), Optional.empty());
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @AfterEach
    void closeAll() throws IOException {
        for (Socket socket : opened) {
            socket.close();
        }
    }

    private Socket open() throws IOException {
        Endpoint tcp = cluster.tcp(BROKER);
        Socket socket = new Socket(tcp.host(), tcp.port());
        socket.setSoTimeout((int) SOON.toMillis());
        socket.getOutputStream().write("  V2".getBytes(US_ASCII));
        opened.add(socket);
        return socket;
    }

    private static byte[] batch(String topic, int messages, int bytes) throws IOException {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(whole);
        out.writeBytes("MPUB " + topic + "\n");
        out.writeInt(4 + messages * (4 + bytes));
        out.writeInt(messages);
        for (int i = 0; i < messages; i++) {
            out.writeInt(bytes);
            out.write(new byte[bytes]);
        }
        return whole.toByteArray();
    }

    private static String answer(Socket socket) throws IOException {
        DataInputStream in = new DataInputStream(socket.getInputStream());
        int size = in.readInt();
        in.readInt();
        return new String(in.readNBytes(size - 4), US_ASCII);
    }

    private static double metric(String name) {
        return topics.metric(name).orElse(0.0);
    }

    private static void assertOthersPublish(String topic) throws IOException {
        try (NsqConnection other = NsqConnection.open(cluster.tcp(BROKER), (int) SOON.toMillis())) {
            for (int i = 0; i < 20; i++) {
                assertThat(other.publishAndWait(topic, new byte[100])).isEqualTo("OK");
            }
        }
    }

    private static void delete(String topic) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://" + cluster.http(BROKER) + "/topic/delete?topic=" + topic))
                .POST(HttpRequest.BodyPublishers.noBody())
                .build();
        assertThat(HttpClient.newHttpClient()
                        .send(request, HttpResponse.BodyHandlers.discarding())
                        .statusCode())
                .isEqualTo(200);
    }

    /** 75 channels, 2.5 MB: without a budget 37 million places of messages, more than the heap holds. */
    @Test
    void shouldOutliveTinyMessagesForManyChannelsAndGiveTheMemoryBack() throws Exception {
        long pid = cluster.pid(BROKER);
        double most = metric("weir_message_entries_max");
        for (int i = 0; i < 75; i++) {
            Socket consumer = open();
            consumer.getOutputStream().write(("SUB flood c" + i + "\n").getBytes(US_ASCII));
            assertThat(answer(consumer)).isEqualTo("OK");
        }
        byte[] batch = batch("flood", 10_000, 1);
        for (int i = 0; i < 50; i++) {
            open().getOutputStream().write(batch);
        }
        cluster.await(
                "it has its part, and its publishers are held back",
                SOON,
                () -> metric("weir_message_entries") > most / 3 && metric("weir_messages_waiting") > 0);

        assertOthersPublish("bystander");
        assertThat(metric("weir_message_entries")).isLessThan(most);
        delete("flood");
        cluster.await("the memory is free again", SOON, () -> metric("weir_message_entries") <= 40);
        assertThat(cluster.pid(BROKER)).isEqualTo(pid);
        assertThat(cluster.isAlive(BROKER)).isTrue();
    }

    /** As much as its part of the message store holds, to a topic that nobody consumes. */
    @Test
    void shouldServeOtherTopicsBesideABacklogThatFillsItsPart() throws Exception {
        Socket publisher = open();
        publisher.getOutputStream().write(batch("backlog", 1, 1));
        assertThat(answer(publisher)).as("the topic is there").isEqualTo("OK");
        byte[] batch = batch("backlog", 8, 500_000);
        while (metric("weir_messages_waiting") == 0) {
            publisher.getOutputStream().write(batch);
            cluster.await(
                    "it is answered, or held back",
                    SOON,
                    () -> hasAnswer(publisher) || metric("weir_messages_waiting") > 0);
            if (hasAnswer(publisher)) {
                assertThat(answer(publisher)).isEqualTo("OK");
            }
        }

        assertOthersPublish("beside");
        double most = metric("weir_message_store_max_bytes");
        assertThat(metric("weir_message_store_used_bytes")).isBetween(most / 2, most * 7 / 8);
        for (int i = 0; i < 3; i++) {
            open().getOutputStream().write(batch);
        }
        assertThat(answer(opened.get(opened.size() - 1)))
                .as("no more may wait")
                .startsWith("E_MPUB_FAILED MPUB refused: topic backlog holds ");
        delete("backlog");
        cluster.await("the memory is free again", SOON, () -> metric("weir_message_store_used_bytes") < 4 * (1 << 20));
    }

    private static boolean hasAnswer(Socket socket) {
        try {
            return socket.getInputStream().available() > 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
