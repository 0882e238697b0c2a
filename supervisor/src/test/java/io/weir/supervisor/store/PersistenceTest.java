package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AskPattern;
import akka.persistence.typed.PersistenceId;
import akka.persistence.typed.javadsl.CommandHandler;
import akka.persistence.typed.javadsl.EventHandler;
import akka.persistence.typed.javadsl.EventSourcedBehavior;
import akka.persistence.typed.javadsl.RetentionCriteria;
import akka.serialization.SerializationExtension;
import akka.serialization.jackson.JacksonCborSerializer;
import io.weir.config.CrossesNodes;
import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings.StoreKind;
import io.weir.config.value.BrokerId;
import io.weir.supervisor.Await;
import io.weir.supervisor.FreePorts;
import io.weir.supervisor.cli.Weir;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Events through a broker's real configuration: what was acknowledged is there for the next actor system. */
@Timeout(120)
class PersistenceTest {
    @TempDir
    private Path dir;

    /** An event sourced actor that keeps notes, as plain as can be. */
    private static final class Notes extends EventSourcedBehavior<Notes.Command, Notes.Noted, Notes.State> {
        sealed interface Command {}

        record Note(String text, ActorRef<Integer> replyTo) implements Command {}

        record Read(ActorRef<State> replyTo) implements Command {}

        record Noted(String text, BrokerId by, Optional<Long> number, List<Duration> waits) implements CrossesNodes {}

        record State(List<Noted> notes) implements CrossesNodes {}

        private final boolean snapshots;

        private Notes(boolean snapshots) {
            super(PersistenceId.of("Notes", "1"));
            this.snapshots = snapshots;
        }

        static Behavior<Command> create(boolean snapshots) {
            return new Notes(snapshots);
        }

        static Noted noted(String text) {
            return new Noted(text, new BrokerId("b1"), Optional.of(Long.MIN_VALUE), List.of(Duration.ofMillis(1_500)));
        }

        @Override
        public State emptyState() {
            return new State(List.of());
        }

        @Override
        public RetentionCriteria retentionCriteria() {
            return snapshots ? RetentionCriteria.snapshotEvery(2, 1) : RetentionCriteria.disabled();
        }

        @Override
        public CommandHandler<Command, Noted, State> commandHandler() {
            return newCommandHandlerBuilder()
                    .forAnyState()
                    .onCommand(Note.class, note -> Effect()
                            .persist(noted(note.text))
                            .thenReply(note.replyTo, state -> state.notes.size()))
                    .onCommand(Read.class, (state, read) -> Effect().reply(read.replyTo, state))
                    .build();
        }

        @Override
        public EventHandler<State, Noted> eventHandler() {
            return newEventHandlerBuilder().forAnyState().onAnyEvent((state, event) -> {
                List<Noted> notes = new ArrayList<>(state.notes);
                notes.add(event);
                return new State(List.copyOf(notes));
            });
        }
    }

    /** One life of an actor system with the notes in it. */
    private record Life(ActorSystem<Notes.Command> system) implements AutoCloseable {
        private static final Duration PATIENCE = Duration.ofSeconds(60);

        static Life begin(SettingsLoader settings, boolean snapshots) {
            return new Life(ActorSystem.create(Notes.create(snapshots), "weir", settings.akka()));
        }

        int note(String text) {
            return answer(AskPattern.<Notes.Command, Integer>ask(
                    system, replyTo -> new Notes.Note(text, replyTo), PATIENCE, system.scheduler()));
        }

        List<Notes.Noted> read() {
            return answer(AskPattern.<Notes.Command, Notes.State>ask(
                            system, Notes.Read::new, PATIENCE, system.scheduler()))
                    .notes();
        }

        /** An actor system that ends takes its timers along: nobody else would tell whoever still waits. */
        private <T> T answer(CompletionStage<T> asked) {
            CompletableFuture<T> answer = new CompletableFuture<>();
            asked.whenComplete((value, error) -> {
                if (error == null) {
                    answer.complete(value);
                } else {
                    answer.completeExceptionally(error);
                }
            });
            system.getWhenTerminated()
                    .whenComplete((done, error) ->
                            answer.completeExceptionally(new IllegalStateException("the actor system has ended")));
            return answer.join();
        }

