package io.weir.supervisor.store;

/** The store can't do what a broker needs; the message says what, and what to do. */
public final class StoreException extends RuntimeException {
    public StoreException(String message) {
        super(message);
    }

    public StoreException(String message, Throwable cause) {
        super(message, cause);
    }
}
