package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.supervisor.local.ClusterDirectory;
import io.weir.supervisor.local.LocalProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./weir} as a user types it: the real script, real processes, real exit codes. */
@SideBySide
@Timeout(240)
class LauncherIT {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path dir;

    /** What a command answered. */
    private record Answer(int exit, String out, String err) {
        JsonNode json() throws IOException {
            return JSON.readTree(out);
        }
    }

    @Test
    void shouldStartShowResumeAndStopAClusterAndLeaveNothingBehind() throws Exception {
        String data = dir.resolve("data").toString();
        String base = Integer.toString(BrokerCluster.freePortBase(2));
        String settings = Files.writeString(dir.resolve("my.conf"), "weir.topics.max-message-size = 7KiB")
                .toString();
        String other = Files.writeString(dir.resolve("other.conf"), "weir.topics.max-message-size = 8KiB")
                .toString();

        List<LocalProcess> started = new ArrayList<>();
        try {
            Answer up = weir(
                    "up",
                    "--detach",
                    "--brokers",
                    "2",
                    "--data",
                    data,
                    "--port-base",
                    base,
                    "--config",
                    settings,
                    "-o",
                    "json");
            assertThat(up.exit()).as(up.err()).isZero();
            assertThat(up.json().at("/brokers/0/tcp").asText()).isEqualTo("127.0.0.1:" + base);
            started.addAll(processesIn(data));
            assertThat(ClusterDirectory.existing(Path.of(data)).aeronDirectory())
                    .exists();
            assertThat(takes(base, 7 * 1024)).isTrue();
            assertThat(takes(base, 7 * 1024 + 1)).isFalse();
            refused("run with other settings: 'weir down' first", "up", "--detach", "--data", data, "--config", other);
            // Without --data: the last 'up' is meant.
            JsonNode status = weir("status", "-o", "json").json();
            assertThat(status.at("/brokers")).hasSize(2);
            assertThat(status.at("/brokers").findValuesAsText("state")).containsOnly("up");
            assertThat(status.at("/brokers/0/incarnation").asLong()).isEqualTo(1);

            Answer again = weir("up", "--detach", "--data", data);
            assertThat(again.exit()).isZero();
            assertThat(processesIn(data)).as("what runs is left alone").isEqualTo(started);

            assertThat(status.at("/keeper/state").asText()).isEqualTo("up");
            assertThat(status.at("/keeper/pid").asLong()).isEqualTo(pid(data, "keeper"));
            assertThat(weir("status").out()).contains("kept by pid " + pid(data, "keeper"));

            kill(data, "media-driver");
            awaitAnother(data, "media-driver", started);

            kill(data, "b2");
            Answer oneDead = weir("status", "-o", "json");
            assertThat(oneDead.exit()).isEqualTo(1);
            assertThat(oneDead.json().at("/brokers/1/state").asText()).isIn("unreachable", "gone");
            await("b1 has heard of it", () -> log(data, "keeper").contains("b2#1 is written down as stopped"));
            assertThat(weir("up", "--detach").exit())
                    .as("brings the dead broker back")
                    .isZero();
            assertThat(log(data, "keeper")).doesNotContain("b2 ended with exit code 137 after");
            started.addAll(processesIn(data));
            String http = "127.0.0.1:" + (Integer.parseInt(base) + 1);
            assertThat(weir("status", "--http", http, "-o", "json")
                            .json()
                            .at("/brokers/1/incarnation")
                            .asLong())
                    .isEqualTo(2);

            kill(data, "keeper");
            Answer unkept = weir("status", "-o", "json");
            assertThat(unkept.exit()).as("its death harms nobody").isZero();
            assertThat(unkept.json().at("/keeper/state").asText()).isEqualTo("gone");
            List<LocalProcess> orphans = othersIn(data);
            assertThat(weir("up", "--detach", "--restart").exit()).isZero();
            assertThat(othersIn(data))
                    .as("the new keeper leaves alone what runs")
                    .isEqualTo(orphans);
            JsonNode kept = weir("status", "-o", "json").json().at("/keeper");
            assertThat(kept.at("/state").asText()).isEqualTo("up");
            assertThat(kept.at("/restart").asBoolean()).isTrue();
            started.addAll(processesIn(data));

            kill(data, "store");
            kill(data, "b2");
            awaitAnother(data, "store", started);
            awaitAnother(data, "b2", started);
            await("b2 is up again in a third life", () -> {
                JsonNode now = weir("status", "-o", "json").json();
                return now.at("/brokers/1/incarnation").asLong() == 3
                        && now.at("/brokers").findValuesAsText("state").equals(List.of("up", "up"));
            });
            await("the store has b2's former life as stopped", () -> log(data, "keeper")
                    .contains("b2#2 is written down as stopped"));
            started.addAll(processesIn(data));

            Answer stop = weir("broker", "stop", "b1");
            assertThat(stop.exit()).as(stop.err()).isZero();
            await("b1 has left, and is not started again", () -> log(data, "keeper")
                    .contains("b1 ended\n"));
            assertThat(weir("down").exit()).isZero();
            assertThat(started).as("the keepers are among them").noneMatch(LocalProcess::isAlive);

            Answer resumed = weir("up", "--detach", "--data", data);
            assertThat(resumed.exit()).as(resumed.err()).isZero();
            started.addAll(processesIn(data));
            assertThat(weir("status", "-o", "json")
                            .json()
                            .at("/brokers/1/incarnation")
                            .asLong())
                    .as("the store remembers")
                    .isEqualTo(4);
            assertThat(takes(base, 7 * 1024 + 1)).as("settings are kept").isFalse();
        } finally {
            weir("down", "--data", data);
        }
        assertThat(started).noneMatch(LocalProcess::isAlive);
        assertThat(ClusterDirectory.existing(Path.of(data)).aeronDirectory()).doesNotExist();
        assertThat(dir.resolve("user").resolve("last")).doesNotExist();
        assertThat(weir("status").exit()).as("nothing is up any more").isEqualTo(3);
    }

