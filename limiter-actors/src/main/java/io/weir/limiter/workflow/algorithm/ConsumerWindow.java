package io.weir.limiter.workflow.algorithm;

/**
 * How many messages one consumer should hold, seen from outside. Its credit (RDY) says what it would take, not what it
 * can do: the rest would wait in the client, out of any scheduler's reach. So the broker keeps a window W of its own
 * below RDY, and finds it as congestion control does:
 *
 * <ul>
 *   <li>s₀, the service time, from deliveries that found few others in flight; k̂ = max(1, FIN rate · s₀), the handlers
 *       in effect.
 *   <li>The client's queue is n·(1 − s₀/s̄), with s̄ the mean time from delivery to FIN now. While messages wait, W
 *       grows by max(1, W/8) when that is below max(1, W/4), and shrinks by as much when it is above max(2, W/2).
 *   <li>Every 10 s W is k̂/2 for half a second, or s₀ could never grow again.
 * </ul>
 *
 * <p>The FIN rate counts towards C only over pressed intervals: while a consumer is idle its rate says nothing about
 * its capacity. Time-outs and sampled skips are no service times: {@link #gone}.
 */
public final class ConsumerWindow {
    private static final long REFRESH_EVERY_NS = 10_000_000_000L;
    private static final long REFRESH_NS = 500_000_000L;
    private static final double RATE_WEIGHT = 0.2;
    private static final int SERVICE_SAMPLES = 64;

    private final int fixed;
    private int window = 1;
    private int inFlight;
    private double serviceNs;
    private long serviceSamples;
    private double handlers = 1;
    private double finRate;
    private double pressedRate;
    private boolean exact;
    private long finished;
    private double heldNs;
    private long sinceRefreshNs;
    private boolean refreshing;
    private int beforeRefresh;

    private ConsumerWindow(int fixed) {
        this.fixed = fixed;
        if (fixed > 0) {
            window = fixed;
            handlers = fixed;
        }
    }

    /** Finds the window by itself. */
    public static ConsumerWindow learning() {
        return new ConsumerWindow(0);
    }

    /** For a consumer that says how many messages it works on at once: its window is that. */
    public static ConsumerWindow of(int handlers) {
        if (handlers < 1) {
            throw new IllegalArgumentException("a consumer has at least 1 handler, not " + handlers);
        }
        return new ConsumerWindow(handlers);
    }

    /** Whether it may get another; its RDY is the caller's to see to. */
    public boolean open() {
        return inFlight < window;
    }

    /** A message goes to it. Answers whether it found few others there: then its time is a service time. */
    public boolean delivered() {
        boolean quiet = inFlight == 0 || inFlight <= handlers / 2 - 1 || fixed > 0;
        inFlight++;
        return quiet;
    }

    /**
     * A message was finished, or failed: also a failed attempt is consumer time.
     *
     * @param quiet what {@link #delivered} answered
     */
    public void finished(long tookNs, boolean quiet) {
        inFlight--;
        finished++;
        heldNs += tookNs;
        if (quiet) {
            serviceSamples++;
            serviceNs += (tookNs - serviceNs) / Math.min(serviceSamples, SERVICE_SAMPLES);
        }
    }

    /** A message timed out, was skipped, or the like: it is gone, and says nothing about the consumer. */
    public void gone() {
        inFlight--;
    }

    /** @param pressed whether messages waited for more than half of the interval */
    public void interval(long elapsedNs, boolean pressed) {
        double rate = finished * 1e9 / elapsedNs;
        double meanNs = finished == 0 ? serviceNs : heldNs / finished;
        finRate += RATE_WEIGHT * (rate - finRate);
        finished = 0;
        heldNs = 0;
        if (fixed == 0) {
            handlers = Math.max(1, finRate * serviceNs / 1e9);
        }
        if (pressed && !refreshing) {
            pressedRate += (exact ? RATE_WEIGHT : 1) * (rate - pressedRate);
            exact |= rate > 0;
        } else if (!exact || rate > pressedRate) {
            // At least so much, then.
            pressedRate = Math.max(pressedRate, rate);
        }
        if (fixed == 0) {
            sinceRefreshNs += elapsedNs;
            adapt(meanNs, pressed);
        }
    }

    private void adapt(double meanNs, boolean pressed) {
        if (refreshing) {
            if (sinceRefreshNs >= REFRESH_NS) {
                refreshing = false;
                window = Math.max(1, beforeRefresh);
                sinceRefreshNs = 0;
            }
            return;
        }
        if (sinceRefreshNs >= REFRESH_EVERY_NS) {
            refreshing = true;
            beforeRefresh = window;
            window = Math.max(1, (int) (handlers / 2));
            sinceRefreshNs = 0;
            return;
        }
        if (!pressed) {
            return;
        }
        double queue = meanNs > serviceNs ? inFlight * (1 - serviceNs / meanNs) : 0;
        int step = Math.max(1, window / 8);
        if (queue < Math.max(1, window / 4.0)) {
            window += step;
        } else if (queue > Math.max(2, window / 2.0)) {
            window = Math.max(1, window - step);
        }
    }

    public int window() {
        return window;
    }

    public int inFlight() {
        return inFlight;
    }

    /** k̂: how many it works on at once. */
    public double handlers() {
        return handlers;
    }

    /** s₀; 0 before the first. */
    public double serviceNs() {
        return serviceNs;
    }

    /** Its part of C, in messages a second; only a lower bound unless {@link #exact}. */
    public double rate() {
        return pressedRate;
    }

    /** Whether it was ever seen at its limit. */
    public boolean exact() {
        return exact;
    }

    /** What lies in the client beyond what it works on. */
    double waitingInClient() {
        return Math.max(0, inFlight - handlers);
    }
}
