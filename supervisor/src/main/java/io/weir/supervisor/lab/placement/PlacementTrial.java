package io.weir.supervisor.lab.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.simulation.Sample;
import io.weir.supervisor.lab.LabRun;
import io.weir.supervisor.placement.algorithm.Assignment;
import io.weir.supervisor.placement.algorithm.BrokerCapacities;
import io.weir.supervisor.placement.algorithm.BrokerModel;
import io.weir.supervisor.placement.algorithm.BucketForecast;
import io.weir.supervisor.placement.algorithm.Forecast;
import io.weir.supervisor.placement.algorithm.GroupFinder;
import io.weir.supervisor.placement.algorithm.LatencyCounts;
import io.weir.supervisor.placement.algorithm.LoadDistribution;
import io.weir.supervisor.placement.algorithm.LoadDistribution.Settings;
import io.weir.supervisor.placement.algorithm.PlacedTopic;
import io.weir.supervisor.placement.algorithm.Planner;
import io.weir.supervisor.placement.algorithm.Policy;
import io.weir.supervisor.placement.algorithm.ServiceModel;
import io.weir.supervisor.placement.algorithm.Slo;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.supervisor.placement.algorithm.TopicTrace;
import io.weir.supervisor.placement.algorithm.TraceForecast;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A new topic comes to six simulated brokers and is placed by the production {@link LoadDistribution}, which measures
 * them; then the outcome is measured once more, for longer and on other messages.
 *
 * <p>The brokers. The paper gives no service times, but says what a broker can and cannot carry. A batch that a socket
 * delivers costs 11.4 µs, each message in it 6.75 µs, both exponential, and 0.25 ms pass on the way (network, clients).
 * So a broker serves up to 55,000 single messages a second and 50,000 at a 99th percentile of 1 ms (60,000 overload one
 * in Fig. 6b, 40,000 beside 10,000 do not in Fig. 8); it carries 80,000 in batches of ten, as the one of Fig. 8 does;
 * and 50 messages at once, 5 batches, are what it serves just within 1 ms, as Table 1 says (groups of 5 fit one broker,
 * of 10 two, and so on). Brokers differ by up to 3% in speed; the forecast knows only the first one's calibration.
 *
 * <p>The bucket. r is 10% above the rate, as in the paper. Its b lets 1% of the messages wait; then no broker, however
 * fast, has a 99th percentile below 1 ms, since 1% wait for longer than that already if they come in large bursts. Here
 * b lets 0.5% wait, and the other half is the broker's.
 */
final class PlacementTrial {
    static final Slo SLO = Slo.p99(1_000_000);
    static final int BROKERS = 6;
    static final double PUBLISHER_RATE = 10;
    static final ServiceModel SERVICE = new ServiceModel(250_000, 11_400, 6_750, false);
    static final long SECOND_NS = 1_000_000_000L;
    private static final double NO_WAIT = 0.995;
    private static final double SPEED_DIFFERENCE = 0.03;
    private static final int OTHER_BATCH = 10;
    private static final long WINDOW_NS = SECOND_NS / 4;
    /** Single publishers need a shorter trace: their waits are short. */
    private static final int TRACE_MESSAGES = 150_000;

    private static final int GROUP_TRACE_MESSAGES = 400_000;
    private static final double TRACE_SECONDS = 60;
    private static final int CALIBRATION_MESSAGES = 20_000;
    private static final int MCAP_MESSAGES = 300_000;
    /** As a broker's, and the placement's: see PlacementTable and FoundGroups. */
    private static final long SLOT_NS = 10_000_000L;

    private static final int OLDEST_SLOTS = 60_000;
    private static final long FIND_NS = 10 * SECOND_NS;
    private static final int FIND_ROUNDS = 6;
    private static final List<BrokerId> IDS = IntStream.rangeClosed(1, BROKERS)
            .mapToObj(i -> new BrokerId("b" + i))
            .toList();
    private static final double[] MCAPS = new double[BROKERS];

