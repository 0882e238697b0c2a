package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.supervisor.placement.Decisions.Capacity;
import io.weir.supervisor.placement.TopicPlacement.Run;
import io.weir.supervisor.placement.algorithm.Assignment;
import io.weir.supervisor.placement.algorithm.BrokerCapacities;
import io.weir.supervisor.placement.algorithm.BucketForecast;
import io.weir.supervisor.placement.algorithm.Forecast;
import io.weir.supervisor.placement.algorithm.PlacedTopic;
import io.weir.supervisor.placement.algorithm.ServiceModel;
import io.weir.supervisor.placement.algorithm.Slo;
import io.weir.supervisor.placement.algorithm.TopicTrace;
import io.weir.supervisor.placement.algorithm.TraceForecast;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What brokers can carry, as far as calibration and measurements tell, and how much of it topics take. In messages a
 * second.
 */
final class Capacities {
    /** The same chance for every forecast, so that two differ by what was asked only. */
    private static final long SEED = 1;

    private final double usual;
    private final Map<BrokerId, Double> allocated = new HashMap<>();
    private Map<BrokerId, Capacity> calibrated = Map.of();
    /** Brokers that turned out to carry less than their calibration says. */
    private final Map<BrokerId, Overrated> overrated = new TreeMap<>();

    /** @param measuredAtMs of the calibration that was wrong; a later one is believed again */
    private record Overrated(double holds, long measuredAtMs) {}

    /** @param usual of a broker that was not calibrated */
    Capacities(double usual) {
        this.usual = usual;
    }

    void calibrated(List<Capacity> capacities) {
        Map<BrokerId, Capacity> next = new HashMap<>();
        capacities.forEach(each -> next.put(each.broker(), each));
        calibrated = next;
        overrated.entrySet().removeIf(entry -> measuredAtMs(entry.getKey()) > entry.getValue().measuredAtMs);
    }

    private long measuredAtMs(BrokerId broker) {
        Capacity capacity = calibrated.get(broker);
        return capacity == null ? 0 : capacity.measuredAtMs();
    }

    boolean isCalibrated(BrokerId broker) {
        return calibrated.containsKey(broker);
    }

    boolean isOverrated(BrokerId broker) {
        return overrated.containsKey(broker);
    }

    int overrated() {
        return overrated.size();
    }

    /** What the broker is believed to carry (SRTM's mcap). */
    double mcap(BrokerId broker) {
        Capacity capacity = calibrated.get(broker);
        double claimed = capacity == null ? usual : capacity.messagesPerSecond();
        Overrated found = overrated.get(broker);
        return found == null ? claimed : Math.min(claimed, found.holds);
    }

    /** What all topics take of the broker. */
    double allocated(BrokerId broker) {
        return allocated.getOrDefault(broker, 0.0);
    }

    /** What all topics but this one take of the broker. */
    double allocatedToOthers(BrokerId broker, TopicPlacement topic) {
        return Math.max(0, allocated(broker) - topic.allocation.getOrDefault(broker, 0.0));
    }

    /** From now on the topic takes this of the brokers. */
    void allocate(TopicPlacement topic, Map<BrokerId, Double> next) {
        topic.allocation.forEach((broker, rate) -> allocated.merge(broker, -rate, Double::sum));
        next.forEach((broker, rate) -> allocated.merge(broker, rate, Double::sum));
        topic.allocation = next;
    }

    /** As all topics leave them. */
    BrokerCapacities of(List<BrokerId> brokers) {
        double[] taken = brokers.stream()
                .mapToDouble(broker -> Math.max(0, allocated(broker)))
                .toArray();
        return new BrokerCapacities(brokers, mcaps(brokers), taken);
    }

    /** As the other topics leave them. */
    BrokerCapacities of(List<BrokerId> brokers, TopicPlacement without) {
        double[] taken = brokers.stream()
                .mapToDouble(broker -> allocatedToOthers(broker, without))
                .toArray();
        return new BrokerCapacities(brokers, mcaps(brokers), taken);
    }

    private double[] mcaps(List<BrokerId> brokers) {
        return brokers.stream().mapToDouble(this::mcap).toArray();
    }

    /**
     * The broker with the most room, if it has room for this rate; else null.
     *
     * @param added the brokers to choose from, with what each was given already
     */
    BrokerId roomiest(Map<BrokerId, Double> added, double rate) {
        BrokerId best = null;
        double most = 0;
        for (Map.Entry<BrokerId, Double> entry : added.entrySet()) {
            double room = mcap(entry.getKey()) - allocated(entry.getKey()) - entry.getValue();
            if (room >= rate && (best == null || room > most)) {
                best = entry.getKey();
                most = room;
            }
        }
        return best;
    }

    /** Believes a run that measured a broker to carry much less than its calibration says. */
    void noteContradictions(Run run) {
        for (int i = 0; i < run.brokers.size(); i++) {
            BrokerId broker = run.brokers.get(i);
            if (run.distribution.contradicted(i) && !overrated.containsKey(broker)) {
                overrated.put(broker, new Overrated(Math.max(1, allocated(broker)), measuredAtMs(broker)));
            }
        }
    }

    /**
     * By the slowest of the brokers; empty unless all are calibrated.
     *
     * @param trace empty: by the formula
     */
    Optional<Forecast> forecast(PlacedTopic topic, List<BrokerId> brokers, Optional<TopicTrace> trace) {
        return model(brokers)
                .map(model -> trace.isPresent()
                        ? new TraceForecast(topic, trace.get(), model, 1, SEED)
                        : new BucketForecast(topic, model, 1));
    }

    private Optional<ServiceModel> model(List<BrokerId> brokers) {
        ServiceModel slowest = null;
        for (BrokerId broker : brokers) {
            Capacity capacity = calibrated.get(broker);
            if (capacity == null) {
                return Optional.empty();
            }
            ServiceModel model = ServiceModel.calibrated(
                    capacity.singlesPerSecond(),
                    capacity.batchedPerSecond(),
                    Math.max(2, capacity.batch()),
                    capacity.loneNs());
            slowest = slowest == null || model.perMessageNs(1) > slowest.perMessageNs(1) ? model : slowest;
        }
        return Optional.ofNullable(slowest);
    }

    /** The smallest objective that holds by the forecast, to a percent; 0 if there is no forecast. */
    long predictedP99Ns(
            PlacedTopic topic,
            List<BrokerId> brokers,
            Optional<TopicTrace> trace,
            Assignment assignment,
            int broker,
            double otherRate) {
        Optional<ServiceModel> model = model(brokers);
        if (model.isEmpty()) {
            return 0;
        }
        if (trace.isPresent()) {
            return (long) new TraceForecast(topic, trace.get(), model.get(), 1, SEED)
                    .quantileNs(assignment, broker, otherRate);
        }
        double low = 1e3;
        double high = 1e11;
        while (high / low > 1.01) {
            double middle = Math.sqrt(low * high);
            PlacedTopic with = new PlacedTopic(topic.name(), topic.limit(), Slo.p99((long) middle));
            boolean fits = new BucketForecast(with, model.get(), 1)
                    .predict(assignment, broker, otherRate)
                    .fits(with.slo());
            if (fits) {
                high = middle;
            } else {
                low = middle;
            }
        }
        return (long) high;
    }
}
