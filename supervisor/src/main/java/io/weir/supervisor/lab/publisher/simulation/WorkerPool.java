package io.weir.supervisor.lab.publisher.simulation;

import java.util.ArrayDeque;

/**
 * The worker threads that receiving and publishing share (section IV-A). With priority a free worker takes a received
 * request before a message to publish; without it they are taken in the order in which they came. A worker is not taken
 * back before its task calls {@link #release}.
 */
final class WorkerPool {
    private record Task(long number, Runnable start) {}

    private final boolean receivePriority;
    private final int reserved;
    private final ArrayDeque<Task> received = new ArrayDeque<>();
    private final ArrayDeque<Task> toPublish = new ArrayDeque<>();
    private int idle;
    private long tasks;

    WorkerPool(PublisherModel model) {
        receivePriority = model.receivePriority();
        reserved = model.reservedWorkers();
        idle = model.workers();
    }

    /** Requests that wait for a worker in the receive thread's buffer. */
    int receiveBacklog() {
        return received.size();
    }

    int idle() {
        return idle;
    }

    void receive(Runnable start) {
        received.add(new Task(tasks++, start));
        assign();
    }

    void publish(Runnable start) {
        toPublish.add(new Task(tasks++, start));
        assign();
    }

    void release() {
        idle++;
        assign();
    }

    private void assign() {
        for (ArrayDeque<Task> next = next(); next != null; next = next()) {
            idle--;
            next.poll().start.run();
        }
    }

    private ArrayDeque<Task> next() {
        boolean canPublish = !toPublish.isEmpty() && idle > reserved;
        boolean canReceive = !received.isEmpty() && idle > 0;
        if (canPublish && canReceive) {
            return receivePriority || received.peek().number < toPublish.peek().number ? received : toPublish;
        }
        return canReceive ? received : canPublish ? toPublish : null;
    }
}
