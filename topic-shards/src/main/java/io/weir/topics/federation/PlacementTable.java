package io.weir.topics.federation;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.topics.algorithm.NameTable;
import io.weir.topics.algorithm.SendingRecording;
import io.weir.transport.gateway.PublishRequest;
import io.weir.transport.gateway.Publisher;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A broker's knowledge of placement: who publishes here, how much, and where each is at home. On the message path's
 * thread throughout.
 *
 * <p>What was decided for a topic comes as a whole ({@link Seats}) and takes effect between two publications. A
 * publisher's seat is looked up when it comes and when the seats change, so a publication costs finding its topic and
 * its publisher, and nothing is allocated for it.
 *
 * <p>A topic is followed if placement is on for all topics, if somebody registers for it here (says a rate or a group),
 * or if it is {@link #follow said} that somebody did elsewhere. Of other topics nothing is known, and a publication to
 * one costs a comparison or two.
 *
 * <p>Bounds: {@link #MOST_TOPICS} topics and {@link #MOST_PUBLISHERS} publishers; whoever comes beyond is at home here
 * and not counted. Who has been silent for some looks in a row is forgotten; its registration is kept elsewhere.
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

    /** What {@link Attendance#registered} says of a publisher that said nothing but, perhaps, its name, ... */
    public static final byte NOT_REGISTERED = 0;
    /** ... of one that said a rate or a group, ... */
    public static final byte UNNAMED = 1;
    /** ... and of one that also has a name, under which it is the same at every broker. */
    public static final byte NAMED = 2;

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
     * @param sendings at how many instants each did: what came at the same time, in one batch or several, is one
     * @param registered whether each did: {@link #NOT_REGISTERED}, {@link #UNNAMED} or {@link #NAMED}
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
            int[] sendings,
            byte[] registered,
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
        private byte[] registered = new byte[FIRST_SLOTS];
        private int[] sendings = new int[FIRST_SLOTS];
        private long[] lastSentNs = new long[FIRST_SLOTS];
        /** The slots in which it sent since the last look. */
        private long[] active = new long[FIRST_SLOTS];
        /** Whether it sent in the last slot before those. */
        private boolean[] before = new boolean[FIRST_SLOTS];

        private int size;
        /** Somebody registered for it elsewhere, or placement is on for all topics. */
        private boolean followed;
        /** Somebody registered for it here, and has not left. */
        private boolean registeredHere;

        private TopicPublishers(TopicName topic) {
            this.topic = topic;
        }

        private boolean tracked() {
            return followed || registeredHere;
        }

        /** Nobody is counted any more; seats stay. */
        private void clear() {
            size = 0;
            Arrays.fill(ids, Publisher.NOBODY);
            resize(FIRST_SLOTS);
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
        private void say(int slot, Publisher publisher) {
            String group = publisher.group();
            if (!group.isEmpty() && !group.equals(groups[slot])) {
                groups[slot] = group;
            }
            if (publisher.expectedRate() > 0) {
                rates[slot] = publisher.expectedRate();
            }
            if (registered[slot] == NOT_REGISTERED && registers(publisher)) {
                registered[slot] = publisher.named() ? NAMED : UNNAMED;
                registeredHere = true;
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
            old.sendings = sendings;
            old.lastSentNs = lastSentNs;
            old.active = active;
            old.before = before;
            ids = new long[slots];
            homes = new BrokerId[slots];
            messages = new int[slots];
            silent = new byte[slots];
            groups = new String[slots];
            rates = new double[slots];
            registered = new byte[slots];
            sendings = new int[slots];
            lastSentNs = new long[slots];
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
                    sendings[slot] = old.sendings[i];
                    lastSentNs[slot] = old.lastSentNs[i];
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
            int[] sent = new int[size];
            byte[] theyRegistered = new byte[size];
            String[] theirGroups = new String[size];
            double[] expected = new double[size];
            long[] bursts = new long[size];
            long[] left = new long[size];
            int count = 0;
            int gone = 0;
            registeredHere = false;
            for (int i = 0; i < ids.length; i++) {
                if (ids[i] == Publisher.NOBODY) {
                    continue;
                }
                silent[i] = (byte) (messages[i] > 0 ? 0 : silent[i] + 1);
                if (silent[i] == SILENT_LOOKS) {
                    left[gone++] = ids[i];
                } else {
                    present[count] = ids[i];
                    published[count] = messages[i];
                    sent[count] = sendings[i];
                    theyRegistered[count] = registered[i];
                    registeredHere |= registered[i] != NOT_REGISTERED;
                    theirGroups[count] = groups[i];
                    bursts[count] = takeBursts(i, noted);
                    expected[count++] = rates[i];
                    messages[i] = 0;
                    sendings[i] = 0;
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
                    Arrays.copyOf(sent, count),
                    Arrays.copyOf(theyRegistered, count),
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
    /** Null: placement is on for all topics. */
    private final Runnable onRegistered;

    private final NameTable<TopicPublishers> byName = new NameTable<>();
    private final Map<TopicName, TopicPublishers> all = new HashMap<>();
    private int publishers;
    /** The first slot that is noted since the last look, and when it began by the path's clock. */
    private long fromSlot = UNOBSERVED;

    private long fromNs;
    /** Who sends when, of one topic; null if nobody wants to know. */
    private SendingRecording recording;

    /** For placement of all topics. */
    public PlacementTable(BrokerId self) {
        this(self, null);
    }

    /**
     * For placement of topics that somebody registers for.
     *
     * @param onRegistered called when somebody registers here for a topic that was not followed
     */
    public PlacementTable(BrokerId self, Runnable onRegistered) {
        this.self = self;
        this.onRegistered = onRegistered;
    }

    /** Whether it says what placement goes by; a name alone says only who it is. */
    private static boolean registers(Publisher publisher) {
        return publisher.expectedRate() > 0 || !publisher.group().isEmpty();
    }

    @Override
    public BrokerId homeOf(PublishRequest request) {
        Publisher publisher = request.publisher();
        long id = publisher.id();
        if (id == Publisher.NOBODY) {
            return null;
        }
        boolean registers = registers(publisher);
        if (all.isEmpty() && !registers && onRegistered != null) {
            return null;
        }
        TopicPublishers here = byName.get(request.in(), request.topicAt(), request.topicLength());
        if (here == null || !here.tracked()) {
            if (!registers && onRegistered != null) {
                return here == null || here.seats == null ? null : here.seatOf(id, self);
            }
            here = here == null ? add(request) : here;
            if (here == null) {
                return null;
            }
            track(here);
        }
        int slot = slotOf(here, id);
        if (slot == NO_ROOM) {
            return null;
        }
        here.say(slot, publisher);
        count(here, slot, request);
        return here.homes[slot];
    }

    private void track(TopicPublishers here) {
        if (onRegistered != null) {
            here.registeredHere = true;
            onRegistered.run();
        }
    }

    private void count(TopicPublishers here, int slot, PublishRequest request) {
        int messages = Math.max(1, request.messages());
        long arrivalNs = request.arrivalNs();
        here.messages[slot] += messages;
        if (here.sendings[slot] == 0 || here.lastSentNs[slot] != arrivalNs) {
            here.lastSentNs[slot] = arrivalNs;
            here.sendings[slot]++;
        }
        if (fromSlot != UNOBSERVED) {
            long sinceNs = arrivalNs - fromNs;
            if (sinceNs >= 0 && sinceNs < SLOTS * SLOT_NS) {
                here.active[slot] |= 1L << sinceNs / SLOT_NS;
            }
        }
        if (recording != null && here.topic.equals(recording.topic())) {
            recording.sent(here.ids[slot], messages, arrivalNs);
        }
    }

    /** Who sends when to its topic goes into this recording from now on; what was recorded before is lost. */
    public void record(SendingRecording into, long nowNs, long wallNs) {
        into.begin(nowNs, wallNs);
        recording = into;
    }

    /** The recording that has ended since the last call; null if none has. */
    public SendingRecording takeRecording(long nowNs) {
        SendingRecording over = recording != null && recording.isOver(nowNs) ? recording : null;
        if (over != null) {
            recording = null;
        }
        return over;
    }

    /** Somebody registered for these topics somewhere, and for no others. Of others, seats stay. */
    public void follow(Set<TopicName> topics) {
        if (onRegistered == null) {
            return;
        }
        topics.forEach(topic -> {
            TopicPublishers here = publishersOf(topic);
            if (here != null) {
                here.followed = true;
            }
        });
        for (TopicPublishers here : all.values()) {
            if (here.followed && !topics.contains(here.topic)) {
                here.followed = false;
                forgetUnlessTracked(here);
            }
        }
    }

    /** Whether any topic's publishers are counted. */
    public boolean tracks() {
        return all.values().stream().anyMatch(TopicPublishers::tracked);
    }

    private void forgetUnlessTracked(TopicPublishers here) {
        if (!here.tracked() && here.size > 0) {
            publishers -= here.size;
            here.clear();
        }
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
            here.followed = onRegistered == null;
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
        here.seats = seats.ids.length == 0 && !here.tracked() ? null : seats;
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
            forgetUnlessTracked(here);
            boolean said = here.followed && onRegistered != null;
            if (here.size == 0 && here.seats == null && !said) {
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
