package io.weir.limiter.supply.value;

import io.weir.config.value.TopicName;
import java.util.Map;

/** Supply on its way from one holder to another, all topics of a round together. It accrues nothing; its level is valid. */
public record Transfer(Id id, Map<TopicName, Holding> holdings) {
    /** Counts per directed pair of holders, from 1; one is open at a time, so a receiver needs to remember the last only. */
    public record Id(Holder from, Holder to, long sequence) {
        @Override
        public String toString() {
            return from + "→" + to + "/" + sequence;
        }
    }
}
