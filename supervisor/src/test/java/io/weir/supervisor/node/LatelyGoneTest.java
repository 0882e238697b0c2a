package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Sharing;
import io.weir.topics.definition.TopicDefinition;
import io.weir.topics.definition.TopicDefinition.ChannelSettings;
import io.weir.topics.definition.TopicDefinition.Delivery;
import io.weir.topics.definition.TopicDefinition.LimitSettings;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class LatelyGoneTest {
    private static final TopicName TOPIC = new TopicName("orders");
    private static final long LATER_NS = Duration.ofSeconds(11).toNanos();

    private final LatelyGone gone = new LatelyGone();
    private final TopicDefinition made = definition(false, "audit", "work");

    private static TopicDefinition definition(boolean gone, String... channels) {
        Map<String, ChannelSettings> named = new TreeMap<>();
        for (String channel : channels) {
            named.put(channel, new ChannelSettings(false));
        }
        LimitSettings limit = new LimitSettings(1_000_000, 1_000_000, 0, Sharing.DEFAULT);
        return new TopicDefinition(TOPIC, 1, 1, limit, Delivery.defaults(), false, named, gone, Map.of());
    }

    @Test
    void shouldRememberATopicAndItsChannelsForAMomentWhenItIsDeleted() {
        gone.changed(made, definition(true), 5);
        assertThat(gone.lately(TOPIC, 5)).isTrue();
        assertThat(gone.lately(TOPIC, "work", 5)).isTrue();
        assertThat(gone.lately(new TopicName("others"), 5)).isFalse();
        assertThat(gone.lately(TOPIC, LATER_NS)).isFalse();
    }

    @Test
    void shouldRememberAChannelThatIsDeletedAndNotThoseThatStay() {
        gone.changed(made, definition(false, "work"), 5);
        assertThat(gone.lately(TOPIC, "audit", 5)).isTrue();
        assertThat(gone.lately(TOPIC, "work", 5)).isFalse();
        assertThat(gone.lately(TOPIC, 5)).isFalse();
        assertThat(gone.lately(TOPIC, "audit", LATER_NS)).isFalse();
    }
}
