package io.weir.cluster.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.sun.management.ThreadMXBean;
import io.weir.cluster.bench.wire.NsqWire;
import io.weir.cluster.bench.wire.RelayWire;
import io.weir.cluster.bench.wire.WireException;
import io.weir.cluster.bench.wire.WireProtocol;
import io.weir.config.Endpoint;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GeneratorTest {
    private static final Load.Shape PIPELINED = new Load.Shape.Pipelined(new Load.Batch(32, Load.Batch.As.pubs), 1_024);

    private static Load.Shape openLoop(double rate, int publishers) {
        return new Load.Shape.OpenLoop(
                rate, publishers, publishers, Load.Batch.NONE, SendSchedule.Distribution.poisson, 11);
    }

    private static Load load(Load.Shape shape, int connections, int bodyBytes, int warmUpMs, int measuredMs) {
        return load(shape, connections, 1, bodyBytes, warmUpMs, measuredMs);
    }

    private static Load load(
            Load.Shape shape, int connections, int consumers, int bodyBytes, int warmUpMs, int measuredMs) {
        return new Load(
                shape,
                connections,
                consumers,
                bodyBytes,
                "bench",
                "bench",
                2_500,
                Duration.ofMillis(warmUpMs),
                Duration.ofMillis(measuredMs),
                Duration.ofSeconds(20),
                Load.Pause.park);
    }

    private static Result run(WireProtocol wire, Endpoint endpoint, Load load) throws IOException {
        return Trial.run(new Target("peer", wire, List.of(endpoint), endpoint, List.of()), load, line -> {});
    }

    /**
     * 10 publishers that waited for their answers would show 10 late messages of 2,000: 0.5%. These show all that were
     * due: a quarter.
     */
    @Test
    void shouldShowAStallInEveryMessageThatWasDueMeanwhile() throws IOException {
        try (NsqPeer peer = new NsqPeer().stallingAt(1_000, 500)) {
            Result result = run(new NsqWire(), peer.endpoint(), load(openLoop(1_000, 10), 5, 100, 0, 2_000));

            assertThat(result.received()).isEqualTo(result.sent());
            assertThat(result.acknowledged()).isEqualTo(result.sent());
            assertThat(result.sent()).isCloseTo(2_000L, within(200L));
            assertStallOfHalfASecondShows(result);
        }
    }

    /**
     * Bodies so large that the buffers between hold only the first few of a stall's messages: the others wait in the
     * schedule, and still count from when they were due. Stamped when they are sent, a twelfth would be late and the
     * median would be small.
     */
    @Test
    void shouldShowAStallAlsoInMessagesThatCouldNotEvenBeSentMeanwhile() throws IOException {
        try (NsqPeer peer = new NsqPeer().stallingAt(500, 1_200)) {
            Result result = run(new NsqWire(), peer.endpoint(), load(openLoop(1_000, 10), 1, 60_000, 0, 2_000));

            assertThat(result.received()).isEqualTo(result.sent());
            assertThat(result.sent()).isCloseTo(2_000L, within(200L));
            // Six tenths of all were due within the stall, uniformly: half of all waited a sixth of it or more.
            assertThat(result.p50Micros()).isGreaterThan(100_000);
            assertThat(result.maxMicros()).isGreaterThan(1_150_000);
        }
    }

    @Test
    void shouldRunSlowerAndMeasureOnlyFromWhenItIsToldTo() throws Exception {
        try (NsqPeer peer = new NsqPeer();
                Generator generator = Generator.connect(
                        new Target("peer", new NsqWire(), List.of(peer.endpoint()), peer.endpoint(), List.of()),
                        load(openLoop(1_000, 10), 5, 100, 60_000, 500))) {
            generator.slower(10);
            Thread director = new Thread(() -> {
                while (generator.sentSoFar() < 50) {
                    Thread.onSpinWait();
                }
                generator.slower(1);
                generator.measureNow();
            });
            director.start();
            generator.run();
            director.join();
            Result result = generator.result(Result.Broker.UNKNOWN);
            assertThat(result.sent()).as("of half a second at full pace").isCloseTo(500L, within(150L));
            assertThat(result.received()).isEqualTo(result.sent());
            assertThat(result.missing()).isZero();
            assertThat(generator.sentSoFar()).isGreaterThanOrEqualTo(result.sent() + 50);
        }
    }

    @Test
    void shouldEndAtOnceWhenItIsStopped() throws Exception {
        try (NsqPeer peer = new NsqPeer();
                Generator generator = Generator.connect(
                        new Target("peer", new NsqWire(), List.of(peer.endpoint()), peer.endpoint(), List.of()),
                        load(openLoop(1_000, 10), 5, 100, 60_000, 60_000))) {
            generator.stop();
            assertThatThrownBy(generator::run).hasMessageContaining("stopped");
        }
    }

    private static void assertStallOfHalfASecondShows(Result result) {
        // Due uniformly within the stall of a quarter of the run: a fifth of all waited 100 ms or more, a twentieth 400
        // ms or more.
        assertThat(result.maxMicros()).isGreaterThan(480_000);
        assertThat(result.p99Micros()).isGreaterThan(440_000);
        assertThat(result.p95Micros()).isGreaterThan(350_000);
    }

    @Test
    void shouldGiveUpAndSayWhatItCouldNotSendWhenTheBrokerTakesNothingMore() throws IOException {
        Load endless = load(openLoop(1_000, 10), 1, 100_000, 0, 1_000);
        Load impatient = new Load(
                endless.shape(),
                endless.connections(),
                endless.consumers(),
                endless.bodyBytes(),
                endless.topic(),
                endless.channel(),
                endless.credit(),
                endless.warmUp(),
                endless.measured(),
                Duration.ofMillis(200),
                endless.pause());
        try (NsqPeer peer = new NsqPeer().stallingAt(10, 3_000)) {
            Result result = run(new NsqWire(), peer.endpoint(), impatient);

            assertThat(result.unsent()).isPositive();
            assertThat(result.missing()).isPositive();
            assertThat(result.sent() + result.unsent()).isCloseTo(1_000L, within(150L));
        }
    }

    @Test
    void shouldLeaveTheWarmUpOut() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            Result result = run(new NsqWire(), peer.endpoint(), load(openLoop(1_000, 10), 5, 100, 500, 500));

            assertThat(result.received()).isEqualTo(result.sent());
            assertThat(result.sent()).isCloseTo(500L, within(150L));
            assertThat(result.acknowledged()).isCloseTo(1_000L, within(200L));
            assertThat(result.missing()).isZero();
        }
    }

    @Test
    void shouldSendBatchesAtTheSameRate() throws IOException {
        Load.Batch batch = new Load.Batch(20, Load.Batch.As.pubs);
        Load.Shape shape = new Load.Shape.OpenLoop(2_000, 10, 10, batch, SendSchedule.Distribution.periodic, 3);
        try (NsqPeer peer = new NsqPeer()) {
            Result result = run(new NsqWire(), peer.endpoint(), load(shape, 5, 100, 0, 1_000));

            assertThat(result.sent()).isCloseTo(2_000L, within(200L));
            assertThat(result.sent() % 20).isZero();
            assertThat(result.received()).isEqualTo(result.sent());
        }
    }

    /** 13 publishers in 3 groups: 4, 4 and 5, and each sends two messages, as one publish. */
    @Test
    void shouldHaveThePublishersOfAGroupSendAtTheSameInstants() throws IOException {
        Load.Batch batch = new Load.Batch(2, Load.Batch.As.mpub);
        Load.Shape shape = new Load.Shape.OpenLoop(2_600, 13, 3, batch, SendSchedule.Distribution.poisson, 5);
        try (NsqPeer peer = new NsqPeer()) {
            Result result = run(new NsqWire(), peer.endpoint(), load(shape, 4, 100, 0, 1_000));

            assertThat(result.sent()).isCloseTo(2_600L, within(600L));
            assertThat(result.received()).isEqualTo(result.sent());
            assertThat(result.acknowledged()).isEqualTo(result.sent());
            Map<Long, Long> messagesAt = peer.intendedNs().stream()
                    .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
            assertThat(messagesAt.values()).containsOnly(8L, 10L);
            assertThat(peer.lines().stream().filter(line -> line.startsWith("MPUB")))
                    .hasSize((int) result.sent() / 2);
        }
    }

    /**
     * A buffer holds two of these messages, and a group has three: the third waits, and nothing is sent twice or left
     * out.
     */
    @Test
    void shouldGoOnWithinAGroupWhenABufferWasFull() throws IOException {
        Load.Shape shape = new Load.Shape.OpenLoop(30, 3, 1, Load.Batch.NONE, SendSchedule.Distribution.periodic, 5);
        try (NsqPeer peer = new NsqPeer()) {
            Result result = run(new NsqWire(), peer.endpoint(), load(shape, 1, 300_000, 0, 1_000));

            assertThat(result.sent()).isEqualTo(30);
            assertThat(result.received()).isEqualTo(30);
            assertThat(peer.intendedNs().stream().distinct()).hasSize(10);
        }
    }

    @Test
    void shouldDivideMessagesAmongConsumers() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            Result result = run(new NsqWire(), peer.endpoint(), load(openLoop(1_000, 10), 5, 3, 100, 0, 500));

            assertThat(result.received()).isPositive().isEqualTo(result.sent());
            assertThat(peer.lines().stream().filter(line -> line.startsWith("SUB")))
                    .hasSize(3);
        }
    }

    @Test
    void shouldQueueEverythingBeforeConsumersTakeAny() throws IOException {
        Load.Shape shape = new Load.Shape.Queued(2_000, new Load.Batch(20, Load.Batch.As.pubs), 400);
        try (NsqPeer peer = new NsqPeer()) {
            Target target = new Target("peer", new NsqWire(), List.of(peer.endpoint()), peer.endpoint(), List.of());
            try (Generator generator = Generator.connect(target, load(shape, 3, 100, 0, 0))) {
                long[] receivedWhenQueued = {-1};
                generator.run(() -> receivedWhenQueued[0] = generator.receivedSoFar());
                Result result = generator.result(Result.Broker.UNKNOWN);

                assertThat(receivedWhenQueued[0]).isZero();
                assertThat(result.acknowledged()).isEqualTo(2_000);
                assertThat(result.received()).isEqualTo(2_000);
            }
        }
    }

    @Test
    void shouldPassOverWhatAnEarlierRunLeftBehind() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            peer.enqueue("left behind".getBytes(StandardCharsets.UTF_8));
            peer.enqueue(new byte[100]);
            Result result = run(new NsqWire(), peer.endpoint(), load(openLoop(500, 10), 2, 100, 0, 300));

            assertThat(result.received()).isEqualTo(result.sent());
            assertThat(peer.finished()).contains("left behind");
        }
    }

    @Test
    void shouldCountRefusals() throws IOException {
        try (NsqPeer peer = new NsqPeer().refusing("E_PUB_FAILED too fast")) {
            Result result = run(new NsqWire(), peer.endpoint(), load(openLoop(500, 10), 2, 100, 0, 300));

            assertThat(result.refused()).isPositive().isEqualTo(result.sent());
            assertThat(result.received()).isZero();
            assertThat(result.missing()).isZero();
        }
    }

    @Test
    void shouldPipelineWithinItsWindow() throws IOException {
        try (NsqPeer peer = new NsqPeer()) {
            Result result = run(new NsqWire(), peer.endpoint(), load(PIPELINED, 2, 100, 100, 500));

            assertThat(result.received()).isPositive();
            assertThat(result.missing()).isZero();
            assertThat(result.messagesPerSecond()).isEqualTo(result.received() * 2.0);
        }
    }

    @Test
    void shouldGoThroughTheRelayAndAllocateNothingPerMessage() throws Exception {
        try (Relay relay = new Relay(0)) {
            Thread thread = new Thread(() -> {
                try {
                    relay.run();
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            thread.start();
            Endpoint endpoint = new Endpoint("127.0.0.1", relay.port());
            Result spaced = run(new RelayWire(), endpoint, load(openLoop(2_000, 100), 10, 100, 100, 500));
            assertThat(spaced.received()).isPositive().isEqualTo(spaced.sent());
            assertThat(spaced.missing()).isZero();
            Result many = run(new RelayWire(), endpoint, load(openLoop(5_000, 500), 500, 3, 100, 0, 500));
            assertThat(many.received()).isPositive().isEqualTo(many.sent());
            // A megabyte each: more than the consumer's buffer holds of them, so publishers are held back and let on
            // again.
            Result large = run(new RelayWire(), endpoint, load(PIPELINED, 2, Load.MAX_BODY_BYTES, 0, 2_000));
            assertThat(large.received()).isPositive();
            assertThat(large.missing()).isZero();

            Target target = new Target("relay", new RelayWire(), List.of(endpoint), endpoint, List.of());
            try (Generator generator = Generator.connect(target, load(PIPELINED, 2, 100, 500, 500))) {
                ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
                long before = threads.getCurrentThreadAllocatedBytes();
                generator.run();
                long allocated = threads.getCurrentThreadAllocatedBytes() - before;
                long received = generator.receivedSoFar();
                assertThat((double) allocated / received)
                        .as("bytes allocated a message, %d in all over %d messages", allocated, received)
                        .isLessThan(1);
            }
            relay.close();
            thread.join();
        }
    }

    @Test
    void shouldSayWhoClosedTheConnectionAndWhy() throws IOException {
        try (NsqPeer peer = new NsqPeer().closingAfter(20)) {
            assertThatThrownBy(() -> run(new NsqWire(), peer.endpoint(), load(openLoop(500, 10), 2, 100, 0, 1_000)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("peer at " + peer.endpoint());
        }
    }

    @Test
    void shouldEndWithAnErrorWhenThePeerSendsGarbage() throws IOException {
        byte[] garbage = "HTTP/1.1 400 Bad Request\r\n".getBytes(StandardCharsets.US_ASCII);
        try (NsqPeer peer = new NsqPeer().answeringAPublishWith(garbage)) {
            assertThatThrownBy(() -> run(new NsqWire(), peer.endpoint(), load(openLoop(500, 10), 2, 100, 0, 1_000)))
                    .isInstanceOf(WireException.class)
                    .hasMessageContaining("does not speak NSQ V2");
        }
    }

    @Test
    void shouldTellStartEndAndMostOfACourseUnlessASampleIsMissing() {
        OptionalDouble mebibyte = OptionalDouble.of(1 << 20);
        OptionalDouble three = OptionalDouble.of(3 << 20);
        assertThat(Result.Course.ofMiB(List.of(mebibyte, three, mebibyte))).isEqualTo(new Result.Course(1, 1, 3));
        assertThat(Result.Course.ofMiB(List.of(mebibyte, OptionalDouble.empty())))
                .isNull();
    }

    @Test
    void shouldReadABrokersExpensesFromItsMetricsAndAProcessesFromTheSystem() {
        Expense.Sample broker = Expense.OfBroker.parse("# HELP weir_process_cpu_time_ns_total x\n"
                + "weir_process_cpu_time_ns_total{broker=\"b1\"} 2.5E9\n"
                + "weir_data_path_allocated_bytes_total{broker=\"b1\",loop=\"0\"} 100.0\n"
                + "weir_data_path_allocated_bytes_total{broker=\"b1\",loop=\"1\"} 50.0\n"
                + "weir_data_path_cpu_seconds_total{broker=\"b1\"} 1.5\n"
                + "weir_process_resident_bytes{broker=\"b1\"} 3.0E8\n"
                + "weir_jvm_heap_after_collection_bytes{broker=\"b1\"} NaN\n");
        assertThat(broker.cpuSeconds()).hasValue(2.5);
        assertThat(broker.allocatedBytes()).hasValue(150);
        assertThat(broker.dataPathSeconds()).hasValue(1.5);
        assertThat(broker.residentBytes()).hasValue(3e8);
        assertThat(broker.heapBytes()).isEmpty();

        Expense.Sample other = Expense.OfBroker.parse("nothing of ours 1\n");
        assertThat(other).isEqualTo(Expense.Sample.NONE);
        Expense self = new Expense.OfProcess(ProcessHandle.current().pid());
        assertThat(self.sample().cpuSeconds()).isPresent();
        assertThat(self.sample().residentBytes().orElseThrow()).isBetween(20e6, 20e9);
        assertThat(new Expense.OfProcess(Long.MAX_VALUE).sample()).isEqualTo(Expense.Sample.NONE);
        assertThat(Expense.Sample.sum(List.of(self, new Expense.OfProcess(Long.MAX_VALUE))))
                .as("half a sum is none")
                .isEqualTo(Expense.Sample.NONE);
        assertThat(Optional.of(Expense.Sample.sum(List.of(self)).cpuSeconds())).isPresent();
    }
}
