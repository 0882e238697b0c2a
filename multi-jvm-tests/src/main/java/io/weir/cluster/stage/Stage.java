package io.weir.cluster.stage;

import io.weir.cluster.stage.Script.Answer;
import io.weir.cluster.stage.Script.Order;
import io.weir.config.Endpoint;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Real networks on one machine: each host is a network namespace whose only way out is a cable (veth), and all cables
 * end at a switch that forwards, cuts, delays, loses, duplicates and reorders, as {@link Network} says.
 *
 * <pre>
 *   host b1 ── cable ──┐
 *   host b2 ── cable ──┤ switch          (no address, no route, no broadcast: a frame passes it or stays)
 *   host store ─ cable ┘
 *   this process ═ door ═ b1            (a relay that opens its connection inside of b1: no cut concerns it)
 * </pre>
 *
 * Switch, cables, hosts and all that runs on them live in a process of their own, the {@link Backstage}, which is the
 * first one of a process namespace and has a mount namespace: when it ends, the kernel ends all processes and takes
 * away all networks and mounts. It ends when this is closed, and when this process ends, in whatever way, because then
 * its standard input does.
 *
 * <p>Needs Linux, iproute2 and util-linux, and either root or user namespaces.
 */
public final class Stage implements AutoCloseable {
    static final String NAMESPACES = "/dev/shm/net/";
    private static final String SUBNET = "10.213.0.";
    private static final int MOST_HOSTS = 100;
    private static final long ANSWER_WITHIN_S = 30;
    private static final long END_WITHIN_S = 15;
    private static final List<String> DIRECTORIES = List.of("/usr/sbin", "/sbin", "/usr/bin", "/bin");
    private static final List<String> NEEDED = List.of("ip", "unshare", "nsenter", "setpriv", "mount");
    /**
     * Shared memory and process table of its own; the first cannot be done without, the second is only for whoever
     * looks.
     */
    private static final String PRIVATE_MOUNTS =
            "mount -t tmpfs tmpfs /dev/shm || exit 3; mount -t proc proc /proc 2>/dev/null; ";

    private static final String PROBE = PRIVATE_MOUNTS
            + "mkdir /dev/shm/net && touch /dev/shm/net/probe && unshare --net=/dev/shm/net/probe true"
            + " && nsenter --net=/dev/shm/net/probe ip link add probe type veth peer name other";

    /** What lets us make namespaces: root does by itself, others by being root of a user namespace. */
    private enum Rights {
        ROOT(List.of(), List.of()),
        USER_NAMESPACE(List.of("--user", "--map-root-user"), List.of("--user", "--preserve-credentials"));

        private final List<String> toUnshare;
        private final List<String> toEnter;

        Rights(List<String> toUnshare, List<String> toEnter) {
            this.toUnshare = toUnshare;
            this.toEnter = toEnter;
        }

        List<String> unshare(List<String> command) {
            List<String> all = new ArrayList<>(List.of(tool("unshare")));
            all.addAll(toUnshare);
            all.addAll(List.of("--mount", "--pid", "--fork", "--kill-child", "--"));
            all.addAll(command);
            return all;
        }
    }

    private final List<String> hosts;
    private final Rights rights;
    private final Process process;
    private final Writer orders;
    private final BlockingQueue<Optional<String>> answers = new LinkedBlockingQueue<>();
    private final StringBuffer complaints = new StringBuffer();
    private final Optional<CpuGroup> cpuGroup;
    private final String cpuObstacle;
    private final Network network;
    private final Thread lastCare = new Thread(this::dismantle, "stage-dismantle");
    private long firstProcess;

