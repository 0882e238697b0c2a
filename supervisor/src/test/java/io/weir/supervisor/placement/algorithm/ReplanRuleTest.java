package io.weir.supervisor.placement.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.supervisor.placement.algorithm.ReplanRule.Replan;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ReplanRuleTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int ORDERS = 1;
    private static final int BILLS = 2;

    private final ReplanRule rule = new ReplanRule(60 * SECOND, 600 * SECOND);
    private long nowNs;

    private void placed(int topic, boolean fitted) {
        rule.onTopicArrived(topic);
        rule.onRunEnded(topic, fitted, nowNs);
    }

    private Optional<Replan> windows(int topic, int count, boolean broken) {
        Optional<Replan> replan = Optional.empty();
        for (int i = 0; i < count && replan.isEmpty(); i++) {
            nowNs += SECOND;
            replan = rule.onWindow(topic, 0, broken, SECOND, nowNs);
        }
        return replan;
    }

    @Test
    void shouldPlaceAtOnceWhenATopicArrives() {
        assertThat(rule.onTopicArrived(ORDERS)).contains(new Replan(ORDERS, Trigger.TOPIC_ARRIVED));
        assertThat(rule.onTopicArrived(ORDERS)).isEmpty();
    }

    @Test
    void shouldLeaveWhatFitsAloneWhenRoomAppears() {
        placed(ORDERS, true);
        placed(BILLS, false);
        assertThat(rule.onBrokerJoined()).containsExactly(new Replan(BILLS, Trigger.ROOM_APPEARED));
        assertThat(rule.onBrokerJoined()).as("it runs already").isEmpty();
        rule.onRunEnded(BILLS, false, nowNs);
        assertThat(rule.onTopicLeft(ORDERS)).containsExactly(new Replan(BILLS, Trigger.ROOM_APPEARED));
        assertThat(rule.onTopicLeft(ORDERS)).isEmpty();
    }

    @Test
    void shouldPlaceTheAffectedWhenABrokerDies() {
        placed(ORDERS, true);
        placed(BILLS, true);
        assertThat(rule.onBrokerGone(3, List.of(BILLS))).containsExactly(new Replan(BILLS, Trigger.BROKER_GONE));
        assertThat(rule.onBrokerGone(3, List.of(BILLS))).isEmpty();
    }

    @Test
    void shouldPlaceAgainWhenAnObjectiveIsBrokenForLong() {
        placed(ORDERS, true);
        nowNs += 3_600 * SECOND;
        assertThat(windows(ORDERS, 59, true)).isEmpty();
        assertThat(windows(ORDERS, 1, true)).contains(new Replan(ORDERS, Trigger.OBJECTIVE_BROKEN));
        assertThat(windows(ORDERS, 100, true)).as("it runs already").isEmpty();
    }

    @Test
    void shouldDoNothingWhenItIsNoise() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        placed(ORDERS, true);
        for (int i = 0; i < 100_000; i++) {
            nowNs += SECOND;
            assertThat(rule.onWindow(ORDERS, 0, random.nextInt(10) < 5, SECOND, nowNs))
                    .as("seed %d, window %d", seed, i)
                    .isEmpty();
        }
    }

    @Test
    void shouldWaitWhenTheLastRunWasShortlyBefore() {
        placed(ORDERS, true);
        assertThat(windows(ORDERS, 599, true)).isEmpty();
        assertThat(windows(ORDERS, 1, true)).isPresent();
    }

    @Test
    void shouldWaitTwiceAsLongWhenTheLastRunDidNotHelp() {
        placed(ORDERS, true);
        windows(ORDERS, 600, true);
        rule.onRunEnded(ORDERS, false, nowNs);
        assertThat(windows(ORDERS, 1_199, true)).isEmpty();
        assertThat(windows(ORDERS, 1, true)).isPresent();
        rule.onRunEnded(ORDERS, true, nowNs);
        assertThat(windows(ORDERS, 599, true)).isEmpty();
        assertThat(windows(ORDERS, 1, true)).isPresent();
    }

    @Test
    void shouldRefuseWhenThereIsNoHysteresis() {
        assertThatThrownBy(() -> new ReplanRule(0, 1)).hasMessageContaining("noise");
    }
}
