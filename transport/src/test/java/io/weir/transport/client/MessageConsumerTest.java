package io.weir.transport.client;

import static io.weir.transport.Awaiting.await;
import static io.weir.transport.client.Publishing.clientOf;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class MessageConsumerTest {
    private static final String ONE = "0000000000000001";
    private static final String TWO = "0000000000000002";
    private static final ConsumerSettings DEFAULTS = ConsumerSettings.defaults();
    private static final Duration SOON = Duration.ofMillis(20);

    @Test
    void shouldHandleAndFinishWithinItsCredit() throws IOException {
        List<String> handled = new CopyOnWriteArrayList<>();
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume(
                        "orders",
                        "audit",
                        DEFAULTS.withMaxInFlight(25),
                        delivery -> handled.add(
                                delivery.attempts() + new String(delivery.body(), StandardCharsets.UTF_8)))) {
            await("the credit", () -> broker.lines().contains("RDY 25"));
            broker.deliver(ONE, 3, "hello");

            await("the acknowledgement", () -> broker.lines().contains("FIN " + ONE));
            assertThat(handled).containsExactly("3hello");
            assertThat(broker.lines()).startsWith("SUB orders audit", "RDY 25");
            await("it is counted", () -> consumer.stats().finished() == 1);
            assertThat(consumer.stats().inFlight()).isZero();
            assertThat(consumer.stats().connected()).isEqualTo(1);
        }
    }

    @Test
    void shouldRequeueAndBackOffWhileTheHandlerThrows() throws IOException {
        AtomicInteger calls = new AtomicInteger();
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume(
                        "orders", "audit", DEFAULTS.withBackoff(Duration.ofMillis(7), SOON, SOON), delivery -> {
                            if (calls.incrementAndGet() == 1) {
                                throw new IllegalStateException("on purpose");
                            }
                        })) {
            await("the credit", () -> broker.lines().contains("RDY 200"));
            broker.deliver(ONE, 1, "bad");
            await("one is tried", () -> broker.lines().contains("RDY 1"));
            assertThat(broker.lines()).contains("REQ " + ONE + " 7").containsSubsequence("RDY 200", "RDY 0", "RDY 1");
            assertThat(consumer.stats().backingOff()).isTrue();
            broker.deliver(ONE, 2, "good");

            await("all of the credit again", () -> broker.lines()
                    .subList(broker.lines().indexOf("RDY 1"), broker.lines().size())
                    .contains("RDY 200"));
            assertThat(consumer.stats().handlerFailures()).isEqualTo(1);
            assertThat(consumer.stats().backingOff()).isFalse();
        }
    }

    private static Delivery firstDelivery(ScriptedBroker broker, BlockingQueue<Delivery> held) throws Exception {
        await("the credit", () -> broker.lines().contains("RDY 200"));
        broker.deliver(ONE, 1, "one");
        return held.poll(30, TimeUnit.SECONDS);
    }

    @Test
    void shouldLeaveTheDecisionToTheHandlerWhenToldSo() throws Exception {
        BlockingQueue<Delivery> held = new LinkedBlockingQueue<>();
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer =
                        client.consume("orders", "audit", DEFAULTS.acknowledgingByHand(), held::add)) {
            Delivery one = firstDelivery(broker, held);
            broker.deliver(TWO, 1, "two");
            Delivery two = held.poll(30, TimeUnit.SECONDS);
            one.touch();
            await("the touch", () -> broker.lines().contains("TOUCH " + ONE));
            assertThat(consumer.stats().inFlight()).isEqualTo(2);
            assertThat(one.finish()).isTrue();
            assertThat(one.finish()).as("a second time").isFalse();
            assertThat(one.requeue(SOON)).as("after it was finished").isFalse();
            assertThat(two.requeue(Duration.ofMillis(1_500))).isTrue();

            await("both decisions", () -> broker.lines().containsAll(List.of("FIN " + ONE, "REQ " + TWO + " 1500")));
            assertThat(broker.lines().stream().filter(line -> line.startsWith("FIN")))
                    .hasSize(1);
        }
    }

    @Test
    void shouldSubscribeAgainAtTheNextBrokerWhenOneIsGone() throws IOException {
        List<String> handled = new CopyOnWriteArrayList<>();
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker second = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first, second));
                MessageConsumer consumer = client.consume("orders", "audit", delivery -> handled.add(delivery.id()))) {
            await("the credit", () -> first.lines().contains("RDY 200"));
            first.close();
            await("the credit elsewhere", () -> second.lines().contains("RDY 200"));
            second.deliver(TWO, 1, "x");

            await("the acknowledgement", () -> second.lines().contains("FIN " + TWO));
            assertThat(consumer.stats().connectionsLost()).isEqualTo(1);
        }
    }

    @Test
    void shouldShareItsCreditBetweenBrokers() throws IOException {
        try (ScriptedBroker first = new ScriptedBroker();
                ScriptedBroker second = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(first, second));
                MessageConsumer consumer = client.consume(
                        "orders", "audit", DEFAULTS.withMaxInFlight(10).withConnections(2), delivery -> {})) {
            await(
                    "half the credit each",
                    () -> first.lines().contains("RDY 5") && second.lines().contains("RDY 5"));
            await("both are counted", () -> consumer.stats().connected() == 2);
        }
    }

    @Test
    void shouldCountAnAcknowledgementThatCameTooLate() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume("orders", "audit", delivery -> {})) {
            await("the credit", () -> broker.lines().contains("RDY 200"));
            broker.send(1, "E_FIN_FAILED FIN failed: message is not in flight here");

            await("it is counted", () -> consumer.stats().tooLate() == 1);
            assertThat(consumer.stats().connectionsLost()).isZero();
        }
    }

    @Test
    void shouldRequeueAndGoOnWhenTheHandlerThrowsAnError() throws IOException {
        AtomicInteger calls = new AtomicInteger();
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume(
                        "orders",
                        "audit",
                        DEFAULTS.withMaxInFlight(1).withBackoff(Duration.ofMillis(7), SOON, SOON),
                        delivery -> {
                            if (calls.incrementAndGet() == 1) {
                                throw new StackOverflowError("on purpose");
                            }
                        })) {
            await("the credit", () -> broker.lines().contains("RDY 1"));
            broker.deliver(ONE, 1, "bad");
            await("it is given back", () -> broker.lines().contains("REQ " + ONE + " 7"));
            await("nothing is held", () -> consumer.stats().inFlight() == 0);
            broker.deliver(TWO, 1, "good");

            await("the next", () -> broker.lines().contains("FIN " + TWO));
            assertThat(consumer.stats().handlerFailures()).isEqualTo(1);
            assertThat(consumer.stats().connectionsLost()).isZero();
        }
    }

    @Test
    void shouldNotHoldItAgainstTheBrokerThatItTookMessagesBack() throws Exception {
        BlockingQueue<Delivery> held = new LinkedBlockingQueue<>();
        try (ScriptedBroker broker = new ScriptedBroker().timingOutAfter(1_000);
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume(
                        "orders", "audit", DEFAULTS.acknowledgingByHand().withMaxInFlight(2), held::add)) {
            await("the credit", () -> broker.lines().contains("RDY 2"));
            broker.deliver(ONE, 1, "one");
            broker.deliver(TWO, 1, "two");
            await("less credit, as both are still held here", () -> broker.lines()
                    .contains("RDY 0"));
            // They were on their way when the broker heard of it.
            broker.deliver(ONE, 2, "one");
            broker.deliver(TWO, 2, "two");
            await("all four", () -> held.size() == 4);
            assertThat(consumer.stats().connectionsLost()).isZero();

            held.forEach(Delivery::finish);
            await(
                    "all of the credit again",
                    () -> broker.lines().lastIndexOf("RDY 2") > broker.lines().lastIndexOf("RDY 0"));
        }
    }

    @Test
    void shouldNotHandleWhatIsSomebodyElsesByThen() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        List<String> handled = new CopyOnWriteArrayList<>();
        try (ScriptedBroker broker = new ScriptedBroker().timingOutAfter(500);
                WeirClient client = WeirClient.create(clientOf(broker).withHandlerThreads(1));
                MessageConsumer consumer = client.consume("orders", "audit", DEFAULTS.withMaxInFlight(2), delivery -> {
                    handled.add(delivery.id());
                    go.await();
                })) {
            await("the credit", () -> broker.lines().contains("RDY 2"));
            broker.deliver(ONE, 1, "one");
            broker.deliver(TWO, 1, "waits behind it");
            await("both are overdue", () -> broker.lines().contains("RDY 0"));
            go.countDown();

            await("it is given up", () -> consumer.stats().inFlight() == 0);
            assertThat(handled).containsExactly(ONE);
            broker.deliver(TWO, 2, "the next attempt");
            await("it is handled", () -> broker.lines().contains("FIN " + TWO));
            assertThat(broker.lines()).as("the next attempt is not requeued").noneMatch(line -> line.startsWith("REQ"));
        }
    }

    @Test
    void shouldNotGiveBackOrKeepTheNextAttemptWhenItIsLateItself() throws Exception {
        BlockingQueue<Delivery> held = new LinkedBlockingQueue<>();
        // Long enough for the handler to get it in time, also on a busy machine.
        try (ScriptedBroker broker = new ScriptedBroker().timingOutAfter(1_000);
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume(
                        "orders", "audit", DEFAULTS.acknowledgingByHand().withMaxInFlight(1), held::add)) {
            await("the credit", () -> broker.lines().contains("RDY 1"));
            broker.deliver(ONE, 1, "one");
            await("it is overdue", () -> broker.lines().contains("RDY 0"));
            Delivery late = held.take();
            late.touch();
            late.requeue(SOON);
            await(
                    "the credit again",
                    () -> broker.lines().lastIndexOf("RDY 1") > broker.lines().indexOf("RDY 0"));

            assertThat(broker.lines()).noneMatch(line -> line.startsWith("REQ") || line.startsWith("TOUCH"));
            assertThat(consumer.stats().inFlight()).isZero();
        }
    }

    @Test
    void shouldTryLessAndLessOftenWhenItMayNotHaveTheChannel() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker()
                        .answeringSubscriptions("E_UNAUTHORIZED AUTH failed for SUB on \"orders\"");
                WeirClient client =
                        WeirClient.create(clientOf(broker).withBackoff(Duration.ofMillis(10), Duration.ofSeconds(10)));
                MessageConsumer consumer = client.consume("orders", "audit", delivery -> {})) {
            await("several attempts", () -> broker.subscribedNs().size() >= 7);

            // Pauses double, and are drawn from their upper half: 5, 10, 20, 40, 80 and 160 ms at the least.
            assertThat(broker.subscribedNs().get(6) - broker.subscribedNs().get(0))
                    .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(315));
            assertThat(consumer.stats().connected()).isZero();
            broker.answeringSubscriptions(ScriptedBroker.OK);
            await("it may", () -> consumer.stats().connected() == 1);
        }
    }

    @Test
    void shouldEndAConnectionThatSendsMoreThanItsCredit() throws IOException {
        BlockingQueue<Delivery> held = new LinkedBlockingQueue<>();
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume(
                        "orders", "audit", DEFAULTS.acknowledgingByHand().withMaxInFlight(1), held::add)) {
            await("the credit", () -> broker.lines().contains("RDY 1"));
            broker.deliver(ONE, 1, "one");
            await("the first is held", () -> !held.isEmpty());
            broker.deliver(TWO, 1, "two");

            await("the end", () -> consumer.stats().connectionsLost() == 1);
            assertThat(consumer.stats().received()).isEqualTo(1);
            held.remove().finish();
        }
    }

    @Test
    void shouldFinishWhatItHoldsBeforeItLeaves() throws Exception {
        BlockingQueue<Delivery> held = new LinkedBlockingQueue<>();
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker))) {
            MessageConsumer consumer = client.consume("orders", "audit", DEFAULTS.acknowledgingByHand(), held::add);
            Delivery one = firstDelivery(broker, held);
            Thread closing = new Thread(consumer::close);
            closing.start();
            await("the leave", () -> broker.lines().contains("CLS"));
            one.finish();
            closing.join();

            await("the acknowledgement", () -> broker.lines().containsAll(List.of("RDY 0", "CLS", "FIN " + ONE)));
        }
    }

    @Test
    void shouldTouchUntilItIsDecided() throws Exception {
        BlockingQueue<Delivery> held = new LinkedBlockingQueue<>();
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer =
                        client.consume("orders", "audit", DEFAULTS.acknowledgingByHand(), held::add)) {
            Delivery one = firstDelivery(broker, held);
            one.touch();
            await("the touch", () -> broker.lines().contains("TOUCH " + ONE));
            one.touch();
            one.finish();
            one.touch();
            broker.deliver(TWO, 1, "two");
            held.poll(30, TimeUnit.SECONDS).finish();

            await("both are finished", () -> consumer.stats().finished() == 2);
            await("the broker knows", () -> broker.lines().contains("FIN " + TWO));
            assertThat(broker.lines().stream().filter(line -> line.endsWith(ONE)))
                    .containsExactly("TOUCH " + ONE, "TOUCH " + ONE, "FIN " + ONE);
        }
    }

    @Test
    void shouldCountTheTimeOutFromTheLastTouch() {
        Delivery delivery = new Delivery(null, null, ONE, 1, 0, new byte[] {1}, 1_000, 5_000);
        assertThat(delivery.takenBack(6_000)).isFalse();
        assertThat(delivery.takenBack(6_001)).isTrue();
        delivery.touched(5_900);

        assertThat(delivery.takenBack(6_900)).isFalse();
        assertThat(delivery.takenBack(6_901)).isTrue();
        assertThat(delivery.counts(6_400)).isTrue();
        assertThat(delivery.counts(6_401)).isFalse();
    }

    private static byte[] frame(int size, int type, int contentBytes) {
        return ByteBuffer.allocate(8 + contentBytes).putInt(size).putInt(type).array();
    }

    static List<byte[]> brokenFrames() {
        return List.of(
                frame(-1, 0, 0),
                frame(Integer.MIN_VALUE, 2, 0),
                frame(0, 0, 0),
                frame(3, 0, 0),
                // Larger than any message may be: given up before memory is taken for it.
                frame(Integer.MAX_VALUE, 2, 0),
                frame((1 << 20) + (64 << 10) + 1, 2, 0),
                frame(4, 17, 0),
                // Shorter than a message's head.
                frame(4, 2, 0),
                frame(4 + 25, 2, 25));
    }

    @ParameterizedTest
    @MethodSource("brokenFrames")
    void shouldLeaveABrokerThatSendsABrokenFrame(byte[] frame) throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume("orders", "audit", delivery -> {})) {
            await("the credit", () -> broker.lines().contains("RDY 200"));
            broker.sendBytes(frame);
            await("the end", () -> consumer.stats().connectionsLost() == 1);
            await("another connection", () -> consumer.stats().connected() == 1);
            await(
                    "its credit",
                    () -> broker.lines().lastIndexOf("RDY 200") > broker.lines().indexOf("RDY 200"));
            broker.deliver(ONE, 1, "one");

            await("it is handled", () -> broker.lines().contains("FIN " + ONE));
            assertThat(consumer.stats().received()).isEqualTo(1);
        }
    }

    @Test
    void shouldNotHandleAMessageThatWasCutOff() throws IOException {
        byte[] whole = ScriptedBroker.message(ONE, 1, "hello");
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker));
                MessageConsumer consumer = client.consume("orders", "audit", delivery -> {})) {
            await("the credit", () -> broker.lines().contains("RDY 200"));
            broker.sendBytes(Arrays.copyOf(whole, whole.length - 1));
            broker.hangUp();
            await(
                    "another connection",
                    () -> consumer.stats().connectionsLost() == 1
                            && consumer.stats().connected() == 1);

            assertThat(consumer.stats().received()).isZero();
        }
    }

    @Test
    void shouldLeaveABrokerThatIsSilent() throws IOException {
        try (ScriptedBroker broker = new ScriptedBroker();
                WeirClient client = WeirClient.create(clientOf(broker).withHeartbeat(Duration.ofSeconds(1)));
                MessageConsumer consumer = client.consume("orders", "audit", delivery -> {})) {
            await("the credit", () -> broker.lines().contains("RDY 200"));
            assertThat(broker.identities().get(0)).contains("\"heartbeat_interval\":1000");

            await("it is given up", () -> consumer.stats().connectionsLost() == 1);
            await("another connection", () -> consumer.stats().connected() == 1);
        }
    }
}
