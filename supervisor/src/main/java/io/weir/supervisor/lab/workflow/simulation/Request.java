package io.weir.supervisor.lab.workflow.simulation;

import java.util.function.Consumer;

/** A request on its way, and how it ended. */
public final class Request {
    /** How a request ended. */
    public enum End {
        DONE,
        /** Not let in, or given up in the line for σ. */
        REFUSED,
        /** Given up in a service, because it could not be in time any more. */
        DROPPED
    }

    final Setup.Flow flow;
    final long deadlineNs;
    final ServiceProcess[] ranAt;
    final Consumer<Request> onEnd;
    /** The service time of every task of every step: drawn beforehand, so that it is known what it takes alone. */
    final long[][] servicesNs;

    int step = -1;
    int open;
    /** The service time along its way so far. */
    long elapsedNs;

    long startNs;
    long endNs;
    End end;

    Request(Setup.Flow flow, long startNs, long deadlineNs, long[][] servicesNs, Consumer<Request> onEnd) {
        this.flow = flow;
        this.servicesNs = servicesNs;
        this.startNs = startNs;
        this.deadlineNs = deadlineNs;
        this.onEnd = onEnd;
        ranAt = new ServiceProcess[flow.steps().size()];
    }

    public int workflow() {
        return flow.number();
    }

    public long startNs() {
        return startNs;
    }

    public long endNs() {
        return endNs;
    }

    public End end() {
        return end;
    }

    public long deadlineNs() {
        return deadlineNs;
    }

    public double latencyMs() {
        return (endNs - startNs) / 1e6;
    }

    /** Whether it was done by its deadline. */
    public boolean inTime() {
        return end == End.DONE && endNs <= deadlineNs;
    }
}