    static {
        Arrays.fill(MCAPS, mcap(SERVICE, OTHER_BATCH));
    }

    private static final TopicName TOPIC = new TopicName("new-topic");

    /** Where a distribution starts from. */
    enum Start {
        RATES,
        FORMULA,
        TRACE
    }

    /**
     * @param otherRates what the brokers carry already, in batches of ten
     * @param brokers how many to use without any fitting, or 0
     * @param forecastError by which factor the forecast takes the brokers to be slower than calibration found them
     * @param found whether groups are found by {@link GroupFinder} in a minute's sendings; else publishers say them
     */
    record Setup(
            PublisherTraffic.Kind kind,
            Policy policy,
            double[] otherRates,
            Settings settings,
            Start start,
            double forecastError,
            int brokers,
            double measureSeconds,
            boolean found) {
        static Setup of(PublisherTraffic.Kind kind, Policy policy, double measureSeconds) {
            return new Setup(kind, policy, new double[BROKERS], SHORT, Start.TRACE, 1, 0, measureSeconds, false);
        }

        Setup beside(double... rates) {
            return new Setup(kind, policy, rates, settings, start, forecastError, brokers, measureSeconds, found);
        }

        Setup fitting(Settings how, Start from) {
            return new Setup(kind, policy, otherRates, how, from, forecastError, brokers, measureSeconds, found);
        }

        Setup mistakenBy(double factor) {
            return new Setup(kind, policy, otherRates, settings, start, factor, brokers, measureSeconds, found);
        }

        Setup unfitted(int on) {
            return new Setup(kind, policy, otherRates, settings, start, forecastError, on, measureSeconds, found);
        }

        /** Publishers do not say their groups; they are found. */
        Setup finding() {
            return new Setup(kind, policy, otherRates, settings, start, forecastError, brokers, measureSeconds, true);
        }
    }

    /** At ten thousand messages a second and more a round need not last a minute even if it is never clear. */
    static final Settings SHORT = new Settings(SECOND_NS / 2, 5 * SECOND_NS, true);

    /** For groups: their waits come in clusters, some seconds apart. */
    static final Settings LONG = new Settings(2 * SECOND_NS, 30 * SECOND_NS, true);

    /**
     * @param worst the latencies of the broker that fares worst
     * @param seconds how long the distribution took
     * @param roundsAt how many rounds were measured with so many brokers in use
     */
    record Result(
            LatencyCounts worst,
            int brokers,
            int firstBrokers,
            int rounds,
            double seconds,
            int[] roundsAt,
            boolean fitted,
            double smallestPart) {
        double p99Ms() {
            return worst.quantileNs(SLO.quantile()) / 1e6;
        }
    }

    /** One setup's results over the seeds. */
    static final class Outcome {
        final Sample p99Ms = new Sample();
        final Sample brokers = new Sample();
        final Sample rounds = new Sample();
        final Sample seconds = new Sample();
        final Sample smallestPart = new Sample();
        final Sample[] roundsAt =
                Stream.generate(Sample::new).limit(BROKERS + 1).toArray(Sample[]::new);
        final LatencyCounts pooled = new LatencyCounts(SLO);
        /** How often every publisher was placed and every broker met the objective, by what was measured. */
        int fitted;
        /** How often the number of brokers that it began with was also the last, and fitted. */
        int predicted;
        /** How often the last measurement, longer and of other messages, agreed with the verdict. */
        int confirmed;

        private void add(Result result) {
            p99Ms.add(result.p99Ms());
            brokers.add(result.brokers());
            rounds.add(result.rounds());
            seconds.add(result.seconds());
            smallestPart.add(result.smallestPart());
            for (int k = 0; k <= BROKERS; k++) {
                roundsAt[k].add(result.roundsAt()[k]);
            }
            pooled.merge(result.worst());
            fitted += result.fitted() ? 1 : 0;
            predicted += result.fitted() && result.brokers() == result.firstBrokers() ? 1 : 0;
            confirmed += result.fitted() == result.worst().tooSlowPart() <= SLO.tolerated() ? 1 : 0;
        }

