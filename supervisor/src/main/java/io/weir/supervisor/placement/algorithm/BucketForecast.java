package io.weir.supervisor.placement.algorithm;

import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.algorithm.Share;

/**
 * Forecasts by formula, for a topic without a trace: Poisson instants at each of which a publisher sends its batch, or
 * a correlation group's part at the broker does. X messages at one instant make the bucket (r, b) one of (r/X, b/X) for
 * bursts (SRTM, 6.2), and the broker an M/D/1 queue of bursts. The parts that are too slow because of either are added,
 * which is a little too many.
 *
 * <p>Service times S vary, and other topics' batches come between: the queue is taken for an M/D/1 queue of the same
 * load whose service time is E[S²]/E[S] over all bursts, which has the same mean wait (Pollaczek and Khinchine), and
 * for bursts of one size is exact.
 */
public final class BucketForecast implements Forecast {
    private static final int PLACES = 8;

    private final PlacedTopic topic;
    private final ServiceModel service;
    private final double otherBatch;

    public BucketForecast(PlacedTopic topic, ServiceModel service, int otherBatch) {
        this.topic = topic;
        this.service = service;
        this.otherBatch = otherBatch;
    }

    @Override
    public Prediction predict(Assignment assignment, int broker, double otherRate) {
        double rate = assignment.rate(broker);
        if (rate == 0) {
            return new Prediction(0);
        }
        double burst = assignment.burst(broker);
        double size = assignment.size(broker);
        double budgetNs = topic.slo().latencyNs() - service.baseNs();
        double burstNs = burst * service.perMessageNs(size);
        return new Prediction(Math.min(
                1,
                waitsForTokens(assignment, broker, burst, budgetNs - burstNs / 2)
                        + waitsForService(rate, otherRate, burst, size, burstNs, budgetNs)));
    }

    /** P(U &gt; b/X − 1 + t·r/X): later than t for want of tokens. */
    private double waitsForTokens(Assignment assignment, int broker, double burst, double budgetNs) {
        Share share = assignment.share(broker, topic.limit());
        double tokens = share.rateMicros() / 1e6 / burst;
        double bursts = assignment.rate(broker) / burst;
        if (tokens <= bursts) {
            return 1;
        }
        double spare = share.burstMicros() / 1e6 / burst + Math.max(0, budgetNs) * 1e-9 * tokens;
        return spare < 1 ? 1 : new BucketModel(bursts, tokens, spare).delayedFraction();
    }

    /** P(wait + own place in the burst &gt; budget), averaged over the places. */
    private double waitsForService(
            double rate, double otherRate, double burst, double size, double burstNs, double budgetNs) {
        double load = 1e-9 * rate * service.perMessageNs(size);
        double otherLoad = 1e-9 * otherRate * service.perMessageNs(otherBatch);
        if (load + otherLoad >= 1) {
            return 1;
        }
        double otherNs = otherBatch * service.perMessageNs(otherBatch);
        double unitNs =
                (load * residualNs(burstNs, burst / size, burst) + otherLoad * residualNs(otherNs, 1, otherBatch))
                        / (load + otherLoad);
        double late = 0;
        for (int i = 0; i < PLACES; i++) {
            double leftNs = budgetNs - burstNs * (i + 0.5) / PLACES;
            late += leftNs <= 0 ? 1 : new BucketModel(load + otherLoad, 1, leftNs / unitNs + 1).delayedFraction();
        }
        return late / PLACES;
    }

    /** E[S²]/E[S] of the service time S of a burst of so many wake-ups and messages. */
    private double residualNs(double burstNs, double wakes, double messages) {
        double variance = service.steady()
                ? 0
                : wakes * service.wakeNs() * service.wakeNs() + messages * service.messageNs() * service.messageNs();
        return (burstNs * burstNs + variance) / burstNs;
    }
}
