package io.weir.supervisor.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings;
import io.weir.config.value.BrokerId;
import io.weir.supervisor.FreePorts;
import io.weir.supervisor.store.BrokerRegistry.Founding;
import io.weir.supervisor.store.BrokerRegistry.RegisteredBroker;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class BrokerRegistryTest {
    private static final int RACERS = 4;
    /** Far above the time-outs that are set: only a caller that waits for ever gets here. */
    private static final Duration NEVER = Duration.ofSeconds(30);

    @TempDir
    private Path dir;

    @RegisterExtension
    private final Opened opened = new Opened();

    @Test
    void shouldNeverRepeatAnIncarnationWhenManyAllocateAtOnce() throws Exception {
        RunningStore store = start();
        WeirSettings settings = patient(store, "b1");
        int each = 20;
        List<List<Long>> allocated = Race.of(RACERS, racer -> {
            BrokerRegistry registry = registry(settings);
            registry.awaitStore();
            List<Long> mine = new ArrayList<>();
            for (int i = 0; i < each; i++) {
                mine.add(registry.nextIncarnation(settings, life -> "a link"));
            }
            return mine;
        });

        assertThat(allocated.stream().flatMap(List::stream))
                .containsExactlyInAnyOrderElementsOf(
                        LongStream.rangeClosed(1, RACERS * each).boxed().toList());
        assertThat(allocated).allSatisfy(mine -> assertThat(mine).isSorted());
    }

    @Test
    void shouldMakeTheTablesOnceWhenAllBrokersFindAnEmptyStore() throws Exception {
        RunningStore store = start();
        Race.of(RACERS, racer -> {
            registry(patient(store, "b" + racer)).awaitStore();
            return racer;
        });

        try (Connection connection = store.connect();
                ResultSet rows = connection.createStatement().executeQuery("SELECT version FROM weir_schema")) {
            assertThat(rows.next()).isTrue();
            assertThat(rows.getInt(1)).isEqualTo(StoreSchema.VERSION);
            assertThat(rows.next()).isFalse();
        }
        assertThat(registry(patient(store, "b1")).brokers()).isEmpty();
    }

    @Test
    void shouldLetExactlyOneFoundWhenManyClaimAfterTheSameFounding() throws Exception {
        RunningStore store = start();
        List<BrokerRegistry> registries = new ArrayList<>();
        for (int i = 0; i < RACERS; i++) {
            registries.add(registry(patient(store, "b" + i)));
        }
        registries.get(0).awaitStore();
        Optional<Founding> before = Optional.empty();
        for (int round = 1; round <= 10; round++) {
            Optional<Founding> last = before;
            List<Boolean> won = Race.of(
                    RACERS, racer -> registries.get(racer).claimFounding("weir", last, new BrokerId("b" + racer), 7));

            assertThat(won).containsOnlyOnce(true);
            Founding winner = new Founding(round, new BrokerId("b" + won.indexOf(true)), 7);
            before = registries.get(0).founding("weir");
            assertThat(before).contains(winner);
        }
        assertThat(registries.get(0).founding("another")).isEmpty();
    }

    @Test
    void shouldKeepALaterLifeRunningWhenAnEarlierOneIsMarkedStopped() {
        RunningStore store = start();
        WeirSettings settings = patient(store, "b1");
        BrokerRegistry registry = registry(settings);
        registry.awaitStore();
        long first = registry.nextIncarnation(settings, life -> "a link");
        long second = registry.nextIncarnation(settings, life -> "a link");

        registry.markStopped(settings.broker().id(), first);
        assertThat(registry.brokers())
                .containsExactly(new RegisteredBroker(
                        settings.broker().id(),
                        second,
                        settings.tcp().toString(),
                        settings.http().address().toString(),
                        settings.cluster().address().toString(),
                        "a link",
                        ProcessHandle.current().pid(),
                        true));

        registry.markStopped(settings.broker().id(), second);
        assertThat(registry.brokers()).singleElement().returns(false, RegisteredBroker::running);
    }

    @Test
    void shouldRefuseAStoreOfANewerVersion() {
        RunningStore store = start();
        BrokerRegistry registry = registry(patient(store, "b1"));
        registry.awaitStore();
        store.execute("INSERT INTO weir_schema VALUES (" + (StoreSchema.VERSION + 1) + ")");

        assertThatThrownBy(() -> registry(patient(store, "b2")).awaitStore())
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("version " + (StoreSchema.VERSION + 1))
                .hasMessageContaining("this Weir knows version " + StoreSchema.VERSION)
                .hasMessageContaining("newer Weir");
    }

    @Test
    void shouldNotTakeAnotherSchemasTablesForItsOwnWhenADatabaseIsShared() {
        RunningStore store = start();
        store.execute("CREATE SCHEMA other");
        store.execute("CREATE TABLE other.weir_schema (version INTEGER PRIMARY KEY)");

        BrokerRegistry registry = registry(patient(store, "b1"));
        registry.awaitStore();

        assertThat(registry.brokers()).isEmpty();
    }

    @Test
    void shouldSayWhereAndWhatToCheckWhenNobodyListens() {
        BrokerRegistry registry = registry(hasty(FreePorts.take(1)[0]));

        assertTimeoutPreemptively(NEVER, () -> assertThatThrownBy(registry::awaitStore)
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("the store at jdbc:postgresql:")
                .hasMessageContaining("did not answer within 1 s")
                .hasMessageContaining("weir.store.url, user and password")
                .hasMessageNotContaining(RunningStore.password())
                .hasMessageNotContaining("\n"));
    }

    @Test
    void shouldSayAtOnceThatThePasswordIsWrong() {
        RunningStore store = start();
        Map<String, String> environment = store.environment("b1", dir);
        environment.put("WEIR_STORE_PASSWORD", "wrong");

        assertThatThrownBy(() -> registry(patient(environment)).awaitStore())
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("refuses user 'weir'")
                .hasMessageContaining("weir.store.user and password");
    }

    @Test
    void shouldCostTheTimeOutAndNoMoreWhenTheStoreHangs() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            BrokerRegistry registry = registry(hasty(silent.getLocalPort()));

            assertTimeoutPreemptively(NEVER, () -> {
                assertThatThrownBy(registry::awaitStore)
                        .isInstanceOf(StoreException.class)
                        .hasMessageContaining("did not answer within 1 s");
                assertThatThrownBy(registry::brokers).isInstanceOf(StoreException.class);
                assertThatThrownBy(() -> registry.founding("weir")).isInstanceOf(StoreException.class);
                registry.close();
                assertThatThrownBy(registry::brokers).isInstanceOf(StoreException.class);
            });
        }
    }

    @Test
    void shouldWorkAgainWhenAStoreThatHungIsReplaced() throws IOException {
        int port;
        BrokerRegistry registry;
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            port = silent.getLocalPort();
            registry = registry(hasty(port));
            assertThatThrownBy(registry::brokers).hasMessageContaining("did not answer within 1000 ms");
        }
        opened.add(StoreServer.start(dir, port, RunningStore.password()));

        registry.awaitStore();

        assertThat(registry.brokers()).isEmpty();
    }

    @Test
    void shouldStopWaitingForTheStoreWhenTheBrokerIsToldToStop() {
        BrokerRegistry registry =
                registry(patient(RunningStore.environment("b1", dir, StoreServer.url(FreePorts.take(1)[0]))));

        assertTimeoutPreemptively(
                NEVER, () -> assertThat(registry.awaitStore(() -> true)).isFalse());
    }

    private RunningStore start() {
        RunningStore store = RunningStore.start();
        opened.add(store);
        return store;
    }

    private BrokerRegistry registry(WeirSettings settings) {
        BrokerRegistry registry = new BrokerRegistry(settings.store());
        opened.add(registry);
        return registry;
    }

    private WeirSettings patient(RunningStore store, String id) {
        return patient(store.environment(id, dir.resolve(id)));
    }

    /** A busy build machine may make a statement wait: that is not what these tests are about. */
    private static WeirSettings patient(Map<String, String> environment) {
        environment.put("WEIR_STORE_START_TIMEOUT", "30s");
        environment.put("WEIR_STORE_STATEMENT_TIMEOUT", "30s");
        return SettingsLoader.load(Optional.empty(), environment).settings();
    }

    private WeirSettings hasty(int port) {
        String url = StoreServer.url(port);
        Map<String, String> environment = RunningStore.environment("b1", dir, url);
        environment.put("WEIR_STORE_START_TIMEOUT", "1s");
        environment.put("WEIR_STORE_STATEMENT_TIMEOUT", "1s");
        return SettingsLoader.load(Optional.empty(), environment).settings();
    }

    @Test
    void shouldRefuseAStoreThatCanLoseCommitsUnlessThatIsMeant() {
        RunningStore store = start();
        store.execute("ALTER ROLE weir IN DATABASE " + store.name() + " SET synchronous_commit = off");
        assertThatThrownBy(() -> registry(patient(store, "b1")).awaitStore())
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("synchronous_commit = off")
                .hasMessageContaining("weir.store.may-lose-commits");
        Map<String, String> environment = store.environment("b2", Path.of("/tmp"));
        environment.put("WEIR_STORE_MAY_LOSE_COMMITS", "on");
        registry(SettingsLoader.load(Optional.empty(), environment).settings()).awaitStore();
    }
}
