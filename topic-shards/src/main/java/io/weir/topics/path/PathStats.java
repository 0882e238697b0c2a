package io.weir.topics.path;

/**
 * What a broker's message path holds in all, and what it has dropped since it started.
 *
 * @param storeBytes of the store that are taken
 * @param storeReservedBytes outside the heap, whether taken or not
 * @param storeMaxBytes at which the store is full; publishers wait from seven eighths on
 * @param messages in the store, each once however many channels have it
 * @param dropped messages that gave way to newer ones; one of three channels counts three times
 */
public record PathStats(long storeBytes, long storeReservedBytes, long storeMaxBytes, long messages, long dropped) {}
