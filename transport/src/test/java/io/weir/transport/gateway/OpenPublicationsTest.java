package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class OpenPublicationsTest {
    @Test
    void shouldAnswerInTheOrderOfThePublicationsWhateverTheOrderOfTheOutcomes() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        OpenPublications open = new OpenPublications();
        List<Long> outstanding = new ArrayList<>();
        long nextAnswer = 0;
        for (int i = 0; i < 10_000; i++) {
            if (!open.isFull() && random.nextInt(3) > 0) {
                outstanding.add(open.add(Verb.PUB, 1));
                if (random.nextInt(20) == 0) {
                    open.removeLast();
                    outstanding.remove(outstanding.size() - 1);
                }
            } else if (!outstanding.isEmpty()) {
                long ticket = outstanding.remove(random.nextInt(outstanding.size()));
                if (ticket % 3 == 0) {
                    open.accepted(ticket);
                } else if (ticket % 3 == 1) {
                    open.refused(ticket, "refused " + ticket);
                } else {
                    open.failed(ticket, "failed " + ticket);
                }
            }
            while (open.hasAnswer()) {
                String expected = List.of("null", "refused " + nextAnswer, "failed " + nextAnswer)
                        .get((int) (nextAnswer % 3));
                assertThat(String.valueOf(open.error())).as("seed %d", seed).isEqualTo(expected);
                assertThat(open.isFatal()).isEqualTo(nextAnswer % 3 == 2);
                open.removeFirst();
                nextAnswer++;
            }
            assertThat(open.isEmpty()).isEqualTo(!open.isFull() && outstanding.isEmpty());
        }
        assertThat(nextAnswer).as("seed %d", seed).isGreaterThan(1_000);
    }
}
