package io.weir.cluster.bench;

import com.sun.management.UnixOperatingSystemMXBean;
import io.weir.cluster.bench.wire.MqttWire;
import io.weir.cluster.bench.wire.NatsWire;
import io.weir.cluster.bench.wire.NsqWire;
import io.weir.cluster.bench.wire.WireException;
import io.weir.cluster.bench.wire.WireProtocol;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ClusterOption;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import io.weir.supervisor.cli.client.ClientSecret;
import io.weir.supervisor.local.ClusterStatus;
import io.weir.supervisor.local.Installation;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.regex.Pattern;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * What the bench commands have in common, as a picocli mixin: who is measured, against whom, for how long, and how the
 * result is printed.
 */
public final class BenchRun {
    private static final Duration DRAIN = Duration.ofSeconds(10);
    /** Before each round of a comparison, on connections that are new; the long warm-up comes once for each target. */
    private static final Duration ROUND_WARM_UP = Duration.ofSeconds(1);

    private static final long MAX_BUFFERED = 256L << 20;
    /** Libraries, the terminal, a relay's pipes. */
    private static final int SPARE_DESCRIPTORS = 50;

    private static final Pattern NAME = Pattern.compile("[.a-zA-Z0-9_-]{1,64}(#ephemeral)?");

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Mixin
    private ClusterOption cluster;

    @Mixin
    private Output output;

    @Mixin
    private ClientSecret secret;

    @Option(
            names = "--tcp",
            paramLabel = "HOST:PORT",
            description =
                    "Where to publish; more than once: connections go round (default: the cluster's first broker).")
    private List<String> tcp = List.of();

    @Option(
            names = "--consume-from",
            paramLabel = "HOST:PORT",
            description = "Where to consume (default: the first place to publish).")
    private String consumeFrom;

    @Option(
            names = "--subject",
            paramLabel = "PEER",
            description = "Measure this instead of a Weir broker: what --against takes.")
    private String subject;

    @Option(
            names = "--against",
            paramLabel = "PEER",
            split = ",",
            description = {
                "Measure this too, round by round in turn: relay, nsqd, nats or mosquitto, each with @HOST:PORT if it is not on this"
                        + " machine's usual port. More than once for several.",
                "relay is a forwarder of our own that does nothing else: the machine's floor. It is started and ended here.",
                "Mosquitto drops messages unless its max_queued_messages is 0."
            })
    private List<String> against = List.of();

    @Option(names = "--rounds", defaultValue = "7", description = "Rounds of a comparison (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--pid",
            paramLabel = "NAME=PID",
            description = "The process of a target on this machine, for its CPU: --pid nats=1234.")
    private Map<String, Long> pids = Map.of();

    @Option(names = "--size", defaultValue = "100", description = "Bytes of a message (default: ${DEFAULT-VALUE}).")
    private int size;

    @Option(names = "--topic", defaultValue = "bench", description = "Topic (default: ${DEFAULT-VALUE}).")
    private String topic;

    @Option(names = "--channel", defaultValue = "bench", description = "Channel (default: ${DEFAULT-VALUE}).")
    private String channel;

    @Option(
            names = "--consumers",
            defaultValue = "1",
            description = "Connections that consume, all in one channel (default: ${DEFAULT-VALUE}).")
    private int consumers;

    @Option(
            names = "--rdy",
            defaultValue = "2500",
            description = "Messages that a consumer takes unacknowledged (default: ${DEFAULT-VALUE}).")
    private int rdy;

    @Option(
            names = "--pause",
            defaultValue = "park",
            description =
                    "What the generator does when it has nothing to do: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE})."
                            + " yield looks again at once and takes an idle core; park sleeps some tens of microseconds.")
    private Load.Pause pause;

