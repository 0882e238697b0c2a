package io.weir.config.value;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class TopicNameTest {
    @Test
    void shouldMakeAKeyOfAChannelThatNoUserCanName() {
        TopicName key = TopicName.ofChannel(TopicName.of("a".repeat(64)), new ChannelName("b".repeat(64)));
        assertThat(key.value()).hasSize(TopicName.MAX_KEY_LENGTH);
        assertThat(key.namesChannel()).isTrue();
        assertThat(new TopicName(key.value())).isEqualTo(key);
        assertThat(TopicName.of("a").namesChannel()).isFalse();
        assertThatThrownBy(() -> TopicName.of("orders:billing"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("orders:billing");
    }

    @Test
    void shouldHoldBothPartsOfAKeyToTheRule() {
        for (String wrong :
                new String[] {":", "a:", ":b", "a:b:c", "a:b c", "a".repeat(65) + ":b", "a:" + "b".repeat(65)}) {
            assertThatThrownBy(() -> new TopicName(wrong)).as(wrong).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
