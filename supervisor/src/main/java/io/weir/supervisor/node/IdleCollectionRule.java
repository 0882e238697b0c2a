package io.weir.supervisor.node;

/**
 * When a broker collects its garbage by itself: while its message path is quiet, and only if garbage has gathered.
 * Otherwise the JVM collects when the heap is full, which stops the message path amid messages. A collection in a quiet
 * moment costs nobody a delay; one that comes on the beat would (SRTM 5.3).
 *
 * <p>It takes the time and counters as arguments, and reads none itself.
 */
final class IdleCollectionRule {
    /** The path must have been quiet for so long: a pause between two bursts of a busy publisher is shorter. */
    static final long QUIET_FOR_NS = 10_000_000_000L;

    /**
     * The path is quiet while its thread takes less than this part of a core: 2.5 ms a second. Chosen by estimate, not
     * measured: twenty wake-ups a second for housekeeping at 50 µs each are quiet, thirty lone messages a second at 80
     * µs each are about where quiet ends.
     */
    static final double QUIET_PART = 0.0025;

    /**
     * Less garbage is not worth a collection. It is a quarter of the heap that a broker begins with (-Xms128m), so that
     * it fits without growing the heap. A broker that allocates half a MiB a second while idle would collect once a
     * minute.
     */
    static final long LEAST_GARBAGE_BYTES = 32L << 20;

    private boolean began;
    private long lookedNs;
    private long pathCpuNs;
    private long quietSinceNs;
    private long collections;
    /** What was on the heap after the last collection. */
    private long leftBytes;

    /**
     * To be asked about every second.
     *
     * @param newPathCpuNs that the message path's thread has used so far
     * @param newCollections that the JVM has done so far
     * @param usedBytes of the heap, garbage included
     */
    boolean shouldCollect(long nowNs, long newPathCpuNs, long newCollections, long usedBytes) {
        boolean busy = !began || newPathCpuNs - pathCpuNs > QUIET_PART * (nowNs - lookedNs);
        if (busy) {
            quietSinceNs = nowNs;
        }
        // Used also falls without a new collection: when one that runs beside the threads frees what it found.
        if (!began || newCollections != collections || usedBytes < leftBytes) {
            leftBytes = usedBytes;
        }
        began = true;
        lookedNs = nowNs;
        pathCpuNs = newPathCpuNs;
        collections = newCollections;
        if (nowNs - quietSinceNs < QUIET_FOR_NS || usedBytes - leftBytes < LEAST_GARBAGE_BYTES) {
            return false;
        }
        // Where the JVM ignores the request, the next one waits until as much garbage has gathered again.
        leftBytes = usedBytes;
        return true;
    }
}