    public static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw CliException.usage(otherwise);
        }
    }

    /** Runs {@code shape} as the options say, and prints what came out. */
    int run(Load.Shape shape, int connections, Duration warmUp, Duration measured) {
        Load load = load(shape, connections, warmUp, measured);
        return on(targets -> targets.size() == 1 ? alone(targets.get(0), load) : inTurn(targets, load));
    }

    /** Queues messages at one target and takes them out again. */
    int queue(Load.Shape.Queued shape, int connections) {
        require(against.isEmpty(), "what queued messages cost is measured on one target at a time: no --against");
        Load load = load(shape, connections, Duration.ZERO, Duration.ZERO);
        return on(targets -> queue(targets.get(0), shape, load));
    }

    private Load load(Load.Shape shape, int connections, Duration warmUp, Duration measured) {
        require(connections >= 1 && connections <= 10_000, "--connections must be within 1 and 10000");
        require(consumers >= 1 && consumers <= 1_000, "--consumers must be within 1 and 1000");
        require(
                size >= Load.MIN_BODY_BYTES && size <= Load.MAX_BODY_BYTES,
                "--size must be within " + Load.MIN_BODY_BYTES + " (a stamp) and " + Load.MAX_BODY_BYTES);
        require(
                (long) connections * shape.batch().messages() * size <= MAX_BUFFERED,
                "--connections times --batch times --size is more than " + (MAX_BUFFERED >> 20)
                        + " MiB, which all have to have room here at once");
        require(rdy >= 1, "--rdy must be 1 or more");
        require(rounds >= 1 && rounds <= 1_000, "--rounds must be within 1 and 1000");
        require(NAME.matcher(topic).matches(), "--topic: '" + topic + "' is not a topic's name");
        require(NAME.matcher(channel).matches(), "--channel: '" + channel + "' is not a channel's name");
        requireDescriptors(connections + consumers);
        return new Load(shape, connections, consumers, size, topic, channel, rdy, warmUp, measured, DRAIN, pause);
    }

    /** A run that ends half-way through its connections, with an error of the system's, would not say why. */
    public static void requireDescriptors(int connections) {
        if (ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system) {
            long most = system.getMaxFileDescriptorCount();
            long needed = connections + system.getOpenFileDescriptorCount() + SPARE_DESCRIPTORS;
            require(
                    most < 0 || needed <= most,
                    connections + " connections need " + needed + " file descriptors and this process may have " + most
                            + ": raise its limit, 'ulimit -n' (and 'ulimit -Hn'), here and where the broker is started");
        }
    }

    /** What is done with the targets. */
    private interface Measurement {
        int on(List<Target> targets) throws IOException;
    }

    private int on(Measurement measurement) {
        List<RelayProcess> relays = new ArrayList<>();
        try {
            List<Target> targets = new ArrayList<>();
            targets.add(subject == null ? broker() : peer(subject, relays));
            for (String name : against) {
                targets.add(peer(name, relays));
            }
            require(
                    targets.stream().map(Target::name).distinct().count() == targets.size(),
                    "each target can be given once");
            for (Target target : targets) {
                require(
                        consumers == 1 || target.wire().shares(),
                        "consumers of " + target.name() + " cannot divide messages among themselves: no --consumers");
            }
            return measurement.on(targets);
        } catch (WireException e) {
            throw CliException.unavailable(e.getMessage());
        } catch (IOException e) {
            throw CliException.unavailable("the load could not be run: " + e.getMessage());
        } finally {
            for (RelayProcess relay : relays) {
                try {
                    relay.close();
                } catch (IOException e) {
                    err().println("weir: the relay left a log file behind: " + e.getMessage());
                }
            }
        }
    }

    private int queue(Target target, Load.Shape.Queued shape, Load load) throws IOException {
        try (Generator generator = Generator.connect(target, load)) {
            List<OptionalDouble> resident = new ArrayList<>();
            resident.add(Expense.Sample.sum(target.expenses()).residentBytes());
            long startNs = System.nanoTime();
            long[] queued = new long[1];
            generator.run(() -> {
                queued[0] = generator.acknowledged();
                tell(target.name() + ": " + queued[0] + " messages are queued after "
                        + (System.nanoTime() - startNs) / 1_000_000 + " ms");
                resident.add(Expense.Sample.sum(target.expenses()).residentBytes());
            });
            Result result = generator.result(Result.Broker.UNKNOWN);
            Result.Course memoryMiB = resident.size() < 2 ? null : Result.Course.ofMiB(resident);
            double grownBytes = memoryMiB == null ? 0 : (memoryMiB.end() - memoryMiB.start()) * (1 << 20);
            QueuedCommand.Outcome outcome = new QueuedCommand.Outcome(
                    queued[0],
                    result.refused(),
                    size,
                    memoryMiB,
                    memoryMiB == null ? null : (Double) (double) Math.round(grownBytes / Math.max(1, queued[0])),
                    result.received(),
                    Math.round((System.nanoTime() - startNs) / 1e8) / 10.0);
            if (output.json()) {
                output.printJson(outcome);
            } else {
                output.printf(
                        "%s: %,d messages of %d bytes queued, %,d came out again, in %.1f s%n",
                        target.name(), outcome.queued(), size, outcome.received(), outcome.seconds());
                output.printf(
                        "broker: resident %s%n",
                        memoryMiB == null
                                ? "unknown"
                                : String.format(
                                        "%.0f MiB before, %.0f MiB with them: %.0f bytes a message",
                                        memoryMiB.start(), memoryMiB.end(), outcome.bytesPerMessage()));
            }
            int exit = verdict(target.name(), List.of(result));
            if (queued[0] < shape.messages()) {
                tell("weir: " + target.name() + ": it held back " + (shape.messages() - queued[0])
                        + " messages (its queue has a bound, and may hold some of an earlier run: another --topic?)");
                return ExitCode.FAILED;
            }
            return exit;
        }
    }

    private int alone(Target target, Load load) throws IOException {
        Result result = Trial.run(target, load, this::tell);
        if (output.json()) {
            output.printJson(result);
        } else {
            print(target, result);
        }
        return verdict(target.name(), List.of(result));
    }

    private int inTurn(List<Target> targets, Load load) throws IOException {
        for (Target target : targets) {
            tell("warm-up of " + target.name());
            Trial.run(target, load.lasting(Duration.ZERO, load.warmUp()), line -> {});
        }
        Comparison comparison = new Comparison();
        for (int round = 1; round <= rounds; round++) {
            for (Target target : targets) {
                String prefix = "round " + round + " of " + rounds + ": ";
                Result result =
                        Trial.run(target, load.lasting(ROUND_WARM_UP, load.measured()), line -> tell(prefix + line));
                comparison.add(target.name(), result);
                tell(String.format(
                        "%s%s: p50 %,.0f us, p95 %,.0f us, %,.0f msg/s",
                        prefix, target.name(), result.p50Micros(), result.p95Micros(), result.messagesPerSecond()));
            }
        }
        if (output.json()) {
            output.printJson(comparison.toJson());
        } else {
            comparison.toText().forEach(output::println);
        }
        int exit = ExitCode.OK;
        for (String target : comparison.targets()) {
            exit = Math.max(exit, verdict(target, comparison.results(target)));
        }
        return exit;
    }

    private void print(Target target, Result result) {
        output.printf(
                "%s: %,d sent, %,d received in %.1f s: %,.0f msg/s%n",
                target.name(), result.sent(), result.received(), result.seconds(), result.messagesPerSecond());
        output.printf(
                "latency from the intended time, us: p50 %,.0f  p95 %,.0f  p99 %,.0f  p99.9 %,.0f  max %,.0f%n",
                result.p50Micros(), result.p95Micros(), result.p99Micros(), result.p999Micros(), result.maxMicros());
        output.printf(
                "broker: CPU %s; a message takes %s of it, %s on the data path, and allocates %s%n",
                text(result.brokerCpuPercent(), "% of a core"),
                text(result.brokerCpuNanosPerMessage(), " ns"),
                text(result.dataPathNanosPerMessage(), " ns"),
                text(result.allocatedBytesPerMessage(), " B"));
        output.printf(
                "memory: resident %s; live heap %s%n", text(result.brokerMemoryMiB()), text(result.brokerHeapMiB()));
    }

    private static String text(Double quantity, String unit) {
        return quantity == null ? "unknown" : String.format("%,.1f%s", quantity, unit);
    }

    private static String text(Result.Course course) {
        return course == null ? "unknown" : course.toString();
    }

    /** Says what spoils a result; percentiles of what arrived say nothing about what did not. */
    private int verdict(String target, List<Result> results) {
        long missing = results.stream().mapToLong(Result::missing).sum();
        long unsent = results.stream().mapToLong(Result::unsent).sum();
        long refused = results.stream().mapToLong(Result::refused).sum();
        long redelivered = results.stream().mapToLong(Result::redelivered).sum();
        if (missing > 0) {
            tell("weir: " + target + ": " + missing + " messages did not arrive within " + DRAIN.toSeconds()
                    + " s after the end; the percentiles are of the others (a limit below the rate? a full queue?)");
        }
        if (unsent > 0) {
            tell("weir: " + target + ": " + unsent
                    + " messages were due and could not be sent: the broker took no more");
        }
        if (refused > 0) {
            tell("weir: " + target + ": " + refused + " messages were refused");
        }
        if (redelivered > 0) {
            tell("weir: " + target + ": " + redelivered + " messages came again and were not counted");
        }
        return missing > 0 || unsent > 0 || refused > 0 ? ExitCode.FAILED : ExitCode.OK;
    }

    private PrintWriter err() {
        return command.commandLine().getErr();
    }

    private void tell(String line) {
        err().println(line);
        err().flush();
    }

    private Target broker() {
        List<ClusterStatus.Expected> known = tcp.isEmpty() ? cluster.expectedBrokers() : List.of();
        List<Endpoint> publishTo = tcp.isEmpty()
                ? List.of(Endpoint.parse(known.get(0).tcp()))
                : tcp.stream().map(text -> endpoint("--tcp", text)).toList();
        Endpoint from = consumeFrom == null ? publishTo.get(0) : endpoint("--consume-from", consumeFrom);
        Set<Endpoint> all = new LinkedHashSet<>(publishTo);
        all.add(from);
        List<Expense> expenses = pids.containsKey("weir")
                ? List.of(new Expense.OfProcess(pids.get("weir")))
                : all.stream()
                        .<Expense>map(each -> new Expense.OfBroker(http(each, known)))
                        .toList();
        return new Target("weir", new NsqWire(secret.read()), publishTo, from, expenses);
    }

    /** As the cluster says; otherwise the port above, where both Weir and nsqd put it unless told otherwise. */
    private static Endpoint http(Endpoint tcp, List<ClusterStatus.Expected> known) {
        return known.stream()
                .filter(broker -> broker.tcp().equals(tcp.toString()))
                .findFirst()
                .map(broker -> Endpoint.parse(broker.http()))
                .orElse(new Endpoint(tcp.host(), Math.min(tcp.port() + 1, 65_535)));
    }

    private Target peer(String text, List<RelayProcess> relays) throws IOException {
        int at = text.indexOf('@');
        String name = at < 0 ? text : text.substring(0, at);
        Optional<String> where = at < 0 ? Optional.empty() : Optional.of(text.substring(at + 1));
        return switch (name) {
            case "relay" -> {
                require(where.isEmpty(), "the relay is started here: no address");
                RelayProcess relay = RelayProcess.start(Installation.ofThisProcess());
                relays.add(relay);
                yield relay.target();
            }
            case "nsqd" -> peer(name, new NsqWire(), where.orElse("127.0.0.1:4150"));
            case "nats" -> peer(name, new NatsWire(), where.orElse("127.0.0.1:4222"));
            case "mosquitto" -> peer(name, new MqttWire(), where.orElse("127.0.0.1:1883"));
            default ->
                throw CliException.usage(
                        "'" + name + "' is no peer: relay, nsqd, nats or mosquitto, with @HOST:PORT or without");
        };
    }

    private Target peer(String name, WireProtocol wire, String where) {
        Endpoint endpoint = endpoint(name, where);
        List<Expense> expenses = Optional.ofNullable(pids.get(name)).<Expense>map(Expense.OfProcess::new).stream()
                .toList();
        return new Target(name, wire, List.of(endpoint), endpoint, expenses);
    }

    private static Endpoint endpoint(String option, String text) {
        try {
            return Endpoint.parse(text);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(option + ": " + e.getMessage());
        }
    }
}
