package io.weir.supervisor.node.http;

import static akka.http.javadsl.model.HttpMethods.DELETE;
import static akka.http.javadsl.model.HttpMethods.GET;
import static akka.http.javadsl.model.HttpMethods.POST;
import static akka.http.javadsl.model.HttpMethods.PUT;

import akka.http.javadsl.model.HttpMethod;
import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCodes;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.value.TopicName;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.Refusal;
import io.weir.supervisor.node.TopicAdmin;
import io.weir.supervisor.node.TopicDescription;
import io.weir.supervisor.node.TopicRequest;
import io.weir.supervisor.node.http.RouteTable.Access;
import io.weir.supervisor.node.http.RouteTable.Route;
import io.weir.topics.definition.Topic;
import io.weir.topics.definition.TopicDefinition;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Topics over HTTP. What changes something needs the admin token where one is set.
 *
 * <pre>
 * GET    /v1/topics                              every topic with its limit
 * GET    /v1/topics/NAME                         {@link TopicDescription}, each broker's share in it
 * POST   /v1/topics/NAME                         creates it: {@link TopicRequest}
 * DELETE /v1/topics/NAME                         deletes it
 * PUT    /v1/topics/NAME/limit, …/delivery       changes it: {@link TopicRequest}
 * POST   /v1/topics/NAME/pause, …/resume
 * PUT    /v1/topics/NAME/channels/CHANNEL        makes sure of a channel; rate and burst in the body limit it
 * DELETE /v1/topics/NAME/channels/CHANNEL        deletes it
 * DELETE /v1/topics/NAME/channels/CHANNEL/limit  takes its limit away
 * POST   /v1/topics/NAME/channels/CHANNEL/pause, …/resume
 * </pre>
 */
final class TopicRoutes {
    private static final Logger LOG = LoggerFactory.getLogger(TopicRoutes.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_BYTES = 64 << 10;
    private static final String ALL = "/v1/topics";
    private static final String ONE = ALL + "/{topic}";
    private static final String CHANNEL = ONE + "/channels/{channel}";

    private final BrokerProcess broker;

    TopicRoutes(BrokerProcess broker) {
        this.broker = broker;
    }

    List<Route> routes() {
        return List.of(
                Route.of(GET, ALL, Access.FREE, call -> broker.cluster()
                        .list()
                        .thenApply(all -> Answers.json(StatusCodes.OK, all))),
                Route.of(GET, ONE, Access.FREE, this::describe),
                changeTo(POST, ONE, (topics, call, request) -> topics.create(topic(call), request)),
                change(DELETE, ONE, (topics, call) -> topics.delete(topic(call))),
                changeTo(
                        PUT,
                        ONE + "/limit",
                        (topics, call, request) -> topics.changeLimit(topic(call), request.checked())),
                changeTo(
                        PUT, ONE + "/delivery", (topics, call, request) -> topics.changeDelivery(topic(call), request)),
                change(POST, ONE + "/pause", (topics, call) -> topics.pause(topic(call), true)
                        .thenCompose(broker::toldEverywhere)),
                change(POST, ONE + "/resume", (topics, call) -> topics.pause(topic(call), false)
                        .thenCompose(broker::toldEverywhere)),
                Route.of(PUT, CHANNEL, Access.ADMIN, this::putChannel),
                change(DELETE, CHANNEL, (topics, call) -> topics.deleteChannel(topic(call), call.path("channel"))),
                change(
                        DELETE,
                        CHANNEL + "/limit",
                        (topics, call) -> topics.unlimitChannel(topic(call), call.path("channel"))),
                change(POST, CHANNEL + "/pause", (topics, call) -> topics.setChannel(
                                topic(call), call.path("channel"), true)
                        .thenCompose(broker::toldEverywhere)),
                change(POST, CHANNEL + "/resume", (topics, call) -> topics.setChannel(
                                topic(call), call.path("channel"), false)
                        .thenCompose(broker::toldEverywhere)));
    }

    private interface Change {
        CompletionStage<Topic.Answer> on(TopicAdmin topics, Call call);
    }

    private interface ChangeTo {
        CompletionStage<Topic.Answer> on(TopicAdmin topics, Call call, TopicRequest request);
    }

    private Route change(HttpMethod method, String template, Change change) {
        return Route.of(method, template, Access.ADMIN, call -> change.on(broker.cluster(), call)
                .thenApply(this::changed));
    }

    private Route changeTo(HttpMethod method, String template, ChangeTo change) {
        return Route.of(method, template, Access.ADMIN, call -> body(call)
                .thenCompose(
                        body -> change.on(broker.cluster(), call, parse(body)).thenApply(this::changed)));
    }

    private CompletionStage<HttpResponse> describe(Call call) {
        return broker.cluster().describe(topic(call)).thenApply(found -> found.map(
                        topic -> Answers.json(StatusCodes.OK, topic))
                .orElseThrow(() -> new Refusal(
                        StatusCodes.NOT_FOUND, "TOPIC_NOT_FOUND", "there is no topic " + call.path("topic"))));
    }

    private CompletionStage<HttpResponse> putChannel(Call call) {
        String channel = call.path("channel");
        return body(call)
                .thenCompose(body -> body.length == 0
                        ? broker.cluster().ensureChannel(topic(call), channel)
                        : broker.cluster().limitChannel(topic(call), channel, parse(body)))
                .thenApply(this::changed);
    }

    private HttpResponse changed(Topic.Answer answer) {
        TopicDefinition now = answer.definition();
        checkKept(answer);
        if (answer.problem() != null) {
            throw now.exists()
                    ? new Refusal(StatusCodes.CONFLICT, "CONFLICT", answer.problem())
                    : new Refusal(StatusCodes.NOT_FOUND, "TOPIC_NOT_FOUND", answer.problem());
        }
        broker.learned(now);
        LOG.info("{} is at revision {}, its limit at version {}", now.name(), now.revision(), now.limitVersion());
        return Answers.json(
                StatusCodes.OK,
                Map.of(
                        "name",
                        now.name().value(),
                        "version",
                        now.limitVersion(),
                        "pending",
                        answer.pending(),
                        "superseded",
                        answer.outcome() == Topic.Outcome.SUPERSEDED));
    }

    /**
     * A change that had to wait for another one for too long is not kept, nor is a topic for which there is no room.
     */
    static void checkKept(Topic.Answer answer) {
        if (answer.outcome() == Topic.Outcome.OVER_QUOTA) {
            throw new Refusal(StatusCodes.CONFLICT, "TOPIC_QUOTA", answer.problem());
        }
        if (answer.outcome() == Topic.Outcome.ASK_AGAIN) {
            throw new Refusal(StatusCodes.SERVICE_UNAVAILABLE, "STILL_CHANGING", answer.problem());
        }
    }

    private static TopicName topic(Call call) {
        return TopicName.of(call.path("topic"));
    }

    private static CompletionStage<byte[]> body(Call call) {
        return call.body(MOST_BYTES, "BODY_TOO_BIG");
    }

    private static TopicRequest parse(byte[] body) {
        String problem = "it is null";
        try {
            TopicRequest request = JSON.readValue(body, TopicRequest.class);
            if (request != null) {
                return request;
            }
        } catch (IOException e) {
            problem = e.getMessage().lines().findFirst().orElse("");
        }
        throw new IllegalArgumentException(
                "the body is not the JSON that is meant, such as {\"rate\":1000,\"burst\":100}: " + problem);
    }
}
