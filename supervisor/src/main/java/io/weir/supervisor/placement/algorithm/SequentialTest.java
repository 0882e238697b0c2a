package io.weir.supervisor.placement.algorithm;

import java.util.Arrays;

/**
 * Decides from windows of measurements whether more than the tolerated part p of the messages is too slow, and stops as
 * soon as that is clear instead of after a fixed time: Wald's sequential probability ratio test of p/2 against 2·p.
 * Between the two it does not care, as either answer is nearly right; if the time runs out there, the measured part
 * decides, as in the paper.
 *
 * <p>Messages are not independent: those of a burst are slow together, and so are those behind them. So the log
 * likelihood ratio is divided by how much more the windows' counts vary than independent messages would, by the lag
 * between neighbouring windows too, and never by less than the messages that come at one instant, nor than makes a
 * window worth {@value #WINDOW_WORTH} of them. Where waits come in clusters that are rarer than the windows it saw, it
 * can still err; the tests and {@code weir lab placement-latency} say how often.
 */
public final class SequentialTest {
    /** The part of the verdicts that may be wrong when the truth is p/2 or 2·p. */
    static final double ERROR = 0.02;

    /** Fewer windows say nothing about how they vary. */
    static final int LEAST_WINDOWS = 4;

    /**
     * A window never counts for more independent messages than this. Otherwise a second without a slow message would
     * acquit a broker that has one bad moment in ten seconds; so it takes nine windows at least.
     */
    static final double WINDOW_WORTH = 30;

    private static final double LAG_LIMIT = 0.8;

    private final double tolerated;
    private final double perSlow;
    private final double perQuick;
    private final boolean early;
    private final double clusterMessages;

    private double[] messagesOf = new double[16];
    private double[] slowOf = new double[16];
    private int windows;
    private long messages;
    private long tooSlow;
    private long snug;

    /** What can be said so far. */
    public enum Verdict {
        OPEN,
        FITS,
        VIOLATES
    }

    /**
     * @param early false: never clear before the time is over, as in the paper
     * @param clusterMessages how many messages come at one instant, on average over the messages
     */
    public SequentialTest(Slo slo, boolean early, double clusterMessages) {
        this.tolerated = slo.tolerated();
        double low = tolerated / 2;
        double high = Math.min(2 * tolerated, (1 + tolerated) / 2);
        this.perSlow = Math.log(high / low);
        this.perQuick = Math.log((1 - high) / (1 - low));
        this.early = early;
        this.clusterMessages = Math.max(1, clusterMessages);
    }

    public void add(Measurement window) {
        if (windows == messagesOf.length) {
            messagesOf = Arrays.copyOf(messagesOf, 2 * windows);
            slowOf = Arrays.copyOf(slowOf, 2 * windows);
        }
        messagesOf[windows] = window.messages();
        slowOf[windows] = window.tooSlow();
        windows++;
        messages += window.messages();
        tooSlow += window.tooSlow();
        snug += window.snug();
    }

    public Verdict verdict() {
        if (!early || windows < LEAST_WINDOWS || messages == 0) {
            return Verdict.OPEN;
        }
        double evidence = (tooSlow * perSlow + (messages - tooSlow) * perQuick) / dispersion();
        double clear = Math.log((1 - ERROR) / ERROR);
        if (evidence >= clear) {
            return Verdict.VIOLATES;
        }
        return evidence <= -clear ? Verdict.FITS : Verdict.OPEN;
    }

    /** What to believe if no more can be measured. */
    public Verdict verdictAtTheEnd() {
        Verdict clear = verdict();
        if (clear != Verdict.OPEN || messages == 0) {
            return clear;
        }
        return part() > tolerated ? Verdict.VIOLATES : Verdict.FITS;
    }

    /** The measured part of the messages that is too slow. */
    public double part() {
        return messages == 0 ? 0 : tooSlow / (double) messages;
    }

    /**
     * Whether the quantile lies within {@link Slo#SNUG} below the objective, or above it: no use in adding publishers.
     */
    public boolean snug() {
        return messages > 0 && snug / (double) messages > tolerated;
    }

    public long messages() {
        return messages;
    }

    /** How many times more the windows' counts vary than those of independent messages would. */
    double dispersion() {
        double part = part();
        double mean = messages / (double) windows;
        double least = Math.max(clusterMessages, mean / WINDOW_WORTH);
        if (tooSlow == 0 || tooSlow == messages) {
            return least;
        }
        double squares = 0;
        double products = 0;
        double before = 0;
        for (int i = 0; i < windows; i++) {
            double off = slowOf[i] - part * messagesOf[i];
            squares += off * off;
            products += before * off;
            before = off;
        }
        double lag = squares == 0 ? 0 : Math.max(0, Math.min(LAG_LIMIT, products / squares));
        double variance = squares / (windows - 1) * (1 + lag) / (1 - lag);
        return Math.max(least, variance / (mean * part * (1 - part)));
    }
}