        /**
         * Over the messages of all seeds: a mean of percentiles is at the mercy of one seed's rare cluster of waits.
         */
        double pooledP99Ms() {
            return pooled.quantileNs(SLO.quantile()) / 1e6;
        }
    }

    /** Runs every setup for every seed, all of them in parallel; the order of the results is fixed. */
    static <K> Map<K, Outcome> run(Map<K, Setup> setups, LabRun run) {
        record Job(Object key, Setup setup, long seed) {}
        List<Job> jobs = setups.entrySet().stream()
                .flatMap(entry -> run.seedStream().mapToObj(seed -> new Job(entry.getKey(), entry.getValue(), seed)))
                .toList();
        int[] done = {0};
        List<Result> results = jobs.parallelStream()
                .map(job -> {
                    Result result = new PlacementTrial(job.setup(), job.seed()).run();
                    synchronized (done) {
                        run.progress().at(++done[0], jobs.size(), "seed " + job.seed());
                    }
                    return result;
                })
                .toList();
        Map<K, Outcome> outcomes = new LinkedHashMap<>();
        setups.keySet().forEach(key -> outcomes.put(key, new Outcome()));
        for (int i = 0; i < results.size(); i++) {
            outcomes.get(jobs.get(i).key()).add(results.get(i));
        }
        return outcomes;
    }

    private final Setup setup;
    private final long seed;
    private final ServiceModel[] services = new ServiceModel[BROKERS];
    private final PlacedTopic topic;
    private final TopicMembers members;
    /** Members are sorted by group; this is where each publisher is among them. */
    private final int[] memberOf;

    private final TopicTrace trace;

    /** What chance is for: the streams of one trial. */
    private enum Chance {
        SPEEDS,
        PROFILE,
        FITTING,
        OUTCOME,
        DRAWS,
        COSTS,
        CALIBRATION,
        FINDING
    }

    private PlacementTrial(Setup setup, long seed) {
        this.setup = setup;
        this.seed = seed;
        SplittableRandom speeds = random(Chance.SPEEDS);
        for (int i = 0; i < BROKERS; i++) {
            services[i] = SERVICE.slowedBy(1 + SPEED_DIFFERENCE * (2 * speeds.nextDouble() - 1));
        }
        double seconds = Math.min(
                TRACE_SECONDS,
                (setup.kind().groupSize() == 1 ? TRACE_MESSAGES : GROUP_TRACE_MESSAGES)
                        / setup.kind().totalRate());
        this.members = setup.found() ? found() : setup.kind().members();
        this.memberOf = new int[members.size()];
        for (int member = 0; member < memberOf.length; member++) {
            memberOf[members.publisher(member)] = member;
        }
        TopicTrace profiled = traffic(Chance.PROFILE).trace((long) (seconds * SECOND_NS));
        Arrays.setAll(profiled.member(), i -> memberOf[profiled.member()[i]]);
        this.trace = profiled;
        Limit limit = PublisherTraffic.limit(setup.kind(), trace, NO_WAIT);
        this.topic = new PlacedTopic(TOPIC, limit, SLO);
    }

    /** The publishers by the groups that are found in a minute, by brokers that report as real ones do. */
    private TopicMembers found() {
        PublisherTraffic traffic = traffic(Chance.FINDING);
        GroupFinder finder = new GroupFinder(setup.kind().publishers(), OLDEST_SLOTS, seed);
        for (long untilNs = FIND_NS; untilNs <= FIND_ROUNDS * FIND_NS; untilNs += FIND_NS) {
            traffic.until(untilNs, (atNs, publisher) -> finder.heard(publisher + 1L, atNs / SLOT_NS, 1));
            finder.round(untilNs / SLOT_NS);
        }
        int[] publishers = IntStream.range(0, setup.kind().publishers()).toArray();
        double[] rates = new double[publishers.length];
        Arrays.fill(rates, setup.kind().rate());
        double[] sizes = new double[publishers.length];
        Arrays.fill(sizes, setup.kind().batch());
        int[] groups = new int[publishers.length];
        Arrays.setAll(groups, publisher -> finder.groupOf(publisher + 1L));
        return TopicMembers.of(publishers, rates, sizes, groups);
    }

