package io.weir.supervisor.node.http;

import static akka.http.javadsl.model.HttpMethods.DELETE;
import static akka.http.javadsl.model.HttpMethods.GET;
import static akka.http.javadsl.model.HttpMethods.POST;
import static akka.http.javadsl.model.HttpMethods.PUT;

import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCodes;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.node.BrokerPlacement;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.BrokerTopics;
import io.weir.supervisor.node.Refusal;
import io.weir.supervisor.node.http.RouteTable.Access;
import io.weir.supervisor.node.http.RouteTable.Route;
import io.weir.supervisor.placement.Decisions.Capacity;
import io.weir.supervisor.placement.Placement;
import io.weir.supervisor.placement.PlacementView;
import io.weir.supervisor.placement.WhatIf;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.transport.api.PublisherIdentity;
import io.weir.transport.gateway.Publisher;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Placement over HTTP; any broker answers, by asking the singleton. What changes something needs the admin token where
 * one is set.
 *
 * <pre>
 * GET    /v1/placement                          {@link PlacementView}: brokers, and topics with their parts
 * GET    /v1/placement/topics/NAME              one topic, with every reason
 * PUT    /v1/placement/topics/NAME/objective    its own p99: {"p99Ms": 5}
 * DELETE /v1/placement/topics/NAME/objective    the usual one again
 * PUT    /v1/placement/topics/NAME/policy       its own policy: {"policy": "lb"}; it is placed again by it
 * DELETE /v1/placement/topics/NAME/policy       the usual one again
 * PUT    /v1/placement/topics/NAME/publishers/WHO   somebody who is going to publish: {"rate": 10, "group": "north"}
 * DELETE /v1/placement/topics/NAME/publishers/WHO   counts from now on only while it publishes
 * POST   /v1/placement/plan                     {@link WhatIf}: nothing is applied
 * PUT    /v1/placement/brokers/ID/capacity      what calibration found
 * </pre>
 */
