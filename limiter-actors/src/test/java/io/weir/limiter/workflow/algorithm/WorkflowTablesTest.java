package io.weir.limiter.workflow.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The bounded tables: numbers, slots, amplification, and what was announced. */
class WorkflowTablesTest {
    private static final long SEED = 5;
    private static final long SECOND = 1_000_000_000L;

    @Test
    void shouldNumberKeysAsAMapDoes() {
        Random random = new Random(SEED);
        LongIndex index = new LongIndex(100);
        Map<Long, Integer> model = new HashMap<>();
        for (int step = 0; step < 100_000; step++) {
            long key = random.nextInt(150) * 0x1_0000_0001L;
            if (random.nextInt(3) > 0) {
                int number = index.add(key);
                if (model.containsKey(key)) {
                    assertThat(number).isEqualTo(model.get(key));
                } else if (model.size() == 100) {
                    assertThat(number).isEqualTo(LongIndex.NONE);
                } else {
                    assertThat(model.values()).doesNotContain(number);
                    model.put(key, number);
                }
            } else {
                index.remove(key);
                model.remove(key);
            }
            long other = random.nextInt(150) * 0x1_0000_0001L;
            assertThat(index.find(other))
                    .as("seed %d, step %d", SEED, step)
                    .isEqualTo(model.getOrDefault(other, LongIndex.NONE));
            assertThat(index.size()).isEqualTo(model.size());
        }
    }

    @Test
    void shouldLetInventedWorkflowsShareOneSlot() {
        WorkflowSlots slots = new WorkflowSlots();
        for (long id = 1; id <= WorkflowSlots.MOST; id++) {
            assertThat(slots.add(id)).isNotEqualTo(WorkflowSlots.OTHER);
        }
        for (long id = 1_000; id < 100_000; id++) {
            assertThat(slots.add(id)).isEqualTo(WorkflowSlots.OTHER);
            assertThat(slots.slot(id)).isEqualTo(WorkflowSlots.OTHER);
        }
        int freed = slots.slot(7);
        slots.remove(7);
        assertThat(slots.slot(7)).isEqualTo(WorkflowSlots.OTHER);
        assertThat(slots.add(1_000)).isEqualTo(freed);
    }

    @Test
    void shouldMeasureAmplificationByWhatWasFinished() {
        Amplification amplification = new Amplification(16, 0);
        long edge = Edge.of(3, 1, 77, 2);
        for (int i = 1; i <= 50; i++) {
            long nowNs = i * SECOND / 10;
            amplification.finished(3, 1, 2, nowNs);
            amplification.published(edge, 800, nowNs);
            amplification.age(nowNs);
        }
        assertThat(amplification.alpha(edge)).isCloseTo(400, within(1e-9));
        assertThat(amplification.alpha(Edge.of(2, 1, 77, 2))).isZero();
    }

    @Test
    void shouldFollowAChangeOfAmplificationWithinItsTimeConstant() {
        Amplification amplification = new Amplification(16, 0);
        long edge = Edge.of(0, 1, 1, 1);
        for (int i = 1; i <= 400; i++) {
            long nowNs = i * SECOND / 10;
            amplification.finished(0, 1, 100, nowNs);
            amplification.published(edge, i <= 300 ? 100 : 300, nowNs);
            amplification.age(nowNs);
        }
        // Ten seconds after the step the part 1 − 1/e of it is seen.
        assertThat(amplification.alpha(edge)).isCloseTo(1 + 2 * (1 - Math.exp(-1)), within(0.1));
    }

    @Test
    void shouldForgetIdleEdgesAndNotCountThoseBeyondTheBound() {
        Amplification amplification = new Amplification(4, 0);
        amplification.finished(0, 1, 1, 0);
        for (int topic = 0; topic < 100; topic++) {
            amplification.published(Edge.of(0, 1, topic, 0), 1, 0);
        }
        assertThat(amplification.edges()).isEqualTo(4);
        assertThat(amplification.untracked()).isEqualTo(96);
        amplification.age(60 * SECOND);
        assertThat(amplification.edges()).isZero();
        amplification.finished(0, 1, 1, 60 * SECOND);
        amplification.published(Edge.of(0, 1, 99, 0), 1_000_000, 60 * SECOND);
        assertThat(amplification.alpha(Edge.of(0, 1, 99, 0))).isEqualTo(Amplification.HIGHEST);
    }

