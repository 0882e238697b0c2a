package io.weir.supervisor.node.http;

import static akka.http.javadsl.model.HttpMethods.DELETE;
import static akka.http.javadsl.model.HttpMethods.GET;
import static akka.http.javadsl.model.HttpMethods.POST;

import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCodes;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.value.TopicName;
import io.weir.limiter.simulation.TraceCsv;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.BrokerTopics;
import io.weir.supervisor.node.Refusal;
import io.weir.supervisor.node.TopicRecording;
import io.weir.supervisor.node.http.RouteTable.Access;
import io.weir.supervisor.node.http.RouteTable.Route;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A topic's arrivals at the broker that is asked, and at no other. All of it is for those who may change the cluster's
 * state: a recording takes memory, and its answer is long.
 *
 * <pre>
 * POST   /v1/topics/NAME/recording            begins: {"seconds": 60}; answers a {@link TopicRecording}
 * GET    /v1/topics/NAME/recording            how far it is
 * DELETE /v1/topics/NAME/recording            ends it now; what was recorded stays
 * GET    /v1/topics/NAME/recording/arrivals   the arrivals as {@link TraceCsv}, when it is over
 * </pre>
 */
final class RecordingRoutes {
    private static final Logger LOG = LoggerFactory.getLogger(RecordingRoutes.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_BYTES = 1 << 10;
    private static final String RECORDING = "/v1/topics/{topic}/recording";

    private final BrokerProcess broker;
    private final BrokerTopics topics;

    RecordingRoutes(BrokerProcess broker, BrokerTopics topics) {
        this.broker = broker;
        this.topics = topics;
    }

    List<Route> routes() {
        return List.of(
                Route.of(POST, RECORDING, Access.ADMIN, this::begin),
                Route.of(GET, RECORDING, Access.ADMIN, call -> progress(call, false)),
                Route.of(DELETE, RECORDING, Access.ADMIN, call -> progress(call, true)),
                Route.of(GET, RECORDING + "/arrivals", Access.ADMIN, this::arrivals));
    }

    private CompletionStage<HttpResponse> begin(Call call) {
        TopicName topic = topic(call);
        return call.body(MOST_BYTES, "BODY_TOO_BIG")
                .thenApply(RecordingRoutes::seconds)
                .thenCompose(seconds -> broker.cluster().get(topic).thenCompose(definition -> {
                    if (!definition.exists()) {
                        throw new Refusal(StatusCodes.NOT_FOUND, "TOPIC_NOT_FOUND", "there is no topic " + topic);
                    }
                    return topics.recorder().begin(topic, seconds);
                }))
                .thenApplyAsync(
                        begun -> {
                            LOG.info("{} records the arrivals of {} for {} s", broker.id(), topic, begun.seconds());
                            return Answers.json(StatusCodes.OK, begun);
                        },
                        call.executor());
    }

    private CompletionStage<HttpResponse> progress(Call call, boolean end) {
        return topics.recorder()
                .progress(topic(call), end)
                .thenApplyAsync(progress -> Answers.json(StatusCodes.OK, progress), call.executor());
    }

    /** The question comes first because it is what ends a recording whose time is over. */
    private CompletionStage<HttpResponse> arrivals(Call call) {
        TopicName topic = topic(call);
        return topics.recorder()
                .progress(topic, false)
                .thenApplyAsync(progress -> Answers.text("text/csv; charset=utf-8", csv(topic)), call.executor());
    }

    private String csv(TopicName topic) {
        StringBuilder csv = new StringBuilder();
        try {
            TraceCsv.write(topics.recorder().arrivals(topic), "topic " + topic + " at " + broker.id(), csv);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return csv.toString();
    }

    private static double seconds(byte[] body) {
        String problem = "seconds is missing";
        try {
            TopicRecording.Request request = JSON.readValue(body, TopicRecording.Request.class);
            if (request != null && request.seconds() != null) {
                return request.seconds();
            }
        } catch (IOException e) {
            problem = e.getMessage().lines().findFirst().orElse("");
        }
        throw new IllegalArgumentException("the body is not the JSON that is meant, {\"seconds\":60}: " + problem);
    }

    private static TopicName topic(Call call) {
        return TopicName.of(call.path("topic"));
    }
}
