package io.weir.supervisor.node;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import io.weir.config.value.Limit;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.limiter.supply.value.LimitRow;
import java.util.List;

/**
 * A topic's limit and where it is at this moment. Brokers are asked one after the other, so while supply moves,
 * {@code sumRate} + {@code inFlight} + {@code stranded} may differ from the limit for an instant; at rest it does not.
 *
 * @param done whether exactly this limit exists; a lowering takes a moment
 * @param indicator what neighbours compare when they divide it on the ring
 * @param sumRate over the brokers that answered
 * @param inFlight sent and not yet known to have arrived
 * @param stranded what brokers that stopped, or are cut off, have and nobody has inherited yet
 */
public record TopicDescription(
        String name,
        double rate,
        double burst,
        long version,
        boolean done,
        String adapt,
        double floor,
        String indicator,
        String mode,
        long maxDelayMs,
        int maxWaiting,
        int maxQueued,
        String overflow,
        String clock,
        boolean borrows,
        boolean paused,
        List<ChannelView> channels,
        double sumRate,
        double sumBurst,
        List<BrokerShare> shares,
        Amount inFlight,
        Amount stranded) {

    /**
     * A channel of the topic.
     *
     * @param limit on its deliveries in the whole cluster, or null
     * @param done whether exactly this limit exists
     */
    public record ChannelView(String name, boolean paused, Amount limit, boolean done) {}

    /** Rate and burst in messages. */
    public record Amount(double rate, double burst) {}

    /**
     * One broker's part.
     *
     * @param state live, or "lease over" where it must not use the leased part; of a broker that did not answer in
     *     time: silent, stopped or fenced, until its leased part is inherited
     * @param ageMs how old what is shown is, for a broker that did not answer; null if it did, and if nothing is known
     *     of it but that it is
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    public record BrokerShare(
            String broker,
            double rate,
            double burst,
            double level,
            double demand,
            Double fillRatio,
            long leaseRemainingMs,
            String state,
            double keptRate,
            Long ageMs) {
        static BrokerShare of(SupplyCoordinator.Part part) {
            return new BrokerShare(
                    part.broker(),
                    part.rate(),
                    part.burst(),
                    part.level(),
                    part.demand(),
                    part.fillRatio(),
                    part.leaseRemainingMs(),
                    part.state(),
                    part.keptRate(),
                    null);
        }

        /**
         * Of a broker that does not answer: what it had when it did, and no level, demand or lease, which would not be
         * true any more.
         */
        static BrokerShare silent(SupplyCoordinator.Part last, String state, long ageMs) {
            return new BrokerShare(
                    last.broker(), last.rate(), last.burst(), 0, 0, null, 0, state, last.keptRate(), ageMs);
        }

        static BrokerShare unknown(String broker, String state) {
            return new BrokerShare(broker, 0, 0, 0, 0, null, 0, state, 0, null);
        }

        @JsonIgnore
        public boolean answered() {
            return ageMs == null && (state.equals("live") || state.equals("lease over"));
        }
    }

    /** A topic in a list. */
    public record Summary(String name, double rate, double burst, String adapt, double floor, boolean done) {
        static Summary of(LimitRow row) {
            double micros = Limit.MICROS;
            return new Summary(
                    row.topic().value(),
                    row.limit().rateMicros() / micros,
                    row.limit().burstMicros() / micros,
                    TopicRequest.word(row.sharing()),
                    row.floorPermille() / 1_000.0,
                    row.done());
        }
    }
}
