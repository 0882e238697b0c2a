package io.weir.supervisor.node.http;

import akka.http.javadsl.model.HttpMethod;
import akka.http.javadsl.model.HttpResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** All routes in one table: the server looks requests up in it, and a test compares the OpenAPI file with it. */
final class RouteTable {
    /** Who may use a route. */
    enum Access {
        /** Whoever reaches the server. */
        FREE,
        /** Who may change the cluster's state. */
        ADMIN,
        /**
         * Who has a token with the right to publish to the topic that the request names; where none is required, as
         * {@link #ADMIN}.
         */
        PUBLISH
    }

    /** Answers a call. The server answers for what it throws. */
    @FunctionalInterface
    interface Handler {
        CompletionStage<HttpResponse> answer(Call call);
    }

    /** @param template the path, where {@code {name}} stands for any one segment */
    record Route(HttpMethod method, String template, Access access, Handler handler) {
        static Route of(HttpMethod method, String template, Access access, Handler handler) {
            return new Route(method, template, access, handler);
        }

        /** For an answer that is there at once. */
        static Route now(HttpMethod method, String template, Access access, Function<Call, HttpResponse> handler) {
            return new Route(method, template, access, call -> CompletableFuture.completedFuture(handler.apply(call)));
        }

        private Optional<Map<String, String>> match(List<String> segments) {
            String[] own = template.substring(1).split("/");
            if (own.length != segments.size()) {
                return Optional.empty();
            }
            Map<String, String> named = new HashMap<>();
            for (int i = 0; i < own.length; i++) {
                String segment = segments.get(i);
                if (own[i].startsWith("{")) {
                    named.put(own[i].substring(1, own[i].length() - 1), segment);
                } else if (!own[i].equals(segment)) {
                    return Optional.empty();
                }
            }
            return Optional.of(named);
        }
    }

    /** A route and what stands in the path where it has names. */
    record Found(Route route, Map<String, String> path) {}

    private final List<Route> routes;

    RouteTable(List<Route> routes) {
        this.routes = List.copyOf(routes);
    }

    List<Route> routes() {
        return routes;
    }

    /** @param segments the path's, decoded */
    Optional<Found> find(HttpMethod method, List<String> segments) {
        for (Route route : routes) {
            Optional<Map<String, String>> named =
                    route.method.equals(method) ? route.match(segments) : Optional.empty();
            if (named.isPresent()) {
                return Optional.of(new Found(route, named.get()));
            }
        }
        return Optional.empty();
    }

    /** What may be done at a path; nothing where there is nothing. */
    List<HttpMethod> methodsAt(List<String> segments) {
        return routes.stream()
                .filter(route -> route.match(segments).isPresent())
                .map(Route::method)
                .toList();
    }
}
