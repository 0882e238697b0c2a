package io.weir.limiter.workflow.algorithm;

/**
 * Weighted max-min fairness: whoever demands less than its part gets its demand, the others divide what is left by
 * weight. In doubles: shares are targets, nothing is conserved by them.
 */
public final class MaxMin {
    private MaxMin() {}

    /**
     * Divides {@code capacity} over the first {@code count} demands into {@code shares}.
     *
     * @return the water level: what one unit of weight gets at most, infinite if every demand is met
     */
    public static double divide(double capacity, double[] demands, double[] weights, double[] shares, int count) {
        double left = Math.max(0, capacity);
        double weightLeft = 0;
        for (int i = 0; i < count; i++) {
            shares[i] = Double.NaN;
            weightLeft += demands[i] > 0 ? weights[i] : 0;
        }
        boolean some = true;
        while (some) {
            some = false;
            double level = weightLeft > 0 ? left / weightLeft : Double.POSITIVE_INFINITY;
            double met = 0;
            double metWeight = 0;
            for (int i = 0; i < count; i++) {
                if (Double.isNaN(shares[i]) && demands[i] <= level * weights[i]) {
                    shares[i] = Math.max(0, demands[i]);
                    met += shares[i];
                    metWeight += demands[i] > 0 ? weights[i] : 0;
                    some = true;
                }
            }
            left = Math.max(0, left - met);
            weightLeft -= metWeight;
        }
        double level = Double.POSITIVE_INFINITY;
        for (int i = 0; i < count; i++) {
            if (Double.isNaN(shares[i])) {
                level = left / weightLeft;
                shares[i] = level * weights[i];
            }
        }
        return level;
    }
}
