package io.weir.supervisor.lab.publisher.simulation;

import io.weir.limiter.simulation.EventQueue;

/**
 * The time in a simulated world, and what happens in it. Of two events at the same time the one scheduled first comes
 * first.
 */
final class SimulatedTime {
    private final EventQueue<Runnable> events = new EventQueue<>();
    private long nowNs;

    long nowNs() {
        return nowNs;
    }

    void at(long atNs, Runnable action) {
        if (atNs < nowNs) {
            throw new IllegalArgumentException("an event at " + atNs + " ns, but it is " + nowNs + " ns already");
        }
        events.plan(atNs, action);
    }

    void after(long delayNs, Runnable action) {
        at(nowNs + delayNs, action);
    }

    /** Lets everything happen up to and including {@code endNs}, which it is then. */
    void runUntil(long endNs) {
        while (events.nextNs() <= endNs) {
            nowNs = events.nextNs();
            events.take().run();
        }
        nowNs = Math.max(nowNs, endNs);
    }
}