    /** Until it holds, or the test's time is over. */
    private static void await(String what, Callable<Boolean> condition) throws Exception {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.call()) {
            assertThat(System.nanoTime()).as(what).isLessThan(deadlineNs);
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }

    private static void awaitAnother(String data, String name, List<LocalProcess> before) throws Exception {
        await("another " + name, () -> processesIn(data).stream()
                .anyMatch(process -> process.name().equals(name) && process.isAlive() && !before.contains(process)));
    }

    private static long pid(String data, String name) {
        return process(data, name).pid();
    }

    private static void kill(String data, String name) {
        process(data, name).kill();
    }

    private static LocalProcess process(String data, String name) {
        return ClusterDirectory.existing(Path.of(data))
                .state()
                .flatMap(state -> state.process(name))
                .orElseThrow();
    }

    private static List<LocalProcess> othersIn(String data) {
        return processesIn(data).stream()
                .filter(process -> !process.name().equals("keeper"))
                .toList();
    }

    private static String log(String data, String name) throws IOException {
        return Files.readString(ClusterDirectory.existing(Path.of(data)).log(name));
    }

    private static boolean takes(String port, int bytes) throws Exception {
        URI pub = URI.create("http://127.0.0.1:" + (Integer.parseInt(port) + 1) + "/pub?topic=sized");
        HttpRequest message = HttpRequest.newBuilder(pub)
                .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[bytes]))
                .build();
        int status = HttpClient.newHttpClient()
                .send(message, HttpResponse.BodyHandlers.discarding())
                .statusCode();
        assertThat(status).isIn(200, 413);
        return status == 200;
    }

    @Test
    void shouldStayAndStopEverythingWhenItIsToldToEnd() throws Exception {
        String data = dir.resolve("data").toString();
        Path out = dir.resolve("up.out");
        ProcessBuilder builder = new ProcessBuilder(
                        BuiltDistribution.launcher().toString(),
                        "up",
                        "--brokers",
                        "1",
                        "--data",
                        data,
                        "--port-base",
                        Integer.toString(BrokerCluster.freePortBase(1)))
                .redirectErrorStream(true)
                .redirectOutput(out.toFile());
        builder.environment().put("WEIR_USER_DIR", dir.resolve("user").toString());
        Process up = builder.start();
        try {
            while (!Files.readString(out).contains("Ctrl-C stops the cluster")) {
                assertThat(up.isAlive()).as(Files.readString(out)).isTrue();
                up.waitFor(100, TimeUnit.MILLISECONDS);
            }
            List<LocalProcess> started = processesIn(data);
            assertThat(started).hasSize(4).allMatch(LocalProcess::isAlive);

            // As Ctrl-C does, but heard also where a build runs in the background and its processes inherit an ignored
            // SIGINT.
            run(List.of("kill", "-TERM", Long.toString(up.pid())));

            assertThat(up.waitFor(60, TimeUnit.SECONDS)).as("ends").isTrue();
            assertThat(started).noneMatch(LocalProcess::isAlive);
        } finally {
            up.destroy();
            weir("down", "--data", data);
        }
    }

    @Test
    void shouldSayInOneLineWhatToDoWhenAStartIsNotPossible() throws Exception {
        int base = BrokerCluster.freePortBase(1);
        try (ServerSocket taken = new ServerSocket(base + 1, 1, InetAddress.getByName("127.0.0.1"))) {
            assertThat(taken.isBound()).isTrue();
            refused(
                    "is taken: stop what uses it, or choose other ports with --port-base",
                    "up",
                    "--detach",
                    "--data",
                    dir.resolve("a").toString(),
                    "--port-base",
                    Integer.toString(base));
        }
        Path locked = dir.resolve("locked");
        Files.createDirectories(
                ClusterDirectory.create(locked).root().resolve("brokers").resolve("b1"));
        try (FileChannel lock = FileChannel.open(
                locked.resolve("brokers").resolve("b1").resolve("lock"),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE)) {
            assertThat(lock.lock()).isNotNull();
            refused(
                    "b1 ended while starting: the data directory " + locked,
                    "up",
                    "--detach",
                    "--brokers",
                    "1",
                    "--port-base",
                    Integer.toString(base),
                    "--data",
                    locked.toString());
        }
        assertThat(processesIn(locked.toString()))
                .as("what was started with it is stopped")
                .noneMatch(LocalProcess::isAlive);

        assertThat(ClusterDirectory.existing(locked).aeronDirectory()).doesNotExist();

        Files.createDirectory(dir.resolve("foreign"));
        Files.writeString(dir.resolve("foreign").resolve("thesis.doc"), "mine");
        refused(
                "holds files that are not Weir's",
                "up",
                "--detach",
                "--data",
                dir.resolve("foreign").toString());

        Files.createDirectory(dir.resolve("newer"));
        Files.writeString(dir.resolve("newer").resolve("version"), "99\n");
        refused(
                "is of version '99'",
                "up",
                "--detach",
                "--data",
                dir.resolve("newer").toString());

        refused(
                "sets weir.http.port, which 'weir up' decides itself",
                "up",
                "--detach",
                "--data",
                dir.resolve("c").toString(),
                "--config",
                Files.writeString(dir.resolve("port.conf"), "weir { http.port = 1 }")
                        .toString());
        refused(
                "b1 ended while starting: settings file",
                "up",
                "--detach",
                "--brokers",
                "1",
                "--port-base",
                Integer.toString(base),
                "--data",
                dir.resolve("d").toString(),
                "--config",
                Files.writeString(dir.resolve("typo.conf"), "weir.tcp.max-conections = 1")
                        .toString());
        assertThat(dir.resolve("d").resolve("brokers.conf"))
                .as("the next start is not to fail for it")
                .doesNotExist();
        Files.writeString(dir.resolve("file"), "");
        refused(
                "can't be written",
                "up",
                "--detach",
                "--data",
                dir.resolve("file").resolve("below").toString());
        refused(
                "--brokers 0 is not possible",
                "up",
                "--detach",
                "--brokers",
                "0",
                "--data",
                dir.resolve("b").toString());
        refused(
                "no cluster was ever started in",
                "status",
                "--data",
                dir.resolve("nowhere").toString());
        refused("no broker answers at 127.0.0.1:1", "status", "--http", "127.0.0.1:1");

        Path settings = Files.writeString(dir.resolve("broker.conf"), "weir.http.prot = 1");
        Answer typo = weir("broker", "--config", settings.toString());
        assertThat(typo.exit()).isEqualTo(2);
        assertThat(typo.err())
                .contains("weir.http.prot")
                .contains("weir.http.port")
                .hasLineCount(1);
        Answer noStore = weir(
                "broker",
                "--config",
                Files.writeString(settings, """
                weir { broker { id = b1, data-dir = "%s" }, http.port = %d, store { url = "jdbc:postgresql://127.0.0.1:1/x"
                  start-timeout = 1s }, cluster.discovery.contact-points = ["127.0.0.1:4153"] }
                """.formatted(dir.resolve("b1"), base))
                        .toString());
        assertThat(noStore.exit()).isEqualTo(3);
        assertThat(noStore.err())
                .contains("weir: the store at jdbc:postgresql://127.0.0.1:1/x did not answer")
                .hasLineCount(1);
    }

    @Test
    void shouldRunFromTheReleaseArchiveWithAJdkAlone() throws Exception {
        Path unpacked = Files.createDirectory(dir.resolve("release"));
        run(List.of("tar", "-xzf", BuiltDistribution.archive().toString(), "-C", unpacked.toString()));
        try (Stream<Path> roots = Files.list(unpacked)) {
            Path weir = roots.findFirst().orElseThrow().resolve("weir");
            Answer version = run(List.of(weir.toString(), "--version"));
            assertThat(version.exit()).as(version.err()).isZero();
            assertThat(version.out()).startsWith("weir 0.1.0");
            assertThat(run(List.of(weir.toString(), "completion")).out()).contains("--port-base");
        }
    }

    private void refused(String reason, String... arguments) throws Exception {
        Answer answer = weir(arguments);
        assertThat(answer.exit()).as(String.join(" ", arguments)).isEqualTo(3);
        assertThat(answer.err()
                        .lines()
                        .filter(line -> line.startsWith("weir: "))
                        .toList())
                .as(answer.err())
                .last()
                .asString()
                .contains(reason);
        assertThat(answer.err()).doesNotContain("\tat ");
    }

    private Answer weir(String... arguments) throws Exception {
        List<String> command =
                new ArrayList<>(List.of(BuiltDistribution.launcher().toString()));
        command.addAll(List.of(arguments));
        return run(command);
    }

    private Answer run(List<String> command) throws Exception {
        Path out = Files.createTempFile(dir, "out", "");
        Path err = Files.createTempFile(dir, "err", "");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().put("WEIR_USER_DIR", dir.resolve("user").toString());
        Process process = builder.start();
        if (!process.waitFor(120, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(command + " did not end within 120 s");
        }
        return new Answer(
                process.exitValue(),
                Files.readString(out, StandardCharsets.UTF_8),
                Files.readString(err, StandardCharsets.UTF_8));
    }

    private static List<LocalProcess> processesIn(String data) {
        return ClusterDirectory.existing(Path.of(data)).state().orElseThrow().processes().stream()
                .sorted(Comparator.comparing(LocalProcess::name))
                .toList();
    }
}
