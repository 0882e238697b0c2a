package io.weir.transport.algorithm;

/**
 * Decides how many waiting messages a publisher sends at once, and when it looks again.
 *
 * <p>Source: Balasubramanian et al., "Auto-tuned Publisher in a Pub/Sub System", section IV and Fig. 7. N is the batch
 * that the publisher waits for, T_poll how often it looks, T the longest it waits, T_mpt how long reading and handing
 * over a batch took:
 *
 * <pre>
 * T_poll expires, fewer than N wait     N ← N/2               (and publish what is there once T has passed)
 * T_poll expires, N wait                publish N, then
 *     handed over before the next poll  N ← min(N + 1, N_max)
 *     handed over later                 N ← N − 1
 *                                       T_poll ← max(min(β·T_mpt, T_poll^max), T_poll^min),   β &gt; 1
 * every T_poll (Eq. 1)                  λ_est ← α·λ_est + (1 − α)·λ_s
 * message acknowledged (Eq. 2)          η_est ← γ·η_est + (1 − γ)·n_i/s_i
 * </pre>
 *
 * <p>Where this says more than the paper, or something else:
 *
 * <ul>
 *   <li>The paper sets N_max, a number of messages, to η_est, a rate. Here N_max = ⌈η_est·T_poll⌉ + 1: what the broker
 *       takes in a polling interval, and one to probe with. By Little's law n_i/s_i is the rate in use, which is the
 *       broker's capacity only once the broker is the bottleneck; without the probe N could never grow past the load
 *       that it already carries. For the same reason batches must not wait for each other's acknowledgements: a
 *       publisher that does uses half the rate it could, and would have N follow that down.
 *   <li>The paper does not say when the number n_i of transfers under way is read. At the end of a transfer it is half
 *       of a batch that started together, so here n_i is its average over transfer i.
 *   <li>λ_est is reported, and no step of Fig. 7 reads it: N follows the load through what waits.
 *   <li>In the paper each message of a batch needs a worker, so that a large N runs out of them. Where a batch is one
 *       request, what has gathered while all workers were out goes together ({@link Bounds#gathers}).
 *   <li>A batch cut short by T neither proves nor disproves capacity, so it does not raise N.
 * </ul>
 *
 * <p>Stable for β &gt; 1 and 0 ≤ α, γ &lt; 1, which {@link Bounds} enforces: N and T_poll never leave their bounds.
 * Rates are doubles, because nothing is conserved here and a filtered estimate needs no last digit. Every comparison of
 * times survives a wrap of the clock. Allocates nothing after construction. For one thread.
 */
public final class BatchTuner {
    private static final double NANOS = 1e9;

    private final Bounds bounds;

    private int batch;
    private long pollNs;
    private long pollAtNs;
    private long waitingSinceNs;

    private boolean publishing;
    private boolean publishingFullBatch;
    private long publishingSinceNs;

    private long arrivals;
    private long arrivalsSinceNs;
    private double loadPerSecond = Double.NaN;

    private int inFlight;
    private long inFlightNs;
    private long inFlightAtNs;
    private double capacityPerSecond = Double.NaN;

    /** Starts with a batch of {@code initialBatch} (brought into its bounds) and the shortest polling interval. */
    public BatchTuner(Bounds bounds, int initialBatch, long nowNs) {
        this.bounds = bounds;
        batch = Math.max(bounds.minBatch(), Math.min(initialBatch, bounds.maxBatch()));
        pollNs = bounds.minPollNs();
        pollAtNs = nowNs + pollNs;
        waitingSinceNs = nowNs;
        arrivalsSinceNs = nowNs;
        inFlightAtNs = nowNs;
    }

    /** Tells that messages have come in to be published, for the estimate of the load. */
    public void arrived(int messages) {
        arrivals += messages;
    }

    /**
     * Tells that a message has come after none waited, in place of the polls that would have found nothing: N is halved
     * for each T_poll that has passed, and T counts from here. For a publisher that sleeps while it has nothing to do.
     */
    public void resumed(long nowNs) {
        long idleNs = nowNs - pollAtNs;
        if (idleNs >= 0 && !publishing) {
            for (long polls = idleNs / pollNs + 1; polls > 0 && batch > bounds.minBatch(); polls--) {
                batch = Math.max(bounds.minBatch(), batch / 2);
            }
            pollAtNs = nowNs + pollNs;
        }
        waitingSinceNs = nowNs;
    }

