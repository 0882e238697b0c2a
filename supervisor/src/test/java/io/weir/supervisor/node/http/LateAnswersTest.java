package io.weir.supervisor.node.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.supervisor.Await;
import io.weir.supervisor.node.BrokerUnderTest;
import io.weir.supervisor.store.RunningStore;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Requests that take too long, because of whoever sent them or because the cluster does not answer: an answer in good
 * form all the same.
 */
@Timeout(120)
class LateAnswersTest {
    @TempDir
    private Path dir;

    private RunningStore store;
    private boolean storeAway;
    private BrokerUnderTest broker;

    @BeforeEach
    void start() throws Exception {
        store = RunningStore.start();
        Map<String, String> environment = store.environment("b1", dir.resolve("b1"));
        environment.put("WEIR_HTTP_REQUEST_TIMEOUT", "3s");
        environment.put("WEIR_HTTP_IDLE_TIMEOUT", "1s");
        environment.put("WEIR_SUPPLY_LEASE", "2s");
        environment.put("WEIR_TOPICS_DEFAULTS", "* 1000000 100000");
        broker = BrokerUnderTest.start(environment);
        Await.until("b1 is ready", () -> broker.get("/ready").statusCode() == 200);
    }

    @AfterEach
    void stop() throws Exception {
        // On a connection of its own: one that is kept may be closed as idle at this very moment.
        try (RawHttp http = new RawHttp(broker)) {
            http.write("POST /stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
            assertThat(http.line()).contains(" 20");
        }
        broker.awaitEnd();
        if (!storeAway) {
            store.close();
        }
    }

    @Test
    void shouldSayThatTheBodyDidNotComeInTime() throws Exception {
        // All at once: each takes its time.
        Map<String, RawHttp> waiting = new LinkedHashMap<>();
        try {
            for (String request : List.of("POST /pub?topic=t", "POST /mpub?topic=t", "POST /v1/topics/t")) {
                RawHttp http = new RawHttp(broker);
                waiting.put(request, http);
                http.write(request + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n");
                http.write("half");
            }
            for (Map.Entry<String, RawHttp> each : waiting.entrySet()) {
                RawHttp http = each.getValue();
                assertThat(http.line()).as(each.getKey()).startsWith("HTTP/1.1 408");
                assertThat(http.head()).as(each.getKey()).contains("Content-Type: application/json");
                assertThat(http.body()).as(each.getKey()).contains("\"TIMEOUT\"");
            }
        } finally {
            for (RawHttp http : waiting.values()) {
                http.close();
            }
        }
    }

    /** With the store away no topic's entity comes to life, and nobody answers for it. */
    @Test
    void shouldSayInJsonThatTheClusterDidNotAnswerWhenATopicsShardIsAway() throws Exception {
        store.close();
        storeAway = true;
        // All at once: each takes its time.
        Map<String, Future<HttpResponse<String>>> answers = new LinkedHashMap<>();
        ExecutorService threads = Executors.newCachedThreadPool();
        for (String path : List.of(
                "/topic/create?topic=t",
                "/topic/pause?topic=t",
                "/topic/empty?topic=t",
                "/topic/delete?topic=t",
                "/channel/create?topic=t&channel=c",
                "/channel/pause?topic=t&channel=c",
                "/channel/empty?topic=t&channel=c",
                "/channel/delete?topic=t&channel=c",
                "/v1/topics/t/pause")) {
            answers.put(path, threads.submit(() -> broker.post(path)));
        }
        answers.put(
                "delivery",
                threads.submit(() ->
                        broker.send("PUT", "/v1/topics/t/delivery", BodyPublishers.ofString("{\"maxQueued\":1}"))));
        answers.put(
                "channel",
                threads.submit(() -> broker.send("PUT", "/v1/topics/t/channels/c", BodyPublishers.noBody())));
        threads.shutdown();
        for (Map.Entry<String, Future<HttpResponse<String>>> answer : answers.entrySet()) {
            away(answer.getKey(), answer.getValue().get());
        }
    }

    @Test
    void shouldNotBeReadyWhenTheStoreIsAwayForLongerThanItsLease() throws Exception {
        store.close();
        storeAway = true;
        Await.until("its lease is over", () -> broker.get("/ready").statusCode() == 503);
        assertThat(broker.get("/ready").body()).contains("the store to renew its lease");
        assertThat(broker.get("/alive").statusCode())
                .as("a new process would not help")
                .isEqualTo(200);
    }

    @Test
    void shouldCloseAConnectionWhoseRequestNeverComesToItsEnd() throws Exception {
        try (RawHttp http = new RawHttp(broker);
                RawHttp mute = new RawHttp(broker)) {
            http.write("GET /alive HTTP/1.1\r\nHost: loc");
            assertThat(mute.line()).isNull();
            assertThat(http.line()).isNull();
        }
    }

    private static void away(String what, HttpResponse<String> answer) {
        assertThat(answer.statusCode()).as(what).isEqualTo(503);
        assertThat(BrokerUnderTest.message(answer)).as(what).isEqualTo("UNAVAILABLE");
        assertThat(answer.body()).as(what).contains("the cluster did not answer in time");
    }
}
