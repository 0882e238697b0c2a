package io.weir.limiter.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LooksTest {
    private final Looks looks = new Looks();

    @Test
    void shouldLookOnceAtATime() {
        assertThat(looks.due()).isTrue();
        assertThat(looks.due()).isFalse();
        assertThat(looks.ended())
                .as("the pause that came due meanwhile is no reason")
                .isFalse();
        assertThat(looks.due()).isTrue();
    }

    @Test
    void shouldLookOnceMoreHoweverManyRowsBecomeNewMeanwhile() {
        assertThat(looks.rowIsNew()).isTrue();
        assertThat(looks.rowIsNew()).isFalse();
        assertThat(looks.rowIsNew()).isFalse();
        assertThat(looks.ended()).isTrue();
        assertThat(looks.due()).isTrue();
        assertThat(looks.ended()).as("that was the one look more").isFalse();
    }
}
