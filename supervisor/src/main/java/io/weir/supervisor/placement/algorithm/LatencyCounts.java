package io.weir.supervisor.placement.algorithm;

/** Latencies of one broker and topic, counted against an objective and in a histogram of relative width 1/128. */
public final class LatencyCounts {
    private static final int SHIFT = 16;

    private final long snugNs;
    private final long sloNs;
    private final int[] histogram = new int[Float.floatToIntBits(Long.MAX_VALUE) + 1 >> SHIFT];
    private long messages;
    private long batches;
    private long tooSlow;
    private long snug;

    public LatencyCounts(Slo slo) {
        this.snugNs = slo.snugNs();
        this.sloNs = slo.latencyNs();
    }

    public void add(long latencyNs) {
        messages++;
        tooSlow += latencyNs > sloNs ? 1 : 0;
        snug += latencyNs > snugNs ? 1 : 0;
        histogram[Math.min(histogram.length - 1, Float.floatToIntBits(Math.max(0, latencyNs)) >> SHIFT)]++;
    }

    void batch() {
        batches++;
    }

    public long messages() {
        return messages;
    }

    /** The part that took longer than the objective. */
    public double tooSlowPart() {
        return messages == 0 ? 0 : tooSlow / (double) messages;
    }

    /** The latency that the part {@code q} of the messages does not exceed; 0 if there were none. */
    public double quantileNs(double q) {
        long rank = (long) Math.ceil(q * messages - 1e-9 * messages);
        long seen = 0;
        for (int i = 0; i < histogram.length; i++) {
            seen += histogram[i];
            if (seen >= rank && seen > 0) {
                return Float.intBitsToFloat((i << SHIFT) + (1 << SHIFT - 1));
            }
        }
        return 0;
    }

    /** Counts what the other has counted, too. */
    public void merge(LatencyCounts other) {
        messages += other.messages;
        batches += other.batches;
        tooSlow += other.tooSlow;
        snug += other.snug;
        for (int i = 0; i < histogram.length; i++) {
            histogram[i] += other.histogram[i];
        }
    }

    /** What has been counted since {@code before}, an earlier moment of the same counts. */
    public Measurement since(Totals before, long revision, long fromNs, long untilNs) {
        return new Measurement(
                revision,
                fromNs,
                untilNs,
                batches - before.batches(),
                messages - before.messages(),
                tooSlow - before.tooSlow(),
                snug - before.snug());
    }

    public Totals totals() {
        return new Totals(batches, messages, tooSlow, snug);
    }

    /** A moment's counts. */
    public record Totals(long batches, long messages, long tooSlow, long snug) {}
}
