package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.SettingsLoader;
import io.weir.config.WeirSettings;
import io.weir.supervisor.store.BrokerRegistry;
import io.weir.supervisor.store.RunningStore;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three brokers are planned, two are a majority; {@code b1} is the one that asks. */
class FoundingTest {
    private static final long NOW = 1_000;

    @TempDir
    private Path dir;

    private RunningStore store;
    private BrokerRegistry registry;
    private WeirSettings b1;
    private WeirSettings b2;
    private WeirSettings b3;

    @BeforeEach
    void start() {
        store = RunningStore.start();
        b1 = settings("b1");
        b2 = settings("b2");
        b3 = settings("b3");
        registry = new BrokerRegistry(b1.store());
        registry.awaitStore();
    }

    @AfterEach
    void close() {
        registry.close();
        store.close();
    }

    @Test
    void shouldFoundWhenNobodyEverDid() {
        Founding first = life(b1);

        assertThat(first.mayFound(NOW)).isTrue();
        assertThat(claim()).isEqualTo(new BrokerRegistry.Founding(1, b1.broker().id(), 1));
    }

    @Test
    void shouldFoundWhenTheLastFounderWasAnEarlierLifeOfItsOwn() {
        life(b1).mayFound(NOW);

        assertThat(life(b1).mayFound(NOW)).isTrue();
        assertThat(claim()).isEqualTo(new BrokerRegistry.Founding(2, b1.broker().id(), 2));
    }

    @Test
    void shouldFoundWhenTheLastFounderHasStopped() {
        life(b2).mayFound(NOW);
        registry.markStopped(b2.broker().id(), 1);

        assertThat(life(b1).mayFound(NOW)).isTrue();
    }

    @Test
    void shouldFoundWhenTheLastFounderIsInALaterLife() {
        life(b2).mayFound(NOW);
        life(b2);

        assertThat(life(b1).mayFound(NOW)).isTrue();
    }

    @Test
    void shouldGoOnAskingWhenTheLastFounderRunsUntilThePatienceIsOver() {
        life(b2).mayFound(NOW);
        Founding founding = life(b1);
        long patienceNs = b1.cluster().foundingPatience().toNanos();

        assertThat(founding.mayFound(NOW)).isFalse();
        assertThat(founding.mayFound(NOW + patienceNs - 1)).isFalse();
        assertThat(claim().broker()).isEqualTo(b2.broker().id());
        assertThat(founding.mayFound(NOW + patienceNs)).isTrue();
        assertThat(claim()).isEqualTo(new BrokerRegistry.Founding(2, b1.broker().id(), 1));
    }

    @Test
    void shouldStartItsPatienceAnewWhenAnotherBrokerFoundsMeanwhile() {
        life(b2).mayFound(NOW);
        Founding founding = life(b1);
        long patienceNs = b1.cluster().foundingPatience().toNanos();
        founding.mayFound(NOW);
        life(b2);
        life(b3).mayFound(NOW);

        assertThat(founding.mayFound(NOW + patienceNs)).isFalse();
        assertThat(founding.mayFound(NOW + 2 * patienceNs)).isTrue();
    }

    @Test
    void shouldKeepItsPatienceWhenTheClockIsAboutToWrap() {
        life(b2).mayFound(NOW);
        Founding founding = life(b1);
        long patienceNs = b1.cluster().foundingPatience().toNanos();

        assertThat(founding.mayFound(Long.MAX_VALUE - 1)).isFalse();
        assertThat(founding.mayFound(Long.MAX_VALUE - 1 + patienceNs / 2)).isFalse();
        assertThat(founding.mayFound(Long.MAX_VALUE - 1 + patienceNs)).isTrue();
    }

    @Test
    void shouldNotFoundWhenTheStoreDoesNotAnswer() {
        Founding founding = life(b1);
        registry.awaitStore();
        store.close();
        try {
            assertThat(founding.mayFound(NOW)).isFalse();
        } finally {
            store = RunningStore.start();
        }
    }

    /** Begins a broker's next life. */
    private Founding life(WeirSettings settings) {
        return new Founding(registry, settings, registry.nextIncarnation(settings, life -> ""));
    }

    private BrokerRegistry.Founding claim() {
        return registry.founding("weir").orElseThrow();
    }

    private WeirSettings settings(String id) {
        return load(environment(id));
    }

    private Map<String, String> environment(String id) {
        Map<String, String> environment = store.environment(id, dir.resolve(id));
        environment.put("WEIR_CLUSTER_DISCOVERY_CONTACT_POINTS", "h1:1,h2:2,h3:3");
        environment.put("WEIR_CLUSTER_DISCOVERY_REQUIRED_CONTACT_POINTS", "2");
        environment.put("WEIR_STORE_STATEMENT_TIMEOUT", "30s");
        return environment;
    }

    private static WeirSettings load(Map<String, String> environment) {
        return SettingsLoader.load(Optional.empty(), environment).settings();
    }
}
