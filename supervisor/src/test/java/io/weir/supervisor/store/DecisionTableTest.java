package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.SettingsLoader;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision;
import io.weir.supervisor.placement.Decision.Part;
import io.weir.supervisor.placement.Decision.State;
import io.weir.supervisor.placement.Decisions.Capacity;
import io.weir.supervisor.placement.Decisions.Registered;
import io.weir.supervisor.placement.Decisions.RegisteredTopics;
import io.weir.supervisor.placement.algorithm.Policy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class DecisionTableTest {
    private static final TopicName ORDERS = new TopicName("orders");
    private static final Duration PATIENT = Duration.ofSeconds(30);

    @TempDir
    private Path dir;

    @RegisterExtension
    private final Opened opened = new Opened();

    @Test
    void shouldReplaceWhatHasTheExpectedRevisionOnly() {
        DecisionTable table = tables(1).get(0);
        assertThat(table.get(ORDERS)).isEmpty();
        assertThat(table.replace(3, decision(4, "a"))).isFalse();
        assertThat(table.replace(0, decision(1, "a"))).isTrue();
        assertThat(table.replace(0, decision(2, "b"))).isFalse();
        assertThat(table.replace(1, decision(2, "b"))).isTrue();
        assertThat(table.replace(1, decision(3, "c"))).isFalse();
        Decision there = table.get(ORDERS).orElseThrow();
        assertThat(there).usingRecursiveComparison().isEqualTo(decision(2, "b"));
        assertThatThrownBy(() -> table.replace(2, decision(2, "b")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("does not come after");
    }

    @Test
    void shouldTellWhatChanged() {
        DecisionTable table = tables(1).get(0);
        table.replace(0, decision(1, "a"));
        long first = table.after(0).upTo();
        assertThat(table.after(0).decisions()).hasSize(1);
        assertThat(table.after(first).decisions()).isEmpty();
        assertThat(table.replace(7, decision(8, "a"))).isFalse();
        assertThat(table.after(first).decisions()).isEmpty();
        table.replace(1, decision(2, "a"));
        assertThat(table.after(first).decisions()).hasSize(1);
        assertThat(table.after(first).upTo()).isGreaterThan(first);
    }

    @Test
    void shouldKeepRegistrationsAndTellWhichTopicsHaveSome() {
        List<DecisionTable> tables = tables(2);
        DecisionTable table = tables.get(0);
        RegisteredTopics none = table.registeredTopics(0).orElseThrow();
        assertThat(none.topics()).isEmpty();
        assertThat(table.registeredTopics(none.number())).isEmpty();
        TopicName bills = new TopicName("bills");
        Registered first = new Registered(ORDERS, -7, 12.5, "north", true, 1_000);
        Registered second = new Registered(bills, 7, 0, "", false, 2_000);
        table.register(List.of(first, second), List.of());
        assertThat(tables.get(1).registrations()).containsExactlyInAnyOrder(first, second);
        RegisteredTopics both = tables.get(1).registeredTopics(none.number()).orElseThrow();
        assertThat(both.topics()).containsExactlyInAnyOrder(ORDERS, bills);

        Registered renewed = new Registered(ORDERS, -7, 13, "north", true, 3_000);
        tables.get(1).register(List.of(renewed), List.of(second, new Registered(bills, 99, 0, "", false, 0)));
        assertThat(table.registrations()).containsExactly(renewed);
        assertThat(table.registeredTopics(both.number()).orElseThrow().topics()).containsExactly(ORDERS);
    }

    @Test
    void shouldLetOneOfManyDecideEachRevision() throws Exception {
        int racers = 4;
        List<DecisionTable> tables = tables(racers);
        ExecutorService threads = Executors.newFixedThreadPool(racers);
        opened.add(threads::shutdownNow);
        for (int revision = 1; revision <= 15; revision++) {
            CyclicBarrier start = new CyclicBarrier(racers);
            List<Callable<Boolean>> race = new ArrayList<>();
            for (int i = 0; i < racers; i++) {
                DecisionTable table = tables.get(i);
                Decision mine = decision(revision, "racer " + i);
                race.add(() -> {
                    start.await();
                    return table.replace(mine.revision() - 1, mine);
                });
            }
            int won = 0;
            for (Future<Boolean> each : threads.invokeAll(race)) {
                won += each.get() ? 1 : 0;
            }
            assertThat(won).as("winners of revision %d", revision).isEqualTo(1);
            assertThat(tables.get(0).get(ORDERS).orElseThrow().revision()).isEqualTo(revision);
        }
    }

    @Test
    void shouldKeepCapacitiesAndObjectives() {
        DecisionTable table = tables(1).get(0);
        Capacity first = new Capacity(new BrokerId("b1"), 1_000, 1_000_000, 5, 2_000, 9_000, 100, 50_000);
        Capacity second = new Capacity(new BrokerId("b1"), 1_500.5, 2_000_000, 6, 2_000, 9_000, 100, 50_000);
        table.calibrated(first);
        table.calibrated(second);
        assertThat(table.capacities()).containsExactly(second);
        assertThatThrownBy(() -> new Capacity(new BrokerId("b1"), Double.NaN, 1, 1, 1, 1, 1, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("capacity of NaN");

        table.objective(ORDERS, 5_000_000);
        table.objective(ORDERS, 7_000_000);
        assertThat(table.objectives()).containsEntry(ORDERS, 7_000_000L).hasSize(1);
        table.objective(ORDERS, 0);
        assertThat(table.objectives()).isEmpty();
    }

    @Test
    void shouldKeepATopicsOwnPolicyUntilItIsTakenAway() {
        DecisionTable table = tables(1).get(0);
        table.policy(ORDERS, Optional.of(Policy.LB));
        table.policy(ORDERS, Optional.of(Policy.MAX_MIN));
        assertThat(table.policies()).containsEntry(ORDERS, Policy.MAX_MIN).hasSize(1);
        table.policy(ORDERS, Optional.empty());
        assertThat(table.policies()).isEmpty();
    }

    private List<DecisionTable> tables(int count) {
        RunningStore store = RunningStore.start();
        opened.add(store);
        SettingsLoader settings = store.settings("b1", dir.resolve("b1"));
        BrokerRegistry registry = new BrokerRegistry(settings.settings().store());
        opened.add(registry);
        assertThat(registry.awaitStore(() -> false)).isTrue();
        List<DecisionTable> tables = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            DecisionTable table = new DecisionTable(settings.settings().store(), PATIENT);
            opened.add(table);
            tables.add(table);
        }
        return tables;
    }

    private static Decision decision(long revision, String by) {
        return new Decision(
                ORDERS,
                revision,
                by,
                "srtm",
                State.MEASURING,
                "PUBLISHERS_ARRIVED",
                1,
                10_000_000,
                List.of(new Part(new BrokerId("b1"), 10.5, 11, 2, 0, new byte[] {0, 0, 0, 0, 0, 0, 0, 7})),
                new byte[0],
                0,
                List.of("round 0: because it's \"so\""));
    }
}
