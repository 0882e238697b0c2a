package io.weir.supervisor.placement.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.LoadDistribution.Settings;
import io.weir.supervisor.placement.algorithm.LoadDistribution.State;
import io.weir.supervisor.placement.algorithm.Reason.Rule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Against brokers that follow a rule instead of a simulation: broker b meets the objective with up to {@code holds[b]}
 * publishers.
 */
class LoadDistributionTest {
    private static final long SECOND = 1_000_000_000L;
    private static final PlacedTopic TOPIC =
            new PlacedTopic(new TopicName("orders"), Limit.of(100_000, 1_000), Slo.p99(1_000_000));
    private static final int MOST_WINDOWS = 20_000;

    private long nowNs = 5 * SECOND;

    private LoadDistribution distribution(TopicMembers members, double[] mcap, Policy policy, Forecast forecast) {
        return new LoadDistribution(
                TOPIC,
                members,
                PlannerPropertiesTest.brokers(mcap, new double[mcap.length]),
                policy,
                Optional.ofNullable(forecast),
                Settings.DEFAULT,
                new SplittableRandom(1),
                nowNs);
    }

    private static double[] capacities(int brokers, double each) {
        double[] mcap = new double[brokers];
        Arrays.fill(mcap, each);
        return mcap;
    }

    /**
     * The part that is too slow grows with the publishers and crosses 1% at what the broker holds; the snug zone is its
     * last fifth.
     */
    private Measurement window(LoadDistribution distribution, int broker, double holds) {
        int publishers = distribution.assignment().publishers(broker);
        double part = publishers <= holds ? 0.002 : Math.min(1, 0.03 * publishers / Math.max(1, holds));
        double snug = publishers > 0.8 * holds ? Math.max(part, 0.02) : part;
        long messages = publishers == 0 ? 0 : 10_000;
        return new Measurement(
                distribution.assignment().revision(),
                nowNs - SECOND / 2,
                nowNs,
                messages,
                messages,
                (long) (messages * part),
                (long) (messages * snug));
    }

    private void run(LoadDistribution distribution, double... holds) {
        for (int i = 0; i < MOST_WINDOWS && distribution.state() == State.MEASURING; i++) {
            nowNs += SECOND / 2;
            for (int b = 0; b < holds.length; b++) {
                distribution.onMeasurement(b, window(distribution, b, holds[b]), nowNs);
            }
        }
        assertThat(distribution.state()).as("it ends").isNotEqualTo(State.MEASURING);
        everybodyIsSomewhereOnce(distribution);
    }

    private static void everybodyIsSomewhereOnce(LoadDistribution distribution) {
        Assignment assignment = distribution.assignment();
        int placed = 0;
        for (int b = 0; b < assignment.brokers(); b++) {
            placed += assignment.publishers(b);
        }
        assertThat(placed + assignment.unplaced())
                .isEqualTo(assignment.members().size());
    }

    private static List<Rule> rules(LoadDistribution distribution) {
        return distribution.reasons().stream().map(Reason::rule).toList();
    }

