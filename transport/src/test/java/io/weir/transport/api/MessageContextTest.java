package io.weir.transport.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class MessageContextTest {
    private static final MessageContext FULL = MessageContext.of("order-7 ü")
            .withDeadlineMs(1_234_567_890_123L)
            .withHeader("b", "")
            .withHeader("a", "x".repeat(5_000));

    @Test
    void shouldReadWhatItWrote() {
        MessageContext read = MessageContext.fromBytes(FULL.toBytes());
        assertThat(read).isEqualTo(FULL);
        assertThat(read.headers().keySet()).containsExactly("b", "a");
    }

    @Test
    void shouldTakeNoByteWhenThereIsNone() {
        assertThat(MessageContext.NONE.toBytes()).isEmpty();
        assertThat(MessageContext.fromBytes(new byte[0])).isEqualTo(MessageContext.NONE);
    }

    @Test
    void shouldRefuseWhatIsTooMuch() {
        assertThatThrownBy(() -> MessageContext.of("x".repeat(256))).hasMessageContaining("256 bytes is too long");
        assertThatThrownBy(() -> MessageContext.NONE.withHeader("a", "x".repeat(MessageContext.MAX_BYTES)))
                .hasMessageContaining("is too large");
        Map<String, String> many = new HashMap<>();
        for (int i = 0; i < 65; i++) {
            many.put("h" + i, "");
        }
        assertThatThrownBy(() -> new MessageContext("", 0, many)).hasMessageContaining("65 headers");
        assertThatThrownBy(() -> new MessageContext(null, 0, Map.of())).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> MessageContext.NONE.withHeader("", "x")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void shouldHoldTheLargestThatItAllows() {
        int left = MessageContext.MAX_BYTES
                - MessageContext.NONE.withHeader("a", "").toBytes().length;
        MessageContext largest = MessageContext.NONE.withHeader("a", "x".repeat(left));
        assertThat(largest.toBytes()).hasSize(MessageContext.MAX_BYTES);
        assertThat(MessageContext.fromBytes(largest.toBytes())).isEqualTo(largest);
    }

    @Test
    void shouldRefuseBytesThatAreNone() {
        byte[] bytes = FULL.toBytes();
        for (int length = 1; length < 40; length++) {
            byte[] cut = Arrays.copyOf(bytes, length);
            assertThatThrownBy(() -> MessageContext.fromBytes(cut)).isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> MessageContext.fromBytes(Arrays.copyOf(bytes, bytes.length + 1)))
                .isInstanceOf(IllegalArgumentException.class);
        Random random = new Random(3);
        for (int i = 0; i < 1_000; i++) {
            byte[] noise = new byte[random.nextInt(64) + 1];
            random.nextBytes(noise);
            noise[0] = (byte) random.nextInt(3);
            try {
                MessageContext read = MessageContext.fromBytes(noise);
                assertThat(MessageContext.fromBytes(read.toBytes())).isEqualTo(read);
            } catch (IllegalArgumentException e) {
                assertThat(e).hasMessageContaining("context");
            }
        }
    }
}
