package io.weir.supervisor.placement;

import io.weir.config.CrossesNodes;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.TopicMembers;
import io.weir.supervisor.placement.algorithm.TopicTrace;
import io.weir.topics.algorithm.SendingRecording;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * What brokers recorded of who sends when, as {@code weir topic profile --live} has them do: the last recording of each
 * broker and topic. Forecasts go by it as long as the topic is still like that.
 *
 * <p>Bound: {@link #MOST_TOPICS}, of which the one that was recorded longest ago gives way, and a recording's own
 * bound.
 */
final class RecordedTraces {
    static final int MOST_TOPICS = 16;
    /** Sendings in one message between brokers, about 80 KB. */
    static final int MOST_AT_ONCE = 4_096;

    private static final int MOST_PARTS = SendingRecording.MOST / MOST_AT_ONCE;
    /** Recordings that began further apart are not of the same time. */
    private static final long TOGETHER_NS = 10_000_000_000L;
    /** A shorter time says too little. */
    private static final long SHORTEST_NS = 1_000_000_000L;
    /** Who is in the trace must send so much of the topic's rate ... */
    private static final double COVERED = 0.9;
    /** ... and the topic's rate may differ from the trace's by this part. */
    private static final double CHANGED = 0.25;

    /**
     * A part of a broker's recording.
     *
     * @param beganNs since 1970
     * @param number of this part, from 0
     * @param of how many parts there are
     */
    record Part(
            BrokerId broker,
            TopicName topic,
            long beganNs,
            long lengthNs,
            int number,
            int of,
            long[] publishers,
            long[] timesNs,
            int[] messages)
            implements CrossesNodes {
        /** Brokers may lie. */
        private boolean sound() {
            if (broker == null || topic == null || publishers == null || timesNs == null || messages == null) {
                return false;
            }
            boolean fits = of >= 1
                    && of <= MOST_PARTS
                    && number >= 0
                    && number < of
                    && publishers.length <= MOST_AT_ONCE
                    && publishers.length == timesNs.length
                    && publishers.length == messages.length
                    && lengthNs > 0;
            return fits
                    && Arrays.stream(timesNs).allMatch(time -> time >= 0 && time < lengthNs)
                    && Arrays.stream(messages).allMatch(count -> count > 0);
        }

        /** All parts of a recording. */
        static List<Part> of(BrokerId broker, SendingRecording recording) {
            int parts = Math.max(1, (recording.size() + MOST_AT_ONCE - 1) / MOST_AT_ONCE);
            return IntStream.range(0, parts)
                    .mapToObj(number -> {
                        int from = number * MOST_AT_ONCE;
                        int to = Math.min(recording.size(), from + MOST_AT_ONCE);
                        return new Part(
                                broker,
                                recording.topic(),
                                recording.beganWallNs(),
                                Math.max(1, recording.lengthNs()),
                                number,
                                parts,
                                recording.publishers(from, to),
                                recording.timesNs(from, to),
                                recording.messages(from, to));
                    })
                    .toList();
        }
    }

    /** One broker's recording, as far as it has come. */
    private static final class Recorded {
        private final Part[] parts;
        private final long beganNs;
        private final long lengthNs;

        private Recorded(Part first) {
            parts = new Part[first.of];
            beganNs = first.beganNs;
            lengthNs = first.lengthNs;
        }

        private boolean complete() {
            return Arrays.stream(parts).allMatch(part -> part != null);
        }
    }

    private record Sending(long atNs, int member, int messages) {}

    private final Map<TopicName, Map<BrokerId, Recorded>> topics = new LinkedHashMap<>();

    void heard(Part part) {
        if (!part.sound()) {
            return;
        }
        Map<BrokerId, Recorded> of = topics.get(part.topic);
        if (of == null) {
            of = new HashMap<>();
            topics.put(part.topic, of);
            if (topics.size() > MOST_TOPICS) {
                topics.remove(topics.keySet().iterator().next());
            }
        }
        Recorded recorded = of.get(part.broker);
        if (recorded == null || recorded.beganNs != part.beganNs || recorded.parts.length != part.of) {
            recorded = new Recorded(part);
            of.put(part.broker, recorded);
        }
        recorded.parts[part.number] = part;
    }

    /** Of how many topics there is something. */
    int size() {
        return topics.size();
    }

    void forget(TopicName topic) {
        topics.remove(topic);
    }

    /**
     * The topic's trace, if there is one and the topic is still like that.
     *
     * @param ids of the members
     */
    Optional<TopicTrace> of(TopicName topic, TopicMembers members, long[] ids) {
        List<Recorded> complete = topics.getOrDefault(topic, Map.of()).values().stream()
                .filter(Recorded::complete)
                .toList();
        long newestNs = complete.stream().mapToLong(each -> each.beganNs).max().orElse(0);
        List<Recorded> together = complete.stream()
                .filter(each -> newestNs - each.beganNs <= TOGETHER_NS)
                .toList();
        long untilNs = together.stream()
                .mapToLong(each -> each.beganNs + each.lengthNs)
                .min()
                .orElse(0);
        if (untilNs - newestNs < SHORTEST_NS) {
            return Optional.empty();
        }
        Map<Long, Integer> memberOf = new HashMap<>();
        for (int member = 0; member < ids.length; member++) {
            memberOf.put(ids[member], member);
        }
        Sending[] sendings = together.stream()
                .flatMap(each -> Arrays.stream(each.parts))
                .flatMap(part -> IntStream.range(0, part.publishers.length)
                        .filter(i -> memberOf.containsKey(part.publishers[i]))
                        .mapToObj(i -> new Sending(
                                part.beganNs + part.timesNs[i] - newestNs,
                                memberOf.get(part.publishers[i]),
                                part.messages[i])))
                .filter(sending -> sending.atNs >= 0 && sending.atNs < untilNs - newestNs)
                .sorted(Comparator.comparingLong(Sending::atNs))
                .toArray(Sending[]::new);
        return isLike(members, sendings, untilNs - newestNs)
                ? Optional.of(new TopicTrace(
                        Arrays.stream(sendings).mapToLong(Sending::atNs).toArray(),
                        Arrays.stream(sendings).mapToInt(Sending::member).toArray(),
                        Arrays.stream(sendings).mapToInt(Sending::messages).toArray()))
                : Optional.empty();
    }

    private static boolean isLike(TopicMembers members, Sending[] sendings, long lengthNs) {
        boolean[] seen = new boolean[members.size()];
        double messages = 0;
        double covered = 0;
        for (Sending sending : sendings) {
            messages += sending.messages;
            covered += seen[sending.member] ? 0 : members.rate(sending.member);
            seen[sending.member] = true;
        }
        double rate = messages * 1e9 / lengthNs;
        return covered >= COVERED * members.rate() && Math.abs(rate - members.rate()) <= CHANGED * members.rate();
    }
}
