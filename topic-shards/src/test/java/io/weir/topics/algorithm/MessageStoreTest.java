package io.weir.topics.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MessageStoreTest {
    private static final int MEGABYTE = 1 << 20;

    @Test
    void shouldKeepWhatItIsGivenUntilTheLastReferenceGoes() {
        MessageStore store = new MessageStore(4 * MEGABYTE, 1000);
        int message = store.put(ByteBuffer.wrap(new byte[] {9, 1, 2, 3, 9}), 1, 3, 11, 22, 33);
        store.retain(message, 1);
        store.release(message);
        assertThat(store.timestampNs(message)).isEqualTo(11);
        assertThat(store.id(message)).isEqualTo(22);
        assertThat(store.dueNs(message)).isEqualTo(33);
        assertThat(store.length(message)).isEqualTo(3);
        byte[] body = new byte[3];
        store.slab(message).get(store.bodyAt(message), body);
        assertThat(body).containsExactly(1, 2, 3);
        store.release(message);
        assertThat(store.messages()).isZero();
        assertThatThrownBy(() -> store.release(message)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shouldKeepAContextBesideTheBody() {
        MessageStore store = new MessageStore(4 * MEGABYTE, MEGABYTE - 38);
        byte[] bytes = new byte[MEGABYTE - 38];
        new Random(1).nextBytes(bytes);
        for (int contextLength : new int[] {0, 1, 300, 0xffff}) {
            for (long dueNs : new long[] {0, 33, -1}) {
                int length = bytes.length - contextLength;
                int message = store.put(ByteBuffer.wrap(bytes), 0, contextLength, contextLength, length, 11, 22, dueNs);
                assertThat(store.contextLength(message)).isEqualTo(contextLength);
                assertThat(store.length(message)).isEqualTo(length);
                assertThat(store.timestampNs(message)).isEqualTo(11);
                assertThat(store.id(message)).isEqualTo(22);
                assertThat(store.dueNs(message)).isEqualTo(dueNs);
                byte[] read = new byte[bytes.length];
                store.slab(message).get(store.contextAt(message), read, 0, contextLength);
                store.slab(message).get(store.bodyAt(message), read, contextLength, length);
                assertThat(read).isEqualTo(bytes);
                store.release(message);
            }
        }
        assertThatThrownBy(() -> store.put(ByteBuffer.wrap(bytes), 0, 0x10000, 0, 1, 0, 0, 0))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void shouldTryAgainAfterAWhileWhenThereWasNoMemoryForASlab() {
        AtomicInteger attempts = new AtomicInteger();
        AtomicBoolean exhausted = new AtomicBoolean();
        MessageStore store = new MessageStore(4 * MEGABYTE, MEGABYTE - 38, bytes -> {
            attempts.incrementAndGet();
            if (exhausted.get()) {
                throw new OutOfMemoryError("on purpose");
            }
            return ByteBuffer.allocate(bytes);
        });
        ByteBuffer large = ByteBuffer.allocate(MEGABYTE - 38);
        long nowNs = TimeUnit.DAYS.toNanos(20_000);
        assertThat(store.put(large, 0, large.capacity(), nowNs, 1, 0)).isNotEqualTo(MessageStore.FULL);
        exhausted.set(true);
        assertThat(store.put(large, 0, large.capacity(), nowNs, 2, 0)).isEqualTo(MessageStore.FULL);
        assertThat(store.nearlyFull()).isTrue();
        // An attempt may take half a second: not with every message.
        assertThat(store.put(large, 0, large.capacity(), nowNs + 1, 3, 0)).isEqualTo(MessageStore.FULL);
        assertThat(attempts).hasValue(2);
        exhausted.set(false);

        long laterNs = nowNs + TimeUnit.MINUTES.toNanos(1);
        for (int id = 4; id < 7; id++) {
            assertThat(store.put(large, 0, large.capacity(), laterNs, id, 0)).isNotEqualTo(MessageStore.FULL);
        }
        assertThat(store.put(large, 0, large.capacity(), laterNs, 7, 0))
                .as("beyond what it was given")
                .isEqualTo(MessageStore.FULL);
    }

    @Test
    void shouldWasteAtMostAQuarterOfABlock() {
        for (int units = 1; units <= 100_000; units++) {
            int given = MessageStore.classUnits(MessageStore.sizeClass(units));
            assertThat(given).isGreaterThanOrEqualTo(units);
            assertThat(given - units).isLessThanOrEqualTo(given / 4);
        }
    }

    @Test
    void shouldHoldAMillionMessagesOfAHundredBytesInLessThan130Megabytes() {
        MessageStore store = new MessageStore(300L * MEGABYTE, MEGABYTE);
        ByteBuffer body = ByteBuffer.allocate(100);
        for (int i = 0; i < 1_000_000; i++) {
            assertThat(store.put(body, 0, 100, 0, i, 0)).isNotEqualTo(MessageStore.FULL);
        }
        assertThat(store.bytesReserved()).isLessThan(130L * MEGABYTE);
    }

    @Test
    void shouldGiveBackSlabsThatNobodyNeededForAWhileButForOne() {
        Set<ByteBuffer> freed = Collections.newSetFromMap(new IdentityHashMap<>());
        MessageStore store = new MessageStore(8 * MEGABYTE, 1000, new MessageStore.Slabs() {
            @Override
            public ByteBuffer take(int bytes) {
                return ByteBuffer.allocate(bytes);
            }

            @Override
            public void free(ByteBuffer slab) {
                freed.add(slab);
            }
        });
        ByteBuffer body = ByteBuffer.allocate(1000);
        List<Integer> peak = fill(store, body, 900);
        int kept = peak.remove(peak.size() - 1);
        peak.forEach(store::release);
        store.trim();
        assertThat(freed).as("they were in use since the last time").isEmpty();
        store.trim();
        assertThat(freed).hasSize(6);
        assertThat(freed.contains(store.slab(kept))).isFalse();
        assertThat(store.bytesReserved()).isEqualTo(2 * MEGABYTE);
        store.trim();
        assertThat(freed).hasSize(6);
        assertThat(fill(store, body, 900)).as("all of it can be had again").hasSize(peak.size());
        assertThat(store.bytesReserved()).isEqualTo(8 * MEGABYTE);
        assertThat(store.length(kept)).isEqualTo(900);
    }

    @Test
    void shouldChargeAMessageToItsTopicAndToken() {
        MessageStore store = new MessageStore(8 * MEGABYTE, 1000);
        MemoryAccount orders = store.open();
        MemoryAccount other = store.open();
        MemoryAccount token = store.token(MessageStore.MAX_TOKENS);
        ByteBuffer body = ByteBuffer.allocate(100);
        int one = store.put(orders, token, body, 0, 0, 0, 100, 0, 1, 0);
        int two = store.put(orders, null, body, 0, 0, 0, 50, 0, 2, 0);
        store.put(other, null, body, 0, 0, 0, 1, 0, 3, 0);
        store.retain(one, 2);
        assertThat(orders.bytes()).isEqualTo(128 + 96);
        assertThat(orders.entries()).isEqualTo(4);
        assertThat(token.bytes()).isEqualTo(128);
        assertThat(token.entries()).isEqualTo(3);
        assertThat(other.entries()).isEqualTo(1);
        assertThat(store.entries()).isEqualTo(5);
        store.release(one);
        store.release(two);
        assertThat(orders.bytes()).isEqualTo(128);
        assertThat(token.entries()).isEqualTo(2);
        store.close(orders);
        assertThat(store.open()).as("the number is in use").isNotSameAs(orders);
        store.release(one);
        store.release(one);
        assertThat(token.bytes()).isZero();
        assertThat(store.open()).as("its last message is gone").isSameAs(orders);
        assertThat(orders.bytes()).isZero();
    }

    @Test
    void shouldLetASlabServeAnotherSizeOnceItIsEmpty() {
        MessageStore store = new MessageStore(2 * MEGABYTE, 1000);
        ByteBuffer body = ByteBuffer.allocate(1000);
        List<Integer> small = new ArrayList<>();
        int message = store.put(body, 0, 10, 0, 0, 0);
        while (message != MessageStore.FULL) {
            small.add(message);
            message = store.put(body, 0, 10, 0, 0, 0);
        }
        assertThat(store.nearlyFull()).isTrue();
        assertThat(store.put(body, 0, 1000, 0, 0, 0)).isEqualTo(MessageStore.FULL);
        small.forEach(store::release);
        assertThat(store.bytesInUse()).isZero();
        assertThat(store.nearlyFull()).isFalse();
        assertThat(store.put(body, 0, 1000, 0, 0, 0)).isNotEqualTo(MessageStore.FULL);
        assertThat(store.bytesReserved()).isEqualTo(2 * MEGABYTE);
    }

    @Test
    void shouldNotCallItselfFullWhenAPeakLeftOneMessageASlab() {
        MessageStore store = new MessageStore(16L * MEGABYTE, 1000);
        ByteBuffer body = ByteBuffer.allocate(1000);
        List<Integer> peak = fill(store, body, 900);
        assertThat(store.nearlyFull()).isTrue();
        Map<ByteBuffer, Integer> leftovers = new IdentityHashMap<>();
        for (int message : peak) {
            if (leftovers.putIfAbsent(store.slab(message), message) != null) {
                store.release(message);
            }
        }
        assertThat(leftovers).hasSize(16);
        assertThat(store.nearlyFull()).as("one of a thousand is left").isFalse();
        assertThat(store.put(body, 0, 50, 0, 0, 0))
                .as("a smaller one finds room in slabs of another class")
                .isNotEqualTo(MessageStore.FULL);
        assertThat(fill(store, body, 900).size()).isGreaterThan(peak.size() * 9 / 10);
        assertThat(store.nearlyFull()).isTrue();
    }

    /** A block takes more than half of its slab, so no second one fits: what is left over of slabs is no room. */
    @Test
    void shouldCallItselfFullInTimeWhenBlocksFitBadly() {
        MessageStore store = new MessageStore(16L * MEGABYTE, 600_000);
        ByteBuffer body = ByteBuffer.allocate(600_000);
        int before = 0;
        while (!store.nearlyFull()) {
            assertThat(store.put(body, 0, 600_000, 0, 0, 0)).isNotEqualTo(MessageStore.FULL);
            before++;
        }
        assertThat(before).isEqualTo(15);
        assertThat(store.put(body, 0, 600_000, 0, 0, 0)).isNotEqualTo(MessageStore.FULL);
    }

    private static List<Integer> fill(MessageStore store, ByteBuffer body, int length) {
        List<Integer> stored = new ArrayList<>();
        int message = store.put(body, 0, length, 0, 0, 0);
        while (message != MessageStore.FULL) {
            stored.add(message);
            message = store.put(body, 0, length, 0, 0, 0);
        }
        return stored;
    }

    /** Against a list that remembers: no two messages share a byte, whatever the order of coming and going. */
    @Test
    void shouldKeepMessagesApartUnderRandomLoad() {
        long seed = 3;
        Random random = new Random(seed);
        MessageStore store = new MessageStore(8 * MEGABYTE, 50_000);
        record Kept(int message, int length, byte fill) {}
        List<Kept> kept = new ArrayList<>();
        ByteBuffer body = ByteBuffer.allocate(50_000);
        int full = 0;
        for (int step = 0; step < 60_000; step++) {
            boolean filling = step / 10_000 % 2 == 0;
            if (kept.isEmpty() || random.nextInt(10) < (filling ? 7 : 3)) {
                int length = 1 + random.nextInt(random.nextInt(20) == 0 ? 50_000 : 300);
                byte fill = (byte) step;
                for (int i = 0; i < length; i++) {
                    body.put(i, fill);
                }
                int message = store.put(body, 0, length, step, step, 0);
                if (message == MessageStore.FULL) {
                    full++;
                } else {
                    kept.add(new Kept(message, length, fill));
                }
            } else {
                Kept gone = kept.remove(random.nextInt(kept.size()));
                assertThat(store.length(gone.message))
                        .as("seed %d, step %d", seed, step)
                        .isEqualTo(gone.length);
                for (int i = 0; i < gone.length; i += 7) {
                    if (store.slab(gone.message).get(store.bodyAt(gone.message) + i) != gone.fill) {
                        assertThat(i)
                                .as("seed %d, step %d: overwritten", seed, step)
                                .isNegative();
                    }
                }
                store.release(gone.message);
            }
        }
        assertThat(full).isPositive();
        kept.forEach(message -> store.release(message.message));
        assertThat(store.messages()).isZero();
        assertThat(store.bytesInUse()).isZero();
    }
}
