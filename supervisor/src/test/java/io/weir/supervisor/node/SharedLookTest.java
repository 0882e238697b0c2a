package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SharedLookTest {
    private final AtomicLong clock = new AtomicLong();
    private final List<Runnable> delayed = new ArrayList<>();
    private final List<Long> delayedNs = new ArrayList<>();
    private final List<CompletableFuture<Integer>> looks = new CopyOnWriteArrayList<>();
    private final SharedLook<Integer> shared = new SharedLook<>(
            () -> {
                CompletableFuture<Integer> look = new CompletableFuture<>();
                looks.add(look);
                return look;
            },
            Duration.ofMillis(100),
            clock::get,
            (task, ns) -> {
                delayed.add(task);
                delayedNs.add(ns);
            });

    private static int value(CompletionStage<Integer> answer) {
        return answer.toCompletableFuture().join();
    }

    @Test
    void shouldLookOnceForAllWhoAskWhileOneIsUnderWay() {
        CompletionStage<Integer> first = shared.next();
        assertThat(looks).hasSize(1);
        List<CompletionStage<Integer>> later = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            later.add(shared.next());
        }
        assertThat(looks)
                .as("the one that is under way began before they asked")
                .hasSize(1);
        clock.addAndGet(Duration.ofMillis(100).toNanos());
        looks.get(0).complete(1);
        assertThat(value(first)).isEqualTo(1);
        assertThat(looks).hasSize(2);
        looks.get(1).complete(2);
        later.forEach(answer -> assertThat(value(answer)).isEqualTo(2));
        assertThat(looks).hasSize(2);
    }

    @Test
    void shouldPauseBetweenLooksAndGoOnAfterOneThatFailed() {
        shared.next();
        clock.addAndGet(Duration.ofMillis(60).toNanos());
        looks.get(0).completeExceptionally(new IllegalStateException("on purpose"));
        CompletionStage<Integer> second = shared.next();
        shared.next();
        assertThat(looks).as("it has to wait").hasSize(1);
        assertThat(delayedNs).containsExactly(Duration.ofMillis(40).toNanos());
        delayed.get(0).run();
        assertThat(looks).hasSize(2);
        looks.get(1).complete(2);
        assertThat(value(second)).isEqualTo(2);
    }
}
