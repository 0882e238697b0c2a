package io.weir.supervisor.placement;

import com.fasterxml.jackson.annotation.JsonIgnore;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.Trigger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Where a topic's publishers are at home, and why: one row in the store.
 *
 * @param revision grows with every decision on the topic
 * @param decidedBy the broker whose singleton decided, and which life of it
 * @param policy by which
 * @param trigger why the topic was placed (again): a {@link Trigger}'s name, or the name of who moved it by hand
 * @param rounds of measuring up to here
 * @param objectiveNs the p99 that it was placed for
 * @param unplaced publishers that no broker has room for, as {@link Part#ids}; they are at home where they connect
 * @param reasons every step of it in words, the latest last
 */
public record Decision(
        TopicName topic,
        long revision,
        String decidedBy,
        String policy,
        State state,
        String trigger,
        int rounds,
        long objectiveNs,
        List<Part> parts,
        byte[] unplaced,
        double unplacedRate,
        List<String> reasons) {

    /** How far it is. */
    public enum State {
        /** Applied, and being measured. */
        MEASURING,
        /** Everybody is placed, and the objective is met. */
        FITTED,
        /** There are not enough brokers: the best that was found stands. What an autoscaler wants to know. */
        KEPT_BEST,
        /** The topic is gone. */
        DISSOLVED
    }

    /**
     * One broker's part.
     *
     * @param rate of its publishers, in messages a second
     * @param quota what it was meant to get
     * @param groups how many correlation groups have publishers there
     * @param predictedP99Ns by the forecast; 0 where no broker was calibrated
     * @param ids the publishers' numbers, eight bytes each
     */
    public record Part(BrokerId broker, double rate, double quota, int groups, long predictedP99Ns, byte[] ids) {
        /** How many publishers. */
        public int publishers() {
            return ids.length / Long.BYTES;
        }
    }

    /**
     * The next decision: whoever has a home has it at this broker from now on, as somebody else than the usual decider
     * wants it.
     */
    public Decision allAt(BrokerId broker, String by) {
        ByteBuffer everyone = ByteBuffer.allocate(
                parts.stream().mapToInt(part -> part.ids.length).sum());
        parts.forEach(part -> everyone.put(part.ids));
        double rate = placedRate();
        int groups = parts.stream().mapToInt(Part::groups).max().orElse(0);
        List<String> why = new ArrayList<>(reasons);
        why.add(by + " moved all to " + broker);
        return new Decision(
                topic,
                revision + 1,
                by,
                policy,
                State.FITTED,
                by,
                rounds,
                objectiveNs,
                List.of(new Part(broker, rate, rate, groups, 0, everyone.array())),
                unplaced,
                unplacedRate,
                why);
    }

    static byte[] pack(long[] ids) {
        ByteBuffer packed = ByteBuffer.allocate(ids.length * Long.BYTES);
        packed.asLongBuffer().put(ids);
        return packed.array();
    }

    static long[] unpack(byte[] packed) {
        long[] ids = new long[packed.length / Long.BYTES];
        ByteBuffer.wrap(packed).asLongBuffer().get(ids);
        return ids;
    }

    /** Everybody who has a home. */
    Map<Long, BrokerId> homes() {
        Map<Long, BrokerId> homes = new HashMap<>();
        for (Part part : parts) {
            for (long id : unpack(part.ids)) {
                homes.put(id, part.broker);
            }
        }
        return homes;
    }

    /** What it takes of a broker. */
    double rateOf(BrokerId broker) {
        double rate = 0;
        for (Part part : parts) {
            rate += part.broker.equals(broker) ? part.rate : 0;
        }
        return rate;
    }

    /** What it takes of every broker. */
    Map<BrokerId, Double> rates() {
        Map<BrokerId, Double> rates = new HashMap<>();
        parts.forEach(part -> rates.merge(part.broker, part.rate, Double::sum));
        return rates;
    }

    /** Of all publishers that have a home. */
    double placedRate() {
        return parts.stream().mapToDouble(Part::rate).sum();
    }

    @JsonIgnore
    boolean isOver() {
        return state != State.MEASURING;
    }
}