    private SplittableRandom random(Chance of) {
        return new SplittableRandom(1_000 * seed + of.ordinal());
    }

    /** Periodic publishers have the same phases whatever for; Poisson ones send at other instants. */
    private PublisherTraffic traffic(Chance of) {
        boolean periodic = setup.kind().timing() == PublisherTraffic.Timing.PERIODIC;
        return new PublisherTraffic(setup.kind(), random(periodic ? Chance.PROFILE : of));
    }

    private Result run() {
        if (setup.brokers() > 0) {
            return unfitted();
        }
        BrokerCapacities capacities = new BrokerCapacities(IDS, MCAPS, setup.otherRates());
        LoadDistribution distribution = new LoadDistribution(
                topic, members, capacities, setup.policy(), forecast(), setup.settings(), random(Chance.DRAWS), 0);
        int[] roundsAt = new int[BROKERS + 1];
        long endedNs = fit(distribution, roundsAt);
        return outcome(
                distribution.assignment(),
                distribution.firstBrokers(),
                distribution.round(),
                endedNs / 1e9,
                roundsAt,
                distribution.state() == LoadDistribution.State.FITTED);
    }

    /** On so many brokers as the setup says, in equal parts. */
    private Result unfitted() {
        double[] rooms = new double[BROKERS];
        Arrays.fill(rooms, 0, setup.brokers(), 1.01 * setup.kind().totalRate() / setup.brokers());
        Assignment assignment = new Planner(setup.policy(), random(Chance.DRAWS))
                .plan(members, new BrokerCapacities(IDS, rooms))
                .assignment();
        return outcome(assignment, setup.brokers(), 0, 0, new int[BROKERS + 1], false);
    }

    private Optional<Forecast> forecast() {
        ServiceModel known = calibrated();
        return switch (setup.start()) {
            case RATES -> Optional.empty();
            case FORMULA -> Optional.of(new BucketForecast(topic, known, OTHER_BATCH));
            case TRACE -> Optional.of(new TraceForecast(topic, trace, known, OTHER_BATCH, seed));
        };
    }

    /**
     * The first broker, saturated with single messages and with batches, and a lone message of it: each with what
     * chance adds.
     */
    private ServiceModel calibrated() {
        SplittableRandom chance = random(Chance.CALIBRATION);
        double singlesNs = 0;
        double batchesNs = 0;
        for (int i = 0; i < CALIBRATION_MESSAGES; i++) {
            singlesNs += services[0].wakeNs() * chance.nextExponential()
                    + services[0].messageNs() * chance.nextExponential();
            batchesNs += services[0].messageNs() * chance.nextExponential()
                    + (i % OTHER_BATCH == 0 ? services[0].wakeNs() * chance.nextExponential() : 0);
        }
        return ServiceModel.calibrated(
                        1e9 * CALIBRATION_MESSAGES / singlesNs,
                        1e9 * CALIBRATION_MESSAGES / batchesNs,
                        OTHER_BATCH,
                        services[0].baseNs() + services[0].perMessageNs(1))
                .slowedBy(setup.forecastError());
    }

