package io.weir.cluster.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cluster.BrokerCluster;
import io.weir.cluster.BuiltDistribution;
import io.weir.cluster.SideBySide;
import io.weir.supervisor.cli.ExitCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The bench and {@code weir sub} as processes: what a test within one JVM cannot show. */
@SideBySide
@Timeout(180)
public class BenchIT {
    private static final Logger LOG = LoggerFactory.getLogger(BenchIT.class);

    @TempDir
    private Path dir;

    @Test
    void shouldMeasureBesideARelayOfItsOwnAndLeaveNoneBehind() throws Exception {
        try (NsqPeer peer = new NsqPeer()) {
            Process bench = weir(
                    ("bench latency --rate 500 --publishers 50 --connections 5 --seconds 1 --warmup 1 --rounds 2 -o json"
                                    + " --against relay --tcp " + peer.endpoint())
                            .split(" "));
            try {
                assertThat(bench.waitFor(120, TimeUnit.SECONDS)).isTrue();
            } finally {
                bench.destroyForcibly();
            }

            assertThat(bench.exitValue()).as(read("err")).isZero();
            JsonNode json = new ObjectMapper().readTree(read("out"));
            assertThat(json.at("/targets").findValuesAsText("name")).containsExactly("weir", "relay");
            assertThat(json.at("/targets/1/brokerCpuPercent/median").isNumber()).isTrue();
            assertThat(json.at("/targets/1/results/1/received").asLong())
                    .isPositive()
                    .isEqualTo(json.at("/targets/1/results/1/sent").asLong());
            await("the relay's end", () -> ProcessHandle.allProcesses()
                    .noneMatch(process ->
                            process.info().commandLine().orElse("").contains("bench relay --parent " + bench.pid())));
        }
    }

    @Test
    void shouldTakeLeaveOfTheBrokerWhenSubIsToldToEnd() throws Exception {
        try (NsqPeer peer = new NsqPeer()) {
            peer.enqueue("hello".getBytes(StandardCharsets.UTF_8));
            Process sub =
                    weir("sub", "orders", "audit", "--tcp", peer.endpoint().toString());
            try {
                await("the message", () -> peer.finished().contains("hello"));
                assertThat(read("out")).isEqualTo("hello\n");
                sub.destroy();
                assertThat(sub.waitFor(30, TimeUnit.SECONDS)).isTrue();
            } finally {
                sub.destroyForcibly();
            }
            assertThat(peer.lines()).endsWith("CLS");
            assertThat(read("err")).doesNotContain("lost").doesNotContain("\tat ");
        }
    }

    /**
     * One broker, one start: what each shows needs a real one, and the first needs one that has held no messages yet.
     */
    @Test
    void shouldMeasureARealBroker() throws Exception {
        try (BrokerCluster cluster = BrokerCluster.of(1)
                .from(BuiltDistribution.installation())
                .in(BuiltDistribution.directory("bench"))
                .start()) {
            cluster.awaitAllUp(Duration.ofSeconds(60));
            String tcp = " -o json --tcp " + cluster.line("b1").tcp();

            JsonNode queued = bench("queued --messages 1000000 --size 100" + tcp);
            LOG.info("A million queued messages of 100 bytes: {}", queued);
            assertThat(queued.at("/queued").asLong()).isEqualTo(1_000_000);
            assertThat(queued.at("/received").asLong()).isEqualTo(1_000_000);
            assertThat(queued.at("/bytesPerMessage").asDouble())
                    .as("they are there, and cost less than 300 MB")
                    .isBetween(100.0, 300.0);

            JsonNode bursts =
                    bench("latency --rate 2000 --publishers 200 --groups 20 --batch 4 --consumers 2 --connections 300"
                            + " --seconds 1 --warmup 1" + tcp);
            assertThat(bursts.at("/received").asLong())
                    .isPositive()
                    .isEqualTo(bursts.at("/sent").asLong());
            for (String figure : List.of(
                    "/brokerCpuNanosPerMessage",
                    "/dataPathNanosPerMessage",
                    "/allocatedBytesPerMessage",
                    "/brokerMemoryMiB/max",
                    "/brokerHeapMiB/max")) {
                assertThat(bursts.at(figure).isNumber()).as(figure).isTrue();
            }
            assertThat(bursts.at("/brokerMemoryMiB/max").asDouble())
                    .isGreaterThan(bursts.at("/brokerHeapMiB/max").asDouble());

            JsonNode first = bench("first --idle 300ms --count 3" + tcp);
            assertThat(first.at("/received").asLong()).isEqualTo(3);
        }
    }

