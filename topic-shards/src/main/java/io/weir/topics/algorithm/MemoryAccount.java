package io.weir.topics.algorithm;

/**
 * What one topic, or one client's token, holds of the memory for messages. An entry is a reference to a message: its
 * place in a line, a queue or among what a consumer holds.
 */
public final class MemoryAccount {
    final int number;
    long bytes;
    long entries;
    /** Whose it was is gone; its number is free again once its last message is. */
    boolean closed;

    MemoryAccount(int number) {
        this.number = number;
    }

    /** Of the message store. */
    public long bytes() {
        return bytes;
    }

    public long entries() {
        return entries;
    }
}
