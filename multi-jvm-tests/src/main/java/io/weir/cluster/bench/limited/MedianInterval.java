package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.Comparison;
import java.util.List;

/**
 * A median with an interval that holds the true one whatever the distribution: from the j-th lowest to the j-th highest
 * value, with the largest j for which that is 95% certain. The true median is below j values or fewer with the
 * probability that a coin falls heads so rarely in n throws. Fewer than six values are never enough for 95%: the
 * interval is then all of them.
 *
 * @param certainty that the true median is within
 */
record MedianInterval(double median, double low, double high, double certainty) {
    private static final double WANTED = 0.95;

    static MedianInterval of(List<Double> values) {
        double[] sorted =
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        int n = sorted.length;
        int leftOut = 0;
        double outside = Math.pow(0.5, n);
        double exactly = outside;
        for (int j = 1; 2 * j < n; j++) {
            exactly *= (n - j + 1.0) / j;
            if (1 - 2 * (outside + exactly) < WANTED) {
                break;
            }
            outside += exactly;
            leftOut = j;
        }
        return new MedianInterval(
                Comparison.Spread.of(values).median(), sorted[leftOut], sorted[n - 1 - leftOut], 1 - 2 * outside);
    }
}
