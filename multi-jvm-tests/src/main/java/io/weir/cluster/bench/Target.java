package io.weir.cluster.bench;

import io.weir.cluster.bench.wire.WireProtocol;
import io.weir.config.Endpoint;
import java.util.List;

/**
 * Something that can be measured: who it is, what it speaks, where it listens, and what its processes report about
 * themselves. Connections go round the places to publish, and consumers round theirs.
 */
public record Target(
        String name, WireProtocol wire, List<Endpoint> publishTo, List<Endpoint> consumeFrom, List<Expense> expenses) {
    public Target(
            String name, WireProtocol wire, List<Endpoint> publishTo, Endpoint consumeFrom, List<Expense> expenses) {
        this(name, wire, publishTo, List.of(consumeFrom), expenses);
    }
}
