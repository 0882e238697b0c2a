package io.weir.supervisor.lab.limiter;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.value.Limit;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What {@code weir bench penalty -o json} measured on a real cluster.
 *
 * @param brokers that the limit was split over
 * @param configurations by the bench's names, in its order
 */
record MeasuredPenalty(
        Path file, int brokers, double messagesPerSecond, Limit limit, Map<String, Delays> configurations) {
    /** Access delays in milliseconds: medians over the rounds, and the 99th percentile's lowest and highest. */
    record Delays(double p95Ms, double p99Ms, double lowestP99Ms, double highestP99Ms, double idealP99Ms) {}

    static MeasuredPenalty read(Path file) {
        JsonNode root;
        try {
            root = new ObjectMapper().readTree(Files.readString(file));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(file + " is not JSON, as 'weir bench penalty -o json' prints it");
        } catch (NoSuchFileException e) {
            throw new UncheckedIOException(new IOException("there is no file " + file, e));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Map<String, Delays> delays = new LinkedHashMap<>();
        for (JsonNode each : field(file, root, "configurations")) {
            delays.put(
                    field(file, each, "name").asText(),
                    new Delays(
                            ms(file, each, "p95Micros", "median"),
                            ms(file, each, "p99Micros", "median"),
                            ms(file, each, "p99Micros", "min"),
                            ms(file, each, "p99Micros", "max"),
                            ms(file, each, "idealP99Micros", "median")));
        }
        return new MeasuredPenalty(
                file,
                field(file, root, "brokers").asInt(),
                field(file, root, "messagesPerSecond").asDouble(),
                Limit.of(
                        field(file, root, "limitRate").asDouble(),
                        field(file, root, "limitBurst").asDouble()),
                delays);
    }

    private static JsonNode field(Path file, JsonNode of, String name) {
        JsonNode field = of.path(name);
        if (field.isMissingNode() || field.isNull()) {
            throw new IllegalArgumentException(
                    file + " is not what 'weir bench penalty -o json' prints: it has no " + name);
        }
        return field;
    }

    private static double ms(Path file, JsonNode of, String figure, String ofRounds) {
        return field(file, field(file, of, figure), ofRounds).asDouble() / 1e3;
    }

    /** Whether the points of both mean the same. */
    boolean sameLoad(MeasuredPenalty other) {
        return messagesPerSecond == other.messagesPerSecond && limit.equals(other.limit);
    }
}
