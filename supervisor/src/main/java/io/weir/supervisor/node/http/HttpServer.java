package io.weir.supervisor.node.http;

import static akka.http.javadsl.model.HttpMethods.GET;
import static akka.http.javadsl.model.HttpMethods.POST;

import akka.NotUsed;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.javadsl.Behaviors;
import akka.http.javadsl.Http;
import akka.http.javadsl.IncomingConnection;
import akka.http.javadsl.ServerBinding;
import akka.http.javadsl.model.HttpMethod;
import akka.http.javadsl.model.HttpMethods;
import akka.http.javadsl.model.HttpRequest;
import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCodes;
import akka.http.javadsl.model.headers.Allow;
import akka.http.javadsl.model.headers.HttpChallenge;
import akka.http.javadsl.model.headers.WWWAuthenticate;
import akka.stream.KillSwitches;
import akka.stream.UniqueKillSwitch;
import akka.stream.javadsl.Flow;
import akka.stream.javadsl.Keep;
import akka.stream.javadsl.RunnableGraph;
import akka.stream.javadsl.Sink;
import akka.stream.javadsl.Source;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.weir.config.WeirSettings.HttpSettings;
import io.weir.config.value.BrokerId;
import io.weir.supervisor.node.BrokerProcess;
import io.weir.supervisor.node.BrokerStatus;
import io.weir.supervisor.node.BrokerSupply;
import io.weir.supervisor.node.BrokerTopics;
import io.weir.supervisor.node.Readiness;
import io.weir.supervisor.node.Refusal;
import io.weir.supervisor.node.StartException;
import io.weir.supervisor.node.http.RouteTable.Access;
import io.weir.supervisor.node.http.RouteTable.Handler;
import io.weir.supervisor.node.http.RouteTable.Route;
import io.weir.supervisor.node.metrics.BrokerMetrics;
import io.weir.supervisor.store.StoreException;
import io.weir.transport.gateway.AccessRights;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The broker's HTTP server. It has an actor system of its own, outside the cluster, so that it answers for as long as
 * the process lives, also while the broker is removed and joins again.
 *
 * <pre>
 * GET  /alive    200 while the process runs and its message path goes on, else 503
 * GET  /ready    200 when the broker is up, recovered and may admit, else 503; the body says what is missing
 * GET  /metrics  Prometheus
 * GET  /status   {@link BrokerStatus}
 * GET  /openapi.yaml   all of it, described
 * /v1/topics/…   {@link TopicRoutes}, Weir's own
 * POST /v1/brokers/ID/INCARNATION/stopped   somebody who knows confirms that this life of a broker is over
 * POST /stop     leaves the cluster and ends the process; needs the admin token where one is set
 * /v1/placement  {@link PlacementRoutes}
 * /pub, /stats, … {@link NsqdRoutes}, as an nsqd has them
 * /lookup, …     {@link LookupRoutes}, as an nsqlookupd has them
 * </pre>
 */
