package io.weir.supervisor.local;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BackoffTest {
    private final Backoff backoff = new Backoff();

    @Test
    void shouldWaitTwiceAsLongEachTimeUpToItsBoundWhenTheProcessKeepsEnding() {
        long last = backoff.afterEndMs(0);
        assertThat(last).isEqualTo(Backoff.FIRST_MS);
        for (int end = 2; end <= 200; end++) {
            long next = backoff.afterEndMs(Backoff.STEADY_MS - 1);
            assertThat(next).isEqualTo(Math.min(2 * last, Backoff.MOST_MS));
            assertThat(backoff.inARow()).isEqualTo(end);
            last = next;
        }
        assertThat(last).isEqualTo(Backoff.MOST_MS);
    }

    @Test
    void shouldBeginAnewWhenTheProcessHadLived() {
        backoff.afterEndMs(0);
        backoff.afterEndMs(0);

        assertThat(backoff.afterEndMs(Backoff.STEADY_MS)).isEqualTo(Backoff.FIRST_MS);
        assertThat(backoff.inARow()).isEqualTo(1);
    }
}
