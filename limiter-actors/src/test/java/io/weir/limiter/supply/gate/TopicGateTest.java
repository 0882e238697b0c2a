package io.weir.limiter.supply.gate;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.ChannelName;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.simulation.HardBound;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.wire.SupplyCodec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TopicGateTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long LEASE = 1_000 * SECOND;
    /** So that the clock wraps within the test. */
    private static final long START = Long.MAX_VALUE - SECOND / 2;

    private static final TopicName TOPIC = new TopicName("orders");
    private static final Holder ME = new Holder(new BrokerId("a"), 1);
    private static final Limit LIMIT = Limit.of(1_000, 5);

    private final Lease lease = new Lease(LEASE);
    private final Gates gates = new Gates(ME, lease, 0, () -> {});
    private long nowNs = START;
    private final TopicGate gate = gates.gate(TOPIC, START);

    private void supply(double rate, double burst) {
        Limit limit = Limit.of(rate, burst);
        gates.add(
                ME,
                Map.of(
                        TOPIC,
                        Holding.of(new Share(limit.rateMicros(), limit.burstMicros()), 0)
                                .full()));
        gates.poll(() -> nowNs);
        lease.renewed(START);
    }

    private boolean admitAt(long arrivalNs) {
        return gate.admitAt(1, arrivalNs, () -> nowNs);
    }

    @Test
    void shouldNotRefillWhileALongBatchIsWorkedOffLate() {
        supply(1_000, 5);
        long arrivalNs = START + SECOND;
        nowNs = arrivalNs;
        int passed = 0;
        for (int i = 0; i < 100; i++) {
            nowNs += SECOND / 100;
            passed += admitAt(arrivalNs) ? 1 : 0;
        }
        assertThat(passed).isEqualTo(5);
        assertThat(gate.stampNs()).isEqualTo(arrivalNs);
        assertThat(gate.admit(1, () -> nowNs)).as("by the gate's clock").isTrue();
    }

    @Test
    void shouldPassWhatConformedWhenItCameThoughTheThreadWasLate() {
        supply(1_000, 1);
        nowNs = START + SECOND;
        for (int i = 1; i <= 500; i++) {
            assertThat(admitAt(START + i * SECOND / 1_000)).as("message %d", i).isTrue();
        }
    }

    @Test
    void shouldKeepTheBoundOverArrivalsWhateverTheirOrderAndHoweverLateTheyAreLookedAt() {
        for (long seed = 1; seed <= 200; seed++) {
            TopicGateTest fresh = new TopicGateTest();
            assertThat(fresh.excessOfARandomRun(new Random(seed)))
                    .as("seed %d", seed)
                    .isZero();
        }
    }

    /**
     * Bursts that came at one time, looked at late, some from another broker with an age, while supply is sampled and
     * moved.
     */
    private long excessOfARandomRun(Random random) {
        supply(LIMIT.ratePerSecond() / 2, 2);
        HardBound bound = new HardBound(LIMIT, START);
        long passed = 0;
        boolean whole = false;
        for (int turn = 0; turn < 400; turn++) {
            nowNs += random.nextInt(8_000_000);
            long wokenNs = nowNs;
            for (int i = random.nextInt(12); i > 0; i--) {
                long ageNs = random.nextInt(4) == 0 ? random.nextInt(20_000_000) : 0;
                nowNs += random.nextInt(500_000);
                if (admitAt(wokenNs - ageNs)) {
                    bound.admitted(MICROS, gate.stampNs());
                    passed++;
                }
                gate.arrived(1, 0, wokenNs);
            }
            if (random.nextInt(3) == 0) {
                gates.sample(TOPIC);
                gates.poll(() -> nowNs);
            }
            if (turn == 200 && !whole) {
                whole = true;
                supply(LIMIT.ratePerSecond() / 2, 3);
            }
        }
        assertThat(passed).isGreaterThan(600);
        return bound.excessMicros();
    }

    @Test
    void shouldCountAMessageNoEarlierThanTheOneBeforeIt() {
        supply(10, 2);
        nowNs = START + SECOND;
        assertThat(admitAt(START + SECOND)).isTrue();
        assertThat(admitAt(START + SECOND / 2)).isTrue();
        assertThat(gate.stampNs()).isEqualTo(START + SECOND);
        assertThat(admitAt(START)).isFalse();
    }

    @Test
    void shouldNotSpendTokensBeforeTheyCame() {
        supply(10, 1);
        nowNs = START + SECOND / 10;
        assertThat(admitAt(START)).isTrue();
        // Somebody looks at the level, which settles the bucket: a token is there, but it was not when the message
        // came.
        gates.sample(TOPIC);
        gates.poll(() -> nowNs);
        assertThat(admitAt(START + 1)).isTrue();
        assertThat(gate.stampNs()).isEqualTo(START + SECOND / 10);
    }

    @Test
    void shouldLetSupplyAccrueFromWhenItCameAlthoughTheTurnBeganEarlier() {
        lease.renewed(START);
        Limit limit = Limit.of(1_000, 5);
        // The turn began at START. Its thread stood still, and meanwhile a transfer was stored.
        nowNs = START + SECOND;
        gates.add(ME, Map.of(TOPIC, Holding.of(new Share(limit.rateMicros(), limit.burstMicros()), 0)));
        gates.poll(() -> nowNs);
        assertThat(gate.admit(1, () -> nowNs)).as("nothing has accrued yet").isFalse();
        nowNs += SECOND / 1_000;
        assertThat(gate.admit(1, () -> nowNs)).as("one token a millisecond").isTrue();
        assertThat(gate.admit(1, () -> nowNs)).isFalse();
    }

    @Test
    void shouldTakeAnArrivalThatIsStillToComeForNow() {
        supply(10, 1);
        assertThat(admitAt(START)).isTrue();
        nowNs = START + SECOND / 100;
        assertThat(admitAt(START + 10 * SECOND)).isFalse();
        assertThat(gate.stampNs()).isEqualTo(nowNs);
    }

    @Test
    void shouldRefuseWhatConformedWhenItCameButFindsTheLeaseOver() {
        supply(10, 1);
        nowNs = START + LEASE;
        assertThat(admitAt(START + LEASE - 1)).isFalse();
        assertThat(gate.admitted()).isZero();
    }

    @Test
    void shouldRecordAChannelsKeyHoweverLong(@TempDir Path dir) throws IOException {
        TopicName key =
                TopicName.ofChannel(TopicName.of("t".repeat(64)), new ChannelName("c".repeat(54) + "#ephemeral"));
        AdmissionHistory history = new AdmissionHistory(dir, ME.broker());
        history.admitted(key, ME, 7, 1, false, 9);
        history.admitted(TOPIC, ME, 8, 2, true, 0);
        assertThat(AdmissionHistory.read(dir))
                .containsExactly(
                        new AdmissionHistory.Admission(ME.broker(), 1, key, 7, 1, false, 9),
                        new AdmissionHistory.Admission(ME.broker(), 1, TOPIC, 8, 2, true, 0));
    }

    @Test
    void shouldCarryAChannelsKeyBetweenBrokers() {
        TopicName key = TopicName.ofChannel(TopicName.of("t".repeat(64)), new ChannelName("c".repeat(64)));
        SupplyEvent event = new SupplyEvent.Minted(
                key, 1, Holding.of(new Share(MICROS, MICROS), 0).full(), new Share(MICROS, MICROS));
        assertThat(SupplyCodec.event(SupplyCodec.encode(event))).isEqualTo(event);
    }
}
