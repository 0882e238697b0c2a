package io.weir.transport.link;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import java.util.Random;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class LinkFramesTest {
    private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[512]);

    @Test
    void shouldReadAHelloAsItWasWritten() {
        LinkFrames.Hello hello =
                new LinkFrames.Hello(new BrokerId("b1"), 7, new BrokerId("a-much.longer_name"), 1L << 40, 3, 65_535);

        int length = LinkFrames.encodeHello(hello, buffer, 5);

        assertThat(LinkFrames.typeOf(buffer, 5, length)).isEqualTo(LinkFrames.HELLO);
        assertThat(LinkFrames.decodeHello(buffer, 5, length)).isEqualTo(hello);
    }

    @Test
    void shouldFitTheLongestNames() {
        BrokerId longest = new BrokerId("x".repeat(64));

        int length = LinkFrames.encodeHello(
                new LinkFrames.Hello(longest, Long.MAX_VALUE, longest, Long.MAX_VALUE, Long.MAX_VALUE, 1), buffer, 0);

        assertThat(length).isEqualTo(LinkFrames.MAX_HELLO_BYTES);
        assertThat(LinkFrames.decodeHello(buffer, 0, length).to()).isEqualTo(longest);
    }

    @Test
    void shouldRefuseEveryCutHelloAndWrongNumbers() {
        int length = LinkFrames.encodeHello(
                new LinkFrames.Hello(new BrokerId("b1"), 7, new BrokerId("b2"), 9, 3, 0), buffer, 0);

        for (int cut = 0; cut < length; cut++) {
            assertThat(LinkFrames.decodeHello(buffer, 0, cut))
                    .as("cut at %d", cut)
                    .isNull();
        }
        buffer.putByte(34, (byte) '/');
        assertThat(LinkFrames.decodeHello(buffer, 0, length))
                .as("a name with a slash")
                .isNull();
    }

    @Test
    void shouldNeitherThrowNorReadPastTheEndOnAnyBytes() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < 100_000; i++) {
            byte[] bytes = new byte[random.nextInt(200)];
            random.nextBytes(bytes);
            UnsafeBuffer exact = new UnsafeBuffer(bytes);
            if (bytes.length > 34 && random.nextBoolean()) {
                exact.putByte(32, (byte) random.nextInt(70));
                exact.putByte(33, (byte) (bytes.length - 34 - exact.getByte(32)));
            }
            assertThat(LinkFrames.typeOf(exact, 0, bytes.length))
                    .as("seed %d", seed)
                    .isBetween((byte) 0, LinkFrames.SEALED);
            LinkFrames.Hello hello = LinkFrames.decodeHello(exact, 0, bytes.length);
            if (hello != null) {
                assertThat(hello.session()).as("seed %d", seed).isPositive();
            }
        }
    }
}
