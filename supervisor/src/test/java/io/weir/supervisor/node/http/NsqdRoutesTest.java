package io.weir.supervisor.node.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.config.Endpoint;
import io.weir.supervisor.Await;
import io.weir.supervisor.node.BrokerUnderTest;
import io.weir.supervisor.store.RunningStore;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** nsqd's and nsqlookupd's HTTP at a whole broker in this JVM. */
@Timeout(120)
class NsqdRoutesTest {
    private static final int MOST_WAITING_PUBLICATIONS = 2;

    @TempDir
    private static Path dir;

    private static RunningStore store;
    private static BrokerUnderTest broker;

    @BeforeAll
    static void start() throws Exception {
        store = RunningStore.start();
        Map<String, String> environment = store.environment("b1", dir.resolve("b1"));
        environment.put("WEIR_HTTP_MAX_PUBLICATIONS", Integer.toString(MOST_WAITING_PUBLICATIONS));
        environment.put("WEIR_TOPICS_DEFAULTS", "t-* 1000000 100000");
        environment.put("WEIR_TOPICS_MAX_MESSAGE_SIZE", "1000");
        broker = BrokerUnderTest.start(environment);
        Await.until("b1 is ready", () -> broker.get("/ready").statusCode() == 200);
    }

    @AfterAll
    static void stop() throws Exception {
        broker.post("/stop");
        broker.awaitEnd();
        store.close();
    }

    /** A consumer on the TCP port that acknowledges what it gets. */
    private record Reader(Socket socket, DataInputStream in) implements AutoCloseable {
        static Reader of(String topic, String channel, int ready) throws IOException {
            Endpoint tcp = broker.tcp();
            Socket socket = new Socket(tcp.host(), tcp.port());
            socket.setSoTimeout(30_000);
            socket.getOutputStream()
                    .write(("  V2SUB " + topic + " " + channel + "\nRDY " + ready + "\n").getBytes(UTF_8));
            return new Reader(socket, new DataInputStream(socket.getInputStream()));
        }

        String next() throws IOException {
            while (true) {
                byte[] frame = new byte[in.readInt()];
                in.readFully(frame);
                ByteBuffer read = ByteBuffer.wrap(frame);
                if (read.getInt() == 2) {
                    String id = new String(frame, 14, 16, UTF_8);
                    socket.getOutputStream().write(("FIN " + id + "\n").getBytes(UTF_8));
                    return new String(frame, 30, frame.length - 30, UTF_8);
                }
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static HttpResponse<String> pub(String query, String body) throws Exception {
        return broker.post("/pub?" + query, body.getBytes(UTF_8));
    }

    private static void published(HttpResponse<String> answer) {
        assertThat(answer.body()).isEqualTo("OK");
        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().firstValue("X-NSQ-Content-Type")).hasValue("nsq; version=1.0");
    }

    private static byte[] counted(String... bodies) {
        ByteBuffer out = ByteBuffer.allocate(1_000).putInt(bodies.length);
        for (String body : bodies) {
            out.putInt(body.length()).put(body.getBytes(UTF_8));
        }
        byte[] bytes = new byte[out.position()];
        out.flip().get(bytes);
        return bytes;
    }

    private static void create(String topic, String definition) throws Exception {
        HttpResponse<String> answer = broker.post("/v1/topics/" + topic, definition.getBytes(UTF_8));
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        Await.until(
                "b1 has its limit",
                () -> broker.json("/v1/topics/" + topic).get("sumBurst").asDouble() >= 1);
    }

    private static JsonNode channelStats(String topic, String channel) throws Exception {
        return broker.json("/stats?format=json&topic=" + topic + "&channel=" + channel)
                .at("/topics/0/channels/0");
    }

    @Test
    void shouldPublishOneManyCountedChunkedAndLater() throws Exception {
        try (Reader reader = Reader.of("t-all", "work", 1)) {
            published(pub("topic=t-all", "one"));
            published(broker.post("/mpub?topic=t-all", "two\n\nthree\n".getBytes(UTF_8)));
            published(broker.post("/mpub?topic=t-all&binary=true", counted("fo\nur", "five")));
            published(broker.send(
                    "POST",
                    "/pub?topic=t-all",
                    BodyPublishers.ofInputStream(() -> new ByteArrayInputStream("chunked".getBytes(UTF_8)))));
            List<String> got = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                got.add(reader.next());
            }
            assertThat(got).containsExactly("one", "two", "three", "fo\nur", "five", "chunked");

            published(pub("topic=t-all&defer=60000", "much later"));
            assertThat(channelStats("t-all", "work").get("deferred_count").asInt())
                    .isEqualTo(1);
            published(pub("topic=t-all&defer=1", "later"));
            assertThat(reader.next()).isEqualTo("later");
        }
    }

