package io.weir.topics.federation;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.topics.algorithm.LongRing;
import io.weir.topics.algorithm.LongSegments;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FederationFramesTest {
    private final UnsafeBuffer frame = new UnsafeBuffer(new byte[2048]);

    @Test
    void shouldReadWhatItWrote() {
        int length = FederationFrames.subscribe(frame, -7, 2500, "orders", "work#ephemeral");
        assertThat(FederationFrames.typeOf(frame, 0, length)).isEqualTo(FederationFrames.SUBSCRIBE);
        assertThat(FederationFrames.subscription(frame, 0)).isEqualTo(-7);
        assertThat(FederationFrames.window(frame, 0)).isEqualTo(2500);
        assertThat(FederationFrames.topicLength(frame, 0)).isEqualTo(6);
        assertThat(FederationFrames.channelLength(frame, 0)).isEqualTo(14);
        assertThat(frame.getStringWithoutLengthAscii(FederationFrames.HEADER_BYTES, length - 16))
                .isEqualTo("orderswork#ephemeral");

        LongRing ids = new LongRing(new LongSegments());
        for (long id = Long.MAX_VALUE; id > Long.MAX_VALUE - FederationFrames.MAX_IDS; id--) {
            ids.add(id);
        }
        length = FederationFrames.acknowledge(frame, 3, 9, ids, FederationFrames.MAX_IDS);
        assertThat(length).isEqualTo(FederationFrames.MAX_SMALL_BYTES);
        assertThat(FederationFrames.typeOf(frame, 0, length)).isEqualTo(FederationFrames.ACKNOWLEDGE);
        assertThat(FederationFrames.count(frame, 0)).isEqualTo(FederationFrames.MAX_IDS);
        assertThat(FederationFrames.id(frame, 0, 127)).isEqualTo(Long.MAX_VALUE - 127);

        length = FederationFrames.giveBack(frame, 3, 11, 0xffff, 12_000_000_000L);
        assertThat(FederationFrames.typeOf(frame, 0, length)).isEqualTo(FederationFrames.GIVE_BACK);
        assertThat(FederationFrames.attempts(frame, 0)).isEqualTo(0xffff);
        assertThat(FederationFrames.id(frame, 0)).isEqualTo(11);
        assertThat(FederationFrames.delayNs(frame, 0)).isEqualTo(12_000_000_000L);

        length = FederationFrames.outcome(frame, FederationFrames.FAILED, 5, 0, "zu groß".repeat(100));
        assertThat(FederationFrames.typeOf(frame, 0, length)).isEqualTo(FederationFrames.OUTCOME);
        assertThat(length).isEqualTo(FederationFrames.LONG_HEADER_BYTES + FederationFrames.MAX_REASON);
        assertThat(FederationFrames.outcome(frame, 0)).isEqualTo(FederationFrames.FAILED);
        assertThat(frame.getStringWithoutLengthAscii(FederationFrames.LONG_HEADER_BYTES, 7))
                .isEqualTo("zu gro?");
    }

    @Test
    void shouldNotKnowFramesThatAreTooShortOrOfAnotherVersion() {
        for (byte type = -1; type < 16; type++) {
            frame.putByte(0, FederationFrames.VERSION);
            frame.putByte(1, type);
            for (int length = 0; length < FederationFrames.NOTICE_BYTES; length++) {
                assertThat(FederationFrames.typeOf(frame, 0, length)).isZero();
            }
            boolean ours = type >= FederationFrames.SUBSCRIBE && type <= FederationFrames.DELIVER_LATE_WITH_CONTEXT;
            assertThat(FederationFrames.typeOf(frame, 0, FederationFrames.PUBLISH_HEADER_BYTES))
                    .isEqualTo(ours ? type : 0);
            frame.putByte(0, (byte) (FederationFrames.VERSION + 1));
            assertThat(FederationFrames.typeOf(frame, 0, 24)).isZero();
        }
        int length = FederationFrames.giveBack(frame, 3, 11, 1, 0);
        assertThat(FederationFrames.typeOf(frame, 0, length - 1)).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "a/b", "#ephemeral", "a#ephemera", "a#ephemeralx", "ä"})
    void shouldRefuseOtherNames(String name) {
        assertThat(isName(name)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "a.B-9_", "a#ephemeral"})
    void shouldTakeNames(String name) {
        assertThat(isName(name)).isTrue();
    }

    @Test
    void shouldBoundNames() {
        assertThat(isName("n".repeat(64))).isTrue();
        assertThat(isName("n".repeat(65))).isFalse();
    }

    @Test
    void shouldTakeABatchThatFillsItsFrameExactly() {
        ByteBuffer batch = ByteBuffer.allocate(100)
                .putInt(3)
                .put(new byte[3])
                .putInt(0)
                .putInt(1)
                .put((byte) 1);
        UnsafeBuffer in = new UnsafeBuffer(batch);
        assertThat(FederationFrames.isBatch(in, 0, 16, 3, 10)).isTrue();
        assertThat(FederationFrames.isBatch(in, 0, 16, 2, 10)).isFalse();
        assertThat(FederationFrames.isBatch(in, 0, 16, 4, 10)).isFalse();
        assertThat(FederationFrames.isBatch(in, 0, 15, 3, 10)).isFalse();
        assertThat(FederationFrames.isBatch(in, 0, 16, 3, 2)).isFalse();
        batch.putInt(0, -1);
        assertThat(FederationFrames.isBatch(in, 0, 16, 3, 10)).isFalse();
        batch.putInt(0, Integer.MAX_VALUE);
        assertThat(FederationFrames.isBatch(in, 0, 16, 3, Integer.MAX_VALUE)).isFalse();
    }

    private boolean isName(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.ISO_8859_1);
        return FederationFrames.isName(new UnsafeBuffer(bytes), 0, bytes.length);
    }
}
