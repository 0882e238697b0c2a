package io.weir.supervisor.node.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.http.HttpResponse;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.yaml.snakeyaml.Yaml;

/** The OpenAPI file as a test reads it: what it lists, and whether an answer is as it says. */
public final class ApiDescription {
    public static final ApiDescription INSTANCE = new ApiDescription();

    private static final ObjectMapper JSON = new ObjectMapper();
    private final JsonNode root;

    private ApiDescription() {
        try (InputStream in = HttpServer.class.getResourceAsStream("openapi.yaml")) {
            root = new ObjectMapper().valueToTree(new Yaml().load(in));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Each as "GET /path/{name}". */
    Set<String> operations() {
        Set<String> found = new TreeSet<>();
        root.get("paths").fields().forEachRemaining(path -> path.getValue()
                .fieldNames()
                .forEachRemaining(method -> found.add(method.toUpperCase(Locale.ROOT) + " " + path.getKey())));
        return found;
    }

    /** @param operation as {@link #operations} has it */
    boolean isProtected(String operation) {
        return at(operation).has("security");
    }

    /** @param in path or query */
    Set<String> parameters(String operation, String in) {
        return names(at(operation), parameter -> parameter.get("in").asText().equals(in));
    }

    Set<String> requiredInQuery(String operation) {
        return names(
                at(operation),
                parameter -> parameter.get("in").asText().equals("query")
                        && parameter.path("required").asBoolean());
    }

    private JsonNode at(String operation) {
        String[] parts = operation.split(" ");
        return root.get("paths").get(parts[1]).get(parts[0].toLowerCase(Locale.ROOT));
    }

    private Set<String> names(JsonNode operation, Predicate<JsonNode> which) {
        Set<String> names = new TreeSet<>();
        operation.path("parameters").forEach(each -> {
            JsonNode parameter = resolved(each);
            if (which.test(parameter)) {
                names.add(parameter.get("name").asText());
            }
        });
        return names;
    }

    private JsonNode resolved(JsonNode node) {
        return node.has("$ref") ? root.at(node.get("$ref").asText().substring(1)) : node;
    }

    /** What is not described at all is left: that nothing is missing is another test's business. */
    public void check(HttpResponse<String> answer) {
        String method = answer.request().method().toLowerCase(Locale.ROOT);
        String path = answer.request().uri().getRawPath();
        operation(method, path).ifPresent(operation -> {
            String what = method + " " + path + " answered " + answer.statusCode() + ": " + answer.body();
            JsonNode described = resolved(operation.path("responses").path(Integer.toString(answer.statusCode())));
            // What a test sends and the broker takes is a parameter that users may know of.
            if (answer.statusCode() < 300) {
                assertThat(names(operation, parameter -> true))
                        .as("parameters: " + what)
                        .containsAll(sent(answer));
            }
            assertThat(described.isMissingNode()).as("not described: " + what).isFalse();
            String type =
                    answer.headers().firstValue("Content-Type").orElse("none").split(";")[0];
            JsonNode content = described.path("content").path(type);
            assertThat(content.isMissingNode())
                    .as("type " + type + " is not described: " + what)
                    .isFalse();
            if (type.equals("application/json")) {
                assertThat(problems(content.get("schema"), answer.body()))
                        .as(what)
                        .isEmpty();
            }
            described.path("headers").fields().forEachRemaining(header -> {
                if (header.getValue().path("required").asBoolean()) {
                    assertThat(answer.headers().firstValue(header.getKey()))
                            .as(header.getKey() + ": " + what)
                            .isPresent();
                }
            });
        });
    }

    private static Set<String> sent(HttpResponse<String> answer) {
        Set<String> names = new TreeSet<>();
        String query = answer.request().uri().getRawQuery();
        if (query != null) {
            for (String each : query.split("&")) {
                names.add(each.split("=")[0]);
            }
        }
        return names;
    }

    private Optional<JsonNode> operation(String method, String path) {
        for (Map.Entry<String, JsonNode> each : root.get("paths").properties()) {
            String pattern = each.getKey().replaceAll("\\{\\w+}", "[^/]+");
            if (path.matches(pattern) && each.getValue().has(method)) {
                return Optional.of(each.getValue().get(method));
            }
        }
        return Optional.empty();
    }

    private Set<?> problems(JsonNode schema, String body) {
        ObjectNode whole = schema.deepCopy();
        // References begin at the file's root.
        whole.set("components", root.get("components"));
        try {
            return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                    .getSchema(whole)
                    .validate(JSON.readTree(body));
        } catch (IOException e) {
            throw new AssertionError("no JSON: " + body, e);
        }
    }
}
