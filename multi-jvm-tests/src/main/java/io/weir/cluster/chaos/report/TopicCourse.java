package io.weir.cluster.chaos.report;

import io.weir.cluster.history.AdmissionCheck;
import io.weir.cluster.history.HeldShares;
import io.weir.cluster.history.History;
import io.weir.cluster.history.LimitCourse;
import io.weir.cluster.history.Message;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/** One topic's history in bins: what each broker admitted and held, the limit, and how long messages took. */
final class TopicCourse {
    private static final double NS_PER_MS = 1e6;
    private static final long NS_PER_US = 1_000;

    private final TopicName topic;
    private final TimeBins bins;
    private final Map<String, double[]> admitted = new TreeMap<>();
    private final Map<String, double[]> held = new TreeMap<>();
    private final double[] limit;
    private final double[] burst;
    private final double[] median;
    private final double[] high;
    private final double[] highest;
    private final Histogram latency = new Histogram(2);
    private long total;

    TopicCourse(
            TopicName topic,
            History history,
            AdmissionCheck admissions,
            List<HeldShares.Change> shares,
            TimeBins bins) {
        this.topic = topic;
        this.bins = bins;
        limit = unknown();
        burst = unknown();
        median = unknown();
        high = unknown();
        highest = unknown();
        for (Admission each : admissions.of(topic)) {
            admitted.computeIfAbsent(each.broker().value(), broker -> new double[bins.count()])[
                            bins.of(each.stampNs())] +=
                    each.tokens() / bins.widthSeconds();
            total += each.tokens();
        }
        Optional.ofNullable(history.limits().get(topic)).ifPresent(this::limits);
        shares.stream().filter(change -> change.topic().equals(topic)).forEach(this::held);
        Optional.ofNullable(history.traffic().get(topic)).ifPresent(this::latencies);
    }

    private double[] unknown() {
        double[] values = new double[bins.count()];
        Arrays.fill(values, Double.NaN);
        return values;
    }

    /** What may hold at the end of each bin. */
    private void limits(LimitCourse course) {
        for (int bin = 0; bin < bins.count(); bin++) {
            int at = bin;
            course.at(bins.beginNs(bin + 1)).ifPresent(share -> {
                limit[at] = share.rateMicros() / 1e6;
                burst[at] = share.burstMicros() / 1e6;
            });
        }
    }

    private void held(HeldShares.Change change) {
        double[] values = held.computeIfAbsent(change.broker(), broker -> new double[bins.count()]);
        Arrays.fill(values, bins.of(change.atNs()), bins.count(), change.perSecond());
    }

    private void latencies(History.Traffic traffic) {
        Histogram[] all = new Histogram[bins.count()];
        for (Message message : traffic.messages().values()) {
            if (message.isPublished() && message.isDelivered()) {
                long us = Math.max(1, (message.deliveredNs() - message.invokedNs()) / NS_PER_US);
                int bin = bins.of(message.invokedNs());
                all[bin] = all[bin] == null ? new Histogram(2) : all[bin];
                all[bin].recordValue(us);
                latency.recordValue(us);
            }
        }
        for (int bin = 0; bin < all.length; bin++) {
            if (all[bin] != null) {
                median[bin] = all[bin].getValueAtPercentile(50) * NS_PER_US / NS_PER_MS;
                high[bin] = all[bin].getValueAtPercentile(99) * NS_PER_US / NS_PER_MS;
                highest[bin] = all[bin].getMaxValue() * NS_PER_US / NS_PER_MS;
            }
        }
    }

    TopicName topic() {
        return topic;
    }

    /** Messages in all. */
    long total() {
        return total;
    }

    /** Messages a second by broker. */
    Map<String, double[]> admitted() {
        return admitted;
    }

    Map<String, double[]> held() {
        return held;
    }

    /** Messages a second. */
    double[] limit() {
        return limit;
    }

    /** The most that a whole bin may admit, in messages a second: its burst may fall into it. */
    double[] most() {
        double[] most = new double[bins.count()];
        for (int bin = 0; bin < most.length; bin++) {
            most[bin] = limit[bin] + burst[bin] / bins.widthSeconds();
        }
        return most;
    }

    /** In milliseconds, from publish to first delivery; NaN where nothing was published. */
    double[] median() {
        return median;
    }

    double[] high() {
        return high;
    }

    double[] highest() {
        return highest;
    }

    boolean hasLatency() {
        return latency.getTotalCount() > 0;
    }

    double latencyMs(double percentile) {
        return latency.getValueAtPercentile(percentile) * NS_PER_US / NS_PER_MS;
    }
}
