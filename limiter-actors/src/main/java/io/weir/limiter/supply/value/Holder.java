package io.weir.limiter.supply.value;

import io.weir.config.value.BrokerId;

/** One life of a broker: who holds supply. The store allocates incarnations, so no two lives share one. */
public record Holder(BrokerId broker, long incarnation) {
    @Override
    public String toString() {
        return broker + "#" + incarnation;
    }
}
