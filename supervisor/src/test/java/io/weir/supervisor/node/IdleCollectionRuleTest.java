package io.weir.supervisor.node;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The rule under a clock and counters of the test's. */
class IdleCollectionRuleTest {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final long MIB = 1L << 20;

    private final IdleCollectionRule rule = new IdleCollectionRule();
    /** Near where it wraps: only differences count. */
    private long nowNs = Long.MAX_VALUE - 5 * SECOND_NS;

    private long pathCpuNs;
    private long collections;
    private long usedBytes = 40 * MIB;

    @BeforeEach
    void begin() {
        assertThat(look()).as("nothing is known at first").isFalse();
    }

    @Test
    void shouldCollectWhenThePathIsQuietAndGarbageHasGathered() {
        assertThat(collectionsDuring(9, 4 * MIB, 0))
                .as("not quiet for long enough")
                .isZero();
        assertThat(collectionsDuring(1, 4 * MIB, 0)).isEqualTo(1);
    }

    @Test
    void shouldNotCollectWhenThereIsNothingToCollect() {
        assertThat(collectionsDuring(3_600, 0, 0)).isZero();
    }

    @Test
    void shouldNotCollectWhileMessagesPass() {
        assertThat(collectionsDuring(600, MIB, 3_000_000)).isZero();
    }

    @Test
    void shouldTakeHousekeepingForQuiet() {
        assertThat(collectionsDuring(60, MIB, 1_000_000)).isEqualTo(1);
    }

    @Test
    void shouldWaitAnewWhenAMessageBreaksTheQuiet() {
        usedBytes += 64 * MIB;
        for (int i = 0; i < 20; i++) {
            assertThat(collectionsDuring(8, 0, 0)).isZero();
            assertThat(collectionsDuring(1, 0, 20_000_000)).isZero();
        }
        assertThat(collectionsDuring(10, 0, 0)).isEqualTo(1);
    }

    @Test
    void shouldCollectAsOftenAsGarbageGathersAndNotOnABeat() {
        // Half a MiB a second: 32 MiB take 64 s.
        assertThat(collectionsDuring(640, MIB / 2, 0)).isBetween(9, 10);
        assertThat(collectionsDuring(640, MIB / 8, 0)).isBetween(2, 3);
    }

    @Test
    void shouldCountGarbageFromTheLastCollectionOfTheJvm() {
        collectionsDuring(9, 3 * MIB, 0);
        collections++;
        usedBytes = 40 * MIB;
        assertThat(collectionsDuring(9, 3 * MIB, 0)).isZero();
        // A concurrent one frees after it was counted.
        usedBytes = 20 * MIB;
        assertThat(collectionsDuring(11, 3 * MIB, 0)).isZero();
        assertThat(collectionsDuring(1, 3 * MIB, 0)).isEqualTo(1);
    }

    @Test
    void shouldNotAskAgainAtOnceWhereTheJvmIgnoresIt() {
        usedBytes += 64 * MIB;
        int asked = 0;
        for (int i = 0; i < 60; i++) {
            asked += look() ? 1 : 0;
        }
        assertThat(asked).isEqualTo(1);
    }

    /** Every second the heap gains bytes and the path takes CPU; when the rule says so, what came is collected. */
    private int collectionsDuring(int seconds, long bytes, long cpuNs) {
        int done = 0;
        for (int i = 0; i < seconds; i++) {
            usedBytes += bytes;
            pathCpuNs += cpuNs;
            if (look()) {
                done++;
                collections++;
                usedBytes = 40 * MIB;
            }
        }
        return done;
    }

    private boolean look() {
        nowNs += SECOND_NS;
        return rule.shouldCollect(nowNs, pathCpuNs, collections, usedBytes);
    }
}
