package io.weir.cluster.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.sun.management.ThreadMXBean;
import io.weir.config.Endpoint;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GeneratorTest {
    private static final Load.Shape PIPELINED = new Load.Shape.Pipelined(32, 1_024);

    private static Load.Shape openLoop(double rate, int publishers) {
        return new Load.Shape.OpenLoop(rate, publishers, 1, Schedule.Distribution.poisson, 11);
    }

    private static Load load(Load.Shape shape, int connections, int bodyBytes, int warmUpMs, int measuredMs) {
        return new Load(
                shape,
                connections,
                bodyBytes,
                "bench",
                "bench",
                2_500,
                Duration.ofMillis(warmUpMs),
                Duration.ofMillis(measuredMs),
                Duration.ofSeconds(20),
                Load.Pause.park);
    }

    private static Result run(Wire wire, Endpoint endpoint, Load load) throws IOException {
        return Trial.run(new Target("peer", wire, List.of(endpoint), endpoint, List.of()), load, line -> {});
    }

    /** 10 publishers that waited for their answers would show 10 late messages of 2,000: 0.5%. These show all that were due: a quarter. */
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
     * Bodies so large that the buffers between hold only the first few of a stall's messages: the others wait in the schedule, and still
     * count from when they were due. Stamped when they are sent, a twelfth would be late and the median would be small.
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
        Load.Shape shape = new Load.Shape.OpenLoop(2_000, 10, 20, Schedule.Distribution.periodic, 3);
        try (NsqPeer peer = new NsqPeer()) {
            Result result = run(new NsqWire(), peer.endpoint(), load(shape, 5, 100, 0, 1_000));

            assertThat(result.sent()).isCloseTo(2_000L, within(200L));
            assertThat(result.sent() % 20).isZero();
            assertThat(result.received()).isEqualTo(result.sent());
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
            // A megabyte each: more than the consumer's buffer holds of them, so publishers are held back and let on
            // again.
            Result large = run(new RelayWire(), endpoint, load(PIPELINED, 2, Load.MAX_BODY_BYTES, 0, 300));
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
            assertThatThrownBy(() -> run(new NsqWire(), peer.endpoint(), load(openLoop(500, 10), 2, 100, 0, 5_000)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("peer at " + peer.endpoint());
        }
    }

    @Test
    void shouldEndWithAnErrorWhenThePeerSendsGarbage() throws IOException {
        byte[] garbage = "HTTP/1.1 400 Bad Request\r\n".getBytes(StandardCharsets.US_ASCII);
        try (NsqPeer peer = new NsqPeer().answeringAPublishWith(garbage)) {
            assertThatThrownBy(() -> run(new NsqWire(), peer.endpoint(), load(openLoop(500, 10), 2, 100, 0, 5_000)))
                    .isInstanceOf(WireException.class)
                    .hasMessageContaining("does not speak NSQ V2");
        }
    }

    @Test
    void shouldReadABrokersExpensesFromItsMetricsAndAProcessesFromTheSystem() {
        Expense.Sample broker = Expense.OfBroker.parse("# HELP weir_process_cpu_time_ns_total x\n"
                + "weir_process_cpu_time_ns_total{broker=\"b1\"} 2.5E9\n"
                + "weir_data_path_allocated_bytes_total{broker=\"b1\",loop=\"0\"} 100.0\n"
                + "weir_data_path_allocated_bytes_total{broker=\"b1\",loop=\"1\"} 50.0\n");
        assertThat(broker.cpuSeconds()).hasValue(2.5);
        assertThat(broker.allocatedBytes()).hasValue(150);

        Expense.Sample other = Expense.OfBroker.parse("nothing of ours 1\n");
        assertThat(other).isEqualTo(Expense.Sample.NONE);
        Expense self = new Expense.OfProcess(ProcessHandle.current().pid());
        assertThat(self.sample().cpuSeconds()).isPresent();
        assertThat(new Expense.OfProcess(Long.MAX_VALUE).sample()).isEqualTo(Expense.Sample.NONE);
        assertThat(Expense.Sample.sum(List.of(self, new Expense.OfProcess(Long.MAX_VALUE))))
                .as("half a sum is none")
                .isEqualTo(Expense.Sample.NONE);
        assertThat(Optional.of(Expense.Sample.sum(List.of(self)).cpuSeconds())).isPresent();
    }
}
