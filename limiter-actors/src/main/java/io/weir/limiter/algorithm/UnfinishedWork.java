package io.weir.limiter.algorithm;

/**
 * The unfinished work U of an M/D/1 queue with service time 1 and load ρ &lt; 1 in the long run, which is also what a
 * Poisson message finds on arrival.
 *
 * <p>The textbook sum P(U ≤ x) = (1−ρ)·Σ (−ρ(x−j))^j/j!·e^{ρ(x−j)} alternates, and loses every digit before x = 50.
 * Here nothing is ever subtracted. The probabilities π of the number N in the system follow Ramaswami's recursion
 * π_n·(1−ā_1) = π_0·ā_n + Σ_{0&lt;i&lt;n} π_i·ā_{n+1−i} with ā_j = P(Poisson(ρ) ≥ j). N = ⌈U⌉ gives U at whole numbers,
 * and between them (Franx, 2001) P(U &gt; k−T) = P(N_q + Poisson(ρT) ≥ k) for 0 ≤ T ≤ 1, with N_q = max(0, N−1)
 * waiting. Beyond {@value #EXACT} the tail is e^{−θx} to the last bit of a double, with ρ·(e^θ−1) = θ: every other root
 * of that equation lies so far to the right that its share is gone long before. So any x costs the same, for any ρ in
 * (0, 1).
 *
 * <p>In doubles: these are probabilities, nothing is conserved by them; at least nine digits are right for ρ ≤ 1 −
 * 10⁻⁹.
 */
final class UnfinishedWork {
    private static final int EXACT = 256;

    private final double load;
    private final double decay;
    /** P(N &gt; n) for n = 0…EXACT. */
    private final double[] more = new double[EXACT + 1];

    UnfinishedWork(double load) {
        if (!(load > 0 && load < 1)) {
            throw new IllegalArgumentException(
                    "load " + load + " is not between 0 and 1: the work has no steady state");
        }
        this.load = load;
        this.decay = decay(load);
        double[] atLeast = poissonAtLeast(load, EXACT + 2);
        double[] number = new double[EXACT + 2];
        number[0] = 1 - load;
        double none = Math.exp(-load);
        for (int n = 1; n < number.length; n++) {
            double sum = number[0] * atLeast[n];
            for (int i = 1; i < n; i++) {
                sum += number[i] * atLeast[n + 1 - i];
            }
            number[n] = sum / none;
        }
        more[EXACT] = number[EXACT + 1] / -Math.expm1(-decay);
        for (int n = EXACT - 1; n >= 0; n--) {
            more[n] = more[n + 1] + number[n + 1];
        }
    }

    /** P(U &gt; x). */
    double above(double x) {
        if (x < 0) {
            return 1;
        }
        if (x >= EXACT) {
            return more[EXACT] * Math.exp(-decay * (x - EXACT));
        }
        int k = (int) x + 1;
        double mean = load * (k - x);
        double term = Math.exp(-mean);
        double sum = 0;
        for (int j = 0; j < k; j++) {
            sum += term * more[k - j];
            term *= mean / (j + 1);
        }
        return sum + poissonAtLeast(mean, k)[k];
    }

    /** E[max(0, U − x)], the integral of {@link #above} beyond {@code x}. */
    double excess(double x) {
        if (x >= EXACT) {
            return above(x) / decay;
        }
        int first = (int) x + 1;
        double sum = more[EXACT] / decay;
        for (int k = EXACT; k > first; k--) {
            sum += between(k, 1);
        }
        return sum + between(first, first - x);
    }

    /** The smallest x ≥ 0 with P(U &gt; x) ≤ {@code part}. */
    double exceededBy(double part) {
        if (above(0) <= part) {
            return 0;
        }
        if (more[EXACT] > part) {
            return EXACT + Math.log(more[EXACT] / part) / decay;
        }
        double low = 0;
        double high = EXACT;
        for (double middle = EXACT / 2.0; middle > low && middle < high; middle = (low + high) / 2) {
            if (above(middle) > part) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return high;
    }

    /** ∫ P(U &gt; x) dx from k − width to k: a Poisson probability integrates to a tail of the Poisson. */
    private double between(int k, double width) {
        double[] atLeast = poissonAtLeast(load * width, k);
        double sum = 0;
        for (int j = 0; j < atLeast.length - 1; j++) {
            sum += atLeast[j + 1] * (j < k ? more[k - j] : 1);
        }
        return sum / load;
    }

    /** P(Poisson(mean) ≥ j) for j = 0…last, summed from the far end; 64 terms past {@code last} leave nothing out. */
    private static double[] poissonAtLeast(double mean, int last) {
        double[] atLeast = new double[last + 65];
        double term = Math.exp(-mean);
        for (int j = 0; j < atLeast.length; j++) {
            atLeast[j] = term;
            term *= mean / (j + 1);
        }
        for (int j = atLeast.length - 2; j >= 0; j--) {
            atLeast[j] += atLeast[j + 1];
        }
        return atLeast;
    }

    /**
     * The root θ &gt; 0 of ρ·(e^θ−1) = θ, by Newton from the right. Written as Σ θ^n/(n+1)! = (1−ρ)/ρ, n ≥ 1, nothing
     * cancels when ρ is near 1 and θ near 2(1−ρ).
     */
    private static double decay(double load) {
        double target = (1 - load) / load;
        double theta = 2 * -Math.log(load) + 2 * (1 - load) + 1;
        while (true) {
            double value = 0;
            double slopeTimesTheta = 0;
            double term = 1;
            for (int n = 1; term > 1e-18 * value; n++) {
                term *= theta / (n + 1);
                value += term;
                slopeTimesTheta += n * term;
            }
            double next = theta - (value - target) / slopeTimesTheta * theta;
            if (!(next < theta)) {
                return theta;
            }
            theta = next;
        }
    }
}