    /** Lets the simulated brokers run and report, until the distribution has ended; the answer is when. */
    private long fit(LoadDistribution distribution, int[] roundsAt) {
        PublisherTraffic traffic = traffic(Chance.FITTING);
        long nowNs = 0;
        while (distribution.state() == LoadDistribution.State.MEASURING) {
            Assignment assignment = distribution.assignment();
            roundsAt[assignment.brokersUsed()]++;
            Cluster cluster = new Cluster(assignment, nowNs);
            while (distribution.state() == LoadDistribution.State.MEASURING
                    && distribution.assignment() == assignment) {
                long fromNs = nowNs;
                nowNs += WINDOW_NS;
                List<LatencyCounts.Totals> before =
                        Arrays.stream(cluster.counts).map(LatencyCounts::totals).toList();
                cluster.run(traffic, nowNs);
                for (int broker = 0; broker < BROKERS && distribution.assignment() == assignment; broker++) {
                    distribution.onMeasurement(
                            broker,
                            cluster.counts[broker].since(before.get(broker), assignment.revision(), fromNs, nowNs),
                            nowNs);
                }
            }
        }
        return nowNs;
    }

    private Result outcome(
            Assignment assignment, int firstBrokers, int rounds, double seconds, int[] roundsAt, boolean fitted) {
        PublisherTraffic traffic = traffic(Chance.OUTCOME);
        Cluster cluster = new Cluster(assignment, 0);
        long warmUpNs = (long) (setup.measureSeconds() * SECOND_NS / 5);
        cluster.run(traffic, warmUpNs);
        cluster.forget();
        cluster.run(traffic, warmUpNs + (long) (setup.measureSeconds() * SECOND_NS));
        LatencyCounts worst = cluster.counts[0];
        double least = 1;
        for (int broker = 0; broker < BROKERS; broker++) {
            LatencyCounts counts = cluster.counts[broker];
            worst = counts.quantileNs(SLO.quantile()) > worst.quantileNs(SLO.quantile()) ? counts : worst;
            least = assignment.publishers(broker) > 0 ? Math.min(least, assignment.part(broker)) : least;
        }
        return new Result(worst, assignment.brokersUsed(), firstBrokers, rounds, seconds, roundsAt, fitted, least);
    }

    /** The brokers with one assignment, buckets full and servers idle at first. */
    private final class Cluster {
        final BrokerModel[] models = new BrokerModel[BROKERS];
        final LatencyCounts[] counts = new LatencyCounts[BROKERS];
        final Assignment assignment;

        Cluster(Assignment assignment, long nowNs) {
            this.assignment = assignment;
            SplittableRandom costs = random(Chance.COSTS);
            for (int broker = 0; broker < BROKERS; broker++) {
                Share share = assignment.share(broker, topic.limit());
                models[broker] = new BrokerModel(
                        services[broker], share, setup.otherRates()[broker], OTHER_BATCH, costs.split(), nowNs);
            }
            forget();
        }

        void forget() {
            Arrays.setAll(counts, broker -> new LatencyCounts(SLO));
        }

        void run(PublisherTraffic traffic, long untilNs) {
            traffic.until(untilNs, (atNs, publisher) -> {
                int home = assignment.home(memberOf[publisher]);
                if (home != Assignment.UNPLACED) {
                    models[home].arrive(atNs, setup.kind().batch(), counts[home]);
                }
            });
        }
    }

    /**
     * A broker's mcap: the highest rate of independent Poisson batches of {@code batch} messages at which it meets the
     * objective, to a hundredth. What {@code weir broker calibrate} does with a real one.
     */
    static double mcap(ServiceModel service, int batch) {
        Share unlimited = new Share(Limit.MAX_RATE_MICROS, Limit.MAX_BURST_MICROS);
        double low = 0;
        double high = 1e9 / service.perMessageNs(batch);
        while (high - low > 0.01 * high) {
            double rate = (low + high) / 2;
            SplittableRandom chance = new SplittableRandom(batch);
            BrokerModel model = new BrokerModel(service, unlimited, 0, 1, chance, 0);
            LatencyCounts counts = new LatencyCounts(SLO);
            double atNs = 0;
            while (counts.messages() < MCAP_MESSAGES) {
                model.arrive((long) atNs, batch, counts);
                atNs += chance.nextExponential() * 1e9 * batch / rate;
            }
            if (counts.tooSlowPart() > SLO.tolerated()) {
                high = rate;
            } else {
                low = rate;
            }
        }
        return low;
    }
}