    private void refused(String method, String path, String body, int status, String message) throws Exception {
        HttpResponse<String> answer = broker.send(method, path, BodyPublishers.ofString(body));
        assertThat(answer.statusCode()).as(path + ": " + answer.body()).isEqualTo(status);
        assertThat(BrokerUnderTest.message(answer)).as(path).isEqualTo(message);
    }

    @Test
    void shouldSayInNsqdsWordsWhatIsWrong() throws Exception {
        refused("POST", "/pub", "x", 400, "MISSING_ARG_TOPIC");
        refused("POST", "/pub?topic=no%20name", "x", 400, "INVALID_TOPIC");
        refused("POST", "/pub?topic=a:b", "x", 400, "INVALID_TOPIC");
        refused("POST", "/pub?topic=%ff%fe", "x", 400, "INVALID_TOPIC");
        refused("POST", "/pub?topic=" + "x".repeat(65), "x", 400, "INVALID_TOPIC");
        refused("POST", "/pub?topic=t-bad", "", 400, "MSG_EMPTY");
        refused("POST", "/pub?topic=t-bad", "x".repeat(1_001), 413, "MSG_TOO_BIG");
        refused("POST", "/pub?topic=t-bad&defer=x", "x", 400, "INVALID_DEFER");
        refused("POST", "/pub?topic=t-bad&defer=-1", "x", 400, "INVALID_DEFER");
        refused("POST", "/pub?topic=t-bad&defer=99999999999", "x", 400, "INVALID_DEFER");
        refused("POST", "/pub?topic=nobody-made-this", "x", 404, "TOPIC_NOT_FOUND");
        refused("POST", "/mpub?topic=t-bad", "x\n" + "y".repeat(1_001), 413, "MSG_TOO_BIG");
        refused("POST", "/mpub?topic=t-bad", "x".repeat(6 << 20), 413, "BODY_TOO_BIG");
        refused("POST", "/mpub?topic=t-bad&binary=perhaps", "x", 400, "BAD_BODY");
        refused("POST", "/topic/tombstone?topic=t-bad", "", 400, "MISSING_ARG_NODE");
        refused("POST", "/topic/tombstone?node=127.0.0.1:4151", "", 400, "MISSING_ARG_TOPIC");
        refused("POST", "/topic/tombstone?topic=t-bad&node=127.0.0.1:4151", "", 501, "NOT_SUPPORTED");
        refused("POST", "/topic/create", "", 400, "MISSING_ARG_TOPIC");
        refused("POST", "/topic/create?topic=nobody-made-this", "", 400, "NO_DEFAULT_LIMIT");
        refused("POST", "/topic/delete?topic=t-none", "", 404, "TOPIC_NOT_FOUND");
        refused("POST", "/topic/empty?topic=t-none", "", 404, "TOPIC_NOT_FOUND");
        refused("POST", "/topic/pause?topic=t-none", "", 404, "TOPIC_NOT_FOUND");
        refused("POST", "/channel/create?topic=t-none", "", 400, "MISSING_ARG_CHANNEL");
        refused("POST", "/channel/create?topic=t-none&channel=a%20b", "", 400, "INVALID_ARG_CHANNEL");
        refused("POST", "/channel/create?topic=t-none&channel=c", "", 404, "TOPIC_NOT_FOUND");
        refused("POST", "/channel/create?topic=t-none&channel=c%23ephemeral", "", 400, "INVALID_ARG_CHANNEL");
        refused("GET", "/lookup", "", 400, "MISSING_ARG_TOPIC");
        refused("GET", "/lookup?topic=t-none", "", 404, "TOPIC_NOT_FOUND");
        refused("GET", "/channels", "", 400, "MISSING_ARG_TOPIC");
        refused("GET", "/pub?topic=t-bad", "", 405, "METHOD_NOT_ALLOWED");
        refused("POST", "/lookup?topic=t-bad", "", 405, "METHOD_NOT_ALLOWED");
        HttpResponse<String> chunked = broker.send(
                "POST",
                "/pub?topic=t-bad",
                BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(new byte[100_000])));
        assertThat(chunked.statusCode()).as("of unknown length").isEqualTo(413);
        assertThat(chunked.headers().firstValue("X-NSQ-Content-Type")).isPresent();
        for (byte[] body : List.of(
                new byte[3],
                new byte[4],
                new byte[] {127, -1, -1, -1, 0, 0, 0, 1, 'x'},
                new byte[] {0, 0, 0, 1, 0, 0, 0, 0, 'x'},
                new byte[] {0, 0, 0, 1, 0, 0, 0, 2, 'x'},
                new byte[] {0, 0, 0, 1, -1, 0, 0, 2, 'x'},
                new byte[] {0, 0, 0, 1, 0, 0, 0, 1, 'x', 'y'})) {
            HttpResponse<String> answer = broker.post("/mpub?topic=t-bad&binary=1", body);
            assertThat(answer.statusCode()).isEqualTo(400);
            assertThat(BrokerUnderTest.message(answer)).isIn("BAD_BODY", "BAD_MESSAGE");
        }
        assertThat(broker.json("/stats?format=json&topic=t-bad").get("topics"))
                .as("nothing of it was published")
                .isEmpty();
    }

