package io.weir.limiter.supply.gate;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GatesTest {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final Holder ME = new Holder(new BrokerId("b1"), 1);
    private static final Holding SUPPLY = Holding.of(new Share(MICROS, MICROS), 0);

    private final Lease lease = new Lease(3_600 * SECOND_NS);
    private final Gates gates = new Gates(ME, lease, 0, () -> {});
    private long nowNs = 1;

    private void forgetAll(String used) {
        for (int i = 0; i < 20; i++) {
            gates.forgetIdle(topic -> topic.value().equals(used), nowNs);
        }
    }

    @Test
    void shouldForgetGatesOfTopicsThatCameAndWentButNotThoseWithSupplyOrInUse() {
        lease.renewed(nowNs);
        for (int i = 0; i < 3_000; i++) {
            TopicName topic = new TopicName("passing-" + i);
            gates.add(ME, Map.of(topic, SUPPLY));
            gates.poll(() -> nowNs);
            if (i % 3 == 0) {
                gates.gate(topic, nowNs).arrived(1, 0, nowNs);
            }
        }
        forgetAll("");
        assertThat(gates.all()).as("they have supply").hasSize(3_000);
        for (int i = 0; i < 3_000; i++) {
            gates.remove(ME, Map.of(new TopicName("passing-" + i), SUPPLY));
            gates.poll(() -> nowNs);
        }
        forgetAll("passing-1");
        assertThat(gates.all()).as("lately something came for a third of them").hasSize(1_001);
        nowNs += 3_600 * SECOND_NS;
        gates.samples();
        while (gates.poll(() -> nowNs) > 0) {}
        forgetAll("passing-1");
        assertThat(gates.all()).singleElement().extracting(TopicGate::topic).isEqualTo(new TopicName("passing-1"));
        forgetAll("");
        assertThat(gates.all()).isEmpty();
    }
}
