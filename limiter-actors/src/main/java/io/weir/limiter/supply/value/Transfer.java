package io.weir.limiter.supply.value;

import io.weir.config.value.TopicName;
import java.util.Map;

/**
 * Supply on its way from one holder to another, all topics of a round together. It accrues nothing; its level stays
 * valid.
 */
public record Transfer(Id id, Map<TopicName, Holding> holdings) {
    /**
     * Numbered from 1 for each directed pair of holders. One is open at a time, so a receiver remembers only the last.
     */
    public record Id(Holder from, Holder to, long sequence) {
        @Override
        public String toString() {
            return from + "→" + to + "/" + sequence;
        }
    }
}
