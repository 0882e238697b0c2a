package io.weir.cluster.stage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.SideBySide;
import io.weir.cluster.stage.Network.Direction;
import io.weir.cluster.stage.Network.Traffic;
import io.weir.config.Endpoint;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Packets between three hosts of a real stage; what is asserted is which came and in what order, never when. */
@SideBySide
@Timeout(60)
class StageIT {
    private static final long SEED = 7;
    private static final Duration SOON = Duration.ofSeconds(15);

    private static Stage stage;
    private static Probe a;
    private static Probe b;
    private static Probe c;

    @BeforeAll
    static void build() throws IOException {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
        stage = Stage.of(List.of("a", "b", "c"), SEED);
        a = new Probe(stage, "a");
        b = new Probe(stage, "b");
        c = new Probe(stage, "c");
    }

    @AfterAll
    static void dismantle() {
        if (stage != null) {
            stage.close();
        }
    }

    @BeforeEach
    void forget() throws IOException {
        for (Probe probe : List.of(a, b, c)) {
            probe.received();
        }
    }

    @AfterEach
    void heal() {
        stage.network().heal();
    }

    @Test
    void shouldCarryPacketsAndStreamsWhenClear() throws IOException {
        a.send(0, 100, address("b"));
        b.send(0, 50, address("a"));

        assertThat(received(b, 100)).isEqualTo(numbers(0, 100));
        assertThat(received(a, 50)).isEqualTo(numbers(0, 50));
        assertThat(a.transfer(address("c"), Probe.TCP, 20_000_000)).isTrue();
    }

    @Test
    void shouldCarryTheOtherWayWhenCutOneWay() throws IOException {
        Traffic before = traffic("a", "b");
        stage.network().apply(Map.of(new Direction("a", "b"), Conditions.CUT));
        a.send(0, 10, address("b"));
        b.send(0, 10, address("a"));
        awaitTraffic("a", "b", now -> now.cut() == before.cut() + 10);
        // It comes behind what was cut, were that not cut.
        c.send(99, 1, address("b"));

        assertThat(received(a, 10)).isEqualTo(numbers(0, 10));
        assertThat(received(b, 1)).containsExactly(99);
        assertThat(traffic("a", "b").passed()).isEqualTo(before.passed());
        stage.network().heal();
        a.send(10, 10, address("b"));
        assertThat(received(b, 10)).isEqualTo(numbers(10, 10));
    }

    @Test
    void shouldCutSeveralDirectionsInOneStep() throws IOException {
        long difference = traffic("a", "b").passed() - traffic("a", "c").passed();
        for (int round = 0; round < 20; round++) {
            a.sendOn(address("b"), address("c"));
            received(b, 1);
            stage.network()
                    .apply(Map.of(new Direction("a", "b"), Conditions.CUT, new Direction("a", "c"), Conditions.CUT));
            a.stop();
            Traffic toB = traffic("a", "b");
            Traffic toC = traffic("a", "c");
            stage.network().heal();

            // Each number goes to b first, then to c: the cut may come between the two, and nowhere else.
            assertThat(toB.passed() - toC.passed() - difference)
                    .as("round " + round)
                    .isBetween(0L, 1L);
            assertThat(toB.cut()).isPositive();
            difference = toB.passed() - toC.passed();
        }
    }

    /** Longer than the six and a half seconds after which a silent broker's lease is over. */
    @Test
    void shouldDeliverAfterTheHealWhatWasDelayedForLongerThanALease() throws IOException {
        Traffic before = traffic("a", "b");
        stage.network()
                .apply(Map.of(
                        new Direction("a", "b"), Conditions.delayed(Duration.ofSeconds(7), Duration.ofMillis(100))));
        a.send(0, 20, address("b"));
        awaitTraffic("a", "b", now -> now.delayed() == before.delayed() + 20);
        stage.network().heal();
        a.send(20, 5, address("b"));

        List<Integer> expected = new ArrayList<>(numbers(20, 5));
        expected.addAll(numbers(0, 20));
        assertThat(received(b, 25)).isEqualTo(expected);
    }

    @Test
    void shouldDropWhatIsUnderWayWhenCut() throws IOException {
        Traffic before = traffic("a", "b");
        stage.network()
                .apply(Map.of(new Direction("a", "b"), Conditions.delayed(Duration.ofMillis(500), Duration.ZERO)));
        a.send(0, 20, address("b"));
        stage.network().isolate("b");

        awaitTraffic("a", "b", now -> now.cut() == before.cut() + 20);
        stage.network().heal();
        a.send(99, 1, address("b"));
        assertThat(received(b, 1)).containsExactly(99);
    }

    @Test
    void shouldLoseSomeWhenLossy() throws IOException {
        Traffic before = traffic("a", "b");
        stage.network().apply(Map.of(new Direction("a", "b"), Conditions.CLEAR.withLoss(300)));
        a.send(0, 1_000, address("b"));
        awaitTraffic("a", "b", now -> now.passed() + now.lost() == before.passed() + before.lost() + 1_000);

        long lost = traffic("a", "b").lost() - before.lost();
        List<Integer> received = received(b, (int) (1_000 - lost));
        assertThat(lost).as("seed " + SEED).isBetween(200L, 400L);
        assertThat(received).isSorted().doesNotHaveDuplicates().hasSize((int) (1_000 - lost));
    }

    @Test
    void shouldDeliverTwiceWhenDuplicated() throws IOException {
        stage.network().apply(Map.of(new Direction("a", "b"), Conditions.CLEAR.withDuplicates(1_000)));
        a.send(0, 100, address("b"));

        assertThat(received(b, 200))
                .isEqualTo(numbers(0, 100).stream()
                        .flatMap(number -> Stream.of(number, number))
                        .toList());
    }

