package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Behavior;
import akka.actor.typed.javadsl.AskPattern;
import akka.japi.function.Function;
import akka.persistence.typed.PersistenceId;
import akka.persistence.typed.javadsl.CommandHandler;
import akka.persistence.typed.javadsl.EventHandler;
import akka.persistence.typed.javadsl.EventSourcedBehavior;
import akka.persistence.typed.javadsl.RetentionCriteria;
import akka.serialization.SerializationExtension;
import akka.serialization.jackson.JacksonCborSerializer;
import io.weir.config.CrossesNodes;
import io.weir.config.SettingsLoader;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import io.weir.supervisor.Await;
import io.weir.supervisor.FreePorts;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Events through a broker's real configuration: what was acknowledged is there for the next actor system. */
@Timeout(120)
class PersistenceTest {
    private static final String EVENTS =
            "SELECT sequence_number, event_ser_id, event_ser_manifest FROM event_journal ORDER BY sequence_number";
    private static final String SNAPSHOTS =
            "SELECT sequence_number, snapshot_ser_id, snapshot_ser_manifest FROM snapshot ORDER BY sequence_number";

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

    /** A ledger that writes what it is told and keeps it as its snapshot. */
    private static final class LedgerKeeper
            extends EventSourcedBehavior<LedgerKeeper.Command, SupplyEvent, Ledger.Snapshot> {
        sealed interface Command {}

        record Append(SupplyEvent event, ActorRef<Long> replyTo) implements Command {}

        record Read(ActorRef<Ledger.Snapshot> replyTo) implements Command {}

        private final Holder holder;

        LedgerKeeper(Holder holder) {
            super(PersistenceId.ofUniqueId("supply|" + holder.broker() + "|" + holder.incarnation()));
            this.holder = holder;
        }

        @Override
        public Ledger.Snapshot emptyState() {
            return new Ledger(holder).snapshot();
        }

        @Override
        public RetentionCriteria retentionCriteria() {
            return RetentionCriteria.snapshotEvery(2, 1);
        }

        @Override
        public CommandHandler<Command, SupplyEvent, Ledger.Snapshot> commandHandler() {
            return newCommandHandlerBuilder()
                    .forAnyState()
                    .onCommand(Append.class, append -> Effect()
                            .persist(append.event)
                            .thenReply(append.replyTo, Ledger.Snapshot::sequence))
                    .onCommand(Read.class, (state, read) -> Effect().reply(read.replyTo, state))
                    .build();
        }

        @Override
        public EventHandler<Ledger.Snapshot, SupplyEvent> eventHandler() {
            return newEventHandlerBuilder().forAnyState().onAnyEvent((state, event) -> {
                Ledger ledger = new Ledger(state);
                ledger.apply(event);
                return ledger.snapshot();
            });
        }
    }

    @Test
    void shouldRecoverALedgerFromItsSnapshotAndTheEventsAfterIt() throws Exception {
        Holder holder = new Holder(new BrokerId("b1"), 7);
        TopicName topic = new TopicName("orders");
        Holding minted = Holding.of(new Share(1_000_000_000, 100_000_000), 500).full();
        Transfer.Id sent = new Transfer.Id(holder, new Holder(new BrokerId("b2"), 1), 1);
        List<SupplyEvent> events = List.of(
                new SupplyEvent.Minted(topic, 1, minted, Share.NONE),
                new SupplyEvent.Debited(
                        new Transfer(sent, Map.of(topic, minted.cut(new Share(10_000_000, 10_000_000))))),
                new SupplyEvent.Recovered(2));
        Ledger expected = new Ledger(holder);
        events.forEach(expected::apply);
        try (RunningStore store = RunningStore.start()) {
            try (BrokerRegistry registry =
                    new BrokerRegistry(store.settings("b1", dir).settings().store())) {
                registry.awaitStore();
            }
            try (Life<LedgerKeeper.Command> first = Life.begin(store.settings("b1", dir), new LedgerKeeper(holder))) {
                for (int i = 0; i < events.size(); i++) {
                    SupplyEvent event = events.get(i);
                    assertThat(first.<Long>ask(replyTo -> new LedgerKeeper.Append(event, replyTo)))
                            .isEqualTo(i + 1);
                }
                Await.until("the snapshot is stored", () -> written(store, SNAPSHOTS)
                        .equals(List.of("2 571001 s")));
            }
            assertThat(written(store, EVENTS)).containsExactly("1 571001 e", "2 571001 e", "3 571001 e");
            // Without the events before it, only the snapshot knows what was minted.
            store.execute("DELETE FROM event_journal WHERE sequence_number <= 2");
            try (Life<LedgerKeeper.Command> second = Life.begin(store.settings("b2", dir), new LedgerKeeper(holder))) {
                assertThat(second.<Ledger.Snapshot>ask(LedgerKeeper.Read::new)).isEqualTo(expected.snapshot());
            }
        }
    }

