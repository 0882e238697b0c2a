package io.weir.topics.path;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.TopicName;
import io.weir.topics.definition.Definitions;
import io.weir.topics.definition.LimitMode;
import io.weir.topics.definition.Overflow;
import io.weir.topics.definition.TopicSettings;
import io.weir.transport.gateway.GatewaySettings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MessagePathTest {
    private RunningBroker broker;

    @BeforeEach
    void start() throws IOException {
        broker = RunningBroker.start().supply("orders", 1_000_000, 1_000_000);
    }

    @AfterEach
    void stop() {
        broker.close();
    }

    @Test
    void shouldAnswerIdentifyInCompactJsonWhenAskedToNegotiate() throws IOException {
        try (NsqSocket client = client()) {
            client.sendBody(
                    "IDENTIFY",
                    "{\"client_id\":\"x\",\"feature_negotiation\":true,\"heartbeat_interval\":5000,\"msg_timeout\":2000,"
                            + "\"tls_v1\":true,\"unknown\":{\"a\":[1,2]}}");
            assertThat(client.answer())
                    .contains("\"version\":\"weir-")
                    .contains("\"max_rdy_count\":2500")
                    .contains("\"msg_timeout\":2000")
                    .contains("\"heartbeat_interval\":5000")
                    .contains("\"tls_v1\":false")
                    .contains("\"snappy\":false");
            client.sendBody("IDENTIFY", "{}");
            assertThat(client.answer()).isEqualTo("OK");
        }
    }

    @Test
    void shouldRefuseAnIdentityItCannotServe() throws IOException {
        for (String body : new String[] {
            "no json",
            "[1]",
            "{\"heartbeat_interval\":1",
            "{\"heartbeat_interval\":1}",
            "{\"msg_timeout\":\"x\"}",
            "{\"msg_timeout\":99999999}"
        }) {
            try (NsqSocket client = client()) {
                client.sendBody("IDENTIFY", body);
                assertThat(client.answer()).as(body).startsWith("E_BAD_BODY");
                assertThat(client.ended()).isTrue();
            }
        }
    }

    @Test
    void shouldCarryAMessageFromPublisherToConsumer() throws IOException {
        try (NsqSocket publisher = client();
                NsqSocket consumer = client()) {
            consumer.send("SUB orders work\nRDY 10\n");
            assertThat(consumer.answer()).isEqualTo("OK");
            publisher.sendBody("PUB orders", "hello");
            assertThat(publisher.answer()).isEqualTo("OK");
            NsqSocket.Frame message = consumer.frame();
            assertThat(message.type()).isEqualTo(2);
            assertThat(message.text()).isEqualTo("hello");
            assertThat(message.attempts()).isEqualTo(1);
            assertThat(message.id()).matches("[0-9a-f]{16}");
            consumer.send("TOUCH " + message.id() + "\nREQ " + message.id() + " 0\n");
            NsqSocket.Frame again = consumer.frame();
            assertThat(again.id()).isEqualTo(message.id());
            assertThat(again.attempts()).isEqualTo(2);
            consumer.send("FIN " + message.id() + "\nFIN " + message.id() + "\n");
            assertThat(consumer.answer()).startsWith("E_FIN_FAILED");
            consumer.send("REQ " + message.id() + " 0\nTOUCH " + message.id() + "\n");
            assertThat(consumer.answer()).startsWith("E_REQ_FAILED");
            assertThat(consumer.answer()).startsWith("E_TOUCH_FAILED");
            consumer.send("CLS\n");
            assertThat(consumer.answer()).isEqualTo("CLOSE_WAIT");
        }
    }

    @Test
    void shouldAnswerInOrderWhenCommandsComeInOnePacketOrByteByByte() throws IOException {
        try (NsqSocket publisher = client()) {
            StringBuilder many = new StringBuilder();
            for (int i = 0; i < 100; i++) {
                many.append("PUB orders\n\0\0\0\1x");
            }
            publisher.send(many.toString());
            for (int i = 0; i < 100; i++) {
                assertThat(publisher.answer()).isEqualTo("OK");
            }
            for (char c : "PUB orders\r\n\0\0\0\2xy".toCharArray()) {
                publisher.send(String.valueOf(c));
            }
            assertThat(publisher.answer()).isEqualTo("OK");
            assertThat(broker.stats("orders").published()).isEqualTo(101);
        }
    }

    @Test
    void shouldCarryLargeMessagesWhole() throws IOException {
        String large = "0123456789abcdef".repeat((1 << 20) / 16);
        try (NsqSocket publisher = client();
                NsqSocket consumer = client()) {
            consumer.send("SUB orders work\nRDY 3\n");
            assertThat(consumer.answer()).isEqualTo("OK");
            for (int i = 0; i < 3; i++) {
                publisher.sendBody("PUB orders", large);
            }
            publisher.sendBatch("orders", large.substring(1), "small");
            for (int i = 0; i < 4; i++) {
                assertThat(publisher.answer()).isEqualTo("OK");
            }
            for (int i = 0; i < 3; i++) {
                NsqSocket.Frame frame = consumer.frame();
                assertThat(frame.text()).isEqualTo(large);
                consumer.send("FIN " + frame.id() + "\n");
            }
            assertThat(consumer.frame().text()).isEqualTo(large.substring(1));
            assertThat(consumer.frame().text()).isEqualTo("small");
        }
    }

    @Test
    void shouldEndAConnectionWithTheCodeOfItsMistake() throws IOException {
        refused("BOGUS\n", "E_INVALID");
        refused("x".repeat(300), "E_INVALID");
        refused("PUB bad!name\n", "E_BAD_TOPIC");
        refused("SUB orders bad!name\n", "E_BAD_CHANNEL");
        refused("PUB\n", "E_INVALID");
        refused("PUB orders\n\0\0\0\0", "E_BAD_MESSAGE");
        refused("PUB orders\n\u007f\u00ff\u00ff\u00ff", "E_BAD_MESSAGE");
        refused("PUB orders\n\u00ff\u00ff\u00ff\u00ff", "E_BAD_MESSAGE");
        refused("MPUB orders\n\u007f\u00ff\u00ff\u00ff", "E_BAD_BODY");
        refused("MPUB orders\n\0\0\0\5\0\0\0\7x", "E_BAD_BODY");
        refused("MPUB orders\n\0\0\0\11\0\0\0\1\0\0\0\5x", "E_BAD_MESSAGE");
        refused("DPUB orders 99999999999\n\0\0\0\1x", "E_INVALID");
        refused("DPUB orders 3600001\n\0\0\0\1x", "E_INVALID");
        refused("IDENTIFY\n\0\0\0\31{\"heartbeat_interval\":-1}SUB orders c\n", "OK", "E_INVALID cannot SUB");
        refused("RDY 1\n", "E_INVALID");
        refused("FIN 0123456789abcdef\n", "E_INVALID");
        refused("FIN short\n", "E_INVALID");
        refused("CLS\n", "E_INVALID");
        refused("AUTH\n\0\0\0\1x", "E_AUTH_DISABLED");
        refused("SUB orders c#ephemeral\nRDY 2501\n", "OK", "E_INVALID");
        refused("SUB orders c#ephemeral\nSUB orders c#ephemeral\n", "OK", "E_INVALID");
        try (NsqSocket client = new NsqSocket(broker.address())) {
            client.send("GET / HTTP/1.1\r\n\r\n");
            assertThat(client.answer()).isEqualTo("E_BAD_PROTOCOL");
            assertThat(client.ended()).isTrue();
        }
        assertThat(broker.stats("orders").published()).isZero();
    }

    /** A consumer that takes its leave gets nothing more, and may still say what became of what it has. */
    @Test
    void shouldDeliverNothingAfterCloseAndTakeWhatIsFinishedOrGivenBack() throws IOException {
        try (NsqSocket leaving = client();
                NsqSocket staying = client();
                NsqSocket publisher = client()) {
            leaving.send("SUB orders work\nRDY 2\n");
            assertThat(leaving.answer()).isEqualTo("OK");
            publisher.sendBatch("orders", "a", "b");
            assertThat(publisher.answer()).isEqualTo("OK");
            NsqSocket.Frame a = leaving.frame();
            NsqSocket.Frame b = leaving.frame();
            leaving.send("CLS\n");
            assertThat(leaving.answer()).isEqualTo("CLOSE_WAIT");
            leaving.send("RDY 5\nCLS\n");
            assertThat(leaving.answer()).isEqualTo("CLOSE_WAIT");
            publisher.sendBody("PUB orders", "c");
            assertThat(publisher.answer()).isEqualTo("OK");
            leaving.send("FIN " + a.id() + "\n");
            // Longer than any delay may be: as long as may be.
            leaving.send("REQ " + b.id() + " 99999999999\n");
            leaving.send("FIN " + a.id() + "\n");
            assertThat(leaving.answer()).startsWith("E_FIN_FAILED");
            leaving.send("REQ " + b.id() + " 0\n");
            assertThat(leaving.answer()).startsWith("E_REQ_FAILED");
            staying.send("SUB orders work\nRDY 5\n");
            assertThat(staying.answer()).isEqualTo("OK");
            assertThat(staying.frame().text()).isEqualTo("c");
        }
    }

    private void refused(String bytes, String... answers) throws IOException {
        try (NsqSocket client = client()) {
            client.send(bytes);
            for (String answer : answers) {
                assertThat(client.answer()).as(bytes).startsWith(answer);
            }
            assertThat(client.ended()).as(bytes).isTrue();
        }
    }

    @Test
    void shouldSurviveRandomBytesFromManyClients() throws IOException {
        long seed = 20261116;
        Random random = new Random(seed);
        String[] words = {
            "PUB ", "MPUB ", "SUB ", "orders", " work", "\n", "RDY ", "1", "FIN ", "\0\0\0\1", "NOP\n", "x"
        };
        int cutOff = 0;
        for (int round = 0; round < 200; round++) {
            try (NsqSocket client = client()) {
                StringBuilder bytes = new StringBuilder();
                for (int i = random.nextInt(60); i >= 0; i--) {
                    bytes.append(
                            random.nextInt(4) == 0
                                    ? String.valueOf((char) random.nextInt(256))
                                    : words[random.nextInt(words.length)]);
                }
                client.send(bytes.toString());
            } catch (IOException e) {
                // The broker had closed the connection already: it may.
                cutOff++;
            }
        }
        try (NsqSocket client = client()) {
            client.sendBody("PUB orders", "still there");
            assertThat(client.answer())
                    .as("seed %d, %d were cut off while they sent", seed, cutOff)
                    .isEqualTo("OK");
        }
    }

    @Test
    void shouldGiveWhatAKilledConsumerHeldToAnother() throws IOException {
        try (NsqSocket publisher = client();
                NsqSocket victim = client();
                NsqSocket heir = client()) {
            victim.send("SUB orders work\nRDY 20\n");
            assertThat(victim.answer()).isEqualTo("OK");
            String[] bodies = new String[50];
            for (int i = 0; i < bodies.length; i++) {
                bodies[i] = "m" + i;
            }
            publisher.sendBatch("orders", bodies);
            assertThat(publisher.answer()).isEqualTo("OK");
            Set<String> seen = new HashSet<>();
            for (int i = 0; i < 5; i++) {
                NsqSocket.Frame frame = victim.frame();
                seen.add(frame.text());
                victim.send("FIN " + frame.id() + "\n");
            }
            RunningBroker.await(
                    "five are acknowledged",
                    () -> broker.channel("orders", "work").finished() == 5);
            victim.close();
            heir.send("SUB orders work\nRDY 100\n");
            assertThat(heir.answer()).isEqualTo("OK");
            for (int i = 0; i < 45; i++) {
                seen.add(heir.frame().text());
            }
            assertThat(seen).containsExactlyInAnyOrder(bodies);
        }
    }

    @Test
    void shouldKeepAcknowledgingOnAConnectionWhosePublicationWaits() throws IOException {
        broker.supply("narrow", 0.001, 1);
        try (NsqSocket both = client();
                NsqSocket other = client()) {
            both.send("SUB orders work\nRDY 1\n");
            assertThat(both.answer()).isEqualTo("OK");
            both.sendBody("PUB narrow", "first");
            assertThat(both.answer()).isEqualTo("OK");
            both.sendBody("PUB narrow", "waits");
            other.sendBatch("orders", "a", "b");
            assertThat(other.answer()).isEqualTo("OK");
            NsqSocket.Frame a = both.frame();
            both.send("FIN " + a.id() + "\n");
            assertThat(both.frame().text()).isEqualTo("b");
            both.sendBody("PUB orders", "held back behind the one that waits");
            broker.supply("narrow", 1, 1);
            assertThat(both.answer()).isEqualTo("OK");
            assertThat(both.answer()).isEqualTo("OK");
        }
    }

    /** A client that counts answers would take an error for that of the publication that waits. */
    @Test
    void shouldTellErrorsAfterTheAnswerOfThePublicationThatWaitsBeforeThem() throws IOException {
        broker.supply("narrow", 0.001, 1);
        try (NsqSocket both = client()) {
            both.send("SUB orders work\nRDY 1\n");
            assertThat(both.answer()).isEqualTo("OK");
            both.sendBody("PUB narrow", "first");
            assertThat(both.answer()).isEqualTo("OK");
            both.sendBody("PUB narrow", "waits");
            both.send("FIN 0123456789abcdef\nTOUCH 0123456789abcdef\nREQ 0123456789abcdef 0\n");
            broker.supply("narrow", 1_000, 1);
            assertThat(both.answer()).isEqualTo("OK");
            assertThat(both.answer()).startsWith("E_FIN_FAILED");
            assertThat(both.answer()).startsWith("E_TOUCH_FAILED");
            assertThat(both.answer()).startsWith("E_REQ_FAILED");
            broker.supply("tight", 0.001, 1);
            both.sendBody("PUB tight", "first");
            assertThat(both.answer()).isEqualTo("OK");
            both.sendBody("PUB tight", "waits");
            both.send("NONSENSE\n");
            broker.supply("tight", 1, 1);
            assertThat(both.answer()).isEqualTo("OK");
            assertThat(both.answer()).startsWith("E_INVALID");
            assertThat(both.ended()).isTrue();
        }
    }

    /** brainlag's client knows two errors of a publication, and takes every other one for success. */
    @Test
    void shouldTellAClientThatHearsNothingElseThatItsMessageIsBadWhenItWasRefused() throws IOException {
        RunningBroker.await(broker.path()
                .apply(Definitions.of(
                        new TopicName("strict"), TopicSettings.defaults().with(LimitMode.POLICE))));
        broker.supply("strict", 0.1, 1);
        try (NsqSocket client = client()) {
            client.sendBody("IDENTIFY", "{\"user_agent\":\"JavaNSQClient\"}");
            assertThat(client.answer()).isEqualTo("OK");
            client.sendBatch("strict", "c", "d");
            assertThat(client.answer()).startsWith("E_BAD_MESSAGE E_MPUB_FAILED MPUB refused: topic is over its limit");
            client.sendBody("PUB orders", "e");
            assertThat(client.answer()).isEqualTo("OK");
        }
    }

    @Test
    void shouldRefuseWithTheTimeToRetryAndStayOpenWhenItPolices() throws IOException {
        RunningBroker.await(broker.path()
                .apply(Definitions.of(
                        new TopicName("strict"), TopicSettings.defaults().with(LimitMode.POLICE))));
        broker.supply("strict", 0.1, 1);
        try (NsqSocket client = client()) {
            client.sendBody("PUB strict", "a");
            assertThat(client.answer()).isEqualTo("OK");
            client.sendBody("PUB strict", "b");
            assertThat(client.answer()).matches("E_PUB_FAILED PUB refused: .* retry after \\d+ ms");
            client.sendBatch("strict", "c", "d");
            assertThat(client.answer()).startsWith("E_MPUB_FAILED");
            client.sendBody("PUB orders", "e");
            assertThat(client.answer()).isEqualTo("OK");
        }
    }

    @Test
    void shouldRefuseAndStayOpenWhenAPublicationWaitedTooLongOrNeverWouldPass() throws IOException {
        RunningBroker.await(broker.path()
                .apply(Definitions.of(new TopicName("short"), Definitions.hasty(TimeUnit.MILLISECONDS.toNanos(50)))));
        try (NsqSocket client = client()) {
            client.sendBody("PUB short", "no supply at all");
            assertThat(client.answer()).startsWith("E_PUB_FAILED PUB refused: it waited longer");
            client.sendBody("PUB orders", "e");
            assertThat(client.answer()).isEqualTo("OK");
        }
    }

    @Test
    void shouldHoldBackAConsumerThatDoesNotReadAndServeTheOthers() throws IOException {
        try (NsqSocket publisher = client();
                NsqSocket deaf = client();
                NsqSocket reader = client()) {
            deaf.send("SUB orders deaf\nRDY 2500\n");
            reader.send("SUB orders work\nRDY 2500\n");
            assertThat(reader.answer()).isEqualTo("OK");
            assertThat(deaf.answer()).isEqualTo("OK");
            String body = "y".repeat(10_000);
            Set<String> ids = new HashSet<>();
            for (int round = 0; round < 20; round++) {
                publisher.sendBatch("orders", Collections.nCopies(100, body).toArray(String[]::new));
                assertThat(publisher.answer()).isEqualTo("OK");
                for (int i = 0; i < 100; i++) {
                    NsqSocket.Frame frame = reader.frame();
                    ids.add(frame.id());
                    reader.send("FIN " + frame.id() + "\n");
                }
            }
            assertThat(ids).hasSize(2_000);
            assertThat(broker.channel("orders", "deaf").queued()).isPositive();
            for (int i = 0; i < 2_000; i++) {
                assertThat(deaf.frame().text()).hasSize(10_000);
            }
        }
    }

    @Test
    void shouldSendHeartbeatsAndCloseAClientThatDoesNotAnswer() throws IOException {
        try (NsqSocket client = client()) {
            client.sendBody("IDENTIFY", "{\"heartbeat_interval\":1000}");
            assertThat(client.answer()).isEqualTo("OK");
            assertThat(client.frame().text()).isEqualTo("_heartbeat_");
            assertThat(client.frame().text()).isEqualTo("_heartbeat_");
            assertThat(client.ended()).isTrue();
        }
    }

    @Test
    void shouldCloseConnectionsBeyondTheBound() throws IOException {
        GatewaySettings narrow = settings(1, GatewaySettings.defaults().stallNs());
        try (RunningBroker small = new RunningBroker(narrow, TopicSettings.defaults()).supply("orders", 10, 10);
                NsqSocket first = NsqSocket.greeted(small.address())) {
            first.sendBody("PUB orders", "x");
            assertThat(first.answer()).isEqualTo("OK");
            try (NsqSocket second = new NsqSocket(small.address())) {
                assertThat(second.ended()).isTrue();
            }
        }
    }

    @Test
    void shouldCloseConsumersOfADeletedTopic() throws IOException {
        try (NsqSocket consumer = client()) {
            consumer.send("SUB orders work\nRDY 1\n");
            assertThat(consumer.answer()).isEqualTo("OK");
            RunningBroker.await(broker.path().apply(Definitions.gone(new TopicName("orders"))));
            assertThat(consumer.ended()).isTrue();
        }
    }

    @Test
    void shouldAnswerWhoAskedForSomethingThatFails() {
        assertThat(broker.path().empty(null))
                .as("whatever it throws")
                .failsWithin(Duration.ofSeconds(10))
                .withThrowableThat()
                .withCauseInstanceOf(NullPointerException.class);
        assertThat(RunningBroker.await(broker.path().stats()))
                .as("the thread goes on")
                .isEmpty();
    }

    /** Statistics of many topics must not keep messages waiting: what is asked later has its turn in between. */
    @Test
    void shouldLookAtManyTopicsInSeveralTurns() {
        for (int i = 0; i < 1_000; i++) {
            RunningBroker.await(
                    broker.path().apply(Definitions.of(new TopicName("t" + i), TopicSettings.defaults(), "c")));
        }
        CountDownLatch queued = new CountDownLatch(1);
        broker.path().offer((port, nowNs) -> {
            try {
                queued.await(10, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        List<String> answered = new CopyOnWriteArrayList<>();
        CompletionStage<List<TopicLook>> looks =
                broker.path().looks().whenComplete((all, failure) -> answered.add("looks"));
        CompletionStage<PathStats> totals =
                broker.path().totals().whenComplete((all, failure) -> answered.add("totals"));
        queued.countDown();
        assertThat(RunningBroker.await(looks)).hasSize(1_000);
        RunningBroker.await(totals);
        assertThat(answered).containsExactly("totals", "looks");
    }

    @Test
    void shouldAnswerWhoAsksAPathThatIsClosed() {
        broker.close();
        assertThat(broker.path().stats())
                .failsWithin(Duration.ofSeconds(10))
                .withThrowableThat()
                .withMessageContaining("closed");
    }

    private static GatewaySettings settings(int maxConnections, long stallNs) {
        GatewaySettings usual = GatewaySettings.defaults();
        return new GatewaySettings(
                maxConnections,
                maxConnections,
                maxConnections,
                usual.maxMessageBytes(),
                usual.maxBodyBytes(),
                usual.maxReady(),
                usual.bufferBytes(),
                usual.maxBufferBytes(),
                usual.heartbeatNs(),
                usual.maxHeartbeatNs(),
                usual.messageTimeoutNs(),
                usual.maxMessageTimeoutNs(),
                usual.maxDelayNs(),
                stallNs,
                usual.handshakeNs());
    }

    @Test
    void shouldStopReadingAPublisherThatReadsNoAnswersAndGoOnWhenItDoes() throws Exception {
        int messages = 1_500_000;
        broker.supply("flood", 100_000_000, 100_000_000);
        RunningBroker.await(broker.path()
                .apply(Definitions.of(
                        new TopicName("flood"), TopicSettings.defaults().withQueue(1_000, Overflow.DROP_OLDEST))));
        try (NsqSocket publisher = client()) {
            byte[] thousand = "PUB flood\n\0\0\0\1x".repeat(1_000).getBytes(StandardCharsets.ISO_8859_1);
            AtomicInteger sent = new AtomicInteger();
            Thread flood = new Thread(() -> {
                try {
                    for (int i = 0; i < messages / 1_000; i++) {
                        publisher.send(thousand);
                        sent.addAndGet(1_000);
                    }
                } catch (IOException e) {
                    sent.set(-1);
                }
            });
            flood.start();
            // As long as it reads, the broker publishes: that it stops short of all of them shows that it was held
            // back.
            long[] seen = {-1, 0};
            RunningBroker.await("publishing stands still", () -> {
                long published = broker.stats("flood").published();
                seen[1] = published == seen[0] && published > 0 ? seen[1] + 1 : 0;
                seen[0] = published;
                return seen[1] > 2_000;
            });
            assertThat(broker.stats("flood").published()).isLessThan(messages);
            for (int i = 0; i < messages; i++) {
                if (!publisher.answer().equals("OK")) {
                    assertThat(i).as("answer that is not OK").isNegative();
                }
            }
            flood.join();
            assertThat(sent.get()).isEqualTo(messages);
            assertThat(broker.stats("flood").published()).isEqualTo(messages);
        }
    }

    @Test
    void shouldCloseAConsumerThatTakesNothingForTooLongAndGiveItsMessagesToAnother() throws IOException {
        GatewaySettings hasty = settings(10, TimeUnit.MILLISECONDS.toNanos(500));
        try (RunningBroker strict =
                        new RunningBroker(hasty, TopicSettings.defaults()).supply("orders", 10_000, 10_000);
                NsqSocket publisher = NsqSocket.greeted(strict.address());
                NsqSocket deaf = NsqSocket.greeted(strict.address())) {
            deaf.send("SUB orders work\nRDY 2500\n");
            assertThat(deaf.answer()).isEqualTo("OK");
            String body = "z".repeat(100_000);
            for (int i = 0; i < 200; i++) {
                publisher.sendBody("PUB orders", body);
                assertThat(publisher.answer()).isEqualTo("OK");
            }
            RunningBroker.await(
                    "the deaf consumer is closed",
                    () -> strict.channel("orders", "work").consumers() == 0);
            assertThat(strict.channel("orders", "work").queued()).isEqualTo(200);
        }
    }

    private NsqSocket client() throws IOException {
        return NsqSocket.greeted(broker.address());
    }
}
