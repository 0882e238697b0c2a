package io.weir.supervisor.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision.State;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Groups that nobody named, from what brokers report to where publishers are at home. */
class FoundGroupsTest {
    private static final Logger LOG = LoggerFactory.getLogger(FoundGroupsTest.class);

    private static final TopicName ORDERS = new TopicName("orders");

    private final long seed = System.nanoTime();
    private final PlacedCluster cluster = new PlacedCluster(seed, 4).topic("orders", 100_000, 1_000);

    /** Of a hidden group, the most that are at home at one broker. */
    private static int mostTogether(PlacedCluster of) {
        Map<String, Integer> counts = new HashMap<>();
        of.stored("orders")
                .homes()
                .forEach((id, home) -> counts.merge(of.hiddenGroup(id) + "@" + home, 1, Integer::sum));
        return counts.values().stream().mapToInt(Integer::intValue).max().orElse(0);
    }

    @Test
    void shouldPlaceAgainByTheGroupsThatItFindsWhenNobodyNamedAny() {
        for (long fixed = 1; fixed <= 3; fixed++) {
            PlacedCluster found = new PlacedCluster(fixed, 4).topic("orders", 100_000, 1_000);
            found.publishers("orders", 120, 20, 0);
            found.hiddenGroups = 10;
            Distributor distributor = found.distributor("one");
            found.until(() -> found.is("orders", State.FITTED), 60, distributor);
            int parts = found.stored("orders").parts().size();
            assertThat(parts).isEqualTo(3);
            int blindly = mostTogether(found);
            // 120 publishers, ten groups, three brokers: four of a group at each at best.
            assertThat(blindly).as("seed %d", fixed).isGreaterThan(4);

            long beganNs = found.nowNs;
            found.until(
                    () -> found.stored("orders").trigger().equals("GROUPS_FOUND") && found.is("orders", State.FITTED),
                    600,
                    distributor);
            assertThat((found.nowNs - beganNs) / 1e9)
                    .as("not before the pause is over")
                    .isGreaterThan(290);
            assertThat(mostTogether(found)).as("seed %d", fixed).isEqualTo(4);
            assertThat(found.stored("orders").parts()).allMatch(part -> part.groups() == 10);

            int before = found.store.written.size();
            found.pass(900, distributor);
            assertThat(found.store.written).as("once, seed %d", fixed).hasSize(before);

            PlacementView.OfTopic view =
                    distributor.questions().explain(ORDERS, found.nowNs).orElseThrow();
            assertThat(view.foundGroups()).isEqualTo(10);
            assertThat(view.groups())
                    .hasSize(10)
                    .allMatch(group -> group.found()
                            && group.group().startsWith("found-")
                            && group.publishers() == 12
                            && group.together() == 12
                            && group.placedBy() == 12);
            LOG.info(String.format(
                    Locale.ROOT, "seed %d: most of a group at one broker: %d blindly, 4 found", fixed, blindly));
        }
    }

    @Test
    void shouldShowFoundGroupsBesideThoseThatWereToldAndPlaceByTheTold() {
        // Hidden groups are by id modulo 12, told ones modulo 4: a told group is three that send together.
        cluster.publishers("orders", 120, 20, 4);
        cluster.hiddenGroups = 12;
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        int before = cluster.store.written.size();
        cluster.pass(600, distributor);
        assertThat(cluster.store.written)
                .as("nobody is placed by what was found, seed %d", seed)
                .hasSize(before);
        PlacementView.OfTopic view =
                distributor.questions().explain(ORDERS, cluster.nowNs).orElseThrow();
        assertThat(view.groups()).as("seed %d", seed).hasSize(16);
        assertThat(view.groups().subList(0, 4))
                .allMatch(group -> !group.found()
                        && group.publishers() == 30
                        && group.together() == 10
                        && group.placedBy() == 30
                        && group.rate() == 600);
        assertThat(view.groups().subList(4, 16))
                .allMatch(group -> group.found() && group.publishers() == 10 && group.placedBy() == 0);
        assertThat(distributor.questions().view("", 10, cluster.nowNs).topics().get(0))
                .matches(topic -> topic.foundGroups() == 12 && topic.groups().isEmpty());

        cluster.publishers.keySet().removeIf(id -> id > 60);
        cluster.pass(5, distributor);
        view = distributor.questions().explain(ORDERS, cluster.nowNs).orElseThrow();
        assertThat(view.groups().subList(4, 16)).allMatch(group -> group.publishers() == 5);
        cluster.limits.remove(ORDERS);
        cluster.pass(15, distributor);
        assertThat(distributor.publishers().found().groups(ORDERS)).isZero();
    }
}