    /** Words that nsqd does not know it takes for a yes; scripts live by that. */
    @Test
    void shouldReadParametersAsGenerouslyAsNsqd() throws Exception {
        published(broker.post("/mpub?topic=t-lenient", "\n\n".getBytes(UTF_8)));
        published(broker.post("/mpub?topic=t-lenient", new byte[0]));
        assertThat(broker.json("/stats?format=json&topic=t-lenient").get("topics"))
                .as("nothing was published")
                .isEmpty();
        for (String binary : List.of("binary", "binary=", "binary=yes")) {
            published(broker.post("/mpub?topic=t-lenient&" + binary, counted("a\nb")));
        }
        for (String text : List.of("binary=0", "binary=false")) {
            published(broker.post("/mpub?topic=t-lenient&" + text, "c".getBytes(UTF_8)));
        }
        JsonNode all = broker.json("/stats?format=json&topic=&channel=&include_mem=2&include_clients=");
        assertThat(all.get("topics").findValuesAsText("topic_name")).contains("t-lenient");
        assertThat(all.at("/memory/heap_in_use_bytes").asLong()).isPositive();
        assertThat(broker.json("/stats?format=json&topic=t-lenient")
                        .at("/topics/0/message_count")
                        .asInt())
                .isEqualTo(5);
        assertThat(broker.json("/stats?format=json&topic=t-lenient&channel=none")
                        .get("topics"))
                .as("topics without the channel are left out")
                .isEmpty();
    }

    @Test
    void shouldEmptyAnEphemeralChannelAndSayWhyNothingElseCanBeDoneToIt() throws Exception {
        try (Reader reader = Reader.of("t-tail", "tail#ephemeral", 0)) {
            Await.until("the channel is there", () -> !channelStats("t-tail", "tail%23ephemeral")
                    .isMissingNode());
            published(pub("topic=t-tail", "x"));
            assertThat(channelStats("t-tail", "tail%23ephemeral").get("depth").asInt())
                    .isEqualTo(1);
            for (String action : List.of("create", "pause", "unpause", "delete")) {
                refused(
                        "POST",
                        "/channel/" + action + "?topic=t-tail&channel=tail%23ephemeral",
                        "",
                        400,
                        "INVALID_ARG_CHANNEL");
            }
            assertThat(broker.send("DELETE", "/v1/topics/t-tail/channels/tail%23ephemeral", BodyPublishers.noBody())
                            .statusCode())
                    .isEqualTo(400);
            assertThat(broker.post("/channel/empty?topic=t-tail&channel=tail%23ephemeral")
                            .statusCode())
                    .isEqualTo(200);
            assertThat(channelStats("t-tail", "tail%23ephemeral").get("depth").asInt())
                    .isZero();
            assertThat(reader.socket().isClosed()).isFalse();
        }
    }