final class PlacementRoutes {
    private static final Logger LOG = LoggerFactory.getLogger(PlacementRoutes.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_BYTES = 16 << 10;
    private static final String ALL = "/v1/placement";
    private static final String TOPIC = ALL + "/topics/{topic}";
    private static final int USUALLY_SHOWN = 100;
    private static final double MOST_P99_MS = 60_000;

    /** A topic's own objective. */
    record ObjectiveRequest(Double p99Ms) {}

    /** A topic's own policy. */
    record PolicyRequest(String policy) {}

    /** A publisher that is going to publish. */
    record PublisherRequest(Double rate, String group) {
        PublisherIdentity identity(String name) {
            return new PublisherIdentity(name, group == null ? "" : group, rate == null ? 0 : rate);
        }
    }

    /** {@link WhatIf} as a client gives it: what is left out stays as it is. */
    record WhatIfRequest(
            String topic, String policy, Integer more, List<String> without, Double capacity, Double load) {
        WhatIf what() {
            return new WhatIf(topic, policy, more == null ? 0 : more, without, capacity, load == null ? 1 : load);
        }
    }

    /** {@link Capacity} without what the path and the clock say. */
    record CapacityRequest(
            double messagesPerSecond,
            double objectiveMs,
            double singlesPerSecond,
            double batchedPerSecond,
            int batch,
            double loneMs) {}

    private final BrokerProcess broker;
    private final BrokerTopics topics;

    PlacementRoutes(BrokerProcess broker, BrokerTopics topics) {
        this.broker = broker;
        this.topics = topics;
    }

    List<Route> routes() {
        return List.of(
                Route.of(GET, ALL, Access.FREE, this::show),
                Route.of(GET, TOPIC, Access.FREE, this::explain),
                Route.of(PUT, TOPIC + "/objective", Access.ADMIN, this::setObjective),
                Route.of(DELETE, TOPIC + "/objective", Access.ADMIN, call -> objective(topic(call), 0)),
                Route.of(PUT, TOPIC + "/policy", Access.ADMIN, this::setPolicy),
                Route.of(DELETE, TOPIC + "/policy", Access.ADMIN, call -> policy(topic(call), Optional.empty())),
                Route.of(PUT, TOPIC + "/publishers/{publisher}", Access.ADMIN, this::register),
                Route.of(DELETE, TOPIC + "/publishers/{publisher}", Access.ADMIN, this::unregister),
                Route.of(POST, ALL + "/plan", Access.ADMIN, this::plan),
                Route.of(PUT, ALL + "/brokers/{broker}/capacity", Access.ADMIN, this::calibrated));
    }

    private BrokerPlacement placement() {
        return topics.placement()
                .orElseThrow(() -> new Refusal(
                        StatusCodes.CONFLICT,
                        "PLACEMENT_OFF",
                        "placement is off on this broker: set weir.placement.enabled = registered, or on, and"
                                + " weir.aeron.directory, on every broker"));
    }

    private CompletionStage<HttpResponse> show(Call call) {
        String after = call.parameter("after").orElse("");
        int most;
        try {
            most = call.parameter("limit").map(Integer::parseInt).orElse(USUALLY_SHOWN);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("limit is a number of topics, not '"
                    + call.parameter("limit").orElse("") + "'");
        }
        return placement()
                .<PlacementView>ask(replyTo -> new Placement.Show(after, most, replyTo), broker.askTimeout())
                .thenApply(view -> Answers.json(StatusCodes.OK, view));
    }

    private CompletionStage<HttpResponse> explain(Call call) {
        TopicName topic = topic(call);
        return placement()
                .<Placement.Explained>ask(replyTo -> new Placement.Explain(topic, replyTo), broker.askTimeout())
                .thenApply(found -> found.topic()
                        .map(placed -> Answers.json(StatusCodes.OK, placed))
                        .orElseThrow(() -> new Refusal(
                                StatusCodes.NOT_FOUND,
                                "TOPIC_NOT_FOUND",
                                topics.definition(topic.value()).isPresent()
                                        ? "nobody has published to topic " + topic + " yet: there is nothing to place"
                                        : "there is no topic " + topic)));
    }

    private CompletionStage<HttpResponse> setObjective(Call call) {
        TopicName topic = topic(call);
        return body(call, ObjectiveRequest.class, "{\"p99Ms\":5}").thenCompose(request -> {
            if (request.p99Ms == null || !(request.p99Ms >= 0.1 && request.p99Ms <= MOST_P99_MS)) {
                throw new IllegalArgumentException(
                        "p99Ms is the objective in milliseconds, from 0.1 to 60000, not " + request.p99Ms);
            }
            return objective(topic, Math.round(request.p99Ms * 1e6));
        });
    }

    private CompletionStage<HttpResponse> objective(TopicName topic, long objectiveNs) {
        BrokerPlacement placement = placement();
        requireTopic(topic);
        return CompletableFuture.supplyAsync(
                () -> {
                    placement.decisions().objective(topic, objectiveNs);
                    LOG.info("topic {} is placed for a p99 of {} ms (0: the usual one)", topic, objectiveNs / 1e6);
                    return Answers.json(StatusCodes.OK, Map.of("topic", topic.value(), "p99Ms", objectiveNs / 1e6));
                },
                broker.supply().storeThreads());
    }

    private void requireTopic(TopicName topic) {
        if (topics.definition(topic.value()).isEmpty()) {
            throw new Refusal(StatusCodes.NOT_FOUND, "TOPIC_NOT_FOUND", "there is no topic " + topic);
        }
    }

    private CompletionStage<HttpResponse> setPolicy(Call call) {
        TopicName topic = topic(call);
        return body(call, PolicyRequest.class, "{\"policy\":\"lb\"}").thenCompose(request -> {
            if (request.policy == null) {
                throw new IllegalArgumentException("policy is missing: {\"policy\":\"lb\"}, for instance");
            }
            return policy(topic, Optional.of(Policy.of(request.policy)));
        });
    }

    private CompletionStage<HttpResponse> policy(TopicName topic, Optional<Policy> policy) {
        BrokerPlacement placement = placement();
        requireTopic(topic);
        String usual = broker.settings().placement().policy();
        return CompletableFuture.supplyAsync(
                () -> {
                    placement.decisions().policy(topic, policy);
                    String holds = policy.map(Policy::label).orElse(usual);
                    LOG.info("topic {} is placed by the policy {}", topic, holds);
                    return Answers.json(StatusCodes.OK, Map.of("topic", topic.value(), "policy", holds));
                },
                broker.supply().storeThreads());
    }

    private CompletionStage<HttpResponse> register(Call call) {
        BrokerPlacement placement = placement();
        TopicName topic = topic(call);
        return body(call, PublisherRequest.class, "{\"rate\":10,\"group\":\"north\"}")
                .thenCompose(request -> {
                    PublisherIdentity publisher = request.identity(call.path("publisher"));
                    long id = Publisher.idOf(publisher.name());
                    return placement
                            .<Placement.RegisterOutcome>ask(
                                    replyTo -> new Placement.Register(
                                            topic, id, publisher.rate(), publisher.group(), replyTo),
                                    broker.askTimeout())
                            .thenApply(outcome -> {
                                refuse(outcome, publisher.name(), id);
                                return Answers.json(
                                        StatusCodes.OK,
                                        Map.of(
                                                "topic",
                                                topic.value(),
                                                "publisher",
                                                publisher.name(),
                                                "rate",
                                                publisher.rate(),
                                                "group",
                                                publisher.group()));
                            });
                });
    }

    private static void refuse(Placement.RegisterOutcome outcome, String name, long id) {
        if (outcome.cause() != null) {
            // The placement knows publishers by their numbers.
            String text = outcome.text().replace("publisher " + id, "publisher '" + name + "'");
            throw switch (outcome.cause()) {
                case UNKNOWN_TOPIC -> new Refusal(StatusCodes.NOT_FOUND, "TOPIC_NOT_FOUND", text);
                case NOT_REGISTERED -> new Refusal(StatusCodes.NOT_FOUND, "PUBLISHER_NOT_FOUND", text);
                case CONTRADICTORY_GROUP -> new Refusal(StatusCodes.CONFLICT, "CONTRADICTORY_GROUP", text);
                case IMPOSSIBLE_RATE -> Refusal.badRequest("BAD_REQUEST", text);
                case NO_ROOM, NOT_YET -> new Refusal(StatusCodes.SERVICE_UNAVAILABLE, "UNAVAILABLE", text);
            };
        }
    }

    private CompletionStage<HttpResponse> unregister(Call call) {
        TopicName topic = topic(call);
        String name = call.path("publisher");
        long id = Publisher.idOf(name);
        return placement()
                .<Placement.RegisterOutcome>ask(
                        replyTo -> new Placement.Unregister(topic, id, replyTo), broker.askTimeout())
                .thenApply(outcome -> {
                    refuse(outcome, name, id);
                    return Answers.json(StatusCodes.OK, Map.of("topic", topic.value(), "publisher", name));
                });
    }

    private CompletionStage<HttpResponse> plan(Call call) {
        BrokerPlacement placement = placement();
        return body(call, WhatIfRequest.class, "{\"more\":2,\"load\":1.5}").thenCompose(request -> {
            WhatIf what = request.what();
            return placement
                    .<WhatIf.Plan>ask(replyTo -> new Placement.Plan(what, replyTo), broker.askTimeout())
                    .thenApply(plan -> {
                        if (plan.problem() != null) {
                            throw new Refusal(StatusCodes.CONFLICT, "CONFLICT", plan.problem());
                        }
                        return Answers.json(StatusCodes.OK, plan);
                    });
        });
    }

    private CompletionStage<HttpResponse> calibrated(Call call) {
        BrokerPlacement placement = placement();
        BrokerId id = new BrokerId(call.path("broker"));
        return body(call, CapacityRequest.class, "{\"messagesPerSecond\":20000,\"objectiveMs\":10,…}")
                .thenApplyAsync(
                        found -> {
                            Capacity capacity = new Capacity(
                                    id,
                                    found.messagesPerSecond,
                                    Math.round(found.objectiveMs * 1e6),
                                    System.currentTimeMillis(),
                                    found.singlesPerSecond,
                                    found.batchedPerSecond,
                                    found.batch,
                                    Math.round(found.loneMs * 1e6));
                            placement.decisions().calibrated(capacity);
                            LOG.info("broker {} carries {} messages a second", id, Math.round(found.messagesPerSecond));
                            return Answers.json(StatusCodes.OK, Map.of("broker", id.value(), "stored", found));
                        },
                        broker.supply().storeThreads());
    }

    private static TopicName topic(Call call) {
        return TopicName.of(call.path("topic"));
    }

    private static <T> CompletionStage<T> body(Call call, Class<T> type, String example) {
        return call.body(MOST_BYTES, "BODY_TOO_BIG").thenApply(body -> {
            try {
                return Optional.ofNullable(JSON.readValue(body, type))
                        .orElseThrow(() -> new IllegalArgumentException("the body is null, and not like " + example));
            } catch (IOException e) {
                throw new IllegalArgumentException("the body is not the JSON that is meant, such as " + example + ": "
                        + e.getMessage().lines().findFirst().orElse(""));
            }
        });
    }
}
