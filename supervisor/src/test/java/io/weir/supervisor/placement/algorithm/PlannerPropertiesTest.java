package io.weir.supervisor.placement.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.config.value.BrokerId;
import io.weir.supervisor.placement.algorithm.Reason.Rule;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What holds for every plan, on many random clusters; the seed is in every failure. */
class PlannerPropertiesTest {
    private static final int CASES = 400;

    private record Case(long seed, TopicMembers members, BrokerCapacities brokers) {
        Planner.Plan plan(Policy policy) {
            return new Planner(policy, new SplittableRandom(seed)).plan(members, brokers);
        }
    }

    private static Case random(long seed, boolean equalRates) {
        SplittableRandom random = new SplittableRandom(seed);
        int count = 1 + random.nextInt(random.nextBoolean() ? 12 : 600);
        int groups = 1 + random.nextInt(count);
        double[] rates = new double[count];
        int[] group = new int[count];
        for (int i = 0; i < count; i++) {
            rates[i] = equalRates ? 10 : Math.exp(4 * random.nextDouble()) - (random.nextInt(20) == 0 ? 1 : 0);
            group[i] = random.nextInt(groups) - 1;
        }
        TopicMembers members = TopicMembers.of(IntStream.range(0, count).toArray(), rates, ones(count), group);
        int brokers = 1 + random.nextInt(12);
        double[] mcap = new double[brokers];
        double[] allocated = new double[brokers];
        double typical = members.rate() / (1 + random.nextInt(brokers + 2)) * 1.3;
        for (int i = 0; i < brokers; i++) {
            mcap[i] = typical * (0.5 + random.nextDouble());
            allocated[i] = random.nextInt(3) == 0 ? mcap[i] * random.nextDouble() * 1.1 : 0;
        }
        return new Case(seed, members, brokers(mcap, allocated));
    }

    static BrokerCapacities brokers(double[] mcap, double[] allocated) {
        List<BrokerId> ids = IntStream.range(0, mcap.length)
                .mapToObj(i -> new BrokerId("b" + i))
                .toList();
        return new BrokerCapacities(ids, mcap, allocated);
    }

    @Test
    void shouldNeverExceedARoomWhateverThePolicy() {
        for (long seed = 1; seed <= CASES; seed++) {
            for (Policy policy : Policy.values()) {
                Case some = random(seed, seed % 3 == 0);
                Assignment assignment = some.plan(policy).assignment();
                for (int b = 0; b < some.brokers().size(); b++) {
                    assertThat(assignment.rate(b))
                            .as("seed %d, %s, broker %d", seed, policy, b)
                            .isLessThanOrEqualTo(some.brokers().rcap(b) * (1 + 1e-12) + 1e-9);
                }
            }
        }
    }

    @Test
    void shouldPlaceEveryoneOrSayWhoIsNotWhateverThePolicy() {
        for (long seed = 1; seed <= CASES; seed++) {
            for (Policy policy : Policy.values()) {
                Case some = random(seed, seed % 3 == 0);
                Planner.Plan plan = some.plan(policy);
                Assignment assignment = plan.assignment();
                int placed = IntStream.range(0, some.brokers().size())
                        .map(assignment::publishers)
                        .sum();
                String what = "seed " + seed + ", " + policy;
                assertThat(placed + assignment.unplaced())
                        .as(what)
                        .isEqualTo(some.members().size());
                assertThat(plan.reasons().stream().anyMatch(reason -> reason.rule() == Rule.UNPLACED))
                        .as(what)
                        .isEqualTo(assignment.unplaced() > 0);
                for (int m = 0; m < some.members().size(); m++) {
                    if (assignment.home(m) == Assignment.UNPLACED) {
                        for (int b = 0; b < some.brokers().size(); b++) {
                            assertThat(assignment.rate(b) + some.members().rate(m))
                                    .as("%s: member %d is unplaced although broker %d has room", what, m, b)
                                    .isGreaterThan(some.brokers().rcap(b) - 1e-9);
                        }
                    }
                }
            }
        }
    }

