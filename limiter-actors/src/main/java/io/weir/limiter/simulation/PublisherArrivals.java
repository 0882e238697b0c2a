package io.weir.limiter.simulation;

import java.util.random.RandomGenerator;

/**
 * SRTM's workload (section 6): publishers that each send a batch at the instants of a Poisson process, those of a
 * correlation group all at the same instants. Independent publishers are groups of one, and since many Poisson
 * processes together are one, it draws the next instant of any group and then which group it is.
 *
 * <p>The instants and groups depend on the seed alone, so worlds with another placement see the same messages.
 */
public final class PublisherArrivals implements Arrivals {
    private final RandomGenerator random;
    private final int groupSize;
    private final int batch;
    private final int groups;
    private final double meanGapNs;
    private final Placement placement;
    private double instantNs;
    private int group;
    private int left;

    /** Which broker a publisher is connected to. */
    @FunctionalInterface
    public interface Placement {
        int brokerOf(int publisher);

        /** Publisher after publisher to the next broker: groups, which are neighbours in number, are split evenly. */
        static Placement spread(int brokers) {
            return publisher -> publisher % brokers;
        }

        /** All of a group to one broker, group after group to the next. */
        static Placement together(int brokers, int groupSize) {
            return publisher -> publisher / groupSize % brokers;
        }
    }

    /**
     * @param publishers how many; rounded down to whole groups
     * @param messagesPerSecond of each
     * @param batch messages that a publisher sends at once
     */
    public PublisherArrivals(
            int publishers,
            double messagesPerSecond,
            int batch,
            int groupSize,
            Placement placement,
            RandomGenerator random) {
        this.random = random;
        this.groupSize = groupSize;
        this.batch = batch;
        this.groups = publishers / groupSize;
        this.meanGapNs = 1e9 * batch / messagesPerSecond / groups;
        this.placement = placement;
        drawInstant();
    }

    @Override
    public long nextNs() {
        return (long) instantNs;
    }

    @Override
    public int takeBroker() {
        int publisher = group * groupSize + --left / batch;
        if (left == 0) {
            drawInstant();
        }
        return placement.brokerOf(publisher);
    }

    private void drawInstant() {
        instantNs += -Math.log(1 - random.nextDouble()) * meanGapNs;
        group = random.nextInt(groups);
        left = groupSize * batch;
    }
}
