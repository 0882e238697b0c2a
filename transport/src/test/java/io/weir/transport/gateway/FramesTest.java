package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

class FramesTest {
    private static final long SEED = 5;

    @Test
    void shouldWriteAMessageAsItsLayoutSays() {
        byte[] body = "xhellox".getBytes(StandardCharsets.US_ASCII);
        Random random = new Random(SEED);
        for (int i = 0; i < 10_000; i++) {
            long id = random.nextLong() >>> random.nextInt(64);
            ByteBuffer out = ByteBuffer.allocate(100);
            Frames.putOk(out);
            Frames.putMessage(out, 77, 0xfffe, id, ByteBuffer.wrap(body), 1, 5);
            out.flip();
            assertThat(out.getInt()).isEqualTo(6);
            assertThat(out.getInt()).isEqualTo(Frames.RESPONSE);
            assertThat(text(out, 2)).isEqualTo("OK");
            assertThat(out.getInt()).isEqualTo(4 + 8 + 2 + 16 + 5);
            assertThat(out.getInt()).isEqualTo(Frames.MESSAGE);
            assertThat(out.getLong()).isEqualTo(77);
            assertThat(out.getShort()).isEqualTo((short) 0xfffe);
            assertThat(text(out, 16)).as("seed %d", SEED).isEqualTo(String.format("%016x", id));
            assertThat(text(out, 5)).isEqualTo("hello");
            assertThat(out.hasRemaining()).isFalse();
        }
    }

    @Test
    void shouldReadHexadecimalDigitsOfEitherCaseAndNothingElse() {
        Random random = new Random(SEED);
        for (int place = 0; place < 8; place++) {
            for (int c = 0; c < 256; c++) {
                byte[] digits = String.format("%08x", random.nextInt()).getBytes(StandardCharsets.US_ASCII);
                digits[place] = (byte) c;
                boolean digit = c < 128 && Character.digit(c, 16) >= 0;
                long expected = digit ? Long.parseLong(new String(digits, StandardCharsets.US_ASCII), 16) : -1;
                assertThat(Frames.hexValue(ByteBuffer.wrap(digits).getLong()))
                        .as("seed %d, character %d in place %d", SEED, c, place)
                        .isEqualTo(expected);
            }
        }
    }

    private static String text(ByteBuffer in, int length) {
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new String(bytes, StandardCharsets.US_ASCII);
    }
}
