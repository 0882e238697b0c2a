package io.weir.supervisor.local;

/** A local cluster can't be started, found or stopped; the message is one line that says what to do. */
public final class LocalClusterException extends RuntimeException {
    public LocalClusterException(String message) {
        super(message);
    }
}
