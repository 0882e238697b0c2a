package io.weir.supervisor.placement.algorithm;

import io.weir.config.value.BrokerId;
import java.util.Arrays;
import java.util.List;

/**
 * What each broker can carry at its objective (mcap, from calibration) and what of it topics have been given: rcap =
 * mcap − allocated (SRTM, 4.2 step 1). In messages a second.
 */
public final class BrokerCapacities {
    private final List<BrokerId> brokers;
    private final double[] mcap;
    private final double[] allocated;

    public BrokerCapacities(List<BrokerId> brokers, double[] mcap) {
        this(brokers, mcap, new double[mcap.length]);
    }

    public BrokerCapacities(List<BrokerId> brokers, double[] mcap, double[] allocated) {
        if (brokers.size() != mcap.length || mcap.length != allocated.length) {
            throw new IllegalArgumentException(
                    brokers.size() + " brokers, but " + mcap.length + " capacities and " + allocated.length + " loads");
        }
        for (int i = 0; i < mcap.length; i++) {
            if (!(mcap[i] >= 0 && Double.isFinite(mcap[i]) && allocated[i] >= 0 && Double.isFinite(allocated[i]))) {
                throw new IllegalArgumentException("broker " + brokers.get(i) + ": capacity " + mcap[i] + " and load "
                        + allocated[i] + " msg/s must be numbers of at least 0; calibrate it again");
            }
        }
        this.brokers = List.copyOf(brokers);
        this.mcap = mcap.clone();
        this.allocated = allocated.clone();
    }

    public int size() {
        return mcap.length;
    }

    public BrokerId broker(int index) {
        return brokers.get(index);
    }

    public double mcap(int broker) {
        return mcap[broker];
    }

    public double allocated(int broker) {
        return allocated[broker];
    }

    /** Never below 0, even if more was allocated than it carries. */
    public double rcap(int broker) {
        return Math.max(0, mcap[broker] - allocated[broker]);
    }

    /** Counts a topic's part in, or out again if negative. */
    public void allocate(int broker, double rate) {
        allocated[broker] = Math.max(0, allocated[broker] + rate);
    }

    double[] rcaps() {
        double[] rcaps = new double[mcap.length];
        Arrays.setAll(rcaps, this::rcap);
        return rcaps;
    }

    double[] loads() {
        return allocated.clone();
    }
}