    /**
     * How many of the {@code waiting} messages to publish now; 0 for none before {@link #nextTakeNs()}. Any other
     * answer must be followed by {@link #handedOver}, before which there is nothing more to take.
     */
    public int take(int waiting, long nowNs) {
        sampleLoad(nowNs);
        if (publishing) {
            return 0;
        }
        boolean polled = nowNs - pollAtNs >= 0;
        if (waiting >= batch && (polled || bounds.atOnce())) {
            publish(true, nowNs);
            return bounds.gathers() ? Math.min(waiting, bounds.maxBatch()) : batch;
        }
        if (polled) {
            batch = Math.max(bounds.minBatch(), batch / 2);
            pollAtNs = nowNs + pollNs;
        }
        if (nowNs - waitingSinceNs >= bounds.longestWaitNs()) {
            if (waiting > 0) {
                int taken = Math.min(waiting, bounds.maxBatch());
                publish(false, nowNs);
                return taken;
            }
            waitingSinceNs = nowNs;
        }
        return 0;
    }

    /** Tells that the last of the taken messages has found a worker (or is written out): T_mpt ends here. */
    public void handedOver(long nowNs) {
        if (!publishing) {
            throw new IllegalStateException("handed over at " + nowNs + " ns, but nothing was taken");
        }
        publishing = false;
        waitingSinceNs = nowNs;
        if (nowNs - pollAtNs >= 0) {
            batch--;
        } else if (publishingFullBatch) {
            batch++;
        }
        pollNs = bounds.pollNs(nowNs - publishingSinceNs);
        batch = Math.max(bounds.minBatch(), Math.min(batch, largestBatch()));
    }

    /**
     * Tells that messages start on their way to the broker.
     *
     * @return a mark for {@link #acknowledged}
     */
    public long started(int messages, long nowNs) {
        addInFlight(messages, nowNs);
        return inFlightNs;
    }

    /** Tells that the broker has acknowledged messages that started at {@code startedNs} with {@code mark}. */
    public void acknowledged(int messages, long startedNs, long mark, long nowNs) {
        addInFlight(-messages, nowNs);
        double transferNs = Math.max(1L, nowNs - startedNs);
        // (∫n dt)/s is n_i, so this is n_i/s_i; the differences are right even after the sums have wrapped.
        double averageInFlight = Math.max(messages, (inFlightNs - mark) / transferNs);
        double sample = averageInFlight / transferNs * NANOS;
        // Messages acknowledged together are as many samples, so that it does not matter how they are grouped.
        capacityPerSecond = filtered(capacityPerSecond, Math.pow(bounds.gamma(), messages), sample);
    }

    /** Tells that messages that had started are not on their way any more, without an acknowledgement to learn from. */
    public void lost(int messages, long nowNs) {
        addInFlight(-messages, nowNs);
    }

    /** When {@link #take} is worth calling again, unless N messages wait earlier and the bounds say at once. */
    public long nextTakeNs() {
        long longestNs = waitingSinceNs + bounds.longestWaitNs();
        return longestNs - pollAtNs < 0 ? longestNs : pollAtNs;
    }

    /** N. */
    public int batch() {
        return batch;
    }

    /** N_max, from the capacity as it is estimated now. */
    public int largestBatch() {
        if (Double.isNaN(capacityPerSecond)) {
            return bounds.maxBatch();
        }
        double messages = Math.ceil(capacityPerSecond * pollNs / NANOS) + 1;
        return (int) Math.max(bounds.minBatch(), Math.min(messages, bounds.maxBatch()));
    }

    /** T_poll. */
    public long pollNs() {
        return pollNs;
    }

    /** λ_est in messages a second; NaN before the first sample. */
    public double loadPerSecond() {
        return loadPerSecond;
    }

    /** η_est in messages a second; NaN before the first acknowledgement. */
    public double capacityPerSecond() {
        return capacityPerSecond;
    }

    private void publish(boolean fullBatch, long nowNs) {
        publishing = true;
        publishingFullBatch = fullBatch;
        publishingSinceNs = nowNs;
        pollAtNs = nowNs + pollNs;
    }

    private void sampleLoad(long nowNs) {
        long elapsedNs = nowNs - arrivalsSinceNs;
        if (elapsedNs >= pollNs) {
            loadPerSecond = filtered(loadPerSecond, bounds.alpha(), arrivals * NANOS / elapsedNs);
            arrivals = 0;
            arrivalsSinceNs = nowNs;
        }
    }

