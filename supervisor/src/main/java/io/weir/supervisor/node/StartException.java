package io.weir.supervisor.node;

/** A broker can't start; the message is the one line that its operator reads. */
public final class StartException extends RuntimeException {
    public StartException(String message) {
        super(message);
    }
}