    @Test
    void shouldFitAtOnceWhenOneBrokerHoldsAll() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(6, 20_000), Policy.SRTM, null);
        run(distribution, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
        assertThat(distribution.round()).isEqualTo(1);
        assertThat(distribution.assignment().publishers(0)).isEqualTo(1_000);
        assertThat(rules(distribution)).contains(Rule.FEWEST_BROKERS, Rule.FITS, Rule.ALL_FIT);
    }

    @Test
    void shouldFindWhatABrokerHoldsWhenItBreaksTheObjective() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(6, 20_000), Policy.SRTM, null);
        run(distribution, 330, 330, 2_000, 330, 330, 330);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
        for (int b = 0; b < 2; b++) {
            assertThat(distribution.assignment().publishers(b))
                    .as("broker %d", b)
                    .isBetween(264, 330);
        }
        assertThat(distribution.assignment().publishers(2)).isBetween(340, 480);
        assertThat(distribution.assignment().brokersUsed()).isEqualTo(3);
        assertThat(first(distribution, Rule.TRIES_FEWER, 1))
                .as("broker 1 does not search while what it has is only lent to it")
                .isGreaterThan(first(distribution, Rule.FULL, 0));
    }

    private static int first(LoadDistribution distribution, Rule rule, int broker) {
        List<Reason> reasons = distribution.reasons();
        for (int i = 0; i < reasons.size(); i++) {
            if (reasons.get(i).rule() == rule && reasons.get(i).broker() == broker) {
                return i;
            }
        }
        throw new AssertionError(rule + " was never said of broker " + broker + ": " + reasons);
    }

    @Test
    void shouldStopSearchingWhenABrokerIsSnug() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(2, 20_000), Policy.SRTM, null);
        run(distribution, 600, 2_000);
        assertThat(distribution.assignment().publishers(0)).isEqualTo(500);
        assertThat(distribution.reasons())
                .filteredOn(reason -> reason.rule() == Rule.TRIES_FEWER)
                .hasSize(1);
    }

    @Test
    void shouldSearchInParallelWhenSeveralBrokersBreakTheObjective() {
        LoadDistribution alone = distribution(TopicMembers.even(500, 10, 1), capacities(4, 5_001), Policy.SRTM, null);
        run(alone, 100, 2_000, 2_000, 2_000);
        LoadDistribution many = distribution(TopicMembers.even(1_500, 10, 1), capacities(6, 5_001), Policy.SRTM, null);
        run(many, 100, 100, 100, 2_000, 2_000, 2_000);
        assertThat(many.state()).isEqualTo(State.FITTED);
        assertThat(many.round()).isLessThanOrEqualTo(alone.round() + 1);
    }

    @Test
    void shouldKeepTheBestAndSaySoWhenBrokersRunOut() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(3, 20_000), Policy.SRTM, null);
        run(distribution, 200, 200, 200);
        assertThat(distribution.state()).isEqualTo(State.KEPT_BEST);
        assertThat(rules(distribution)).contains(Rule.OUT_OF_BROKERS, Rule.BEST_KEPT);
        assertThat(distribution.assignment().unplaced())
                .as("everybody is served all the same")
                .isZero();
        Reason out = distribution.reasons().stream()
                .filter(reason -> reason.rule() == Rule.OUT_OF_BROKERS)
                .findFirst()
                .orElseThrow();
        assertThat(out.found()).as("what an autoscaler must add, in msg/s").isBetween(3_900.0, 5_300.0);
    }

    @Test
    void shouldSayWhatIsMissingWhenNoClusterHoldsTheRate() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(3, 2_000), Policy.SRTM, null);
        run(distribution, 2_000, 2_000, 2_000);
        assertThat(distribution.state()).isEqualTo(State.KEPT_BEST);
        assertThat(distribution.assignment().unplaced()).isEqualTo(400);
        assertThat(rules(distribution)).contains(Rule.NO_ROOM, Rule.OUT_OF_BROKERS, Rule.UNPLACED);
    }

    @Test
    void shouldNameTheBrokerWhenItsClaimedCapacityIsContradicted() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 1), capacities(3, 20_000), Policy.SRTM, null);
        run(distribution, 100, 2_000, 2_000);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
        assertThat(distribution.contradicted(0)).isTrue();
        assertThat(distribution.contradicted(1)).isFalse();
        assertThat(distribution.reasons())
                .filteredOn(reason -> reason.rule() == Rule.CAPACITY_CONTRADICTED)
                .singleElement()
                .satisfies(reason -> assertThat(reason.sentence(b -> "b" + b)).contains("b0", "calibrate"));
    }

    @Test
    void shouldUseNoneOfABrokerWhenItHoldsNothing() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(64, 10, 1), capacities(2, 20_000), Policy.SRTM, null);
        run(distribution, 0, 2_000);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
        assertThat(distribution.assignment().publishers(0)).isZero();
    }

    @Test
    void shouldBeginWithTheFewestThatAreForecastToFit() {
        Forecast upTo300 = (assignment, broker, other) ->
                new Forecast.Prediction(assignment.publishers(broker) <= 300 ? 0.001 : 0.5);
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(6, 20_000), Policy.SRTM, upTo300);
        assertThat(distribution.firstBrokers()).isEqualTo(4);
        run(distribution, 300, 300, 300, 300, 300, 300);
        assertThat(distribution.round()).isEqualTo(1);
        assertThat(rules(distribution)).contains(Rule.FORECAST_BROKERS);
    }

    @Test
    void shouldBelieveTheMeasurementWhenTheForecastIsWrong() {
        Forecast everythingFits = (assignment, broker, other) -> new Forecast.Prediction(0);
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(6, 20_000), Policy.SRTM, everythingFits);
        run(distribution, 300, 300, 300, 300, 300, 300);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
        assertThat(distribution.assignment().brokersUsed()).isGreaterThanOrEqualTo(4);
    }

    @Test
    void shouldComeNearestWhenTheForecastIsHopeless() {
        Forecast threeAreBest = (assignment, broker, other) ->
                new Forecast.Prediction(0.1 + 0.1 * Math.abs(assignment.brokersUsed() - 3));
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(6, 20_000), Policy.SRTM, threeAreBest);
        assertThat(distribution.firstBrokers()).isEqualTo(3);
        assertThat(rules(distribution)).contains(Rule.FORECAST_HOPELESS);
    }

    @Test
    void shouldGiveUpASearchWhenFewerPublishersAreSlower() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(2, 20_000), Policy.SRTM, null);
        for (int i = 0; i < MOST_WINDOWS && distribution.state() == State.MEASURING; i++) {
            nowNs += SECOND / 2;
            for (int b = 0; b < 2; b++) {
                int publishers = distribution.assignment().publishers(b);
                long slow = publishers == 0 ? 0 : Math.min(10_000, 300L * 1_000 / publishers);
                distribution.onMeasurement(
                        b,
                        new Measurement(
                                distribution.assignment().revision(),
                                nowNs - SECOND / 2,
                                nowNs,
                                10_000,
                                10_000,
                                slow,
                                slow),
                        nowNs);
            }
        }
        assertThat(distribution.state()).isEqualTo(State.KEPT_BEST);
        assertThat(rules(distribution)).contains(Rule.SHEDDING_WORSENS);
        assertThat(distribution.round()).isLessThan(8);
        assertThat(distribution.assignment().brokersUsed())
                .as("one broker was least bad")
                .isEqualTo(1);
    }

    @Test
    void shouldIgnoreWhatWasMeasuredOfAnotherAssignmentOrTooSoon() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(6, 20_000), Policy.SRTM, null);
        Assignment first = distribution.assignment();
        for (int i = 0; i < 60; i++) {
            long stale = first.revision() - 1;
            distribution.onMeasurement(
                    0,
                    new Measurement(stale, nowNs + 3 * SECOND, nowNs + 4 * SECOND, 10_000, 10_000, 9_000, 9_000),
                    nowNs);
            distribution.onMeasurement(
                    0, new Measurement(first.revision(), nowNs, nowNs + SECOND, 10_000, 10_000, 9_000, 9_000), nowNs);
        }
        assertThat(distribution.assignment()).isSameAs(first);
        run(distribution, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
    }

    @Test
    void shouldEndTheRoundWhenABrokerSaysNothing() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(6, 20_000), Policy.SRTM, null);
        distribution.onTime(nowNs + 61 * SECOND);
        assertThat(distribution.state()).isEqualTo(State.MEASURING);
        distribution.onTime(nowNs + 62 * SECOND);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
        assertThat(rules(distribution)).contains(Rule.NO_MEASUREMENT);
    }

    @Test
    void shouldMoveItsPublishersWhenABrokerDiesDuringTheSearch() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(1_000, 10, 5), capacities(6, 20_000), Policy.SRTM, null);
        for (int i = 0; i < 12; i++) {
            nowNs += SECOND / 2;
            for (int b = 0; b < 6; b++) {
                distribution.onMeasurement(b, window(distribution, b, 400), nowNs);
            }
        }
        assertThat(distribution.round()).as("it searches").isGreaterThan(1);
        long revision = distribution.assignment().revision();
        distribution.onBrokerGone(0, nowNs);
        assertThat(distribution.assignment().revision()).isGreaterThan(revision);
        assertThat(distribution.assignment().publishers(0)).isZero();
        run(distribution, 0, 400, 400, 400, 400, 400);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
        assertThat(distribution.assignment().publishers(0)).isZero();
    }

    @Test
    void shouldEndAtOnceWhenThereIsNobody() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(0, 10, 5), capacities(6, 20_000), Policy.SRTM, null);
        assertThat(distribution.state()).isEqualTo(State.FITTED);
        assertThat(rules(distribution)).contains(Rule.NO_PUBLISHERS);
    }

    @Test
    void shouldPlaceTheOthersWhenOnePublisherIsLargerThanAnyBroker() {
        double[] rates = new double[101];
        Arrays.fill(rates, 10);
        rates[50] = 1e6;
        int[] numbers = new int[101];
        Arrays.setAll(numbers, i -> i);
        LoadDistribution distribution = distribution(
                TopicMembers.of(numbers, rates, ones(101), new int[101]), capacities(2, 20_000), Policy.SRTM, null);
        run(distribution, 2_000, 2_000);
        assertThat(distribution.state()).isEqualTo(State.KEPT_BEST);
        assertThat(distribution.assignment().unplaced()).isEqualTo(1);
        assertThat(distribution.assignment().unplacedRate()).isEqualTo(1e6);
        assertThat(rules(distribution)).contains(Rule.LARGER_THAN_ANY, Rule.UNPLACED);
    }

    @Test
    void shouldNotFitButMeasureWhenLoadBalancing() {
        LoadDistribution distribution =
                distribution(TopicMembers.even(600, 10, 1), capacities(6, 20_000), Policy.LB, null);
        run(distribution, 50, 50, 50, 50, 50, 50);
        assertThat(distribution.state()).isEqualTo(State.KEPT_BEST);
        assertThat(distribution.round()).isEqualTo(1);
        assertThat(distribution.assignment().brokersUsed()).isEqualTo(6);
    }

    @Test
    void shouldEndAndExceedNoRoomWhateverBrokersHold() {
        for (long seed = 1; seed <= 200; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int brokers = 1 + random.nextInt(8);
            TopicMembers members = TopicMembers.even(1 + random.nextInt(800), 10, 1 + random.nextInt(20));
            double[] mcap = new double[brokers];
            double[] holds = new double[brokers];
            for (int b = 0; b < brokers; b++) {
                mcap[b] = random.nextInt(8_000);
                holds[b] = random.nextInt(5) == 0 ? 0 : random.nextInt(800);
            }
            Policy policy = Policy.values()[random.nextInt(Policy.values().length)];
            LoadDistribution distribution = distribution(members, mcap, policy, null);
            List<Long> revisions = new ArrayList<>();
            for (int i = 0; i < MOST_WINDOWS && distribution.state() == State.MEASURING; i++) {
                nowNs += SECOND / 2;
                for (int b = 0; b < brokers; b++) {
                    distribution.onMeasurement(b, window(distribution, b, holds[b]), nowNs);
                    revisions.add(distribution.assignment().revision());
                    assertThat(distribution.assignment().rate(b))
                            .as("seed %d, broker %d, %s", seed, b, policy)
                            .isLessThanOrEqualTo(mcap[b] + 1e-6);
                }
            }
            assertThat(distribution.state()).as("seed %d", seed).isNotEqualTo(State.MEASURING);
            assertThat(revisions).as("seed %d", seed).isSorted();
            everybodyIsSomewhereOnce(distribution);
            if (distribution.state() == State.FITTED) {
                for (int b = 0; b < brokers; b++) {
                    assertThat((double) distribution.assignment().publishers(b))
                            .as("seed %d: broker %d was measured to fit", seed, b)
                            .isLessThanOrEqualTo(holds[b]);
                }
                assertThat(distribution.assignment().unplaced()).isZero();
            }
        }
    }

    @Test
    void shouldDecideTheSameWhenSeedAndMeasurementsAreTheSame() {
        List<List<Reason>> runs = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            nowNs = 0;
            LoadDistribution distribution =
                    distribution(TopicMembers.even(1_000, 10, 7), capacities(6, 20_000), Policy.SRTM, null);
            run(distribution, 230, 310, 250, 400, 250, 100);
            runs.add(distribution.reasons());
        }
        assertThat(runs.get(0)).isEqualTo(runs.get(1)).isNotEmpty();
    }

    private static double[] ones(int count) {
        double[] ones = new double[count];
        Arrays.fill(ones, 1);
        return ones;
    }
}
