package io.weir.supervisor.placement.algorithm;

import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.TokenBucket;
import java.util.random.RandomGenerator;

/**
 * One broker's way of a topic's messages, under a simulated clock: the production bucket with the broker's share, first
 * come first served, then one server after {@link ServiceModel} that it shares with Poisson batches of other topics.
 * Feeds {@link LatencyCounts}.
 */
public final class BrokerModel {
    private static final double NEVER = Double.POSITIVE_INFINITY;

    private final ServiceModel service;
    private final TokenBucket bucket;
    private final double otherGapNs;
    private final int otherBatch;
    private final RandomGenerator random;
    private long admittedNs;
    private double busyUntilNs;
    private double nextOtherNs;

    /**
     * @param otherRate messages a second of other topics, in batches of {@code otherBatch}
     * @param nowNs the bucket is full then, and the server idle
     */
    public BrokerModel(
            ServiceModel service, Share share, double otherRate, int otherBatch, RandomGenerator random, long nowNs) {
        this.service = service;
        this.bucket = new TokenBucket(share.rateMicros(), share.burstMicros(), share.burstMicros(), nowNs);
        this.otherGapNs = otherRate > 0 ? 1e9 * otherBatch / otherRate : NEVER;
        this.otherBatch = otherBatch;
        this.random = random;
        this.admittedNs = nowNs;
        this.busyUntilNs = nowNs;
        this.nextOtherNs = otherRate > 0 ? nowNs + random.nextExponential() * otherGapNs : NEVER;
    }

    /** A publisher sends {@code messages} at once; times never decrease. */
    public void arrive(long nowNs, int messages, LatencyCounts counts) {
        admittedNs = Math.max(admittedNs, nowNs);
        for (int i = 0; i < messages; i++) {
            long waitNs = bucket.takeOrWaitNs(1, admittedNs);
            if (waitNs > 0) {
                if (waitNs == TokenBucket.NEVER) {
                    throw new IllegalStateException("a share of rate " + bucket.rateMicros() + " and burst "
                            + bucket.burstMicros() + " micro-tokens never lets a message pass");
                }
                admittedNs += waitNs;
                bucket.tryTake(1, admittedNs);
            }
            serveOthers(admittedNs);
            double wake = i == 0 ? service.wakeNs() : 0;
            busyUntilNs = Math.max(busyUntilNs, admittedNs) + cost(wake) + cost(service.messageNs());
            counts.add((long) (busyUntilNs - nowNs + service.baseNs()));
        }
        counts.batch();
    }

    private void serveOthers(long untilNs) {
        while (nextOtherNs <= untilNs) {
            busyUntilNs = Math.max(busyUntilNs, nextOtherNs) + cost(service.wakeNs());
            for (int i = 0; i < otherBatch; i++) {
                busyUntilNs += cost(service.messageNs());
            }
            nextOtherNs += random.nextExponential() * otherGapNs;
        }
    }

    private double cost(double meanNs) {
        return service.steady() || meanNs == 0 ? meanNs : meanNs * random.nextExponential();
    }
}