    @Test
    void shouldDeliverInAnotherOrderWhenReordered() throws IOException {
        stage.network().apply(Map.of(new Direction("a", "b"), Conditions.CLEAR.withReordering(200)));
        a.send(0, 1_000, address("b"));

        List<Integer> received = received(b, 1_000);
        assertThat(received).containsExactlyInAnyOrderElementsOf(numbers(0, 1_000));
        assertThat(received).as("seed " + SEED).isNotEqualTo(numbers(0, 1_000));
    }

    @Test
    void shouldCarryStreamsUnharmedWhenEverythingIsBad() throws IOException {
        Conditions bad = new Conditions(false, 10, 2_000_000, 1_000_000, 20, 20);
        Map<Direction, Conditions> all = new HashMap<>(stage.network().around("a", bad));
        stage.network().apply(all);

        assertThat(a.transfer(address("b"), Probe.TCP, 1_000_000)).isTrue();
        assertThat(traffic("a", "b").reordered()).isPositive();
    }

    @Test
    void shouldReachAHostThroughItsDoorWhenItIsCutOff() throws IOException {
        Endpoint door = stage.door("a", Probe.TCP);
        stage.network().isolate("a");
        long before = passedAround("a");

        try (Socket socket = new Socket(door.host(), door.port())) {
            socket.getOutputStream().write(new byte[1_000]);
            socket.shutdownOutput();
            assertThat(socket.getInputStream().readNBytes(Long.BYTES)).hasSize(Long.BYTES);
        }
        assertThat(passedAround("a")).as("nothing of it went over a cable").isEqualTo(before);
    }

    @Test
    void shouldGiveAServerOutsideAPlaceWhichCanBeCutOff() throws IOException {
        try (ServerSocket outside = new ServerSocket(0)) {
            Probe.start(() -> Probe.serve(outside));
            stage.outlet("c", 6_000, new Endpoint("127.0.0.1", outside.getLocalPort()));

            assertThat(a.transfer(address("c"), 6_000, 100_000)).isTrue();
            stage.network().isolate("c");
            assertThat(a.transfer(address("c"), 6_000, 100_000)).isFalse();
        }
    }

    /** A tool that dies takes everything along, however it dies. */
    @ParameterizedTest
    @ValueSource(strings = {"KILL", "TERM", "INT"})
    void shouldLeaveNothingWhenTheToolIsKilled(String signal, @TempDir Path directory) throws IOException {
        Process tool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        DoomedTool.class.getName(),
                        directory.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Map<String, String> named = new HashMap<>();
        try (BufferedReader lines = tool.inputReader()) {
            for (String line = lines.readLine(); !line.equals("ready"); line = lines.readLine()) {
                named.put(line.split(" ")[0], line.split(" ")[1]);
            }
            Path group = Path.of(named.getOrDefault("group", "/none"));
            assertThat(withNetwork(named.get("network"))).as("the stage stands").isNotEmpty();

            run("kill", "-" + signal, Long.toString(tool.pid()));

            Stage.await("no process on the stage is left: " + named, SOON, () -> withNetwork(named.get("network"))
                    .isEmpty());
            Stage.await("no control group is left: " + group, SOON, () -> Files.notExists(group));
            Stage.await("nobody has the tool's directory in his command line", SOON, () -> processes(
                            "cmdline", text -> text.contains(directory.toString()))
                    .isEmpty());
        }
        assertThat(Files.readString(Path.of("/proc/self/mountinfo"))).doesNotContain(directory.toString());
        assertThat(entries(directory.resolve("disk")))
                .as("what was mounted there is gone")
                .isEmpty();
        assertThat(Path.of("/dev/shm/weir-doomed")).doesNotExist();
    }

    private static Set<String> entries(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return new HashSet<>(all.map(Path::toString).toList());
        }
    }

    private static List<String> withNetwork(String network) {
        return processes("ns/net", network::equals);
    }

    private static List<String> processes(String file, Predicate<String> matching) {
        try (Stream<Path> all = Files.list(Path.of("/proc"))) {
            return all.filter(process -> process.getFileName().toString().matches("\\d+"))
                    .filter(process -> matching.test(read(process.resolve(file))))
                    .map(Path::toString)
                    .toList();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A process may end while it is looked at. */
    private static String read(Path file) {
        try {
            return file.endsWith("ns/net") ? Files.readSymbolicLink(file).toString() : Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }

    private static void run(String... command) throws IOException {
        try {
            assertThat(new ProcessBuilder(command).inheritIO().start().waitFor())
                    .isZero();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private static String address(String host) {
        return stage.address(host);
    }

    private static Traffic traffic(String from, String to) {
        return stage.network().traffic().get(new Direction(from, to));
    }

    private static long passedAround(String host) {
        return stage.network().traffic().entrySet().stream()
                .filter(entry -> entry.getKey().from().equals(host)
                        || entry.getKey().to().equals(host))
                .mapToLong(entry -> entry.getValue().passed())
                .sum();
    }

    private static void awaitTraffic(String from, String to, Predicate<Traffic> condition) {
        Stage.await(
                "frames from " + from + " to " + to + " are counted", SOON, () -> condition.test(traffic(from, to)));
    }

    private static List<Integer> received(Probe probe, int count) {
        List<Integer> all = new ArrayList<>();
        Stage.await(count + " packets", SOON, () -> {
            all.addAll(receivedNow(probe));
            return all.size() >= count;
        });
        return all;
    }

    private static List<Integer> receivedNow(Probe probe) {
        try {
            return probe.received();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static List<Integer> numbers(int from, int count) {
        return IntStream.range(from, from + count).boxed().toList();
    }
}
