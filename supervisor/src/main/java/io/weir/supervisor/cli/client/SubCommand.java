package io.weir.supervisor.cli.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.BrokerAddresses;
import io.weir.supervisor.cli.CliCommand;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.cli.ExitCode;
import io.weir.supervisor.cli.Output;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code weir sub}: consumes to the terminal or into a pipe. */
@Command(
        name = "sub",
        mixinStandardHelpOptions = true,
        description = {
            "Print a channel's messages, a line each, and acknowledge each once it is printed.",
            "A connection that breaks is opened again; Ctrl-C ends in good order. With -o json a line is an object with id, attempts,"
                    + " timestampNs and body (bodyBase64 where it is not text)."
        },
        footer = {"", "Examples:", "  weir sub orders audit", "  weir sub orders audit --count 10 -o json | jq -r .body"
        })
public final class SubCommand implements CliCommand {
    private static final int CREDIT = 200;
    private static final long FIRST_PAUSE_MS = 200;
    private static final long LONGEST_PAUSE_MS = 5_000;
    private static final int CLOSE_WITHIN_MS = 2_000;
    private static final ObjectMapper JSON = new ObjectMapper();

    @Spec
    private CommandSpec spec;

    @Mixin
    private BrokerAddresses brokers;

    @Mixin
    private ClientAccess access;

    @Mixin
    private Output output;

    @Parameters(index = "0", paramLabel = "TOPIC", description = "What to consume.")
    private String topic;

    @Parameters(index = "1", paramLabel = "CHANNEL", description = "Whose copy of it.")
    private String channel;

    @Option(names = "--count", description = "End after so many messages (default: go on).")
    private Long count;

    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean stopping;
    private volatile NsqConnection current;
    private long left;
    private long pauseMs;

    @Override
    public Integer call() throws InterruptedException {
        if (count != null && count < 1) {
            throw CliException.usage("--count must be 1 or more");
        }
        left = count == null ? Long.MAX_VALUE : count;
        List<Endpoint> endpoints = brokers.endpoints();
        access.read();
        Thread hook = new Thread(this::stop, "weir-sub-stop");
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            pauseMs = FIRST_PAUSE_MS;
            for (int turn = 0; left > 0 && !stopping; turn++) {
                consume(endpoints.get(turn % endpoints.size()));
            }
            return ExitCode.OK;
        } finally {
            ended.countDown();
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException e) {
                // The process is ending already, and the hook is at work.
            }
        }
    }

    private void consume(Endpoint endpoint) throws InterruptedException {
        try (NsqConnection connection = access.open(endpoint)) {
            connection.write("SUB " + topic + " " + channel + "\n");
            connection.expectResponse();
            connection.write("RDY " + credit() + "\n");
            current = connection;
            pauseMs = FIRST_PAUSE_MS;
            printAll(connection);
        } catch (NsqConnection.Refusal e) {
            throw new CliException(ExitCode.FAILED, "the broker refused: " + e.getMessage());
        } catch (IOException e) {
            if (!stopping && left > 0) {
                tell("weir: " + endpoint + " is lost (" + e.getMessage() + "): trying again in " + pauseMs + " ms");
                TimeUnit.MILLISECONDS.sleep(pauseMs);
                pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
            }
        } finally {
            current = null;
        }
    }

    private void printAll(NsqConnection connection) throws IOException {
        while (true) {
            NsqConnection.Frame frame = connection.read();
            if (frame instanceof NsqConnection.Frame.Message message) {
                if (left > 0) {
                    print(message);
                    left--;
                    // The credit before the acknowledgement: the other way round, the broker would send one too many.
                    String ready = left < CREDIT ? "RDY " + credit() + "\n" : "";
                    connection.write(ready + "FIN " + message.id() + "\n" + (left == 0 ? "CLS\n" : ""));
                    if (left == 0) {
                        connection.waitAtMost(CLOSE_WITHIN_MS);
                    }
                }
            } else if (frame instanceof NsqConnection.Frame.Response response) {
                if (response.text().equals("CLOSE_WAIT")) {
                    return;
                }
            } else if (frame instanceof NsqConnection.Frame.Failure failure) {
                tell("weir: the broker said " + failure.text());
            }
        }
    }

    private long credit() {
        return Math.min(left, CREDIT);
    }

    private void print(NsqConnection.Frame.Message message) {
        PrintWriter out = spec.commandLine().getOut();
        out.println(output.json() ? json(message) : new String(message.body(), StandardCharsets.UTF_8));
        if (out.checkError()) {
            // Whoever read this has gone: the message is not acknowledged, so that somebody else gets it.
            throw new CliException(ExitCode.FAILED, "the standard output is closed");
        }
    }

    private static String json(NsqConnection.Frame.Message message) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("id", message.id());
        line.put("attempts", message.attempts());
        line.put("timestampNs", message.timestampNs());
        try {
            line.put(
                    "body",
                    StandardCharsets.UTF_8
                            .newDecoder()
                            .decode(ByteBuffer.wrap(message.body()))
                            .toString());
        } catch (CharacterCodingException e) {
            line.put("bodyBase64", Base64.getEncoder().encodeToString(message.body()));
        }
        try {
            return JSON.writeValueAsString(line);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write a message as JSON", e);
        }
    }

    /** On Ctrl-C: says goodbye, and gives the reading thread a moment to acknowledge what it has printed. */
    private void stop() {
        stopping = true;
        NsqConnection connection = current;
        if (connection == null) {
            return;
        }
        try {
            connection.write("CLS\n");
            ended.await(CLOSE_WITHIN_MS, TimeUnit.MILLISECONDS);
        } catch (IOException e) {
            // The connection is gone already.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void tell(String line) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(line);
        err.flush();
    }
}
