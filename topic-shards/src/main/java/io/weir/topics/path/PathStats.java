package io.weir.topics.path;

/**
 * What a broker's message path holds in all, and what it has dropped since it started.
 *
 * @param storeBytes of the store that are taken
 * @param storeReservedBytes outside the heap, whether taken or not
 * @param storeMaxBytes at which the store is full; publishers wait before, each topic when it has its part
 * @param messages in the store, each once however many channels have it
 * @param dropped messages that gave way to newer ones; one of three channels counts three times
 * @param entries of messages in lines, channels and with consumers; one of three channels has three
 * @param refused messages that were refused for want of memory, or because their topic or token had its part of it
 */
public record PathStats(
        long storeBytes,
        long storeReservedBytes,
        long storeMaxBytes,
        long messages,
        long dropped,
        long entries,
        long maxEntries,
        long refused) {
    public static final PathStats NONE = new PathStats(0, 0, 0, 0, 0, 0, 0, 0);
}
