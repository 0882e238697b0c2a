package io.weir.supervisor.placement.algorithm;

import io.weir.config.value.TopicName;
import io.weir.supervisor.placement.algorithm.Registration.Cause;
import io.weir.supervisor.placement.algorithm.Registration.Refused;
import io.weir.supervisor.placement.algorithm.Registration.Registered;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Every publisher of the cluster: whose topic, how fast, in which correlation group, told or found. About 44 bytes each
 * in primitive arrays, no object a publisher, since there may be a million.
 *
 * <p>A publisher is known by a number that its broker gave it and by its topic; who publishes to two topics counts
 * twice. Rates are doubles: they are estimates, and nothing is conserved by them.
 */
public final class PublisherTable {
    /** The group of publishers that named none: they are independent of everybody. */
    static final int NO_GROUP = -1;

    private static final int FREE = -1;
    private static final double MAX_RATE = 1e9;

    private final List<PlacedTopic> topics = new ArrayList<>();
    private final Map<TopicName, Integer> topicIndex = new HashMap<>();
    private final List<String> groupKeys = new ArrayList<>();
    private final Map<GroupKey, Integer> groupIndex = new HashMap<>();
    /** Numbers of topics and groups that were forgotten, for the next ones. */
    private final Deque<Integer> freeTopics = new ArrayDeque<>();

    private final Deque<Integer> freeGroups = new ArrayDeque<>();

    private long[] ids = new long[16];
    private int[] topicOf = new int[16];
    private int[] groupOf = new int[16];
    private int[] foundOf = new int[16];
    private double[] rates = new double[16];
    private float[] sizes = new float[16];
    private int used;
    private int live;
    /** The first index that somebody left; {@link #groupOf} of a free one names the next. */
    private int firstFree = FREE;

    /** Open addressing over (id, topic): index + 1, or 0. */
    private int[] slots = new int[64];

    private record GroupKey(int topic, String key) {}

    /** Makes a topic known, or changes its limit or objective. */
    public void define(PlacedTopic topic) {
        Integer known = topicIndex.get(topic.name());
        if (known == null && freeTopics.isEmpty()) {
            known = topics.size();
            topics.add(null);
        } else if (known == null) {
            known = freeTopics.remove();
        }
        topicIndex.put(topic.name(), known);
        topics.set(known, topic);
    }

    /** Forgets a topic that is gone, with its groups and with publishers that have not left. */
    public void forget(TopicName name) {
        TopicMembers members = members(name);
        for (int member = 0; member < members.size(); member++) {
            leave(name, ids[members.publisher(member)]);
        }
        Integer topic = topicIndex.remove(name);
        if (topic != null) {
            topics.set(topic, null);
            freeTopics.add(topic);
            groupIndex.entrySet().removeIf(entry -> {
                boolean its = entry.getKey().topic() == topic;
                if (its) {
                    freeGroups.add(entry.getValue());
                }
                return its;
            });
        }
    }

    public Optional<PlacedTopic> topic(TopicName name) {
        return Optional.ofNullable(topicIndex.get(name)).map(topics::get);
    }

    /**
     * @param group the correlation group's key, or null
     * @param messagesPerSecond expected or measured; registering again changes it
     */
    public Registration register(TopicName topicName, long id, double messagesPerSecond, String group) {
        Integer topic = topicIndex.get(topicName);
        if (topic == null) {
            return new Refused(
                    Cause.UNKNOWN_TOPIC,
                    "topic '" + topicName + "' is not known: create it before its publishers register");
        }
        if (!(messagesPerSecond >= 0 && messagesPerSecond <= MAX_RATE)) {
            return new Refused(
                    Cause.IMPOSSIBLE_RATE,
                    "publisher " + id + " of topic '" + topicName + "': a rate of " + messagesPerSecond
                            + " msg/s is not between 0 and 1,000,000,000");
        }
        int slot = slot(id, topic);
        if (slots[slot] != 0) {
            int publisher = slots[slot] - 1;
            String known = groupOf[publisher] == NO_GROUP ? null : groupKeys.get(groupOf[publisher]);
            if (group != null && !group.equals(known)) {
                return new Refused(
                        Cause.CONTRADICTORY_GROUP,
                        "publisher " + id + " of topic '" + topicName + "' says group '" + group + "', but "
                                + (known == null ? "registered without a group" : "is in group '" + known + "'")
                                + ": a publisher is in one group; let it leave first");
            }
            rates[publisher] = messagesPerSecond;
            return new Registered(publisher, true);
        }
        int publisher = takeIndex();
        ids[publisher] = id;
        topicOf[publisher] = topic;
        rates[publisher] = messagesPerSecond;
        groupOf[publisher] = group == null ? NO_GROUP : group(topic, group);
        foundOf[publisher] = NO_GROUP;
        sizes[publisher] = 1;
        slots[slot] = publisher + 1;
        live++;
        if (2 * (live + 1) > slots.length) {
            rehash();
        }
        return new Registered(publisher, false);
    }

