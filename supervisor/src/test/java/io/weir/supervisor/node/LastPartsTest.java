package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.SupplyCoordinator.Part;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LastPartsTest {
    private static final TopicName ORDERS = new TopicName("orders");
    private static final BrokerId B1 = new BrokerId("b1");

    private final AtomicLong clock = new AtomicLong(-5);
    private final LastParts parts = new LastParts(clock::get);

    @Test
    void shouldTellWhatABrokerSaidLastAndHowOldThatIs() {
        parts.heard(ORDERS, part(7, 100));
        clock.addAndGet(2_000_000);
        parts.heard(ORDERS, part(7, 200));
        clock.addAndGet(3_000_000);

        LastParts.Heard last = parts.of(ORDERS, B1, 7).orElseThrow();
        assertThat(last.part().rate()).isEqualTo(200);
        assertThat(parts.ageMs(last)).isEqualTo(3);
    }

    @Test
    void shouldNotTakeAnEarlierLifeForThisOne() {
        parts.heard(ORDERS, part(7, 100));

        assertThat(parts.of(ORDERS, B1, 8)).isEmpty();
        assertThat(parts.of(ORDERS, new BrokerId("b2"), 7)).isEmpty();
        assertThat(parts.of(new TopicName("others"), B1, 7)).isEmpty();
    }

    @Test
    void shouldForgetTheTopicThatNobodyAskedForForTheLongest() {
        for (int i = 0; i < LastParts.MOST_TOPICS; i++) {
            parts.heard(new TopicName("t" + i), part(1, i));
        }
        assertThat(parts.of(new TopicName("t0"), B1, 1)).isPresent();

        parts.heard(new TopicName("one-more"), part(1, 1));

        assertThat(parts.of(new TopicName("t0"), B1, 1)).isPresent();
        assertThat(parts.of(new TopicName("t1"), B1, 1)).isEmpty();
    }

    private static Part part(long incarnation, double rate) {
        return new Part("b1", incarnation, rate, 1, 1, 0, null, 1, "live", 0, 0, 0, 0, 0);
    }
}
