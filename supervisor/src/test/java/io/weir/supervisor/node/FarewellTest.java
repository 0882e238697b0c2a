package io.weir.supervisor.node;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.weir.supervisor.Await;
import io.weir.supervisor.store.RunningStore;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

@Timeout(120)
class FarewellTest {
    @TempDir
    private Path dir;

    @Test
    void shouldSayHowManyMessagesAreLostWhenABrokerStopsThatHasSome() throws Exception {
        Logger logger = (Logger) LoggerFactory.getLogger(BrokerTopics.class);
        ListAppender<ILoggingEvent> said = new ListAppender<>();
        said.start();
        logger.addAppender(said);
        // Tests are quiet otherwise.
        Level before = logger.getLevel();
        logger.setLevel(Level.WARN);
        try (RunningStore store = RunningStore.start()) {
            BrokerUnderTest broker = BrokerUnderTest.start(store.environment("b1", dir.resolve("b1")));
            Await.until("b1 is ready", () -> broker.get("/ready").statusCode() == 200);
            assertThat(broker.post("/mpub?topic=left", "one\ntwo\nthree".getBytes(UTF_8))
                            .statusCode())
                    .isEqualTo(200);
            broker.post("/stop");
            broker.awaitEnd();
        } finally {
            logger.setLevel(before);
            logger.detachAppender(said);
        }
        assertThat(said.list).extracting(ILoggingEvent::getFormattedMessage).anySatisfy(line -> assertThat(line)
                .contains("3 messages of 1 topic"));
    }
}
