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
 * A broker's knowledge of placement: who publishes here, how much, and where each is at home. On the message path's
 * thread throughout.
 *
 * <p>What was decided for a topic comes as a whole ({@link Seats}) and takes effect between two publications. A
 * publisher's seat is looked up when it comes and when the seats change, so a publication costs finding its topic and
 * its publisher, and nothing is allocated for it.
 *
 * <p>Bounds: {@link #MOST_TOPICS} topics and {@link #MOST_PUBLISHERS} publishers; whoever comes beyond is at home here
 * and not counted. Who has been silent for some looks in a row is forgotten, unless it is {@link #register registered}.
 *
 * <p>Beside the counts it notes in which slots of {@link #SLOT_NS} each publisher sent, a bit a slot, so that groups
 * that send together can be found. Slots are numbered by the wall clock, so that brokers' slots can be compared. What
 * comes later than {@link #SLOTS} slots after a look is counted, but not noted.
 */
public final class PlacementTable implements Homes {
    static final int MOST_TOPICS = 100_000;
    static final int MOST_PUBLISHERS = 1 << 20;
    /** Whoever published nothing for so many {@link #take}s has left; that it is still connected says nothing. */
    static final int SILENT_LOOKS = 20;

    /** Publishers that send within about so long of each other send together. */
    public static final long SLOT_NS = 10_000_000L;
    /** So many slots are noted from one look to the next: those that a word has bits for. */
    public static final int SLOTS = Long.SIZE;
    /** Instead of a wall clock's time: nobody looks for groups, and nothing is noted. */
    public static final long UNOBSERVED = -1;

    private static final int FIRST_SLOTS = 8;
    private static final int NO_ROOM = -1;

    /**
     * Where a topic's publishers belong. Does not change once made, so another thread may make it. Eight bytes a
     * publisher, since every broker has those of the whole cluster.
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
     * @param fromSlot the number of the first slot that {@code bursts} tells of; {@link #UNOBSERVED} if it tells of
     *     none
     * @param bursts in which slots each began to send, after a slot in which it did not: bit i is slot fromSlot + i
     */
    public record Attendance(
            TopicName topic,
            long[] ids,
            int[] messages,
            String[] groups,
            double[] expectedRates,
            long[] left,
            long fromSlot,
            long[] bursts) {}

    /** One topic's publishers that are here: open addressing by id. */
    private static final class TopicPublishers {
        private final TopicName topic;
        private Seats seats;
        private long[] ids = new long[FIRST_SLOTS];
        private BrokerId[] homes = new BrokerId[FIRST_SLOTS];
        private int[] messages = new int[FIRST_SLOTS];
        private byte[] silent = new byte[FIRST_SLOTS];
        private String[] groups = new String[FIRST_SLOTS];
        private double[] rates = new double[FIRST_SLOTS];
        private boolean[] registered = new boolean[FIRST_SLOTS];
        /** The slots in which it sent since the last look. */
        private long[] active = new long[FIRST_SLOTS];
        /** Whether it sent in the last slot before those. */
        private boolean[] before = new boolean[FIRST_SLOTS];

        private int size;

        private TopicPublishers(TopicName topic) {
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

        /**
         * What was said last counts; whether it contradicts what was said before is judged where all publishers are
         * known.
         */
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
            TopicPublishers old = new TopicPublishers(topic);
            old.ids = ids;
            old.homes = homes;
            old.messages = messages;
            old.silent = silent;
            old.groups = groups;
            old.rates = rates;
            old.registered = registered;
            old.active = active;
            old.before = before;
            ids = new long[slots];
            homes = new BrokerId[slots];
            messages = new int[slots];
            silent = new byte[slots];
            groups = new String[slots];
            rates = new double[slots];
            registered = new boolean[slots];
            active = new long[slots];
            before = new boolean[slots];
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
                    active[slot] = old.active[i];
                    before[slot] = old.before[i];
                    size++;
                }
            }
        }

        /** @param noted so many slots are over; 0 if none was noted */
        private Attendance take(long fromSlot, int noted) {
            long[] present = new long[size];
            int[] published = new int[size];
            String[] theirGroups = new String[size];
            double[] expected = new double[size];
            long[] bursts = new long[size];
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
                    bursts[count] = takeBursts(i, noted);
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
                    Arrays.copyOf(left, gone),
                    noted == 0 ? UNOBSERVED : fromSlot,
                    Arrays.copyOf(bursts, count));
        }

        /** The slot that is not over yet stays for the next look. */
        private long takeBursts(int slot, int noted) {
            if (noted == 0) {
                return 0;
            }
            long over = noted == SLOTS ? active[slot] : active[slot] & (1L << noted) - 1;
            long began = over & ~(over << 1 | (before[slot] ? 1 : 0));
            before[slot] = (over >>> noted - 1 & 1) == 1;
            active[slot] = noted == SLOTS ? 0 : active[slot] >>> noted;
            return began;
        }

        private long revision() {
            return seats == null ? 0 : seats.revision;
        }
    }

    private final BrokerId self;
    private final NameTable<TopicPublishers> byName = new NameTable<>();
    private final Map<TopicName, TopicPublishers> all = new HashMap<>();
    private int publishers;
    /** The first slot that is noted since the last look, and when it began by the path's clock. */
    private long fromSlot = UNOBSERVED;

    private long fromNs;

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
        TopicPublishers here = byName.get(request.in(), request.topicAt(), request.topicLength());
        if (here == null) {
            here = add(request);
            if (here == null) {
                return null;
            }
        }
        int slot = slotOf(here, id);
        if (slot == NO_ROOM) {
            return null;
        }
        here.say(slot, publisher.group(), publisher.expectedRate());
        here.messages[slot] += Math.max(1, request.messages());
        if (fromSlot != UNOBSERVED) {
            long sinceNs = request.arrivalNs() - fromNs;
            if (sinceNs >= 0 && sinceNs < SLOTS * SLOT_NS) {
                here.active[slot] |= 1L << sinceNs / SLOT_NS;
            }
        }
        return here.homes[slot];
    }

    /**
     * Somebody is going to publish here, and counts as present, however silent, until {@link #unregister}.
     *
     * @param group empty: none
     * @param rate messages a second; 0: to be measured
     * @return false if there is no room for it
     */
    public boolean register(TopicName topic, long id, String group, double rate) {
        TopicPublishers here = publishersOf(topic);
        if (here == null) {
            return false;
        }
        int slot = slotOf(here, id);
        if (slot == NO_ROOM) {
            return false;
        }
        here.say(slot, group, rate);
        here.registered[slot] = true;
        return true;
    }

    /** From now on it counts as present for as long as it publishes; false if it was not registered here. */
    public boolean unregister(TopicName topic, long id) {
        TopicPublishers here = all.get(topic);
        int slot = here == null ? 0 : here.slot(id);
        if (here == null || here.ids[slot] != id || !here.registered[slot]) {
            return false;
        }
        here.registered[slot] = false;
        return true;
    }

    /** The publisher's slot, given to it if it has none; {@link #NO_ROOM} if there are too many publishers. */
    private int slotOf(TopicPublishers here, long id) {
        int slot = here.slot(id);
        if (here.ids[slot] == id) {
            return slot;
        }
        if (publishers >= MOST_PUBLISHERS) {
            return NO_ROOM;
        }
        publishers++;
        return here.add(id, self);
    }

    private TopicPublishers add(PublishRequest request) {
        byte[] name = new byte[request.topicLength()];
        request.in().get(request.topicAt(), name);
        return publishersOf(TopicName.of(new String(name, StandardCharsets.US_ASCII)));
    }

    private TopicPublishers publishersOf(TopicName topic) {
        TopicPublishers here = all.get(topic);
        if (here == null && all.size() < MOST_TOPICS) {
            here = new TopicPublishers(topic);
            all.put(topic, here);
            byName.add(topic.value(), here);
        }
        return here;
    }

    /** From now on these seats hold, unless later ones do already. */
    public void seat(Seats seats) {
        TopicPublishers here = publishersOf(seats.topic);
        if (here == null || seats.revision <= here.revision()) {
            return;
        }
        here.seats = seats;
        for (int i = 0; i < here.ids.length; i++) {
            if (here.ids[i] != Publisher.NOBODY) {
                here.homes[i] = here.seatOf(here.ids[i], self);
            }
        }
    }

    /** What happened since the last call, of topics that have publishers here; nobody looks for groups. */
    public List<Attendance> take() {
        return take(0, UNOBSERVED);
    }

    /**
     * What happened since the last call, of topics that have publishers here.
     *
     * @param nowNs by the clock that publications' arrivals are stamped by
     * @param wallNs the time of day at that moment, in nanoseconds since the epoch, or {@link #UNOBSERVED}
     */
    public List<Attendance> take(long nowNs, long wallNs) {
        long slot = wallNs == UNOBSERVED ? UNOBSERVED : wallNs / SLOT_NS;
        // A wall clock that was set back has nothing to say about what came meanwhile.
        int noted = fromSlot != UNOBSERVED && slot > fromSlot ? (int) Math.min(SLOTS, slot - fromSlot) : 0;
        long takenFrom = fromSlot;
        if (slot != fromSlot) {
            fromSlot = slot;
            fromNs = nowNs - (wallNs - slot * SLOT_NS);
        }
        return collect(takenFrom, noted);
    }

    private List<Attendance> collect(long takenFrom, int noted) {
        List<Attendance> attendances = new ArrayList<>();
        List<TopicPublishers> empty = new ArrayList<>();
        publishers = 0;
        for (TopicPublishers here : all.values()) {
            if (here.size > 0) {
                attendances.add(here.take(takenFrom, noted));
            }
            publishers += here.size;
            if (here.size == 0 && here.seats == null) {
                empty.add(here);
            }
        }
        for (TopicPublishers here : empty) {
            all.remove(here.topic);
            byName.remove(here.topic.value());
        }
        return attendances;
    }
}
