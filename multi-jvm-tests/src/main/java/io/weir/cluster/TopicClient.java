package io.weir.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.Endpoint;
import io.weir.supervisor.node.TopicDescription;
import io.weir.supervisor.node.TopicRequest;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/** What a test asks of topics, at one broker's HTTP server. */
public final class TopicClient {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final ObjectMapper JSON =
            new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
    private static final HttpClient HTTP = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(2))
            .build();

    private final Endpoint endpoint;
    private final Optional<String> adminToken;

    public TopicClient(Endpoint endpoint, Optional<String> adminToken) {
        this.endpoint = endpoint;
        this.adminToken = adminToken;
    }

    public void create(String topic, TopicRequest request) {
        change("POST", "/v1/topics/" + topic, json(request));
    }

    public void changeLimit(String topic, TopicRequest request) {
        change("PUT", "/v1/topics/" + topic + "/limit", json(request));
    }

    /** Empty where nobody answers, or there is no such topic. */
    public Optional<TopicDescription> describe(String topic) {
        try {
            HttpResponse<byte[]> answer = send(request("/v1/topics/" + topic).GET());
            return answer.statusCode() == 200
                    ? Optional.of(JSON.readValue(answer.body(), TopicDescription.class))
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** The sum of a metric over its labels; empty if the broker does not tell it. */
    public Optional<Double> metric(String name) {
        try {
            double[] found = new String(send(request("/metrics").GET()).body(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> line.startsWith(name + " ") || line.startsWith(name + "{"))
                    .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                    .toArray();
            return found.length == 0
                    ? Optional.empty()
                    : Optional.of(Arrays.stream(found).sum());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private void change(String method, String path, HttpRequest.BodyPublisher body) {
        try {
            HttpResponse<byte[]> answer = send(request(path).method(method, body));
            if (answer.statusCode() / 100 != 2) {
                throw new IllegalStateException(method + " " + path + " was answered with " + answer.statusCode() + " "
                        + new String(answer.body(), StandardCharsets.UTF_8));
            }
        } catch (IOException e) {
            throw new IllegalStateException(method + " " + path + " at " + endpoint + " was not answered", e);
        }
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create("http://" + endpoint + path)).timeout(TIMEOUT);
        adminToken.ifPresent(token -> request.header("Authorization", "Bearer " + token));
        return request;
    }

    private static HttpResponse<byte[]> send(HttpRequest.Builder request) throws IOException {
        try {
            return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    private static HttpRequest.BodyPublisher json(Object value) {
        try {
            return HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(value));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(value + " can't be written as JSON", e);
        }
    }
}
