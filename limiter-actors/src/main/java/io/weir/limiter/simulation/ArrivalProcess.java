package io.weir.limiter.simulation;

import java.util.random.RandomGenerator;

/** Ways in which messages arrive, all with the same mean rate. */
public enum ArrivalProcess {
    /** Independent publishers. */
    POISSON("Poisson") {
        @Override
        double nextGap(RandomGenerator random, int message) {
            return exponential(random);
        }
    },
    /** A clock's ticks: gaps vary by a tenth only. */
    PERIODIC("periodic") {
        @Override
        double nextGap(RandomGenerator random, int message) {
            return 0.9 + 0.2 * random.nextDouble();
        }
    },
    /** Synchronised publishers: {@link #BATCH} messages at one instant, the instants Poisson. */
    BATCHES("Poisson batches") {
        @Override
        double nextGap(RandomGenerator random, int message) {
            return message % BATCH == 0 ? BATCH * exponential(random) : 0;
        }
    },
    /** Fifty messages at four times the rate, then silence for as long as the mean rate needs. */
    ON_OFF("on and off") {
        @Override
        double nextGap(RandomGenerator random, int message) {
            return message % 50 == 0 ? 0.25 + 37.5 * exponential(random) : 0.25 * exponential(random);
        }
    },
    /** Gaps of a Pareto distribution with shape 1.5: finite mean, infinite variance. */
    HEAVY_TAILED("heavy-tailed gaps") {
        @Override
        double nextGap(RandomGenerator random, int message) {
            return Math.pow(1 - random.nextDouble(), -1 / 1.5) / 3;
        }
    };

    /** Messages in a batch of {@link #BATCHES}. */
    public static final int BATCH = 12;

    private final String label;

    ArrivalProcess(String label) {
        this.label = label;
    }

    public String label() {
        return label;
    }

    /** The times of {@code messages} arrivals, in doubles until the end: only their shape matters. */
    public long[] arrivalsNs(int messages, double perSecond, RandomGenerator random) {
        long[] arrivalsNs = new long[messages];
        double now = 0;
        for (int i = 0; i < messages; i++) {
            now += nextGap(random, i);
            arrivalsNs[i] = (long) (now / perSecond * 1e9);
        }
        return arrivalsNs;
    }

    /** The gap before a message, in units of the mean gap. */
    abstract double nextGap(RandomGenerator random, int message);

    private static double exponential(RandomGenerator random) {
        return -Math.log(1 - random.nextDouble());
    }
}
