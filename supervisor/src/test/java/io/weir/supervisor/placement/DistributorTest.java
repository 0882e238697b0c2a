package io.weir.supervisor.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.Decision.State;
import io.weir.supervisor.placement.Distributor.Heard;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.Registration;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.topics.algorithm.SendingRecording;
import io.weir.topics.federation.PlacementTable;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The Load Distributor against brokers that report as real ones do, under a clock of the test's. */
class DistributorTest {
    private static final TopicName ORDERS = new TopicName("orders");

    private final long seed = System.nanoTime();
    private final PlacedCluster cluster = new PlacedCluster(seed, 4).topic("orders", 100_000, 1_000);

    @Test
    void shouldPlaceATopicOnTheFewestBrokersWhenItsPublishersHaveCome() {
        cluster.publishers("orders", 60, 20, 0);
        Distributor distributor = cluster.distributor("one");
        double seconds = cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);

        Decision decision = cluster.stored("orders");
        assertThat(decision.parts()).as("seed %d", seed).hasSize(2);
        assertThat(decision.homes()).hasSize(60);
        assertThat(decision.parts()).allMatch(part -> part.rate() <= 1_000);
        assertThat(decision.decidedBy()).isEqualTo("one");
        assertThat(decision.reasons()).anyMatch(reason -> reason.contains("2 brokers are the fewest"));
        assertThat(seconds).as("stops as soon as it is clear").isLessThan(30);
        assertThat(distributor.moves()).isEqualTo(60);
    }

    @Test
    void shouldDecideNothingBeforeBrokersCouldReport() {
        cluster.publishers("orders", 60, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.pass(Distributor.LEARN_NS / 1e9 - 1, distributor);
        assertThat(cluster.store.written).isEmpty();
    }

    @Test
    void shouldSpreadEveryGroupOverTheBrokersOfATopic() {
        cluster.publishers("orders", 90, 20, 3);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        assertThat(cluster.stored("orders").parts()).hasSize(2).allMatch(part -> part.groups() == 3);
    }

    @Test
    void shouldShedWhatABrokerIsTooSlowWith() {
        cluster.publishers("orders", 40, 20, 0);
        // Everybody fits one broker by rate, but no broker holds the objective with more than 500 a second.
        cluster.slowness = (broker, rate) -> rate > 500 ? 0.2 : 0.0;
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 600, distributor);
        assertThat(cluster.stored("orders").parts())
                .as("seed %d", seed)
                .hasSizeGreaterThan(1)
                .allMatch(part -> part.rate() <= 500);
        assertThat(cluster.stored("orders").homes()).hasSize(40);
        assertThat(cluster.stored("orders").rounds()).isGreaterThan(1);
    }

    @Test
    void shouldPlaceATopicAgainWhenItIsGivenAnotherPolicy() {
        cluster.publishers("orders", 40, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        assertThat(cluster.stored("orders").parts()).hasSize(1);

        cluster.store.policy(ORDERS, Optional.of(Policy.LB));
        cluster.until(
                () -> cluster.is("orders", State.FITTED)
                        && cluster.stored("orders").policy().equals("lb"),
                60,
                distributor);
        assertThat(cluster.stored("orders").trigger()).isEqualTo("POLICY_CHANGED");
        assertThat(cluster.stored("orders").parts()).as("seed %d", seed).hasSize(4);
        assertThat(cluster.stored("orders").homes()).hasSize(40);

        cluster.store.policy(ORDERS, Optional.empty());
        cluster.until(
                () -> cluster.is("orders", State.FITTED)
                        && cluster.stored("orders").policy().equals("srtm"),
                60,
                distributor);
        int before = cluster.store.written.size();
        cluster.pass(60, distributor);
        assertThat(cluster.store.written).as("once").hasSize(before);
    }

    @Test
    void shouldSeatAPublisherThatWasAwayWhileItsTopicWasPlacedAgain() {
        cluster.publishers("orders", 40, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);

        PlacedCluster.Publisher away = cluster.publishers.remove(7L);
        cluster.tick(distributor);
        cluster.store.policy(ORDERS, Optional.of(Policy.LB));
        cluster.look(distributor);
        Distributor.Proposal proposal =
                distributor.work(cluster.nowNs, cluster.nowMs()).get(0);
        // It is back before the decision is in the store, and by the one before it still has a seat.
        cluster.publishers.put(7L, away);
        distributor.report(cluster.reportOf(away.at(), distributor), cluster.nowNs, cluster.nowMs());
        cluster.store.replace(proposal.expected(), proposal.decision());
        distributor.settled(ORDERS, Optional.of(proposal.decision()), cluster.nowNs);
        assertThat(proposal.decision().homes()).doesNotContainKey(7L);

        cluster.until(
                () -> cluster.is("orders", State.FITTED)
                        && cluster.stored("orders").homes().containsKey(7L),
                60,
                distributor);
        assertThat(cluster.stored("orders").policy()).isEqualTo("lb");
        assertThat(cluster.stored("orders").homes()).as("seed %d", seed).hasSize(40);
    }

    @Test
    void shouldSayWhatNoClusterCanHoldAndKeepTheBest() {
        cluster.publishers("orders", 60, 100, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.KEPT_BEST), 120, distributor);
        Decision decision = cluster.stored("orders");
        assertThat(decision.unplacedRate()).isEqualTo(2_000);
        assertThat(Decision.unpack(decision.unplaced())).hasSize(20);
        assertThat(decision.parts()).hasSize(4).allMatch(part -> part.rate() == 1_000);
        assertThat(decision.reasons()).anyMatch(reason -> reason.contains("add brokers"));
        int before = cluster.store.written.size();
        cluster.pass(60, distributor);
        assertThat(cluster.store.written)
                .as("the unplaced are not placed again and again")
                .hasSize(before);
    }

    @Test
    void shouldPlaceThemWhenABrokerJoins() {
        cluster.publishers("orders", 60, 100, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.KEPT_BEST), 120, distributor);
        cluster.brokers.add(new BrokerId("b4"));
        cluster.brokers.add(new BrokerId("b5"));
        cluster.until(() -> cluster.is("orders", State.FITTED), 300, distributor);
        assertThat(cluster.stored("orders").parts()).hasSize(6);
        assertThat(cluster.stored("orders").homes()).hasSize(60);
        assertThat(cluster.stored("orders").trigger()).isEqualTo("ROOM_APPEARED");
    }

    @Test
    void shouldMovePublishersOfABrokerThatIsGone() {
        cluster.publishers("orders", 60, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        BrokerId victim = cluster.stored("orders").parts().get(0).broker();
        long revision = cluster.stored("orders").revision();
        cluster.brokers.remove(victim);
        cluster.publishers.values().removeIf(each -> each.at().equals(victim));
        cluster.until(
                () -> cluster.is("orders", State.FITTED)
                        && cluster.stored("orders").revision() > revision,
                120,
                distributor);
        assertThat(cluster.stored("orders").parts())
                .noneMatch(part -> part.broker().equals(victim));
        assertThat(cluster.stored("orders").homes().keySet()).containsAll(cluster.publishers.keySet());
        assertThat(cluster.stored("orders").trigger()).isEqualTo("BROKER_GONE");
    }

    @Test
    void shouldGoOnWhenABrokerDiesInTheMidstOfMeasuring() {
        cluster.publishers("orders", 40, 20, 0);
        cluster.slowness = (broker, rate) -> rate > 500 ? 0.2 : 0.0;
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.MEASURING), 60, distributor);
        BrokerId victim = cluster.stored("orders").parts().get(0).broker();
        cluster.brokers.remove(victim);
        cluster.until(() -> cluster.is("orders", State.FITTED), 600, distributor);
        assertThat(cluster.stored("orders").parts()).as("seed %d", seed).noneMatch(part -> part.broker()
                .equals(victim));
    }

    @Test
    void shouldNotMoveAnybodyForNoiseButForALastingViolation() {
        cluster.publishers("orders", 60, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        int before = cluster.store.written.size();
        // Bad for two of three seconds.
        for (int i = 0; i < 200; i++) {
            boolean bad = i % 3 != 0;
            cluster.slowness = (broker, rate) -> bad ? 0.3 : 0;
            cluster.pass(1, distributor);
        }
        assertThat(cluster.store.written).hasSize(before);

        cluster.slowness = (broker, rate) -> rate > 400 ? 0.3 : 0;
        cluster.until(() -> cluster.store.written.size() > before, 400, distributor);
        assertThat(cluster.stored("orders").trigger()).isEqualTo("OBJECTIVE_BROKEN");
        cluster.until(() -> cluster.is("orders", State.FITTED), 600, distributor);
        assertThat(cluster.stored("orders").parts()).as("seed %d", seed).allMatch(part -> part.rate() <= 400);
    }

    @Test
    void shouldSeatAFewNewcomersWithoutMovingOthers() {
        cluster.publishers("orders", 40, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        Map<Long, BrokerId> before = cluster.stored("orders").homes();
        cluster.publishers("orders", 5, 20, 0);
        cluster.until(() -> cluster.stored("orders").homes().size() == 45, 30, distributor);
        assertThat(cluster.stored("orders").homes()).containsAllEntriesOf(before);
        assertThat(cluster.stored("orders").state()).isEqualTo(State.FITTED);
        assertThat(cluster.stored("orders").trigger()).isEqualTo("PUBLISHERS_SEATED");
        assertThat(distributor.moves()).isEqualTo(45);
    }

    @Test
    void shouldPlaceAnewWhenManyCome() {
        cluster.publishers("orders", 10, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        cluster.pass(300, distributor);
        cluster.publishers("orders", 80, 20, 0);
        cluster.until(
                () -> cluster.is("orders", State.FITTED)
                        && cluster.stored("orders").homes().size() == 90,
                120,
                distributor);
        assertThat(cluster.stored("orders").parts()).hasSize(2);
        assertThat(cluster.stored("orders").trigger()).isEqualTo("PUBLISHERS_CAME");
    }

    @Test
    void shouldKeepAPublishersSeatWhenItFollowsToItsHomeOrIsSilent() {
        cluster.publishers("orders", 60, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        int written = cluster.store.written.size();
        Map<Long, BrokerId> homes = cluster.stored("orders").homes();
        cluster.publishers.replaceAll((id, each) -> each.movedTo(homes.get(id)));
        cluster.pass(30, distributor);
        Map<Long, PlacedCluster.Publisher> all = Map.copyOf(cluster.publishers);
        cluster.publishers.clear();
        cluster.pass(30, distributor);
        assertThat(distributor.publishers().count()).isZero();
        cluster.publishers.putAll(all);
        cluster.pass(30, distributor);
        assertThat(distributor.publishers().count()).isEqualTo(60);
        assertThat(cluster.store.written).hasSize(written);
    }

    @Test
    void shouldRefuseAnUnknownTopicAndTakeItWhenItIsThere() {
        TopicName later = new TopicName("later");
        cluster.publishers("later", 10, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.pass(20, distributor);
        assertThat(cluster.store.written).isEmpty();
        assertThat(distributor.topics().find(later)).isEmpty();
        cluster.topic("later", 1_000, 10);
        cluster.until(() -> cluster.is("later", State.FITTED), 60, distributor);
        assertThat(cluster.stored("later").homes()).hasSize(10);
    }

    @Test
    void shouldDissolveATopicThatIsGoneAndPlaceItAgainWhenItIsBack() {
        cluster.publishers("orders", 10, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        cluster.limits.clear();
        cluster.until(() -> cluster.is("orders", State.DISSOLVED), 10, distributor);
        assertThat(cluster.stored("orders").homes()).isEmpty();
        assertThat(distributor.publishers().count()).isZero();
        cluster.topic("orders", 1_000, 10);
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        assertThat(cluster.stored("orders").homes()).hasSize(10);
    }

    @Test
    void shouldForgetTopicsThatAreGone() {
        Distributor distributor = cluster.distributor("one");
        for (int i = 0; i < 5; i++) {
            String name = "t" + i;
            cluster.limits.clear();
            cluster.publishers.clear();
            cluster.topic(name, 1_000, 10).publishers(name, 10, 20, 2);
            cluster.until(() -> cluster.is(name, State.FITTED), 60, distributor);
        }
        cluster.limits.clear();
        cluster.publishers.clear();
        cluster.until(() -> cluster.is("t4", State.DISSOLVED), 10, distributor);
        cluster.tick(distributor);
        assertThat(distributor.topics().all()).isEmpty();
        assertThat(distributor.topics().numbered()).isZero();
        assertThat(distributor.publishers().table().byTopic().topics())
                .as("a number is given again")
                .isLessThanOrEqualTo(2);
    }

    @Test
    void shouldRefuseAPublisherOfATopicThatIsGone() {
        cluster.publishers("orders", 10, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        cluster.limits.clear();
        cluster.until(() -> cluster.is("orders", State.DISSOLVED), 10, distributor);
        cluster.tick(distributor);
        assertThat(distributor.declare(ORDERS, 99, 5, "", cluster.nowNs, cluster.nowMs()))
                .isInstanceOfSatisfying(Registration.Refused.class, refused -> assertThat(refused.cause())
                        .isEqualTo(Registration.Cause.UNKNOWN_TOPIC));
    }

    @Test
    void shouldKeepAPublisherInTheGroupItNamedFirst() {
        cluster.publishers("orders", 10, 20, 2);
        Distributor distributor = cluster.distributor("one");
        cluster.tick(distributor);
        PlacedCluster.Publisher first = cluster.publishers.get(1L);
        cluster.publishers.put(
                1L,
                new PlacedCluster.Publisher(
                        first.topic(), 1, 30, 1, PlacementTable.NOT_REGISTERED, "another", first.at()));
        cluster.tick(distributor);
        TopicPlacement topic = distributor.topics().find(ORDERS).orElseThrow();
        assertThat(topic.refusals).hasSize(1).first().asString().contains("says group 'another'", "in group 'g0'");
        assertThat(distributor.publishers().table().members(ORDERS).rate()).isEqualTo(9 * 20 + 30);
        assertThat(distributor.publishers().table().members(ORDERS).groups()).isEqualTo(2);
    }

    @Test
    void shouldFindOutABrokerThatClaimsMoreThanItCarries() {
        BrokerId liar = cluster.brokers.get(0);
        cluster.store.calibrated(
                new Decisions.Capacity(liar, 1_000_000, 1_000_000, 1, 1_000_000, 2_000_000, 10, 10_000));
        cluster.publishers("orders", 50, 20, 0);
        cluster.slowness = (broker, rate) -> broker.equals(liar) && rate > 150 ? 0.5 : 0;
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 900, distributor);
        assertThat(cluster.stored("orders").rateOf(liar)).as("seed %d", seed).isLessThanOrEqualTo(150);
        assertThat(cluster.stored("orders").homes()).hasSize(50);
        assertThat(cluster.brokers)
                .filteredOn(distributor.capacities()::isOverrated)
                .containsExactly(liar);
        assertThat(distributor.capacities().mcap(liar)).isLessThan(300);
        assertThat(cluster.stored("orders").reasons()).anyMatch(reason -> reason.contains("its capacity is wrong"));

        cluster.store.calibrated(new Decisions.Capacity(liar, 140, 1_000_000, 2, 1_000, 2_000, 10, 10_000));
        cluster.tick(distributor);
        assertThat(distributor.capacities().overrated()).isZero();
        assertThat(distributor.capacities().mcap(liar)).isEqualTo(140);
    }

    @Test
    void shouldLeaveReportsThatMakeNoSense() {
        cluster.publishers("orders", 10, 20, 0);
        Distributor distributor = cluster.distributor("one");
        BrokerId liar = new BrokerId("liar");
        Report.OfTopic sound = of(ORDERS, new long[] {1}, new float[] {1}, new float[] {1}, 0, new int[0]);
        for (Report.OfTopic absurd : List.of(
                of(ORDERS, new long[] {1}, new float[0], new float[] {1}, 0, new int[0]),
                of(ORDERS, new long[0], new float[0], new float[0], -1, new int[0]),
                of(ORDERS, new long[0], new float[0], new float[0], 1, new int[] {3, -5}),
                of(ORDERS, new long[0], new float[0], new float[0], 1, new int[] {99_999, 1}),
                of(ORDERS, new long[] {1}, new float[] {1}, new float[] {0.5f}, 0, new int[0]),
                of(ORDERS, new long[] {1}, new float[] {1}, new float[] {Float.NaN}, 0, new int[0]),
                of(ORDERS, new long[] {1}, new float[] {1}, new float[0], 0, new int[0]),
                of(null, new long[0], new float[0], new float[0], 1, new int[0]))) {
            assertThat(distributor.report(
                            new Report(liar, 1, 0, 1_000, List.of(absurd), List.of(), List.of()),
                            cluster.nowNs,
                            cluster.nowMs()))
                    .isEqualTo(Heard.ABSURD);
        }
        assertThat(distributor.report(
                        new Report(liar, 1, 0, -5, List.of(sound), List.of(), List.of()),
                        cluster.nowNs,
                        cluster.nowMs()))
                .isEqualTo(Heard.ABSURD);
        for (Report.Delivered absurd : List.of(
                new Report.Delivered(ORDERS, null, 0, new int[0], new int[0]),
                new Report.Delivered(ORDERS, liar, 0, new int[] {3, -5}, new int[0]),
                new Report.Delivered(ORDERS, liar, 0, new int[0], new int[] {-1, 5}))) {
            assertThat(distributor.report(
                            new Report(liar, 1, 0, 1_000, List.of(), List.of(), List.of(absurd)),
                            cluster.nowNs,
                            cluster.nowMs()))
                    .isEqualTo(Heard.ABSURD);
        }
        assertThat(distributor.publishers().brokers()).doesNotContain(liar);
        for (float rate : new float[] {Float.NaN, -1, Float.POSITIVE_INFINITY}) {
            Report.OfTopic impossible = of(ORDERS, new long[] {7}, new float[] {rate}, new float[] {1}, 0, new int[0]);
            assertThat(distributor.report(
                            new Report(liar, 1, 0, 1_000, List.of(impossible), List.of(), List.of()),
                            cluster.nowNs,
                            cluster.nowMs()))
                    .isEqualTo(Heard.TAKEN);
        }
        assertThat(distributor.publishers().count()).isZero();
        assertThat(distributor.topics().find(ORDERS).orElseThrow().refusals).isNotEmpty();
    }

    private static Report.OfTopic of(
            TopicName topic, long[] ids, float[] rates, float[] sizes, long batches, int[] delays) {
        String[] groups = new String[ids.length];
        Arrays.fill(groups, "");
        return new Report.OfTopic(
                topic, 0, ids, rates, sizes, new byte[ids.length], groups, new long[0], batches, delays);
    }

    @Test
    void shouldAskForEverythingWhenAReportIsMissing() {
        cluster.publishers("orders", 10, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.tick(distributor);
        cluster.reportOf(cluster.brokers.get(0), distributor);
        assertThat(distributor.report(
                        cluster.reportOf(cluster.brokers.get(0), distributor), cluster.nowNs, cluster.nowMs()))
                .isEqualTo(Heard.GAP);
        assertThat(distributor.report(
                        new Report(new BrokerId("new"), 1, 5, 1_000, List.of(), List.of(), List.of()),
                        cluster.nowNs,
                        cluster.nowMs()))
                .isEqualTo(Heard.GAP);
    }

    @Test
    void shouldGoOnFromTheStoreWhenItsPredecessorIsGone() {
        cluster.publishers("orders", 40, 20, 0);
        cluster.slowness = (broker, rate) -> rate > 500 ? 0.2 : 0.0;
        Distributor first = cluster.distributor("first");
        cluster.until(() -> cluster.is("orders", State.MEASURING), 60, first);
        cluster.pass(5, first);
        assertThat(cluster.is("orders", State.MEASURING)).isTrue();

        Distributor second = cluster.distributor("second");
        cluster.until(() -> cluster.is("orders", State.FITTED), 600, second);
        assertThat(cluster.stored("orders").decidedBy()).isEqualTo("second");
        assertThat(cluster.stored("orders").parts()).as("seed %d", seed).allMatch(part -> part.rate() <= 500);
        assertThat(cluster.stored("orders").homes()).hasSize(40);
        assertRevisionsGrow();
    }

    @Test
    void shouldLeaveAPlacementThatFitsWhenItTakesOver() {
        cluster.publishers("orders", 60, 20, 0);
        Distributor first = cluster.distributor("first");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, first);
        int written = cluster.store.written.size();
        Distributor second = cluster.distributor("second");
        cluster.pass(120, second);
        assertThat(cluster.store.written).hasSize(written);
        assertThat(second.capacities()
                        .allocated(cluster.stored("orders").parts().get(0).broker()))
                .isPositive();
    }

    @Test
    void shouldDoNoHarmWhenTwoRunAtOnce() {
        cluster.publishers("orders", 40, 20, 0);
        cluster.slowness = (broker, rate) -> rate > 500 ? 0.2 : 0.0;
        Distributor one = cluster.distributor("one");
        Distributor two = cluster.distributor("two");
        cluster.until(() -> cluster.is("orders", State.FITTED), 600, one, two);
        int written = cluster.store.written.size();
        cluster.pass(120, one, two);

        assertThat(cluster.store.written).as("they agree, seed %d", seed).hasSize(written);
        assertThat(cluster.stored("orders").parts()).as("seed %d", seed).allMatch(part -> part.rate() <= 500);
        assertThat(one.topics().find(ORDERS).orElseThrow().stored)
                .isEqualTo(two.topics().find(ORDERS).orElseThrow().stored);
        assertThat(one.lostRaces() + two.lostRaces()).as("it did happen").isPositive();
        assertRevisionsGrow();
    }

    @Test
    void shouldProposeAgainWhatTheStoreDidNotTake() {
        cluster.publishers("orders", 60, 20, 0);
        Distributor distributor = cluster.distributor("one");
        for (int i = 0; i < 20; i++) {
            cluster.nowNs += PlacedCluster.TICK_NS;
            for (BrokerId broker : cluster.brokers) {
                distributor.report(cluster.reportOf(broker, distributor), cluster.nowNs, cluster.nowMs());
            }
            for (Distributor.Proposal proposal : distributor.work(cluster.nowNs, cluster.nowMs())) {
                distributor.settled(proposal.decision().topic(), Optional.empty(), cluster.nowNs);
            }
        }
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
    }

    @Test
    void shouldShareBrokersBetweenTopics() {
        cluster.capacity = 500;
        for (int i = 0; i < 3; i++) {
            cluster.topic("t" + i, 1_000, 10).publishers("t" + i, 20, 20, 0);
        }
        Distributor distributor = cluster.distributor("one");
        cluster.until(
                () -> cluster.is("t0", State.FITTED)
                        && cluster.is("t1", State.FITTED)
                        && cluster.is("t2", State.FITTED),
                120,
                distributor);
        Set<BrokerId> used = cluster.limits.keySet().stream()
                .flatMap(topic -> cluster.store.get(topic).stream())
                .flatMap(decision -> decision.parts().stream())
                .map(Decision.Part::broker)
                .collect(Collectors.toSet());
        assertThat(used).hasSize(3);
        cluster.brokers.forEach(
                broker -> assertThat(distributor.capacities().allocated(broker)).isLessThanOrEqualTo(500));
    }

    @Test
    void shouldSpreadOverAllWhenThatIsThePolicy() {
        cluster.policy = Policy.LB;
        cluster.publishers("orders", 40, 20, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        assertThat(cluster.stored("orders").parts()).hasSize(4);
        assertThat(cluster.stored("orders").policy()).isEqualTo("lb");
    }

    private void assertRevisionsGrow() {
        Set<Long> seen = new HashSet<>();
        long last = 0;
        for (Decision decision : cluster.store.written) {
            assertThat(seen.add(decision.revision()))
                    .as("revision %d once", decision.revision())
                    .isTrue();
            assertThat(decision.revision()).isGreaterThan(last);
            last = decision.revision();
        }
    }

    @Test
    void shouldKeepWhoIsRegisteredWhenItsBrokerDies() {
        cluster.publishers("orders", 40, 20, 2);
        cluster.publishers.replaceAll((id, each) ->
                id <= 30 ? each.registering(id <= 20 ? PlacementTable.NAMED : PlacementTable.UNNAMED) : each);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        List<Long> registered = registeredAt(cluster.brokers.get(0));
        assertThat(registered).hasSize(5);

        BrokerId dead = cluster.brokers.remove(0);
        cluster.publishers.values().removeIf(each -> each.at().equals(dead));
        cluster.pass(15, distributor);
        TopicMembers members = distributor.publishers().table().members(ORDERS);
        assertThat(distributor.publishers().brokers()).doesNotContain(dead);
        assertThat(members.size()).as("30 live elsewhere, and 5 have a name").isEqualTo(35);
        assertThat(members.rate()).as("at their last rates").isEqualTo(35 * 20);
        registered.forEach(
                id -> assertThat(distributor.publishers().publishes(ORDERS, id)).isTrue());

        cluster.pass(PlacedCluster.TTL_MS / 1e3 + 10, distributor);
        assertThat(distributor.publishers().table().members(ORDERS).size())
                .as("nobody renewed them")
                .isEqualTo(30);
        assertThat(cluster.store.registrations())
                .extracting(Decisions.Registered::id)
                .doesNotContainAnyElementsOf(registered)
                .as("those that publish are renewed")
                .hasSize(15 + 1);
    }

    private List<Long> registeredAt(BrokerId broker) {
        return cluster.publishers.values().stream()
                .filter(each -> each.at().equals(broker) && each.registered() == PlacementTable.NAMED)
                .map(PlacedCluster.Publisher::id)
                .toList();
    }

    @Test
    void shouldKnowWhoIsRegisteredAfterTheSingletonAndAllBrokersEnded() {
        Distributor first = cluster.distributor("first");
        cluster.tick(first);
        for (long id = 1; id <= 30; id++) {
            assertThat(first.declare(ORDERS, id, 50, id % 2 == 0 ? "even" : "odd", cluster.nowNs, cluster.nowMs()))
                    .isInstanceOf(Registration.Registered.class);
        }
        cluster.tick(first);
        assertThat(cluster.store.registrationBatches).as("written together").isEqualTo(1);

        Distributor second = cluster.distributor("second");
        cluster.until(() -> cluster.is("orders", State.FITTED), 90, second);
        Decision decision = cluster.stored("orders");
        assertThat(decision.homes())
                .as("though no broker has reported one of them")
                .hasSize(30);
        assertThat(decision.placedRate()).isEqualTo(1_500);
        assertThat(decision.parts()).hasSize(2).allMatch(part -> part.groups() == 2);
        assertThat(second.declare(ORDERS, 1, 50, "even", cluster.nowNs, cluster.nowMs()))
                .as("groups are known, too")
                .isInstanceOf(Registration.Refused.class);
        assertThat(second.withdraw(ORDERS, 1, cluster.nowNs)).isTrue();
        assertThat(second.withdraw(ORDERS, 1, cluster.nowNs)).isFalse();
        assertThat(second.publishers().table().members(ORDERS).size()).isEqualTo(29);
    }

    @Test
    void shouldWriteRegistrationsInBatchesAndNotWithEveryReport() {
        cluster.publishers("orders", 40, 20, 2);
        cluster.publishers.replaceAll((id, each) -> each.registering(PlacementTable.NAMED));
        Distributor distributor = cluster.distributor("one");
        cluster.pass(600, distributor);
        assertThat(cluster.store.registrations()).hasSize(40);
        assertThat(cluster.store.registrationBatches)
                .as("1,200 ticks with 4 reports each: at the start, and two renewals in ten minutes of an hour")
                .isBetween(1, 5);
    }

    @Test
    void shouldForecastByWhatPublishersSendAtOnce() {
        for (BrokerId broker : cluster.brokers) {
            cluster.store.calibrated(
                    new Decisions.Capacity(broker, 100_000, 10_000_000, 1, 100_000, 200_000, 10, 100_000));
        }
        cluster.limits.clear();
        cluster.topic("orders", 1_100, 60).publishers("orders", 40, 25, 0);
        cluster.size = 20;
        cluster.topic("bills", 1_100, 60).publishers("bills", 40, 25, 0);
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED) && cluster.is("bills", State.FITTED), 120, distributor);
        assertThat(predictedP99Ns("bills"))
                .as("twenty messages at once wait for tokens that one does not; seed %d", seed)
                .isGreaterThan(3 * predictedP99Ns("orders"));
    }

    private long predictedP99Ns(String topic) {
        return cluster.stored(topic).parts().stream()
                .mapToLong(Decision.Part::predictedP99Ns)
                .max()
                .orElseThrow();
    }

    /**
     * A broker whose messages take long on their way to consumers elsewhere is slow, however fast they pass its limit.
     */
    @Test
    void shouldJudgeABrokerByWhatItsMessagesTakeUntilConsumersAtOtherBrokersHaveThem() {
        cluster.publishers("orders", 40, 20, 0);
        cluster.consumersAt = cluster.brokers.get(3);
        cluster.slowness = (broker, rate) -> rate > 500 ? 0.2 : 0.0;
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 600, distributor);
        assertThat(cluster.stored("orders").parts())
                .as("seed %d", seed)
                .hasSizeGreaterThan(1)
                .allMatch(part -> part.rate() <= 500);
        // What was measured in the rounds before is not shown any more then.
        cluster.pass(60, distributor);
        PlacementView.OfTopic view =
                distributor.questions().explain(ORDERS, cluster.nowNs).orElseThrow();
        assertThat(view.brokers()).allMatch(part -> part.measuredP99Ms() != null && part.measuredP99Ms() < 10);
    }

    @Test
    void shouldNotBlameBrokersForSlowConsumers() {
        cluster.publishers("orders", 40, 20, 0);
        cluster.latePart = 0.5;
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        Decision decision = cluster.stored("orders");
        assertThat(decision.parts()).hasSize(1);
        PlacementView.OfPart part = distributor
                .questions()
                .explain(ORDERS, cluster.nowNs)
                .orElseThrow()
                .brokers()
                .get(0);
        assertThat(part.measuredP99Ms()).isLessThan(2);
        assertThat(part.lateP99Ms()).as("shown apart").isGreaterThan(1_000);
        assertThat(part.lateRate()).isPositive();
        cluster.pass(120, distributor);
        assertThat(cluster.stored("orders").revision())
                .as("nobody is moved for it")
                .isEqualTo(decision.revision());
    }

    /** Ten publishers that send at the same instants, and say nothing of it: by the formula one broker would do. */
    @Test
    void shouldForecastByWhatWasRecordedLive() {
        for (BrokerId broker : cluster.brokers) {
            cluster.store.calibrated(
                    new Decisions.Capacity(broker, 100_000, 10_000_000, 1, 10_000, 20_000, 10, 100_000));
        }
        cluster.limits.clear();
        cluster.topic("orders", 1_100, 30).publishers("orders", 40, 25, 0);
        cluster.topic("bills", 1_100, 30).publishers("bills", 40, 25, 0);
        Distributor distributor = cluster.distributor("one");
        for (BrokerId broker : cluster.brokers) {
            SendingRecording recording = new SendingRecording(ORDERS, SendingRecording.MOST, 10_000_000_000L);
            recording.begin(0, 1_700_000_000_000_000_000L);
            for (long instant = 0; instant < 250; instant++) {
                for (PlacedCluster.Publisher each : cluster.publishers.values()) {
                    if (each.topic().equals(ORDERS) && each.at().equals(broker)) {
                        recording.sent(each.id(), 1, instant * 40_000_000L);
                    }
                }
            }
            RecordedTraces.Part.of(broker, recording).forEach(distributor::recorded);
        }
        cluster.until(() -> cluster.is("orders", State.FITTED) && cluster.is("bills", State.FITTED), 120, distributor);
        assertThat(cluster.stored("orders").reasons())
                .anyMatch(reason -> reason.contains("forecasts go by 10000 sendings that were recorded live"));
        assertThat(cluster.stored("bills").reasons()).noneMatch(reason -> reason.contains("recorded live"));
        assertThat(predictedP99Ns("orders"))
                .as("forty messages at once wait for tokens; seed %d", seed)
                .isGreaterThan(3 * predictedP99Ns("bills"));
    }

    @Test
    void shouldPlaceOnlyTopicsThatSomebodyRegisteredFor() {
        cluster.registeredOnly = true;
        cluster.topic("bills", 100_000, 1_000);
        cluster.publishers("orders", 20, 20, 0).publishers("bills", 20, 20, 0);
        cluster.publishers.computeIfPresent(1L, (id, each) -> each.registering(PlacementTable.UNNAMED));
        Distributor distributor = cluster.distributor("one");
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, distributor);
        cluster.pass(30, distributor);
        assertThat(cluster.stored("orders").homes())
                .as("everybody of that topic")
                .hasSize(20);
        assertThat(cluster.store.get(new TopicName("bills"))).isEmpty();
        assertThat(cluster.store.registeredTopics(0).orElseThrow().topics()).containsExactly(ORDERS);
        assertThat(distributor.idle(cluster.nowNs)).isFalse();

        cluster.publishers.computeIfPresent(1L, (id, each) -> each.registering(PlacementTable.NOT_REGISTERED));
        cluster.publishers.remove(1L);
        cluster.until(() -> cluster.is("orders", State.DISSOLVED), 60, distributor);
        cluster.pass(10, distributor);
        assertThat(cluster.store.registrations()).isEmpty();
        assertThat(distributor.idle(cluster.nowNs)).isTrue();

        assertThat(distributor.declare(new TopicName("bills"), 77, 5, "", cluster.nowNs, cluster.nowMs()))
                .isInstanceOf(Registration.Registered.class);
        cluster.until(() -> cluster.is("bills", State.FITTED), 60, distributor);
        assertThat(cluster.stored("bills").homes())
                .as("those that were there already, too")
                .hasSize(21);
    }

    @Test
    void shouldTakeBackWhatWasPlacedOfATopicThatWentWhileNobodyDecided() {
        cluster.publishers("orders", 20, 20, 0);
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, cluster.distributor("one"));
        cluster.limits.clear();
        cluster.publishers.clear();
        cluster.registeredOnly = true;
        Distributor successor = cluster.distributor("two");
        cluster.until(() -> cluster.is("orders", State.DISSOLVED), 90, successor);
        cluster.tick(successor);
        assertThat(successor.idle(cluster.nowNs)).isTrue();
    }

    @Test
    void shouldTakeBackWhatWasPlacedWhenNobodyIsRegisteredForItAnyMore() {
        cluster.publishers("orders", 20, 20, 0);
        cluster.until(() -> cluster.is("orders", State.FITTED), 60, cluster.distributor("for all topics"));
        cluster.registeredOnly = true;
        Distributor distributor = cluster.distributor("for registered ones");
        cluster.until(() -> cluster.is("orders", State.DISSOLVED), 60, distributor);
        cluster.pass(10, distributor);
        assertThat(distributor.idle(cluster.nowNs)).isTrue();
    }
}
