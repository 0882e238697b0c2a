package io.weir.cluster.history;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cluster.history.History.BrokerState;
import io.weir.cluster.history.History.Nemesis;
import io.weir.cluster.history.History.Phase;
import io.weir.cluster.history.History.Traffic;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.gate.AdmissionHistory.Borrowed;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Reads lines; the fields that most lines have are read as they stream by, the rest as a tree. */
final class HistoryReader {
    static final Set<String> KNOWN = Set.of(
            "limit",
            "limit-asked",
            "admit",
            "borrow",
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
    private final History history;
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
    private long micros;
    private boolean kept;
    private long leaseLeftNs;
    private double rate;
    private double burst;
    private String mode;

    HistoryReader(History history, String path) {
        this.history = history;
        this.path = path;
    }

    void read(InputStream file) throws IOException {
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
                if (held >= History.MAX_LINE_BYTES) {
                    number++;
                    throw wrong("the line is longer than " + History.MAX_LINE_BYTES + " bytes");
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
            history.counts.merge(type, 1L, Long::sum);
            history.firstNs = Math.min(history.firstNs, atNs);
            history.lastNs = Math.max(history.lastNs, atNs);
        } catch (JsonProcessingException e) {
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
        micros = 0;
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
        if (value == JsonToken.VALUE_NULL) {
            return;
        }
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
            case "micros" -> micros = whole(name, value, json);
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
        return history.traffic.computeIfAbsent(topic(), name -> new Traffic());
    }

    private void record(byte[] bytes, int from, int end) throws IOException {
        switch (type) {
            case "admit" -> admit();
            case "publish" -> publish();
            case "borrow" ->
                history.borrowed.add(new Borrowed(broker(), incarnation, topic(), atNs, micros, leaseLeftNs));
            case "deliver" -> deliver();
            case "limit", "limit-asked" -> limit();
            case "channel" -> traffic().channel(needed("channel", channel), atNs);
            case "nemesis", "phase", "setup", "broker" -> story(trees.readTree(bytes, from, end - from));
            case "supply", "snapshot", "lease", "limit-row" -> store(trees.readTree(bytes, from, end - from));
            default -> {
                // Counted; the caller reports how many lines were unknown.
            }
        }
    }

    private void admit() {
        if (cost < 1 || cost > Limit.MAX_BURST_MICROS / Limit.MICROS) {
            throw new IllegalArgumentException("'cost' must be at least 1 and at most a billion, not " + cost);
        }
        history.admissions.add(new Admission(broker(), incarnation, topic(), atNs, (int) cost, kept, leaseLeftNs));
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
        int found = history.brokers.indexOf(name);
        if (found < 0) {
            if (history.brokers.size() > Short.MAX_VALUE) {
                throw new IllegalArgumentException("there are more brokers than " + Short.MAX_VALUE);
            }
            found = history.brokers.size();
            history.brokers.add(name);
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
        LimitCourse course = history.limits.computeIfAbsent(topic(), name -> new LimitCourse());
        Share limit = new Share(micros("rate", rate), micros("burst", burst));
        history.limitsChangedNs = Math.max(history.limitsChangedNs, atNs);
        if (type.equals("limit-asked")) {
            course.asked(limit, atNs);
        } else {
            course.inEffect(limit, atNs);
            if ("shadow".equals(mode)) {
                history.shadows.add(topic());
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
                history.faults.add(new Nemesis(
                        atNs,
                        SupplyJson.text(line, "fault"),
                        start,
                        line.path("text").asText(""),
                        hosts));
            }
            case "phase" -> {
                history.phases.add(new Phase(atNs, SupplyJson.text(line, "name")));
                saturated(line);
            }
            case "broker" -> {
                String state = SupplyJson.text(line, "state");
                if (!state.equals("up") && !state.equals("down")) {
                    throw new IllegalArgumentException("'state' of a broker is up or down, not '" + state + "'");
                }
                history.brokerStates.add(new BrokerState(atNs, needed("broker", broker), state.equals("up")));
            }
            default -> {
                history.setup.putAll(trees.convertValue(line, new TypeReference<Map<String, Object>>() {}));
                saturated(line);
            }
        }
    }

    private void saturated(JsonNode line) {
        line.path("saturated").forEach(name -> history.saturated.add(new TopicName(name.asText())));
    }

    private void store(JsonNode line) throws IOException {
        switch (type) {
            case "supply" -> {
                StoredSupply.Entry entry = SupplyJson.entry(line);
                StoredSupply.Entry known = history.entries.putIfAbsent(entry.ordering(), entry);
                if (known != null && !known.equals(entry)) {
                    throw new IllegalArgumentException("'seq' " + entry.ordering() + " is already " + known);
                }
            }
            case "snapshot" ->
                history.snapshots
                        .computeIfAbsent(SupplyJson.holder(line), holder -> new TreeMap<>())
                        .put(SupplyJson.number(line, "journalSeq"), SupplyJson.snapshot(line));
            case "lease" -> {
                LeaseRow row = SupplyJson.lease(line);
                history.rowsReadNs = Math.max(history.rowsReadNs, atNs);
                if (history.leasesSeenNs.merge(row.holder(), atNs, Math::max) == atNs) {
                    history.leases.put(row.holder(), row);
                }
            }
            default -> {
                LimitRow row = SupplyJson.limitRow(line);
                history.rowsReadNs = Math.max(history.rowsReadNs, atNs);
                history.limitRows
                        .computeIfAbsent(row.topic(), topic -> new TreeMap<>())
                        .merge(row.version(), row, (one, other) -> one.done() ? one : other);
            }
        }
    }
}
