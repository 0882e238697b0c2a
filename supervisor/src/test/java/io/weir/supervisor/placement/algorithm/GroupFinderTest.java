package io.weir.supervisor.placement.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.sun.management.ThreadMXBean;
import io.weir.supervisor.placement.algorithm.PlantedBursts.Noise;
import io.weir.supervisor.placement.algorithm.PlantedBursts.Score;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

class GroupFinderTest {
    private static final Logger LOG = LoggerFactory.getLogger(GroupFinderTest.class);

    private static final int OLDEST = 60_000;

    private static GroupFinder finder() {
        return new GroupFinder(20_000, OLDEST, 7);
    }

    private static Score print(String what, long seed, Score score) {
        LOG.info(String.format(
                Locale.ROOT,
                "%s, seed %d: precision %.4f, recall %.4f, %d publishers in %d groups",
                what,
                seed,
                score.precision(),
                score.recall(),
                score.found(),
                score.groups()));
        return score;
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void shouldFindPlantedGroupsAmongTenThousandPublishersWithNoise(long seed) {
        PlantedBursts traffic = new PlantedBursts(seed, new Noise(0.9, 0.1, 8, 0)).groups(250, 5, 35, 0.3, 3);
        traffic.independent(10_000 - traffic.size(), 0.2, 5);
        GroupFinder finder = finder();
        traffic.pass(6, finder);
        Score score = print("one minute, noise", seed, traffic.score(finder));
        assertThat(traffic.size()).isEqualTo(10_000);
        assertThat(score.precision()).as("precision, seed %d", seed).isGreaterThan(0.99);
        assertThat(score.recall()).as("recall, seed %d", seed).isGreaterThan(0.93);
    }

    @ParameterizedTest
    @ValueSource(longs = {17, 18})
    void shouldRatherMissAGroupThanMakeOneUpWhenItsPublishersSendTogetherHalfOfTheTimeOnly(long seed) {
        PlantedBursts traffic = new PlantedBursts(seed, new Noise(0.75, 0.25, 12, 1)).groups(100, 5, 35, 0.3, 3);
        traffic.independent(2_000, 0.2, 5);
        GroupFinder finder = finder();
        traffic.pass(6, finder);
        Score score = print("one minute, half of the bursts", seed, traffic.score(finder));
        assertThat(score.precision()).as("precision, seed %d", seed).isGreaterThan(0.99);
    }

    @ParameterizedTest
    @ValueSource(longs = {4, 5, 6})
    void shouldFindThemAlsoWhenTheClocksOfBrokersDifferByASlot(long seed) {
        PlantedBursts traffic = new PlantedBursts(seed, new Noise(0.95, 0.05, 2, 1)).groups(100, 5, 35, 0.3, 3);
        traffic.independent(2_000, 0.2, 5);
        GroupFinder finder = finder();
        traffic.pass(6, finder);
        Score score = print("one minute, a slot's skew", seed, traffic.score(finder));
        assertThat(score.precision()).as("precision, seed %d", seed).isGreaterThan(0.99);
        assertThat(score.recall()).as("recall, seed %d", seed).isGreaterThan(0.9);
    }

    @ParameterizedTest
    @ValueSource(longs = {7, 8, 9})
    void shouldFindNoneAmongIndependentPoissonPublishers(long seed) {
        PlantedBursts traffic = new PlantedBursts(seed, Noise.NONE).independent(10_000, 0.1, 20);
        GroupFinder finder = finder();
        traffic.pass(6, finder);
        Score score = print("independent", seed, traffic.score(finder));
        assertThat(score.groups()).as("seed %d", seed).isZero();
        assertThat(finder.size()).as("seed %d", seed).isBetween(9_900, 10_000);
    }

    @Test
    void shouldFindSlowPublishersByFewBursts() {
        PlantedBursts traffic = new PlantedBursts(10, Noise.NONE).groups(20, 20, 20, 1 / 60.0, 1 / 60.0);
        GroupFinder finder = finder();
        traffic.pass(60, finder);
        Score score = print("ten minutes, once a minute", 10, traffic.score(finder));
        assertThat(score.precision()).isEqualTo(1);
        assertThat(score.recall()).isGreaterThan(0.7);
    }

    @Test
    void shouldTakeBusyPublishersForIndependentEvenWhereTheySendTogether() {
        PlantedBursts traffic = new PlantedBursts(11, Noise.NONE).groups(10, 10, 10, 20, 20);
        GroupFinder finder = finder();
        traffic.pass(6, finder);
        assertThat(finder.groups()).isZero();
        for (long id = 1_000; id < 1_010; id++) {
            for (long slot = 0; slot < 6_000; slot += 64) {
                finder.heard(id, slot, 0x5555555555555555L);
            }
        }
        finder.round(6_000);
        assertThat(finder.groupOf(1_000)).as("every second slot").isEqualTo(GroupFinder.NONE);
    }

    @Test
    void shouldKeepNumbersAndMembersFromRoundToRound() {
        long seed = 12;
        PlantedBursts traffic = new PlantedBursts(seed, new Noise(0.85, 0.1, 8, 0)).groups(100, 10, 30, 0.3, 3);
        GroupFinder finder = finder();
        traffic.pass(6, finder);
        long first = traffic.idsOf(0)[0];
        int number = finder.groupOf(first);
        long before = finder.changes();
        traffic.pass(12, finder);
        double changes = (finder.changes() - before) / 12.0 / traffic.planted();
        LOG.info(String.format(Locale.ROOT, "changes a member and round: %.5f", changes));
        assertThat(changes).as("seed %d", seed).isLessThan(0.02);
        assertThat(finder.groupOf(first)).as("seed %d", seed).isEqualTo(number);
        assertThat(traffic.score(finder).recall()).as("seed %d", seed).isGreaterThan(0.95);
    }

    @Test
    void shouldKeepAGroupWhenItsLeaderLeaves() {
        PlantedBursts traffic = new PlantedBursts(13, Noise.NONE).groups(1, 12, 12, 1, 1);
        GroupFinder finder = finder();
        traffic.pass(4, finder);
        long[] ids = traffic.idsOf(0);
        int number = finder.groupOf(ids[5]);
        assertThat(number).isNotEqualTo(GroupFinder.NONE);
        for (int i = 0; i < 3; i++) {
            assertThat(finder.leave(ids[i])).isTrue();
        }
        assertThat(finder.leave(ids[0])).isFalse();
        assertThat(finder.groupOf(ids[0])).isEqualTo(GroupFinder.NONE);
        assertThat(finder.size()).isEqualTo(9);
        finder.round(170_000_004_000L);
        for (int i = 3; i < ids.length; i++) {
            assertThat(finder.groupOf(ids[i])).isEqualTo(number);
        }
        for (int i = 3; i < ids.length - 1; i++) {
            finder.leave(ids[i]);
        }
        assertThat(finder.groups()).as("one is no group").isZero();
        assertThat(finder.groupOf(ids[ids.length - 1])).isEqualTo(GroupFinder.NONE);
    }

    @Test
    void shouldGiveUpGroupsWhosePublishersSendTogetherNoMore() {
        PlantedBursts traffic = new PlantedBursts(14, Noise.NONE).groups(30, 10, 10, 1, 3);
        GroupFinder finder = finder();
        traffic.pass(4, finder);
        assertThat(finder.groups()).isEqualTo(30);
        traffic.disperse();
        traffic.pass(15, finder);
        assertThat(finder.groups()).isZero();
    }

    @Test
    void shouldTakeLateReportsAndSurviveAClockThatIsSetBack() {
        GroupFinder finder = finder();
        for (int run = 0; run < 2; run++) {
            long base = run == 0 ? 5_000_000_000L : 4_000_000_000L;
            // One's bursts come in order, the other's by two brokers of which one reports later, and both tell of some.
            for (int burst = 0; burst < 100; burst += 2) {
                finder.heard(1, base + 97 * burst, 1);
                finder.heard(1, base + 97 * (burst + 1), 1);
                finder.heard(2, base + 97 * (burst + 1), 1);
                finder.heard(2, base + 97 * burst - 1, 2);
                finder.heard(2, base + 97 * (burst + 1), 1);
            }
            finder.round(base + 9_700);
            assertThat(finder.groupOf(1)).as("run %d", run).isNotEqualTo(GroupFinder.NONE);
            assertThat(finder.groupOf(2)).isEqualTo(finder.groupOf(1));
        }
    }

    @Test
    void shouldGiveTheSameWhenTheSeedsAreTheSame() {
        int[][] groups = new int[2][];
        for (int run = 0; run < 2; run++) {
            PlantedBursts traffic = new PlantedBursts(15, new Noise(0.8, 0.2, 8, 1)).groups(20, 5, 20, 0.5, 2);
            GroupFinder finder = finder();
            traffic.pass(4, finder);
            groups[run] = new int[traffic.size()];
            for (int i = 0; i < traffic.size(); i++) {
                groups[run][i] = finder.groupOf(i + 1L);
            }
        }
        assertThat(groups[0]).isEqualTo(groups[1]);
    }

    @Test
    void shouldLookAtNoMorePublishersThanItHasRoomForAndAllocateNothingForBursts() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long me = Thread.currentThread().getId();
        SplittableRandom random = new SplittableRandom(16);
        long before = threads.getThreadAllocatedBytes(me);
        GroupFinder finder = new GroupFinder(10_000, OLDEST, 7);
        for (long id = 1; id <= 30_000; id++) {
            assertThat(finder.heard(id, 0, 1) ? 1 : 0).isEqualTo(id <= 10_000 ? 1 : 0);
        }
        long madeRoom = threads.getThreadAllocatedBytes(me) - before;
        assertThat(finder.size()).isEqualTo(10_000);
        before = threads.getThreadAllocatedBytes(me);
        for (long slot = 0; slot < 300; slot++) {
            for (long id = 1; id <= 10_000; id++) {
                finder.heard(id, 64 * slot, 1L << random.nextInt(64));
            }
        }
        double aBurst = (threads.getThreadAllocatedBytes(me) - before) / 3e6;
        before = threads.getThreadAllocatedBytes(me);
        long beganNs = threads.getCurrentThreadCpuTime();
        finder.round(64 * 300);
        long tookNs = threads.getCurrentThreadCpuTime() - beganNs;
        long aRound = threads.getThreadAllocatedBytes(me) - before;
        LOG.info(String.format(
                Locale.ROOT,
                "bytes for 10,000 publishers: %,d with all that growing left behind; a burst: %.1f; a round: %,d, in %d ms of a core",
                madeRoom,
                aBurst,
                aRound,
                tookNs / 1_000_000));
        assertThat(finder.groups()).isZero();
        // Growing by halves leaves up to three times behind of what is kept, and assertions take their part.
        assertThat(madeRoom).isLessThan(30_000_000);
        // The key of a map.
        assertThat(aBurst).isLessThan(32);
        assertThat(aRound).isLessThan(8_000_000);
    }

    @Test
    void shouldWeighCoincidenceByHowUnlikelyItIs() {
        assertThat(GroupFinder.evidence(10, 10, 0.01)).isCloseTo(10 * Math.log(100), within(1e-9));
        assertThat(GroupFinder.evidence(10, 1, 0.2))
                .as("less than chance gives")
                .isZero();
        assertThat(GroupFinder.evidence(64, 64, 1.5)).as("nearly every slot").isZero();
        assertThat(GroupFinder.evidence(64, 32, 0.03)).isGreaterThan(GroupFinder.evidence(64, 32, 0.1));
    }
}
