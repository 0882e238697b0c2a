package io.weir.supervisor.placement.algorithm;

/** A binary search for how many publishers one broker can have: {@code fits} of them fit, {@code violates} do not. */
final class BrokerSearch {
    /** A search ends when it knows the answer to this part of what it began with, or to one publisher. */
    private static final double SEARCH_END = 0.02;

    final int began;
    final double beganRate;
    final boolean promised;
    int fits;
    int violates;
    /** The part of the messages that was too slow with {@code violates} publishers. */
    double part;

    /**
     * @param violates the publishers that it begins with
     * @param promised whether the broker should have carried them easily
     */
    BrokerSearch(int fits, int violates, double part, double beganRate, boolean promised) {
        this.began = violates;
        this.beganRate = beganRate;
        this.promised = promised;
        this.fits = fits;
        this.violates = violates;
        this.part = part;
    }

    boolean over() {
        return violates - fits <= Math.max(1, SEARCH_END * began);
    }
}