    @Test
    void shouldTakeNoBrokerTooManyWhenItConcentrates() {
        for (long seed = 1; seed <= CASES; seed++) {
            Case some = random(seed, true);
            for (Policy policy : List.of(Policy.CONC, Policy.MAX_MIN, Policy.SRTM)) {
                int k = some.plan(policy).quotas().k();
                double[] rcaps = some.brokers().rcaps();
                Arrays.sort(rcaps);
                double withoutOne = 0;
                for (int i = 0; i < k - 1; i++) {
                    withoutOne += rcaps[rcaps.length - 1 - i];
                }
                if (k > 0) {
                    assertThat(withoutOne)
                            .as("seed %d, %s, k = %d", seed, policy, k)
                            .isLessThan(some.members().rate());
                }
            }
        }
    }

    @Test
    void shouldGiveNobodyLessThanHeCouldHaveWhenMaxMin() {
        for (long seed = 1; seed <= CASES; seed++) {
            Case some = random(seed, false);
            Quotas quotas = some.plan(Policy.MAX_MIN).quotas();
            double[] given = quotas.perBroker();
            double most = Arrays.stream(given).max().orElse(0);
            double placeable = Arrays.stream(some.brokers().rcaps()).max().orElse(0)
                            < some.members().largest()
                    ? 0
                    : Math.min(
                            some.members().rate(),
                            Arrays.stream(some.brokers().rcaps()).sum());
            assertThat(Arrays.stream(given).sum())
                    .as("seed %d: quotas add up to what can be placed", seed)
                    .isGreaterThanOrEqualTo(placeable * (1 - 1e-6));
            for (int b = 0; b < given.length; b++) {
                if (given[b] > 0 && given[b] < most * (1 - 1e-9)) {
                    assertThat(given[b])
                            .as("seed %d: broker %d has less than another, but not all of its room", seed, b)
                            .isCloseTo(some.brokers().rcap(b), within(1e-9 * most));
                }
            }
        }
    }

    @Test
    void shouldDrawEveryGroupWithinOnePublisherOfExactWhenItMindsGroups() {
        for (long seed = 1; seed <= CASES; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            TopicMembers members = random(seed, seed % 2 == 0).members();
            double[] parts = new double[1 + random.nextInt(8)];
            Arrays.setAll(parts, i -> random.nextInt(4) == 0 ? 0 : random.nextDouble());
            parts[0] += 0.01;
            double sum = Arrays.stream(parts).sum();
            Arrays.setAll(parts, i -> parts[i] / sum);
            int[] pool = IntStream.range(0, members.size()).toArray();
            int[] targets = ProportionalDraw.divide(members, pool, parts, true, random);
            int[][] drawn = new int[members.groups()][parts.length];
            int[] size = new int[members.groups()];
            for (int i = 0; i < pool.length; i++) {
                drawn[members.group(pool[i])][targets[i]]++;
                size[members.group(pool[i])]++;
            }
            for (int g = 0; g < size.length; g++) {
                for (int t = 0; t < parts.length; t++) {
                    assertThat(Math.abs(drawn[g][t] - size[g] * parts[t]))
                            .as("seed %d, group %d of %d, target %d with %f", seed, g, size[g], t, parts[t])
                            .isLessThan(1);
                }
            }
        }
    }

    @Test
    void shouldKeepTheTotalNearTheQuotaWhenGroupsAreMany() {
        for (long seed = 1; seed <= CASES; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int k = 1 + random.nextInt(8);
            TopicMembers members = TopicMembers.even(50 + random.nextInt(500), 10, 2 + random.nextInt(5));
            double[] parts = new double[k];
            Arrays.fill(parts, 1.0 / k);
            int[] pool = IntStream.range(0, members.size()).toArray();
            int[] total = new int[k];
            for (int target : ProportionalDraw.divide(members, pool, parts, true, random)) {
                total[target]++;
            }
            for (int t = 0; t < k; t++) {
                assertThat((double) total[t])
                        .as("seed %d, target %d of %d", seed, t, k)
                        .isCloseTo(members.size() / (double) k, within(2.0));
            }
        }
    }

    @Test
    void shouldPlanTheSameWhenTheSeedIsTheSame() {
        for (long seed = 1; seed <= 50; seed++) {
            for (Policy policy : Policy.values()) {
                Planner.Plan one = random(seed, false).plan(policy);
                Planner.Plan other = random(seed, false).plan(policy);
                assertThat(one.assignment().homes())
                        .as("seed %d, %s", seed, policy)
                        .isEqualTo(other.assignment().homes());
                assertThat(one.reasons()).isEqualTo(other.reasons());
            }
        }
    }

