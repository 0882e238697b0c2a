package io.weir.supervisor.node;

import akka.actor.typed.ActorSystem;
import akka.actor.typed.javadsl.Behaviors;
import akka.http.javadsl.Http;
import akka.http.javadsl.ServerBinding;
import akka.http.javadsl.model.ContentTypes;
import akka.http.javadsl.model.HttpEntities;
import akka.http.javadsl.model.HttpRequest;
import akka.http.javadsl.model.HttpResponse;
import akka.http.javadsl.model.StatusCode;
import akka.http.javadsl.model.StatusCodes;
import akka.http.javadsl.model.headers.HttpChallenge;
import akka.http.javadsl.model.headers.WWWAuthenticate;
import akka.http.javadsl.server.AllDirectives;
import akka.http.javadsl.server.PathMatchers;
import akka.http.javadsl.server.Route;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.weir.config.WeirSettings.HttpSettings;
import io.weir.config.value.BrokerId;
import io.weir.supervisor.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The broker's HTTP server. It has an actor system of its own, outside the cluster, so that it answers for as long as the
 * process lives, also while the broker is removed and joins again.
 *
 * <pre>
 * GET  /alive    200 while the process runs
 * GET  /ready    200 when the broker is up and its state is recovered, else 503; the body says what is missing
 * GET  /metrics  Prometheus
 * GET  /status   {@link BrokerStatus}
 * /topics/…      {@link TopicRoutes}
 * POST /brokers/ID/INCARNATION/stopped   an operator confirms that this life of a broker is over
 * POST /stop     leaves the cluster and ends the process; needs the admin token where one is set
 * </pre>
 */
final class AdminServer extends AllDirectives implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AdminServer.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(1);

    private final BrokerProcess broker;
    private final BrokerMetrics metrics;
    private final Optional<byte[]> adminToken;
    private final ActorSystem<Void> system;
    private final ServerBinding binding;

    static AdminServer start(BrokerProcess broker, HttpSettings settings, Config akka) {
        // No cluster, no remoting, few threads: all that is left is HTTP.
        Config local = ConfigFactory.parseMap(Map.of(
                        "akka.actor.provider", "local",
                        "akka.scheduler.tick-duration", "50ms",
                        "akka.coordinated-shutdown.phases.service-unbind.timeout", "1s"))
                .withFallback(akka);
        ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "weir-http", local);
        try {
            return new AdminServer(broker, settings, system);
        } catch (CompletionException e) {
            system.terminate();
            throw new StartException("HTTP can't listen on " + settings.address() + " ("
                    + e.getCause().getMessage() + "): is the port taken? Set weir.http.port");
        }
    }

    void bind(BrokerSupply supply, BrokerTopics topics) {
        metrics.bind(supply, topics);
    }

    ActorSystem<Void> system() {
        return system;
    }

    private AdminServer(BrokerProcess broker, HttpSettings settings, ActorSystem<Void> system) {
        this.broker = broker;
        this.metrics = new BrokerMetrics(broker);
        this.adminToken = settings.adminToken().map(token -> token.getBytes(StandardCharsets.UTF_8));
        this.system = system;
        this.binding = Http.get(system)
                .newServerAt(settings.address().host(), settings.address().port())
                .bind(routes())
                .toCompletableFuture()
                .join();
    }

    private Route routes() {
        return concat(
                path("alive", () -> get(() -> complete("alive\n"))),
                path("ready", () -> get(this::ready)),
                path(
                        "metrics",
                        () -> get(() -> complete(HttpResponse.create()
                                .withEntity(HttpEntities.create(
                                        ContentTypes.parse("text/plain; version=0.0.4; charset=utf-8"),
                                        metrics.scrape().getBytes(StandardCharsets.UTF_8)))))),
                path("status", () -> get(() -> json(StatusCodes.OK, broker.status()))),
                new TopicRoutes(broker, this::admin).routes(),
                path(
                        PathMatchers.segment("brokers")
                                .slash(PathMatchers.segment())
                                .slash(PathMatchers.longSegment())
                                .slash("stopped"),
                        (id, incarnation) -> post(() -> admin(() -> confirmStopped(id, incarnation)))),
                path("stop", () -> post(() -> admin(this::stop))));
    }

    private Route confirmStopped(String id, long incarnation) {
        try {
            BrokerId victim = new BrokerId(id);
            LOG.warn("An operator confirms that {}#{} has stopped", victim, incarnation);
            broker.confirmStopped(victim, incarnation);
            return json(StatusCodes.OK, Map.of("stopped", victim + "#" + incarnation));
        } catch (IllegalArgumentException e) {
            return complete(error(StatusCodes.BAD_REQUEST, e.getMessage()));
        } catch (StoreException e) {
            return complete(error(StatusCodes.SERVICE_UNAVAILABLE, e.getMessage()));
        }
    }

    private Route ready() {
        Readiness readiness = broker.readiness();
        return json(readiness.ready() ? StatusCodes.OK : StatusCodes.SERVICE_UNAVAILABLE, readiness);
    }

    private Route stop() {
        LOG.info("{} is told to stop over HTTP", broker.id());
        broker.requestStop();
        return json(StatusCodes.ACCEPTED, Map.of("stopping", broker.id()));
    }

    /**
     * Lets through who shows the token. Where none is set, the server is bound to loopback and every caller is local; a web page
     * in a local browser is not meant, and its browser says so with an Origin.
     */
    private Route admin(Supplier<Route> inner) {
        return extractRequest(request -> {
            if (adminToken.isPresent() && !authorised(request)) {
                return respondWithHeader(
                        WWWAuthenticate.create(HttpChallenge.create("Bearer", "weir")),
                        () -> json(
                                StatusCodes.UNAUTHORIZED,
                                Map.of(
                                        "error",
                                        "this changes state: send the admin token as 'Authorization: Bearer TOKEN'")));
            }
            if (adminToken.isEmpty() && request.getHeader("Origin").isPresent()) {
                return json(
                        StatusCodes.FORBIDDEN,
                        Map.of("error", "a web page may not change state where no admin token is set"));
            }
            return inner.get();
        });
    }

    private boolean authorised(HttpRequest request) {
        return request.getHeader("Authorization")
                .map(header -> header.value())
                .filter(value -> value.regionMatches(true, 0, "Bearer ", 0, 7))
                // Takes as long for a wrong token as for the right one.
                .map(value -> MessageDigest.isEqual(
                        value.substring(7).strip().getBytes(StandardCharsets.UTF_8), adminToken.orElseThrow()))
                .orElse(false);
    }

    private Route json(StatusCode status, Object body) {
        return complete(answer(status, body));
    }

    static HttpResponse error(StatusCode status, String reason) {
        return answer(status, Map.of("error", reason));
    }

    static HttpResponse answer(StatusCode status, Object body) {
        try {
            return HttpResponse.create()
                    .withStatus(status)
                    .withEntity(HttpEntities.create(ContentTypes.APPLICATION_JSON, JSON.writeValueAsBytes(body)));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write " + body.getClass().getSimpleName() + " as JSON", e);
        }
    }

    @Override
    public void close() {
        try {
            binding.terminate(CLOSE_GRACE).toCompletableFuture().get(2, TimeUnit.SECONDS);
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
