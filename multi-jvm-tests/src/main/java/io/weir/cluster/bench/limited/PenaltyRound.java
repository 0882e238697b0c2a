package io.weir.cluster.bench.limited;

import io.weir.cluster.bench.Generator;
import io.weir.cluster.bench.Load;
import io.weir.cluster.bench.Result;
import io.weir.cluster.bench.SendLog;
import io.weir.cluster.bench.Target;
import io.weir.cluster.bench.Trial;
import io.weir.cluster.bench.wire.NsqWire;
import io.weir.config.Endpoint;
import io.weir.config.value.Limit;
import io.weir.supervisor.node.TopicDescription;
import io.weir.topics.algorithm.DelayTotals;
import java.io.IOException;
import java.util.List;
import java.util.OptionalDouble;

/**
 * One configuration under load once. The delays are those of messages that got their tokens from the beginning of the
 * measured time until nothing was on its way; costs are those of the measured time and up to a second before it, over
 * the messages of that time.
 */
final class PenaltyRound implements Trial.Watcher {
    /** What a broker had of the limit. */
    record Share(String broker, double rate, double burst) {
        private static Share of(TopicDescription.BrokerShare share) {
            return new Share(share.broker(), share.rate(), share.burst());
        }
    }

    /**
     * What came out.
     *
     * @param sent messages, the warm-up included
     * @param admitted those that got tokens, by the brokers' count
     * @param access from arrival to token, by the brokers' stamps
     * @param countedFromMillis how long after the beginning of the measured time the brokers were asked what they had
     *     counted before
     * @param ideal what perfect buckets would have done with the same sendings, split as the configuration's is, in
     *     equal parts that stay
     * @param idealOfOne the same of one bucket for all
     * @param transfers of supply between brokers
     * @param brokerCpuMicrosPerMessage of all the brokers' processes, whatever they did; null if they do not tell
     * @param controlFramesPerMessage what brokers sent each other to borrow tokens; null if they do not tell
     * @param shares at the end of the measured time
     * @param endToEnd from the intended time to receipt
     */
    record Outcome(
            int round,
            long sent,
            long admitted,
            AccessDelays access,
            double countedFromMillis,
            AccessDelays ideal,
            AccessDelays idealOfOne,
            Long transfers,
            Double brokerCpuMicrosPerMessage,
            Double controlFramesPerMessage,
            List<Share> shares,
            Result endToEnd) {
        /** Of those that were sent or due, how many did not get a token and to the consumer. */
        long lost() {
            return endToEnd.missing() + endToEnd.refused() + endToEnd.unsent();
        }
    }

    private final BenchCluster cluster;
    private final PenaltyProbe probe;
    private final Limit limit;
    private final Load load;
    private final SendLog log;
    private Generator generator;
    private boolean stopped;
    private volatile DelayTotals countedBefore;
    private volatile double countedFromMillis;
    private volatile PenaltyProbe.Costs costsBefore;
    private volatile PenaltyProbe.Costs costsAfter;
    private volatile List<Share> shares;
    private volatile RuntimeException failure;

    PenaltyRound(BenchCluster cluster, PenaltyProbe probe, Limit limit, Load load) {
        this.cluster = cluster;
        this.probe = probe;
        this.limit = limit;
        this.load = load;
        double seconds = load.warmUp().plus(load.measured()).toMillis() / 1e3;
        double perSecond = ((Load.Shape.OpenLoop) load.shape()).messagesPerSecond();
        log = new SendLog((int) (1.1 * perSecond * seconds) + 1_000);
    }

    /** Ends it from another thread. */
    synchronized void stop() {
        stopped = true;
        if (generator != null) {
            generator.stop();
        }
    }

    Outcome run(int round) throws IOException {
        probe.awaitQuiet();
        DelayTotals atBegin = probe.delays();
        List<Endpoint> tcp = cluster.tcp();
        Target target = new Target("weir", new NsqWire(), tcp, tcp, List.of());
        Result result;
        try {
            result = Trial.run(target, load, line -> {}, this);
        } catch (IOException e) {
            throwFailure();
            throw e;
        }
        throwFailure();
        DelayTotals atEnd = probe.delays();
        AccessDelays access = AccessDelays.counted(atEnd.minus(countedBefore));
        double transfers = difference(costsBefore.transfers(), costsAfter.transfers());
        double messages = difference(costsBefore.admitted(), costsAfter.admitted());
        int brokers = tcp.size();
        return new Outcome(
                round,
                log.messages(),
                atEnd.messages() - atBegin.messages(),
                access,
                countedFromMillis,
                AccessDelays.ideal(log, limit, brokers),
                AccessDelays.ideal(log, limit, 1),
                Double.isNaN(transfers) ? null : (Long) Math.round(transfers),
                perMessage(costsBefore.cpuSeconds(), costsAfter.cpuSeconds(), messages, 1e6),
                perMessage(costsBefore.borrowFrames(), costsAfter.borrowFrames(), messages, 1),
                shares,
                result);
    }

    private void throwFailure() {
        if (failure != null) {
            throw failure;
        }
    }

    /** NaN where one side is not known. */
    private static double difference(OptionalDouble before, OptionalDouble after) {
        return after.orElse(Double.NaN) - before.orElse(Double.NaN);
    }

    private static Double perMessage(OptionalDouble before, OptionalDouble after, double messages, double unit) {
        double each = unit * difference(before, after) / messages;
        return Double.isFinite(each) ? (Double) each : null;
    }

    @Override
    public synchronized void begins(Generator running) {
        running.recordIn(log);
        generator = running;
        if (stopped) {
            running.stop();
        }
    }

    @Override
    public void aboutToMeasure() {
        // Early, because answering this costs a broker some milliseconds: they are not to be among the delays.
        orStop(() -> costsBefore = probe.costs());
    }

    @Override
    public void measureFromNow() {
        long fromNs = System.nanoTime();
        orStop(() -> {
            countedBefore = probe.delays();
            countedFromMillis = (System.nanoTime() - fromNs) / 1e6;
        });
    }

    @Override
    public void measured() {
        orStop(() -> {
            shares = probe.shares().stream().map(Share::of).toList();
            costsAfter = probe.costs();
        });
    }

    private void orStop(Runnable look) {
        try {
            look.run();
        } catch (RuntimeException e) {
            failure = e;
            stop();
        }
    }
}
