package io.weir.cluster.chaos.client;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * What one client process does, as a file that it reads when it starts.
 *
 * @param name of the client, the first part of its messages' ids
 * @param seed of how its load goes up and down
 * @param history the file that it records in
 * @param orders the file in which the run says what the client should do now: a word of {@link Orders}
 * @param status the file in which the client says how far it is
 */
public record ClientPlan(
        String name,
        long seed,
        String history,
        String orders,
        String status,
        List<Publishing> publishing,
        List<Consuming> consuming) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What a client should do now. */
    public enum Orders {
        /** Load that goes up and down, as the seed says. */
        TIDE,
        /** More of everything than the limits let through. */
        SATURATE,
        /** Publish no more, consume what is left. */
        HUSH,
        /** End. */
        QUIT
    }

    /**
     * Messages to one topic at one broker.
     *
     * @param endpoint host:port
     * @param perSecond at a middling tide
     * @param connections each with one message on its way at most
     */
    public record Publishing(String broker, String endpoint, String topic, double perSecond, int connections) {}

    /** @param endpoints in the order of preference */
    public record Consuming(String topic, String channel, List<String> endpoints) {}

    /** How far a client is. */
    public record Status(long invoked, long ok, long failed, long unknown, long delivered) {
        public static final Status NONE = new Status(0, 0, 0, 0, 0);

        public Status plus(Status other) {
            return new Status(
                    invoked + other.invoked,
                    ok + other.ok,
                    failed + other.failed,
                    unknown + other.unknown,
                    delivered + other.delivered);
        }
    }

    static ClientPlan read(Path file) throws IOException {
        return JSON.readValue(file.toFile(), ClientPlan.class);
    }

    public void write(Path file) throws IOException {
        JSON.writeValue(file.toFile(), this);
    }
}