    /** As curl does with large bodies: it sends none before it is told to. */
    @Test
    void shouldAskForABodyThatItsSenderHoldsBack() throws Exception {
        try (RawHttp http = new RawHttp(broker)) {
            http.write(
                    "POST /pub?topic=t-expect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
            assertThat(http.head()).startsWith("HTTP/1.1 100");
            http.write("hello");
            assertThat(http.line()).startsWith("HTTP/1.1 200");
        }
        // Several times: were the body wanted after all, that would be said just before or just after the answer.
        for (int i = 0; i < 50; i++) {
            try (RawHttp http = new RawHttp(broker)) {
                http.write(
                        "POST /pub?topic=t-expect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n");
                assertThat(http.line()).as("it need not be sent at all").startsWith("HTTP/1.1 413");
            }
        }
    }

    /** Who is still sending when the connection ends never reads what was wrong. */
    @Test
    void shouldAnswerAfterTheBodyAndKeepTheConnectionWhenTheBodyIsNotWanted() throws Exception {
        for (String path : List.of("/no-such-path", "/pub?topic=t-bad")) {
            try (RawHttp http = new RawHttp(broker)) {
                for (int i = 0; i < 20; i++) {
                    http.write("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n");
                    http.write("x".repeat(200_000));
                    assertThat(http.head()).startsWith("HTTP/1.1 4").doesNotContain("Connection: close");
                    assertThat(http.body()).contains("\"message\"");
                }
            }
        }
    }

    /** A body of unknown length counts as the largest there may be. */
    @Test
    void shouldReadNoMoreBodiesAtATimeThanItHasMemoryFor() throws Exception {
        List<RawHttp> reading = new ArrayList<>();
        try {
            Await.until("it is busy", () -> {
                RawHttp http = new RawHttp(broker);
                reading.add(http);
                http.write(
                        "POST /mpub?topic=t-large HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
                assertThat(reading).as("12 of 5 MiB fit 64 MiB").hasSizeLessThan(30);
                HttpResponse<String> answer = broker.send(
                        "POST",
                        "/mpub?topic=t-large",
                        BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(new byte[] {'x'})));
                if (answer.statusCode() == 503) {
                    assertThat(BrokerUnderTest.message(answer)).isEqualTo("BUSY");
                    return true;
                }
                return false;
            });
            assertThat(reading).hasSizeGreaterThanOrEqualTo(12);
        } finally {
            for (RawHttp http : reading) {
                http.close();
            }
        }
        Await.until(
                "there is room again",
                () -> broker.send(
                                        "POST",
                                        "/mpub?topic=t-large",
                                        BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(new byte[] {'x'})))
                                .statusCode()
                        == 200);
    }

    /** What a URI class would not let through goes by a socket. */
    @Test
    void shouldRefuseAQueryThatCannotBeRead() throws Exception {
        try (RawHttp http = new RawHttp(broker)) {
            http.write("POST /pub?topic=%zz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx");
            assertThat(http.line()).startsWith("HTTP/1.1 400");
        }
    }

    @Test
    void shouldTellWhenToComeAgainWhenTheTopicPolices() throws Exception {
        create("policed", "{\"rate\":0.01,\"burst\":1,\"mode\":\"police\"}");
        published(pub("topic=policed", "one"));
        HttpResponse<String> answer = pub("topic=policed", "two");
        assertThat(answer.statusCode()).isEqualTo(429);
        assertThat(BrokerUnderTest.message(answer)).isEqualTo("THROTTLED");
        long ms = answer.headers().firstValueAsLong("X-Weir-Retry-After-Ms").orElseThrow();
        // Refill runs a thousandth slow, so that a fast clock keeps the bound.
        assertThat(ms).isBetween(1L, 100_100L);
        assertThat(answer.headers().firstValueAsLong("Retry-After")).hasValue((ms + 999) / 1_000);
        assertThat(broker.json("/stats?format=json&topic=policed")
                        .at("/topics/0/message_count")
                        .asInt())
                .isEqualTo(1);
    }

