package io.weir.transport.link;

import org.agrona.MutableDirectBuffer;

/**
 * Writes a frame's body straight into the stream; see {@link Links#offer(io.weir.config.value.BrokerId, int,
 * BodyWriter, long, long)}.
 */
@FunctionalInterface
public interface BodyWriter {
    /** Fills exactly the length that was announced, from {@code offset} on. */
    void write(MutableDirectBuffer buffer, int offset);
}
