package io.weir.supervisor.node.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings.StoreSettings;
import io.weir.config.value.BrokerId;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.supervisor.Await;
import io.weir.supervisor.FreePorts;
import io.weir.supervisor.cli.Weir;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.BrokerUnderTest;
import io.weir.supervisor.node.DataDirectory;
import io.weir.supervisor.node.StartException;
import io.weir.supervisor.store.RunningStore;
import io.weir.supervisor.store.StoreServer;
import io.weir.supervisor.store.SupplyTables;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A whole broker in this JVM, on a real store, asked over real HTTP. */
@Timeout(120)
class HttpServerTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOKEN = "a token that is long enough";
    private static final String BILLING = "the-secret-of-billing";

    @TempDir
    private static Path dir;

    private static RunningStore store;
    private static BrokerUnderTest ready;

    @BeforeAll
    static void start() throws Exception {
        store = RunningStore.start();
        ready = BrokerUnderTest.start(store.environment("b1", dir.resolve("b1")));
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

    /** As many as the server has places for, and more: whoever asks whether it is alive must hear it all the same. */
    @Test
    void shouldSayThatItIsAliveBesideIdleConnectionsOfTheSameAddress() throws Exception {
        List<RawHttp> idle = new ArrayList<>();
        try {
            for (int i = 0; i < 1_200; i++) {
                idle.add(new RawHttp(ready));
            }
            for (String path : List.of("/alive", "/ready", "/status")) {
                try (RawHttp asking = new RawHttp(ready)) {
                    asking.write("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
                    assertThat(asking.line()).as(path).startsWith("HTTP/1.1 200");
                }
            }
        } finally {
            for (RawHttp each : idle) {
                each.close();
            }
        }
    }

    @Test
    void shouldNotAnswerToANameThatIsNotItsOwn() throws Exception {
        for (String host : List.of("127.0.0.1", "localhost:" + 4151, "[::1]:4151", "LOCALHOST")) {
            assertThat(statusFor("/status", host)).as(host).startsWith("HTTP/1.1 200");
        }
        assertThat(statusFor("/status", "evil.example")).startsWith("HTTP/1.1 421");
        assertThat(statusFor("/status", "127.0.0.1.evil.example:4151")).startsWith("HTTP/1.1 421");
        assertThat(statusFor("/alive", "any.name.of.a.probe")).startsWith("HTTP/1.1 200");
    }

    private static String statusFor(String path, String host) throws Exception {
        try (RawHttp http = new RawHttp(ready)) {
            http.write("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
            return http.line();
        }
    }

    @Test
    void shouldNotBeAliveWhenTheMessagePathHangs() {
        assertThat(HttpServer.alive(Duration.ofSeconds(11)).status().intValue()).isEqualTo(200);
        assertThat(HttpServer.alive(Duration.ofSeconds(31)).status().intValue()).isEqualTo(503);
    }

    @Test
    void shouldRefuseWhatItDoesNotKnow() throws Exception {
        assertThat(ready.get("/no-such-path").statusCode()).isEqualTo(404);
        assertThat(ready.get("/ready/more").statusCode()).isEqualTo(404);
        assertThat(ready.get("/stop").statusCode()).isEqualTo(405);
        assertThat(ready.post("/status").statusCode()).isEqualTo(405);
        assertThat(ready.get("/alive").statusCode()).isEqualTo(200);
        assertThat(ready.get("/topics/t").statusCode())
                .as("the path before /v1")
                .isEqualTo(404);
        assertThat(ready.get("/stop").headers().firstValue("Allow")).hasValue("POST");
        assertThat(ready.send("HEAD", "/alive", BodyPublishers.noBody()).statusCode())
                .isEqualTo(200);
        assertThat(ready.get("/v1/topics/no%20name").statusCode()).isEqualTo(400);
        for (String body :
                List.of("", "null", "[]", "{", "{\"rate\":\"x\"}", "{\"rate\":-1,\"burst\":1}", "{\"none\":1}")) {
            assertThat(ready.send("POST", "/v1/topics/t", BodyPublishers.ofString(body))
                            .statusCode())
                    .as(body)
                    .isEqualTo(400);
        }
        assertThat(ready.send("POST", "/v1/topics/t", BodyPublishers.ofString(" ".repeat(100_000)))
                        .statusCode())
                .isEqualTo(413);
    }

    @Test
    void shouldDescribeEveryRouteAndNothingElse() {
        Set<String> routes = new TreeSet<>();
        HttpServer.table(null, null, null)
                .routes()
                .forEach(route -> routes.add(route.method().value() + " " + route.template()));

        assertThat(ApiDescription.INSTANCE.operations()).isEqualTo(routes);
    }

    @Test
    void shouldDescribeWhoMayAndWhatStandsInThePath() {
        HttpServer.table(null, null, null).routes().forEach(route -> {
            String operation = route.method().value() + " " + route.template();
            assertThat(ApiDescription.INSTANCE.isProtected(operation))
                    .as(operation)
                    .isEqualTo(route.access() != RouteTable.Access.FREE);
            Set<String> named = new TreeSet<>();
            for (String segment : route.template().split("/")) {
                if (segment.startsWith("{")) {
                    named.add(segment.substring(1, segment.length() - 1));
                }
            }
            assertThat(ApiDescription.INSTANCE.parameters(operation, "path"))
                    .as(operation)
                    .isEqualTo(named);
        });
    }

    @Test
    void shouldMissEveryParameterThatIsDescribedAsRequired() throws Exception {
        for (String operation : ApiDescription.INSTANCE.operations()) {
            Set<String> required = ApiDescription.INSTANCE.requiredInQuery(operation);
            for (String missing : required) {
                String[] parts = operation.split(" ");
                String others = required.stream()
                        .filter(name -> !name.equals(missing))
                        .map(name -> name + "=some")
                        .collect(Collectors.joining("&"));
                HttpResponse<String> answer = ready.send(parts[0], parts[1] + "?" + others, BodyPublishers.noBody());
                assertThat(BrokerUnderTest.message(answer))
                        .as(operation)
                        .isEqualTo("MISSING_ARG_" + missing.toUpperCase(Locale.ROOT));
            }
        }
    }

    @Test
    void shouldAnswerEveryOperationThatIsDescribed() throws Exception {
        assertThat(ready.get("/openapi.yaml").body()).startsWith("openapi: 3");
        for (String operation : ApiDescription.INSTANCE.operations()) {
            String[] parts = operation.split(" ");
            String path = parts[1].replace("{incarnation}", "1").replaceAll("\\{\\w+}", "some");
            // What would change something is refused to a web page, and so it is there.
            boolean free = parts[0].equals("GET");
            HttpResponse<String> answer = free
                    ? ready.get(
                            ApiDescription.INSTANCE
                                            .parameters(operation, "query")
                                            .contains("topic")
                                    ? path + "?topic=some"
                                    : path)
                    : ready.send(parts[0], path, BodyPublishers.noBody(), "Origin", "http://example.com");
            if (free) {
                assertThat(answer.statusCode()).as(operation).isNotEqualTo(405);
                assertThat(answer.body()).as(operation).doesNotContain("\"NOT_FOUND\"");
            } else {
                assertThat(answer.statusCode()).as(operation).isEqualTo(403);
            }
        }
    }

    @Test
    void shouldCreateDescribeChangeAndDeleteATopic() throws Exception {
        String topic = "/v1/topics/made";
        assertThat(ready.send("POST", topic, BodyPublishers.ofString("{\"rate\":100,\"burst\":10}"))
                        .statusCode())
                .isEqualTo(200);
        assertThat(ready.send("POST", topic, BodyPublishers.ofString("{\"rate\":200,\"burst\":10}"))
                        .statusCode())
                .isEqualTo(409);
        assertThat(ready.send("PUT", topic + "/channels/audit", BodyPublishers.ofString("{\"rate\":5,\"burst\":5}"))
                        .statusCode())
                .isEqualTo(200);
        assertThat(ready.send("PUT", topic + "/delivery", BodyPublishers.ofString("{\"mode\":\"police\"}"))
                        .statusCode())
                .isEqualTo(200);
        Await.until(
                "b1 holds all of the limit",
                () -> ready.json(topic).get("sumRate").asDouble() == 100);
        JsonNode described = ready.json(topic);
        assertThat(described.at("/shares/0/broker").asText()).isEqualTo("b1");
        assertThat(described.at("/shares/0/rate").asDouble()).isEqualTo(100);
        assertThat(described.at("/channels/0/limit/rate").asDouble()).isEqualTo(5);
        assertThat(described.at("/mode").asText()).isEqualTo("police");
        assertThat(ready.json("/v1/topics").findValuesAsText("name")).contains("made");
        assertThat(ready.send("DELETE", topic, BodyPublishers.noBody()).statusCode())
                .isEqualTo(200);
        assertThat(ready.get(topic).statusCode()).isEqualTo(404);
    }

    @Test
    void shouldShowAndChangeTheIndicatorOfATopic() throws Exception {
        String topic = "/v1/topics/spare";
        HttpResponse<String> unknown = ready.send(
                "POST", topic, BodyPublishers.ofString("{\"rate\":100,\"burst\":10,\"indicator\":\"mood\"}"));
        assertThat(unknown.statusCode()).isEqualTo(400);
        assertThat(unknown.body())
                .contains("indicator 'mood' is not known: one of spare-bandwidth, fill-ratio, utilisation,"
                        + " mean-response-time, discard-rate");
        ready.send("POST", topic, BodyPublishers.ofString("{\"rate\":100,\"burst\":10}"));
        assertThat(ready.json(topic).get("indicator").asText()).isEqualTo("fill-ratio");
        assertThat(ready.send("PUT", topic + "/limit", BodyPublishers.ofString("{\"indicator\":\"spare-bandwidth\"}"))
                        .statusCode())
                .isEqualTo(200);
        assertThat(ready.json(topic).get("indicator").asText()).isEqualTo("spare-bandwidth");
        assertThat(ready.json(topic).get("rate").asDouble()).as("as it was").isEqualTo(100);
        assertThat(ready.send("PUT", topic + "/limit", BodyPublishers.ofString("{}"))
                        .body())
                .contains("nothing is to change");
    }

    /** A deployment that makes sure of its channels must not undo what an operator did. */
    @Test
    void shouldLeaveAChannelPausedWhenItIsPutAgain() throws Exception {
        String channel = "/v1/topics/kept/channels/work";
        ready.send("POST", "/v1/topics/kept", BodyPublishers.ofString("{\"rate\":100,\"burst\":10}"));
        assertThat(ready.send("PUT", channel, BodyPublishers.noBody()).statusCode())
                .isEqualTo(200);
        assertThat(ready.post(channel + "/pause").statusCode()).isEqualTo(200);
        assertThat(ready.send("PUT", channel, BodyPublishers.noBody()).statusCode())
                .isEqualTo(200);
        assertThat(ready.json("/v1/topics/kept").at("/channels/0/paused").asBoolean())
                .isTrue();
        assertThat(ready.post(channel + "/resume").statusCode()).isEqualTo(200);
        assertThat(ready.json("/v1/topics/kept").at("/channels/0/paused").asBoolean())
                .isFalse();
    }

    @Test
    void shouldKeepBothChangesWhenTwoOperatorsChangeTheDeliveryAtATime() throws Exception {
        String topic = "/v1/topics/contended";
        ready.send("POST", topic, BodyPublishers.ofString("{\"rate\":100,\"burst\":10}"));
        for (int i = 1; i <= 5; i++) {
            CompletableFuture<HttpResponse<String>> one =
                    ready.later("PUT", topic + "/delivery", BodyPublishers.ofString("{\"maxWaiting\":" + i + "}"));
            CompletableFuture<HttpResponse<String>> other =
                    ready.later("PUT", topic + "/delivery", BodyPublishers.ofString("{\"maxQueued\":" + i + "}"));
            assertThat(one.join().statusCode()).isEqualTo(200);
            assertThat(other.join().statusCode()).isEqualTo(200);
            int wanted = i;
            // The second answer may be that its change is pending.
            Await.until("both are changed to " + i, () -> {
                JsonNode now = ready.json(topic);
                return now.get("maxWaiting").asInt() == wanted
                        && now.get("maxQueued").asInt() == wanted;
            });
        }
        HttpResponse<String> wrong =
                ready.send("PUT", topic + "/delivery", BodyPublishers.ofString("{\"maxQueued\":0}"));
        assertThat(wrong.statusCode()).isEqualTo(400);
        assertThat(ready.send("PUT", "/v1/topics/none/delivery", BodyPublishers.ofString("{\"maxQueued\":1}"))
                        .statusCode())
                .isEqualTo(404);
    }

    @Test
    void shouldMakeFiftyChangesOfALimitThatComeAtOnceAndLetTheLastOneWin() throws Exception {
        String topic = "/v1/topics/hurried";
        ready.send("POST", topic, BodyPublishers.ofString("{\"rate\":1000,\"burst\":10}"));
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int i = 1; i <= 50; i++) {
            answers.add(ready.later(
                    "PUT",
                    topic + "/limit",
                    BodyPublishers.ofString("{\"rate\":" + (i % 2 == 0 ? i : 1000 + i) + "}")));
        }
        List<JsonNode> made = new ArrayList<>();
        for (CompletableFuture<HttpResponse<String>> each : answers) {
            assertThat(each.join().statusCode()).as(each.join().body()).isEqualTo(200);
            made.add(JSON.readTree(each.join().body()));
        }
        JsonNode now = ready.json(topic);
        JsonNode winner = made.stream()
                .filter(answer -> answer.get("version").equals(now.get("version"))
                        && !answer.get("superseded").asBoolean())
                .findFirst()
                .orElseThrow();
        int number = made.indexOf(winner) + 1;
        assertThat(now.get("rate").asInt()).isEqualTo(number % 2 == 0 ? number : 1000 + number);
        Await.until("the last one is true", () -> ready.json(topic).get("done").asBoolean());
    }

    @Test
    void shouldCreateATopicThatIsStillBeingDeleted() throws Exception {
        String topic = "/v1/topics/again";
        for (int i = 0; i < 5; i++) {
            CompletableFuture<HttpResponse<String>> created =
                    ready.later("POST", topic, BodyPublishers.ofString("{\"rate\":1000,\"burst\":10}"));
            assertThat(created.join().statusCode()).as(created.join().body()).isEqualTo(200);
            CompletableFuture<HttpResponse<String>> deleted = ready.later("DELETE", topic, BodyPublishers.noBody());
            assertThat(deleted.join().statusCode()).as(deleted.join().body()).isEqualTo(200);
        }
    }

    @Test
    void shouldNotStopWhenAWebPageAsks() throws Exception {
        HttpResponse<String> answer = ready.post("/stop", "Origin", "http://example.com");

        assertThat(answer.statusCode()).isEqualTo(403);
        assertThat(ready.get("/ready").statusCode()).isEqualTo(200);
    }

    @Test
    void shouldSayWhatIsMissingAndStopOnlyForTheTokenWhenTheStoreIsNotThere() throws Exception {
        Map<String, String> environment =
                RunningStore.environment("b2", dir.resolve("b2"), StoreServer.url(FreePorts.take(1)[0]));
        environment.put("WEIR_STORE_START_TIMEOUT", "10m");
        environment.put("WEIR_HTTP_ADMIN_TOKEN", TOKEN);
        Path file = Files.writeString(
                dir.resolve("b2.conf"),
                "weir.tcp.auth.tokens = [{ name = billing, secret = \"" + BILLING
                        + "\", publish = [\"invoices.*\"], subscribe = [] }]");
        BrokerUnderTest waiting = BrokerUnderTest.start(Optional.of(file), environment);

        HttpResponse<String> readiness = waiting.get("/ready");
        assertThat(readiness.statusCode()).isEqualTo(503);
        assertThat(JSON.readTree(readiness.body()).get("ready").asBoolean()).isFalse();
        assertThat(readiness.body())
                .contains("recovered from the store")
                .contains("the cluster to take this broker in");
        assertThat(waiting.get("/metrics").body()).contains("weir_broker_ready{broker=\"b2\"} 0.0");

        assertThat(waiting.get("/v1/topics").statusCode()).isEqualTo(503);
        assertThat(waiting.json("/topics").get("topics")).isEmpty();
        assertThat(waiting.json("/stats?format=json").get("health").asText()).startsWith("NOK");
        for (String path : List.of("/pub?topic=t", "/mpub?topic=t", "/topic/create?topic=t", "/v1/topics/t/pause")) {
            assertThat(waiting.post(path).statusCode()).as(path).isEqualTo(401);
        }

        String[] billing = {"Authorization", "Bearer " + BILLING};
        assertThat(waiting.post("/pub?topic=invoices.may", billing).body())
                .as("may publish, though not nothing")
                .contains("MSG_EMPTY");
        assertThat(waiting.post("/pub?topic=orders", billing).statusCode()).isEqualTo(403);
        assertThat(waiting.post("/pub?topic=invoices.may", "Authorization", "Bearer " + BILLING + "x")
                        .statusCode())
                .isEqualTo(403);
        assertThat(waiting.post("/topic/create?topic=invoices.may", billing).statusCode())
                .isEqualTo(401);
        assertThat(waiting.post("/pub?topic=orders", "Authorization", "Bearer " + TOKEN)
                        .body())
                .as("an operator may everything")
                .contains("MSG_EMPTY");

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
    void shouldInheritWhenAStopHookProvesThatABrokerIsOver() throws Exception {
        Path data = dir.resolve("b7");
        StoreSettings stored = SettingsLoader.load(Optional.empty(), store.environment("b7", data))
                .settings()
                .store();
        Path conf = Files.writeString(
                dir.resolve("b7.conf"), """
                weir { broker { id = b7, data-dir = "%s" }, store { url = "%s", user = "%s", password = "%s" }
                  cluster.discovery.contact-points = ["127.0.0.1:4153"] }
                """.formatted(data, stored.url(), stored.user(), stored.password()));
        Holder over = new Holder(new BrokerId("b7"), 3);
        try (SupplyTables tables = new SupplyTables(stored, Duration.ofSeconds(5))) {
            tables.register(over);
            try (DataDirectory held = DataDirectory.lock(data)) {
                held.writeHolder(3);
                assertThat(confirmStopped(conf)).as("it still runs").isEqualTo(3);
            }
            assertThat(tables.row(over).orElseThrow().state()).isEqualTo(LeaseRow.State.LIVE);

            assertThat(confirmStopped(conf)).isZero();

            assertThat(tables.row(over).orElseThrow().state()).isEqualTo(LeaseRow.State.STOPPED);
            Await.until(
                    "b1 has inherited all of it",
                    () -> !tables.row(over).orElseThrow().unfinished());
        }
    }

    private static int confirmStopped(Path conf) {
        return Weir.commandLine().execute("broker", "confirm-stopped", "--config", conf.toString());
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
