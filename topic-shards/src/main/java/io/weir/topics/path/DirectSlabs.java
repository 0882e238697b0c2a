package io.weir.topics.path;

import io.weir.topics.algorithm.MessageStore;
import java.nio.ByteBuffer;
import java.util.IdentityHashMap;
import java.util.Map;
import org.agrona.BufferUtil;

/**
 * Slabs outside the heap, from the beginning of a cache line. Freed at once: a collector that sees a full heap only
 * would keep them for long, and an allocation that fails because of that stands still for half a second.
 */
final class DirectSlabs implements MessageStore.Slabs {
    private static final int CACHE_LINE = 64;

    /** A slice cannot be freed, only what it was cut from. */
    private final Map<ByteBuffer, ByteBuffer> wholes = new IdentityHashMap<>();

    @Override
    public ByteBuffer take(int bytes) {
        ByteBuffer whole = ByteBuffer.allocateDirect(bytes + CACHE_LINE - 1);
        ByteBuffer slab = whole.alignedSlice(CACHE_LINE);
        wholes.put(slab, whole);
        return slab;
    }

    @Override
    public void free(ByteBuffer slab) {
        BufferUtil.free(wholes.remove(slab));
    }
}
