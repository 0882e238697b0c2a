package io.weir.limiter.algorithm;

/** How equal values are. */
public final class FairnessIndex {
    private FairnessIndex() {}

    /**
     * Jain's index (gdrl eq. 16): (Σq)² / (N·Σq²), from 1/N (one has everything) to 1 (all equal). Values that are all
     * zero are equal. Meant for values of one sign: mixed signs cancel in the numerator and push it to 0.
     */
    public static double jain(double[] values) {
        double sum = 0;
        double squares = 0;
        for (double value : values) {
            sum += value;
            squares += value * value;
        }
        return squares == 0 ? 1 : sum * sum / (values.length * squares);
    }
}
