package io.weir.supervisor.lab.workflow.simulation;

import io.weir.limiter.workflow.algorithm.DeadlineAdmission;
import io.weir.limiter.workflow.algorithm.EntryBuckets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Where requests enter at one process: admission by deadline, then a line for σ for each workflow. */
final class EntryLine {
    private static final int MOST_WAITING = 100_000;

    private final ServiceWorld world;
    private final ServiceProcess process;
    private final EntryBuckets buckets = new EntryBuckets();
    private final DeadlineAdmission admission = new DeadlineAdmission();
    private final List<ArrayDeque<Request>> lines = new ArrayList<>();
    private final boolean[] waking = new boolean[ServiceWorld.WORKFLOWS];

    EntryLine(ServiceWorld world, ServiceProcess process) {
        this.world = world;
        this.process = process;
        for (int w = 0; w < ServiceWorld.WORKFLOWS; w++) {
            lines.add(new ArrayDeque<>());
        }
    }

    void enter(Request request) {
        int workflow = request.workflow();
        process.rates.arrived(workflow, 1);
        if (!world.control().rates()) {
            world.begin(request, process);
            return;
        }
        long nowNs = world.nowNs();
        ArrayDeque<Request> line = lines.get(workflow);
        boolean admitted = admission.admits(
                workflow,
                request.deadlineNs,
                buckets.expectedWaitNs(workflow, line.size(), nowNs),
                process.times.latencyNs(workflow),
                process.times.remainingNs(workflow),
                nowNs);
        if (!admitted || line.size() >= MOST_WAITING) {
            world.end(request, Request.End.REFUSED);
            return;
        }
        line.addLast(request);
        drain(workflow);
    }

    private void drain(int workflow) {
        ArrayDeque<Request> line = lines.get(workflow);
        while (!line.isEmpty() && !waking[workflow]) {
            Request first = line.peekFirst();
            long nowNs = world.nowNs();
            if (DeadlineAdmission.hopeless(first.deadlineNs, process.times.remainingNs(workflow), nowNs)) {
                line.pollFirst();
                world.end(first, Request.End.REFUSED);
                continue;
            }
            long waitNs = buckets.takeOrWaitNs(workflow, 1, nowNs);
            if (waitNs > 0) {
                // σ may have changed by then; it looks at least every interval.
                waking[workflow] = true;
                world.after(Math.min(waitNs, 100_000_000L), () -> {
                    waking[workflow] = false;
                    drain(workflow);
                });
                return;
            }
            line.pollFirst();
            world.begin(first, process);
        }
    }

    void interval(long nowNs) {
        admission.interval();
        for (int w = 0; w < lines.size(); w++) {
            if (world.control().rates()) {
                buckets.sigma(w, process.rates.entrySigma(w), nowNs);
                drain(w);
            }
        }
    }
}
