package io.weir.supervisor.placement.algorithm;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Share;

/**
 * Which broker is the home of each of a topic's publishers. Does not change once made; {@code revision} grows with
 * every assignment of a topic, so that applying one is a compare-and-set.
 */
public final class Assignment {
    /** The home of a publisher that no broker has room for: it stays where its socket is, and is not counted on. */
    public static final int UNPLACED = -1;

    private final TopicMembers members;
    private final int[] homes;
    private final int[] publishers;
    private final double[] rates;
    private final long revision;
    private final int unplaced;
    private final double unplacedRate;

    Assignment(TopicMembers members, int[] homes, int brokers, long revision) {
        this.members = members;
        this.homes = homes;
        this.revision = revision;
        this.publishers = new int[brokers];
        this.rates = new double[brokers];
        int nowhere = 0;
        double nowhereRate = 0;
        for (int m = 0; m < homes.length; m++) {
            if (homes[m] == UNPLACED) {
                nowhere++;
                nowhereRate += members.rate(m);
            } else {
                publishers[homes[m]]++;
                rates[homes[m]] += members.rate(m);
            }
        }
        this.unplaced = nowhere;
        this.unplacedRate = nowhereRate;
    }

    public TopicMembers members() {
        return members;
    }

    public int home(int member) {
        return homes[member];
    }

    public int brokers() {
        return publishers.length;
    }

    /** How many publishers a broker has. */
    public int publishers(int broker) {
        return publishers[broker];
    }

    /** Their rate. */
    public double rate(int broker) {
        return rates[broker];
    }

    /** How many brokers have any. */
    public int brokersUsed() {
        int used = 0;
        for (int count : publishers) {
            used += count > 0 ? 1 : 0;
        }
        return used;
    }

    public int unplaced() {
        return unplaced;
    }

    public double unplacedRate() {
        return unplacedRate;
    }

    public long revision() {
        return revision;
    }

    /** A broker's part of the topic's rate; what is not placed keeps its part of the limit too. */
    public double part(int broker) {
        return rates[broker] > 0 ? rates[broker] / members.rate() : 0;
    }

    /**
     * A broker's part of the limit, in proportion to its rate, and a burst of a message at least: what the static split
     * gives it.
     */
    public Share share(int broker, Limit limit) {
        double part = part(broker);
        return part == 0
                ? Share.NONE
                : new Share(Math.max(1, (long) (limit.rateMicros() * part)), Math.max(Limit.MICROS, (long)
                        (limit.burstMicros() * part)));
    }

    /**
     * How many messages come to a broker at one instant, on average over its messages: what a publisher sends at once,
     * or all of a correlation group's publishers there. With publishers of different sizes it is the mean that counts
     * for waiting, Σ X²/Σ X over bursts of X messages.
     */
    public double burst(int broker) {
        double weighted = 0;
        double weight = 0;
        for (int group = 0; group < members.groups(); group++) {
            double together = 0;
            double rate = 0;
            for (int m = members.groupStart(group); m < members.groupEnd(group); m++) {
                if (homes[m] == broker) {
                    together += members.size(m);
                    rate += members.rate(m);
                    weighted += members.alone(group) ? members.rate(m) * members.size(m) : 0;
                }
            }
            weighted += members.alone(group) ? 0 : rate * together;
            weight += rate;
        }
        return weight == 0 ? 1 : weighted / weight;
    }

    /** How many messages of a broker's publishers one waking of a socket brings, on average over the wakings. */
    public double size(int broker) {
        double wakings = 0;
        for (int m = 0; m < homes.length; m++) {
            wakings += homes[m] == broker ? members.rate(m) / members.size(m) : 0;
        }
        return wakings == 0 ? 1 : rates[broker] / wakings;
    }

    /** How many of a group's publishers a broker has. */
    public int inGroup(int broker, int group) {
        int here = 0;
        for (int m = members.groupStart(group); m < members.groupEnd(group); m++) {
            here += homes[m] == broker ? 1 : 0;
        }
        return here;
    }

    int[] homes() {
        return homes;
    }
}
