package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;

import akka.actor.typed.ActorRef;
import akka.actor.typed.ActorSystem;
import akka.actor.typed.Props;
import akka.actor.typed.javadsl.AskPattern;
import akka.persistence.typed.javadsl.CommandHandler;
import akka.persistence.typed.javadsl.EventHandler;
import akka.persistence.typed.javadsl.EventSourcedBehavior;
import io.weir.config.SettingsLoader;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.actor.Failpoints;
import io.weir.limiter.supply.actor.Failpoints.Step;
import io.weir.limiter.supply.actor.Journals;
import io.weir.limiter.supply.actor.LeaseKeeper;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.limiter.supply.actor.SupplyCounters;
import io.weir.limiter.supply.actor.SupplyLedger;
import io.weir.limiter.supply.gate.Gates;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.PeerMessage;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import io.weir.supervisor.Await;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One broker's supply actors on a real store, with peers that are played by the test. */
@Timeout(120)
class SupplyActorTest {
    private static final Logger LOG = LoggerFactory.getLogger(SupplyActorTest.class);
    private static final long AGAIN_NS = TimeUnit.SECONDS.toNanos(5);
    private static final TopicName TOPIC = new TopicName("orders");
    private static final Holder ME = new Holder(new BrokerId("b1"), 3);
    private static final Holder PEER = new Holder(new BrokerId("b2"), 1);

    @TempDir
    private Path dir;

    /** Store, gates with their thread, and the actors. */
    private static final class Stage implements AutoCloseable {
        final RunningStore store;
        final SupplyTables tables;
        final SupplyCounters counters = new SupplyCounters();
        final AtomicBoolean fenced = new AtomicBoolean();
        final AtomicBoolean gatesStand = new AtomicBoolean();
        final ActorSystem<SupplyCoordinator.Command> system;
        final Gates gates;
        private final AtomicBoolean ended = new AtomicBoolean();
        private final ExecutorService storeThreads = Executors.newFixedThreadPool(2);
        private final Thread writer;

        Stage(Path dir) throws Exception {
            this(dir, Failpoints.NONE);
        }

        Stage(Path dir, Failpoints failpoints) throws Exception {
            store = RunningStore.start();
            SettingsLoader loaded = store.settings("b1", dir);
            try (BrokerRegistry registry = new BrokerRegistry(loaded.settings().store())) {
                registry.awaitStore();
            }
            tables = new SupplyTables(loaded.settings().store(), Duration.ofSeconds(5));
            tables.register(ME);
            Lease lease = new Lease(Long.MAX_VALUE / 4);
            lease.renewed(System.nanoTime());
            gates = new Gates(ME, lease, 1_000, () -> {});
            writer = new Thread(() -> {
                while (!ended.get()) {
                    if (!gatesStand.get()) {
                        gates.poll(System::nanoTime);
                    }
                    LockSupport.parkNanos(200_000);
                }
            });
            writer.start();
            system = ActorSystem.create(
                    SupplyCoordinator.create(new SupplyCoordinator.Dependencies(
                            loaded.settings().supply(),
                            ME,
                            gates,
                            () -> lease.remainingNs(System.nanoTime()),
                            tables,
                            storeThreads,
                            counters,
                            System::nanoTime,
                            new Random(1),
                            () -> fenced.set(true),
                            failpoints)),
                    "weir",
                    loaded.akka());
        }

        SupplyCoordinator.Part part() {
            CompletionStage<SupplyCoordinator.Part> asked = AskPattern.ask(
                    system,
                    (ActorRef<SupplyCoordinator.Part> replyTo) -> new SupplyCoordinator.Describe(TOPIC, replyTo),
                    Duration.ofSeconds(20),
                    system.scheduler());
            return asked.toCompletableFuture().join();
        }

        Ledger journal(Optional<Holder> closer) {
            return new Journals(system).read(ME, closer).toCompletableFuture().join();
        }

        void receive(long sequence) {
            receive(PEER, sequence);
        }

        /** From the peer, one message a second and a burst of one each. */
        void receive(Holder from, long sequence) {
            Holding one = Holding.of(new Share(Limit.MICROS, Limit.MICROS), 0);
            system.tell(new SupplyCoordinator.Mail(new PeerMessage.Sent(
                    new Transfer(new Transfer.Id(from, ME, sequence), Map.of(TOPIC, one.full())), from)));
        }

        int rows() throws SQLException {
            try (Connection connection = store.connect();
                    ResultSet rows = connection
                            .createStatement()
                            .executeQuery("SELECT count(*) FROM event_journal WHERE persistence_id = 'supply|b1|3'")) {
                rows.next();
                return rows.getInt(1);
            }
        }

