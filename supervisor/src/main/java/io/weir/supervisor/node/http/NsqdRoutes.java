package io.weir.supervisor.node.http;

import static akka.http.javadsl.model.HttpMethods.GET;
import static akka.http.javadsl.model.HttpMethods.POST;

import akka.http.javadsl.model.HttpMethod;
import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCodes;
import io.weir.config.value.ChannelName;
import io.weir.config.value.TopicName;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.BrokerTopics;
import io.weir.supervisor.node.PathView;
import io.weir.supervisor.node.Refusal;
import io.weir.supervisor.node.TopicAdmin;
import io.weir.supervisor.node.http.RouteTable.Access;
import io.weir.supervisor.node.http.RouteTable.Handler;
import io.weir.supervisor.node.http.RouteTable.Route;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import io.weir.topics.api.InProcessPublisher;
import io.weir.topics.definition.Topic;
import io.weir.topics.definition.TopicDefinition;
import io.weir.transport.api.MessageContext;
import io.weir.transport.api.PublishOutcome;
import io.weir.transport.api.PublisherIdentity;
import io.weir.transport.gateway.ClientStats;
import io.weir.transport.gateway.GatewayLoop;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What users of nsqd ask it over HTTP, with its parameters, its answers and its words for what is wrong.
 *
 * <p>Differences: a topic and its channels are the cluster's, so what creates, deletes, pauses or empties them does so
 * at every broker; statistics are this broker's, as an nsqd's are its own. A topic has a limit: whoever publishes more
 * gets the answer when the message has its token (shape), or 429 with {@code Retry-After} in seconds and
 * {@code X-Weir-Retry-After-Ms} (police; and when too many wait for the limit, or one waited for too long, of which a
 * batch's first messages may have been published). A batch that is more than the limit ever lets pass at once gets 413,
 * because to try again is of no use. Publications that the broker has no room for get 503. A caller that hangs up does
 * not take back what it published. Connections that are silent for a minute are closed: who publishes to a topic that
 * lets messages wait for longer uses the TCP port.
 */
final class NsqdRoutes {
    private static final Logger LOG = LoggerFactory.getLogger(NsqdRoutes.class);
    private static final byte LINE_END = '\n';

    private final BrokerProcess broker;
    private final BrokerTopics topics;
    private volatile Rendering lastRendering;

    NsqdRoutes(BrokerProcess broker, BrokerTopics topics) {
        this.broker = broker;
        this.topics = topics;
    }

    List<Route> routes() {
        return List.of(
                route(POST, "/pub", Access.PUBLISH, this::publish),
                route(POST, "/mpub", Access.PUBLISH, this::publishBatch),
                route(GET, "/ping", Access.FREE, call -> now(Answers.nsqText("OK"))),
                route(GET, "/info", Access.FREE, call -> now(Answers.nsq(info()))),
                route(GET, "/stats", Access.FREE, this::stats),
                route(POST, "/topic/create", Access.ADMIN, this::createTopic),
                route(POST, "/topic/delete", Access.ADMIN, this::deleteTopic),
                route(POST, "/topic/empty", Access.ADMIN, this::emptyTopic),
                route(
                        POST,
                        "/topic/pause",
                        Access.ADMIN,
                        call -> changeTopic(call, (cluster, topic) -> pause(cluster, topic, true))),
                route(
                        POST,
                        "/topic/unpause",
                        Access.ADMIN,
                        call -> changeTopic(call, (cluster, topic) -> pause(cluster, topic, false))),
                route(POST, "/channel/create", Access.ADMIN, this::createChannel),
                route(POST, "/channel/delete", Access.ADMIN, this::deleteChannel),
                route(POST, "/channel/empty", Access.ADMIN, this::emptyChannel),
                route(
                        POST,
                        "/channel/pause",
                        Access.ADMIN,
                        call -> changeChannel(
                                call, (cluster, topic, channel) -> cluster.setChannel(topic, channel, true)
                                        .thenCompose(broker::toldEverywhere))),
                route(
                        POST,
                        "/channel/unpause",
                        Access.ADMIN,
                        call -> changeChannel(
                                call, (cluster, topic, channel) -> cluster.setChannel(topic, channel, false)
                                        .thenCompose(broker::toldEverywhere))));
    }

    /** With nsqd's header, also where something is wrong. */
    static Route route(HttpMethod method, String template, Access access, Handler handler) {
        return Route.of(method, template, access, call -> HttpServer.answer(handler, call)
                .thenApply(Answers::asNsq));
    }

    static CompletionStage<HttpResponse> now(HttpResponse answer) {
        return CompletableFuture.completedFuture(answer);
    }

    private CompletionStage<HttpResponse> publish(Call call) {
        InProcessPublisher intake = intake(call);
        InProcessPublisher.Bounds bounds = topics.intakeBounds();
        String topic = topic(call, "INVALID_TOPIC").value();
        long deferMs = call.parameter("defer")
                .map(text -> deferMs(text, bounds.maxDelayMs()))
                .orElse(0L);
        PublisherIdentity publisher = publisher(call);
        return call.body(bounds.maxMessageBytes(), "MSG_TOO_BIG").thenCompose(body -> {
            if (body.length == 0) {
                throw Refusal.badRequest("MSG_EMPTY", "a message's body must not be empty");
            }
            return outcome(
                    call, topic, 1, done -> intake.publish(topic, MessageContext.NONE, publisher, body, deferMs, done));
        });
    }

    private CompletionStage<HttpResponse> publishBatch(Call call) {
        InProcessPublisher intake = intake(call);
        InProcessPublisher.Bounds bounds = topics.intakeBounds();
        String topic = topic(call, "INVALID_TOPIC").value();
        boolean binary = call.flag("binary", false);
        PublisherIdentity publisher = publisher(call);
        return call.body(bounds.maxBatchBytes(), "BODY_TOO_BIG").thenCompose(body -> {
            List<byte[]> bodies =
                    binary ? counted(body, bounds.maxMessageBytes()) : lines(body, bounds.maxMessageBytes());
            if (bodies.isEmpty()) {
                // To nsqd empty lines are no messages, and no mistake either.
                return now(Answers.nsqText("OK"));
            }
            if (4L * bodies.size()
                            + bodies.stream().mapToLong(each -> each.length).sum()
                    > bounds.maxBatchBytes()) {
                throw new Refusal(
                        StatusCodes.CONTENT_TOO_LARGE,
                        "BODY_TOO_BIG",
                        "the messages, with four bytes each for their lengths, are more than " + bounds.maxBatchBytes()
                                + " bytes");
            }
            return outcome(
                    call,
                    topic,
                    bodies.size(),
                    done -> intake.publishBatch(topic, MessageContext.NONE, publisher, bodies, done));
        });
    }

    /** Weir's own: who publishes, for placement. */
    private static PublisherIdentity publisher(Call call) {
        String rate = call.parameter("rate").orElse("0");
        try {
            return new PublisherIdentity(
                    call.parameter("publisher").orElse(""),
                    call.parameter("group").orElse(""),
                    Double.parseDouble(rate));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("rate is a number of messages a second, not '" + rate + "'");
        }
    }

    private InProcessPublisher intake(Call call) {
        return topics.intake()
                .orElseThrow(() ->
                        new Refusal(StatusCodes.SERVICE_UNAVAILABLE, "UNAVAILABLE", "this broker is only starting"))
                .by(call.bearer().flatMap(topics.rights()::grant).orElse(null));
    }

    private static long deferMs(String text, long mostMs) {
        try {
            long deferMs = Long.parseLong(text);
            if (deferMs >= 0 && deferMs <= mostMs) {
                return deferMs;
            }
        } catch (NumberFormatException e) {
            // The same answer as for a number that is out of range.
        }
        throw Refusal.badRequest("INVALID_DEFER", "defer is a number of milliseconds, 0 to " + mostMs);
    }

    /** One message a line; empty lines are none. */
    static List<byte[]> lines(byte[] body, int mostBytes) {
        List<byte[]> found = new ArrayList<>();
        int from = 0;
        for (int i = 0; i <= body.length; i++) {
            if (i == body.length || body[i] == LINE_END) {
                if (i > from) {
                    checkSize(i - from, mostBytes);
                    found.add(Arrays.copyOfRange(body, from, i));
                }
                from = i + 1;
            }
        }
        return found;
    }

    /**
     * As MPUB has it on the TCP port.
     *
     * <pre>
     * [ number of messages, 4 bytes ][ length, 4 bytes ][ message ] [ length ][ message ] …
     * </pre>
     */
    static List<byte[]> counted(byte[] body, int mostBytes) {
        ByteBuffer in = ByteBuffer.wrap(body);
        int count = in.remaining() < 4 ? -1 : in.getInt();
        // A message takes five bytes at least.
        if (count < 1 || count > in.remaining() / 5) {
            throw Refusal.badRequest("BAD_BODY", "the body does not hold as many messages as it says");
        }
        List<byte[]> found = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int length = in.remaining() < 4 ? -1 : in.getInt();
            if (length < 1 || length > mostBytes || length > in.remaining()) {
                if (length > mostBytes) {
                    checkSize(length, mostBytes);
                }
                throw Refusal.badRequest("BAD_MESSAGE", "message " + (i + 1) + " has no length that fits");
            }
            byte[] message = new byte[length];
            in.get(message);
            found.add(message);
        }
        if (in.hasRemaining()) {
            throw Refusal.badRequest("BAD_BODY", "there is more in the body than the messages that it counts");
        }
        return found;
    }

    private static void checkSize(int bytes, int mostBytes) {
        if (bytes > mostBytes) {
            throw new Refusal(
                    StatusCodes.CONTENT_TOO_LARGE, "MSG_TOO_BIG", "a message has at most " + mostBytes + " bytes");
        }
    }

    private CompletionStage<HttpResponse> outcome(
            Call call, String topic, int messages, Consumer<Consumer<PublishOutcome>> publication) {
        call.mayWait();
        CompletableFuture<PublishOutcome> done = new CompletableFuture<>();
        publication.accept(done::complete);
        // The message path's thread completes it, and must not do the rest.
        return done.thenApplyAsync(outcome -> answer(outcome, topic, messages), call.executor());
    }

    private HttpResponse answer(PublishOutcome outcome, String topic, int messages) {
        if (outcome instanceof PublishOutcome.Accepted) {
            return Answers.nsqText("OK");
        }
        if (outcome instanceof PublishOutcome.Refused refused) {
            return throttled(topic, messages, reason(refused, messages), refused.retryAfter());
        }
        if (outcome instanceof PublishOutcome.UnknownTopic unknown) {
            return broker.readiness().ready()
                    ? Answers.error(StatusCodes.NOT_FOUND, "TOPIC_NOT_FOUND", unknown.reason())
                    : busy(unknown.reason());
        }
        PublishOutcome.Failed failed = (PublishOutcome.Failed) outcome;
        return failed.overLimit()
                ? throttled(topic, messages, failed.reason(), Optional.empty())
                : busy(failed.reason());
    }

    private static String reason(PublishOutcome.Refused refused, int messages) {
        if (refused.retryAfter().isPresent()) {
            return "the topic is at its limit; nothing was published";
        }
        return messages == 1
                ? "this broker has no part of the topic's limit just now; nothing was published"
                : "this broker's part of the topic's limit does not let " + messages
                        + " messages pass at once just now; nothing was published: try again, or publish fewer at once";
    }

    /** Says when to try again only where that can help. */
    private HttpResponse throttled(String topic, int messages, String reason, Optional<Duration> retryAfter) {
        Optional<TopicDefinition> limiting =
                topics.definition(topic).filter(now -> messages > 1 && messages > now.mostAtOnce());
        return limiting.map(now -> Answers.error(
                        StatusCodes.CONTENT_TOO_LARGE,
                        "BATCH_TOO_BIG",
                        "the topic's limit lets at most " + (long) now.mostAtOnce()
                                + " messages pass as one batch, however long they wait, and not " + messages
                                + ": publish fewer at once"))
                .orElseGet(() -> Answers.comeAgain(StatusCodes.TOO_MANY_REQUESTS, "THROTTLED", reason, retryAfter));
    }

    private static HttpResponse busy(String reason) {
        return Answers.comeAgain(StatusCodes.SERVICE_UNAVAILABLE, "BUSY", reason, Optional.empty());
    }

    private CompletionStage<HttpResponse> stats(Call call) {
        boolean json = call.parameter("format").filter("json"::equals).isPresent();
        NsqStats.Wanted wanted = new NsqStats.Wanted(
                call.parameter("topic").filter(name -> !name.isEmpty()),
                call.parameter("channel").filter(name -> !name.isEmpty()),
                call.flag("include_clients", true),
                call.flag("include_mem", true),
                call.flag("include_delay_classes", false));
        if (topics.path() == null) {
            throw new Refusal(StatusCodes.SERVICE_UNAVAILABLE, "UNAVAILABLE", "this broker is only starting");
        }
        CompletionStage<List<ClientStats>> clients =
                wanted.clients() ? topics.lookAtClients() : CompletableFuture.completedFuture(List.of());
        return topics.look()
                .thenCombineAsync(
                        clients, (view, connected) -> rendered(view, connected, wanted, json), call.executor());
    }

    /** Whoever asks for the same of the same look gets the same answer, written once. */
    private HttpResponse rendered(PathView view, List<ClientStats> clients, NsqStats.Wanted wanted, boolean json) {
        Rendering last = lastRendering;
        Rendering wish = new Rendering(view, clients, wanted, json, null);
        if (last != null && last.isOf(wish)) {
            return last.answer;
        }
        NsqStats stats = NsqStats.of(broker, view.topics(), clients, wanted);
        HttpResponse answer = json ? Answers.nsq(stats) : Answers.nsqText(stats.text());
        lastRendering = new Rendering(view, clients, wanted, json, answer);
        return answer;
    }

    private record Rendering(
            PathView view, List<ClientStats> clients, NsqStats.Wanted wanted, boolean json, HttpResponse answer) {
        private boolean isOf(Rendering other) {
            return view == other.view && clients == other.clients && json == other.json && wanted.equals(other.wanted);
        }
    }

    /** What this broker is, in nsqd's words. */
    private record Info(
            String version,
            String broadcastAddress,
            String hostname,
            int httpPort,
            int tcpPort,
            long startTime,
            String brokerId) {}

    private Info info() {
        LookupRoutes.Producer own = LookupRoutes.Producer.of(
                broker.id(),
                broker.settings().tcp(),
                broker.settings().http().address(),
                broker.settings().cluster().address());
        return new Info(
                GatewayLoop.VERSION,
                own.broadcastAddress(),
                own.hostname(),
                own.httpPort(),
                own.tcpPort(),
                NsqStats.startTimeS(broker),
                broker.id());
    }

    private CompletionStage<HttpResponse> createTopic(Call call) {
        TopicName topic = topic(call, "INVALID_TOPIC");
        return topics.defaults()
                .limitOf(topic)
                .map(limit -> changed(broker.cluster().ensure(topic, limit)))
                .orElseThrow(() -> Refusal.badRequest(
                        "NO_DEFAULT_LIMIT",
                        "no default limit is set for this name: create the topic by POST /v1/topics/" + topic));
    }

    private interface TopicChange {
        CompletionStage<Topic.Answer> on(TopicAdmin cluster, TopicName topic);
    }

    private interface ChannelChange {
        CompletionStage<Topic.Answer> on(TopicAdmin cluster, TopicName topic, String channel);
    }

    private CompletionStage<HttpResponse> changeTopic(Call call, TopicChange change) {
        return changed(change.on(broker.cluster(), topic(call, "INVALID_TOPIC")));
    }

    private CompletionStage<Topic.Answer> pause(TopicAdmin cluster, TopicName topic, boolean paused) {
        return cluster.pause(topic, paused).thenCompose(broker::toldEverywhere);
    }

    /**
     * nsqadmin deletes a topic at one broker after the other, because to it each has its own. The first of them deletes
     * it for all: the others say that it is done, too.
     */
    private CompletionStage<HttpResponse> deleteTopic(Call call) {
        TopicName topic = topic(call, "INVALID_TOPIC");
        return broker.cluster()
                .delete(topic)
                .thenCompose(answer -> answer.outcome() == Topic.Outcome.REFUSED
                                && !answer.definition().exists()
                                && topics.wasThereLately(topic)
                        ? now(Answers.nsqText(""))
                        : changed(CompletableFuture.completedFuture(answer)));
    }

    /** The same for a channel. */
    private CompletionStage<HttpResponse> deleteChannel(Call call) {
        TopicName topic = topic(call, "INVALID_ARG_TOPIC");
        String channel = lastingChannel(call);
        TopicAdmin cluster = broker.cluster();
        return cluster.get(topic).thenCompose(now -> {
            if (now.exists() && !now.channels().containsKey(channel) && topics.wasThereLately(topic, channel)) {
                return now(Answers.nsqText(""));
            }
            check(now, channel);
            return changed(cluster.deleteChannel(topic, channel));
        });
    }

    private CompletionStage<HttpResponse> createChannel(Call call) {
        TopicName topic = topic(call, "INVALID_ARG_TOPIC");
        return changed(broker.cluster().ensureChannel(topic, lastingChannel(call)));
    }

    private CompletionStage<HttpResponse> changeChannel(Call call, ChannelChange change) {
        TopicName topic = topic(call, "INVALID_ARG_TOPIC");
        String channel = lastingChannel(call);
        TopicAdmin cluster = broker.cluster();
        return cluster.get(topic).thenCompose(now -> {
            check(now, channel);
            return changed(change.on(cluster, topic, channel));
        });
    }

    private CompletionStage<HttpResponse> emptyTopic(Call call) {
        TopicName topic = topic(call, "INVALID_TOPIC");
        TopicAdmin cluster = broker.cluster();
        return cluster.get(topic).thenCompose(now -> {
            check(now);
            return empty(cluster, topic, Optional.empty());
        });
    }

    private CompletionStage<HttpResponse> emptyChannel(Call call) {
        TopicName topic = topic(call, "INVALID_ARG_TOPIC");
        String channel = channel(call);
        TopicAdmin cluster = broker.cluster();
        return cluster.get(topic).thenCompose(now -> {
            // Only the brokers with its consumers know an ephemeral one.
            if (new ChannelName(channel).ephemeral()) {
                check(now);
            } else {
                check(now, channel);
            }
            return empty(cluster, topic, Optional.of(channel));
        });
    }

    private CompletionStage<HttpResponse> empty(TopicAdmin cluster, TopicName topic, Optional<String> channel) {
        List<RegisteredBroker> up = broker.brokersUp();
        return cluster.empty(
                        topic, channel, up.stream().map(RegisteredBroker::id).toList())
                .thenApply(notDone -> {
                    if (!notDone.isEmpty()) {
                        throw new Refusal(
                                StatusCodes.SERVICE_UNAVAILABLE,
                                "NOT_EMPTIED",
                                "these brokers did not say in time that it is done: " + notDone);
                    }
                    LOG.info(
                            "{} is emptied{}",
                            topic,
                            channel.map(name -> ", channel " + name).orElse(""));
                    return Answers.nsqText("");
                });
    }

    private CompletionStage<HttpResponse> changed(CompletionStage<Topic.Answer> change) {
        return change.thenApply(answer -> {
            TopicDefinition now = answer.definition();
            TopicRoutes.checkKept(answer);
            if (answer.problem() != null) {
                check(now);
                throw new Refusal(StatusCodes.CONFLICT, "CONFLICT", answer.problem());
            }
            broker.learned(now);
            LOG.info("{} is at revision {}", now.name(), now.revision());
            return Answers.nsqText("");
        });
    }

    private static void check(TopicDefinition now) {
        if (!now.exists()) {
            throw new Refusal(StatusCodes.NOT_FOUND, "TOPIC_NOT_FOUND", "there is no topic " + now.name());
        }
    }

    private static void check(TopicDefinition now, String channel) {
        check(now);
        if (!now.channels().containsKey(channel)) {
            throw new Refusal(StatusCodes.NOT_FOUND, "CHANNEL_NOT_FOUND", now.name() + " has no channel " + channel);
        }
    }

    /** @param invalid nsqd has two words for a wrong name */
    static TopicName topic(Call call, String invalid) {
        String name = call.parameter("topic")
                .orElseThrow(() -> Refusal.badRequest("MISSING_ARG_TOPIC", "the query has no topic"));
        try {
            return TopicName.of(name);
        } catch (IllegalArgumentException e) {
            throw Refusal.badRequest(invalid, e.getMessage());
        }
    }

    private static String channel(Call call) {
        String name = call.parameter("channel")
                .orElseThrow(() -> Refusal.badRequest("MISSING_ARG_CHANNEL", "the query has no channel"));
        try {
            return new ChannelName(name).value();
        } catch (IllegalArgumentException e) {
            throw Refusal.badRequest("INVALID_ARG_CHANNEL", e.getMessage());
        }
    }

    /** One that is the cluster's, and not just its consumers'. */
    private static String lastingChannel(Call call) {
        String name = channel(call);
        try {
            return TopicAdmin.lasting(name);
        } catch (IllegalArgumentException e) {
            throw Refusal.badRequest("INVALID_ARG_CHANNEL", e.getMessage());
        }
    }
}
