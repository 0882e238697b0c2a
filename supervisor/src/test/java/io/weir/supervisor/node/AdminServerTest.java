package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings.StoreKind;
import io.weir.supervisor.Await;
import io.weir.supervisor.FreePorts;
import io.weir.supervisor.store.RunningStore;
import io.weir.supervisor.store.StoreServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A whole broker in this JVM, on a real store, asked over real HTTP. */
@Timeout(120)
class AdminServerTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final String TOKEN = "a token that is long enough";

    @TempDir
    private static Path dir;

    private static RunningStore store;
    private static Running ready;

    /** A broker in a thread of its own; it is gone when the thread is. */
    private record Running(Thread thread, String http) {
        static Running start(Map<String, String> environment) throws Exception {
            SettingsLoader settings = SettingsLoader.load(Optional.empty(), environment);
            Thread thread = new Thread(() -> BrokerProcess.run(settings), "broker-under-test");
            thread.start();
            Running running =
                    new Running(thread, "http://" + settings.settings().http().address());
            Await.until("HTTP answers", () -> {
                try {
                    return running.get("/alive").statusCode() == 200;
                } catch (IOException e) {
                    assertThat(thread.isAlive()).as("the broker runs").isTrue();
                    return false;
                }
            });
            return running;
        }

        HttpResponse<String> get(String path) throws Exception {
            return send(HttpRequest.newBuilder(URI.create(http + path)).GET());
        }

        HttpResponse<String> post(String path, String... headers) throws Exception {
            HttpRequest.Builder request =
                    HttpRequest.newBuilder(URI.create(http + path)).POST(HttpRequest.BodyPublishers.noBody());
            return send(headers.length == 0 ? request : request.headers(headers));
        }

        private static HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
            return HTTP.send(request.timeout(Duration.ofSeconds(30)).build(), HttpResponse.BodyHandlers.ofString());
        }

        void awaitEnd() throws InterruptedException {
            thread.join(TimeUnit.SECONDS.toMillis(60));
            assertThat(thread.isAlive()).as("the broker still runs").isFalse();
        }
    }

    @BeforeAll
    static void start() throws Exception {
        store = RunningStore.start(StoreKind.H2, dir.resolve("store"));
        ready = Running.start(store.environment("b1", dir.resolve("b1")));
        Await.until("b1 is ready", () -> ready.get("/ready").statusCode() == 200);
    }

    @AfterAll
    static void stop() throws Exception {
        HttpResponse<String> answer = ready.post("/stop");
        ready.awaitEnd();
        store.close();
        assertThat(answer.statusCode()).isEqualTo(202);
        assertThat(answer.body()).contains("b1");
    }

    @Test
    void shouldSayThatItIsReadyAndWhatItIs() throws Exception {
        assertThat(JSON.readTree(ready.get("/ready").body()).get("ready").asBoolean())
                .isTrue();

        JsonNode status = JSON.readTree(ready.get("/status").body());
        assertThat(status.get("id").asText()).isEqualTo("b1");
        assertThat(status.get("state").asText()).isEqualTo("up");
        assertThat(status.get("incarnation").asLong()).isEqualTo(1);
        assertThat(status.get("pid").asLong()).isEqualTo(ProcessHandle.current().pid());
        assertThat(status.get("leader").asText()).isEqualTo("b1");
        assertThat(status.get("singletonHost").asText()).isEqualTo("b1");
        assertThat(status.get("mediaDriver").asText()).isEqualTo("none");
        assertThat(status.get("members")).hasSize(1);
    }

    @Test
    void shouldSayWhatItMeasuresInPrometheusWords() throws Exception {
        HttpResponse<String> answer = ready.get("/metrics");

        assertThat(answer.headers().firstValue("Content-Type"))
                .hasValueSatisfying(type -> assertThat(type).startsWith("text/plain"));
        List<String> names = answer.body()
                .lines()
                .filter(line -> !line.startsWith("#"))
                .map(line -> line.split("[ {]", 2)[0])
                .distinct()
                .toList();
        assertThat(names).isNotEmpty().allMatch(name -> name.startsWith("weir_"));
        assertThat(names)
                .contains(
                        "weir_broker_incarnation",
                        "weir_broker_ready",
                        "weir_broker_rejoins_total",
                        "weir_cluster_members",
                        "weir_media_driver_active",
                        "weir_store_registry_age_seconds",
                        "weir_jvm_memory_used_bytes",
                        "weir_process_uptime_seconds");
        assertThat(answer.body())
                .contains("weir_broker_ready{broker=\"b1\"} 1.0")
                .contains("weir_broker_incarnation{broker=\"b1\"} 1.0")
                .contains("weir_cluster_members{broker=\"b1\",state=\"up\"} 1.0");
    }

    @Test
    void shouldRefuseWhatItDoesNotKnow() throws Exception {
        assertThat(ready.get("/no-such-path").statusCode()).isEqualTo(404);
        assertThat(ready.get("/ready/more").statusCode()).isEqualTo(404);
        assertThat(ready.get("/stop").statusCode()).isEqualTo(405);
        assertThat(ready.post("/status").statusCode()).isEqualTo(405);
        assertThat(ready.get("/alive").statusCode()).isEqualTo(200);
    }

    @Test
    void shouldNotStopWhenAWebPageAsks() throws Exception {
        HttpResponse<String> answer = ready.post("/stop", "Origin", "http://example.com");

        assertThat(answer.statusCode()).isEqualTo(403);
        assertThat(ready.get("/ready").statusCode()).isEqualTo(200);
    }

    @Test
    void shouldSayWhatIsMissingAndStopOnlyForTheTokenWhenTheStoreIsNotThere() throws Exception {
        Map<String, String> environment = RunningStore.environment(
                "b2", dir.resolve("b2"), StoreServer.url(FreePorts.take(1)[0]), StoreServer.USER);
        environment.put("WEIR_STORE_START_TIMEOUT", "10m");
        environment.put("WEIR_HTTP_ADMIN_TOKEN", TOKEN);
        Running waiting = Running.start(environment);

        HttpResponse<String> readiness = waiting.get("/ready");
        assertThat(readiness.statusCode()).isEqualTo(503);
        assertThat(JSON.readTree(readiness.body()).get("ready").asBoolean()).isFalse();
        assertThat(readiness.body())
                .contains("recovered from the store")
                .contains("the cluster to take this broker in");
        assertThat(waiting.get("/metrics").body()).contains("weir_broker_ready{broker=\"b2\"} 0.0");

        HttpResponse<String> withoutToken = waiting.post("/stop");
        assertThat(withoutToken.statusCode()).isEqualTo(401);
        assertThat(withoutToken.headers().firstValue("WWW-Authenticate")).isPresent();
        assertThat(withoutToken.body()).contains("Authorization: Bearer").doesNotContain(TOKEN);
        for (String wrong : List.of("Bearer " + TOKEN + "x", "Bearer", "Bearer ", "Basic " + TOKEN, TOKEN)) {
            assertThat(waiting.post("/stop", "Authorization", wrong).statusCode())
                    .as(wrong)
                    .isEqualTo(401);
        }
        assertThat(waiting.get("/alive").statusCode()).isEqualTo(200);

        assertThat(waiting.post("/stop", "Authorization", "Bearer " + TOKEN).statusCode())
                .isEqualTo(202);
        waiting.awaitEnd();
    }

    @Test
    void shouldRefuseAStoreThatHandsOutAnIncarnationAgain() {
        try (DataDirectory directory = DataDirectory.lock(dir.resolve("b9"))) {
            directory.writeIncarnation(7);
        }
        SettingsLoader settings = SettingsLoader.load(Optional.empty(), store.environment("b9", dir.resolve("b9")));

        assertThatThrownBy(() -> BrokerProcess.run(settings))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("the store gave b9 the incarnation 1, but this data directory has already had 7");
    }
}