        @Override
        public void close() {
            system.terminate();
            system.getWhenTerminated().toCompletableFuture().join();
            ended.set(true);
            storeThreads.shutdownNow();
            tables.close();
            store.close();
        }
    }

    @Test
    void shouldMintWhatTheRowSaysAndHoldItAtTheGates() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.tables.insert(new LimitRow(
                    TOPIC,
                    1,
                    new Share(1_000 * Limit.MICROS, 100 * Limit.MICROS),
                    0,
                    Sharing.GOSSIP,
                    Optional.of(ME),
                    false));
            Await.until(
                    "it is minted and marked done",
                    () -> stage.tables.limits(TOPIC).get(0).done());
            SupplyCoordinator.Part part = stage.part();
            assertThat(part.rate()).isEqualTo(1_000);
            assertThat(part.level()).as("a name's first version starts full").isEqualTo(100);
            assertThat(stage.gates
                            .sample(TOPIC)
                            .toCompletableFuture()
                            .join()
                            .held()
                            .share())
                    .isEqualTo(new Share(1_000 * Limit.MICROS, 100 * Limit.MICROS));
        }
    }

    /** A year of it: {@code -Dweir.ledger.events=1000000}. */
    @Test
    @Timeout(value = 2, unit = TimeUnit.HOURS)
    void shouldKeepAShortJournalHoweverManyEventsItHasSeen() throws Exception {
        int transfers = Integer.getInteger("weir.ledger.events", 1_500);
        // One transfer is open for a pair at a time.
        List<Holder> peers = LongStream.rangeClosed(1, 100)
                .mapToObj(i -> new Holder(new BrokerId("p" + i), 1))
                .toList();
        try (Stage stage = new Stage(dir)) {
            long startNs = System.nanoTime();
            long rounds = 0;
            int most = 0;
            // With a snapshot old events are deleted; if that fails, with the next.
            while (rounds * peers.size() < transfers || stage.rows() >= 700) {
                long round = ++rounds;
                AtomicLong sentNs = new AtomicLong(System.nanoTime() - AGAIN_NS);
                Await.until("round " + round + " is stored", () -> {
                    if (System.nanoTime() - sentNs.get() >= AGAIN_NS) {
                        // A ledger that ended in between forgot what waited.
                        sentNs.set(System.nanoTime());
                        peers.forEach(peer -> stage.receive(peer, round));
                    }
                    return stage.counters.received.get() >= round * peers.size();
                });
                if (round % 50 == 0) {
                    most = Math.max(most, stage.rows());
                    LOG.info("{} events, {} rows", round * peers.size(), stage.rows());
                }
            }
            long all = rounds * peers.size();
            long ranNs = System.nanoTime() - startNs;
            // Deleting lags behind thousands of events a second, and catches up.
            assertThat(most).as("events in the journal at any time").isLessThan(50_000);
            long readNs = System.nanoTime();
            Ledger replayed = stage.journal(Optional.empty());
            readNs = System.nanoTime() - readNs;
            LOG.info(
                    "{} events in {} s: {} rows at the end, {} at the most; replayed in {} ms",
                    all,
                    TimeUnit.NANOSECONDS.toSeconds(ranNs),
                    stage.rows(),
                    most,
                    TimeUnit.NANOSECONDS.toMillis(readNs));
            assertThat(replayed.share(TOPIC).share()).isEqualTo(new Share(all * Limit.MICROS, all * Limit.MICROS));
            assertThat(replayed.sequence()).isGreaterThan(all);
            assertThat(replayed.credited(new Transfer.Id(peers.get(0), ME, rounds)))
                    .isTrue();
        }
    }

    @Test
    void shouldCreditATransferOnceHoweverOftenItComes() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.receive(1);
            stage.receive(1);
            stage.receive(2);
            stage.receive(1);
            Await.until("both are stored", () -> stage.counters.received.get() == 2);
            stage.receive(2);
            assertThat(stage.part().rate()).isEqualTo(2);
            assertThat(stage.journal(Optional.empty()).share(TOPIC).share().rateMicros())
                    .isEqualTo(2 * Limit.MICROS);
        }
    }

    @Test
    void shouldBeClosedForEverWhenAnHeirHasClosedItsJournal() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.receive(1);
            Await.until("it is stored", () -> stage.counters.received.get() == 1);
            assertThat(stage.journal(Optional.of(PEER)).closed()).isTrue();
            stage.receive(2);
            Await.until("it notices that it is fenced", stage.fenced::get);
            Ledger closed = stage.journal(Optional.empty());
            assertThat(closed.closed()).isTrue();
            assertThat(closed.credited(new Transfer.Id(PEER, ME, 2))).isFalse();
            assertThat(stage.counters.received.get()).isEqualTo(1);
        }
    }

    @Test
    void shouldSetTheGatesToWhatItsJournalSaysAfterItRecovered() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.receive(1);
            Await.until("it is stored", () -> stage.counters.received.get() == 1);
            // A gate that lost everything: the next commands fill the queue until the ledger gives up and recovers.
            stage.gatesStand.set(true);
            for (int i = 0; i < 1_100; i++) {
                stage.gates.barrier();
            }
            stage.receive(2);
            Await.until("the ledger recovers", () -> stage.counters.ledgerRestarts.get() > 0);
            stage.gatesStand.set(false);
            // As long as the queue is full, asking the gates fails as well.
            Await.until("the gates hold what was credited", () -> stage.gates
                    .sample(TOPIC)
                    .handle((sample, full) -> sample != null
                            && sample.held().share().equals(new Share(2 * Limit.MICROS, 2 * Limit.MICROS)))
                    .toCompletableFuture()
                    .join());
            assertThat(stage.counters.violations.get()).isZero();
        }
    }

    @Test
    void shouldGoOnWithItsRoundsWhenTheLedgerEndsInTheMiddleOfOne() throws Exception {
        try (Stage stage = new Stage(dir)) {
            stage.tables.insert(new LimitRow(
                    TOPIC, 1, new Share(Limit.MICROS, Limit.MICROS), 0, Sharing.GOSSIP, Optional.of(ME), false));
            Await.until("rounds go on", () -> stage.counters.rounds.get() > 2);
            // A round asks the gates, which do not answer, until the ledger that is asked next has given up.
            stage.gatesStand.set(true);
            long underWayNs = System.nanoTime() + Duration.ofSeconds(2).toNanos();
            Await.until("a round is under way", () -> System.nanoTime() - underWayNs > 0);
            long before = stage.counters.rounds.get();
            for (int i = 0; i < 1_100; i++) {
                stage.gates.barrier();
            }
            stage.receive(1);
            Await.until("the ledger ends", () -> stage.counters.ledgerRestarts.get() > 0);
            stage.gatesStand.set(false);
            Await.until("rounds go on again", () -> stage.counters.rounds.get() > before + 2);
        }
    }

    /** Who is where in the protocol, with the number of events that the own journal has then. */
    private static final class Steps implements Failpoints {
        private record Seen(Step step, int stored) {}

        private final List<Seen> seen = new CopyOnWriteArrayList<>();
        private final AtomicReference<Stage> stage = new AtomicReference<>();

        @Override
        public void reached(Step step) {
            try {
                Stage there = stage.get();
                seen.add(new Seen(step, there == null ? 0 : there.rows()));
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }

        boolean were(Step... steps) {
            return seen.stream().map(Seen::step).collect(Collectors.toSet()).containsAll(Set.of(steps));
        }

        /** Between the two exactly one event was stored. */
        void assertStoredBetween(Step before, Step after) {
            int from = first(before);
            assertThat(first(after)).as("%s comes after %s", after, before).isGreaterThan(from);
            assertThat(seen.get(first(after)).stored)
                    .as("events between %s and %s", before, after)
                    .isEqualTo(seen.get(from).stored + 1);
        }

        private int first(Step step) {
            return seen.stream().map(Seen::step).toList().indexOf(step);
        }
    }

    /** A holder that is no more, as its journal tells. */
    private static final class FormerHolder extends EventSourcedBehavior<List<SupplyEvent>, SupplyEvent, Long> {
        private final Runnable stored;

        FormerHolder(Holder holder, Runnable stored) {
            super(SupplyLedger.journalOf(holder));
            this.stored = stored;
        }

        @Override
        public Long emptyState() {
            return 0L;
        }

        @Override
        public EventHandler<Long, SupplyEvent> eventHandler() {
            return (count, event) -> count + 1;
        }

        @Override
        public CommandHandler<List<SupplyEvent>, SupplyEvent, Long> commandHandler() {
            return (count, events) ->
                    Effect().persist(events).thenRun(all -> stored.run()).thenStop();
        }
    }

    private static LimitRow row(long version, long rate, int floorPermille, Optional<Holder> minter) {
        return row(TOPIC, version, rate, floorPermille, minter);
    }

    private static LimitRow row(TopicName topic, long version, long rate, int floorPermille, Optional<Holder> minter) {
        return new LimitRow(
                topic,
                version,
                new Share(rate * Limit.MICROS, rate * Limit.MICROS),
                floorPermille,
                Sharing.GOSSIP,
                minter,
                false);
    }

    /** Everything that can happen to supply, happens; at each step a chaos test may end the process. */
    @Test
    void shouldComeByEveryStepAtWhichAProcessMayEnd() throws Exception {
        Steps steps = new Steps();
        Holder lost = new Holder(new BrokerId("b3"), 1);
        Transfer.Id onItsWay = new Transfer.Id(PEER, new Holder(new BrokerId("b4"), 1), 1);
        try (Stage stage = new Stage(dir, steps)) {
            steps.stage.set(stage);
            // Recovers, mints, and takes in a transfer.
            stage.tables.insert(row(1, 1_000, 0, Optional.of(ME)));
            Await.until("it is minted", () -> stage.tables.limits(TOPIC).get(0).done());
            stage.receive(1);
            Await.until("it is acknowledged", () -> steps.were(Step.BEFORE_ACKNOWLEDGE));

            // Lowers, and then keeps a half without a lease.
            stage.tables.insert(row(2, 500, 0, Optional.of(ME)));
            Await.until("it is burned", () -> stage.tables.limits(TOPIC).get(1).done());
            stage.tables.insert(row(3, 500, 500, Optional.of(ME)));
            Await.until("it is split", () -> steps.were(Step.AFTER_REFLOOR));

            // Gives to a peer that stops without having it, and that had something on its way to somebody else.
            stage.tables.register(PEER);
            AtomicBoolean written = new AtomicBoolean();
            stage.system
                    .systemActorOf(new FormerHolder(PEER, () -> written.set(true)), "b2", Props.empty())
                    .tell(List.of(
                            new SupplyEvent.Credited(new Transfer(
                                    new Transfer.Id(lost, PEER, 1),
                                    Map.of(TOPIC, Holding.of(new Share(2 * Limit.MICROS, 2 * Limit.MICROS), 0)))),
                            new SupplyEvent.Debited(new Transfer(
                                    onItsWay, Map.of(TOPIC, Holding.of(new Share(Limit.MICROS, Limit.MICROS), 0))))));
            Await.until("the peer's journal is written", written::get);
            stage.system.tell(new SupplyCoordinator.Mail(
                    new PeerMessage.Collect(TOPIC, new Debt(3, new Share(Limit.MICROS, Limit.MICROS)), 0, PEER)));
            Await.until("it is debited", () -> steps.were(Step.AFTER_DEBIT));
            stage.tables.stop(PEER);
            Await.until("the transfer is refunded", () -> steps.were(Step.AFTER_REFUND));
            Await.until("the peer is inherited from", () -> steps.were(Step.AFTER_DONE));
            stage.system.tell(new SupplyCoordinator.Mail(new PeerMessage.Acknowledged(onItsWay, ME)));
            Await.until("what was adopted is delivered", () -> steps.were(Step.AFTER_DELIVERY));

            // Somebody is silent, a version has no minter, and the own lease is renewed.
            stage.tables.register(lost);
            stage.tables.insert(row(new TopicName("orphan"), 1, 10, 0, Optional.empty()));
            Lease lease = new Lease(Duration.ofSeconds(1).toNanos());
            stage.system.systemActorOf(
                    LeaseKeeper.create(
                            stage.tables,
                            stage.storeThreads,
                            ME,
                            lease,
                            Duration.ofSeconds(1),
                            System::nanoTime,
                            OptionalLong::empty,
                            () -> {},
                            steps),
                    "lease-keeper",
                    Props.empty());
            Await.until("all else was done", () -> {
                stage.system.tell(new SupplyCoordinator.Sweep());
                return steps.were(Step.AFTER_FENCE, Step.AFTER_MINT_CLAIM, Step.AFTER_RENEWAL);
            });
            // The process's own steps, at its begin and end, are seen in processes.
            Set<Step> missing = EnumSet.allOf(Step.class);
            missing.removeIf(steps::were);
            assertThat(missing).containsExactlyInAnyOrder(Step.AFTER_REGISTER, Step.BEFORE_STOP, Step.AFTER_STOP);
            assertThat(stage.counters.violations.get()).isZero();
        }
        steps.assertStoredBetween(Step.BEFORE_MINT, Step.AFTER_MINT);
        steps.assertStoredBetween(Step.BEFORE_CREDIT, Step.AFTER_CREDIT);
        steps.assertStoredBetween(Step.BEFORE_BURN, Step.AFTER_BURN);
        steps.assertStoredBetween(Step.BEFORE_REFLOOR, Step.AFTER_REFLOOR);
        steps.assertStoredBetween(Step.BEFORE_DEBIT, Step.AFTER_DEBIT);
        steps.assertStoredBetween(Step.BEFORE_INHERIT, Step.AFTER_INHERIT);
        steps.assertStoredBetween(Step.BEFORE_REFUND, Step.AFTER_REFUND);
        steps.assertStoredBetween(Step.BEFORE_DELIVERY, Step.AFTER_DELIVERY);
    }
}
