package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.Endpoint;
import io.weir.config.SettingsLoader;
import io.weir.supervisor.Await;
import io.weir.supervisor.node.http.ApiDescription;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A broker in a thread of its own; it is gone when the thread is. Every answer is held against the OpenAPI file. */
public record BrokerUnderTest(Thread thread, String http, Endpoint tcp) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    public static BrokerUnderTest start(Map<String, String> environment) throws Exception {
        return start(Optional.empty(), environment);
    }

    public static BrokerUnderTest start(Optional<Path> file, Map<String, String> environment) throws Exception {
        SettingsLoader settings = SettingsLoader.load(file, environment);
        Thread thread = new Thread(() -> BrokerProcess.run(settings), "broker-under-test");
        thread.start();
        BrokerUnderTest running = new BrokerUnderTest(
                thread,
                "http://" + settings.settings().http().address(),
                settings.settings().tcp());
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

    public HttpResponse<String> get(String path) throws Exception {
        return send("GET", path, BodyPublishers.noBody());
    }

    public HttpResponse<String> post(String path, String... headers) throws Exception {
        return send("POST", path, BodyPublishers.noBody(), headers);
    }

    public HttpResponse<String> post(String path, byte[] body) throws Exception {
        return send("POST", path, BodyPublishers.ofByteArray(body));
    }

    public HttpResponse<String> send(String method, String path, BodyPublisher body, String... headers)
            throws Exception {
        return checked(HTTP.send(request(method, path, body, headers), HttpResponse.BodyHandlers.ofString()));
    }

    public CompletableFuture<HttpResponse<String>> later(String method, String path, BodyPublisher body) {
        return HTTP.sendAsync(request(method, path, body), HttpResponse.BodyHandlers.ofString())
                .thenApply(BrokerUnderTest::checked);
    }

    public JsonNode json(String path) throws Exception {
        HttpResponse<String> answer = get(path);
        assertThat(answer.statusCode()).as(path + ": " + answer.body()).isEqualTo(200);
        return JSON.readTree(answer.body());
    }

    /** The word for programs of an error. */
    public static String message(HttpResponse<String> answer) {
        try {
            return JSON.readTree(answer.body()).path("message").asText();
        } catch (IOException e) {
            throw new AssertionError("no JSON: " + answer.body(), e);
        }
    }

    private HttpRequest request(String method, String path, BodyPublisher body, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(http + path))
                .timeout(Duration.ofSeconds(60))
                .method(method, body);
        return (headers.length == 0 ? request : request.headers(headers)).build();
    }

    private static HttpResponse<String> checked(HttpResponse<String> answer) {
        ApiDescription.INSTANCE.check(answer);
        return answer;
    }

    public void awaitEnd() throws InterruptedException {
        thread.join(TimeUnit.SECONDS.toMillis(60));
        assertThat(thread.isAlive()).as("the broker still runs").isFalse();
    }
}
