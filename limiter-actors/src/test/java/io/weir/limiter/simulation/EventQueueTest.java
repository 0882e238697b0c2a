package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class EventQueueTest {
    private record Planned(long atNs, int order) {}

    @Test
    void shouldTakeByTimeAndThenByOrderWhenPlansAndTakesMix() {
        for (long seed = 0; seed < 300; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            EventQueue<Planned> queue = new EventQueue<>();
            List<Planned> expected = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                if (expected.isEmpty() || random.nextInt(3) > 0) {
                    Planned planned = new Planned(random.nextLong(20), i);
                    queue.plan(planned.atNs(), planned);
                    expected.add(planned);
                    expected.sort(Comparator.comparingLong(Planned::atNs).thenComparingInt(Planned::order));
                } else {
                    assertThat(queue.nextNs())
                            .as("seed %d", seed)
                            .isEqualTo(expected.get(0).atNs());
                    assertThat(queue.take()).as("seed %d", seed).isEqualTo(expected.remove(0));
                }
            }
        }
    }

    @Test
    void shouldSayNothingWhenNothingIsPlanned() {
        assertThat(new EventQueue<String>().nextNs()).isEqualTo(EventQueue.NOTHING);
    }
}
