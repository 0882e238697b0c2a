package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ArrivalsTest {
    private static final long APART_NS = TimeUnit.MILLISECONDS.toNanos(100);

    @Test
    void shouldKnowWhenEveryByteCameAsLongAsItsCommandIsNotCarriedOut() {
        Arrivals arrivals = new Arrivals();
        TreeMap<Long, Long> timesNs = new TreeMap<>();
        long nowNs = Long.MAX_VALUE - 50 * APART_NS;
        long came = 0;
        long carriedOut = 0;
        for (int i = 1; i <= 200; i++) {
            nowNs += APART_NS;
            came += i;
            arrivals.came(came, nowNs);
            timesNs.put(came, nowNs);
            for (long end = carriedOut + 1; end <= came; end += 7) {
                assertThat(arrivals.timeNs(end))
                        .isEqualTo(timesNs.ceilingEntry(end).getValue());
            }
            if (i % 3 == 0) {
                carriedOut = i % 60 == 0 ? came : carriedOut + i;
                arrivals.carriedOut(carriedOut);
            }
        }
    }

    @Test
    void shouldTakeBytesThatCameWithinAShortTimeForOneArrival() {
        Arrivals arrivals = new Arrivals();
        arrivals.came(10, 0);
        arrivals.came(20, APART_NS - 1);
        arrivals.came(30, APART_NS);
        assertThat(arrivals.timeNs(5)).isEqualTo(APART_NS - 1);
        assertThat(arrivals.timeNs(20)).isEqualTo(APART_NS - 1);
        assertThat(arrivals.timeNs(21)).isEqualTo(APART_NS);
    }

    @Test
    void shouldNotGrowWithoutEnd() {
        Arrivals arrivals = new Arrivals();
        for (int i = 1; i <= 100_000; i++) {
            arrivals.came(i, i * APART_NS);
        }
        assertThat(arrivals.timeNs(1)).isEqualTo(APART_NS);
        assertThat(arrivals.timeNs(511)).isEqualTo(511 * APART_NS);
        assertThat(arrivals.timeNs(600)).as("rather too late than too early").isEqualTo(100_000 * APART_NS);
    }
}
