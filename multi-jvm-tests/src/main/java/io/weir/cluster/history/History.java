package io.weir.cluster.history;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.gate.AdmissionHistory.Borrowed;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * What happened in a cluster, read from a file with one JSON object a line. {@code t} is a time in nanoseconds of one
 * clock that all who write share ({@code System.nanoTime} of one machine). Lines may come in any order; of the fields,
 * those in brackets may be missing.
 *
 * <pre>
 *   limit        t topic rate burst [mode]   in effect: a raise from when it was asked for, a lowering when done
 *   limit-asked  t topic rate burst                 somebody wants this limit
 *   admit        t topic broker [inc] [cost] [kept] [leaseLeftNs]       a message took its tokens
 *   borrow       t topic broker inc micros leaseLeftNs           level that came, or went if below 0
 *   publish      t topic id phase [client] [op] [broker] [reason]  phase: invoke, ok, fail (not in), info (unknown)
 *   deliver      t topic channel id [client] [attempts] [broker]
 *   channel      t topic channel                    is there from now on
 *   broker       t broker state                     its process is up or down, with all that it held
 *   nemesis      t fault phase [text] [hosts]       phase is start or end
 *   phase        t name [saturated]                 warm, chaos, healed, end
 *   setup        t [brokers] [floor] [saturated] [homes] …  saturated: topics always offered more than their limit;
 *                homes: whether a message may be let in by another broker than the one that answers
 *   supply, snapshot, lease, limit-row              the store's journals and rows: see {@link SupplyJson}
 * </pre>
 *
 * A limit of {@code mode} shadow is only counted, never kept. Lines of other types are counted and not looked at.
 */
public final class History {
    static final int MAX_LINE_BYTES = 1 << 26;
    private static final int MAX_CHANNELS = Long.SIZE;

    /** A fault begins or ends. */
    public record Nemesis(long atNs, String fault, boolean start, String text, List<String> hosts) {}

    /** A part of the run begins. */
    public record Phase(long atNs, String name) {}

    /** A broker's process came up or ended. */
    public record BrokerState(long atNs, String broker, boolean up) {}

    /** What clients say of one topic. */
    public static final class Traffic {
        private final Map<String, Message> messages = new HashMap<>();
        private final List<String> channels = new ArrayList<>();
        /** From when on each is known to be there. */
        private final List<Long> channelsFromNs = new ArrayList<>();

        long deliveries;
        long duplicates;

        public Map<String, Message> messages() {
            return messages;
        }

        public List<String> channels() {
            return channels;
        }

        long channelFromNs(int channel) {
            return channelsFromNs.get(channel);
        }

        public long deliveries() {
            return deliveries;
        }

        /** Deliveries of a message to a channel that had it before. */
        public long duplicates() {
            return duplicates;
        }

        Message message(String id) {
            return messages.computeIfAbsent(id, name -> new Message());
        }

        int channel(String name, long atNs) {
            int found = channels.indexOf(name);
            if (found < 0) {
                if (channels.size() == MAX_CHANNELS) {
                    throw new IllegalArgumentException("a topic has more than " + MAX_CHANNELS + " channels");
                }
                found = channels.size();
                channels.add(name);
                channelsFromNs.add(atNs);
            } else if (atNs < channelsFromNs.get(found)) {
                channelsFromNs.set(found, atNs);
            }
            return found;
        }
    }

    // Filled in by the reader.
    final Map<String, Long> counts = new LinkedHashMap<>();
    final List<Admission> admissions = new ArrayList<>();
    final List<Borrowed> borrowed = new ArrayList<>();
    final Map<TopicName, LimitCourse> limits = new LinkedHashMap<>();
    final Set<TopicName> shadows = new HashSet<>();
    final Map<TopicName, Traffic> traffic = new LinkedHashMap<>();
    final List<Nemesis> faults = new ArrayList<>();
    final List<Phase> phases = new ArrayList<>();
    final List<BrokerState> brokerStates = new ArrayList<>();
    final List<String> brokers = new ArrayList<>();
    final Set<TopicName> saturated = new HashSet<>();
    final Map<String, Object> setup = new LinkedHashMap<>();
    final Map<Long, StoredSupply.Entry> entries = new TreeMap<>();
    final Map<Holder, TreeMap<Long, Ledger.Snapshot>> snapshots = new HashMap<>();
    final Map<Holder, LeaseRow> leases = new LinkedHashMap<>();
    final Map<Holder, Long> leasesSeenNs = new HashMap<>();
    final Map<TopicName, TreeMap<Long, LimitRow>> limitRows = new LinkedHashMap<>();
    long rowsReadNs = Long.MIN_VALUE;
    long limitsChangedNs = Long.MIN_VALUE;
    long firstNs = Long.MAX_VALUE;
    long lastNs = Long.MIN_VALUE;

