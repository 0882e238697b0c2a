package io.weir.cluster.bench;

import java.io.IOException;

/** The other end did not do what its protocol says, or is not there; the message says who and what. */
final class WireException extends IOException {
    WireException(String message) {
        super(message);
    }
}
