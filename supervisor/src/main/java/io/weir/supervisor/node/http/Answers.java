package io.weir.supervisor.node.http;

import akka.http.javadsl.model.ContentTypes;
import akka.http.javadsl.model.HttpEntities;
import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCode;
import akka.http.javadsl.model.StatusCodes;
import akka.http.javadsl.model.headers.RawHeader;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import io.weir.supervisor.node.Refusal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * What the HTTP server's answers look like. An error is an object in both dialects: {@code message} is a word for
 * programs, as nsqd's clients know it, and {@code error} says it to people.
 */
final class Answers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ObjectMapper SNAKE_CASE =
            new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);
    private static final RawHeader NSQ = RawHeader.create("X-NSQ-Content-Type", "nsq; version=1.0");

    private Answers() {}

    static HttpResponse json(StatusCode status, Object body) {
        return json(status, body, JSON);
    }

    static HttpResponse text(String contentType, String body) {
        return HttpResponse.create()
                .withEntity(
                        HttpEntities.create(ContentTypes.parse(contentType), body.getBytes(StandardCharsets.UTF_8)));
    }

    static HttpResponse error(StatusCode status, String code, String reason) {
        return json(status, Map.of("message", code, "error", reason));
    }

    static HttpResponse error(Refusal refusal) {
        return error(refusal.status(), refusal.code(), refusal.getMessage());
    }

    /** Records' names as nsqd writes them: topic_name for topicName. */
    static HttpResponse nsq(Object body) {
        return json(StatusCodes.OK, body, SNAKE_CASE);
    }

    /** Plain words of nsqd's, such as OK; also none. */
    static HttpResponse nsqText(String body) {
        return text("text/plain; charset=utf-8", body);
    }

    static HttpResponse asNsq(HttpResponse answer) {
        return answer.addHeader(NSQ);
    }

    /**
     * Too many for now.
     *
     * @param after when to come again, if that is known
     */
    static HttpResponse comeAgain(StatusCode status, String code, String reason, Optional<Duration> after) {
        long ms = after.map(wait -> wait.plusNanos(999_999).toMillis()).orElse(0L);
        HttpResponse answer = error(status, code, reason)
                .addHeader(RawHeader.create("Retry-After", Long.toString(Math.max(1, (ms + 999) / 1_000))));
        return after.isEmpty()
                ? answer
                : answer.addHeader(RawHeader.create("X-Weir-Retry-After-Ms", Long.toString(Math.max(1, ms))));
    }

    private static HttpResponse json(StatusCode status, Object body, ObjectMapper writer) {
        try {
            return HttpResponse.create()
                    .withStatus(status)
                    .withEntity(HttpEntities.create(ContentTypes.APPLICATION_JSON, writer.writeValueAsBytes(body)));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write " + body.getClass().getSimpleName() + " as JSON", e);
        }
    }
}
