package io.weir.cluster.stage;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cluster.stage.Network.Traffic;
import java.util.List;
import java.util.Map;

/** What a stage and its backstage tell each other: one order, one answer, a JSON object a line each. */
final class Script {
    /** Build the hosts {@code words}; {@code number} is the seed. */
    static final String BUILD = "build";
    /** Replace all conditions by {@code rules}. */
    static final String CONDITIONS = "conditions";
    /** Answers {@code counts}. */
    static final String TRAFFIC = "traffic";
    /** Start {@code words} on {@code host} with {@code environment}, output to {@code path}; answers its number. */
    static final String START = "start";
    /** Send signal {@code words[0]} to process {@code number}. */
    static final String SIGNAL = "signal";
    /** Send signal {@code words[0]} to process {@code number} and then to its children. */
    static final String SIGNAL_ALL = "signal-all";
    /** Answers 1 if process {@code number} is alive. */
    static final String ALIVE = "alive";
    /** Run {@code words} to its end; answers its output. */
    static final String RUN = "run";
    /** A port on loopback outside that leads to port {@code number} on {@code host}; answers it. */
    static final String DOOR = "door";
    /** Port {@code number} on {@code host} leads to {@code words[0]}, an endpoint outside. */
    static final String OUTLET = "outlet";
    /** Answers 1 if somebody accepts connections on port {@code number} of {@code host}. */
    static final String ACCEPTS = "accepts";
    /** Write the file {@code path} until nothing more fits on its disk. */
    static final String FILL = "fill";
    /** Put process {@code number} into the CPU group {@code path}. */
    static final String GROUP = "group";

    private static final ObjectMapper JSON = new ObjectMapper();

    /** One direction's conditions. */
    record Rule(String from, String to, Conditions conditions) {}

    /** One direction's frames so far. */
    record Count(String from, String to, Traffic traffic) {}

    /** Which fields count depends on the verb. */
    record Order(
            String verb,
            String host,
            List<String> words,
            Map<String, String> environment,
            String path,
            long number,
            List<Rule> rules) {
        static Order of(String verb) {
            return new Order(verb, null, List.of(), Map.of(), null, 0, List.of());
        }

        static Order conditions(List<Rule> rules) {
            return new Order(CONDITIONS, null, List.of(), Map.of(), null, 0, rules);
        }

        Order at(String newHost) {
            return new Order(verb, newHost, words, environment, path, number, rules);
        }

        Order with(List<String> newWords) {
            return new Order(verb, host, newWords, environment, path, number, rules);
        }

        Order with(Map<String, String> newEnvironment) {
            return new Order(verb, host, words, newEnvironment, path, number, rules);
        }

        Order to(String newPath) {
            return new Order(verb, host, words, environment, newPath, number, rules);
        }

        Order number(long newNumber) {
            return new Order(verb, host, words, environment, path, newNumber, rules);
        }
    }

    /** @param problem why it was not done; null if it was */
    record Answer(String problem, long number, String text, List<Count> counts) {
        static Answer done() {
            return new Answer(null, 0, "", List.of());
        }

        static Answer of(long number) {
            return new Answer(null, number, "", List.of());
        }

        static Answer of(boolean yes) {
            return of(yes ? 1 : 0);
        }

        static Answer of(String text) {
            return new Answer(null, 0, text, List.of());
        }

        static Answer refused(String problem) {
            return new Answer(problem, 0, "", List.of());
        }
    }

    private Script() {}

    static String line(Object what) {
        try {
            return JSON.writeValueAsString(what);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(what + " can't be written", e);
        }
    }

    static <T> T read(String line, Class<T> type) {
        try {
            return JSON.readValue(line, type);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("not understood: " + line, e);
        }
    }
}
