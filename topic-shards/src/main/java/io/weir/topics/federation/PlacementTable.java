package io.weir.topics.federation;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.NameTable;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A broker's knowledge of placement: who publishes here, how much, and where each is at home. On the message path's thread throughout.
 *
 * <p>What was decided for a topic comes as a whole ({@link Seats}) and takes effect between two publications. A publisher's seat is looked
 * up when it comes and when the seats change, so a publication costs finding its topic and its publisher, and nothing is allocated for it.
 *
 * <p>Bounds: {@link #MOST_TOPICS} topics and {@link #MOST_PUBLISHERS} publishers; whoever comes beyond is at home here and not counted. Who
 * has been silent for some looks in a row is forgotten, unless it is {@link #register registered}.
 */
public final class PlacementTable implements Homes {
    static final int MOST_TOPICS = 100_000;
    static final int MOST_PUBLISHERS = 1 << 20;
    /** Whoever published nothing for so many {@link #take}s has left; that it is still connected says nothing. */
    static final int SILENT_LOOKS = 20;

    private static final int FIRST_SLOTS = 8;

    /**
     * Where a topic's publishers belong. Does not change once made, so another thread may make it. Eight bytes a publisher, since every broker
     * has those of the whole cluster.
     */
    public static final class Seats {
        private final TopicName topic;
        private final long revision;
        private final BrokerId[] brokers;
        private final long[][] ids;

        /**
         * @param revision later ones replace earlier ones, never the other way round
         * @param homes the ids of those at home at each broker
         */
        public Seats(TopicName topic, long revision, Map<BrokerId, long[]> homes) {
            this.topic = topic;
            this.revision = revision;
            this.brokers = new BrokerId[homes.size()];
            this.ids = new long[homes.size()][];
            int next = 0;
            for (Map.Entry<BrokerId, long[]> home : homes.entrySet()) {
                brokers[next] = home.getKey();
                ids[next] = home.getValue().clone();
                Arrays.sort(ids[next++]);
            }
        }

        private BrokerId of(long id) {
            for (int i = 0; i < ids.length; i++) {
                if (Arrays.binarySearch(ids[i], id) >= 0) {
                    return brokers[i];
                }
            }
            return null;
        }
    }

    /**
     * Who published to a topic since the last look.
     *
     * @param ids of the publishers
     * @param messages how many each published, as far as they were counted: one that had to be tried again counts twice
     * @param groups of each; empty where it has none
     * @param expectedRates what each said it would publish in a second; 0 where it did not
     * @param left publishers that are not there any more
     */
    public record Attendance(
            TopicName topic, long[] ids, int[] messages, String[] groups, double[] expectedRates, long[] left) {}

    /** One topic's publishers that are here: open addressing by id. */
    private static final class Place {
        private final TopicName topic;
        private Seats seats;
        private long[] ids = new long[FIRST_SLOTS];
        private BrokerId[] homes = new BrokerId[FIRST_SLOTS];
        private int[] messages = new int[FIRST_SLOTS];
        private byte[] silent = new byte[FIRST_SLOTS];
        private String[] groups = new String[FIRST_SLOTS];
        private double[] rates = new double[FIRST_SLOTS];
        private boolean[] registered = new boolean[FIRST_SLOTS];
        private int size;

        private Place(TopicName topic) {
            this.topic = topic;
        }

        private int slot(long id) {
            int slot = (int) (id ^ id >>> 32) & ids.length - 1;
            while (ids[slot] != Publisher.NOBODY && ids[slot] != id) {
                slot = slot + 1 & ids.length - 1;
            }
            return slot;
        }

        private BrokerId seatOf(long id, BrokerId self) {
            BrokerId home = seats == null ? null : seats.of(id);
            return self.equals(home) ? null : home;
        }

        private int add(long id, BrokerId self) {
            if (2 * (size + 1) > ids.length) {
                resize(2 * ids.length);
            }
            int slot = slot(id);
            ids[slot] = id;
            homes[slot] = seatOf(id, self);
            groups[slot] = "";
            size++;
            return slot;
        }

        /** What was said last counts; whether it contradicts what was said before is judged where all publishers are known. */
        private void say(int slot, String group, double rate) {
            if (!group.isEmpty() && !group.equals(groups[slot])) {
                groups[slot] = group;
            }
            if (rate > 0) {
                rates[slot] = rate;
            }
        }

        /** Leaves out those that have been silent for too long. */
        private void resize(int slots) {
            Place old = new Place(topic);
            old.ids = ids;
            old.homes = homes;
            old.messages = messages;
            old.silent = silent;
            old.groups = groups;
            old.rates = rates;
            old.registered = registered;
            ids = new long[slots];
            homes = new BrokerId[slots];
            messages = new int[slots];
            silent = new byte[slots];
            groups = new String[slots];
            rates = new double[slots];
            registered = new boolean[slots];
            size = 0;
            for (int i = 0; i < old.ids.length; i++) {
                if (old.ids[i] != Publisher.NOBODY && old.silent[i] < SILENT_LOOKS) {
                    int slot = slot(old.ids[i]);
                    ids[slot] = old.ids[i];
                    homes[slot] = old.homes[i];
                    messages[slot] = old.messages[i];
                    silent[slot] = old.silent[i];
                    groups[slot] = old.groups[i];
                    rates[slot] = old.rates[i];
                    registered[slot] = old.registered[i];
                    size++;
                }
            }
        }

        private Attendance take() {
            long[] present = new long[size];
            int[] published = new int[size];
            String[] theirGroups = new String[size];
            double[] expected = new double[size];
            long[] left = new long[size];
            int count = 0;
            int gone = 0;
            for (int i = 0; i < ids.length; i++) {
                if (ids[i] == Publisher.NOBODY) {
                    continue;
                }
                silent[i] = (byte) (messages[i] > 0 || registered[i] ? 0 : silent[i] + 1);
                if (silent[i] == SILENT_LOOKS) {
                    left[gone++] = ids[i];
                } else {
                    present[count] = ids[i];
                    published[count] = messages[i];
                    theirGroups[count] = groups[i];
                    expected[count++] = rates[i];
                    messages[i] = 0;
                }
            }
            if (gone > 0) {
                int slots = ids.length;
                while (slots > FIRST_SLOTS && 4 * (size - gone + 1) < slots) {
                    slots /= 2;
                }
                resize(slots);
            }
            return new Attendance(
                    topic,
                    Arrays.copyOf(present, count),
                    Arrays.copyOf(published, count),
                    Arrays.copyOf(theirGroups, count),
                    Arrays.copyOf(expected, count),
                    Arrays.copyOf(left, gone));
        }

        private long revision() {
            return seats == null ? 0 : seats.revision;
        }
    }

    private final BrokerId self;
    private final NameTable<Place> places = new NameTable<>();
    private final Map<TopicName, Place> all = new HashMap<>();
    private int publishers;

    public PlacementTable(BrokerId self) {
        this.self = self;
    }

    @Override
    public BrokerId homeOf(PublishRequest request) {
        Publisher publisher = request.publisher();
        long id = publisher.id();
        if (id == Publisher.NOBODY) {
            return null;
        }
        Place place = places.get(request.in(), request.topicAt(), request.topicLength());
        if (place == null) {
            place = add(request);
            if (place == null) {
                return null;
            }
        }
        int slot = place.slot(id);
        if (place.ids[slot] != id) {
            if (publishers >= MOST_PUBLISHERS) {
                return null;
            }
            slot = place.add(id, self);
            publishers++;
        }
        place.say(slot, publisher.group(), publisher.expectedRate());
        place.messages[slot] += Math.max(1, request.messages());
        return place.homes[slot];
    }

    /**
     * Somebody is going to publish here, and counts as present, however silent, until {@link #unregister}.
     *
     * @param group empty: none
     * @param rate messages a second; 0: to be measured
     * @return false if there is no room for it
     */
    public boolean register(TopicName topic, long id, String group, double rate) {
        Place place = place(topic);
        if (place == null) {
            return false;
        }
        int slot = place.slot(id);
        if (place.ids[slot] != id) {
            if (publishers >= MOST_PUBLISHERS) {
                return false;
            }
            slot = place.add(id, self);
            publishers++;
        }
        place.say(slot, group, rate);
        place.registered[slot] = true;
        return true;
    }

    /** From now on it counts as present for as long as it publishes; false if it was not registered here. */
    public boolean unregister(TopicName topic, long id) {
        Place place = all.get(topic);
        int slot = place == null ? 0 : place.slot(id);
        if (place == null || place.ids[slot] != id || !place.registered[slot]) {
            return false;
        }
        place.registered[slot] = false;
        return true;
    }

    private Place add(PublishRequest request) {
        byte[] name = new byte[request.topicLength()];
        request.in().get(request.topicAt(), name);
        return place(TopicName.of(new String(name, StandardCharsets.US_ASCII)));
    }

    private Place place(TopicName topic) {
        Place place = all.get(topic);
        if (place == null && all.size() < MOST_TOPICS) {
            place = new Place(topic);
            all.put(topic, place);
            places.add(topic.value(), place);
        }
        return place;
    }

    /** From now on these seats hold; older ones than those that do are left. */
    public void seat(Seats seats) {
        Place place = place(seats.topic);
        if (place == null || seats.revision <= place.revision()) {
            return;
        }
        place.seats = seats;
        for (int i = 0; i < place.ids.length; i++) {
            if (place.ids[i] != Publisher.NOBODY) {
                place.homes[i] = place.seatOf(place.ids[i], self);
            }
        }
    }

    /** What happened since the last call, of topics that have publishers here. */
    public List<Attendance> take() {
        List<Attendance> attendances = new ArrayList<>();
        List<Place> empty = new ArrayList<>();
        publishers = 0;
        for (Place place : all.values()) {
            if (place.size > 0) {
                attendances.add(place.take());
            }
            publishers += place.size;
            if (place.size == 0 && place.seats == null) {
                empty.add(place);
            }
        }
        for (Place place : empty) {
            all.remove(place.topic);
            places.remove(place.topic.value());
        }
        return attendances;
    }
}
