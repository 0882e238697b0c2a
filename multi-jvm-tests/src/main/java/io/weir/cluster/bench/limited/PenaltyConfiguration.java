package io.weir.cluster.bench.limited;

import io.weir.config.value.Limit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One way to have a topic's bucket, as {@code weir bench penalty} compares them.
 *
 * @param single the whole bucket at the one broker of a cluster of its own; else it is split over all brokers
 * @param borrow whether a broker without tokens asks the others for some
 * @param clock gate or arrival: the time that the limit holds over
 */
record PenaltyConfiguration(String name, boolean single, String adapt, boolean borrow, String clock) {
    static final PenaltyConfiguration SINGLE = new PenaltyConfiguration("single", true, "static", false, "gate");

    /** A message that waits for long is the measurement; one that is refused would spoil it. */
    private static final long MAX_DELAY_MS = 30_000;

    private static final List<PenaltyConfiguration> ALL = List.of(
            SINGLE,
            split("static", "static", false, "gate"),
            split("static-borrow", "static", true, "gate"),
            split("gossip", "gossip", false, "gate"),
            split("gossip-borrow", "gossip", true, "gate"),
            split("adaptor", "adaptor", false, "gate"),
            split("adaptor-borrow", "adaptor", true, "gate"),
            split("placed", "placed", false, "gate"),
            split("placed-borrow", "placed", true, "gate"),
            split("gossip-arrival", "gossip", false, "arrival"),
            split("gossip-borrow-arrival", "gossip", true, "arrival"));

    private static PenaltyConfiguration split(String name, String adapt, boolean borrow, String clock) {
        return new PenaltyConfiguration(name, false, adapt, borrow, clock);
    }

    /** @param borrowing whether the brokers know of it; those that do not are older than placed topics, too */
    static List<PenaltyConfiguration> offered(boolean borrowing) {
        return ALL.stream()
                .filter(each -> borrowing || !each.borrow && !each.adapt.equals("placed"))
                .toList();
    }

    static List<String> names() {
        return ALL.stream().map(PenaltyConfiguration::name).toList();
    }

    /** What a topic is unless its creator says otherwise. */
    static String nameOfDefault(boolean borrowing) {
        return borrowing ? "placed-borrow" : "gossip";
    }

    /** The body that creates its topic; what the brokers do not know of is not said. */
    Map<String, Object> topic(Limit limit, boolean borrowing) {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("rate", limit.rateMicros() / (double) Limit.MICROS);
        request.put("burst", limit.burstMicros() / (double) Limit.MICROS);
        request.put("adapt", adapt);
        request.put("clock", clock);
        request.put("maxDelayMs", MAX_DELAY_MS);
        if (borrowing) {
            request.put("borrow", borrow ? "on" : "off");
        }
        return request;
    }
}
