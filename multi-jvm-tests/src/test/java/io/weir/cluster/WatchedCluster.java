package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Three brokers on a PostgreSQL of their own, and the watch over what they admit and store. */
final class WatchedCluster implements AutoCloseable {
    static final List<String> BROKERS = List.of("b1", "b2", "b3");

    private final OtherStore store;
    private final BrokerCluster brokers;
    private final SupplyWatch watch;

    private WatchedCluster(OtherStore store, BrokerCluster brokers, SupplyWatch watch) {
        this.store = store;
        this.brokers = brokers;
        this.watch = watch;
    }

    /** @param name of its directory among what the build leaves */
    static WatchedCluster start(String name, Map<String, String> environment, UnaryOperator<BrokerCluster.Builder> with)
            throws IOException, SQLException {
        Path directory = BuiltDistribution.directory(name);
        Path history = directory.resolve("history");
        Map<String, String> all = new HashMap<>(environment);
        all.put("WEIR_SUPPLY_HISTORY", history.toString());
        OtherStore store = OtherStore.start(name + "-store");
        try {
            BrokerCluster brokers = with.apply(BrokerCluster.of(BROKERS.size())
                            .from(BuiltDistribution.installation())
                            .in(directory)
                            .withStore(store.url())
                            .withEnvironment(all))
                    .start();
            return new WatchedCluster(store, brokers, new SupplyWatch(history, store.url()));
        } catch (RuntimeException | SQLException e) {
            store.close();
            throw e;
        }
    }

    BrokerCluster brokers() {
        return brokers;
    }

    SupplyWatch watch() {
        return watch;
    }

    String storeUrl() {
        return store.url();
    }

    TopicClient topics(String broker) {
        return new TopicClient(brokers.http(broker), Optional.empty());
    }

    /** Neither the watch nor a broker has seen a violation. */
    void assertNothingViolated() throws IOException {
        watch.assertNothingViolated();
        for (String broker : BROKERS) {
            assertThat(topics(broker).metric("weir_supply_violations_total").orElse(0.0))
                    .isZero();
        }
    }

    @Override
    public void close() throws SQLException {
        try (OtherStore last = store;
                BrokerCluster second = brokers;
                SupplyWatch first = watch) {
            assertThat(first).isNotNull();
        }
    }
}
