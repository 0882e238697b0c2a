package io.weir.cluster.bench.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class WireProtocolTest {
    private static final WireProtocol.Subject SUBJECT = new WireProtocol.Subject("orders", "audit", 10, 5, true, false);

    /** Writes down what came. */
    private static final class Journal implements WireProtocol.Inbox {
        final List<String> events = new ArrayList<>();

        @Override
        public void acknowledged(BenchConnection from) {
            events.add("ok");
        }

        @Override
        public void refused(BenchConnection from, String text) {
            events.add("refused " + text);
        }

        @Override
        public void message(BenchConnection from, int at, int bodyBytes, boolean again) {
            byte[] body = new byte[bodyBytes];
            from.in.get(at, body);
            events.add((again ? "again " : "message ") + new String(body, StandardCharsets.UTF_8));
        }
    }

    static Stream<WireProtocol> wires() {
        return Stream.of(new NsqWire(), new NatsWire(), new MqttWire(), new RelayWire());
    }

    private static byte[] bytes(Object... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(all);
        try {
            for (Object part : parts) {
                if (part instanceof String text) {
                    out.write(text.getBytes(StandardCharsets.ISO_8859_1));
                } else if (part instanceof Long number) {
                    out.writeLong(number);
                } else if (part instanceof Short number) {
                    out.writeShort(number);
                } else if (part instanceof Byte number) {
                    out.writeByte(number);
                } else {
                    out.writeInt((Integer) part);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return all.toByteArray();
    }

    static Stream<Arguments> inbound() {
        short one = 1;
        short two = 2;
        short seven = 7;
        return Stream.of(
                Arguments.of(
                        new NsqWire(),
                        bytes(
                                6,
                                0,
                                "OK",
                                15,
                                0,
                                "_heartbeat_",
                                10,
                                1,
                                "E_ODD.", //
                                35,
                                2,
                                99L,
                                one,
                                "0123456789abcdef",
                                "hello", //
                                35,
                                2,
                                99L,
                                two,
                                "fedcba9876543210",
                                "again"),
                        List.of("ok", "refused E_ODD.", "message hello", "again again"),
                        "NOP\nFIN 0123456789abcdef\nFIN fedcba9876543210\n"),
                Arguments.of(
                        new NatsWire(),
                        bytes(
                                "INFO {}\r\nPING\r\n+OK\r\nMSG orders 1 5\r\nhello\r\n-ERR 'odd'\r\nMSG orders 1 r 3\r\na\nb\r\n"),
                        List.of("message hello", "refused -ERR 'odd'", "message a\nb"),
                        "PONG\r\n"),
                Arguments.of(
                        new MqttWire(),
                        bytes(
                                "\100\002",
                                seven, //
                                "\062\017",
                                (short) 6,
                                "orders",
                                seven,
                                "hello", //
                                "\072\017",
                                (short) 6,
                                "orders",
                                one,
                                "again", //
                                "\060\015",
                                (short) 6,
                                "orders",
                                "plain", //
                                "\320\000"),
                        List.of("ok", "message hello", "again again", "message plain"),
                        "\100\002\000\007\100\002\000\001"),
                Arguments.of(
                        new RelayWire(),
                        bytes(5, "hello", 0, 3, "abc"),
                        List.of("message hello", "message ", "message abc"),
                        ""));
    }

    private static BenchConnection connection(WireProtocol wire) {
        return new BenchConnection("peer", wire, null, false, 16 * 1024, 4 * 1024);
    }

    private static String written(BenchConnection connection) {
        byte[] out = new byte[connection.out.position()];
        connection.out.get(0, out);
        return new String(out, StandardCharsets.ISO_8859_1);
    }

    @ParameterizedTest
    @MethodSource("inbound")
    void shouldUnderstandWhatComesHoweverItIsCut(WireProtocol wire, byte[] stream, List<String> events, String answers)
            throws IOException {
        for (int piece : new int[] {1, 2, 3, 7, 13, stream.length}) {
            BenchConnection connection = connection(wire);
            Journal journal = new Journal();
            for (int at = 0; at < stream.length; at += piece) {
                connection.in.put(stream, at, Math.min(piece, stream.length - at));
                connection.receive(journal);
            }
            assertThat(journal.events).as("in pieces of %d", piece).isEqualTo(events);
            assertThat(written(connection)).isEqualTo(answers);
            assertThat(connection.in.position()).isZero();
        }
    }

    @Test
    void shouldWaitForRoomToAnswerAndLoseNothing() throws IOException {
        BenchConnection connection = new BenchConnection("peer", new NsqWire(), null, true, 16 * 1024, 50);
        Journal journal = new Journal();
        for (int i = 0; i < 5; i++) {
            connection.in.put(bytes(35, 2, 99L, (short) 1, "000000000000000" + i, "hell" + i));
        }
        connection.receive(journal);
        assertThat(connection.stalled).isTrue();
        assertThat(journal.events).hasSize(2);

        connection.out.clear();
        connection.receive(journal);
        connection.out.clear();
        connection.receive(journal);
        assertThat(connection.stalled).isFalse();
        assertThat(journal.events)
                .containsExactly("message hell0", "message hell1", "message hell2", "message hell3", "message hell4");
    }

    @Test
    void shouldEncodeAPublish() {
        assertThat(published(new NsqWire())).isEqualTo("PUB orders\n\0\0\0\5hello");
        assertThat(published(new NatsWire())).isEqualTo("PUB orders 5\r\nhello\r\n");
        assertThat(published(new MqttWire())).isEqualTo("\062\017\0\6orders\0\1hello");
        assertThat(published(new RelayWire())).isEqualTo("\0\0\0\5hello");
    }

    @Test
    void shouldEncodeABatchAsOnePublishWhereTheProtocolHasThat() {
        WireProtocol.Publish batch = new NsqWire().publish(SUBJECT, 2);
        ByteBuffer bytes = ByteBuffer.wrap(batch.bytes());
        for (int i = 0; i < batch.messages(); i++) {
            bytes.put(batch.bodyAt() + i * batch.bodyEvery(), ("hell" + i).getBytes(StandardCharsets.US_ASCII));
        }

        assertThat(new String(batch.bytes(), StandardCharsets.ISO_8859_1))
                .isEqualTo("MPUB orders\n\0\0\0\26\0\0\0\2\0\0\0\5hell0\0\0\0\5hell1");
        assertThat(new NatsWire().publish(SUBJECT, 2).messages()).isOne();
    }

    private static String published(WireProtocol wire) {
        BenchConnection connection = connection(wire);
        byte[] frame = wire.publish(SUBJECT);
        System.arraycopy("hello".getBytes(StandardCharsets.US_ASCII), 0, frame, wire.bodyAt(SUBJECT), 5);
        connection.out.put(frame);
        wire.number(connection, 0);
        return written(connection);
    }

    @ParameterizedTest
    @MethodSource("wires")
    void shouldAnswerGarbageWithAnErrorAtTheMost(WireProtocol wire) {
        for (long seed = 0; seed < 3_000; seed++) {
            Random random = new Random(seed);
            byte[] garbage = new byte[1 + random.nextInt(200)];
            random.nextBytes(garbage);
            BenchConnection connection = connection(wire);
            connection.in.put(garbage);
            try {
                connection.receive(new Journal());
            } catch (WireException e) {
                assertThat(e).as("seed %d", seed).hasMessageContaining("does not speak " + wire.name());
            }
        }
    }

    @Test
    void shouldRefuseSizesThatNoBufferHolds() {
        assertRefused(new NsqWire(), bytes(Integer.MAX_VALUE, 2));
        assertRefused(new NsqWire(), bytes(-1, 0));
        assertRefused(new NsqWire(), bytes(20, 2, 99L, 99L));
        assertRefused(new NsqWire(), bytes(6, 9, "OK"));
        assertRefused(new NatsWire(), bytes("MSG orders 1 99999999\r\n"));
        assertRefused(new NatsWire(), bytes("MSG orders 1 \r\n"));
        assertRefused(new NatsWire(), bytes("MSG orders 1 -5\r\n"));
        assertRefused(new NatsWire(), bytes("x".repeat(9_000)));
        assertRefused(new MqttWire(), bytes("\062\377\377\377\377\001"));
        assertRefused(new MqttWire(), bytes("\062\003\000\011x"));
        assertRefused(new RelayWire(), bytes(-5));
        assertRefused(new RelayWire(), bytes(1 << 30));
    }

    private static void assertRefused(WireProtocol wire, byte[] stream) {
        BenchConnection connection = connection(wire);
        connection.in.put(stream);
        assertThatThrownBy(() -> connection.receive(new Journal()))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("does not speak " + wire.name());
    }
}
