package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CommandDecoderTest {
    private static final int MAX_MESSAGE = 100;
    private static final int MAX_BODY = 300;

    private final CommandDecoder decoder = new CommandDecoder(MAX_MESSAGE, MAX_BODY);

    @Test
    void shouldSayWhereThePartsOfACommandStand() {
        ByteBuffer in = bytes("DPUB orders 250\n\0\0\0\3abcNOP\n");
        assertThat(decoder.decode(in, 0, in.limit())).isEqualTo(in.limit() - 4);
        assertThat(decoder.verb()).isEqualTo(Verb.DPUB);
        assertThat(decoder.parameter(in, 0)).isEqualTo("orders");
        assertThat(decoder.number()).isEqualTo(250);
        assertThat(CommandDecoder.text(in, decoder.bodyAt(), decoder.bodyLength()))
                .isEqualTo("abc");
        assertThat(decoder.decode(in, in.limit() - 4, in.limit())).isEqualTo(4);
        assertThat(decoder.verb()).isEqualTo(Verb.NOP);
    }

    @Test
    void shouldReadTheUsualCommandsAsItReadsTheSameWithACarriageReturn() {
        String name = "x".repeat(64);
        for (String line : new String[] {
            "PUB orders-with-a-long-name",
            "PUB " + name,
            "PUB x" + name,
            "PUB a b-with-a-long-name!",
            "PUB  two-spaces-here",
            "PUB orders-long-name#ephemeral",
            "FIN 0123456789abcdef",
            "FIN 0123456789abcdeg",
            "FIN 0123456789abcde"
        }) {
            String body = line.startsWith("PUB") ? "\0\0\0\3abc" : "NOP\n";
            ByteBuffer plain = bytes(line + "\n" + body);
            ByteBuffer thorough = bytes(line + "\r\n" + body);
            int taken = decoder.decode(plain, 0, plain.limit());
            String outcome = taken + " " + decoder.verb() + " " + decoder.error() + " " + decoder.id();
            int thoroughly = decoder.decode(thorough, 0, thorough.limit());
            assertThat(outcome)
                    .as(line)
                    .isEqualTo((thoroughly > 0 ? thoroughly - 1 : thoroughly) + " " + decoder.verb() + " "
                            + decoder.error() + " " + decoder.id());
        }
    }

    @Test
    void shouldReadIdsOfEitherCase() {
        ByteBuffer in = bytes("FIN 0123456789abCDEF\r\n");
        assertThat(decoder.decode(in, 0, in.limit())).isEqualTo(in.limit());
        assertThat(decoder.id()).isEqualTo(0x0123456789abcdefL);
    }

    @Test
    void shouldTakeAMissingReadyCountForOne() {
        ByteBuffer in = bytes("RDY\n");
        assertThat(decoder.decode(in, 0, in.limit())).isEqualTo(4);
        assertThat(decoder.number()).isEqualTo(1);
    }

    @Test
    void shouldAskForMoreAtEveryCutOfAValidCommand() {
        for (String command : new String[] {
            "PUB orders\n\0\0\0\3abc",
            "MPUB orders\n\0\0\0\16\0\0\0\2\0\0\0\1a\0\0\0\1b",
            "SUB orders work#ephemeral\n",
            "REQ 0123456789abcdef 10\n",
            "IDENTIFY\n\0\0\0\2{}"
        }) {
            ByteBuffer in = bytes(command);
            for (int cut = 0; cut < in.limit(); cut++) {
                assertThat(decoder.decode(in, 0, cut))
                        .as(command + " cut at " + cut)
                        .isEqualTo(CommandDecoder.MORE);
                assertThat(decoder.wantedBytes()).isGreaterThan(cut).isLessThanOrEqualTo(in.limit());
            }
            assertThat(decoder.decode(in, 0, in.limit())).isEqualTo(in.limit());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "PUB orders\\n, 101, E_BAD_MESSAGE",
        "PUB orders\\n, 0, E_BAD_MESSAGE",
        "PUB orders\\n, -1, E_BAD_MESSAGE",
        "PUB orders\\n, 2147483647, E_BAD_MESSAGE",
        "MPUB orders\\n, 301, E_BAD_BODY",
        "IDENTIFY\\n, 301, E_BAD_BODY"
    })
    void shouldJudgeALengthBeforeItsBytesAreThere(String line, int length, String code) {
        byte[] text = line.replace("\\n", "\n").getBytes(StandardCharsets.US_ASCII);
        ByteBuffer in = ByteBuffer.allocate(text.length + 4).put(text).putInt(length);
        assertThat(decoder.decode(in, 0, in.limit())).isEqualTo(CommandDecoder.BAD);
        assertThat(decoder.error()).startsWith(code);
    }

    @Test
    void shouldRefuseNamesByTheRule() {
        assertRefused("PUB " + "x".repeat(65) + "\n", "E_BAD_TOPIC");
        assertRefused("PUB #ephemeral\n", "E_BAD_TOPIC");
        assertRefused("PUB \n", "E_BAD_TOPIC");
        assertRefused("SUB orders\n", "E_INVALID");
        assertRefused("SUB orders \u00e4\n", "E_BAD_CHANNEL");
        assertRefused("pub orders\n", "E_INVALID");
        assertRefused("\n", "E_INVALID");
        assertRefused("RDY -1\n", "E_INVALID");
        assertRefused("REQ 0123456789abcdef\n", "E_INVALID");
        assertRefused("REQ 0123456789abcdef 9999999999999999999\n", "E_INVALID");
    }

    /** As nsqd does: some old clients send them. */
    @Test
    void shouldIgnoreParametersThatNoCommandHas() {
        for (String line : new String[] {
            "SUB orders audit short long more\n",
            "RDY 1 2 3 4\n",
            "FIN 0123456789abcdef again\n",
            "REQ 0123456789abcdef 5 6\n"
        }) {
            ByteBuffer in = bytes(line);
            assertThat(decoder.decode(in, 0, in.limit())).as(line).isEqualTo(line.length());
        }
        ByteBuffer batch = ByteBuffer.allocate(40)
                .put("MPUB orders 2\n".getBytes(StandardCharsets.US_ASCII))
                .putInt(14)
                .putInt(2)
                .putInt(1)
                .put((byte) 'a')
                .putInt(1)
                .put((byte) 'b');
        assertThat(decoder.decode(batch, 0, batch.position())).isEqualTo(batch.position());
        assertThat(decoder.messages()).isEqualTo(2);
        ByteBuffer one = bytes("NOP\n");
        assertThat(decoder.decode(one, 0, one.limit())).isEqualTo(4);
        assertThat(decoder.messages()).as("of the next command").isEqualTo(1);
    }

    private void assertRefused(String command, String code) {
        ByteBuffer in = bytes(command);
        assertThat(decoder.decode(in, 0, in.limit())).as(command).isEqualTo(CommandDecoder.BAD);
        assertThat(decoder.error()).startsWith(code);
    }

    /** Whatever comes: an answer, and never a place outside of what came. */
    @Test
    void shouldStayInsideTheBufferWhateverComes() {
        long seed = 7;
        Random random = new Random(seed);
        String[] words = {"PUB", "MPUB", "DPUB", "SUB", "RDY", "FIN", "REQ", " ", "a", "#ephemeral", "\n", "\r\n", "1"};
        for (int round = 0; round < 30_000; round++) {
            ByteBuffer in = ByteBuffer.allocate(400);
            for (int i = random.nextInt(12); i >= 0; i--) {
                switch (random.nextInt(4)) {
                    case 0 -> in.put((byte) random.nextInt(256));
                    case 1 -> in.putInt(random.nextInt(40) - 2);
                    default -> in.put(words[random.nextInt(words.length)].getBytes(StandardCharsets.US_ASCII));
                }
            }
            int end = in.position();
            int from = random.nextInt(end + 1);
            int taken = decoder.decode(in, from, end);
            String what = "seed " + seed + ", round " + round;
            if (taken == CommandDecoder.BAD) {
                assertThat(decoder.error()).as(what).startsWith("E_");
            } else if (taken == CommandDecoder.MORE) {
                assertThat(decoder.wantedBytes()).as(what).isGreaterThan(end - from);
                assertThat(decoder.wantedBytes()).as(what).isLessThanOrEqualTo(MAX_BODY + 300);
            } else {
                assertThat(taken).as(what).isBetween(1, end - from);
                if (decoder.verb() == Verb.PUB || decoder.verb() == Verb.DPUB) {
                    assertThat(decoder.bodyAt() + decoder.bodyLength()).as(what).isEqualTo(from + taken);
                }
                if (decoder.verb() == Verb.MPUB) {
                    int at = decoder.bodyAt();
                    for (int i = 0; i < decoder.messages(); i++) {
                        assertThat(in.getInt(at)).as(what).isBetween(1, MAX_MESSAGE);
                        at += 4 + in.getInt(at);
                    }
                    assertThat(at).as(what).isEqualTo(from + taken);
                }
            }
        }
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
    }
}
