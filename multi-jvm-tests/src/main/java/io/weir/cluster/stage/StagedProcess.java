package io.weir.cluster.stage;

import io.weir.cluster.stage.Script.Answer;
import io.weir.cluster.stage.Script.Order;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** A process on a host of a stage. It ends with the stage at the latest. */
public final class StagedProcess {
    private static final long POLL_MS = 20;
    private static final Duration GONE_WITHIN = Duration.ofSeconds(10);

    private final String name;
    private final long number;
    private final Function<Order, Answer> backstage;
    private boolean paused;

    StagedProcess(String name, long number, Function<Order, Answer> backstage) {
        this.name = name;
        this.number = number;
        this.backstage = backstage;
    }

    /** Its process id, as processes on the stage see it; outside it has another. */
    public long number() {
        return number;
    }

    public boolean isAlive() {
        return backstage.apply(Order.of(Script.ALIVE).number(number)).number() == 1;
    }

    public synchronized boolean isPaused() {
        return paused && isAlive();
    }

    /** SIGTERM; one that is paused hears it when it is resumed. */
    public void terminate() {
        signal(Script.SIGNAL, "TERM");
    }

    /** SIGKILL, and waits until it is gone; nothing if it has ended. Its children find that out by themselves. */
    public void kill() {
        signal(Script.SIGNAL, "KILL");
        awaitEnd();
    }

    /** SIGKILL to it and all its children, and waits until it is gone; nothing if it has ended. */
    public void killAll() {
        signal(Script.SIGNAL_ALL, "KILL");
        awaitEnd();
    }

    private void awaitEnd() {
        if (!awaitExit(GONE_WITHIN)) {
            throw new IllegalStateException(this + " was killed and is still there");
        }
    }

    /** SIGSTOP: it stands still, with all its children, threads, sockets and clocks read late. */
    public synchronized void pause() {
        signal(Script.SIGNAL_ALL, "STOP");
        paused = true;
    }

    /** SIGCONT. */
    public synchronized void resume() {
        signal(Script.SIGNAL_ALL, "CONT");
        paused = false;
    }

    private void signal(String order, String signal) {
        backstage.apply(Order.of(order).number(number).with(List.of(signal)));
    }

    /** Whether it ended in that time. */
    public boolean awaitExit(Duration within) {
        long deadlineNs = System.nanoTime() + within.toNanos();
        while (isAlive()) {
            if (System.nanoTime() - deadlineNs > 0) {
                return false;
            }
            try {
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    @Override
    public String toString() {
        return name + " (" + number + ")";
    }
}
