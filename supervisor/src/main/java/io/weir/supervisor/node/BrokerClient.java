package io.weir.supervisor.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.Endpoint;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Asks a broker over HTTP. A broker that does not answer is an empty answer, not an error. */
public final class BrokerClient {
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    /** Longer than the broker itself gives the cluster to answer. */
    private static final Duration QUESTION_TIMEOUT = Duration.ofSeconds(15);

    // A newer broker may say more than this client knows.
    private static final ObjectMapper JSON =
            new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
    private static final HttpClient HTTP = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .build();

    private final Endpoint endpoint;

    public BrokerClient(Endpoint endpoint) {
        this.endpoint = endpoint;
    }

    public CompletableFuture<Optional<BrokerStatus>> status() {
        return get("/status", BrokerStatus.class);
    }

    public CompletableFuture<Optional<Readiness>> readiness() {
        return get("/ready", Readiness.class);
    }

    /** Asks the broker to leave the cluster and end; answers the HTTP status, or nothing if no answer came. */
    public CompletableFuture<Optional<Integer>> stop(Optional<String> adminToken) {
        HttpRequest.Builder request = request("/stop").POST(HttpRequest.BodyPublishers.noBody());
        adminToken.ifPresent(token -> request.header("Authorization", "Bearer " + token));
        return HTTP.sendAsync(request.build(), HttpResponse.BodyHandlers.discarding())
                .handle((response, error) -> Optional.ofNullable(response).map(HttpResponse::statusCode));
    }

    /**
     * An answer to a question about topics, whatever its status.
     *
     * @param body JSON; an error's has the field {@code error}
     */
    public record Answer(int status, byte[] body) {
        public boolean ok() {
            return status / 100 == 2;
        }

        public <T> T as(Class<T> type) {
            return parse(body, type)
                    .orElseThrow(() -> new IllegalStateException("the broker's answer is no " + type.getSimpleName()));
        }

        /** What the broker said was wrong. */
        public String error() {
            return parse(body, Problem.class).map(Problem::error).orElse("HTTP status " + status);
        }
    }

    private record Problem(String error) {}

    /** Asks with any method; empty where no answer came. */
    public CompletableFuture<Optional<Answer>> ask(
            String method, String path, Optional<Object> body, Optional<String> adminToken) {
        HttpRequest.Builder request = request(path)
                .timeout(QUESTION_TIMEOUT)
                .method(
                        method,
                        body.map(BrokerClient::json)
                                .map(HttpRequest.BodyPublishers::ofByteArray)
                                .orElseGet(HttpRequest.BodyPublishers::noBody));
        adminToken.ifPresent(token -> request.header("Authorization", "Bearer " + token));
        return HTTP.sendAsync(request.build(), HttpResponse.BodyHandlers.ofByteArray())
                .handle((response, error) ->
                        Optional.ofNullable(response).map(answer -> new Answer(answer.statusCode(), answer.body())));
    }

    private static byte[] json(Object body) {
        try {
            return JSON.writeValueAsBytes(body);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write " + body.getClass().getSimpleName() + " as JSON", e);
        }
    }

    private <T> CompletableFuture<Optional<T>> get(String path, Class<T> type) {
        return HTTP.sendAsync(request(path).GET().build(), HttpResponse.BodyHandlers.ofByteArray())
                .handle((response, error) ->
                        Optional.ofNullable(response).flatMap(answer -> parse(answer.body(), type)));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://" + endpoint + path)).timeout(TIMEOUT);
    }

    private static <T> Optional<T> parse(byte[] body, Class<T> type) {
        try {
            return Optional.of(JSON.readValue(body, type));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