    private Stage(List<String> hosts, Rights rights) {
        this.hosts = List.copyOf(hosts);
        this.rights = rights;
        network = new Network(hosts, this::ask);
        CpuGroup group = null;
        String obstacle = null;
        try {
            group = CpuGroup.create("weir-stage-" + ProcessHandle.current().pid() + "-"
                    + ThreadLocalRandom.current().nextInt(1_000_000));
        } catch (IOException e) {
            obstacle = e.getMessage();
        }
        cpuGroup = Optional.ofNullable(group);
        cpuObstacle = obstacle;
        try {
            process = new ProcessBuilder(chain()).start();
        } catch (IOException e) {
            cpuGroup.ifPresent(CpuGroup::delete);
            throw new UncheckedIOException(e);
        }
        orders = process.outputWriter(StandardCharsets.UTF_8);
        listen(process.getInputStream(), "stage-answers", line -> answers.add(Optional.of(line)));
        listen(process.getErrorStream(), "stage-complaints", line -> {
            if (complaints.length() < 4_000) {
                complaints.append(line).append('\n');
            }
        });
    }

    /** Why no stage can be built on this machine and what to do about it; empty if one can. */
    public static Optional<String> obstacle() {
        try {
            rights();
            return Optional.empty();
        } catch (IllegalStateException e) {
            return Optional.of(e.getMessage());
        }
    }

    private static Rights rights() {
        if (!System.getProperty("os.name").equals("Linux")) {
            throw new IllegalStateException("networks can be cut on Linux only");
        }
        for (String needed : NEEDED) {
            if (find(needed).isEmpty()) {
                throw new IllegalStateException("no network can be cut here: the command '" + needed
                        + "' is missing; install iproute2 and util-linux");
            }
        }
        List<String> refusals = new ArrayList<>();
        for (Rights each : Rights.values()) {
            try {
                output(each.unshare(List.of("/bin/sh", "-c", PROBE)));
                return each;
            } catch (IllegalStateException e) {
                refusals.add(e.getMessage());
            }
        }
        throw new IllegalStateException(
                "no network can be cut here: this user may make namespaces neither directly (" + refusals.get(0)
                        + ") nor in a user namespace (" + refusals.get(1)
                        + "); run as root, in a container with --privileged, or allow user namespaces"
                        + " (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1,"
                        + " kernel.apparmor_restrict_unprivileged_userns=0)");
    }

    public static Stage of(List<String> hosts) {
        return of(hosts, ThreadLocalRandom.current().nextLong());
    }

    /** @param seed of which frames are lost, duplicated, held back, and for how long */
    public static Stage of(List<String> hosts, long seed) {
        if (hosts.isEmpty() || hosts.size() > MOST_HOSTS || new HashSet<>(hosts).size() < hosts.size()) {
            throw new IllegalArgumentException("1 to " + MOST_HOSTS + " hosts of different names, not " + hosts);
        }
        hosts.stream().filter(host -> !host.matches("[a-z][a-z0-9-]{0,30}")).forEach(host -> {
            throw new IllegalArgumentException("a host's name is of small letters, digits and '-', not " + host);
        });
        Stage stage = new Stage(hosts, rights());
        Runtime.getRuntime().addShutdownHook(stage.lastCare);
        try {
            stage.ask(Order.of(Script.BUILD).with(stage.hosts).number(seed));
            stage.firstProcess = stage.findFirstProcess();
            return stage;
        } catch (RuntimeException e) {
            stage.close();
            throw e;
        }
    }

    /**
     * The processes between this one and the backstage: a shell that removes what the kernel does not, which waits for
     * the one that makes the namespaces, which waits for the first process inside, which waits for the backstage and
     * takes care of orphans. None heeds Ctrl-C. What is ignored here is ignored by all that is started, so SIGTERM,
     * which ends a broker in good order, is caught instead. A group that still has dying processes can't be removed
     * yet, hence the tries.
     */
    private List<String> chain() {
        List<String> java = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        java.addAll(List.of("-XX:+UseSerialGC", "-Xms16m", "-Xmx256m", "-Xss256k", "-XX:-UsePerfData", "-Xshare:auto"));
        // It unpacks a library, and where should it be when the process is gone?
        java.addAll(List.of("-Djna.tmpdir=/dev/shm", "-Djna.nosys=true"));
        if (Runtime.version().feature() >= 24) {
            java.add("--enable-native-access=ALL-UNNAMED");
        }
        java.addAll(List.of("-cp", System.getProperty("java.class.path"), Backstage.class.getName()));
        List<String> first =
                new ArrayList<>(List.of("/bin/sh", "-c", PRIVATE_MOUNTS + "\"$@\"; exit $?", "weir-stage"));
        first.addAll(java);
        List<String> all = new ArrayList<>(List.of(
                "/bin/sh",
                "-c",
                "trap '' INT HUP; trap : TERM; group=$1; shift; \"$@\"; code=$?;"
                        + " tries=0; while [ -d \"$group\" ] && [ $tries -lt 100 ]; do tries=$((tries + 1));"
                        + " rmdir \"$group\"/*/ \"$group\" 2>/dev/null || sleep 0.1; done; exit $code",
                "weir-stage",
                cpuGroup.map(group -> group.directory().toString()).orElse("")));
        all.addAll(rights.unshare(first));
        return all;
    }

