package io.weir.limiter.simulation;

import java.util.Arrays;

/**
 * Numbers that were measured, and what can be said about them. In doubles: they describe, nothing is conserved by them.
 */
public final class Sample {
    /** Two-sided 95% points of Student's t for 1 to 30 degrees of freedom. */
    private static final double[] T95 = {
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
        2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484,
        2.0452, 2.0423
    };

    private static final double Z95 = 1.959964;

    private double[] values = new double[16];
    private int size;
    private boolean sorted = true;

    public void add(double value) {
        if (Double.isNaN(value)) {
            throw new IllegalArgumentException("a sample takes numbers, not NaN");
        }
        if (size == values.length) {
            values = Arrays.copyOf(values, size * 2);
        }
        values[size++] = value;
        sorted = false;
    }

    /** Adds what another sample has. */
    public void addAll(Sample other) {
        for (int i = 0; i < other.size; i++) {
            add(other.values[i]);
        }
    }

    public int size() {
        return size;
    }

    public double mean() {
        requireValues();
        double sum = 0;
        for (int i = 0; i < size; i++) {
            sum += values[i];
        }
        return sum / size;
    }

    /**
     * Half the width of the mean's 95% confidence interval by Student's t, for independent values; NaN below two of
     * them.
     */
    public double halfWidth95() {
        if (size < 2) {
            return Double.NaN;
        }
        double mean = mean();
        double squares = 0;
        for (int i = 0; i < size; i++) {
            double off = values[i] - mean;
            squares += off * off;
        }
        return t95(size - 1) * Math.sqrt(squares / (size - 1) / size);
    }

    /** The smallest value that at least the part {@code q} of the sample does not exceed. */
    public double quantile(double q) {
        requireValues();
        if (!(q >= 0 && q <= 1)) {
            throw new IllegalArgumentException("a quantile lies between 0 and 1, not at " + q);
        }
        sort();
        // The subtrahend keeps 0.99·100 = 99.00000000000001 from asking for the hundredth value.
        int rank = (int) Math.ceil(q * size - 1e-9 * size);
        return values[Math.max(rank, 1) - 1];
    }

    public double max() {
        requireValues();
        sort();
        return values[size - 1];
    }

    private void sort() {
        if (!sorted) {
            Arrays.sort(values, 0, size);
            sorted = true;
        }
    }

    private void requireValues() {
        if (size == 0) {
            throw new IllegalStateException("the sample is empty");
        }
    }

    /** Beyond the table the first two terms of the expansion around the normal quantile are exact to four digits. */
    private static double t95(int degrees) {
        if (degrees <= T95.length) {
            return T95[degrees - 1];
        }
        double cubed = Z95 * Z95 * Z95;
        return Z95
                + (cubed + Z95) / (4 * degrees)
                + (5 * cubed * Z95 * Z95 + 16 * cubed + 3 * Z95) / (96.0 * degrees * degrees);
    }
}
