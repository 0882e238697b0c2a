package io.weir.supervisor.local;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * How one process of a cluster is started, so that whoever looks after it can do it again.
 *
 * @param environment beside what the starter itself has
 * @param log what the process prints is added to this file
 */
record Launch(String name, List<String> command, Map<String, String> environment, String log) implements Serializable {

    Process start() {
        return start(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()));
    }

    /** Starts it with a standard input of its own. */
    Process start(ProcessBuilder.Redirect input) {
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectInput(input)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(Path.of(log).toFile()));
        // Settings of a broker that the user's shell happens to hold are not meant for every process of this cluster.
        builder.environment().keySet().removeIf(name -> name.startsWith("WEIR_") && !name.equals("WEIR_LOG_LEVEL"));
        builder.environment().putAll(environment);
        try {
            return builder.start();
        } catch (IOException e) {
            throw new LocalClusterException(name + " can't be started: " + e.getMessage());
        }
    }
}
