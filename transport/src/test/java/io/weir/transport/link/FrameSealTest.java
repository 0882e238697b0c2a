package io.weir.transport.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.weir.config.value.BrokerId;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class FrameSealTest {
    private static final String DIRECTION = "a#1>b#1";
    private static final byte[] SECRET = {1, 2, 3};

    private final FrameSeal seal = new FrameSeal(SECRET, DIRECTION, 7, 0);
    private final FrameSeal opener = new FrameSeal(SECRET, DIRECTION, 7, 0);
    private final UnsafeBuffer sealed = new UnsafeBuffer(new byte[256]);
    private final byte[] plain = new byte[256];

    private int seal(String text) {
        return seal.seal(text.getBytes(), text.length(), sealed);
    }

    private String open(FrameSeal with, int length) {
        int opened = with.open(sealed.byteArray(), sealed, length, plain);
        return opened < 0 ? null : new String(plain, 0, opened);
    }

    @Test
    void shouldOpenWhatWasSealedOnceAndInOrder() {
        int length = seal("first");
        assertThat(length).isEqualTo("first".length() + FrameSeal.OVERHEAD_BYTES);
        assertThat(new String(sealed.byteArray(), 0, length)).doesNotContain("first");
        byte[] first = Arrays.copyOf(sealed.byteArray(), length);

        assertThat(open(opener, length)).isEqualTo("first");
        assertThat(open(opener, length)).as("a replay").isNull();
        assertThat(open(opener, seal("second"))).isEqualTo("second");
        sealed.putBytes(0, first);
        assertThat(open(opener, length)).as("a replay of an earlier one").isNull();
    }

    @Test
    void shouldRefuseEveryChangedBitOfHeaderAndBody() {
        int length = seal("a text");
        byte[] genuine = Arrays.copyOf(sealed.byteArray(), length);
        for (int bit = 0; bit < 8 * length; bit++) {
            sealed.putBytes(0, genuine);
            sealed.putByte(bit / 8, (byte) (genuine[bit / 8] ^ 1 << bit % 8));
            assertThat(open(opener, length)).as("bit %d", bit).isNull();
        }
        for (int cut = LinkFrames.SEALED_HEADER_BYTES + LinkFrames.TAG_BYTES; cut < length; cut++) {
            sealed.putBytes(0, genuine);
            assertThat(open(opener, cut)).as("cut at %d", cut).isNull();
        }
        sealed.putBytes(0, genuine);
        assertThat(open(opener, length)).isEqualTo("a text");
    }

    @Test
    void shouldOpenOnlyTheSameSecretDirectionAndSession() {
        int length = seal("a text");

        assertThat(open(new FrameSeal(new byte[] {1, 2, 4}, DIRECTION, 7, 0), length))
                .isNull();
        assertThat(open(new FrameSeal(SECRET, "b#1>a#1", 7, 0), length)).isNull();
        assertThat(open(new FrameSeal(SECRET, DIRECTION, 8, 0), length)).isNull();
    }

    @Test
    void shouldRenewItsKeyAfterAnHourAndTheOpenerFollows() {
        assertThat(open(opener, seal("before"))).isEqualTo("before");
        seal.renewIfOld(TimeUnit.HOURS.toNanos(1) - 1);
        assertThat(open(opener, seal("same key"))).isEqualTo("same key");
        assertThat(seal.keyNumber()).isZero();
        seal.renewIfOld(TimeUnit.HOURS.toNanos(1));

        assertThat(open(opener, seal("after"))).isEqualTo("after");
        assertThat(open(opener, seal("and on"))).isEqualTo("and on");
        assertThat(seal.keyNumber()).isEqualTo(1);
        assertThat(opener.keyNumber()).isEqualTo(1);
    }

    @Test
    void shouldRenewItsKeyAfterManyFramesAndNeverRepeatACounter() {
        long last = -1;
        for (long i = 0; i <= FrameSeal.FRAMES_A_KEY; i++) {
            seal("x");
            long counter = LinkFrames.counter(sealed, 0);
            assertThat(counter).isEqualTo(last + 1);
            last = counter;
        }
        assertThat(seal.keyNumber()).isZero();
        assertThat(seal("x")).isPositive();
        assertThat(seal.keyNumber()).isEqualTo(1);
        assertThat(LinkFrames.counter(sealed, 0)).isEqualTo(last + 1);
    }

    @Test
    void shouldAgreeOnOneSecretWithALifeOfAPeerAndForgetTheEarlierLifes() {
        LinkKeys a = new LinkKeys(1);
        LinkKeys b = new LinkKeys(1);
        BrokerId idOfA = new BrokerId("a");
        BrokerId idOfB = new BrokerId("b");
        a.agree(idOfB, 5, b.publicKey());
        b.agree(idOfA, 3, a.publicKey());

        assertThat(a.secret(idOfB, 5)).isEqualTo(b.secret(idOfA, 3)).hasSize(32);
        assertThat(a.secret(idOfB, 6)).isNull();
        a.agree(idOfB, 6, new LinkKeys(1).publicKey());
        assertThat(a.secret(idOfB, 5)).isNull();
        assertThat(a.secret(idOfB, 6)).isNotNull();
        assertThatIllegalArgumentException().isThrownBy(() -> a.agree(new BrokerId("c"), 1, b.publicKey()));
        byte[] noKey = new byte[44];
        new Random(1).nextBytes(noKey);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> a.agree(idOfB, 7, noKey))
                .withMessageContaining("key of b");
    }
}