public final class HttpServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HttpServer.class);
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(1);
    private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
    /**
     * The message path begins a turn every ten seconds or sooner. A broker that has not for so long hangs, and a new
     * process is the only help.
     */
    private static final Duration STUCK_AFTER = Duration.ofSeconds(30);
    /** For those who ask whether the broker is well: whoever asks may name it as it likes, and learns nothing else. */
    private static final List<List<String>> PROBES = List.of(List.of("alive"), List.of("ready"));

    /** For all bodies that are being read at a time. What has been read counts with its publications. */
    private static final long MOST_READING_BYTES = 64L << 20;

    private static final String DESCRIPTION = "openapi.yaml";

    private final HttpSettings settings;
    private final BrokerMetrics metrics;
    private final Optional<byte[]> adminToken;
    private final AccessRights rights;
    private final ActorSystem<Void> system;
    private final RouteTable table;
    private final Call.Reading reading = new Call.Reading(MOST_READING_BYTES);
    private final HostNames names;
    private final HttpConnections connections;
    private final ServerBinding binding;

    public static HttpServer start(BrokerProcess broker, BrokerTopics topics, HttpSettings settings, Config akka) {
        // No cluster, no remoting, few threads: all that is left is HTTP.
        Config local = ConfigFactory.parseMap(Map.of(
                        "akka.actor.provider", "local",
                        "akka.scheduler.tick-duration", "50ms",
                        "akka.coordinated-shutdown.phases.service-unbind.timeout", "1s"))
                .withFallback(akka);
        ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "weir-http", local);
        try {
            return new HttpServer(broker, topics, settings, system);
        } catch (CompletionException e) {
            system.terminate();
            throw new StartException("HTTP can't listen on " + settings.address() + " ("
                    + e.getCause().getMessage() + "): is the port taken? Set weir.http.port");
        }
    }

    public void bind(BrokerSupply supply, BrokerTopics topics) {
        metrics.bind(supply, topics);
    }

    public ActorSystem<Void> system() {
        return system;
    }

    private HttpServer(BrokerProcess broker, BrokerTopics topics, HttpSettings settings, ActorSystem<Void> system) {
        this.settings = settings;
        this.metrics = new BrokerMetrics(broker);
        this.adminToken = settings.adminToken().map(token -> token.getBytes(StandardCharsets.UTF_8));
        this.rights = topics.rights();
        this.system = system;
        this.table = table(broker, topics, metrics);
        this.names = new HostNames(broker.settings());
        this.connections = new HttpConnections(settings.maxConnections(), settings.maxConnectionsPerAddress());
        this.binding = Http.get(system)
                .newServerAt(settings.address().host(), settings.address().port())
                .connectionSource()
                .to(Sink.foreach(this::serve))
                .run(system)
                .toCompletableFuture()
                .join();
        system.scheduler()
                .scheduleWithFixedDelay(
                        LOOK_EVERY,
                        LOOK_EVERY,
                        () -> connections.closeIdleSince(
                                System.nanoTime() - settings.idleTimeout().toNanos()),
                        system.executionContext());
    }

    /** Must not throw: the server would end with it. */
    private void serve(IncomingConnection incoming) {
        CompletableFuture<UniqueKillSwitch> end = new CompletableFuture<>();
        Optional<HttpConnections.Connection> place = connections.came(
                incoming.remoteAddress().getAddress(),
                () -> end.thenAccept(UniqueKillSwitch::shutdown),
                System.nanoTime());
        if (place.isEmpty()) {
            refuse(incoming);
            return;
        }
        HttpConnections.Connection connection = place.get();
        Flow<HttpRequest, HttpResponse, UniqueKillSwitch> answers = Flow.of(HttpRequest.class)
                .viaMat(KillSwitches.single(), Keep.right())
                .mapAsync(1, request -> {
                    connection.begin();
                    return answer(request).whenComplete((answer, failure) -> connection.end(System.nanoTime()));
                })
                .watchTermination((ended, done) -> {
                    done.whenComplete((nothing, failure) -> connection.gone());
                    return ended;
                });
        RunnableGraph<UniqueKillSwitch> both = incoming.flow().joinMat(answers, Keep.right());
        try {
            end.complete(both.run(system));
        } catch (RuntimeException e) {
            connection.gone();
            LOG.debug("A connection could not be served", e);
        }
    }

    private void refuse(IncomingConnection incoming) {
        try {
            Flow<HttpRequest, HttpResponse, NotUsed> nothing =
                    Flow.fromSinkAndSourceCoupled(Sink.cancelled(), Source.empty());
            incoming.flow().join(nothing).run(system);
        } catch (RuntimeException e) {
            LOG.debug("A connection could not be refused", e);
        }
    }

    /** Nothing is asked of the broker before a call comes. */
    static RouteTable table(BrokerProcess broker, BrokerTopics topics, BrokerMetrics metrics) {
        List<Route> routes = new ArrayList<>(List.of(
                Route.now(GET, "/alive", Access.FREE, call -> alive(topics.turnAge())),
                Route.now(GET, "/ready", Access.FREE, call -> ready(broker)),
                Route.now(
                        GET,
                        "/metrics",
                        Access.FREE,
                        call -> Answers.text("text/plain; version=0.0.4; charset=utf-8", metrics.scrape())),
                Route.now(GET, "/status", Access.FREE, call -> Answers.json(StatusCodes.OK, broker.status())),
                Route.now(GET, "/" + DESCRIPTION, Access.FREE, call -> Answers.text("application/yaml", description())),
                Route.now(
                        POST,
                        "/v1/brokers/{broker}/{incarnation}/stopped",
                        Access.ADMIN,
                        call -> confirmStopped(broker, call)),
                Route.now(POST, "/stop", Access.ADMIN, call -> stop(broker))));
        routes.addAll(new TopicRoutes(broker).routes());
        routes.addAll(new RecordingRoutes(broker, topics).routes());
        routes.addAll(new PlacementRoutes(broker, topics).routes());
        routes.addAll(new NsqdRoutes(broker, topics).routes());
        routes.addAll(new LookupRoutes(broker, topics).routes());
        return new RouteTable(routes);
    }

    private CompletionStage<HttpResponse> answer(HttpRequest request) {
        List<String> segments = new ArrayList<>();
        request.getUri().pathSegments().forEach(segments::add);
        // Akka removes the body from an answer to HEAD.
        HttpMethod method = request.method().equals(HttpMethods.HEAD) ? GET : request.method();
        Optional<RouteTable.Found> found = table.find(method, segments);
        Call call = new Call(
                request,
                found.map(RouteTable.Found::path).orElse(Map.of()),
                system,
                reading,
                settings.requestTimeout());
        call.ifLate(Answers.error(
                StatusCodes.SERVICE_UNAVAILABLE,
                "UNAVAILABLE",
                "there was no answer within weir.http.request-timeout, "
                        + settings.requestTimeout().toMillis() + " ms: try again"));
        String host = request.getUri().host().address();
        boolean meant = names.include(host) || PROBES.contains(segments);
        return answer(
                        allowed -> !meant
                                ? NsqdRoutes.now(misdirected(host))
                                : found.isEmpty()
                                        ? NsqdRoutes.now(nothingThere(method, segments))
                                        : answer(found.get().route(), allowed),
                        call)
                .thenCompose(answer -> call.end().thenApply(done -> answer));
    }

    private CompletionStage<HttpResponse> answer(Route route, Call call) {
        return denied(route.access(), call).map(NsqdRoutes::now).orElseGet(() -> route.handler()
                .answer(call));
    }

    /** A failure is answered, too. */
    static CompletionStage<HttpResponse> answer(Handler handler, Call call) {
        CompletionStage<HttpResponse> answer;
        try {
            answer = handler.answer(call);
        } catch (RuntimeException e) {
            answer = CompletableFuture.failedFuture(e);
        }
        return answer.exceptionally(HttpServer::problem);
    }

    private HttpResponse nothingThere(HttpMethod method, List<String> segments) {
        List<HttpMethod> methods = table.methodsAt(segments);
        if (methods.isEmpty()) {
            return Answers.error(
                    StatusCodes.NOT_FOUND, "NOT_FOUND", "there is nothing at this path: /openapi.yaml says what is");
        }
        return Answers.error(
                        StatusCodes.METHOD_NOT_ALLOWED,
                        "METHOD_NOT_ALLOWED",
                        method.name() + " is not a method of this path")
                .addHeader(Allow.create(methods.toArray(HttpMethod[]::new)));
    }

    private static HttpResponse misdirected(String host) {
        return Answers.error(
                StatusCodes.MISDIRECTED_REQUEST,
                "UNKNOWN_HOST",
                "this broker is not asked for as '" + host + "': use its address, or add the name to weir.http.names");
    }

    /** 400 if the request was wrong, 503 if it could not be carried out just now. */
    private static HttpResponse problem(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof Refusal refusal) {
            return Answers.error(refusal);
        }
        if (cause instanceof IllegalArgumentException) {
            return Answers.error(StatusCodes.BAD_REQUEST, "INVALID_REQUEST", cause.getMessage());
        }
        LOG.debug("A request could not be answered", cause);
        return Answers.error(
                StatusCodes.SERVICE_UNAVAILABLE, "UNAVAILABLE", "the cluster did not answer in time: try again");
    }

    /** Empty if the caller may. */
    private Optional<HttpResponse> denied(Access access, Call call) {
        if (access == Access.FREE) {
            return Optional.empty();
        }
        Optional<String> token = call.bearer();
        if (adminToken.isPresent() && token.filter(this::isAdmins).isPresent()) {
            return Optional.empty();
        }
        if (access == Access.PUBLISH) {
            Optional<AccessRights.Grant> grant = token.flatMap(rights::grant);
            if (grant.isPresent()
                    && grant.get().mayPublish(call.parameter("topic").orElse(""))) {
                return Optional.empty();
            }
            if (grant.isPresent() || rights.required()) {
                return Optional.of(
                        token.isEmpty()
                                ? unauthorised("to publish, send a token")
                                : forbidden("this token has not the right to publish to the topic"));
            }
        }
        return deniedToStrangers(call);
    }

    /**
     * For a caller without a token. Where no admin token is set, the server is bound to loopback and every caller is
     * local. A web page in a local browser is still refused; the browser names it in the Origin header.
     */
    private Optional<HttpResponse> deniedToStrangers(Call call) {
        if (adminToken.isPresent()) {
            return Optional.of(unauthorised("this changes state: send the admin token"));
        }
        return call.header("Origin")
                .map(origin -> forbidden("a web page may not change state where no admin token is set"));
    }

    private static HttpResponse unauthorised(String reason) {
        return Answers.error(StatusCodes.UNAUTHORIZED, "UNAUTHORIZED", reason + " as 'Authorization: Bearer TOKEN'")
                .addHeader(WWWAuthenticate.create(HttpChallenge.create("Bearer", "weir")));
    }

    private static HttpResponse forbidden(String reason) {
        return Answers.error(StatusCodes.FORBIDDEN, "FORBIDDEN", reason);
    }

    /** Takes as long for a wrong token as for the right one. */
    private boolean isAdmins(String token) {
        return MessageDigest.isEqual(token.getBytes(StandardCharsets.UTF_8), adminToken.orElseThrow());
    }

    private static HttpResponse confirmStopped(BrokerProcess broker, Call call) {
        try {
            BrokerId victim = new BrokerId(call.path("broker"));
            long incarnation = Long.parseLong(call.path("incarnation"));
            broker.confirmStopped(victim, incarnation);
            LOG.info("{}#{} is confirmed to have stopped: what it held is inherited", victim, incarnation);
            return Answers.json(StatusCodes.OK, Map.of("stopped", victim + "#" + incarnation));
        } catch (NumberFormatException e) {
            throw Refusal.badRequest(
                    "INVALID_REQUEST", "'" + call.path("incarnation") + "' is not the number of an incarnation");
        } catch (StoreException e) {
            throw new Refusal(StatusCodes.SERVICE_UNAVAILABLE, "UNAVAILABLE", e.getMessage());
        }
    }

    static HttpResponse alive(Duration turnAge) {
        return turnAge.compareTo(STUCK_AFTER) < 0
                ? Answers.text("text/plain; charset=utf-8", "alive\n")
                : Answers.text(
                                "text/plain; charset=utf-8",
                                "not alive: the message path has not gone on for " + turnAge.toSeconds() + " s\n")
                        .withStatus(StatusCodes.SERVICE_UNAVAILABLE);
    }

    private static HttpResponse ready(BrokerProcess broker) {
        Readiness readiness = broker.readiness();
        return Answers.json(readiness.ready() ? StatusCodes.OK : StatusCodes.SERVICE_UNAVAILABLE, readiness);
    }

    private static HttpResponse stop(BrokerProcess broker) {
        LOG.info("{} is asked over HTTP to stop", broker.id());
        broker.requestStop();
        return Answers.json(StatusCodes.ACCEPTED, Map.of("stopping", broker.id()));
    }

    private static String description() {
        try (InputStream in = HttpServer.class.getResourceAsStream(DESCRIPTION)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            binding.unbind().toCompletableFuture().get(2, TimeUnit.SECONDS);
            connections.closeAll(CLOSE_GRACE);
            system.terminate();
            system.getWhenTerminated().toCompletableFuture().get(2, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("The HTTP server did not close in time: {}", e.toString());
        }
        metrics.close();
    }
}
