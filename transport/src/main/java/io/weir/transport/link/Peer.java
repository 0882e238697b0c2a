package io.weir.transport.link;

import io.weir.config.value.BrokerId;

/** One life of another broker. */
public record Peer(BrokerId id, long incarnation) {
    @Override
    public String toString() {
        return id + "#" + incarnation;
    }
}
