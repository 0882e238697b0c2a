package io.weir.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.config.Endpoint;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.opentest4j.TestAbortedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * nsqjs, in a Node.js process that {@code client.js} drives. A writer ends with its first error, refusals included;
 * then {@code client.js} opens one to the next broker, as an application has to.
 */
final class NsqJs implements RealClient {
    private static final Logger LOG = LoggerFactory.getLogger(NsqJs.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path HOME = Path.of("target", "nsqjs").toAbsolutePath();
    private static final int IN_FLIGHT = 100;
    private static final int ANSWER_S = 60;
    private static final int INSTALL_S = 120;

    private final Process node;
    private final Writer commands;
    private final AtomicInteger last = new AtomicInteger();
    private final Map<Integer, CompletableFuture<Void>> ready = new ConcurrentHashMap<>();
    private final Map<Integer, CompletableFuture<Void>> published = new ConcurrentHashMap<>();
    private final Map<Integer, Handler> handlers = new ConcurrentHashMap<>();

    NsqJs() {
        Path home = installed();
        try {
            node = new ProcessBuilder("node", "client.js")
                    .directory(home.toFile())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        commands = node.outputWriter(StandardCharsets.UTF_8);
        Thread events = new Thread(this::readEvents, "nsqjs-events");
        events.setDaemon(true);
        events.start();
    }

    /**
     * A directory from which scripts find nsqjs, as its lock file says; installed once.
     *
     * @throws TestAbortedException where Node.js is not installed
     */
    static synchronized Path installed() {
        if (output("node", "--version").isEmpty() || output("npm", "--version").isEmpty()) {
            throw new TestAbortedException(
                    "SKIPPED, NOTHING IS KNOWN ABOUT nsqjs: node and npm are not on this machine");
        }
        try {
            Files.createDirectories(HOME);
            install();
            return HOME;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** One at a time, since tests in other JVMs may want it too. */
    private static void install() throws IOException, InterruptedException {
        try (FileChannel lock =
                FileChannel.open(HOME.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            lock.lock();
            boolean same = true;
            for (String file : List.of("package.json", "package-lock.json", "client.js")) {
                same &= copied(file) || file.equals("client.js");
            }
            if (!same || Files.notExists(HOME.resolve("node_modules/nsqjs"))) {
                Process npm = new ProcessBuilder("npm", "ci", "--prefer-offline", "--no-audit", "--no-fund")
                        .directory(HOME.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(HOME.resolve("npm.log").toFile())
                        .start();
                if (!npm.waitFor(INSTALL_S, TimeUnit.SECONDS)) {
                    npm.destroyForcibly();
                }
                if (npm.waitFor() != 0) {
                    throw new IllegalStateException("npm ci: " + Files.readString(HOME.resolve("npm.log")));
                }
            }
        }
    }

    /** Whether it was there already, the same. */
    private static boolean copied(String file) throws IOException {
        Path to = HOME.resolve(file);
        try (InputStream in = NsqJs.class.getResourceAsStream("/nsqjs/" + file)) {
            Path fresh = Files.createTempFile(HOME, file, ".new");
            Files.copy(in, fresh, StandardCopyOption.REPLACE_EXISTING);
            boolean same = Files.exists(to) && Files.mismatch(fresh, to) < 0;
            Files.move(fresh, to, StandardCopyOption.REPLACE_EXISTING);
            return same;
        }
    }

    private static Optional<String> output(String... command) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            return process.waitFor() == 0 ? Optional.of(output) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    @Override
    public Sender sender(Manner manner, List<Endpoint> brokers) {
        int id = last.incrementAndGet();
        CompletableFuture<Void> connected = new CompletableFuture<>();
        ready.put(id, connected);
        command("send", id, brokers, manner);
        try {
            connected.get(ANSWER_S, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new IllegalStateException("no connection", e);
        }
        return (topic, bodies) -> publish(id, topic, bodies);
    }

    private void publish(int id, String topic, List<String> bodies) throws IOException {
        int ticket = last.incrementAndGet();
        CompletableFuture<Void> outcome = new CompletableFuture<>();
        published.put(ticket, outcome);
        ObjectNode command =
                JSON.createObjectNode().put("do", "publish").put("id", id).put("ticket", ticket);
        command.put("topic", topic).set("bodies", JSON.valueToTree(bodies));
        write(command);
        try {
            outcome.get(ANSWER_S, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new IOException(e.getCause().getMessage(), e);
        } catch (TimeoutException e) {
            throw new IOException("no answer", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    @Override
    public void receive(Manner manner, List<Endpoint> brokers, String topic, String channel, Handler handler) {
        int id = last.incrementAndGet();
        handlers.put(id, handler);
        ObjectNode command = JSON.createObjectNode().put("topic", topic).put("channel", channel);
        write(command.setAll(opening("receive", id, brokers, manner)));
    }

    private void command(String what, int id, List<Endpoint> brokers, Manner manner) {
        write(opening(what, id, brokers, manner));
    }

    private static ObjectNode opening(String what, int id, List<Endpoint> brokers, Manner manner) {
        ObjectNode command = JSON.createObjectNode().put("do", what).put("id", id);
        command.set(
                "addresses",
                JSON.valueToTree(brokers.stream().map(Endpoint::toString).toList()));
        ObjectNode options = command.putObject("options")
                .put("maxInFlight", IN_FLIGHT)
                .put("maxBackoffDuration", 0)
                .put("lookupdPollInterval", 1);
        options.put("snappy", manner.wire() == Wire.SNAPPY).put("deflate", manner.wire() == Wire.DEFLATE);
        manner.tls().ifPresent(trusted -> options.put("tls", true)
                .put("ca", trusted.certificate().toString()));
        manner.secret().ifPresent(secret -> options.put("authSecret", secret));
        if (manner.heartbeatMs() > 0) {
            int seconds = Math.max(1, manner.heartbeatMs() / 1_000);
            // It hangs up on a broker of which it heard nothing for so long.
            options.put("heartbeatInterval", seconds).put("idleTimeout", 2 * seconds);
        }
        if (manner.messageTimeoutMs() > 0) {
            options.put("messageTimeout", manner.messageTimeoutMs());
        }
        return command;
    }

    private void write(JsonNode command) {
        try {
            synchronized (commands) {
                commands.write(command + "\n");
                commands.flush();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("node has ended", e);
        }
    }

    private void readEvents() {
        try (BufferedReader in = node.inputReader(StandardCharsets.UTF_8)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                onEvent(JSON.readTree(line));
            }
        } catch (IOException | UncheckedIOException e) {
            LOG.info("nsqjs: {}", e.toString());
        }
        published.values().forEach(open -> open.completeExceptionally(new IOException("node has ended")));
    }

    private void onEvent(JsonNode event) {
        if (event.has("ticket")) {
            CompletableFuture<Void> outcome =
                    published.remove(event.get("ticket").asInt());
            if (event.has("error")) {
                outcome.completeExceptionally(new IOException(event.get("error").asText()));
            } else {
                outcome.complete(null);
            }
        } else if (event.has("message")) {
            Answer answer = handlers.get(event.get("receiver").asInt())
                    .handle(event.get("body").asText(), event.get("attempts").asInt());
            if (answer != Answer.NONE) {
                write(JSON.createObjectNode()
                        .put("do", "answer")
                        .put("message", event.get("message").asInt())
                        .put("requeue", answer == Answer.REQUEUE));
            }
        } else if (event.has("ready")) {
            ready.get(event.get("sender").asInt()).complete(null);
        } else {
            LOG.info("nsqjs: {}", event);
        }
    }

    /** With its input ends node. */
    @Override
    public void close() {
        try {
            commands.close();
            if (!node.waitFor(10, TimeUnit.SECONDS)) {
                node.destroyForcibly();
            }
        } catch (IOException e) {
            node.destroyForcibly();
        } catch (InterruptedException e) {
            node.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return "nsqjs";
    }
}
