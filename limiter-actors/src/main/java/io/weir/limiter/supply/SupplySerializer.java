package io.weir.limiter.supply;

import akka.serialization.SerializerWithStringManifest;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import java.io.NotSerializableException;

/** How Akka stores a ledger's events and snapshots, by {@link SupplyCodec}. The manifests stand in every row, so they are short. */
public final class SupplySerializer extends SerializerWithStringManifest {
    private static final int IDENTIFIER = 571001;
    private static final String EVENT = "e";
    private static final String SNAPSHOT = "s";

    @Override
    public int identifier() {
        return IDENTIFIER;
    }

    @Override
    public String manifest(Object o) {
        if (o instanceof SupplyEvent) {
            return EVENT;
        }
        if (o instanceof Ledger.Snapshot) {
            return SNAPSHOT;
        }
        throw notOurs(o);
    }

    @Override
    public byte[] toBinary(Object o) {
        if (o instanceof SupplyEvent event) {
            return SupplyCodec.encode(event);
        }
        if (o instanceof Ledger.Snapshot snapshot) {
            return SupplyCodec.encode(snapshot);
        }
        throw notOurs(o);
    }

    @Override
    public Object fromBinary(byte[] bytes, String manifest) throws NotSerializableException {
        return switch (manifest) {
            case EVENT -> SupplyCodec.event(bytes);
            case SNAPSHOT -> SupplyCodec.snapshot(bytes);
            default ->
                throw new NotSerializableException("nothing of the supply protocol is called '" + manifest + "'");
        };
    }

    private static IllegalArgumentException notOurs(Object o) {
        return new IllegalArgumentException(o.getClass().getName() + " is not bound to this serializer");
    }
}
