package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.Expense;
import io.weir.cluster.bench.Generator;
import io.weir.cluster.bench.Load;
import io.weir.cluster.bench.Result;
import io.weir.cluster.bench.Target;
import io.weir.cluster.bench.wire.NsqWire;
import io.weir.cluster.bench.wire.WireException;
import io.weir.config.Endpoint;
import io.weir.supervisor.cli.CliException;
import io.weir.supervisor.node.BrokerClient;
import io.weir.supervisor.placement.PlacementView;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * One topic placed by one policy and measured: the load runs from the beginning, at half its pace, since placement and
 * the limit follow it; when the topic is placed and the limit has had time to follow, all of it runs and is measured.
 */
final class PlacementRound {
    private static final Duration PLACED_WITHIN = Duration.ofSeconds(120);
    /** Full load before it is measured. */
    private static final Duration FULL = Duration.ofSeconds(3);
    /**
     * Until then publishers are so many times slower: a limit that is a tenth above the load takes minutes to work off
     * what waits meanwhile.
     */
    private static final int SLOWER = 2;

    private static final Duration DRAIN = Duration.ofSeconds(15);
    private static final long LOOK_MS = 250;
    private static final long TELL_EVERY_NS = TimeUnit.SECONDS.toNanos(5);
    private static final int BODY_BYTES = 100;
    private static final int CREDIT = 2_500;
    private static final String CHANNEL = "bench";

    /**
     * What came out.
     *
     * @param brokers at which publishers have their homes
     * @param publishersPerBroker how many at each of them
     * @param placedSeconds until the topic was placed
     */
    record Outcome(
            Result result,
            String state,
            int brokers,
            List<Integer> publishersPerBroker,
            int fittingRounds,
            double placedSeconds) {}

    private final BenchCluster cluster;
    private final PlacementScenario scenario;
    private final String topic;
    private final Consumer<String> progress;
    private final Duration settle;
    private final Load load;
    private volatile PlacementView.OfTopic placed;
    private volatile double placedSeconds;
    private volatile Result.Broker expense = Result.Broker.UNKNOWN;
    private volatile RuntimeException failure;
    private Generator generator;
    private boolean stopped;

    PlacementRound(
            BenchCluster cluster,
            PlacementScenario scenario,
            String topic,
            long seed,
            Duration settle,
            Duration measured,
            Consumer<String> progress) {
        this.cluster = cluster;
        this.scenario = scenario;
        this.topic = topic;
        this.progress = progress;
        this.settle = settle;
        this.load = new Load(
                scenario.shape(seed),
                scenario.publishers(),
                1,
                BODY_BYTES,
                topic,
                CHANNEL,
                CREDIT,
                PLACED_WITHIN.plus(settle).plus(FULL).plusSeconds(10),
                measured,
                DRAIN,
                Load.Pause.park);
    }

    /** Ends it from another thread. */
    synchronized void stop() {
        stopped = true;
        if (generator != null) {
            generator.stop();
        }
    }

    private synchronized void began(Generator running) throws WireException {
        generator = running;
        if (stopped) {
            throw new WireException("the load was stopped");
        }
    }

    Outcome run(String policy) throws IOException {
        cluster.ask("PUT", "/v1/placement/topics/" + topic + "/policy", Map.of("policy", policy));
        List<Expense> expenses =
                cluster.http().stream().<Expense>map(Expense.OfBroker::new).toList();
        List<Endpoint> tcp = cluster.tcp();
        NsqWire wire = NsqWire.ofPublishers(
                topic + "-", scenario.group(), scenario.messagesPerSecond() / scenario.publishers());
        Target target = new Target("weir", wire, tcp, tcp.get(0), expenses);
        try (Generator running = Generator.connect(target, load)) {
            began(running);
            running.slower(SLOWER);
            Thread watch = new Thread(() -> watch(running, policy, expenses), "bench-placement-watch");
            watch.setDaemon(true);
            watch.start();
            try {
                running.run();
            } catch (IOException e) {
                watch.interrupt();
                if (failure != null) {
                    throw failure;
                }
                throw e;
            }
            join(watch);
            PlacementView.OfTopic view = placed;
            return new Outcome(
                    running.result(expense),
                    view.state(),
                    view.brokers().size(),
                    view.brokers().stream()
                            .map(PlacementView.OfPart::publishers)
                            .toList(),
                    view.rounds(),
                    placedSeconds);
        }
    }

    private static void join(Thread watch) {
        try {
            watch.join(TimeUnit.SECONDS.toMillis(10));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void watch(Generator running, String policy, List<Expense> expenses) {
        try {
            long beganNs = System.nanoTime();
            placed = awaitPlaced(policy, beganNs);
            placedSeconds = Math.round((System.nanoTime() - beganNs) / 1e8) / 10.0;
            progress.accept(String.format(
                    "%s after %.1f s on %d brokers",
                    placed.state(), placedSeconds, placed.brokers().size()));
            sleep(settle.toMillis());
            running.slower(1);
            sleep(FULL.toMillis());
            Expense.Sample before = Expense.Sample.sum(expenses);
            long fromNs = System.nanoTime();
            running.measureNow();
            sleep(load.measured().toMillis());
            Expense.Sample after = Expense.Sample.sum(expenses);
            if (before.cpuSeconds().isPresent() && after.cpuSeconds().isPresent()) {
                double seconds = (System.nanoTime() - fromNs) / 1e9;
                double used =
                        after.cpuSeconds().getAsDouble() - before.cpuSeconds().getAsDouble();
                expense = new Result.Broker(Math.round(1_000 * used / seconds) / 10.0, null, null, null, null, null);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            failure = e;
            running.stop();
        }
    }

    private PlacementView.OfTopic awaitPlaced(String policy, long beganNs) throws InterruptedException {
        long toldNs = beganNs;
        while (true) {
            Optional<PlacementView.OfTopic> now = Optional.of(
                            cluster.answer("GET", "/v1/placement/topics/" + topic, null))
                    .filter(BrokerClient.Answer::ok)
                    .map(answer -> answer.as(PlacementView.OfTopic.class));
            if (now.filter(view -> isPlaced(view, policy)).isPresent()) {
                return now.get();
            }
            long nowNs = System.nanoTime();
            if (nowNs - beganNs > PLACED_WITHIN.toNanos()) {
                throw CliException.unavailable("topic " + topic + " was not placed by " + policy + " within "
                        + PLACED_WITHIN.toSeconds() + " s: "
                        + now.map(view -> view.state() + " by " + view.policy() + ", " + view.publishers() + " of "
                                        + scenario.publishers() + " publishers, " + view.waiting() + " wait")
                                .orElse("nobody knows of it"));
            }
            if (nowNs - toldNs > TELL_EVERY_NS) {
                toldNs = nowNs;
                progress.accept(now.map(view -> view.state() + " by " + view.policy() + ", round " + view.rounds())
                        .orElse("waiting for its publishers to be seen"));
            }
            sleep(LOOK_MS);
        }
    }

    private boolean isPlaced(PlacementView.OfTopic view, String policy) {
        boolean over = view.state().equals("FITTED") || view.state().equals("KEPT_BEST");
        return over && view.policy().equals(policy) && view.publishers() + view.unplaced() >= scenario.publishers();
    }

    private static void sleep(long millis) throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(millis);
    }
}
