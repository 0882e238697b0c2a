package io.weir.limiter.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.EdgeStep;
import io.weir.limiter.algorithm.Indicator;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class MembershipWorldTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long RATE = 1_000 * Limit.MICROS;

    private static MembershipWorld world(long seed, int brokers, MembershipWorld.Inheritance inheritance) {
        MembershipWorld.Settings settings = new MembershipWorld.Settings(
                EdgeStep.pairwise(Indicator.FILL_RATIO, 0.5), SECOND, SECOND / 20, 3 * SECOND, inheritance);
        SplittableRandom random = new SplittableRandom(seed);
        List<BrokerId> ids = new ArrayList<>();
        List<Long> demands = new ArrayList<>();
        for (int i = 0; i < brokers; i++) {
            ids.add(broker(i));
            demands.add((1 + random.nextInt(300)) * Limit.MICROS);
        }
        return MembershipWorld.evenSplit(settings, RATE, ids, demands, random);
    }

    private static BrokerId broker(int i) {
        return new BrokerId("b" + (100 + i));
    }

    @Test
    void shouldBringANewBrokerItsFairShare() {
        MembershipWorld world = world(1, 5, MembershipWorld.Inheritance.EXACT);
        world.runUntil(100 * SECOND);
        world.join(broker(5), 200 * Limit.MICROS);
        assertThat(world.supplyMicros(broker(5))).isZero();
        world.runUntil(160 * SECOND);
        long demand =
                world.ring().members().stream().mapToLong(world::demandMicros).sum();
        assertThat(world.supplyMicros(broker(5)) / (double) RATE)
                .isBetween(0.98 * 200 * Limit.MICROS / demand, 1.02 * 200 * Limit.MICROS / demand);
    }

    @Test
    void shouldStrandACrashedBrokersSupplyUntilItsBuddyInherits() {
        MembershipWorld world = world(2, 5, MembershipWorld.Inheritance.EXACT);
        world.runUntil(100 * SECOND);
        long held = world.supplyMicros(broker(2));
        world.crash(broker(2));
        world.runUntil(102 * SECOND);
        assertThat(world.usableMicros()).isLessThanOrEqualTo(RATE - held);
        assertThat(world.ring().contains(broker(2))).isTrue();
        world.runUntil(150 * SECOND);
        assertThat(world.ring().contains(broker(2))).isFalse();
        assertThat(world.accountedMicros()).isEqualTo(RATE);
        assertThat(world.jain()).isGreaterThan(0.99);
    }

    @Test
    void shouldCountSupplyTwiceWhenTheBuddyOfACutOffBrokerInheritsAsThePapersSay() {
        MembershipWorld world = world(3, 6, MembershipWorld.Inheritance.AS_TOLD);
        world.runUntil(100 * SECOND);
        assertThat(world.accountedMicros()).isEqualTo(RATE);
        world.cutOff(Set.of(broker(0), broker(1), broker(2)));
        world.runUntil(110 * SECOND);
        assertThat(world.usableMicros()).isGreaterThan(RATE * 11 / 10);
    }

    @Test
    void shouldAccountForEveryUnitWhateverHappens() {
        for (long seed = 0; seed < 150; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            MembershipWorld world = world(seed, 2 + random.nextInt(8), MembershipWorld.Inheritance.EXACT);
            int next = 10;
            List<BrokerId> down = new ArrayList<>();
            for (int second = 1; second <= 120; second++) {
                List<BrokerId> up = world.ring().members().stream()
                        .filter(broker -> !down.contains(broker))
                        .toList();
                BrokerId someone = up.get(random.nextInt(up.size()));
                switch (random.nextInt(12)) {
                    case 0 -> world.join(broker(next++), random.nextLong(200 * Limit.MICROS));
                    case 1 -> {
                        if (up.size() > 2) {
                            world.leave(someone);
                        }
                    }
                    case 2 -> {
                        if (up.size() > 2) {
                            world.crash(someone);
                            down.add(someone);
                        }
                    }
                    case 3 ->
                        world.cutOff(up.stream()
                                .filter(broker -> random.nextBoolean())
                                .collect(Collectors.toSet()));
                    case 4 -> world.heal();
                    case 5 -> world.demand(someone, random.nextLong(500 * Limit.MICROS));
                    default -> {}
                }
                world.runUntil(second * SECOND);
                assertThat(world.accountedMicros())
                        .as("seed %d, second %d", seed, second)
                        .isEqualTo(RATE);
                assertThat(world.usableMicros())
                        .as("seed %d, second %d", seed, second)
                        .isLessThanOrEqualTo(RATE);
                for (BrokerId member : world.ring().members()) {
                    assertThat(world.supplyMicros(member))
                            .as("seed %d, %s", seed, member)
                            .isNotNegative();
                }
            }
        }
    }
}
