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
    private final LongSegments segments = new LongSegments();
    private final SlotBudget slots = new SlotBudget(1 << 20);

    @Test
    void shouldKeepTheOrderOfARingThatGrows() {
        LongRing ring = new LongRing(segments);
        ArrayDeque<Long> model = new ArrayDeque<>();
        for (long step = 0; step < 50_000; step++) {
            if (model.isEmpty() || random.nextInt(100) < 55) {
                ring.add(step);
                model.addLast(step);
            } else {
                assertThat(ring.poll()).isEqualTo(model.pollFirst());
            }
            assertThat(ring.size()).isEqualTo(model.size());
            int behind = random.nextInt(model.size() + 1);
            if (behind < Math.min(200, model.size())) {
                assertThat(ring.get(behind))
                        .isEqualTo(model.stream().skip(behind).findFirst().orElseThrow());
            }
        }
    }

    @Test
    void shouldGiveMemoryBackWhenQueuesEmpty() {
        LongRing ring = new LongRing(segments);
        DeadlineHeap heap = new DeadlineHeap(segments);
        for (int i = 0; i < 100_000; i++) {
            ring.add(i);
            heap.add(i, i);
        }
        long peak = segments.bytes();
        assertThat(peak).as("8 bytes each, and 16").isBetween(2_400_000L, 2_500_000L);
        while (!ring.isEmpty()) {
            ring.poll();
            heap.poll();
        }
        segments.trim();
        assertThat(segments.bytes()).as("they may be needed again at once").isEqualTo(peak);
        for (int i = 0; i < 1_000; i++) {
            ring.add(i);
        }
        segments.trim();
        assertThat(segments.bytes()).as("what was not needed since is gone").isBetween(8_000L, 9_000L);
        while (!ring.isEmpty()) {
            ring.poll();
        }
        segments.trim();
        segments.trim();
        assertThat(segments.bytes()).isZero();
    }

    @Test
    void shouldShareSlotsAmongAllThatIsInFlight() {
        SlotBudget few = new SlotBudget(100);
        InFlight greedy = new InFlight(few);
        InFlight modest = new InFlight(few);
        int added = 0;
        while (greedy.hasRoom()) {
            greedy.add(added, added, 0, added);
            added++;
        }
        assertThat(added)
                .as("16 that each has, doubled as often as the budget allows")
                .isEqualTo(64);
        assertThat(few.scarce()).isFalse();
        for (int i = 0; i < 16; i++) {
            assertThat(modest.hasRoom()).isTrue();
            modest.add(i, i, 0, i);
        }
        while (greedy.size() > 3) {
            greedy.remove(greedy.first());
        }
        greedy.trim();
        assertThat(few.left()).as("it had to be so large a short while ago").isEqualTo(52);
        greedy.trim();
        assertThat(few.left()).isEqualTo(100);
        for (int id = 61; id < 64; id++) {
            assertThat(greedy.entry(greedy.find(id))).isEqualTo(id);
        }
        modest.add(16, 16, 0, 16);
        while (modest.size() > 0) {
            modest.remove(modest.first());
        }
        assertThat(few.left()).isEqualTo(84);
        modest.close();
        assertThat(few.left()).isEqualTo(100);
    }

    @Test
    void shouldGiveTheEarliestDeadlineFirstAlsoWhenTheClockWraps() {
        DeadlineHeap heap = new DeadlineHeap(segments);
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
        InFlight inFlight = new InFlight(slots);
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
        InFlight inFlight = new InFlight(slots);
        inFlight.add(1, 0, 0, 0);
        assertThat(inFlight.find(2)).isEqualTo(InFlight.NONE);
        assertThatThrownBy(() -> inFlight.add(1, 0, 0, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shouldNoticeTheSameIdTwiceWhenItSearchesAtTheLatest() {
        InFlight inFlight = new InFlight(slots);
        inFlight.add(1, 0, 0, 0);
        inFlight.add(1, 0, 0, 0);
        assertThatThrownBy(() -> inFlight.find(2)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shouldFindWhatIsInFlightWhetherItIsAcknowledgedInOrderOrNot() {
        InFlight inFlight = new InFlight(slots);
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