    private History() {}

    /**
     * @throws HistoryException if a line is not a record; it says which
     * @throws IOException if the file can't be read
     */
    public static History read(Path path) throws IOException {
        History history = new History();
        try (InputStream file = Files.newInputStream(path)) {
            new HistoryReader(history, path.toString()).read(file);
        }
        history.faults.sort(Comparator.comparingLong(Nemesis::atNs));
        history.phases.sort(Comparator.comparingLong(Phase::atNs));
        history.brokerStates.sort(Comparator.comparingLong(BrokerState::atNs));
        return history;
    }

    /** How many lines there are of each type. */
    public Map<String, Long> counts() {
        return counts;
    }

    public long count(String type) {
        return counts.getOrDefault(type, 0L);
    }

    /** Types that nobody here knows, with how many there are. */
    public Map<String, Long> unknown() {
        Map<String, Long> unknown = new LinkedHashMap<>(counts);
        unknown.keySet().removeAll(HistoryReader.KNOWN);
        return unknown;
    }

    public boolean isEmpty() {
        return counts.isEmpty();
    }

    /** Whether a message may be let in by another broker than the one that answers. */
    boolean hasHomes() {
        return Boolean.TRUE.equals(setup.get("homes"));
    }

    /** In no particular order. */
    public List<Admission> admissions() {
        return admissions;
    }

    /** Level that brokers lent each other. */
    public List<Borrowed> borrowed() {
        return borrowed;
    }

    public Map<TopicName, LimitCourse> limits() {
        return limits;
    }

    /** Topics whose limit is only counted. */
    public Set<TopicName> shadows() {
        return shadows;
    }

    /** Publishes and deliveries by topic. */
    public Map<TopicName, Traffic> traffic() {
        return traffic;
    }

    /** Faults in the order of time. */
    public List<Nemesis> faults() {
        return faults;
    }

    public List<Phase> phases() {
        return phases;
    }

    public List<BrokerState> brokerStates() {
        return brokerStates;
    }

    /** Topics that somebody says are always offered more than their limit. */
    public Set<TopicName> saturated() {
        return saturated;
    }

    /** Fields of the setup record. */
    public Map<String, Object> setup() {
        return setup;
    }

    /** The time of the earliest record; 0 if there is none. */
    public long firstNs() {
        return isEmpty() ? 0 : firstNs;
    }

    public long lastNs() {
        return isEmpty() ? 0 : lastNs;
    }

    /** When the last phase of that name began. */
    public Optional<Long> phase(String name) {
        return phases.stream()
                .filter(phase -> phase.name.equals(name))
                .map(Phase::atNs)
                .max(Long::compare);
    }

    String broker(int index) {
        return brokers.get(index);
    }

    /** When the store's rows were read last, if they were. */
    Optional<Long> rowsReadNs() {
        return rowsReadNs == Long.MIN_VALUE ? Optional.empty() : Optional.of(rowsReadNs);
    }

    Optional<Long> limitsChangedNs() {
        return limitsChangedNs == Long.MIN_VALUE ? Optional.empty() : Optional.of(limitsChangedNs);
    }

    StoredSupply stored() {
        return new StoredSupply(
                List.copyOf(entries.values()),
                snapshots,
                List.copyOf(leases.values()),
                limitRows.values().stream()
                        .flatMap(rows -> rows.values().stream())
                        .toList());
    }
}
