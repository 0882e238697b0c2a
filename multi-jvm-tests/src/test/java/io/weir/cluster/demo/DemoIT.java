package io.weir.cluster.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cluster.BuiltDistribution;
import io.weir.cluster.SideBySide;
import io.weir.supervisor.cli.ExitCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The tour in its short form, as a script runs it, and that it leaves nothing behind, however it ends. */
@SideBySide
@Timeout(240)
class DemoIT {
    private static final Path DIRECTORY = BuiltDistribution.directory("demo");
    private static final Path TEMPORARY = DIRECTORY.resolve("tmp");
    private static final Path OUT = DIRECTORY.resolve("out.txt");
    private static final Path ERR = DIRECTORY.resolve("err.txt");

    @BeforeEach
    void directory() throws IOException {
        Files.createDirectories(TEMPORARY);
    }

    private static Process demo(String... arguments) throws IOException {
        List<String> command =
                new ArrayList<>(List.of(BuiltDistribution.launcher().toString(), "demo"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectOutput(OUT.toFile())
                .redirectError(ERR.toFile())
                .redirectInput(Path.of("/dev/null").toFile());
        builder.environment().put("WEIR_JVM", "-Djava.io.tmpdir=" + TEMPORARY);
        return builder.start();
    }

    @Test
    void shouldPlayTheTourAndHoldEveryPromise() throws Exception {
        Path report = DIRECTORY.resolve("report");
        Process demo = demo("--brief", "-o", "json", "--report", report.toString());

        assertThat(demo.waitFor(200, TimeUnit.SECONDS)).as("it ends").isTrue();
        String said = Files.readString(ERR);
        assertThat(demo.exitValue()).as(said).isEqualTo(ExitCode.OK);
        JsonNode answer = new ObjectMapper().readTree(OUT.toFile());
        assertThat(answer.get("held").asBoolean()).as(answer.toPrettyString()).isTrue();
        for (int i : new int[] {0, 1, 2, 3, 4, 6, 8}) {
            assertThat(answer.get("verdicts").get(i).get("outcome").asText())
                    .as(answer.get("verdicts").get(i).toPrettyString())
                    .isEqualTo("held");
        }
        assertThat(answer.get("acknowledged").asLong()).isGreaterThan(1_000);
        assertThat(said).contains("All the load moves to b1", "b3 is killed", "The others have inherited b3's share");
        assertThat(report.resolve("report.html")).isNotEmptyFile();
        assertNothingStays();
    }

    @Test
    void shouldCleanUpWhenItIsInterruptedHalfWayThroughTheStart() throws Exception {
        Process demo = demo("--brief", "--plain");
        // While the store's database is made, most processes are at work that nobody has written down.
        await(() -> processesIn(TEMPORARY).stream().anyMatch(line -> line.contains("initdb")));
        // The launcher has replaced itself by Java.
        new ProcessBuilder("kill", "-INT", Long.toString(demo.pid())).start().waitFor();

        assertThat(demo.waitFor(60, TimeUnit.SECONDS)).as("it ends").isTrue();
        assertNothingStays();
    }

    private static void assertNothingStays() throws IOException {
        assertThat(processesIn(TEMPORARY)).isEmpty();
        try (Stream<Path> left = Files.list(TEMPORARY)) {
            assertThat(left.filter(path -> path.getFileName().toString().startsWith("weir-demo"))
                            .toList())
                    .isEmpty();
        }
    }

    /** Processes that have the path on their command line, other than this one and the demo itself. */
    private static List<String> processesIn(Path path) {
        return ProcessHandle.allProcesses()
                .map(process -> commandLine(process.pid()))
                .filter(line -> line.contains(path + "/weir-demo"))
                .toList();
    }

    private static String commandLine(long pid) {
        try {
            return new String(
                            Files.readAllBytes(Path.of("/proc", Long.toString(pid), "cmdline")), StandardCharsets.UTF_8)
                    .replace('\0', ' ');
        } catch (IOException e) {
            return "";
        }
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long beginNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - beginNs).as("waited, ns").isLessThan(TimeUnit.SECONDS.toNanos(60));
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }
}