    @Test
    void shouldNotNeedMoreBrokersWhenTheyHaveMoreRoom() {
        for (long seed = 1; seed <= CASES; seed++) {
            Case some = random(seed, true);
            double[] mcap = new double[some.brokers().size()];
            Arrays.setAll(mcap, b -> some.brokers().mcap(b) * 1.5);
            BrokerCapacities larger = brokers(mcap, some.brokers().loads());
            Planner.Plan before = some.plan(Policy.SRTM);
            Planner.Plan after = new Planner(Policy.SRTM, new SplittableRandom(seed)).plan(some.members(), larger);
            assertThat(after.assignment().unplacedRate())
                    .as("seed %d", seed)
                    .isLessThanOrEqualTo(before.assignment().unplacedRate());
            if (before.assignment().unplaced() == 0) {
                assertThat(after.quotas().k())
                        .as("seed %d", seed)
                        .isLessThanOrEqualTo(before.quotas().k());
            }
        }
    }

    @Test
    void shouldSpreadEvenlyOverAllWhenLoadBalancing() {
        Assignment assignment = new Planner(Policy.LB, new SplittableRandom(1))
                .plan(TopicMembers.even(600, 10, 1), brokers(new double[] {9e3, 5e3, 9e3}, new double[3]))
                .assignment();
        assertThat(IntStream.range(0, 3).map(assignment::publishers)).containsExactly(200, 200, 200);
    }

    @Test
    void shouldEqualiseTotalsWhenConcentrating() {
        Assignment assignment = new Planner(Policy.CONC, new SplittableRandom(1))
                .plan(
                        TopicMembers.even(800, 100, 1),
                        brokers(new double[] {64e3, 64e3, 64e3, 64e3}, new double[] {10e3, 40e3, 50e3, 60e3}))
                .assignment();
        assertThat(assignment.rate(0)).isCloseTo(50e3, within(100.0));
        assertThat(assignment.rate(1)).isCloseTo(20e3, within(100.0));
        assertThat(assignment.rate(2)).isCloseTo(10e3, within(100.0));
        assertThat(assignment.rate(3)).isZero();
    }

    @Test
    void shouldSaySoWhenThereIsNobodyToPlace() {
        Planner.Plan plan = new Planner(Policy.SRTM, new SplittableRandom(1))
                .plan(TopicMembers.even(0, 1, 1), brokers(new double[] {10}, new double[1]));
        assertThat(plan.reasons()).extracting(Reason::rule).containsExactly(Rule.NO_PUBLISHERS);
    }

    @Test
    void shouldLeaveOutOnlyTheGiantWhenOnePublisherIsLargerThanAnyBroker() {
        TopicMembers members =
                TopicMembers.of(new int[] {0, 1, 2}, new double[] {5, 500, 5}, ones(3), new int[] {0, 0, 0});
        Planner.Plan plan = new Planner(Policy.SRTM, new SplittableRandom(1))
                .plan(members, brokers(new double[] {100, 100}, new double[2]));
        assertThat(plan.assignment().unplaced()).isEqualTo(1);
        assertThat(plan.assignment().unplacedRate()).isEqualTo(500);
        assertThat(plan.reasons())
                .filteredOn(reason -> reason.rule() == Rule.LARGER_THAN_ANY)
                .singleElement()
                .satisfies(reason -> {
                    assertThat(reason.found()).isEqualTo(500);
                    assertThat(reason.sentence(b -> "b" + b)).contains("500", "100");
                });
    }

    @Test
    void shouldFillWhatThereIsWhenNoClusterHoldsTheRate() {
        Planner.Plan plan = new Planner(Policy.SRTM, new SplittableRandom(1))
                .plan(TopicMembers.even(100, 10, 5), brokers(new double[] {300, 200}, new double[2]));
        assertThat(plan.assignment().rate(0)).isEqualTo(300);
        assertThat(plan.assignment().rate(1)).isEqualTo(200);
        assertThat(plan.assignment().unplaced()).isEqualTo(50);
        assertThat(plan.reasons()).extracting(Reason::rule).contains(Rule.NO_ROOM, Rule.UNPLACED);
    }

    private static double[] ones(int count) {
        return IntStream.range(0, count).mapToDouble(i -> 1).toArray();
    }
}
