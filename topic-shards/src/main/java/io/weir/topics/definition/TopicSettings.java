package io.weir.topics.definition;

import java.util.concurrent.TimeUnit;

/**
 * How a topic treats its messages at a broker; how many may pass is the limit's business.
 *
 * @param maxDelayNs a publication that waited so long is refused
 * @param maxWaiting messages that wait for a token; further publications are refused
 * @param maxQueued messages that wait for consumers, in each channel, and in the topic while it has none
 * @param clock the time that the bucket goes by
 */
public record TopicSettings(
        LimitMode mode, long maxDelayNs, int maxWaiting, int maxQueued, Overflow overflow, BucketClock clock) {
    public TopicSettings {
        if (maxDelayNs < 0 || maxWaiting < 0 || maxQueued < 1) {
            throw new IllegalArgumentException("delay of " + maxDelayNs + " ns, " + maxWaiting + " waiting, "
                    + maxQueued + " queued: delay and waiting must not be below 0, queued not below 1");
        }
    }

    /** By the gate's clock. */
    public TopicSettings(LimitMode mode, long maxDelayNs, int maxWaiting, int maxQueued, Overflow overflow) {
        this(mode, maxDelayNs, maxWaiting, maxQueued, overflow, BucketClock.GATE);
    }

    public static TopicSettings defaults() {
        return new TopicSettings(LimitMode.SHAPE, TimeUnit.SECONDS.toNanos(30), 100_000, 1_000_000, Overflow.HOLD_BACK);
    }

    public TopicSettings with(LimitMode newMode) {
        return new TopicSettings(newMode, maxDelayNs, maxWaiting, maxQueued, overflow, clock);
    }

    public TopicSettings withQueue(int newMaxQueued, Overflow newOverflow) {
        return new TopicSettings(mode, maxDelayNs, maxWaiting, newMaxQueued, newOverflow, clock);
    }

    public TopicSettings with(BucketClock newClock) {
        return new TopicSettings(mode, maxDelayNs, maxWaiting, maxQueued, overflow, newClock);
    }
}
