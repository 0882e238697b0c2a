package io.weir.supervisor.placement.algorithm;

import java.util.SplittableRandom;

/**
 * Forecasts by sending a topic's own trace through the production bucket and a calibrated broker ({@link BrokerModel}):
 * knows the bursts, the groups and who is where, and takes some milliseconds instead of a round of measuring.
 */
public final class TraceForecast implements Forecast {
    /** A part of the trace at its beginning, while the buckets are still full and the server idle, is not counted. */
    private static final double WARM_UP = 0.1;

    private final PlacedTopic topic;
    private final TopicTrace trace;
    private final ServiceModel service;
    private final int otherBatch;
    private final long seed;

    /** @param seed chance is the same for every question, so that two answers differ by what was asked only */
    public TraceForecast(PlacedTopic topic, TopicTrace trace, ServiceModel service, int otherBatch, long seed) {
        if (trace.size() == 0) {
            throw new IllegalArgumentException("the trace of topic " + topic.name() + " is empty");
        }
        this.topic = topic;
        this.trace = trace;
        this.service = service;
        this.otherBatch = otherBatch;
        this.seed = seed;
    }

    @Override
    public Prediction predict(Assignment assignment, int broker, double otherRate) {
        return new Prediction(simulate(assignment, broker, otherRate).tooSlowPart());
    }

    /** The quantile of the topic's objective that the broker would have. */
    public double quantileNs(Assignment assignment, int broker, double otherRate) {
        return simulate(assignment, broker, otherRate).quantileNs(topic.slo().quantile());
    }

    private LatencyCounts simulate(Assignment assignment, int broker, double otherRate) {
        LatencyCounts counts = new LatencyCounts(topic.slo());
        if (assignment.publishers(broker) == 0) {
            return counts;
        }
        long firstNs = trace.atNs()[0];
        long lastNs = trace.atNs()[trace.size() - 1];
        long countFromNs = firstNs + (long) (WARM_UP * (lastNs - firstNs));
        BrokerModel model = new BrokerModel(
                service,
                assignment.share(broker, topic.limit()),
                otherRate,
                otherBatch,
                new SplittableRandom(seed),
                firstNs);
        LatencyCounts warm = new LatencyCounts(topic.slo());
        int[] homes = assignment.homes();
        for (int i = 0; i < trace.size(); i++) {
            if (homes[trace.member()[i]] == broker) {
                long atNs = trace.atNs()[i];
                model.arrive(atNs, trace.messages()[i], atNs < countFromNs ? warm : counts);
            }
        }
        return counts;
    }
}