    /** Forgets a publisher; false if it was not known. */
    public boolean leave(TopicName topicName, long id) {
        Integer topic = topicIndex.get(topicName);
        if (topic == null) {
            return false;
        }
        int slot = slot(id, topic);
        if (slots[slot] == 0) {
            return false;
        }
        int publisher = slots[slot] - 1;
        removeSlot(slot);
        topicOf[publisher] = FREE;
        groupOf[publisher] = firstFree;
        firstFree = publisher;
        live--;
        return true;
    }

    /**
     * In which group the publisher was found by what it does; a negative number for none. It counts where the publisher
     * named none itself.
     */
    public void found(TopicName topicName, long id, int group) {
        Integer topic = topicIndex.get(topicName);
        int slot = topic == null ? 0 : slot(id, topic);
        if (topic != null && slots[slot] != 0) {
            foundOf[slots[slot] - 1] = Math.max(NO_GROUP, group);
        }
    }

    /** Whether the publisher is registered with the topic. */
    public boolean knows(TopicName topicName, long id) {
        Integer topic = topicIndex.get(topicName);
        return topic != null && slots[slot(id, topic)] != 0;
    }

    /** The key of the group that the publisher named; null if it named none. */
    public String toldGroup(int publisher) {
        return groupOf[publisher] == NO_GROUP ? null : groupKeys.get(groupOf[publisher]);
    }

    /** The number of the group that it was found in; negative if in none. */
    public int foundGroup(int publisher) {
        return foundOf[publisher];
    }

    public int size() {
        return live;
    }

    /** How many messages a publisher sends at once, on average; 1 until somebody says. */
    public void sendsAtOnce(int publisher, double messages) {
        sizes[publisher] = (float) Math.max(1, messages);
    }

    /** The same of whoever goes by this id; 1 if it is not known. */
    public double size(TopicName name, long id) {
        Integer topic = topicIndex.get(name);
        int slot = topic == null ? 0 : slots[slot(id, topic)];
        return slot == 0 ? 1 : sizes[slot - 1];
    }

    /** Every publisher's index is below it. */
    int indexes() {
        return used;
    }

    /** The id that the broker gave a publisher. */
    public long id(int publisher) {
        return ids[publisher];
    }

    /**
     * The publishers of one topic; empty if the topic is not known. Looks at every publisher once: for many topics,
     * {@link #byTopic}.
     */
    public TopicMembers members(TopicName name) {
        Integer topic = topicIndex.get(name);
        int count = 0;
        for (int i = 0; topic != null && i < used; i++) {
            count += topicOf[i] == topic ? 1 : 0;
        }
        int[] publishers = new int[count];
        for (int i = 0, at = 0; at < count; i++) {
            if (topicOf[i] == topic) {
                publishers[at++] = i;
            }
        }
        return members(publishers, 0, count);
    }

    /** The topics and their publishers, sorted together once by counting. */
    public ByTopic byTopic() {
        int[] starts = new int[topics.size() + 1];
        for (int i = 0; i < used; i++) {
            if (topicOf[i] != FREE) {
                starts[topicOf[i] + 1]++;
            }
        }
        for (int t = 0; t < topics.size(); t++) {
            starts[t + 1] += starts[t];
        }
        int[] next = starts.clone();
        int[] publishers = new int[live];
        for (int i = 0; i < used; i++) {
            if (topicOf[i] != FREE) {
                publishers[next[topicOf[i]]++] = i;
            }
        }
        return new ByTopic(starts, publishers);
    }