    /** A script that does as Retry-After says would try for ever. */
    @Test
    void shouldNotPromiseThatABatchPassesLaterWhenItNeverCan() throws Exception {
        create("strict", "{\"rate\":0.01,\"burst\":2,\"mode\":\"police\"}");
        neverPasses("strict", "a\nb\nc", "at most 2 messages");
        published(broker.post("/mpub?topic=strict", "a\nb".getBytes(UTF_8)));
        HttpResponse<String> later = broker.post("/mpub?topic=strict", "c\nd".getBytes(UTF_8));
        assertThat(later.statusCode()).as("waiting helps").isEqualTo(429);
        assertThat(later.headers().firstValueAsLong("X-Weir-Retry-After-Ms").orElseThrow())
                .isGreaterThan(1_000);
        neverPasses("strict", "a\nb\nc", "at most 2 messages");

        create("patient", "{\"rate\":1,\"burst\":1,\"maxDelayMs\":1000}");
        neverPasses("patient", "a\nb\nc", "at most 2 messages");
    }

    private static void neverPasses(String topic, String lines, String reason) throws Exception {
        HttpResponse<String> answer = broker.post("/mpub?topic=" + topic, lines.getBytes(UTF_8));
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(413);
        assertThat(BrokerUnderTest.message(answer)).isEqualTo("BATCH_TOO_BIG");
        assertThat(answer.body()).contains(reason);
        assertThat(answer.headers().firstValue("Retry-After")).isEmpty();
    }

    @Test
    void shouldRefuseWhenTooManyWaitForTheLimitOrOneWaitedTooLong() throws Exception {
        create("short", "{\"rate\":0.01,\"burst\":1}");
        published(pub("topic=short", "one"));
        assertThat(broker.send("PUT", "/v1/topics/short/delivery", BodyPublishers.ofString("{\"maxDelayMs\":1}"))
                        .statusCode())
                .isEqualTo(200);
        HttpResponse<String> late = pub("topic=short", "two");
        assertThat(late.statusCode()).isEqualTo(429);
        assertThat(late.body()).contains("waited longer");
        create("narrow", "{\"rate\":0.01,\"burst\":1,\"maxWaiting\":0}");
        published(pub("topic=narrow", "one"));
        HttpResponse<String> full = pub("topic=narrow", "two");
        assertThat(full.statusCode()).isEqualTo(429);
        assertThat(full.body()).contains("wait for the topic's limit");
    }

    @Test
    void shouldAnswerWhenTheTokenIsThereAndTakeNoMoreThanMayWaitMeanwhile() throws Exception {
        create("shaped", "{\"rate\":0.001,\"burst\":1}");
        published(pub("topic=shaped", "one"));
        List<CompletableFuture<HttpResponse<String>>> waiting = new ArrayList<>();
        for (int i = 0; i < MOST_WAITING_PUBLICATIONS; i++) {
            waiting.add(broker.later("POST", "/pub?topic=shaped", BodyPublishers.ofString("m" + i)));
        }
        Await.until(
                "all of them wait",
                () -> broker.json("/stats?format=json&topic=shaped")
                                .at("/topics/0/waiting_count")
                                .asInt()
                        == MOST_WAITING_PUBLICATIONS);
        HttpResponse<String> busy = pub("topic=t-other", "x");
        assertThat(busy.statusCode()).isEqualTo(503);
        assertThat(BrokerUnderTest.message(busy)).isEqualTo("BUSY");
        assertThat(waiting).noneMatch(CompletableFuture::isDone);
        assertThat(broker.send("PUT", "/v1/topics/shaped/limit", BodyPublishers.ofString("{\"rate\":1000}"))
                        .statusCode())
                .isEqualTo(200);
        for (CompletableFuture<HttpResponse<String>> each : waiting) {
            published(each.join());
        }
        published(pub("topic=t-other", "x"));
    }

