package io.weir.limiter.workflow.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.limiter.workflow.algorithm.ShardRates.Knob;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ShardRatesTest {
    private static final long OWN = 5;
    private static final long REMOTE = 6;

    private final Amplification amplification = new Amplification(64, 0);
    private final Announced announced = new Announced(64);
    private final Resource resource = new Resource(OWN, 1);
    private long nowNs;

    private ShardRates rates(LocalPolicy policy) {
        return new ShardRates(Knob.POOL, policy, List.of(resource), 16);
    }

    private void interval(ShardRates rates) {
        nowNs += ShardRates.INTERVAL_NS;
        rates.interval(amplification, announced, nowNs);
    }

    private static StaticRates only(int workflow, double rate) {
        double[] all = new double[WorkflowSlots.COUNT];
        Arrays.fill(all, Double.POSITIVE_INFINITY);
        all[workflow] = rate;
        return new StaticRates(all, OWN);
    }

    private void leadsTo(int topic, int broker, int publications) {
        amplification.finished(0, 1, 100, nowNs);
        amplification.published(Edge.of(0, 1, topic, broker), publications, nowNs);
    }

    @Test
    void shouldTakeTheTightestServiceDownstream() {
        ShardRates rates = rates(only(1, 1_000));
        leadsTo(2, 1, 200);
        amplification.published(Edge.of(0, 1, 3, 1), 50, nowNs);
        announced.heard(1, 2, 1, new Announcement(500, REMOTE, 0, 0));
        announced.heard(1, 3, 1, new Announcement(100, REMOTE + 1, 0, 0));
        interval(rates);
        assertThat(rates.sigma(1)).isEqualTo(200);
        assertThat(rates.binding(1)).isEqualTo(REMOTE + 1);
        assertThat(rates.sigma(2)).isInfinite();
    }

    @Test
    void shouldAddUpWhatChannelsPublishToTheSameTopic() {
        ShardRates rates = rates(only(1, 1_000));
        leadsTo(2, 1, 200);
        amplification.finished(1, 1, 100, nowNs);
        amplification.published(Edge.of(1, 1, 2, 1), 300, nowNs);
        announced.heard(1, 2, 1, new Announcement(500, REMOTE, 0, 0));
        interval(rates);
        assertThat(rates.sigma(1)).isCloseTo(100, within(1e-9));
    }

    @Test
    void shouldIgnoreABoundThatCameAroundACycle() {
        ShardRates rates = rates(only(1, 1_000));
        leadsTo(2, 1, 110);
        announced.heard(1, 2, 1, new Announcement(500, OWN, 0, 0));
        interval(rates);
        assertThat(rates.sigma(1)).isEqualTo(1_000);
    }

    @Test
    void shouldDivideByWhatIsOfferedNotByWhatPassed() {
        ShardRates rates = rates(only(1, 98));
        rates.offered(1, 7, 1, 100);
        rates.offered(1, 7, 2, 100);
        interval(rates);
        assertThat(rates.announcement(1, 7, 1, 3, 4)).isEqualTo(new Announcement(49, OWN, 3, 4));
        assertThat(rates.announcement(1, 7, 2, 3, 4).rate()).isEqualTo(49);
    }

    @Test
    void shouldGiveWhatNobodyOffersToThoseWhoMightCome() {
        ShardRates rates = rates(only(1, 100));
        rates.offered(1, 7, 1, 20);
        rates.offered(1, 7, 2, 40);
        interval(rates);
        assertThat(rates.announcement(1, 7, 1, 0, 0).rate()).isEqualTo(40);
        assertThat(rates.announcement(1, 7, 2, 0, 0).rate()).isEqualTo(60);
        assertThat(rates.announcement(1, 7, 3, 0, 0).rate())
                .as("unknown so far")
                .isEqualTo(20);
    }

    @Test
    void shouldShareSigmaBetweenItsOwnEntryAndUpstreams() {
        ShardRates rates = rates(only(1, 100));
        rates.offered(1, 7, 1, 200);
        rates.arrived(1, 3);
        interval(rates);
        assertThat(rates.entrySigma(1)).as("30 a second enter here").isCloseTo(30, within(1e-9));
        assertThat(rates.announcement(1, 7, 1, 0, 0).rate()).isCloseTo(70, within(1e-9));
    }

    @Test
    void shouldRiseByAQuarterAnIntervalAndFallAtOnce() {
        ShardRates rates = rates(only(1, 1_000));
        leadsTo(2, 1, 100);
        announced.heard(1, 2, 1, new Announcement(100, REMOTE, 0, 0));
        interval(rates);
        assertThat(rates.sigma(1)).isEqualTo(100);
        announced.heard(1, 2, 1, new Announcement(1_000, REMOTE, 0, 0));
        interval(rates);
        assertThat(rates.sigma(1)).isEqualTo(125);
        announced.heard(1, 2, 1, new Announcement(0, REMOTE, 0, 0));
        interval(rates);
        assertThat(rates.sigma(1)).isZero();
        announced.heard(1, 2, 1, new Announcement(1_000, REMOTE, 0, 0));
        interval(rates);
        assertThat(rates.sigma(1)).as("rises from nothing, too").isEqualTo(1);
    }

    @Test
    void shouldHoldSigmaWhenControlIsOld() {
        ShardRates rates = rates(only(1, 1_000));
        leadsTo(2, 1, 100);
        announced.heard(1, 2, 1, new Announcement(100, REMOTE, 0, 0));
        interval(rates);
        announced.heard(1, 2, 1, new Announcement(1, REMOTE, 0, 0));
        nowNs += 3 * ShardRates.INTERVAL_NS;
        interval(rates);
        assertThat(rates.sigma(1)).isEqualTo(100);
        interval(rates);
        assertThat(rates.sigma(1)).isEqualTo(1);
    }

    @Test
    void shouldNotCountUpstreamsBeyondTheBound() {
        ShardRates rates = rates(only(1, 100));
        for (int broker = 0; broker < 40; broker++) {
            rates.offered(1, 7, broker, 10);
        }
        interval(rates);
        assertThat(rates.offered(1)).isEqualTo(160);
        rates.offered(1, 7, 0, 0);
        interval(rates);
        assertThat(rates.offered(1)).isEqualTo(150);
    }
}
