package io.weir.limiter.workflow.algorithm;

/**
 * When an announcement has to be sent: when its rate has changed by more than a hundredth, and every third interval
 * anyway, because R and L travel with it and a receiver lets a bound grow that it hears nothing of. One beyond the
 * table's size is sent every interval.
 */
public final class Repetition {
    private static final int EVERY = 3;
    private static final double SAME = 0.01;

    private final LongIndex index;
    private final double[] said;
    private final int[] since;

    public Repetition(int most) {
        index = new LongIndex(most);
        said = new double[most];
        since = new int[most];
    }

    /** Once an interval for each process upstream; true if it is to be told now. */
    public boolean due(int workflow, int topic, int broker, double rate) {
        long key = Edge.of(0, workflow, topic, broker);
        int number = index.find(key);
        boolean isNew = number == LongIndex.NONE;
        if (isNew) {
            number = index.add(key);
        }
        if (number == LongIndex.NONE) {
            return true;
        }
        boolean same = rate == said[number] || Math.abs(rate - said[number]) <= SAME * said[number];
        if (!isNew && same && ++since[number] < EVERY) {
            return false;
        }
        since[number] = 0;
        said[number] = rate;
        return true;
    }

    /** The process upstream sends nothing any more. */
    public void forget(int workflow, int topic, int broker) {
        index.remove(Edge.of(0, workflow, topic, broker));
    }
}
