package io.weir.cluster.demo;

import java.util.List;

/**
 * What the demo shows at a moment.
 *
 * @param seconds since it began
 * @param headline what happens now
 * @param rate the limit's, messages a second
 * @param burst the limit's, messages
 * @param admitted messages of each second so far, the current one last
 * @param events what happened, oldest first
 */
record Picture(
        double seconds,
        String headline,
        double rate,
        double burst,
        List<Double> admitted,
        List<BrokerView> brokers,
        List<Event> events) {

    /**
     * One broker.
     *
     * @param trouble why it is not as it should be, or empty
     * @param share of the limit, messages a second
     * @param demand what its publishers want to send, messages a second
     * @param admitted messages of the last second
     */
    record BrokerView(String id, String trouble, double share, double demand, double admitted) {}

    /** Something happened. */
    record Event(double seconds, String text) {}
}
