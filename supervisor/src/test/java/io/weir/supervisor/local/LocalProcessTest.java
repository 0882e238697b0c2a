package io.weir.supervisor.local;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LocalProcessTest {
    private Process child;

    @BeforeEach
    void start() throws IOException {
        child = new ProcessBuilder("sleep", "300").start();
    }

    @AfterEach
    void end() {
        child.destroyForcibly();
    }

    @Test
    void shouldFindItsProcessWhileItLivesAndEndIt() {
        LocalProcess ours = LocalProcess.of("b1", child.toHandle());
        assertThat(ours.isAlive()).isTrue();

        ours.terminate();

        assertThat(ours.awaitExit(TimeUnit.SECONDS.toMillis(60))).isTrue();
        assertThat(ours.isAlive()).isFalse();
    }

    @Test
    void shouldLeaveAStrangerAloneWhenTheProcessIdWasReused() {
        LocalProcess now = LocalProcess.of("b1", child.toHandle());
        LocalProcess before = new LocalProcess("b1", now.pid(), now.startedAtMs() - 60_000);
        LocalProcess unknownStart = new LocalProcess("b1", now.pid(), 0);

        assertThat(before.isAlive()).isFalse();
        assertThat(unknownStart.isAlive()).isFalse();
        before.terminate();
        before.kill();
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void shouldHaveNothingToEndWhenTheProcessIsGone() throws InterruptedException {
        LocalProcess ours = LocalProcess.of("b1", child.toHandle());
        child.destroyForcibly().waitFor();

        ours.kill();

        assertThat(ours.isAlive()).isFalse();
    }
}