    private void addInFlight(int messages, long nowNs) {
        inFlightNs += inFlight * (nowNs - inFlightAtNs);
        inFlightAtNs = nowNs;
        inFlight += messages;
        if (inFlight < 0) {
            throw new IllegalStateException(
                    -messages + " messages acknowledged, but only " + (inFlight - messages) + " were under way");
        }
    }

    private static double filtered(double estimate, double gain, double sample) {
        return Double.isNaN(estimate) ? sample : gain * estimate + (1 - gain) * sample;
    }

    /**
     * What the tuner may choose from, and its filters.
     *
     * @param minBatch N_min, in messages
     * @param maxBatch the most that N and a batch cut short by T may be, whatever the broker's capacity
     * @param minPollNs T_poll^min
     * @param maxPollNs T_poll^max
     * @param longestWaitNs T
     * @param alpha what λ_est keeps of its past
     * @param gamma what η_est keeps of its past
     * @param beta T_poll over T_mpt
     * @param atOnce publish as soon as N wait, not only when T_poll expires
     * @param gathers publish all that wait once N do, not N of them: for a publisher whose batch is one request, with
     *     one answer, so that a backlog is best sent together
     */
    public record Bounds(
            int minBatch,
            int maxBatch,
            long minPollNs,
            long maxPollNs,
            long longestWaitNs,
            double alpha,
            double gamma,
            double beta,
            boolean atOnce,
            boolean gathers) {
        private static final long MILLIS = 1_000_000L;
        private static final long MICROS = 1_000L;
        private static final int LARGEST_BATCH = 1 << 20;
        /** Eleven days: far below the 2⁶² ns at which a sum of two times could be taken for the past. */
        private static final long LONGEST_NS = 1_000_000_000L * MILLIS;

        public Bounds {
            require(
                    minBatch >= 1 && minBatch <= maxBatch && maxBatch <= LARGEST_BATCH,
                    "batch",
                    minBatch + " to " + maxBatch,
                    "1 ≤ least ≤ most ≤ 2²⁰");
            require(
                    minPollNs >= 1 && minPollNs <= maxPollNs && maxPollNs <= LONGEST_NS,
                    "polling interval",
                    minPollNs + " to " + maxPollNs + " ns",
                    "1 ns ≤ least ≤ most ≤ 10¹⁵ ns");
            require(
                    longestWaitNs >= 1 && longestWaitNs <= LONGEST_NS,
                    "longest wait",
                    longestWaitNs + " ns",
                    "1 ns to 10¹⁵ ns");
            require(alpha >= 0 && alpha < 1, "alpha", alpha, "0 ≤ alpha < 1");
            require(gamma >= 0 && gamma < 1, "gamma", gamma, "0 ≤ gamma < 1");
            require(beta > 1 && beta < 100, "beta", beta, "1 < beta < 100: a poll must be longer than the work in it");
        }

        /** Table I of the paper: polls of 50 to 200 ms for a broker 140 ms away, T = T_poll^max. */
        public static Bounds paper() {
            return new Bounds(1, 10_000, 50 * MILLIS, 200 * MILLIS, 200 * MILLIS, 0.5, 0.75, 1.2, false, false);
        }

        /** For a client beside its broker: a message waits at most a millisecond for company, and not once N wait. */
        public static Bounds client() {
            return new Bounds(1, 1_024, 20 * MICROS, 1_000 * MICROS, 1_000 * MICROS, 0.5, 0.75, 1.2, true, true);
        }

        /** No tuning: always N = {@code batch} and T_poll = {@code pollNs}, as the paper's baseline. */
        public static Bounds fixed(int batch, long pollNs, long longestWaitNs) {
            return new Bounds(batch, batch, pollNs, pollNs, longestWaitNs, 0.5, 0.75, 1.2, false, false);
        }

        /** These bounds, but a batch goes as soon as N wait. */
        public Bounds goingAtOnce() {
            return new Bounds(
                    minBatch, maxBatch, minPollNs, maxPollNs, longestWaitNs, alpha, gamma, beta, true, gathers);
        }

        long pollNs(long mptNs) {
            return (long) Math.max(Math.min(beta * mptNs, maxPollNs), minPollNs);
        }

        private static void require(boolean holds, String what, Object value, String rule) {
            if (!holds) {
                throw new IllegalArgumentException(what + " " + value + " is not allowed: " + rule);
            }
        }
    }
}
