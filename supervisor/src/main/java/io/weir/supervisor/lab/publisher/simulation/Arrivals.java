package io.weir.supervisor.lab.publisher.simulation;

import java.util.Arrays;
import java.util.random.RandomGenerator;

/** When requests arrive, in nanoseconds from the start of a run, ascending. */
public final class Arrivals {
    private static final double NANOS = 1e9;

    private Arrivals() {}

    /** A Poisson process of {@code perSecond} from 0 to {@code endNs}. */
    public static long[] poisson(double perSecond, long endNs, RandomGenerator random) {
        return steps(new long[] {endNs}, new double[] {perSecond}, random);
    }

    /** A Poisson process whose rate is {@code perSecond[i]} until {@code untilNs[i]}. */
    public static long[] steps(long[] untilNs, double[] perSecond, RandomGenerator random) {
        long[] arrivals = new long[1024];
        int count = 0;
        double atNs = 0;
        for (int i = 0; i < untilNs.length; i++) {
            // The process has no memory, so at a step it may start again from the step's own time.
            atNs = i == 0 ? 0 : untilNs[i - 1];
            for (atNs += gapNs(perSecond[i], random); atNs < untilNs[i]; atNs += gapNs(perSecond[i], random)) {
                if (count == arrivals.length) {
                    arrivals = Arrays.copyOf(arrivals, count * 2);
                }
                arrivals[count++] = (long) atNs;
            }
        }
        return Arrays.copyOf(arrivals, count);
    }

    /** The same arrivals {@code factor} times as fast. */
    public static long[] faster(long[] arrivalsNs, double factor) {
        return Arrays.stream(arrivalsNs).map(ns -> (long) (ns / factor)).toArray();
    }

    private static double gapNs(double perSecond, RandomGenerator random) {
        return perSecond <= 0 ? Double.POSITIVE_INFINITY : random.nextExponential() / perSecond * NANOS;
    }
}