    @Test
    void shouldTellWhatItDroppedAndWhatItHolds() throws Exception {
        double before = metric("weir_messages_dropped_total");
        create("short-queue", "{\"rate\":1000,\"burst\":100,\"maxQueued\":2,\"overflow\":\"drop-oldest\"}");
        published(broker.post("/mpub?topic=short-queue", "a\nb\nc".getBytes(UTF_8)));
        assertThat(broker.post("/channel/create?topic=short-queue&channel=work").statusCode())
                .isEqualTo(200);
        Await.until("the channel is there", () -> !channelStats("short-queue", "work")
                .isMissingNode());
        published(broker.post("/mpub?topic=short-queue", "d\ne".getBytes(UTF_8)));
        JsonNode topic = broker.json("/stats?format=json&topic=short-queue").at("/topics/0");
        assertThat(topic.get("dropped_count").asInt()).as("before the channel").isEqualTo(1);
        assertThat(topic.at("/channels/0/dropped_count").asInt()).isEqualTo(2);
        assertThat(broker.get("/stats?topic=short-queue").body())
                .contains("dropped: 1")
                .contains("dropped: 2");
        assertThat(metric("weir_messages_dropped_total") - before).isEqualTo(3);
        assertThat(metric("weir_messages_held")).isPositive();
        assertThat(metric("weir_message_store_used_bytes"))
                .isPositive()
                .isLessThanOrEqualTo(metric("weir_message_store_reserved_bytes"));
        assertThat(metric("weir_message_store_max_bytes")).isEqualTo(256 << 20);
        for (String without : List.of(
                "weir_link_forwards_lost_total",
                "weir_link_dropped_total",
                "weir_link_sent_bytes_total",
                "weir_link_connects_total",
                "weir_link_frames_refused_total")) {
            assertThat(metric(without)).as(without + ", alone").isZero();
        }
    }

