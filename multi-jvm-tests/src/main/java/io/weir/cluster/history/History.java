package io.weir.cluster.history;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.AdmissionHistory.Admission;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.LeaseRow;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.LimitRow;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
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
 * What happened in a cluster, read from a file with one JSON object a line. {@code t} is a time in nanoseconds of one clock that all who
 * write share ({@code System.nanoTime} of one machine). Lines may come in any order; of the fields, those in brackets may be missing.
 *
 * <pre>
 *   limit        t topic rate burst [mode]          in effect: a first limit or a raise from when it was asked for, a lowering when done
 *   limit-asked  t topic rate burst                 somebody wants this limit
 *   admit        t topic broker [inc] [cost] [kept] [leaseLeftNs]       a message took its tokens
 *   publish      t topic id phase [client] [op] [broker] [reason]       phase is invoke, ok, fail (certainly not in) or info (unknown)
 *   deliver      t topic channel id [client] [attempts] [broker]
 *   channel      t topic channel                    is there from now on
 *   broker       t broker state                     its process is up or down, with all that it held
 *   nemesis      t fault phase [text] [hosts]       phase is start or end
 *   phase        t name [saturated]                 warm, chaos, healed, end
 *   setup        t [brokers] [floor] [saturated] …  saturated: topics that are always offered more than their limit
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

        private long deliveries;
        private long duplicates;

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

        private Message message(String id) {
            return messages.computeIfAbsent(id, name -> new Message());
        }

        private int channel(String name, long atNs) {
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

    private final Map<String, Long> counts = new LinkedHashMap<>();
    private final List<Admission> admissions = new ArrayList<>();
    private final Map<TopicName, LimitCourse> limits = new LinkedHashMap<>();
    private final Set<TopicName> shadows = new HashSet<>();
    private final Map<TopicName, Traffic> traffic = new LinkedHashMap<>();
    private final List<Nemesis> faults = new ArrayList<>();
    private final List<Phase> phases = new ArrayList<>();
    private final List<BrokerState> brokerStates = new ArrayList<>();
    private final List<String> brokers = new ArrayList<>();
    private final Set<TopicName> saturated = new HashSet<>();
    private final Map<String, Object> setup = new LinkedHashMap<>();
    private final Map<Long, StoredSupply.Entry> entries = new TreeMap<>();
    private final Map<Holder, TreeMap<Long, Ledger.Snapshot>> snapshots = new HashMap<>();
    private final Map<Holder, LeaseRow> leases = new LinkedHashMap<>();
    private final Map<Holder, Long> leasesSeenNs = new HashMap<>();
    private final Map<TopicName, TreeMap<Long, LimitRow>> limitRows = new LinkedHashMap<>();
    private long rowsReadNs = Long.MIN_VALUE;
    private long limitsChangedNs = Long.MIN_VALUE;
    private long firstNs = Long.MAX_VALUE;
    private long lastNs = Long.MIN_VALUE;

    private History() {}

    /**
     * @throws HistoryException if a line is not a record; it says which
     * @throws IOException if the file can't be read
     */
    public static History read(Path path) throws IOException {
        History history = new History();
        try (InputStream file = Files.newInputStream(path)) {
            history.new Reader(path.toString()).read(file);
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
        unknown.keySet().removeAll(Reader.KNOWN);
        return unknown;
    }

    public boolean isEmpty() {
        return counts.isEmpty();
    }

    /** In no particular order. */
    public List<Admission> admissions() {
        return admissions;
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

    /** Reads lines; the fields that most lines have are read as they stream by, the rest as a tree. */
    private final class Reader {
        private static final Set<String> KNOWN = Set.of(
                "limit",
                "limit-asked",
                "admit",
                "publish",
                "deliver",
                "channel",
                "broker",
                "nemesis",
                "phase",
                "setup",
                "supply",
                "snapshot",
                "lease",
                "limit-row");
        private static final int FIRST_BYTES = 1 << 18;

        private final JsonFactory factory = new JsonFactory();
        private final ObjectMapper trees = new ObjectMapper();
        private final Map<String, TopicName> topicNames = new HashMap<>();
        private final Map<String, BrokerId> brokerIds = new HashMap<>();
        private final Map<String, String> words = new HashMap<>();
        private final String path;
        private long number;

        private boolean hasTime;
        private long atNs;
        private String type;
        private String topic;
        private String broker;
        private String id;
        private String phase;
        private String channel;
        private long incarnation;
        private long cost;
        private boolean kept;
        private long leaseLeftNs;
        private double rate;
        private double burst;
        private String mode;

        private Reader(String path) {
            this.path = path;
        }

        private void read(InputStream file) throws IOException {
            byte[] buffer = new byte[FIRST_BYTES];
            int held = 0;
            for (int read; (read = file.read(buffer, held, buffer.length - held)) >= 0; ) {
                int searched = held;
                held += read;
                int begin = 0;
                for (int i = searched; i < held; i++) {
                    if (buffer[i] == '\n') {
                        line(buffer, begin, i);
                        begin = i + 1;
                    }
                }
                System.arraycopy(buffer, begin, buffer, 0, held - begin);
                held -= begin;
                if (held == buffer.length) {
                    if (held >= MAX_LINE_BYTES) {
                        number++;
                        throw wrong("the line is longer than " + MAX_LINE_BYTES + " bytes");
                    }
                    buffer = Arrays.copyOf(buffer, 2 * held);
                }
            }
            line(buffer, 0, held);
        }

        private HistoryException wrong(String what) {
            return new HistoryException(path + " line " + number + ": " + what);
        }

        private void line(byte[] bytes, int begin, int end) throws IOException {
            number++;
            int from = begin;
            while (from < end && (bytes[from] == ' ' || bytes[from] == '\r' || bytes[from] == '\t')) {
                from++;
            }
            if (from == end) {
                return;
            }
            try {
                stream(bytes, from, end);
                if (type == null) {
                    throw new IllegalArgumentException("'type' is missing");
                }
                if (!hasTime) {
                    throw new IllegalArgumentException("'t' is missing");
                }
                record(bytes, from, end);
                counts.merge(type, 1L, Long::sum);
                firstNs = Math.min(firstNs, atNs);
                lastNs = Math.max(lastNs, atNs);
            } catch (JsonParseException e) {
                throw wrong("no JSON object: " + e.getOriginalMessage() + ", in '" + beginning(bytes, from, end) + "'");
            } catch (IllegalArgumentException | ArithmeticException e) {
                throw wrong(e.getMessage() + ", in '" + beginning(bytes, from, end) + "'");
            }
        }

        private static String beginning(byte[] bytes, int from, int end) {
            int most = 120;
            String text = new String(bytes, from, Math.min(end - from, most), StandardCharsets.UTF_8);
            return (end - from > most ? text + "…" : text).replaceAll("\\p{Cntrl}", "?");
        }

        private void stream(byte[] bytes, int from, int end) throws IOException {
            hasTime = false;
            type = null;
            topic = null;
            broker = null;
            id = null;
            phase = null;
            channel = null;
            incarnation = 0;
            cost = 1;
            kept = false;
            leaseLeftNs = AdmissionCheck.LEASE_UNKNOWN;
            rate = Double.NaN;
            burst = Double.NaN;
            mode = null;
            try (JsonParser json = factory.createParser(bytes, from, end - from)) {
                if (json.nextToken() != JsonToken.START_OBJECT) {
                    throw new IllegalArgumentException("no JSON object");
                }
                for (String name; (name = json.nextFieldName()) != null; ) {
                    JsonToken value = json.nextToken();
                    field(name, value, json);
                }
                if (json.currentToken() != JsonToken.END_OBJECT || json.nextToken() != null) {
                    throw new IllegalArgumentException("a line has one JSON object, and nothing after it");
                }
            }
        }

        private void field(String name, JsonToken value, JsonParser json) throws IOException {
            switch (name) {
                case "t" -> {
                    atNs = whole(name, value, json);
                    hasTime = true;
                }
                case "type" -> type = word(text(name, value, json));
                case "topic" -> topic = text(name, value, json);
                case "broker" -> broker = text(name, value, json);
                case "id" -> id = text(name, value, json);
                case "phase" -> phase = word(text(name, value, json));
                case "channel" -> channel = word(text(name, value, json));
                case "inc" -> incarnation = whole(name, value, json);
                case "cost" -> cost = whole(name, value, json);
                case "kept" -> {
                    if (!value.isBoolean()) {
                        throw new IllegalArgumentException("'kept' must be true or false");
                    }
                    kept = value == JsonToken.VALUE_TRUE;
                }
                case "leaseLeftNs" -> leaseLeftNs = whole(name, value, json);
                case "rate" -> rate = real(name, value, json);
                case "burst" -> burst = real(name, value, json);
                case "mode" -> mode = text(name, value, json);
                default -> json.skipChildren();
            }
        }

        private static long whole(String name, JsonToken value, JsonParser json) throws IOException {
            if (value != JsonToken.VALUE_NUMBER_INT) {
                throw new IllegalArgumentException("'" + name + "' must be a whole number");
            }
            return json.getLongValue();
        }

        private static double real(String name, JsonToken value, JsonParser json) throws IOException {
            if (!value.isNumeric()) {
                throw new IllegalArgumentException("'" + name + "' must be a number");
            }
            return json.getDoubleValue();
        }

        private static String text(String name, JsonToken value, JsonParser json) throws IOException {
            if (value != JsonToken.VALUE_STRING) {
                throw new IllegalArgumentException("'" + name + "' must be a text");
            }
            return json.getText();
        }

        /** One object for the many times that a word comes. */
        private String word(String text) {
            String known = words.putIfAbsent(text, text);
            return known == null ? text : known;
        }

        private <T> T needed(String name, T value) {
            if (value == null) {
                throw new IllegalArgumentException("'" + name + "' is missing");
            }
            return value;
        }

        private TopicName topic() {
            return topicNames.computeIfAbsent(needed("topic", topic), TopicName::new);
        }

        private BrokerId broker() {
            return brokerIds.computeIfAbsent(needed("broker", broker), BrokerId::new);
        }

        private Traffic traffic() {
            return traffic.computeIfAbsent(topic(), name -> new Traffic());
        }

        private void record(byte[] bytes, int from, int end) throws IOException {
            switch (type) {
                case "admit" -> admit();
                case "publish" -> publish();
                case "deliver" -> deliver();
                case "limit", "limit-asked" -> limit();
                case "channel" -> traffic().channel(needed("channel", channel), atNs);
                case "nemesis", "phase", "setup", "broker" -> story(trees.readTree(bytes, from, end - from));
                case "supply", "snapshot", "lease", "limit-row" -> store(trees.readTree(bytes, from, end - from));
                default -> {
                    // Counted, and told by who asks for the unknown.
                }
            }
        }

        private void admit() {
            if (cost < 1 || cost > Limit.MAX_BURST_MICROS / Limit.MICROS) {
                throw new IllegalArgumentException("'cost' must be at least 1 and at most a billion, not " + cost);
            }
            admissions.add(new Admission(broker(), incarnation, topic(), atNs, (int) cost, kept, leaseLeftNs));
        }

        private void publish() {
            Message message = traffic().message(needed("id", id));
            switch (needed("phase", phase)) {
                case "invoke" -> message.invoked(atNs);
                case "ok" -> message.acknowledged(atNs, broker == null ? -1 : brokerIndex(broker));
                case "fail" -> message.refused();
                case "info" -> message.unknown();
                default ->
                    throw new IllegalArgumentException(
                            "'phase' of a publish is invoke, ok, fail or info, not '" + phase + "'");
            }
        }

        private int brokerIndex(String name) {
            int found = brokers.indexOf(name);
            if (found < 0) {
                if (brokers.size() > Short.MAX_VALUE) {
                    throw new IllegalArgumentException("there are more brokers than " + Short.MAX_VALUE);
                }
                found = brokers.size();
                brokers.add(name);
            }
            return found;
        }

        private void deliver() {
            Traffic of = traffic();
            int index = of.channel(needed("channel", channel), atNs);
            of.deliveries++;
            if (!of.message(needed("id", id)).delivered(atNs, index)) {
                of.duplicates++;
            }
        }

        private void limit() {
            LimitCourse course = limits.computeIfAbsent(topic(), name -> new LimitCourse());
            Share limit = new Share(micros("rate", rate), micros("burst", burst));
            limitsChangedNs = Math.max(limitsChangedNs, atNs);
            if (type.equals("limit-asked")) {
                course.asked(limit, atNs);
            } else {
                course.inEffect(limit, atNs);
                if ("shadow".equals(mode)) {
                    shadows.add(topic());
                }
            }
        }

        private static long micros(String name, double value) {
            if (Double.isNaN(value)) {
                throw new IllegalArgumentException("'" + name + "' is missing");
            }
            long micros = Math.round(value * Limit.MICROS);
            if (value < 0 || micros > Limit.MAX_RATE_MICROS) {
                throw new IllegalArgumentException("'" + name + "' must be within 0 and a billion, not " + value);
            }
            return micros;
        }

        private void story(JsonNode line) {
            switch (type) {
                case "nemesis" -> {
                    List<String> hosts = new ArrayList<>();
                    line.path("hosts").forEach(host -> hosts.add(host.asText()));
                    boolean start = needed("phase", phase).equals("start");
                    if (!start && !phase.equals("end")) {
                        throw new IllegalArgumentException("'phase' of a fault is start or end, not '" + phase + "'");
                    }
                    faults.add(new Nemesis(
                            atNs,
                            SupplyJson.text(line, "fault"),
                            start,
                            line.path("text").asText(""),
                            hosts));
                }
                case "phase" -> {
                    phases.add(new Phase(atNs, SupplyJson.text(line, "name")));
                    saturated(line);
                }
                case "broker" -> {
                    String state = SupplyJson.text(line, "state");
                    if (!state.equals("up") && !state.equals("down")) {
                        throw new IllegalArgumentException("'state' of a broker is up or down, not '" + state + "'");
                    }
                    brokerStates.add(new BrokerState(atNs, needed("broker", broker), state.equals("up")));
                }
                default -> {
                    setup.putAll(trees.convertValue(line, new TypeReference<Map<String, Object>>() {}));
                    saturated(line);
                }
            }
        }

        private void saturated(JsonNode line) {
            line.path("saturated").forEach(name -> saturated.add(new TopicName(name.asText())));
        }

        private void store(JsonNode line) throws IOException {
            switch (type) {
                case "supply" -> {
                    StoredSupply.Entry entry = SupplyJson.entry(line);
                    StoredSupply.Entry known = entries.putIfAbsent(entry.ordering(), entry);
                    if (known != null && !known.equals(entry)) {
                        throw new IllegalArgumentException("'seq' " + entry.ordering() + " is already " + known);
                    }
                }
                case "snapshot" ->
                    snapshots
                            .computeIfAbsent(SupplyJson.holder(line), holder -> new TreeMap<>())
                            .put(SupplyJson.number(line, "journalSeq"), SupplyJson.snapshot(line));
                case "lease" -> {
                    LeaseRow row = SupplyJson.lease(line);
                    rowsReadNs = Math.max(rowsReadNs, atNs);
                    if (leasesSeenNs.merge(row.holder(), atNs, Math::max) == atNs) {
                        leases.put(row.holder(), row);
                    }
                }
                default -> {
                    LimitRow row = SupplyJson.limitRow(line);
                    rowsReadNs = Math.max(rowsReadNs, atNs);
                    limitRows
                            .computeIfAbsent(row.topic(), topic -> new TreeMap<>())
                            .merge(row.version(), row, (one, other) -> one.done() ? one : other);
                }
            }
        }
    }
}
