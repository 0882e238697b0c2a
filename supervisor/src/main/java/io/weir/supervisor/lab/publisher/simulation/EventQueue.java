package io.weir.supervisor.lab.publisher.simulation;

import java.util.PriorityQueue;

/** What will happen next in a simulated world; of two events at the same time the one scheduled first comes first. */
final class EventQueue {
    private record Event(long atNs, long number, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(atNs, other.atNs);
            return byTime != 0 ? byTime : Long.compare(number, other.number);
        }
    }

    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long scheduled;
    private long nowNs;

    long nowNs() {
        return nowNs;
    }

    void at(long atNs, Runnable action) {
        if (atNs < nowNs) {
            throw new IllegalArgumentException("an event at " + atNs + " ns, but it is " + nowNs + " ns already");
        }
        events.add(new Event(atNs, scheduled++, action));
    }

    void after(long delayNs, Runnable action) {
        at(nowNs + delayNs, action);
    }

    /** Lets everything happen up to and including {@code endNs}, which it is then. */
    void runUntil(long endNs) {
        while (!events.isEmpty() && events.peek().atNs <= endNs) {
            Event next = events.poll();
            nowNs = next.atNs;
            next.action.run();
        }
        nowNs = Math.max(nowNs, endNs);
    }
}
