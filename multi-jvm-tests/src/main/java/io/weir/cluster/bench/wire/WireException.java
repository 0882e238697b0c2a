package io.weir.cluster.bench.wire;

import java.io.IOException;

/** The other end did not do what its protocol says, or is not there; the message says who and what. */
public final class WireException extends IOException {
    public WireException(String message) {
        super(message);
    }
}
