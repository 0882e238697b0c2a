package io.weir.supervisor.cli.topic;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.limiter.simulation.ArrivalTrace;
import io.weir.limiter.simulation.TraceCsv;
import io.weir.supervisor.Await;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Weir;
import io.weir.supervisor.node.BrokerUnderTest;
import io.weir.supervisor.store.RunningStore;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The limit that a live topic needs: the command, the routes behind it, and a whole broker. */
@Timeout(120)
class LiveProfileTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private static Path dir;

    private static RunningStore store;
    private static BrokerUnderTest broker;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    /** Publishes ten at a time until it is closed. */
    private static final class Load implements AutoCloseable {
        private final AtomicBoolean stopped = new AtomicBoolean();
        private final AtomicReference<Exception> failure = new AtomicReference<>();
        private final Thread thread;

        Load(String topic) {
            thread = new Thread(() -> {
                try {
                    while (!stopped.get()) {
                        publish(topic, 10);
                    }
                } catch (Exception e) {
                    failure.set(e);
                }
            });
            thread.start();
        }

        @Override
        public void close() throws Exception {
            stopped.set(true);
            thread.join();
            assertThat(failure.get()).isNull();
        }
    }

    @BeforeAll
    static void start() throws Exception {
        store = RunningStore.start();
        broker = BrokerUnderTest.start(store.environment("b1", dir.resolve("b1")));
        Await.until("b1 is ready", () -> broker.get("/ready").statusCode() == 200);
    }

    @AfterAll
    static void stop() throws Exception {
        broker.post("/stop");
        broker.awaitEnd();
        store.close();
    }

    @Test
    void shouldFindALimitSetItAndKeepTheRecordingForOtherLimits() throws Exception {
        create("busy", 100_000);
        Path file = dir.resolve("busy.csv");
        try (Load load = new Load("busy")) {
            assertThat(load.stopped).isFalse();
            assertThat(weir(
                            "profile",
                            "--live",
                            "busy",
                            "--for",
                            "2s",
                            "--apply",
                            "--recording",
                            file.toString(),
                            "-o",
                            "json"))
                    .as(err.toString())
                    .isEqualTo(ExitCode.OK);
        }
        JsonNode answer = JSON.readTree(out.toString());
        ArrivalTrace trace = TraceCsv.readTrace(file);
        assertThat(trace.brokers()).containsExactly("b1");
        assertThat(answer.get("messages").asInt()).isEqualTo(trace.messages()).isGreaterThanOrEqualTo(100);
        assertThat(answer.at("/messagesAt/b1").asInt()).isEqualTo(trace.messages());
        assertThat(answer.get("burst").asDouble()).as("ten come at once").isGreaterThanOrEqualTo(10);
        assertThat(answer.get("rate").asDouble())
                .isGreaterThan(answer.get("messagesPerSecond").asDouble());
        assertThat(answer.at("/splits/0/splitSeconds").asDouble())
                .as("99% do not wait at one broker")
                .isZero();
        assertThat(answer.get("applied").asBoolean()).isTrue();
        assertThat(err.toString()).contains("recording busy at 1 broker");
        JsonNode topic = broker.json("/v1/topics/busy");
        assertThat(topic.get("burst").asDouble()).isEqualTo(answer.get("burst").asDouble());
        assertThat(topic.get("rate").asDouble()).isEqualTo(answer.get("rate").asDouble());

        out.getBuffer().setLength(0);
        String rate = answer.get("rate").asText();
        assertThat(weir(
                        "what-if",
                        "busy",
                        "--rate",
                        rate,
                        "--burst",
                        "1000",
                        "--brokers",
                        "3",
                        "--recording",
                        file.toString(),
                        "-o",
                        "json"))
                .as(err.toString())
                .isEqualTo(ExitCode.OK);
        JsonNode whatIf = JSON.readTree(out.toString());
        assertThat(whatIf.get("messages").asInt()).isEqualTo(trace.messages());
        assertThat(whatIf.get("asRecorded").asBoolean()).isFalse();
        assertThat(whatIf.get("rows").findValuesAsText("brokers")).containsExactly("1", "3", "3");
        assertThat(whatIf.get("rows").findValuesAsText("borrowing")).containsExactly("false", "false", "true");

        out.getBuffer().setLength(0);
        assertThat(weir("what-if", "busy", "--rate", "1", "--burst", "1", "--recording", file.toString()))
                .isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("one bucket", "REFUSED", "More messages came than r lets pass");
    }

    /** Five hundred come at once, and two pass. */
    @Test
    void shouldRefuseWhatFindsNoTokenWhenTheTopicPolices() throws Exception {
        create("policed", 100);
        assertThat(broker.send("PUT", "/v1/topics/policed/delivery", BodyPublishers.ofString("{\"mode\":\"police\"}"))
                        .statusCode())
                .isEqualTo(200);
        Path file = Files.writeString(dir.resolve("policed.csv"), "time_ns,count\n1,500\n");
        List<String> line = new ArrayList<>(List.of(whatIf("policed", file)));
        line.addAll(List.of("-o", "json"));
        assertThat(weir(line.toArray(String[]::new))).as(err.toString()).isEqualTo(ExitCode.OK);
        JsonNode row = JSON.readTree(out.toString()).at("/rows/0");
        assertThat(row.get("refused").asInt()).isEqualTo(498);
        assertThat(row.get("refusedFraction").asDouble()).isEqualTo(0.996);
        assertThat(row.get("delayedFraction").asDouble()).isZero();
    }

    @Test
    void shouldSayInWordsWhatItFoundAndWhatToDoNext() throws Exception {
        create("words", 100_000);
        Path file = dir.resolve("words.csv");
        try (Load load = new Load("words")) {
            assertThat(load.stopped).isFalse();
            assertThat(weir("profile", "--live", "words", "--for", "1s", "--recording", file.toString()))
                    .as(err.toString())
                    .isEqualTo(ExitCode.OK);
        }
        assertThat(out.toString())
                .contains(
                        "r = ",
                        "POISSON MODEL",
                        "Messages came to b1=",
                        "weir topic what-if words",
                        "To set it: weir topic limit words");
        assertThat(broker.json("/v1/topics/words").get("rate").asDouble())
                .as("nothing is set unless asked for")
                .isEqualTo(100_000);
    }

    @Test
    void shouldSayWhatWasWrongAndWhatToDo() throws Exception {
        create("quiet", 100);
        create("few", 100);
        Path none = dir.resolve("none.csv");
        Path few = Files.writeString(dir.resolve("few.csv"), "1\n2\n");
        fails(ExitCode.UNAVAILABLE, "there is no topic unknown", "profile", "--live", "unknown");
        fails(
                ExitCode.UNAVAILABLE,
                "nothing was published to quiet in 1.0 s",
                "profile",
                "--live",
                "quiet",
                "--for",
                "1s");
        fails(ExitCode.USAGE, "--for must be within 1s and 10m", "profile", "--live", "quiet", "--for", "11m");
        fails(ExitCode.USAGE, "is no time", "profile", "--live", "quiet", "--for", "soon");
        fails(ExitCode.USAGE, "give one of the two", "profile");
        fails(ExitCode.USAGE, "give one of the two", "profile", few.toString(), "--live", "quiet");
        fails(ExitCode.USAGE, "--apply needs --live", "profile", few.toString(), "--apply");
        fails(ExitCode.UNAVAILABLE, "make one with 'weir topic profile --live quiet --for 60s'", whatIf("quiet", none));
        fails(ExitCode.UNAVAILABLE, "has only 2 messages", whatIf("quiet", few));
        fails(ExitCode.UNAVAILABLE, "there is no topic unknown", whatIf("unknown", few));
        fails(ExitCode.USAGE, "rate -1.0", "what-if", "quiet", "--rate", "-1", "--burst", "1");
        fails(ExitCode.USAGE, "--brokers 0", "what-if", "quiet", "--rate", "1", "--burst", "1", "--brokers", "0");
        Path many = Files.writeString(dir.resolve("many.csv"), "1\n2,500\n");
        List<String> thin = new ArrayList<>(List.of(whatIf("quiet", many)));
        thin.addAll(List.of("--brokers", "3"));
        fails(ExitCode.USAGE, "leaves each less than one message", thin.toArray(String[]::new));
        try (AutoCloseable publishing = publishingOnce("few")) {
            assertThat(publishing).isNotNull();
            fails(ExitCode.UNAVAILABLE, "only 5 messages came to few", "profile", "--live", "few", "--for", "3s");
        }
    }

    @Test
    void shouldRecordOneTopicAtATimeAndAnswerForItOverHttp() throws Exception {
        create("first", 100_000);
        create("second", 100_000);
        String first = "/v1/topics/first/recording";
        assertThat(broker.get(first).statusCode()).isEqualTo(404);
        assertThat(begin("unknown", "{\"seconds\":5}").statusCode()).isEqualTo(404);
        for (String body : List.of("", "{}", "{\"seconds\":0}", "{\"seconds\":601}", "{\"seconds\":\"long\"}")) {
            assertThat(begin("first", body).statusCode()).as(body).isEqualTo(400);
        }
        assertThat(begin("first", "{\"seconds\":600}").statusCode()).isEqualTo(200);
        HttpResponse<String> busy = begin("second", "{\"seconds\":1}");
        assertThat(busy.statusCode()).isEqualTo(409);
        assertThat(busy.body()).contains("b1 records topic first already");
        assertThat(broker.get(first + "/arrivals").statusCode()).isEqualTo(409);
        publish("first", 3);
        publish("second", 4);
        JsonNode sofar = broker.json(first);
        assertThat(sofar.get("running").asBoolean()).isTrue();
        assertThat(sofar.get("messages").asInt()).isEqualTo(3);

        JsonNode ended = JSON.readTree(
                broker.send("DELETE", first, BodyPublishers.noBody()).body());
        assertThat(ended.get("running").asBoolean()).isFalse();
        publish("first", 1);
        ArrivalTrace arrivals = TraceCsv.readPart(
                "first",
                new BufferedReader(
                        new StringReader(broker.get(first + "/arrivals").body())));
        assertThat(arrivals.counts()).containsExactly(3);
        assertThat(arrivals.timesNs()[0]).isBetween(0L, ended.get("lengthNs").asLong());
        assertThat(begin("second", "{\"seconds\":600}").statusCode()).isEqualTo(200);
        assertThat(broker.get(first).statusCode()).as("another took its place").isEqualTo(404);
        assertThat(broker.send("DELETE", "/v1/topics/second/recording", BodyPublishers.noBody())
                        .statusCode())
                .isEqualTo(200);
    }

    /** Five messages as soon as the broker records. */
    private static AutoCloseable publishingOnce(String topic) {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            try {
                Await.until(
                        "it is recorded",
                        () -> broker.get("/v1/topics/" + topic + "/recording").statusCode() == 200);
                publish(topic, 5);
            } catch (Exception | AssertionError e) {
                failure.set(e);
            }
        });
        thread.start();
        return () -> {
            thread.join();
            assertThat(failure.get()).isNull();
        };
    }

    private static String[] whatIf(String topic, Path file) {
        return new String[] {"what-if", topic, "--rate", "10", "--burst", "2", "--recording", file.toString()};
    }

    private void fails(int code, String reason, String... args) {
        err.getBuffer().setLength(0);
        out.getBuffer().setLength(0);
        assertThat(weir(args)).as(String.join(" ", args) + err).isEqualTo(code);
        assertThat(err.toString()).contains(reason).doesNotContain("\tat ");
        assertThat(out.toString()).isEmpty();
    }

    private static void create(String topic, int rate) throws Exception {
        assertThat(broker.send(
                                "POST",
                                "/v1/topics/" + topic,
                                BodyPublishers.ofString(
                                        "{\"rate\":" + rate + ",\"burst\":1000,\"overflow\":\"drop-oldest\"}"))
                        .statusCode())
                .isEqualTo(200);
    }

    private static HttpResponse<String> begin(String topic, String body) throws Exception {
        return broker.send("POST", "/v1/topics/" + topic + "/recording", BodyPublishers.ofString(body));
    }

    private static void publish(String topic, int messages) throws Exception {
        assertThat(broker.post("/mpub?topic=" + topic, "x\n".repeat(messages).getBytes(UTF_8))
                        .statusCode())
                .isEqualTo(200);
    }

    private int weir(String... args) {
        List<String> line = new ArrayList<>(List.of("topic"));
        line.addAll(List.of(args));
        line.addAll(List.of("--http", broker.http().substring("http://".length())));
        return Weir.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(line.toArray(String[]::new));
    }
}
