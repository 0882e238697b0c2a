package io.weir.supervisor.placement.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The formula against the simulation, and both for growing in what they should. */
class ForecastTest {
    private static final ServiceModel SERVICE = new ServiceModel(250_000, 11_400, 6_750, false);
    private static final Slo SLO = Slo.p99(1_000_000);
    private static final int MESSAGES = 400_000;

    /** Poisson publishers of 10 msg/s, on {@code k} of six equal brokers. */
    private static Assignment on(int k, TopicMembers members) {
        double[] mcap = new double[6];
        Arrays.fill(mcap, 0, k, 1.01 * members.rate() / k + members.largest());
        return new Planner(Policy.SRTM, new SplittableRandom(3))
                .plan(members, PlannerPropertiesTest.brokers(mcap, new double[6]))
                .assignment();
    }

    private static PlacedTopic topic(double rate, double burst) {
        return new PlacedTopic(new TopicName("orders"), Limit.of(1.1 * rate, burst), SLO);
    }

    private static TopicTrace trace(int publishers, int batch, int groupSize) {
        SplittableRandom random = new SplittableRandom(7);
        int count = MESSAGES / batch / groupSize * groupSize;
        long[] atNs = new long[count];
        int[] member = new int[count];
        int[] messages = new int[count];
        double nowNs = 0;
        for (int i = 0; i < count; i += groupSize) {
            nowNs += -Math.log(1 - random.nextDouble()) * 1e9 * batch * groupSize / (10.0 * publishers);
            int group = random.nextInt(publishers / groupSize);
            for (int j = 0; j < groupSize; j++) {
                atNs[i + j] = (long) nowNs;
                member[i + j] = group * groupSize + j;
                messages[i + j] = batch;
            }
        }
        return new TopicTrace(atNs, member, messages);
    }

    @Test
    void shouldAgreeWhenArrivalsArePoisson() {
        int[][] cases = {{1_000, 1}, {4_000, 1}, {6_000, 2}, {6_000, 4}, {1_000, 3}};
        for (int[] some : cases) {
            TopicMembers members = TopicMembers.even(some[0], 10, 1);
            PlacedTopic topic = topic(members.rate(), 31);
            Assignment assignment = on(some[1], members);
            double formula = new BucketForecast(topic, SERVICE, 10)
                    .predict(assignment, 0, 0)
                    .tooSlow();
            double simulated = new TraceForecast(topic, trace(some[0], 1, 1), SERVICE, 10, 1)
                    .predict(assignment, 0, 0)
                    .tooSlow();
            assertThat(formula)
                    .as("%d publishers on %d brokers: %f by formula, %f by trace", some[0], some[1], formula, simulated)
                    .isCloseTo(simulated, within(0.004 + 0.35 * simulated));
        }
    }

    @Test
    void shouldSeeMoreTooSlowWhenGroupsAreLarger() {
        double before = -1;
        for (int size : new int[] {1, 2, 5, 10, 20}) {
            TopicMembers members = TopicMembers.even(1_000, 10, 10, size);
            PlacedTopic topic = topic(members.rate(), 31 * 10.0 * size);
            double part = new BucketForecast(topic, SERVICE, 10)
                    .predict(on(1, members), 0, 0)
                    .tooSlow();
            assertThat(part).as("groups of %d", size).isGreaterThan(before - 1e-3);
            before = part;
        }
        assertThat(before).isGreaterThan(0.1);
    }

