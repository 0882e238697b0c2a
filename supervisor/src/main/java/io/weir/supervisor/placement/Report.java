package io.weir.supervisor.placement;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.DelayCounts;
import io.weir.topics.federation.PlacementTable;
import java.util.Arrays;
import java.util.List;

/**
 * What a broker reports to the placement: publishers that are new, gone, or have another rate, and how long messages
 * waited. Reports are numbered; a session begins with number 0 and reports everything.
 *
 * @param windowNs the time since the last one
 * @param bursts when publishers began to send; empty if nobody looks for groups
 * @param delivered how long messages took until consumers of this broker had them
 */
public record Report(
        BrokerId broker,
        long session,
        int number,
        long windowNs,
        List<OfTopic> topics,
        List<Bursts> bursts,
        List<Delivered> delivered) {
    /** Publishers of one topic in one message at most; further ones come in the next. */
    static final int MOST_PUBLISHERS = 400;
    /** Publishers of one topic of whose bursts one part tells. */
    static final int MOST_BURSTING = 2_000;
    /** What one message holds at most, about: a frame between brokers is 256 KiB. */
    static final int MOST_BYTES = 100_000;

    private static final float MOST_AT_ONCE = 1e7f;
    private static final long LONGEST_NS = 120_000_000_000L;

    /**
     * Of one topic.
     *
     * @param revision of the decision by which the broker went all the while; −1 if that changed
     * @param ids publishers that are new, or whose rate has changed
     * @param rates theirs, in messages a second
     * @param sizes how many messages each sends at once
     * @param registered whether each said who it is, as in {@link PlacementTable.Attendance}
     * @param groups theirs; empty: none
     * @param left publishers that are gone
     * @param batches publications that passed here
     * @param delays how long their messages waited for the limit: a class of {@link DelayCounts} and how many, one pair
     *     after the other
     */
    public record OfTopic(
            TopicName topic,
            long revision,
            long[] ids,
            float[] rates,
            float[] sizes,
            byte[] registered,
            String[] groups,
            long[] left,
            long batches,
            int[] delays) {}

    /**
     * When publishers of one topic began to send, as {@link io.weir.topics.federation.PlacementTable} notes it.
     *
     * @param fromSlot the first slot, by the broker's wall clock
     * @param ids those that began at all
     * @param slots in which slots each of them did: bit i is slot fromSlot + i
     */
    public record Bursts(TopicName topic, long fromSlot, long[] ids, long[] slots) {
        Bursts part(int from) {
            int to = Math.min(ids.length, from + MOST_BURSTING);
            return new Bursts(topic, fromSlot, Arrays.copyOfRange(ids, from, to), Arrays.copyOfRange(slots, from, to));
        }

        int bytes() {
            return 100 + 18 * ids.length;
        }
    }

    /**
     * Messages of one topic that one broker let pass the limit, at consumers of the broker that reports.
     *
     * @param home the broker that let them pass
     * @param revision as in {@link OfTopic}, at the broker that reports
     * @param delays from their arrival at the cluster until a consumer had them, or could have had them: classes and
     *     numbers as in {@link OfTopic}
     * @param late the same of those that waited for a consumer, with that time
     */
    public record Delivered(TopicName topic, BrokerId home, long revision, int[] delays, int[] late) {
        int bytes() {
            return 220 + 4 * (delays.length + late.length);
        }

        private String problem() {
            if (topic == null || home == null || delays == null || late == null) {
                return "something is missing of deliveries";
            }
            String problem = Report.problem(topic, delays);
            return problem == null ? Report.problem(topic, late) : problem;
        }
    }

    /** What makes no sense in it, or null: brokers may lie. */
    String problem() {
        if (broker == null
                || topics == null
                || bursts == null
                || delivered == null
                || number < 0
                || windowNs <= 0
                || windowNs > LONGEST_NS) {
            return "it is of no broker, or of " + windowNs + " ns";
        }
        for (OfTopic each : topics) {
            String problem = problem(each);
            if (problem != null) {
                return problem;
            }
        }
        for (Delivered each : delivered) {
            String problem = each == null ? "a delivery is missing" : each.problem();
            if (problem != null) {
                return problem;
            }
        }
        for (Bursts each : bursts) {
            if (each == null || each.topic == null || each.ids == null || each.slots == null || each.fromSlot < 0) {
                return "something is missing of bursts";
            }
            if (each.ids.length != each.slots.length) {
                return each.ids.length + " publishers of " + each.topic + " with bursts of " + each.slots.length;
            }
        }
        return null;
    }

    private static String problem(OfTopic of) {
        if (of == null || of.topic == null || of.ids == null || of.rates == null || of.groups == null) {
            return "something is missing";
        }
        if (of.left == null || of.delays == null || of.ids.length != of.rates.length) {
            return "something is missing of " + of.topic;
        }
        if (of.sizes == null
                || of.registered == null
                || of.ids.length != of.sizes.length
                || of.ids.length != of.registered.length) {
            return "sizes or registrations are missing of " + of.topic;
        }
        for (float size : of.sizes) {
            if (!(size >= 1 && size <= MOST_AT_ONCE)) {
                return "somebody sends " + size + " messages at once to " + of.topic;
            }
        }
        if (of.ids.length != of.groups.length || of.batches < 0) {
            return "its numbers for " + of.topic + " do not match";
        }
        return problem(of.topic, of.delays);
    }

    private static String problem(TopicName topic, int[] delays) {
        if (delays.length % 2 != 0) {
            return "its delays for " + topic + " do not match";
        }
        for (int i = 0; i < delays.length; i += 2) {
            if (delays[i] < 0 || delays[i] >= DelayCounts.CLASSES || delays[i + 1] < 0) {
                return delays[i + 1] + " messages of " + topic + " in class " + delays[i];
            }
        }
        return null;
    }

    /** What it takes in a message, rather too much than too little. */
    static int bytes(OfTopic of) {
        int bytes = 160 + 9 * of.left.length + 4 * of.delays.length + 24 * of.ids.length;
        for (String group : of.groups) {
            bytes += 3 * group.length();
        }
        return bytes;
    }

    /** @param delays as {@link #sparse} made them */
    static DelayCounts.Window window(int[] delays) {
        int[] counts = new int[DelayCounts.CLASSES];
        long messages = 0;
        for (int i = 0; i < delays.length; i += 2) {
            counts[delays[i]] += delays[i + 1];
            messages += delays[i + 1];
        }
        return new DelayCounts.Window(messages, messages, counts);
    }

    static int[] sparse(DelayCounts.Window window) {
        int used = 0;
        for (int count : window.counts()) {
            used += count == 0 ? 0 : 1;
        }
        int[] pairs = new int[2 * used];
        int at = 0;
        for (int i = 0; i < window.counts().length; i++) {
            if (window.counts()[i] != 0) {
                pairs[at++] = i;
                pairs[at++] = window.counts()[i];
            }
        }
        return pairs;
    }
}