    @Test
    void shouldHoldABoundForTenSilentIntervalsAndThenLetItGrow() {
        Announced announced = new Announced(2);
        long edge = Edge.of(9, 1, 4, 2);
        announced.heard(1, 4, 2, new Announcement(100, 8, 0, 0));
        for (int i = 0; i < 10; i++) {
            announced.interval();
        }
        assertThat(announced.rate(edge)).isEqualTo(100);
        announced.interval();
        assertThat(announced.rate(edge)).isEqualTo(125);
        announced.heard(1, 4, 2, new Announcement(80, 8, 0, 0));
        assertThat(announced.rate(edge)).isEqualTo(80);
        for (int i = 0; i < 100; i++) {
            announced.interval();
        }
        assertThat(announced.rate(edge)).isInfinite();
        assertThat(announced.size()).isZero();
    }

    @Test
    void shouldNotHearProcessesBeyondTheBound() {
        Announced announced = new Announced(2);
        for (int broker = 0; broker < 5; broker++) {
            announced.heard(1, 4, broker, new Announcement(broker, 8, 0, 0));
        }
        assertThat(announced.size()).isEqualTo(2);
        assertThat(announced.unheard()).isEqualTo(3);
        assertThat(announced.rate(Edge.of(0, 1, 4, 4))).isInfinite();
    }

    @Test
    void shouldRepeatAnAnnouncementEveryThirdIntervalAndTellChangesAtOnce() {
        Repetition repetition = new Repetition(8);
        assertThat(repetition.due(1, 2, 3, 100)).isTrue();
        assertThat(repetition.due(1, 2, 3, 100.5)).isFalse();
        assertThat(repetition.due(1, 2, 3, 100)).isFalse();
        assertThat(repetition.due(1, 2, 3, 100)).isTrue();
        assertThat(repetition.due(1, 2, 3, 102)).isTrue();
        assertThat(repetition.due(1, 2, 3, Double.POSITIVE_INFINITY)).isTrue();
        assertThat(repetition.due(1, 2, 3, Double.POSITIVE_INFINITY)).isFalse();
    }

    @Test
    void shouldAllocateNothingPerMessage() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Calls calls = new Calls();
        calls.run(20_000);
        long least = Long.MAX_VALUE;
        for (int batch = 0; batch < 3; batch++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            calls.run(100_000);
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(least / 100_000.0).as("bytes a message").isLessThan(0.1);
        assertThat(calls.passed).isPositive();
    }

    /** All that a broker would call for a message. */
    private static final class Calls {
        final WorkflowSlots slots = new WorkflowSlots();
        final Amplification amplification = new Amplification(64, 0);
        final RemainingTimes times = new RemainingTimes(64);
        final ChannelCapacity channel = new ChannelCapacity(0);
        final ConsumerWindow consumer = ConsumerWindow.learning();
        final DeadlineAdmission admission = new DeadlineAdmission();
        final EntryBuckets buckets = new EntryBuckets();
        final ShardRates rates =
                new ShardRates(ShardRates.Knob.POOL, new BottleneckFairness(), java.util.List.of(new Resource(1)), 16);
        long nowNs;
        long passed;

        Calls() {
            slots.add(42);
            buckets.sigma(1, 100_000, 0);
        }

        void run(int messages) {
            for (int i = 0; i < messages; i++) {
                nowNs += 5_000;
                int workflow = slots.slot(42 + i % 2);
                rates.arrived(workflow, 1);
                long waitNs = buckets.expectedWaitNs(workflow, i % 100, nowNs);
                passed += admission.admits(workflow, nowNs + 1_000_000, waitNs, 1_000, 500, nowNs) ? 1 : 0;
                passed += buckets.takeOrWaitNs(workflow, 1, nowNs) == 0 ? 1 : 0;
                boolean quiet = consumer.delivered();
                channel.waiting(i % 3 == 0, nowNs);
                consumer.finished(1_000, quiet);
                channel.finished(workflow, 1_000, quiet);
                times.finished(0, workflow, 1_000, 2_000);
                amplification.finished(0, workflow, 1, nowNs);
                amplification.published(Edge.of(0, workflow, i % 8, 1), 1, nowNs);
            }
        }
    }
}