        @Override
        public void close() {
            system.terminate();
            system.getWhenTerminated().toCompletableFuture().join();
        }
    }

    @ParameterizedTest
    @EnumSource(StoreKind.class)
    void shouldRecoverInAnotherActorSystemWhatOneHasWritten(StoreKind kind) throws IOException {
        try (RunningStore store = RunningStore.start(kind, dir)) {
            try (BrokerRegistry registry =
                    new BrokerRegistry(store.settings("b1", dir).settings().store())) {
                registry.awaitStore();
            }
            try (Life first = Life.begin(store.settings("b1", dir), true)) {
                assertThat(SerializationExtension.get(first.system).serializerFor(Notes.Noted.class))
                        .isInstanceOf(JacksonCborSerializer.class);
                assertThat(first.note("one")).isEqualTo(1);
                assertThat(first.note("zwei – 二")).isEqualTo(2);
                assertThat(first.note("")).isEqualTo(3);
            }
            try (Life second = Life.begin(store.settings("b2", dir), true)) {
                assertThat(second.read()).containsExactly(Notes.noted("one"), Notes.noted("zwei – 二"), Notes.noted(""));
                assertThat(second.note("four")).isEqualTo(4);
            }
        }
    }

    @Test
    void shouldKeepEveryAcknowledgedEventWhenTheStoresProcessIsKilled() throws Exception {
        int port = FreePorts.take(1)[0];
        Process store = startStore(port);
        List<String> acknowledged = new ArrayList<>();
        try (Life life = Life.begin(settings(port), false)) {
            for (int i = 0; i < 40; i++) {
                String text = "note " + i;
                life.note(text);
                acknowledged.add(text);
            }
            // At once: whatever the store still wanted to write later is lost with it.
            store.destroyForcibly().waitFor();
        }
        Process again = startStore(port);
        try (Life life = Life.begin(settings(port), false)) {
            assertThat(life.read().stream().map(Notes.Noted::text)).containsExactlyElementsOf(acknowledged);
        } finally {
            again.destroyForcibly().waitFor();
        }
    }

    @Test
    void shouldKeepEveryAcknowledgedEventWhenTheStoreIsKilledWhileItWrites() throws Exception {
        int port = FreePorts.take(1)[0];
        Process store = startStore(port);
        AtomicInteger acknowledged = new AtomicInteger();
        try (Life life = Life.begin(settings(port), false)) {
            Thread writer = new Thread(() -> {
                try {
                    while (true) {
                        acknowledged.set(life.note("note " + acknowledged.get()));
                    }
                } catch (RuntimeException e) {
                    // The store is gone, and with it the actor.
                }
            });
            writer.start();
            Await.until("some notes are acknowledged", () -> acknowledged.get() >= 20);
            store.destroyForcibly().waitFor();
            life.close();
            writer.join();
        }
        Process again = startStore(port);
        try (Life life = Life.begin(settings(port), false)) {
            // One more may have been written whose acknowledgement never came.
            assertThat(life.read()).hasSizeBetween(acknowledged.get(), acknowledged.get() + 1);
        } finally {
            again.destroyForcibly().waitFor();
        }
    }

    private SettingsLoader settings(int port) {
        return SettingsLoader.load(
                Optional.empty(), RunningStore.environment("b1", dir, StoreServer.url(port), StoreServer.USER));
    }

    private Process startStore(int port) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Weir.class.getName(),
                        "store",
                        "--dir",
                        dir.resolve("store").toString(),
                        "--port",
                        Integer.toString(port))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(new File(dir.toFile(), "store.log")));
        builder.environment().put("WEIR_STORE_PASSWORD", RunningStore.password());
        Process store = builder.start();
        Await.until("the store listens", () -> {
            assertThat(store.isAlive()).as("the store's process").isTrue();
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                return true;
            } catch (IOException e) {
                return false;
            }
        });
        return store;
    }
}
