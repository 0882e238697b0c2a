package io.weir.supervisor.lab.workflow.simulation;

import io.weir.limiter.simulation.EventQueue;
import io.weir.limiter.workflow.algorithm.ShardRates;
import io.weir.topics.algorithm.LongSegments;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * Services that requests run through, on a simulated clock: Wisp's testbed with the classes that a broker runs. A
 * network takes no time, so control needs one interval a hop. A seed replays.
 */
public final class ServiceWorld {
    static final int WORKFLOWS = 64;

    private final LongSegments segments = new LongSegments();

    private final Setup setup;
    private final SplittableRandom random;
    private final EventQueue<Runnable> events = new EventQueue<>();
    private final List<List<ServiceProcess>> tiers = new ArrayList<>();
    private final List<EntryLine> entries = new ArrayList<>();
    private Consumer<ServiceWorld> everyInterval = world -> {};
    private long nowNs;
    private int nextEntry;

    public ServiceWorld(Setup setup, SplittableRandom random) {
        this.setup = setup;
        this.random = random;
        for (int tier = 0; tier < setup.tiers().size(); tier++) {
            List<ServiceProcess> processes = new ArrayList<>();
            for (int i = 0; i < setup.tiers().get(tier).processes(); i++) {
                processes.add(new ServiceProcess(this, tier, i, setup));
            }
            tiers.add(processes);
        }
        tiers.get(0).forEach(process -> entries.add(new EntryLine(this, process)));
        after(ShardRates.INTERVAL_NS, this::interval);
    }

    LongSegments segments() {
        return segments;
    }

    public long nowNs() {
        return nowNs;
    }

    Setup.Control control() {
        return setup.control();
    }

    ServiceProcess process(int tier, int index) {
        return tiers.get(tier).get(index);
    }

    public void after(long delayNs, Runnable event) {
        events.plan(nowNs + delayNs, event);
    }

    public long exponentialNs(double meanNs) {
        return Math.max(1, (long) (-Math.log(1 - random.nextDouble()) * meanNs));
    }

    public void everyInterval(Consumer<ServiceWorld> what) {
        everyInterval = what;
    }

    /** Σσ over a tier's processes; those that are unbounded count as what is offered. */
    public double announced(int tier, int workflow) {
        double sum = 0;
        for (ServiceProcess process : tiers.get(tier)) {
            double sigma = process.rates.sigma(workflow);
            sum += Double.isInfinite(sigma) ? process.rates.offered(workflow) : sigma;
        }
        return sum;
    }

    /** How many processes of a tier are overloaded now. */
    public int overloaded(int tier) {
        return (int) tiers.get(tier).stream().filter(ServiceProcess::overloaded).count();
    }

    public int queued(int tier) {
        return tiers.get(tier).stream().mapToInt(ServiceProcess::queued).sum();
    }

    public void run(long untilNs) {
        while (events.nextNs() <= untilNs) {
            nowNs = events.nextNs();
            events.take().run();
        }
        nowNs = untilNs;
    }

    /** A request enters, at the entries in turn. */
    public void submit(Setup.Flow flow, long timeoutNs, Consumer<Request> onEnd) {
        enter(new Request(flow, nowNs, nowNs + timeoutNs, draw(flow), onEnd));
    }

    /** One whose deadline is so many times what it takes when it is alone. */
    public void submitWithin(double times, Setup.Flow flow, Consumer<Request> onEnd) {
        long[][] servicesNs = draw(flow);
        enter(new Request(flow, nowNs, nowNs + (long) (times * aloneNs(flow, servicesNs)), servicesNs, onEnd));
    }

    private void enter(Request request) {
        nextEntry = (nextEntry + 1) % entries.size();
        entries.get(nextEntry).enter(request);
    }

    private long[][] draw(Setup.Flow flow) {
        long[][] servicesNs = new long[flow.steps().size()][];
        for (int i = 0; i < servicesNs.length; i++) {
            Setup.Step step = flow.steps().get(i);
            servicesNs[i] = new long[step.tasks()];
            Arrays.setAll(servicesNs[i], task -> exponentialNs(step.meanNs()));
        }
        return servicesNs;
    }

    /** Each step takes as long as its longest task, or as all of them on all handlers of their tier. */
    private double aloneNs(Setup.Flow flow, long[][] servicesNs) {
        double sum = 0;
        for (int i = 0; i < servicesNs.length; i++) {
            Setup.Tier tier = setup.tiers().get(flow.steps().get(i).tier());
            double spread = (double) Arrays.stream(servicesNs[i]).sum() / (tier.processes() * tier.handlers());
            sum += Math.max(Arrays.stream(servicesNs[i]).max().orElse(0), spread);
        }
        return sum;
    }

    /** Poisson arrivals from now until then. */
    public void open(Setup.Flow flow, double perSecond, long untilNs, long timeoutNs, Consumer<Request> onEnd) {
        after(exponentialNs(1e9 / perSecond), () -> {
            if (nowNs < untilNs) {
                submit(flow, timeoutNs, onEnd);
                open(flow, perSecond, untilNs, timeoutNs, onEnd);
            }
        });
    }

    /** A client that sends the next when it is answered, and comes back after {@code backNs} when it was refused. */
    public void closed(Setup.Flow flow, long timeoutNs, long backNs, Consumer<Request> onEnd) {
        submit(flow, timeoutNs, request -> {
            onEnd.accept(request);
            after(request.end == Request.End.DONE ? 1 : backNs, () -> closed(flow, timeoutNs, backNs, onEnd));
        });
    }

    void begin(Request request, ServiceProcess entry) {
        request.step = 0;
        request.open = 1;
        request.ranAt[0] = entry;
        entry.join(request, request.servicesNs[0][0]);
    }

    void taskDone(Request request, long tookNs) {
        if (--request.open > 0 || request.end == Request.End.DROPPED) {
            return;
        }
        request.elapsedNs += tookNs;
        if (++request.step == request.flow.steps().size()) {
            end(request, Request.End.DONE);
            return;
        }
        Setup.Step step = request.flow.steps().get(request.step);
        request.open = step.tasks();
        ServiceProcess caller = request.ranAt[step.caller()];
        for (int i = 0; i < step.tasks() && request.end == null; i++) {
            ServiceProcess to = choose(request.flow, step.tier());
            request.ranAt[request.step] = to;
            caller.published(to, request.workflow());
            to.join(request, request.servicesNs[request.step][i]);
        }
    }

    private ServiceProcess choose(Setup.Flow flow, int tier) {
        List<Integer> homes = flow.homes().get(tier);
        int index = homes.isEmpty() ? random.nextInt(tiers.get(tier).size()) : homes.get(random.nextInt(homes.size()));
        return process(tier, index);
    }

    void end(Request request, Request.End how) {
        if (request.end == null) {
            request.end = how;
            request.endNs = nowNs;
            request.onEnd.accept(request);
        }
    }

    private void interval() {
        tiers.forEach(tier -> tier.forEach(ServiceProcess::talk));
        tiers.forEach(tier -> tier.forEach(process -> process.interval(nowNs)));
        entries.forEach(entry -> entry.interval(nowNs));
        everyInterval.accept(this);
        after(ShardRates.INTERVAL_NS, this::interval);
    }
}
