package io.weir.supervisor.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Starts a process of Weir: the same Java, the same class path and the same class archive as this process, with the flags of its kind
 * from {@code conf/KIND.jvm}.
 *
 * <p>A child ignores SIGINT and SIGHUP: Ctrl-C goes to every process of a terminal's group, and the store must not end before the
 * brokers have left. The shell sets that up, since the JVM keeps an ignored signal ignored.
 */
final class JavaCommand {
    static final String HOME_PROPERTY = "weir.home";
    static final String CLASS_ARCHIVE_PROPERTY = "weir.class-archive";
    private static final String MAIN = "io.weir.supervisor.cli.Weir";

    private JavaCommand() {}

    static Process start(String kind, List<String> arguments, Path log, Map<String, String> environment) {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", "trap '' INT HUP; exec \"$@\"", "weir"));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        String home = System.getProperty(HOME_PROPERTY);
        if (home != null && Files.isReadable(Path.of(home, "conf", kind + ".jvm"))) {
            command.add("@" + Path.of(home, "conf", kind + ".jvm"));
        }
        command.addAll(flagsOfThisJava());
        String archive = System.getProperty(CLASS_ARCHIVE_PROPERTY);
        if (archive != null && Files.isReadable(Path.of(archive))) {
            command.add("-XX:SharedArchiveFile=" + archive);
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), MAIN));
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
        // Settings of a broker that the user's shell happens to hold are not meant for every process of this cluster.
        builder.environment().keySet().removeIf(name -> name.startsWith("WEIR_") && !name.equals("WEIR_LOG_LEVEL"));
        builder.environment().putAll(environment);
        try {
            return builder.start();
        } catch (IOException e) {
            throw new LocalClusterException("a process can't be started: " + e.getMessage());
        }
    }

    /** What Aeron needs, and what keeps newer JVMs from warning about it. */
    private static List<String> flagsOfThisJava() {
        List<String> flags =
                new ArrayList<>(List.of("--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED", "-Xshare:auto"));
        if (Runtime.version().feature() >= 24) {
            flags.addAll(List.of("--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"));
        }
        return flags;
    }
}
