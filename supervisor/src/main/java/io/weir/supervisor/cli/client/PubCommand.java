package io.weir.supervisor.cli.client;

import io.weir.config.Endpoint;
import io.weir.supervisor.cli.BrokerAddresses;
import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code weir pub}: publishes by hand or from a pipe. */
@Command(
        name = "pub",
        mixinStandardHelpOptions = true,
        description = {
            "Publish messages to a topic, and wait until the broker has taken each: a topic at its limit makes this wait.",
            "Without a message on the command line, every line of the standard input that is not empty is one.",
            "Exit code 0 if all were taken, 1 if one was refused or the connection broke."
        },
        footer = {
            "",
            "Examples:",
            "  weir pub orders 'first' 'second'",
            "  tail -f access.log | weir pub requests",
            "  weir pub orders tick --count 100 --rate 10",
            "  weir pub orders hello --tcp b1.example:4150 --tls-ca ca.pem --secret-file secret"
        })
public final class PubCommand implements CliCommand {
    private static final int ANSWER_WITHIN_SECONDS = 60;

    @Spec
    private CommandSpec spec;

    @Mixin
    private BrokerAddresses brokers;

    @Mixin
    private ClientAccess access;

    @Parameters(index = "0", paramLabel = "TOPIC", description = "Where to publish.")
    private String topic;

    @Parameters(index = "1..*", paramLabel = "MESSAGE", description = "What to publish.")
    private List<String> messages = List.of();

    @Option(
            names = "--rate",
            description = "Messages a second at the most (default: as fast as the broker takes them).")
    private Double rate;

    @Option(
            names = "--count",
            description = "Messages in all: those of the command line are repeated, the standard input is cut off.")
    private Long count;

    private long taken;
    private long refused;

    /** Null after the last one. */
    private interface Source {
        String next() throws IOException;
    }

    @Override
    public Integer call() throws InterruptedException {
        if (rate != null && !(rate > 0)) {
            throw CliException.usage("--rate must be above 0");
        }
        if (count != null && count < 0) {
            throw CliException.usage("--count must be 0 or more");
        }
        if (messages.contains("")) {
            throw CliException.usage("a message can't be empty");
        }
        try (NsqConnection connection = connect(brokers.endpoints())) {
            publishAll(connection);
        } catch (IOException e) {
            tell("weir: the connection broke: " + reason(e));
            refused++;
        }
        tell(taken + (taken == 1 ? " message" : " messages") + " taken"
                + (refused == 0 ? "" : ", " + refused + " not"));
        return refused == 0 ? ExitCode.OK : ExitCode.FAILED;
    }

    private static String reason(IOException e) {
        return e.getMessage() == null ? "the broker closed it" : e.getMessage();
    }

    private NsqConnection connect(List<Endpoint> endpoints) {
        access.read();
        IOException last = null;
        for (Endpoint endpoint : endpoints) {
            try {
                return access.open(endpoint);
            } catch (NsqConnection.Refusal e) {
                throw new CliException(ExitCode.FAILED, endpoint + " refused: " + e.getMessage());
            } catch (IOException e) {
                last = e;
            }
        }
        throw CliException.unavailable("no broker takes messages at " + last.getMessage());
    }

    /** A thread of its own reads, so that heartbeats are answered while the standard input has nothing. */
    private void publishAll(NsqConnection connection) throws IOException, InterruptedException {
        // One publish waits for its answer at a time; the reader's last word must fit in too.
        BlockingQueue<Object> answers = new ArrayBlockingQueue<>(2);
        Thread reader = new Thread(() -> readAll(connection, answers), "weir-pub-reader");
        reader.setDaemon(true);
        reader.start();
        Source source = source();
        long startNs = System.nanoTime();
        for (long sent = 0; count == null || sent < count; sent++) {
            String message = source.next();
            if (message == null) {
                return;
            }
            if (rate != null) {
                TimeUnit.NANOSECONDS.sleep(startNs + (long) (sent * 1e9 / rate) - System.nanoTime());
            }
            connection.publish(topic, message.getBytes(StandardCharsets.UTF_8));
            Object answer = answers.poll(ANSWER_WITHIN_SECONDS, TimeUnit.SECONDS);
            if (answer == null) {
                throw new IOException("no answer within " + ANSWER_WITHIN_SECONDS + " s");
            }
            if (answer instanceof IOException broken) {
                throw broken;
            }
            if (answer instanceof NsqConnection.Frame.Failure failure) {
                refused++;
                tell("weir: message " + (sent + 1) + " was refused: " + failure.text());
            } else {
                taken++;
            }
        }
    }

    private static void readAll(NsqConnection connection, BlockingQueue<Object> answers) {
        try {
            try {
                while (true) {
                    answers.put(connection.read());
                }
            } catch (IOException e) {
                answers.put(e);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Source source() {
        if (messages.isEmpty()) {
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            // An empty line is no message: NSQ has none without a body.
            return () -> {
                String line = lines.readLine();
                while (line != null && line.isEmpty()) {
                    line = lines.readLine();
                }
                return line;
            };
        }
        long all = count == null ? messages.size() : count;
        long[] next = {0};
        return () -> next[0] == all ? null : messages.get((int) (next[0]++ % messages.size()));
    }

    private void tell(String line) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(line);
        err.flush();
    }
}