    /** Of all its labels. */
    private static double metric(String name) throws Exception {
        List<Double> values = broker.get("/metrics")
                .body()
                .lines()
                .filter(line -> line.startsWith(name + "{"))
                .map(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
                .toList();
        assertThat(values).as(name).isNotEmpty();
        return values.stream().mapToDouble(value -> value).sum();
    }

    @Test
    void shouldMakePauseEmptyAndDeleteTopicsAndChannels() throws Exception {
        assertThat(broker.post("/topic/create?topic=t-life").statusCode()).isEqualTo(200);
        assertThat(broker.post("/topic/create?topic=t-life").statusCode())
                .as("again")
                .isEqualTo(200);
        assertThat(broker.json("/topics").get("topics").toString()).contains("\"t-life\"");
        refused("POST", "/channel/pause?topic=t-life&channel=work", "", 404, "CHANNEL_NOT_FOUND");
        assertThat(broker.post("/channel/create?topic=t-life&channel=work").statusCode())
                .isEqualTo(200);
        assertThat(broker.json("/channels?topic=t-life").get("channels").toString())
                .isEqualTo("[\"work\"]");
        assertThat(broker.post("/channel/pause?topic=t-life&channel=work").statusCode())
                .isEqualTo(200);
        Await.until(
                "it pauses", () -> channelStats("t-life", "work").path("paused").asBoolean());
        published(broker.post("/mpub?topic=t-life", "a\nb\nc".getBytes(UTF_8)));
        assertThat(channelStats("t-life", "work").get("depth").asInt()).isEqualTo(3);
        assertThat(channelStats("t-life", "work").get("message_count").asInt()).isEqualTo(3);
        assertThat(broker.post("/channel/empty?topic=t-life&channel=work").statusCode())
                .isEqualTo(200);
        assertThat(channelStats("t-life", "work").get("depth").asInt()).isZero();

        assertThat(broker.post("/topic/pause?topic=t-life").statusCode()).isEqualTo(200);
        Await.until("the topic pauses", () -> broker.json("/stats?format=json&topic=t-life")
                .at("/topics/0/paused")
                .asBoolean());
        published(pub("topic=t-life", "d"));
        assertThat(broker.json("/stats?format=json&topic=t-life")
                        .at("/topics/0/depth")
                        .asInt())
                .isEqualTo(1);
        assertThat(broker.post("/topic/empty?topic=t-life").statusCode()).isEqualTo(200);
        assertThat(broker.json("/stats?format=json&topic=t-life")
                        .at("/topics/0/depth")
                        .asInt())
                .isZero();
        assertThat(broker.post("/topic/unpause?topic=t-life").statusCode()).isEqualTo(200);
        assertThat(broker.post("/channel/unpause?topic=t-life&channel=work").statusCode())
                .isEqualTo(200);
        published(pub("topic=t-life", "e"));
        try (Reader reader = Reader.of("t-life", "work", 1)) {
            assertThat(reader.next()).isEqualTo("e");
        }
        assertThat(broker.post("/channel/delete?topic=t-life&channel=work").statusCode())
                .isEqualTo(200);
        assertThat(broker.json("/channels?topic=t-life").get("channels")).isEmpty();
        assertThat(broker.post("/topic/delete?topic=t-life").statusCode()).isEqualTo(200);
        assertThat(broker.json("/topics").get("topics").toString()).doesNotContain("t-life");
        refused("GET", "/lookup?topic=t-life", "", 404, "TOPIC_NOT_FOUND");
    }

    @Test
    void shouldTellWhereATopicCanBeConsumed() throws Exception {
        published(pub("topic=t-where", "x"));
        JsonNode found = broker.json("/lookup?topic=t-where");
        assertThat(found.get("channels")).isEmpty();
        assertThat(found.get("producers")).hasSize(1);
        JsonNode producer = found.at("/producers/0");
        // What nsqlookupd says of an nsqd, and in /nodes also its topics; clients and nsqadmin read these.
        assertThat(producer.fieldNames())
                .toIterable()
                .containsExactlyInAnyOrder(
                        "remote_address", "hostname", "broadcast_address", "tcp_port", "http_port", "version");
        assertThat(producer.get("broadcast_address").asText())
                .isEqualTo(broker.tcp().host());
        assertThat(producer.get("tcp_port").asInt()).isEqualTo(broker.tcp().port());
        assertThat(broker.http()).endsWith(":" + producer.get("http_port").asInt());
        JsonNode nodes = broker.json("/nodes");
        assertThat(nodes.at("/producers/0").fieldNames())
                .toIterable()
                .containsExactlyInAnyOrder(
                        "remote_address",
                        "hostname",
                        "broadcast_address",
                        "tcp_port",
                        "http_port",
                        "version",
                        "tombstones",
                        "topics");
        assertThat(nodes.at("/producers/0/topics").toString()).contains("t-where");
        assertThat(nodes.at("/producers/0/tombstones"))
                .hasSameSizeAs(nodes.at("/producers/0/topics"))
                .noneMatch(JsonNode::asBoolean);
        assertThat(broker.json("/info").get("tcp_port").asInt())
                .isEqualTo(broker.tcp().port());
        published(broker.get("/ping"));
    }

    @Test
    void shouldTellItsStatisticsAsTextAndJson() throws Exception {
        published(pub("topic=t-stats", "x"));
        try (Reader reader = Reader.of("t-stats", "work", 1)) {
            assertThat(reader.next()).isEqualTo("x");
            assertThat(broker.get("/stats?topic=t-stats").body())
                    .contains("Health: OK", "[t-stats", "[work")
                    .doesNotContain("t-all");
            JsonNode delay = broker.json("/stats?format=json&topic=t-stats").at("/topics/0/access_delay");
            assertThat(delay.get("count").asInt()).isEqualTo(1);
            assertThat(delay.get("delayed_count").asInt()).isBetween(0, 1);
            assertThat(delay.get("p99_us").asDouble())
                    .isPositive()
                    .isEqualTo(delay.get("p50_us").asDouble());
            assertThat(delay.get("classes").isNull()).isTrue();
            assertThat(broker.json("/stats?format=json&topic=t-stats&include_delay_classes=true")
                            .at("/topics/0/access_delay/classes"))
                    .singleElement()
                    .satisfies(messages -> assertThat(messages.asInt()).isEqualTo(1));
            JsonNode channel = channelStats("t-stats", "work");
            assertThat(channel.get("client_count").asInt()).isEqualTo(1);
            assertThat(channel.at("/clients/0/state").asInt()).isEqualTo(3);
            assertThat(channel.at("/clients/0/ready_count").asInt()).isEqualTo(1);
            assertThat(channel.at("/clients/0/remote_address").asText())
                    .isEqualTo("127.0.0.1:" + reader.socket().getLocalPort());
            assertThat(broker.json("/stats?format=json&topic=t-stats&include_clients=0")
                            .at("/topics/0/channels/0/clients"))
                    .isEmpty();
            assertThat(channel.get("message_count").asInt()).isEqualTo(1);
            assertThat(broker.json("/stats?format=json&include_mem=false")
                            .get("memory")
                            .isNull())
                    .isTrue();
            assertThat(broker.json("/stats?format=json&topic=none").get("topics"))
                    .isEmpty();
        }
    }
}
