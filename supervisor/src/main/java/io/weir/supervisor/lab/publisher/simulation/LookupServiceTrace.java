package io.weir.supervisor.lab.publisher.simulation;

import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * Write requests (registrations, renewals, deletions) to a lookup service, with the shape that the auto-tuned
 * publisher's paper describes for its trace, which is not public: a low load (section VI) whose rate changes rapidly
 * (Fig. 3).
 *
 * <p>Renewals are a Poisson process whose rate is drawn anew, between 0.15 and 1 a second and evenly by its logarithm,
 * after exponential times of 5 minutes on average. On top, every 2 minutes on average, a host registers its services in
 * one go: 2 to 16 requests about 100 ms apart. That makes about 0.5 requests a second.
 */
public final class LookupServiceTrace {
    private static final double LOWEST_PER_SECOND = 0.15;
    private static final double HIGHEST_PER_SECOND = 1;
    private static final double RATE_LASTS_NS = 300e9;
    private static final double HOST_EVERY_NS = 120e9;
    private static final double SERVICE_EVERY_NS = 100e6;

    private LookupServiceTrace() {}

    /** Arrivals from 0 to {@code endNs}, ascending. */
    public static long[] generate(long endNs, RandomGenerator random) {
        long[] untilNs = new long[0];
        double[] rates = new double[0];
        for (double atNs = 0; atNs < endNs; ) {
            atNs = Math.min(endNs, atNs + random.nextExponential() * RATE_LASTS_NS);
            untilNs = Arrays.copyOf(untilNs, untilNs.length + 1);
            untilNs[untilNs.length - 1] = (long) atNs;
            rates = Arrays.copyOf(rates, rates.length + 1);
            rates[rates.length - 1] =
                    LOWEST_PER_SECOND * Math.pow(HIGHEST_PER_SECOND / LOWEST_PER_SECOND, random.nextDouble());
        }
        long[] renewals = Arrivals.steps(untilNs, rates, random);
        long[] arrivals = Arrays.copyOf(renewals, renewals.length + 1_024);
        int count = renewals.length;
        for (double hostNs = random.nextExponential() * HOST_EVERY_NS;
                hostNs < endNs;
                hostNs += random.nextExponential() * HOST_EVERY_NS) {
            double serviceNs = hostNs;
            for (int services = random.nextInt(2, 17); services > 0 && serviceNs < endNs; services--) {
                if (count == arrivals.length) {
                    arrivals = Arrays.copyOf(arrivals, count * 2);
                }
                arrivals[count++] = (long) serviceNs;
                serviceNs += random.nextExponential() * SERVICE_EVERY_NS;
            }
        }
        Arrays.sort(arrivals, 0, count);
        return Arrays.copyOf(arrivals, count);
    }
}
