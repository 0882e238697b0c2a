package io.weir.supervisor.node;

import static akka.http.javadsl.server.PathMatchers.segment;

import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCodes;
import akka.http.javadsl.server.AllDirectives;
import akka.http.javadsl.server.PathMatcher1;
import akka.http.javadsl.server.PathMatcher2;
import akka.http.javadsl.server.Route;
import akka.http.javadsl.unmarshalling.Unmarshaller;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.value.TopicName;
import io.weir.topics.Topic;
import io.weir.topics.TopicDefinition;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Topics over HTTP. What changes something needs the admin token where one is set.
 *
 * <pre>
 * GET    /topics                              every topic with its limit
 * GET    /topics/NAME                         {@link TopicDescription}
 * POST   /topics/NAME                         creates it: {@link TopicRequest}
 * DELETE /topics/NAME                         deletes it
 * PUT    /topics/NAME/limit, …/delivery       changes it: {@link TopicRequest}
 * POST   /topics/NAME/pause, …/resume
 * PUT    /topics/NAME/channels/CHANNEL        makes a channel; with rate and burst in the body it also limits what it hands out
 * DELETE /topics/NAME/channels/CHANNEL        deletes it
 * DELETE /topics/NAME/channels/CHANNEL/limit  takes its limit away
 * POST   /topics/NAME/channels/CHANNEL/pause, …/resume
 * </pre>
 */
final class TopicRoutes extends AllDirectives {
    private static final Logger LOG = LoggerFactory.getLogger(TopicRoutes.class);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final BrokerProcess broker;
    private final UnaryOperator<Supplier<Route>> guarded;

    /** @param admin lets a route through to who may change things */
    TopicRoutes(BrokerProcess broker, Function<Supplier<Route>, Route> admin) {
        this.broker = broker;
        this.guarded = inner -> () -> admin.apply(inner);
    }

    Route routes() {
        PathMatcher1<String> topic = segment("topics").slash(segment());
        PathMatcher2<String, String> channel = topic.slash("channels").slash(segment());
        return concat(
                path(
                        "topics",
                        () -> get(() -> cluster(
                                topics -> topics.list().thenApply(all -> AdminServer.answer(StatusCodes.OK, all))))),
                path(topic, this::topic),
                path(
                        topic.slash("limit"),
                        name -> changeTo(name, (topics, on, request) -> topics.changeLimit(on, request.checked()))),
                path(topic.slash("delivery"), name -> changeTo(name, TopicAdmin::changeDelivery)),
                path(topic.slash("pause"), name -> post(change(name, (topics, on) -> topics.pause(on, true)))),
                path(topic.slash("resume"), name -> post(change(name, (topics, on) -> topics.pause(on, false)))),
                path(
                        channel,
                        (name, of) -> concat(
                                put(guarded.apply(() -> putChannel(name, of))),
                                delete(change(name, (topics, on) -> topics.deleteChannel(on, of))))),
                path(
                        channel.slash("limit"),
                        (name, of) -> delete(change(name, (topics, on) -> topics.unlimitChannel(on, of)))),
                path(
                        channel.slash("pause"),
                        (name, of) -> post(change(name, (topics, on) -> topics.setChannel(on, of, true)))),
                path(
                        channel.slash("resume"),
                        (name, of) -> post(change(name, (topics, on) -> topics.setChannel(on, of, false)))));
    }

    private Route topic(String name) {
        return concat(
                get(() -> cluster(topics -> topics.describe(TopicName.of(name)).thenApply(found -> found.map(
                                topic -> AdminServer.answer(StatusCodes.OK, topic))
                        .orElseGet(() -> AdminServer.error(StatusCodes.NOT_FOUND, "there is no topic " + name))))),
                post(guarded.apply(() -> withBody(name, TopicAdmin::create))),
                delete(change(name, TopicAdmin::delete)));
    }

    private Route putChannel(String name, String channel) {
        return entity(
                Unmarshaller.entityToByteArray(),
                body -> cluster(topics -> (body.length == 0
                                ? topics.setChannel(TopicName.of(name), channel, false)
                                : topics.limitChannel(TopicName.of(name), channel, parse(body)))
                        .thenApply(TopicRoutes::changed)));
    }

    private interface Change {
        CompletionStage<Topic.Answer> on(TopicAdmin topics, TopicName name);
    }

    private interface ChangeTo {
        CompletionStage<Topic.Answer> on(TopicAdmin topics, TopicName name, TopicRequest request);
    }

    private Supplier<Route> change(String name, Change change) {
        return guarded.apply(
                () -> cluster(topics -> change.on(topics, TopicName.of(name)).thenApply(TopicRoutes::changed)));
    }

    private Route changeTo(String name, ChangeTo change) {
        return put(guarded.apply(() -> withBody(name, change)));
    }

    private Route withBody(String name, ChangeTo change) {
        return entity(
                Unmarshaller.entityToByteArray(),
                body -> cluster(topics ->
                        change.on(topics, TopicName.of(name), parse(body)).thenApply(TopicRoutes::changed)));
    }

    private static HttpResponse changed(Topic.Answer answer) {
        TopicDefinition now = answer.definition();
        if (answer.problem() != null) {
            return AdminServer.error(now.exists() ? StatusCodes.CONFLICT : StatusCodes.NOT_FOUND, answer.problem());
        }
        LOG.info("{} is at revision {}, its limit at version {}", now.name(), now.revision(), now.limitVersion());
        return AdminServer.answer(
                StatusCodes.OK,
                Map.of("name", now.name().value(), "version", now.limitVersion(), "pending", answer.pending()));
    }

    private static TopicRequest parse(byte[] body) {
        try {
            return JSON.readValue(body, TopicRequest.class);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "the body is not the JSON that is meant, such as {\"rate\":1000,\"burst\":100}: "
                            + e.getMessage().lines().findFirst().orElse(""));
        }
    }

    /** Asks the cluster. What was wrong with a request is 400, what the cluster could not do just now is 503. */
    private Route cluster(Function<TopicAdmin, CompletionStage<HttpResponse>> question) {
        Optional<TopicAdmin> topics = broker.topics();
        if (topics.isEmpty()) {
            return complete(
                    AdminServer.error(StatusCodes.SERVICE_UNAVAILABLE, broker.id() + " is not in a cluster just now"));
        }
        try {
            return completeWithFuture(question.apply(topics.get()).exceptionally(this::problem));
        } catch (IllegalArgumentException e) {
            return complete(problem(e));
        }
    }

    private HttpResponse problem(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof IllegalArgumentException) {
            return AdminServer.error(StatusCodes.BAD_REQUEST, cause.getMessage());
        }
        LOG.debug("{} could not answer", broker.id(), cause);
        return AdminServer.error(StatusCodes.SERVICE_UNAVAILABLE, "the cluster did not answer in time: try again");
    }
}
