package io.weir.supervisor.cli.topic;

import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.algorithm.BucketProfiler;
import io.weir.limiter.simulation.ArrivalTrace;
import io.weir.limiter.simulation.Replay;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * The 99th percentile of the access delay if a limit were split over so many brokers, in seconds. Null where a share
 * would hold less than one message.
 *
 * @param modelSeconds of Poisson messages and equal shares (SRTM, Eq. 1 and 2); also null without a margin
 * @param splitSeconds of these messages, replayed
 * @param borrowingSeconds the same if brokers lend each other tokens; that of one broker is its own
 */
record SplitForecast(int brokers, Double modelSeconds, Double splitSeconds, Double borrowingSeconds) {
    /** Replayed this many at the most: five times more than b needs to be certain to 15%, and it takes seconds. */
    private static final int REPLAYED = 500_000;

    /**
     * @param whole the limit at one broker, and how its topic shares it
     * @param progress is told how many brokers are done
     */
    static List<SplitForecast> of(
            ArrivalTrace trace, BucketProfiler.Profile profile, Replay.Terms whole, IntConsumer progress) {
        ArrivalTrace part = trace.first(REPLAYED);
        List<SplitForecast> rows = new ArrayList<>();
        for (int k = 1; k <= trace.brokers().size(); k++) {
            rows.add(
                    profile.limit().burstMessages() / k < 1
                            ? new SplitForecast(k, null, null, null)
                            : of(part, profile, whole, k));
            progress.accept(k);
        }
        return rows;
    }

    private static SplitForecast of(ArrivalTrace trace, BucketProfiler.Profile profile, Replay.Terms whole, int k) {
        double split = Replay.of(trace, whole.at(k, false)).p99Seconds();
        return new SplitForecast(
                k,
                profile.margin() == 0 ? null : modelSeconds(profile, k),
                split,
                k == 1 ? split : Replay.of(trace, whole.at(k, true)).p99Seconds());
    }

    private static double modelSeconds(BucketProfiler.Profile profile, int k) {
        return new BucketModel(
                        profile.messagesPerSecond(),
                        profile.limit().ratePerSecond(),
                        profile.limit().burstMessages())
                .share(k)
                .delayQuantileSeconds(BucketProfiler.QUANTILE);
    }

    /** What borrowing takes away. */
    double savedSeconds() {
        return splitSeconds == null ? 0 : Math.max(0, splitSeconds - borrowingSeconds);
    }
}