    /** SRTM 6.3: with batches the bucket is one of (r/X, b/X), which both make for longer delays. */
    @Test
    void shouldAgreeWithTheTraceWhenPublishersSendBatches() {
        double before = -1;
        for (int size : new int[] {1, 4, 10, 20}) {
            TopicMembers members = TopicMembers.even(1_000, 10, size, 1);
            PlacedTopic topic = topic(members.rate(), 120);
            Assignment assignment = on(2, members);
            double formula = new BucketForecast(topic, SERVICE, 10)
                    .predict(assignment, 0, 0)
                    .tooSlow();
            double simulated = new TraceForecast(topic, trace(1_000, size, 1), SERVICE, 10, 1)
                    .predict(assignment, 0, 0)
                    .tooSlow();
            assertThat(formula)
                    .as("batches of %d: %f by formula, %f by trace", size, formula, simulated)
                    .isGreaterThanOrEqualTo(before)
                    .isCloseTo(simulated, within(0.004 + 0.35 * simulated));
            before = formula;
        }
        assertThat(before).as("as single messages they would fit").isGreaterThan(0.05);
    }

    @Test
    void shouldWeighBurstsByTheirMessagesWhenSizesDiffer() {
        // Half of the messages come one by one, half in batches of nine.
        TopicMembers members =
                TopicMembers.of(new int[] {0, 1}, new double[] {100, 100}, new double[] {1, 9}, new int[] {-1, -1});
        Assignment assignment = on(1, members);
        assertThat(assignment.burst(0)).isCloseTo(5, within(1e-9));
        assertThat(assignment.size(0)).as("ten wakings bring eighteen messages").isCloseTo(1.8, within(1e-9));
        TopicMembers group =
                TopicMembers.of(new int[] {0, 1}, new double[] {100, 100}, new double[] {1, 9}, new int[] {4, 4});
        assertThat(on(1, group).burst(0)).as("they send together").isCloseTo(10, within(1e-9));
    }

    @Test
    void shouldSeeMoreTooSlowWhenTheBrokerCarriesMore() {
        TopicMembers members = TopicMembers.even(3_000, 10, 1);
        PlacedTopic topic = topic(members.rate(), 31);
        TopicTrace trace = trace(3_000, 1, 1);
        double before = 0;
        for (double other : new double[] {0, 30_000, 50_000, 70_000}) {
            double formula = new BucketForecast(topic, SERVICE, 10)
                    .predict(on(1, members), 0, other)
                    .tooSlow();
            double simulated = new TraceForecast(topic, trace, SERVICE, 10, 1)
                    .predict(on(1, members), 0, other)
                    .tooSlow();
            assertThat(formula).as("formula, beside %.0f msg/s", other).isGreaterThanOrEqualTo(before - 1e-3);
            assertThat(simulated <= SLO.tolerated())
                    .as("beside %.0f msg/s: %f by formula, %f by trace", other, formula, simulated)
                    .isEqualTo(formula <= SLO.tolerated());
            before = formula;
        }
        assertThat(before).isEqualTo(1);
    }

    @Test
    void shouldSeeTheGroupWhenTheTraceHasOne() {
        TopicMembers members = TopicMembers.even(1_000, 10, 10, 20);
        PlacedTopic topic = topic(members.rate(), 31 * 200);
        TraceForecast forecast = new TraceForecast(topic, trace(1_000, 10, 20), SERVICE, 10, 1);
        assertThat(forecast.predict(on(1, members), 0, 0).fits(SLO)).isFalse();
        assertThat(forecast.predict(on(5, members), 0, 0).fits(SLO)).isTrue();
    }

    @Test
    void shouldFindTheCostsAgainWhenTheyWereCalibrated() {
        ServiceModel found = ServiceModel.calibrated(
                1e9 / SERVICE.perMessageNs(1), 1e9 / SERVICE.perMessageNs(10), 10, 250_000 + SERVICE.perMessageNs(1));
        assertThat(found.wakeNs()).isCloseTo(11_400, within(1.0));
        assertThat(found.messageNs()).isCloseTo(6_750, within(1.0));
        assertThat(found.baseNs()).isCloseTo(250_000, within(1.0));
    }

    @Test
    void shouldRefuseWhenATraceRunsBackwards() {
        assertThatThrownBy(() -> new TopicTrace(new long[] {5, 4}, new int[2], new int[] {1, 1}))
                .hasMessageContaining("lies before");
    }
}