    /** A snapshot of who belongs to which topic. */
    public final class ByTopic {
        private final int[] starts;
        private final int[] publishers;

        private ByTopic(int[] starts, int[] publishers) {
            this.starts = starts;
            this.publishers = publishers;
        }

        public int topics() {
            return starts.length - 1;
        }

        /** Null where a topic was forgotten; that one has no members. */
        public PlacedTopic topic(int index) {
            return topics.get(index);
        }

        public double rate(int index) {
            double sum = 0;
            for (int i = starts[index]; i < starts[index + 1]; i++) {
                sum += rates[publishers[i]];
            }
            return sum;
        }

        public TopicMembers members(int index) {
            return PublisherTable.this.members(publishers, starts[index], starts[index + 1]);
        }
    }

    private TopicMembers members(int[] publishers, int from, int to) {
        int count = to - from;
        double[] memberRates = new double[count];
        double[] memberSizes = new double[count];
        int[] groups = new int[count];
        for (int i = 0; i < count; i++) {
            memberRates[i] = rates[publishers[from + i]];
            memberSizes[i] = sizes[publishers[from + i]];
            groups[i] = group(publishers[from + i]);
        }
        return TopicMembers.of(Arrays.copyOfRange(publishers, from, to), memberRates, memberSizes, groups);
    }

    /** What was told wins over what was found; numbers of the one are counted from below, of the other from above. */
    private int group(int publisher) {
        boolean found = groupOf[publisher] == NO_GROUP && foundOf[publisher] != NO_GROUP;
        return found ? Integer.MAX_VALUE - foundOf[publisher] : groupOf[publisher];
    }

    private int group(int topic, String key) {
        return groupIndex.computeIfAbsent(new GroupKey(topic, key), fresh -> {
            if (freeGroups.isEmpty()) {
                groupKeys.add(key);
                return groupKeys.size() - 1;
            }
            groupKeys.set(freeGroups.peek(), key);
            return freeGroups.remove();
        });
    }

    private int takeIndex() {
        if (firstFree != FREE) {
            int index = firstFree;
            firstFree = groupOf[index];
            return index;
        }
        if (used == ids.length) {
            int larger = used + used / 2;
            ids = Arrays.copyOf(ids, larger);
            topicOf = Arrays.copyOf(topicOf, larger);
            groupOf = Arrays.copyOf(groupOf, larger);
            foundOf = Arrays.copyOf(foundOf, larger);
            rates = Arrays.copyOf(rates, larger);
            sizes = Arrays.copyOf(sizes, larger);
        }
        return used++;
    }

    /** Where (id, topic) is, or where it would go. */
    private int slot(long id, int topic) {
        int slot = hash(id, topic);
        while (slots[slot] != 0 && !(ids[slots[slot] - 1] == id && topicOf[slots[slot] - 1] == topic)) {
            slot = (slot + 1) & (slots.length - 1);
        }
        return slot;
    }

    /** Shifts back what follows, so that no search ends too early at the gap. */
    private void removeSlot(int gap) {
        int mask = slots.length - 1;
        int hole = gap;
        for (int at = (hole + 1) & mask; slots[at] != 0; at = (at + 1) & mask) {
            int home = hash(ids[slots[at] - 1], topicOf[slots[at] - 1]);
            if (((at - home) & mask) >= ((at - hole) & mask)) {
                slots[hole] = slots[at];
                hole = at;
            }
        }
        slots[hole] = 0;
    }

    private void rehash() {
        slots = new int[slots.length * 2];
        for (int i = 0; i < used; i++) {
            if (topicOf[i] != FREE) {
                slots[slot(ids[i], topicOf[i])] = i + 1;
            }
        }
    }

    private int hash(long id, int topic) {
        long mixed = (id + topic * 0x9E3779B97F4A7C15L) * 0xBF58476D1CE4E5B9L;
        return (int) (mixed ^ mixed >>> 32) & (slots.length - 1);
    }
}