    private void listen(InputStream in, String name, Consumer<String> heard) {
        Thread thread = new Thread(
                () -> {
                    try (BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
                        lines.lines().forEach(heard);
                    } catch (IOException | UncheckedIOException e) {
                        // It was closed here; whoever waits for an answer is woken below.
                        return;
                    } finally {
                        answers.add(Optional.empty());
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
    }

    private long findFirstProcess() {
        return process.children()
                .flatMap(ProcessHandle::children)
                .map(ProcessHandle::pid)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("the stage has ended: " + complaints));
    }

    /** One at a time: the next answer is this order's. */
    private synchronized Answer ask(Order order) {
        try {
            if (!process.isAlive()) {
                throw new IllegalStateException(
                        "the stage has ended: " + complaints.toString().strip());
            }
            orders.write(Script.line(order) + "\n");
            orders.flush();
            Optional<String> line = Optional.ofNullable(answers.poll(ANSWER_WITHIN_S, TimeUnit.SECONDS))
                    .orElseThrow(() -> new IllegalStateException(
                            "the stage did not answer within " + ANSWER_WITHIN_S + " s: " + order.verb()));
            Answer answer = Script.read(
                    line.orElseThrow(() -> new IllegalStateException(
                            "the stage has ended: " + complaints.toString().strip())),
                    Answer.class);
            if (answer.problem() != null) {
                throw new IllegalStateException(answer.problem());
            }
            return answer;
        } catch (IOException e) {
            throw new IllegalStateException(
                    "the stage has ended: " + complaints.toString().strip(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Whether it still stands; it ends when its backstage fails, and everything on it with it. */
    public boolean isAlive() {
        return process.isAlive();
    }

    public List<String> hosts() {
        return hosts;
    }

    public String address(String host) {
        return address(number(host));
    }

    /** Its last number is also that of the cable and of the interface's address. */
    static String address(int number) {
        return SUBNET + (number + 1);
    }

    private int number(String host) {
        int number = hosts.indexOf(host);
        if (number < 0) {
            throw new IllegalArgumentException("no host is called " + host + ": there are " + hosts);
        }
        return number;
    }

    public Network network() {
        return network;
    }

    /**
     * The command, run where only this host's network is. What it names must be absolute paths. It dies with the
     * process that this starts, which does not hand on signals; {@link #start} is for who needs them.
     */
    public List<String> inside(String host, List<String> command) {
        number(host);
        List<String> all = new ArrayList<>(List.of(tool("nsenter"), "--target", Long.toString(firstProcess)));
        all.addAll(rights.toEnter);
        all.addAll(List.of("--mount", "--pid", "--"));
        all.addAll(List.of(tool("nsenter"), "--net=" + NAMESPACES + host, "--"));
        all.addAll(List.of(tool("setpriv"), "--pdeathsig", "KILL", "--"));
        all.addAll(command);
        return all;
    }

    /**
     * Starts a process on a host; what it prints is appended to {@code log}. Weir's variables are as
     * {@code environment} says, the rest as here.
     */
    public StagedProcess start(String host, List<String> command, Map<String, String> environment, Path log) {
        number(host);
        Answer answer = ask(Order.of(Script.START)
                .at(host)
                .with(command)
                .with(environment)
                .to(log.toAbsolutePath().toString()));
        return new StagedProcess(host + ": " + String.join(" ", command), answer.number(), this::ask);
    }

    /** Runs a command on the stage, outside of every host's network, to its end; its output. */
    String run(List<String> command) {
        return ask(Order.of(Script.RUN).with(command)).text();
    }

    /** The files in shared memory that a process has mapped. */
    public List<String> sharedMemoryOf(StagedProcess of) {
        return run(List.of("cat", "/proc/" + of.number() + "/maps"))
                .lines()
                .filter(line -> line.contains(" /dev/shm/"))
                .map(line -> line.substring(line.indexOf("/dev/shm/")))
                .distinct()
                .toList();
    }

    /** Writes a file on the stage until its disk is full. */
    void fill(Path file) {
        ask(Order.of(Script.FILL).to(file.toString()));
    }

    /**
     * Where this process reaches a port on a host, whatever happens to the network: a relay that opens its connection
     * inside of the host. For the one who breaks and watches; nobody on the stage can use it.
     */
    public Endpoint door(String host, int port) {
        number(host);
        return new Endpoint("127.0.0.1", (int)
                ask(Order.of(Script.DOOR).at(host).number(port)).number());
    }

    /**
     * Gives a server outside a place on the stage: who connects to that port of the host reaches it, as the network
     * lets them.
     */
    public void outlet(String host, int port, Endpoint outside) {
        number(host);
        ask(Order.of(Script.OUTLET).at(host).number(port).with(List.of(outside.toString())));
    }

    /** Whether somebody listens on a port of a host. */
    public boolean accepts(String host, int port) {
        number(host);
        return ask(Order.of(Script.ACCEPTS).at(host).number(port)).number() == 1;
    }

    /** Why the CPU time of processes can't be limited here; empty if it can. */
    public Optional<String> cpuObstacle() {
        return Optional.ofNullable(cpuObstacle);
    }

    Optional<Path> cpuGroupDirectory() {
        return cpuGroup.map(CpuGroup::directory);
    }

    /** Limits a process to so many hundredths of one core. */
    public void cpuQuota(StagedProcess limited, int percent) {
        CpuGroup group = cpuGroup.orElseThrow(() -> new IllegalStateException(cpuObstacle));
        Path own = group.quota(Long.toString(limited.number()), percent);
        ask(Order.of(Script.GROUP).number(limited.number()).to(own.toString()));
    }

    /** It may use all cores again. */
    public void noCpuQuota(StagedProcess limited) {
        cpuGroup.orElseThrow(() -> new IllegalStateException(cpuObstacle)).noQuota(Long.toString(limited.number()));
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

    private void dismantle() {
        try {
            // At the end of its orders it ends, and everything with it.
            orders.close();
        } catch (IOException e) {
            complaints.append(e.getMessage());
        }
        try {
            if (!process.waitFor(END_WITHIN_S, TimeUnit.SECONDS)) {
                // The one that makes the namespaces takes its child along.
                process.children().forEach(ProcessHandle::destroyForcibly);
                process.waitFor(END_WITHIN_S, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String tool(String name) {
        return find(name).orElseThrow(() -> new IllegalStateException("the command '" + name + "' is missing"));
    }

    private static Optional<String> find(String name) {
        return DIRECTORIES.stream()
                .map(directory -> Path.of(directory, name))
                .filter(Files::isExecutable)
                .map(Path::toString)
                .findFirst();
    }

    private static void output(List<String> command) {
        try {
            Process started =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(started.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (started.waitFor() != 0) {
                try (Stream<String> lines = output.strip().lines()) {
                    throw new IllegalStateException(lines.findFirst().orElse("it said nothing"));
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    static void await(String what, Duration within, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + within.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new IllegalStateException("not within " + within.toSeconds() + " s: " + what);
            }
            try {
                TimeUnit.MILLISECONDS.sleep(25);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
        }
    }
}
