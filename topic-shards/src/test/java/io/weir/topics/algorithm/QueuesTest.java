package io.weir.topics.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Each against the java.util collection that says the same more slowly. */
class QueuesTest {
    private static final long SEED = 11;

    private final Random random = new Random(SEED);

    @Test
    void shouldKeepTheOrderOfARingThatGrows() {
        LongRing ring = new LongRing();
        ArrayDeque<Long> model = new ArrayDeque<>();
        for (long step = 0; step < 50_000; step++) {
            if (model.isEmpty() || random.nextInt(100) < 55) {
                ring.add(step);
                model.addLast(step);
            } else {
                assertThat(ring.poll()).isEqualTo(model.pollFirst());
            }
            assertThat(ring.size()).isEqualTo(model.size());
        }
    }

    @Test
    void shouldGiveTheEarliestDeadlineFirstAlsoWhenTheClockWraps() {
        DeadlineHeap heap = new DeadlineHeap();
        long start = Long.MAX_VALUE - 500;
        PriorityQueue<Long> model = new PriorityQueue<>(Comparator.comparingLong(deadline -> deadline - start));
        for (int step = 0; step < 20_000; step++) {
            if (model.isEmpty() || random.nextBoolean()) {
                long deadlineNs = start + random.nextInt(1_000);
                heap.add(deadlineNs, deadlineNs);
                model.add(deadlineNs);
            } else {
                assertThat(heap.deadlineNs()).isEqualTo(model.peek());
                assertThat(heap.poll()).isEqualTo(model.poll());
            }
        }
        assertThat(heap.size()).isEqualTo(model.size());
    }

    @Test
    void shouldFindWhatIsInFlightAndListItByDeadline() {
        InFlight inFlight = new InFlight();
        Map<Long, Long> deadlines = new LinkedHashMap<>();
        for (long step = 0; step < 20_000; step++) {
            int choice = random.nextInt(10);
            if (deadlines.isEmpty() || choice < 5) {
                long id = random.nextLong();
                long deadlineNs = random.nextInt(4) == 0 ? random.nextInt((int) step + 1) : step;
                inFlight.add(id, step, step, deadlineNs);
                deadlines.put(id, deadlineNs);
            } else {
                long id = deadlines.keySet().stream()
                        .skip(random.nextInt(Math.min(20, deadlines.size())))
                        .findFirst()
                        .orElseThrow();
                int slot = inFlight.find(id);
                assertThat(slot).as("seed %d, step %d", SEED, step).isNotEqualTo(InFlight.NONE);
                if (choice < 9) {
                    inFlight.remove(slot);
                    deadlines.remove(id);
                    assertThat(inFlight.find(id)).isEqualTo(InFlight.NONE);
                } else {
                    inFlight.deadline(slot, step);
                    deadlines.put(id, step);
                }
            }
            assertThat(inFlight.size()).isEqualTo(deadlines.size());
        }
        long latest = Long.MIN_VALUE;
        while (inFlight.size() > 0) {
            long deadlineNs = inFlight.deadlineNs(inFlight.first());
            assertThat(deadlineNs).isGreaterThanOrEqualTo(latest);
            latest = deadlineNs;
            inFlight.remove(inFlight.first());
        }
    }

    @Test
    void shouldRefuseTheSameIdTwice() {
        InFlight inFlight = new InFlight();
        inFlight.add(1, 0, 0, 0);
        assertThat(inFlight.find(2)).isEqualTo(InFlight.NONE);
        assertThatThrownBy(() -> inFlight.add(1, 0, 0, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shouldNoticeTheSameIdTwiceWhenItSearchesAtTheLatest() {
        InFlight inFlight = new InFlight();
        inFlight.add(1, 0, 0, 0);
        inFlight.add(1, 0, 0, 0);
        assertThatThrownBy(() -> inFlight.find(2)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shouldFindWhatIsInFlightWhetherItIsAcknowledgedInOrderOrNot() {
        InFlight inFlight = new InFlight();
        ArrayDeque<Long> model = new ArrayDeque<>();
        long next = 0;
        for (int round = 0; round < 200; round++) {
            // Grows on the way, without an index in one round and with one in the next.
            for (int i = random.nextInt(300); i >= 0; i--) {
                inFlight.add(next, next, next, next);
                model.addLast(next++);
            }
            boolean inOrder = random.nextBoolean();
            int left = random.nextInt(3) == 0 ? 0 : random.nextInt(50);
            while (model.size() > left) {
                long id = inOrder || random.nextInt(10) > 0 ? model.pollFirst() : model.pollLast();
                int slot = inFlight.find(id);
                assertThat(slot).as("seed %d, round %d", SEED, round).isNotEqualTo(InFlight.NONE);
                assertThat(inFlight.entry(slot)).isEqualTo(id);
                inFlight.remove(slot);
            }
            assertThat(inFlight.size()).isEqualTo(model.size());
            if (!inOrder) {
                assertThat(inFlight.find(next)).isEqualTo(InFlight.NONE);
            }
        }
    }

    @Test
    void shouldFindNamesThatStandInABuffer() {
        NameTable<Integer> table = new NameTable<>();
        Map<String, Integer> model = new HashMap<>();
        for (int step = 0; step < 20_000; step++) {
            String name = "topic-" + random.nextInt(500);
            if (model.containsKey(name) && random.nextBoolean()) {
                table.remove(name);
                model.remove(name);
            } else if (!model.containsKey(name)) {
                table.add(name, step);
                model.put(name, step);
            }
            byte[] bytes = ("x" + name + "x").getBytes(StandardCharsets.US_ASCII);
            assertThat(table.get(ByteBuffer.wrap(bytes), 1, bytes.length - 2)).isEqualTo(model.get(name));
            assertThat(table.size()).isEqualTo(model.size());
        }
        model.forEach((name, value) -> assertThat(table.get(name)).isEqualTo(value));
    }
}
