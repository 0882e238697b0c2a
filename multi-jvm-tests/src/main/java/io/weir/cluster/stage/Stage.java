package io.weir.cluster.stage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

/**
 * Real networks on one machine: each actor has a network namespace, whose only way out is a cable (veth) to a bridge. The bridge has
 * an address in the namespace of this process, where the store is. Pulling an actor's cable is one step and cuts it off from all
 * the others and the store at once.
 *
 * <pre>
 *   namespace b1 ── cable ──┐
 *   namespace b2 ── cable ──┼── bridge (10.213.n.1): this process, the store
 *   namespace b3 ── cable ──┘
 * </pre>
 *
 * Everything is removed when it is closed, at the latest when this JVM ends. Needs Linux, root and iproute2.
 */
public final class Stage implements AutoCloseable {
    private static final List<Path> IP = List.of(Path.of("/usr/sbin/ip"), Path.of("/sbin/ip"), Path.of("/usr/bin/ip"));

    private final String tag;
    private final int network;
    private final Map<String, Integer> numbers = new LinkedHashMap<>();
    private final Thread lastCare = new Thread(this::dismantle, "stage-dismantle");

    private Stage(List<String> actors) {
        network = freeNetwork();
        tag = "weir" + network;
        actors.forEach(actor -> numbers.put(actor, numbers.size() + 2));
    }

    /** Why no stage can be built on this machine; empty if one can. */
    public static Optional<String> obstacle() {
        if (IP.stream().noneMatch(Files::isExecutable)) {
            return Optional.of("no network can be cut here: the command 'ip' (iproute2) is missing");
        }
        try {
            String name = "weirprobe" + ProcessHandle.current().pid();
            run(List.of("netns", "add", name));
            run(List.of("netns", "delete", name));
            return Optional.empty();
        } catch (IllegalStateException e) {
            return Optional.of("no network can be cut here: this user may not make network namespaces (root may): "
                    + e.getMessage());
        }
    }

    public static Stage of(List<String> actors) {
        Stage stage = new Stage(actors);
        Runtime.getRuntime().addShutdownHook(stage.lastCare);
        try {
            stage.build();
            return stage;
        } catch (RuntimeException e) {
            stage.close();
            throw e;
        }
    }

    private void build() {
        run(List.of("link", "add", tag, "type", "bridge"));
        run(List.of("address", "add", storeSide() + "/24", "dev", tag));
        run(List.of("link", "set", tag, "up"));
        for (String actor : numbers.keySet()) {
            String namespace = namespace(actor);
            run(List.of("netns", "add", namespace));
            run(List.of("link", "add", cable(actor), "type", "veth", "peer", "name", "eth0", "netns", namespace));
            run(List.of("link", "set", cable(actor), "master", tag, "up"));
            run(List.of("-n", namespace, "address", "add", address(actor) + "/24", "dev", "eth0"));
            run(List.of("-n", namespace, "link", "set", "lo", "up"));
            run(List.of("-n", namespace, "link", "set", "eth0", "up"));
        }
    }

    /** Where actors find what runs outside of all namespaces, such as the store. */
    public String storeSide() {
        return "10.213." + network + ".1";
    }

    public String address(String actor) {
        return "10.213." + network + "." + number(actor);
    }

    /** The command, run where only this actor's network is. */
    public List<String> inside(String actor, List<String> command) {
        List<String> all = new ArrayList<>(List.of(ip(), "netns", "exec", namespace(actor)));
        all.addAll(command);
        return all;
    }

    /** Pulls the actor's cable: from now on no packet leaves or reaches it, and nobody is told. */
    public void cut(String actor) {
        run(List.of("link", "set", cable(actor), "down"));
    }

    /** Plugs every cable in again. */
    public void heal() {
        numbers.keySet().forEach(actor -> run(List.of("link", "set", cable(actor), "up")));
    }

    @Override
    public void close() {
        dismantle();
        try {
            Runtime.getRuntime().removeShutdownHook(lastCare);
        } catch (IllegalStateException e) {
            // The JVM is ending; the hook finds nothing left to do.
            return;
        }
    }

    private synchronized void dismantle() {
        List<String> left = lines(List.of("-o", "link", "show", "type", "bridge"));
        for (String actor : numbers.keySet()) {
            // The cable goes with either end.
            if (lines(List.of("netns", "list")).stream()
                    .anyMatch(line -> firstWord(line).equals(namespace(actor)))) {
                run(List.of("netns", "delete", namespace(actor)));
            }
        }
        if (left.stream().anyMatch(line -> line.contains(" " + tag + ":"))) {
            run(List.of("link", "delete", tag));
        }
    }

    private static String firstWord(String line) {
        return line.split(" ", 2)[0];
    }

    private int number(String actor) {
        Integer number = numbers.get(actor);
        if (number == null) {
            throw new IllegalArgumentException("nobody called " + actor + " is on this stage");
        }
        return number;
    }

    private String namespace(String actor) {
        return tag + "-" + actor;
    }

    /** At most 15 characters, as the kernel wants it. */
    private String cable(String actor) {
        return tag + "c" + number(actor);
    }

    private static int freeNetwork() {
        String addresses = String.join("\n", lines(List.of("-o", "address")));
        for (int attempt = 0; attempt < 100; attempt++) {
            int network = ThreadLocalRandom.current().nextInt(1, 255);
            if (!addresses.contains(" 10.213." + network + ".")) {
                return network;
            }
        }
        throw new IllegalStateException("no free network 10.213.n.0/24");
    }

    private static String ip() {
        return IP.stream()
                .filter(Files::isExecutable)
                .findFirst()
                .map(Path::toString)
                .orElseThrow(() -> new IllegalStateException("the command 'ip' is missing"));
    }

    private static void run(List<String> arguments) {
        lines(arguments);
    }

    private static List<String> lines(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(ip()));
        command.addAll(arguments);
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException(String.join(" ", command) + ": " + output.strip());
            }
            try (Stream<String> lines = output.lines()) {
                return lines.toList();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }
}
