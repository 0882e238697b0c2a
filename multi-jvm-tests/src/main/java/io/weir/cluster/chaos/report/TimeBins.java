package io.weir.cluster.chaos.report;

import io.weir.supervisor.chart.TimeChart;

/** Equal spans of time that a history is divided into, few enough to draw. */
record TimeBins(long originNs, long widthNs, int count) {
    private static final int MOST = 240;
    private static final long[] ROUND_MS = {
        100, 200, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
        3_600_000
    };

    static TimeBins over(long fromNs, long toNs) {
        long spanNs = Math.max(1, toNs - fromNs);
        long widthNs = ROUND_MS[ROUND_MS.length - 1] * 1_000_000L;
        for (long ms : ROUND_MS) {
            if (spanNs / (ms * 1_000_000L) < MOST) {
                widthNs = ms * 1_000_000L;
                break;
            }
        }
        // However long it is.
        while (spanNs / widthNs >= MOST) {
            widthNs *= 2;
        }
        return new TimeBins(fromNs, widthNs, (int) (spanNs / widthNs) + 1);
    }

    int of(long ns) {
        return (int) Math.max(0, Math.min(count - 1, (ns - originNs) / widthNs));
    }

    long beginNs(int bin) {
        return originNs + bin * widthNs;
    }

    double widthSeconds() {
        return widthNs / 1e9;
    }

    double seconds(long ns) {
        return (ns - originNs) / 1e9;
    }

    TimeChart.Span span() {
        return new TimeChart.Span(count, widthSeconds());
    }

    double spanSeconds() {
        return count * widthSeconds();
    }
}
