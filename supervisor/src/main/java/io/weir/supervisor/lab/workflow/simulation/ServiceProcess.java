package io.weir.supervisor.lab.workflow.simulation;

import io.weir.limiter.workflow.algorithm.Amplification;
import io.weir.limiter.workflow.algorithm.Announced;
import io.weir.limiter.workflow.algorithm.BottleneckFairness;
import io.weir.limiter.workflow.algorithm.ChannelCapacity;
import io.weir.limiter.workflow.algorithm.ConsumerWindow;
import io.weir.limiter.workflow.algorithm.DeadlineAdmission;
import io.weir.limiter.workflow.algorithm.Edge;
import io.weir.limiter.workflow.algorithm.RemainingTimes;
import io.weir.limiter.workflow.algorithm.Resource;
import io.weir.limiter.workflow.algorithm.ShardRates;
import io.weir.topics.algorithm.EntryQueue;
import io.weir.topics.algorithm.FairQueue;
import io.weir.topics.algorithm.MessageTag;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * A process of a service: a queue in a scheduler's order before a pool of handlers, and the classes that a broker would
 * run at a topic with one channel. Only the handlers are made up.
 */
final class ServiceProcess {
    private static final int MOST_QUEUED = 1 << 20;
    private static final int MOST_EDGES = 4_096;
    /** The virtual deadline of requests without one. */
    private static final long MAX_DELAY_NS = 10_000_000_000L;

    private final ServiceWorld world;
    final int tier;
    final int index;
    final Amplification amplification = new Amplification(MOST_EDGES, 0);
    final Announced announced = new Announced(MOST_EDGES);
    final RemainingTimes times = new RemainingTimes(ServiceWorld.WORKFLOWS);
    final ShardRates rates;
    private final EntryQueue queue;
    private final ConsumerWindow handlers;
    private final ChannelCapacity capacity = new ChannelCapacity(0);
    private final Resource resource;
    private final MessageTag tag = new MessageTag();
    private final List<Task> tasks = new ArrayList<>();
    private final ArrayDeque<Integer> free = new ArrayDeque<>();

    /** One task of a request. */
    private record Task(Request request, long serviceNs, long joinedNs) {}

    ServiceProcess(ServiceWorld world, int tier, int index, Setup setup) {
        this.world = world;
        this.tier = tier;
        this.index = index;
        Setup.Control control = setup.control();
        queue = control.fair()
                ? new FairQueue(ServiceWorld.WORKFLOWS, control.order(), MOST_QUEUED, MAX_DELAY_NS, world.segments())
                : EntryQueue.of(control.order(), MOST_QUEUED, MAX_DELAY_NS, world.segments());
        handlers = ConsumerWindow.of(setup.tiers().get(tier).handlers());
        resource = new Resource(1 + tier * 1_000L + index);
        rates = new ShardRates(control.knob(), new BottleneckFairness(), List.of(resource), MOST_EDGES);
    }

    void join(Request request, long serviceNs) {
        long nowNs = world.nowNs();
        int workflow = request.workflow();
        Integer slot = free.pollLast();
        Task task = new Task(request, serviceNs, nowNs);
        if (slot == null) {
            slot = tasks.size();
            tasks.add(task);
        } else {
            tasks.set(slot, task);
        }
        tag.begin(workflow, nowNs).cost(capacity.costNs(workflow)).remaining(times.remainingNs(workflow));
        tag.deadline(request.deadlineNs).work(request.elapsedNs, request.elapsedNs + tag.remainingNs);
        if (!queue.add(slot, tag)) {
            throw new IllegalStateException("more than " + MOST_QUEUED + " tasks wait at one process");
        }
        serve();
    }

    private void serve() {
        boolean drops = world.control().drops();
        while (handlers.open() && !queue.isEmpty()) {
            int slot = (int) queue.poll();
            Task task = tasks.get(slot);
            Request request = task.request;
            // Without Wisp nobody knows that a request has timed out: its work is done all the same.
            if (drops && request.end != null) {
                free.addLast(slot);
            } else if (drops
                    && DeadlineAdmission.hopeless(
                            request.deadlineNs, times.remainingNs(request.workflow()), world.nowNs())) {
                free.addLast(slot);
                world.end(request, Request.End.DROPPED);
            } else {
                boolean quiet = handlers.delivered();
                long tookNs = task.serviceNs;
                world.after(tookNs, () -> finish(slot, tookNs, quiet));
            }
        }
        capacity.waiting(!queue.isEmpty(), world.nowNs());
    }

    private void finish(int slot, long tookNs, boolean quiet) {
        Task task = tasks.get(slot);
        free.addLast(slot);
        int workflow = task.request.workflow();
        handlers.finished(tookNs, quiet);
        capacity.finished(workflow, tookNs, quiet);
        times.finished(0, workflow, tookNs, world.nowNs() - task.joinedNs);
        amplification.finished(0, workflow, 1, world.nowNs());
        world.taskDone(task.request, tookNs);
        serve();
    }

    void published(ServiceProcess to, int workflow) {
        amplification.published(Edge.of(0, workflow, to.tier, to.index), 1, world.nowNs());
    }

    /** Tells those downstream what it offers them, and hears what they announce. */
    void talk() {
        amplification.visit((edge, alpha) -> {
            int workflow = Edge.workflow(edge);
            ServiceProcess to = world.process(Edge.topic(edge), Edge.broker(edge));
            to.rates.offered(workflow, tier, index, rates.offered(workflow) * alpha);
            announced.heard(
                    workflow,
                    to.tier,
                    to.index,
                    to.rates.announcement(
                            workflow, tier, index, to.times.remainingNs(workflow), to.times.latencyNs(workflow)));
        });
    }

    void interval(long nowNs) {
        handlers.interval(ShardRates.INTERVAL_NS, capacity.pressed(nowNs));
        capacity.interval(queue.size(), List.of(handlers), nowNs);
        capacity.tell(resource);
        amplification.age(nowNs);
        rates.interval(amplification, announced, nowNs);
        times.interval(amplification, announced, ShardRates.INTERVAL_NS);
    }

    int queued() {
        return queue.size();
    }

    boolean overloaded() {
        return capacity.overloaded();
    }
}
