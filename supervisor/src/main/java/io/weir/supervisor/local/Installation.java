package io.weir.supervisor.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Where Weir is installed, and how its processes are started from there: the same Java as this process, the jars in
 * {@code lib/}, the flags of its kind in {@code conf/KIND.jvm}, and the class archive that the launcher made for this
 * Java, if it did.
 *
 * <p>A child ignores SIGINT and SIGHUP: Ctrl-C goes to every process of a terminal's group, and the store must not end
 * before the brokers have left. The shell sets that up, since the JVM keeps an ignored signal ignored.
 */
public record Installation(Path home, List<Path> brokerJars, Optional<Path> brokerAgent) {
    private static final String MAIN = "io.weir.supervisor.cli.Weir";
    private static final String KEEPER_MAIN = "io.weir.supervisor.cli.KeeperMain";
    private static final String BECOME = "trap '' INT HUP; exec \"$@\"";
    /**
     * The store is the command that ours prints. It heeds SIGINT, whatever it inherits, so it leaves the terminal's
     * group; on a system without setsid Ctrl-C would reach it.
     */
    private static final String BECOME_STORE = "trap '' INT HUP; command=$(\"$@\") || exit; unset WEIR_STORE_PASSWORD;"
            + " eval \"exec $(command -v setsid || true) $command\"";

    public Installation(Path home) {
        this(home, List.of(), Optional.empty());
    }

    /**
     * The same, but its brokers have this on their class path as well. It comes last, so that the class archive still
     * fits.
     */
    public Installation withBrokerJar(Path jar) {
        List<Path> all = new ArrayList<>(brokerJars);
        all.add(jar);
        return new Installation(home, List.copyOf(all), brokerAgent);
    }

    /**
     * The same, but its brokers run with a Java agent, and without the class archive: an agent that changes classes as
     * they are loaded crashes JDK 17 at the first class that the archive has from a multi-release jar.
     */
    public Installation withBrokerAgent(Path jar) {
        return new Installation(home, brokerJars, Optional.of(jar));
    }

    /** The one that this process was started from; the launcher says where. */
    public static Installation ofThisProcess() {
        String home = System.getProperty("weir.home");
        if (home == null) {
            throw new LocalClusterException("the system property weir.home is not set: start Weir with its launcher");
        }
        return new Installation(Path.of(home));
    }

    /** What runs a process of this kind; for who must start it some other way than {@link #start} does. */
    public List<String> command(String kind, List<String> arguments) {
        return command(kind, List.of(), arguments);
    }

    /** The same, with jars that are not part of the installation behind its own. */
    public List<String> command(String kind, List<Path> extraClassPath, List<String> arguments) {
        List<String> command = java(kind);
        Path archive = home.resolve("lib").resolve("classes-" + System.getProperty("java.version") + ".jsa");
        Optional<Path> agent = brokerAgent.filter(jar -> kind.equals("broker"));
        agent.ifPresent(jar -> command.add("-javaagent:" + jar));
        if (agent.isEmpty() && Files.isReadable(archive)) {
            command.add("-XX:SharedArchiveFile=" + archive);
        }
        String classPath = Stream.concat(
                        Stream.of(classPath(kind)), extraClassPath.stream().map(Path::toString))
                .collect(Collectors.joining(":"));
        command.addAll(List.of("-cp", classPath, MAIN));
        command.addAll(arguments);
        return command;
    }

    private List<String> java(String kind) {
        List<String> command =
                new ArrayList<>(List.of("/bin/sh", "-c", kind.equals("store") ? BECOME_STORE : BECOME, "weir"));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("@" + home.resolve("conf").resolve(kind + ".jvm"));
        command.addAll(flagsOfThisJava());
        return command;
    }

    /** Starts a process of Weir with the flags of its {@code kind}; what it prints goes to {@code log}. */
    public Process start(String kind, List<String> arguments, Path log, Map<String, String> environment) {
        return launch(kind, kind, arguments, log, environment).start();
    }

    /** How that is started, under a name. */
    Launch launch(String name, String kind, List<String> arguments, Path log, Map<String, String> environment) {
        return new Launch(name, command(kind, arguments), environment, log.toString());
    }

    /**
     * How the keeper of a cluster is started: without a command line, and with one jar, since the JVM keeps the
     * contents of every jar.
     */
    Launch keeper(ClusterDirectory directory) {
        List<String> command = java(ClusterState.KEEPER);
        command.addAll(
                List.of("-cp", jarOf(KEEPER_MAIN), KEEPER_MAIN, directory.root().toString()));
        return new Launch(
                ClusterState.KEEPER,
                command,
                Map.of(),
                directory.log(ClusterState.KEEPER).toString());
    }

    private String jarOf(String main) {
        try (Stream<Path> files = Files.list(home.resolve("lib"))) {
            return files.map(Path::toString)
                    .filter(file -> file.contains("/weir-supervisor-") && file.endsWith(".jar"))
                    .findFirst()
                    .orElseThrow(() -> new LocalClusterException("there is no jar with " + main + " in " + home));
        } catch (IOException e) {
            throw noJars(e);
        }
    }

    private LocalClusterException noJars(IOException e) {
        return new LocalClusterException(
                "Weir's jars in " + home.resolve("lib") + " can't be listed: " + e.getMessage());
    }

    /** In the launcher's order: a class archive is valid for one class path only. */
    private String classPath(String kind) {
        try (Stream<Path> files = Files.list(home.resolve("lib"))) {
            Stream<String> own = files.map(Path::toString)
                    .filter(file -> file.endsWith(".jar"))
                    .sorted();
            Stream<String> further = kind.equals("broker") ? brokerJars.stream().map(Path::toString) : Stream.empty();
            return Stream.concat(own, further).collect(Collectors.joining(":"));
        } catch (IOException e) {
            throw noJars(e);
        }
    }

    /**
     * What Aeron needs, what keeps newer JVMs from warning about it, and no word about a class archive that fits only
     * in part.
     */
    private static List<String> flagsOfThisJava() {
        List<String> flags = new ArrayList<>(List.of(
                "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
                "-Xshare:auto",
                "-Xlog:disable",
                "-Xlog:all=warning:stderr",
                "-Xlog:cds=off:stderr"));
        if (Runtime.version().feature() >= 24) {
            flags.addAll(List.of("--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"));
        }
        return flags;
    }
}