    private static List<String> written(RunningStore store, String sql) throws SQLException {
        List<String> written = new ArrayList<>();
        try (Connection connection = store.connect();
                ResultSet rows = connection.createStatement().executeQuery(sql)) {
            while (rows.next()) {
                written.add(rows.getLong(1) + " " + rows.getInt(2) + " " + rows.getString(3));
            }
        }
        return written;
    }

    /** One life of an actor system with an event sourced actor in it. */
    private record Life<C>(ActorSystem<C> system) implements AutoCloseable {
        private static final Duration PATIENCE = Duration.ofSeconds(60);

        static <C> Life<C> begin(SettingsLoader settings, Behavior<C> actor) {
            return new Life<>(ActorSystem.create(actor, "weir", settings.akka()));
        }

        <T> T ask(Function<ActorRef<T>, C> command) {
            return answer(AskPattern.ask(system, command, PATIENCE, system.scheduler()));
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

    @Test
    void shouldRecoverInAnotherActorSystemWhatOneHasWritten() throws IOException {
        try (RunningStore store = RunningStore.start()) {
            try (BrokerRegistry registry =
                    new BrokerRegistry(store.settings("b1", dir).settings().store())) {
                registry.awaitStore();
            }
            try (Life<Notes.Command> first = Life.begin(store.settings("b1", dir), Notes.create(true))) {
                assertThat(SerializationExtension.get(first.system).serializerFor(Notes.Noted.class))
                        .isInstanceOf(JacksonCborSerializer.class);
                assertThat(note(first, "one")).isEqualTo(1);
                assertThat(note(first, "zwei – 二")).isEqualTo(2);
                assertThat(note(first, "")).isEqualTo(3);
            }
            try (Life<Notes.Command> second = Life.begin(store.settings("b2", dir), Notes.create(true))) {
                assertThat(read(second)).containsExactly(Notes.noted("one"), Notes.noted("zwei – 二"), Notes.noted(""));
                assertThat(note(second, "four")).isEqualTo(4);
            }
        }
    }

    @Test
    void shouldKeepEveryAcknowledgedEventWhenTheStoresProcessIsKilled() throws Exception {
        int port = FreePorts.take(1)[0];
        StoreServer store = startStore(port);
        List<String> acknowledged = new ArrayList<>();
        try (Life<Notes.Command> life = Life.begin(settings(port), Notes.create(false))) {
            for (int i = 0; i < 40; i++) {
                String text = "note " + i;
                note(life, text);
                acknowledged.add(text);
            }
            // At once: whatever the store still wanted to write later is lost with it.
            store.process().destroyForcibly().waitFor();
        }
        StoreServer again = startStore(port);
        try (Life<Notes.Command> life = Life.begin(settings(port), Notes.create(false))) {
            assertThat(read(life).stream().map(Notes.Noted::text)).containsExactlyElementsOf(acknowledged);
        } finally {
            again.close();
        }
    }

    @Test
    void shouldKeepEveryAcknowledgedEventWhenTheStoreIsKilledWhileItWrites() throws Exception {
        int port = FreePorts.take(1)[0];
        StoreServer store = startStore(port);
        AtomicInteger acknowledged = new AtomicInteger();
        try (Life<Notes.Command> life = Life.begin(settings(port), Notes.create(false))) {
            Thread writer = new Thread(() -> {
                try {
                    while (true) {
                        acknowledged.set(note(life, "note " + acknowledged.get()));
                    }
                } catch (RuntimeException e) {
                    // The store is gone, and with it the actor.
                }
            });
            writer.start();
            Await.until("some notes are acknowledged", () -> acknowledged.get() >= 20);
            store.process().destroyForcibly().waitFor();
            life.close();
            writer.join();
        }
        StoreServer again = startStore(port);
        try (Life<Notes.Command> life = Life.begin(settings(port), Notes.create(false))) {
            // One more may have been written whose acknowledgement never came.
            assertThat(read(life)).hasSizeBetween(acknowledged.get(), acknowledged.get() + 1);
        } finally {
            again.close();
        }
    }

    private static int note(Life<Notes.Command> life, String text) {
        return life.<Integer>ask(replyTo -> new Notes.Note(text, replyTo));
    }

    private static List<Notes.Noted> read(Life<Notes.Command> life) {
        return life.<Notes.State>ask(Notes.Read::new).notes();
    }

    private SettingsLoader settings(int port) {
        return SettingsLoader.load(Optional.empty(), RunningStore.environment("b1", dir, StoreServer.url(port)));
    }

    private StoreServer startStore(int port) {
        StoreServer server = StoreServer.start(dir.resolve("store"), port, RunningStore.password());
        try (BrokerRegistry tables =
                new BrokerRegistry(settings(port).settings().store())) {
            tables.awaitStore();
        }
        return server;
    }
}
