package io.weir.transport.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.agrona.BufferUtil;

/**
 * The memory of connections, which has one bound: direct buffers for what is read and sent, and buffers of the heap for
 * the layers between. Some of each are pooled here. Each connection takes its part by a {@link Purse}. For one thread.
 *
 * <p>Strangers, of whom nobody knows yet who they are, have a small part of it together. When that is used up, the one
 * that holds memory the longest gives way: a stranger may ask for a place, and not keep others from one.
 */
public final class Buffers {
    private static final int POOLED = 256;
    /** Of each size of the layers' buffers. */
    private static final int POOLED_FOR_LAYERS = 8;

    /** The smallest is 4 KiB, each next one twice as large. */
    private static final int SMALLEST_SHIFT = 12;

    private static final int SIZES = 10;

    private final int usualBytes;
    private final long mostBytes;
    private final long mostForStrangers;
    private final Consumer<String> complaints;
    private final ArrayDeque<ByteBuffer> usual = new ArrayDeque<>();

    @SuppressWarnings({"unchecked", "rawtypes"})
    private final ArrayDeque<ByteBuffer>[] forLayers = new ArrayDeque[SIZES];

    private long bytes;
    private long strangersBytes;
    /** The strangers that hold memory, by when they began to. */
    private final Set<Purse> strangers = new LinkedHashSet<>();

    /** For those who are no strangers to each other. */
    public Buffers(int usualBytes, long mostBytes, Consumer<String> complaints) {
        this(usualBytes, mostBytes, mostBytes, complaints);
    }

    /**
     * @param usualBytes of a buffer that is read into or sent from, unless a larger one is asked for
     * @param mostBytes of all buffers together
     * @param mostForStrangers of these, what strangers may have together
     */
    public Buffers(int usualBytes, long mostBytes, long mostForStrangers, Consumer<String> complaints) {
        this.usualBytes = usualBytes;
        this.mostBytes = mostBytes;
        this.mostForStrangers = mostForStrangers;
        this.complaints = complaints;
        for (int i = 0; i < SIZES; i++) {
            forLayers[i] = new ArrayDeque<>(POOLED_FOR_LAYERS);
        }
    }

    /** For a connection whose other end is known. */
    public Purse purse() {
        return new Purse(this, null);
    }

    /** @param displaced called when it has to give way to another; what it holds has to be given back soon */
    public Purse strangersPurse(Runnable displaced) {
        return new Purse(this, displaced);
    }

    int usualBytes() {
        return usualBytes;
    }

    /** Whether a stranger may take so much more; others may have to give way for it. */
    boolean mayTake(Purse stranger, int capacity) {
        while (strangersBytes + capacity > mostForStrangers) {
            Iterator<Purse> longest = strangers.iterator();
            Purse leaving = longest.hasNext() ? longest.next() : null;
            if (leaving == stranger) {
                leaving = longest.hasNext() ? longest.next() : null;
            }
            if (leaving == null) {
                return false;
            }
            leaving.displace();
        }
        return true;
    }

    /** A stranger holds so much more than before, or less. */
    void strangerHolds(Purse stranger, long more) {
        strangersBytes += more;
        if (stranger.held() == 0) {
            strangers.remove(stranger);
        } else if (stranger.held() == more) {
            strangers.add(stranger);
        }
    }

    /** It is none any more, whatever it holds. */
    void strangerNoMore(Purse stranger) {
        strangersBytes -= stranger.held();
        strangers.remove(stranger);
    }

    /** A buffer of the usual size, or null if all buffers together take all that they may. */
    ByteBuffer take() {
        ByteBuffer pooled = usual.pollFirst();
        return pooled != null ? pooled : direct(usualBytes, mostBytes);
    }

    /** One that is larger than usual, or null: the last quarter of the memory is kept for small ones. */
    ByteBuffer takeLarge(int capacity) {
        return direct(capacity, mostForLarge());
    }

    /** Whether connections that could do with the buffers they have may take larger ones. */
    boolean hasPlenty() {
        return bytes < mostBytes / 2;
    }

    private long mostForLarge() {
        return mostBytes / 4 * 3;
    }

    /** Checks the bound first: an allocation that fails would stop the thread for half a second. */
    private ByteBuffer direct(int capacity, long most) {
        if (!reserve(capacity, most)) {
            return null;
        }
        try {
            return ByteBuffer.allocateDirect(capacity);
        } catch (OutOfMemoryError e) {
            bytes -= capacity;
            complaints.accept("the process has less direct memory than the settings say (-XX:MaxDirectMemorySize)");
            return null;
        }
    }

    private boolean reserve(int capacity, long most) {
        if (bytes + capacity > most) {
            complaints.accept("clients' buffers take all of their " + mostBytes + " bytes: who needs one is closed");
            return false;
        }
        bytes += capacity;
        return true;
    }

    /**
     * Frees what is not pooled at once: the garbage collector does not know how much memory hangs on a small object.
     */
    void give(ByteBuffer buffer) {
        if (buffer.capacity() == usualBytes && usual.size() < POOLED) {
            usual.addFirst(buffer.clear());
        } else {
            bytes -= buffer.capacity();
            BufferUtil.free(buffer);
        }
    }

    /** An empty buffer of the heap, of this capacity or more. */
    ByteBuffer takeForLayer(int atLeast) throws IOException {
        int most = Math.max(atLeast, 1 << SMALLEST_SHIFT) - 1;
        int size = Integer.SIZE - Integer.numberOfLeadingZeros(most) - SMALLEST_SHIFT;
        ByteBuffer pooled = forLayers[size].pollFirst();
        if (pooled != null) {
            return pooled;
        }
        int capacity = 1 << size + SMALLEST_SHIFT;
        if (!reserve(capacity, mostForLarge())) {
            throw new IOException("no memory left for clients' layers");
        }
        return ByteBuffer.allocate(capacity);
    }

    void giveFromLayer(ByteBuffer buffer) {
        int size = Integer.numberOfTrailingZeros(buffer.capacity()) - SMALLEST_SHIFT;
        if (forLayers[size].size() < POOLED_FOR_LAYERS) {
            forLayers[size].addFirst(buffer.clear());
        } else {
            bytes -= buffer.capacity();
        }
    }

    /** Counts memory that somebody else allocates; false if it may not. */
    boolean reserve(int capacity) {
        return reserve(capacity, mostForLarge());
    }

    void release(int capacity) {
        bytes -= capacity;
    }

    /** Of {@link #bytes}, what strangers hold. */
    public long strangersBytes() {
        return strangersBytes;
    }

    /** The bytes of all buffers, pooled ones included. */
    public long bytes() {
        return bytes;
    }
}