    /** Borrowing or not, the default configuration is among them; its goal cannot be met. */
    @Test
    void shouldCountEveryMessageOfASplitBucketAndOfAWholeOne() throws Exception {
        Process bench = weir(("bench penalty --brokers 2 --publishers 20 --rate 400 --only static,gossip,placed-borrow"
                        + " --rounds 2 --duration 300ms --warmup 200ms --rehearsal 0s --goal-p99 0.000001 -o json")
                .split(" "));
        try {
            assertThat(bench.waitFor(150, TimeUnit.SECONDS)).isTrue();
        } finally {
            bench.destroyForcibly();
        }

        assertThat(bench.exitValue()).as(read("err")).isEqualTo(ExitCode.FAILED);
        JsonNode json = new ObjectMapper().readTree(read("out"));
        assertThat(json.get("goalsMissed")).hasSize(1);
        assertThat(json.get("lost").asLong()).isZero();
        assertThat(json.get("configurations").findValuesAsText("name")).startsWith("single", "static", "gossip");
        double limit = json.get("limitRate").asDouble();
        assertThat(limit).isEqualTo(440);
        for (JsonNode configuration : json.get("configurations")) {
            String name = configuration.get("name").asText();
            assertThat(configuration.at("/p99Micros/median").isNumber())
                    .as(name)
                    .isTrue();
            assertThat(configuration.fieldNames())
                    .toIterable()
                    .as(name)
                    .contains("p95ToSingle", "p99ToSingle", "totalP99ToSingle", "p99ToStatic");
            assertThat(configuration.get("rounds")).as(name).hasSize(2).allSatisfy(round -> {
                long sent = round.get("sent").asLong();
                assertThat(sent).isPositive().isEqualTo(round.get("admitted").asLong());
                assertThat(round.at("/endToEnd/acknowledged").asLong()).isEqualTo(sent);
                assertThat(round.at("/ideal/messages").asLong())
                        .isPositive()
                        .isLessThan(sent)
                        .isEqualTo(round.at("/endToEnd/sent").asLong())
                        .isEqualTo(round.at("/idealOfOne/messages").asLong());
                assertThat(round.at("/access/messages").asLong())
                        .as("fewer, the later the brokers could be asked what was before")
                        .isBetween(0L, sent);
                assertThat(round.has("brokerCpuMicrosPerMessage")).isTrue();
                assertThat(round.get("transfers").isNumber()).isTrue();
                assertThat(round.get("shares")).hasSize(name.equals("single") ? 1 : 2);
            });
            assertThat(configuration.at("/rounds/0/sent").asLong())
                    .as("the same sendings for all of a round, in %s", name)
                    .isEqualTo(json.at("/configurations/0/rounds/0/sent").asLong());
        }
        assertThat(json.at("/configurations/1/rounds/1/shares").findValues("rate"))
                .as("static")
                .allSatisfy(rate -> assertThat(rate.asDouble()).isEqualTo(limit / 2));
        assertThat(besideSimulated())
                .containsExactlyElementsOf(json.get("configurations").findValuesAsText("name"));
    }

    /** The lab puts the bench's result beside what it simulates. */
    private List<String> besideSimulated() throws Exception {
        Path measured = Files.copy(dir.resolve("out"), dir.resolve("measured.json"));
        Process lab = weir("lab", "drl-penalty", "--seeds", "1", "--set", "measured=" + measured, "-o", "json");
        try {
            assertThat(lab.waitFor(90, TimeUnit.SECONDS)).isTrue();
        } finally {
            lab.destroyForcibly();
        }
        JsonNode tables = new ObjectMapper().readTree(read("out")).get("tables");
        JsonNode last = tables.get(tables.size() - 1);
        assertThat(last.get("columns").toString()).contains("measured 99th");
        List<String> names = new ArrayList<>();
        last.get("rows").forEach(row -> names.add(row.get(0).asText()));
        return names;
    }

    private JsonNode bench(String line) throws Exception {
        Process bench = weir(("bench " + line).split(" "));
        try {
            assertThat(bench.waitFor(90, TimeUnit.SECONDS)).as(line).isTrue();
        } finally {
            bench.destroyForcibly();
        }
        assertThat(bench.exitValue()).as(line + ": " + read("err")).isZero();
        return new ObjectMapper().readTree(read("out"));
    }

    private String read(String name) throws IOException {
        return Files.readString(dir.resolve(name), StandardCharsets.UTF_8);
    }

    private Process weir(String... arguments) throws IOException {
        List<String> command =
                new ArrayList<>(List.of(BuiltDistribution.launcher().toString()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectOutput(dir.resolve("out").toFile())
                .redirectError(dir.resolve("err").toFile());
        builder.environment().put("WEIR_USER_DIR", dir.resolve("user").toString());
        return builder.start();
    }

    private interface Condition {
        boolean holds() throws IOException;
    }

    private static void await(String what, Condition condition) throws IOException {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.holds()) {
            assertThat(System.nanoTime() - deadlineNs).as(what).isNegative();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }
}
