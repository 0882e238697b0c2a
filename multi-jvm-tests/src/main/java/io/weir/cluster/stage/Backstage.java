package io.weir.cluster.stage;

import com.sun.jna.LastErrorException;
import io.weir.cluster.stage.Script.Answer;
import io.weir.cluster.stage.Script.Order;
import io.weir.config.Endpoint;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The process behind a {@link Stage}: makes the networks, runs the switch and starts what runs on the hosts. It takes
 * orders on standard input, one at a time, and answers each on standard output. At the end of its input it ends, and
 * the namespaces that it is the first process of end with it.
 */
public final class Backstage {
    private static final String SWITCH = ".switch";
    private static final Map<String, Integer> SIGNALS = Map.of("KILL", 9, "TERM", 15, "STOP", 19, "CONT", 18);
    private static final int BALLAST_BYTES = 1024 * 1024;

    private final Map<String, Resident> residents = new HashMap<>();
    private final Map<Long, Process> processes = new HashMap<>();
    private Switch joint;

    private Backstage() {}

    public static void main(String[] args) throws IOException {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        Backstage backstage = new Backstage();
        try (BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = orders.readLine(); line != null; line = orders.readLine()) {
                answers.println(Script.line(backstage.answer(Script.read(line, Order.class))));
            }
        }
        // No hook, no waiting for threads: the kernel takes the rest.
        Runtime.getRuntime().halt(0);
    }

    private Answer answer(Order order) {
        try {
            return switch (order.verb()) {
                case Script.BUILD -> build(order.words(), order.number());
                case Script.CONDITIONS -> conditions(order);
                case Script.TRAFFIC -> new Answer(null, 0, "", joint.counts());
                case Script.START -> start(order);
                case Script.SIGNAL -> signal(order.number(), order.words().get(0), false);
                case Script.SIGNAL_ALL -> signal(order.number(), order.words().get(0), true);
                case Script.ALIVE ->
                    Answer.of(processes.containsKey(order.number())
                            && processes.get(order.number()).isAlive());
                case Script.RUN -> Answer.of(run(order.words()));
                case Script.DOOR -> Answer.of(residents.get(order.host()).door((int) order.number()));
                case Script.OUTLET -> outlet(order);
                case Script.ACCEPTS -> Answer.of(residents.get(order.host()).accepts((int) order.number()));
                case Script.FILL -> fill(Path.of(order.path()));
                case Script.GROUP -> group(order);
                default -> Answer.refused("there is no order '" + order.verb() + "'");
            };
        } catch (IOException | RuntimeException e) {
            return Answer.refused(order.verb() + ": " + e.getMessage());
        }
    }

    private Answer build(List<String> hosts, long seed) throws IOException {
        run(List.of("/bin/sh", "-ec", networks(hosts)));
        for (int number = 0; number < hosts.size(); number++) {
            String host = hosts.get(number);
            Resident resident = new Resident(Stage.NAMESPACES + host, host, Stage.address(number));
            resident.call(() -> {
                Linux.withoutOffload("eth0");
                return null;
            });
            residents.put(host, resident);
        }
        Resident atSwitch = new Resident(Stage.NAMESPACES + SWITCH, SWITCH, "");
        joint = atSwitch.call(() -> new Switch(hosts, seed));
        Thread forwarding = new Thread(joint::run, "switch");
        // A stage without a switch is none.
        forwarding.setUncaughtExceptionHandler((thread, e) -> {
            new PrintStream(new FileOutputStream(FileDescriptor.err), true).println("the switch failed: " + e);
            Runtime.getRuntime().halt(1);
        });
        forwarding.setDaemon(true);
        forwarding.start();
        return Answer.done();
    }

    /** Every host knows the hardware address of every other one: nobody has to ask, and no answer gets lost. */
    private static String networks(List<String> hosts) {
        List<String> script = new ArrayList<>(List.of("mkdir -p " + Stage.NAMESPACES));
        script.addAll(newNetwork(SWITCH));
        hosts.forEach(host -> script.addAll(newNetwork(host)));
        StringBuilder cables = new StringBuilder();
        for (int number = 0; number < hosts.size(); number++) {
            String cable = Switch.cable(number);
            cables.append("link add ")
                    .append(cable)
                    .append(" type veth peer name eth0 address ")
                    .append(Switch.hardwareAddress(number))
                    .append(" netns ")
                    .append(Stage.NAMESPACES)
                    .append(hosts.get(number))
                    .append('\n');
            cables.append("link set ").append(cable).append(" addrgenmode none\n");
            cables.append("link set ").append(cable).append(" up\n");
        }
        script.addAll(batch(SWITCH, cables));
        for (int number = 0; number < hosts.size(); number++) {
            StringBuilder host = new StringBuilder("link set lo up\nlink set eth0 addrgenmode none\n");
            host.append("address add ").append(Stage.address(number)).append("/24 dev eth0\nlink set eth0 up\n");
            for (int other = 0; other < hosts.size(); other++) {
                if (other != number) {
                    host.append("neighbour add ")
                            .append(Stage.address(other))
                            .append(" lladdr ")
                            .append(Switch.hardwareAddress(other))
                            .append(" dev eth0 nud permanent\n");
                }
            }
            script.addAll(batch(hosts.get(number), host));
        }
        return String.join("\n", script);
    }

    private static List<String> newNetwork(String name) {
        String file = Stage.NAMESPACES + name;
        return List.of("touch " + file, "unshare --net=" + file + " true");
    }

    private static List<String> batch(String network, CharSequence commands) {
        return List.of("nsenter --net=" + Stage.NAMESPACES + network + " ip -batch - <<'END'", commands + "END");
    }

    private Answer conditions(Order order) {
        joint.conditions(order.rules());
        return Answer.done();
    }

    private Answer start(Order order) throws IOException {
        List<String> command = new ArrayList<>(List.of("nsenter", "--net=" + Stage.NAMESPACES + order.host(), "--"));
        command.addAll(order.words());
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectInput(new File("/dev/null"))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(new File(order.path())));
        // Settings of a broker that the user's shell happens to hold are not meant for every process of this stage.
        builder.environment().keySet().removeIf(name -> name.startsWith("WEIR_") && !name.equals("WEIR_LOG_LEVEL"));
        builder.environment().putAll(order.environment());
        Process process = builder.start();
        processes.put(process.pid(), process);
        return Answer.of(process.pid());
    }

    /** To one that has ended it is nothing: its number may be another's by now. */
    private Answer signal(long number, String name, boolean childrenToo) {
        Process process = processes.get(number);
        if (process == null || SIGNALS.get(name) == null) {
            return Answer.refused("no process " + number + " or no signal " + name);
        }
        // Listed before it is gone, and itself first, so that it has no further ones.
        List<ProcessHandle> all = new ArrayList<>(List.of(process.toHandle()));
        if (childrenToo) {
            process.descendants().forEach(all::add);
        }
        all.forEach(each -> signal(each, SIGNALS.get(name)));
        return Answer.done();
    }

    private static void signal(ProcessHandle process, int signal) {
        if (process.isAlive()) {
            try {
                Linux.kill((int) process.pid(), signal);
            } catch (LastErrorException e) {
                if (process.isAlive()) {
                    throw e;
                }
            }
        }
    }

    private Answer outlet(Order order) {
        Endpoint outside = Endpoint.parse(order.words().get(0));
        residents.get(order.host()).outlet((int) order.number(), new InetSocketAddress(outside.host(), outside.port()));
        return Answer.done();
    }

    private static Answer fill(Path file) throws IOException {
        byte[] ballast = new byte[BALLAST_BYTES];
        try (OutputStream out = Files.newOutputStream(file)) {
            int size = ballast.length;
            while (size > 0) {
                try {
                    out.write(ballast, 0, size);
                } catch (IOException e) {
                    // It may still take less.
                    size /= 2;
                }
            }
        }
        return Answer.done();
    }

    private static Answer group(Order order) throws IOException {
        Files.writeString(Path.of(order.path(), "cgroup.procs"), Long.toString(order.number()));
        return Answer.done();
    }

    private static String run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command)
                .redirectInput(new File("/dev/null"))
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (process.waitFor() != 0) {
                throw new IOException(output.isBlank() ? command + " failed" : output.strip());
            }
            return output;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }
}
