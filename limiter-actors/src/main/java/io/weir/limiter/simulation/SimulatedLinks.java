package io.weir.limiter.simulation;

import java.util.random.RandomGenerator;

/**
 * How the simulated network treats a message: a fixed delay and, if asked for, loss, a second copy, and now and then a
 * message that comes much later than those sent after it.
 *
 * @param delayNs one way
 * @param loss the chance that a copy never arrives
 * @param duplication the chance that a message is sent twice
 * @param lateness the chance that a copy is late
 * @param latestNs a late copy takes up to this much longer
 */
public record SimulatedLinks(long delayNs, double loss, double duplication, double lateness, long latestNs) {
    /** What {@link #arrivalNs} answers for a copy that is lost. */
    public static final long LOST = -1;

    public static SimulatedLinks perfect(long delayNs) {
        return new SimulatedLinks(delayNs, 0, 0, 0, 0);
    }

    boolean faulty() {
        return loss > 0 || duplication > 0 || lateness > 0;
    }

    int copies(RandomGenerator random) {
        return duplication > 0 && random.nextDouble() < duplication ? 2 : 1;
    }

    long arrivalNs(long nowNs, RandomGenerator random) {
        if (!faulty()) {
            return nowNs + delayNs;
        }
        if (random.nextDouble() < loss) {
            return LOST;
        }
        return nowNs + delayNs + (random.nextDouble() < lateness ? random.nextLong(latestNs + 1) : 0);
    }
}
