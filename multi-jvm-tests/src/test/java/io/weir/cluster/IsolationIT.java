package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.cluster.stage.Stage;
import io.weir.cluster.stage.StagedCluster;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.SupplyEvent.Inherited;
import io.weir.supervisor.node.TopicDescription;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A broker whose network cable is pulled, in a network of three hosts and a store. */
@Measuring
@Timeout(180)
class IsolationIT {
    private static final Logger LOG = LoggerFactory.getLogger(IsolationIT.class);
    private static final List<String> BROKERS = List.of("b1", "b2", "b3");
    private static final TopicName TOPIC = new TopicName("floored");
    private static final double RATE = 900;
    /** Half a second's worth: a gate's thread that gets no core for a tenth of one loses nothing. */
    private static final double BURST = 450;

    private static final Duration SOON = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    @Test
    void shouldGoOnAtItsFloorWhileCutOffAndBeWholeAfterTheHeal() throws IOException, SQLException {
        Optional<String> obstacle = Stage.obstacle();
        assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
        Path history = directory.resolve("history");
        try (OtherStore postgres = OtherStore.start("isolation-store");
                Stage stage = Stage.of(List.of("b1", "b2", "b3", StagedCluster.STORE));
                StagedCluster cluster = StagedCluster.on(stage)
                        .from(BuiltDistribution.installation())
                        .in(BuiltDistribution.emptyDirectory("isolation"))
                        .brokers(BROKERS)
                        .withStore(postgres.url())
                        .withEnvironment(Map.of("WEIR_SUPPLY_HISTORY", history.toString()))
                        .build()) {
            cluster.start();
            SupplyWatch.await("all brokers are ready", SOON, cluster::allReady, () -> "logs: " + cluster.log("*"));
            try (SupplyWatch watch = new SupplyWatch(history, postgres.url())) {
                cutAndHeal(stage, cluster, watch);
            }
        }
    }

    private static void cutAndHeal(Stage stage, StagedCluster cluster, SupplyWatch watch)
            throws IOException, SQLException {
        TopicClient topics = cluster.topics("b1");
        watch.create(topics, TOPIC.value(), RATE, BURST, "gossip", 0.5);
        // Two each: while the only publisher reads its answer nobody waits, and a small bucket spills.
        BROKERS.forEach(broker -> cluster.publish(broker, TOPIC.value(), 1_500));
        BROKERS.forEach(broker -> cluster.publish(broker, TOPIC.value(), 1_500));
        awaitTopic(
                topics,
                "every broker has about a third, half of it kept, and publishers",
                found -> found.shares().size() == 3
                        && found.shares().stream()
                                .allMatch(share -> share.rate() > 250 && share.keptRate() > 120 && share.demand() > 0)
                        && found.sumRate() == RATE);
        Holder isolated = watch.holder("b3");

        stage.network().isolate("b3");
        long cutNs = System.nanoTime();
        SupplyWatch.await(
                "b3's leased account is inherited",
                Duration.ofSeconds(20),
                () -> inherited(watch, isolated, Account.LEASED),
                () -> topics.describe(TOPIC.value()));
        Duration inherited = Duration.ofNanos(System.nanoTime() - cutNs);
        TopicDescription apart = awaitTopic(
                topics,
                "the rest and what is stranded are the limit",
                found -> found.shares().size() == 2
                        && found.stranded().rate() > 100
                        && found.sumRate() + found.stranded().rate() == RATE);
        double kept = apart.stranded().rate();
        assertThat(apart.sumRate()).as("the rest has inherited the other half").isGreaterThan(600 + 100);

        long fromNs = System.nanoTime();
        SupplyWatch.letPass(Duration.ofSeconds(8));
        long toNs = System.nanoTime();
        List<Admission> alone = watch.admissions().of(TOPIC).stream()
                .filter(each -> each.broker().value().equals("b3") && each.stampNs() >= fromNs && each.stampNs() < toNs)
                .toList();
        assertThat(alone)
                .as("the isolated broker goes on, from its kept account")
                .isNotEmpty()
                .allMatch(each -> each.kept() && each.incarnation() == isolated.incarnation());
        assertThat((double) alone.size()).isGreaterThan(0.95 * kept * 8);
        assertThat(watch.admissions().used(TOPIC, Limit.of(RATE, BURST), fromNs, toNs))
                .isEmpty();
        assertThat(cluster.status("b3"))
                .as("whoever watches can ask it all the same")
                .isPresent();

        stage.network().heal();
        long healedNs = System.nanoTime();
        awaitTopic(
                topics,
                "all three have all of it",
                found -> found.shares().size() == 3
                        && found.sumRate() == RATE
                        && found.sumBurst() == BURST
                        && found.stranded().rate() == 0);
        Duration whole = Duration.ofNanos(System.nanoTime() - healedNs);
        assertThat(watch.holder("b3").incarnation()).isGreaterThan(isolated.incarnation());
        watch.assertNothingViolated();
        LOG.info(
                "Cut off: leased half inherited after {}; alone {} messages in 8 s at {}/s; whole {} after the heal",
                inherited,
                alone.size(),
                kept,
                whole);
    }

    private static boolean inherited(SupplyWatch watch, Holder victim, Account account) {
        try {
            return watch.stored().entries().stream()
                    .map(Entry::event)
                    .anyMatch(event ->
                            event instanceof Inherited e && e.victim().equals(victim) && e.account() == account);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static TopicDescription awaitTopic(
            TopicClient topics, String what, java.util.function.Predicate<TopicDescription> condition) {
        TopicDescription[] last = new TopicDescription[1];
        SupplyWatch.await(
                what,
                SOON,
                () -> {
                    last[0] = topics.describe(TOPIC.value()).orElse(null);
                    return last[0] != null && condition.test(last[0]);
                },
                () -> last[0]);
        return last[0];
    }
}
