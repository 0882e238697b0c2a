package io.weir.supervisor.placement.algorithm;

/**
 * What a broker costs a message: {@code baseNs} that all of them take at once (network, both clients), and then, one
 * after the other, {@code wakeNs} for each batch that a socket delivers and {@code messageNs} for each message in it.
 *
 * @param steady false: wake and message times are exponential with these means
 */
public record ServiceModel(double baseNs, double wakeNs, double messageNs, boolean steady) {
    public ServiceModel {
        if (!(baseNs >= 0 && wakeNs >= 0 && messageNs > 0)) {
            throw new IllegalArgumentException("a service model of base " + baseNs + " ns, wake " + wakeNs
                    + " ns and message " + messageNs + " ns is impossible");
        }
    }

    /**
     * From what calibration can see from outside: how many single messages a second a saturated broker serves, how many
     * in batches, and how long a lone message takes.
     */
    public static ServiceModel calibrated(double singlesPerSecond, double batchedPerSecond, int batch, double loneNs) {
        double singleNs = 1e9 / singlesPerSecond;
        double batchNs = batch * 1e9 / batchedPerSecond;
        double messageNs = Math.max(1, (batchNs - singleNs) / (batch - 1));
        double wakeNs = Math.max(0, singleNs - messageNs);
        return new ServiceModel(Math.max(0, loneNs - singleNs), wakeNs, messageNs, false);
    }

    /** The time that one message of a batch occupies the broker, on average. */
    public double perMessageNs(double batch) {
        return wakeNs / batch + messageNs;
    }

    /** The same broker, slower by a factor (or faster, below 1). */
    public ServiceModel slowedBy(double factor) {
        return new ServiceModel(baseNs, wakeNs * factor, messageNs * factor, steady);
    }
}
