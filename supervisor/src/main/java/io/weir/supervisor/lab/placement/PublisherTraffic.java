package io.weir.supervisor.lab.placement;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.BucketModel;
import io.weir.limiter.algorithm.TokenBucket;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.supervisor.placement.algorithm.TopicTrace;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * SRTM's workload (section 6) as a stream of sendings in the order of time: publishers that send batches periodically,
 * with a phase at random, or at the instants of a Poisson process; those of a correlation group at the same instants,
 * or evenly spread over an interval from there on.
 */
final class PublisherTraffic {
    private static final double NANOS = 1e9;
    /** A sending is a long: its time, then its publisher. */
    private static final int PUBLISHER_BITS = 20;

    private static final long PUBLISHER_MASK = (1L << PUBLISHER_BITS) - 1;
    /** r lies so much above the rate (SRTM, section 6). */
    private static final double MARGIN = 0.1;

    /** When publishers send. */
    enum Timing {
        POISSON("Poisson"),
        PERIODIC("periodic");

        final String label;

        Timing(String label) {
            this.label = label;
        }
    }

    /** @param spreadNs the interval over which a group's publishers send, one after the other */
    record Kind(Timing timing, int publishers, double rate, int batch, int groupSize, long spreadNs) {
        double totalRate() {
            return publishers * rate;
        }

        int groups() {
            return (publishers + groupSize - 1) / groupSize;
        }

        TopicMembers members() {
            return TopicMembers.even(publishers, rate, batch, groupSize);
        }
    }

    private final Kind kind;
    private final SplittableRandom random;
    private final double[] nextNs;
    private final double periodNs;
    private double nextInstantNs;
    private long[] pending = new long[1024];
    private int count;

    PublisherTraffic(Kind kind, SplittableRandom random) {
        this.kind = kind;
        this.random = random;
        this.periodNs = NANOS * kind.batch() / kind.rate();
        this.nextNs = kind.timing() == Timing.PERIODIC ? new double[kind.groups()] : null;
        if (nextNs != null) {
            Arrays.setAll(nextNs, group -> random.nextDouble() * periodNs);
        } else {
            nextInstantNs = random.nextExponential() * periodNs / kind.groups();
        }
    }

    /** Receives the sendings. */
    @FunctionalInterface
    interface Sink {
        void sent(long atNs, int publisher);
    }

    /** Passes on everything before {@code untilNs} that was not passed on yet. */
    void until(long untilNs, Sink sink) {
        if (nextNs != null) {
            for (int group = 0; group < nextNs.length; group++) {
                for (; nextNs[group] < untilNs; nextNs[group] += periodNs) {
                    add(group, (long) nextNs[group]);
                }
            }
        } else {
            while (nextInstantNs < untilNs) {
                add(random.nextInt(kind.groups()), (long) nextInstantNs);
                nextInstantNs += random.nextExponential() * periodNs / kind.groups();
            }
        }
        Arrays.sort(pending, 0, count);
        int passed = 0;
        while (passed < count && pending[passed] >> PUBLISHER_BITS < untilNs) {
            sink.sent(pending[passed] >> PUBLISHER_BITS, (int) (pending[passed] & PUBLISHER_MASK));
            passed++;
        }
        System.arraycopy(pending, passed, pending, 0, count - passed);
        count -= passed;
    }

    private void add(int group, long atNs) {
        int first = group * kind.groupSize();
        int last = Math.min(kind.publishers(), first + kind.groupSize());
        for (int publisher = first; publisher < last; publisher++) {
            if (count == pending.length) {
                pending = Arrays.copyOf(pending, 2 * count);
            }
            long offsetNs = kind.groupSize() == 1 ? 0 : kind.spreadNs() * (publisher - first) / kind.groupSize();
            pending[count++] = atNs + offsetNs << PUBLISHER_BITS | publisher;
        }
    }

    /** What a profiling phase records. */
    TopicTrace trace(long untilNs) {
        int[] size = {0};
        long[][] atNs = {new long[1 << 16]};
        int[][] member = {new int[1 << 16]};
        until(untilNs, (when, publisher) -> {
            if (size[0] == atNs[0].length) {
                atNs[0] = Arrays.copyOf(atNs[0], 2 * size[0]);
                member[0] = Arrays.copyOf(member[0], 2 * size[0]);
            }
            atNs[0][size[0]] = when;
            member[0][size[0]++] = publisher;
        });
        int[] messages = new int[size[0]];
        Arrays.fill(messages, kind.batch());
        return new TopicTrace(Arrays.copyOf(atNs[0], size[0]), Arrays.copyOf(member[0], size[0]), messages);
    }

    /**
     * r 10% above the rate and the smallest b for which the part {@code quantile} of the messages does not wait in one
     * bucket: for Poisson instants by the model (the paper's footnote 8; a group that is spread over an interval is
     * taken for one at an instant), for periodic ones from the trace, whose phases are as they are.
     */
    static Limit limit(Kind kind, TopicTrace trace, double quantile) {
        double rate = (1 + MARGIN) * kind.totalRate();
        if (kind.timing() == Timing.POISSON) {
            long bursts = new BucketModel(kind.totalRate(), rate, 1).smallestBurst(quantile);
            return Limit.of(rate, bursts * (double) kind.batch() * kind.groupSize());
        }
        long rateMicros = Math.round(rate * Limit.MICROS);
        TokenBucket deep = new TokenBucket(rateMicros, Limit.MAX_BURST_MICROS, Limit.MAX_BURST_MICROS, 0);
        long[] missing = new long[trace.size()];
        for (int i = 0; i < missing.length; i++) {
            deep.tryTake(trace.messages()[i], trace.atNs()[i]);
            missing[i] = Limit.MAX_BURST_MICROS - deep.levelMicros(trace.atNs()[i]);
        }
        Arrays.sort(missing);
        return new Limit(rateMicros, Math.max(Limit.MICROS, missing[(int) Math.ceil(quantile * missing.length) - 1]));
    }
}
