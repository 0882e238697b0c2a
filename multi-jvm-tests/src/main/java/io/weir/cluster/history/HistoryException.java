package io.weir.cluster.history;

/** A history that can't be read; the message names the line and what is wrong with it. */
public final class HistoryException extends RuntimeException {
    public HistoryException(String message) {
        super(message);
    }
}
