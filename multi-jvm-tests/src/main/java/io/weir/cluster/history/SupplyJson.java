package io.weir.cluster.history;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.SupplyEvent.Burned;
import io.weir.limiter.supply.value.SupplyEvent.Credited;
import io.weir.limiter.supply.value.SupplyEvent.Debited;
import io.weir.limiter.supply.value.SupplyEvent.Delivered;
import io.weir.limiter.supply.value.SupplyEvent.Fenced;
import io.weir.limiter.supply.value.SupplyEvent.Inherited;
import io.weir.limiter.supply.value.SupplyEvent.Minted;
import io.weir.limiter.supply.value.SupplyEvent.Recovered;
import io.weir.limiter.supply.value.SupplyEvent.Refloored;
import io.weir.limiter.supply.value.SupplyEvent.Refunded;
import io.weir.limiter.supply.value.Transfer;
import io.weir.limiter.supply.wire.SupplyCodec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * What a store says of supply as records of a history. Amounts are micro-tokens, holders are written {@code b1#3}:
 *
 * <pre>
 *   supply     seq, broker, inc, journalSeq, event, and by event:
 *     minted     topic, version, minted: holding, debt: [rate, burst]
 *     debited, credited    from, to, transfer (its number), shares: {topic: holding}
 *     refunded, delivered  from, to, transfer
 *     inherited  victim, account, shares: {topic: supply}, open: [{from, to, transfer, shares}],
 *                debts: {topic: {version, debt}}
 *     burned     topic, version, burned: holding        refloored  topic, split: holding
 *     recovered  life                                   fenced     by
 *   snapshot   broker, inc, journalSeq, bytes (as the store has them, base64)
 *   lease      broker, inc, state, renewSeq, leasedHeir, leasedDone, keptHeir, keptDone
 *   limit-row  topic, version, rateMicros, burstMicros, floorPermille, sharing, indicator, minter, done
 *   supply of one account := [rate, burst, level]
 *   holding := {leased: supply, kept: supply}, what is nothing left out
 * </pre>
 */
final class SupplyJson {
    private SupplyJson() {}

    static void write(JsonGenerator to, Entry entry) throws IOException {
        to.writeNumberField("seq", entry.ordering());
        holder(to, entry.holder());
        to.writeNumberField("journalSeq", entry.sequence());
        if (entry.slackNs() != Entry.CLOCKS_APART_NS) {
            to.writeNumberField("slackNs", entry.slackNs());
        }
        SupplyEvent event = entry.event();
        to.writeStringField("event", event.getClass().getSimpleName().toLowerCase(Locale.ROOT));
        if (event instanceof Minted e) {
            version(to, e.topic(), e.version());
            holding(to, "minted", e.minted());
            share(to, "debt", e.debt());
        } else if (event instanceof Debited e) {
            transfer(to, e.transfer());
        } else if (event instanceof Credited e) {
            transfer(to, e.transfer());
        } else if (event instanceof Refunded e) {
            transferId(to, e.transfer());
        } else if (event instanceof Delivered e) {
            transferId(to, e.transfer());
        } else if (event instanceof Inherited e) {
            inherited(to, e);
        } else if (event instanceof Burned e) {
            version(to, e.topic(), e.version());
            holding(to, "burned", e.burned());
        } else if (event instanceof Refloored e) {
            to.writeStringField("topic", e.topic().value());
            holding(to, "split", e.split());
        } else if (event instanceof Recovered e) {
            to.writeNumberField("life", e.life());
        } else if (event instanceof Fenced e) {
            to.writeStringField("by", e.by().toString());
        } else {
            throw new IllegalArgumentException("no record is defined for " + event);
        }
    }

    private static void inherited(JsonGenerator to, Inherited e) throws IOException {
        to.writeStringField("victim", e.victim().toString());
        to.writeStringField("account", e.account().name().toLowerCase(Locale.ROOT));
        to.writeObjectFieldStart("shares");
        for (Map.Entry<TopicName, Supply> each : e.shares().entrySet()) {
            supply(to, each.getKey().value(), each.getValue());
        }
        to.writeEndObject();
        to.writeArrayFieldStart("open");
        for (Transfer each : e.openTransfers()) {
            to.writeStartObject();
            transfer(to, each);
            to.writeEndObject();
        }
        to.writeEndArray();
        to.writeObjectFieldStart("debts");
        for (Map.Entry<TopicName, Debt> each : e.debts().entrySet()) {
            to.writeObjectFieldStart(each.getKey().value());
            to.writeNumberField("version", each.getValue().version());
            share(to, "debt", each.getValue().remaining());
            to.writeEndObject();
        }
        to.writeEndObject();
    }

    private static void holder(JsonGenerator to, Holder holder) throws IOException {
        to.writeStringField("broker", holder.broker().value());
        to.writeNumberField("inc", holder.incarnation());
    }

    private static void version(JsonGenerator to, TopicName topic, long version) throws IOException {
        to.writeStringField("topic", topic.value());
        to.writeNumberField("version", version);
    }

    private static void transferId(JsonGenerator to, Transfer.Id id) throws IOException {
        to.writeStringField("from", id.from().toString());
        to.writeStringField("to", id.to().toString());
        to.writeNumberField("transfer", id.sequence());
    }

    private static void transfer(JsonGenerator to, Transfer transfer) throws IOException {
        transferId(to, transfer.id());
        to.writeObjectFieldStart("shares");
        for (Map.Entry<TopicName, Holding> each : transfer.holdings().entrySet()) {
            holding(to, each.getKey().value(), each.getValue());
        }
        to.writeEndObject();
    }

    private static void holding(JsonGenerator to, String name, Holding holding) throws IOException {
        to.writeObjectFieldStart(name);
        if (!holding.leased().equals(Supply.NONE)) {
            supply(to, "leased", holding.leased());
        }
        if (!holding.kept().equals(Supply.NONE)) {
            supply(to, "kept", holding.kept());
        }
        to.writeEndObject();
    }

    private static void supply(JsonGenerator to, String name, Supply supply) throws IOException {
        to.writeFieldName(name);
        to.writeArray(new long[] {supply.rateMicros(), supply.burstMicros(), supply.levelMicros()}, 0, 3);
    }

    private static void share(JsonGenerator to, String name, Share share) throws IOException {
        to.writeFieldName(name);
        to.writeArray(new long[] {share.rateMicros(), share.burstMicros()}, 0, 2);
    }

    static void write(JsonGenerator to, Holder holder, long sequence, Ledger.Snapshot snapshot) throws IOException {
        holder(to, holder);
        to.writeNumberField("journalSeq", sequence);
        to.writeBinaryField("bytes", SupplyCodec.encode(snapshot));
    }

    static void write(JsonGenerator to, LeaseRow row) throws IOException {
        holder(to, row.holder());
        to.writeStringField("state", row.state().name());
        to.writeNumberField("renewSeq", row.renewSeq());
        legacy(to, "leased", row.leased());
        legacy(to, "kept", row.kept());
    }

    private static void legacy(JsonGenerator to, String account, LeaseRow.Legacy legacy) throws IOException {
        if (legacy.heir().isPresent()) {
            to.writeStringField(account + "Heir", legacy.heir().get().toString());
        }
        to.writeBooleanField(account + "Done", legacy.done());
    }

    static void write(JsonGenerator to, LimitRow row) throws IOException {
        version(to, row.topic(), row.version());
        to.writeNumberField("rateMicros", row.limit().rateMicros());
        to.writeNumberField("burstMicros", row.limit().burstMicros());
        to.writeNumberField("floorPermille", row.floorPermille());
        to.writeStringField("sharing", row.sharing().name());
        to.writeStringField("indicator", row.indicator().name());
        if (row.minter().isPresent()) {
            to.writeStringField("minter", row.minter().get().toString());
        }
        to.writeBooleanField("done", row.done());
    }

    static Entry entry(JsonNode line) {
        return new Entry(
                number(line, "seq"),
                holder(line),
                number(line, "journalSeq"),
                number(line, "t"),
                line.has("slackNs") ? number(line, "slackNs") : Entry.CLOCKS_APART_NS,
                event(line));
    }

    private static SupplyEvent event(JsonNode line) {
        String event = text(line, "event");
        return switch (event) {
            case "minted" ->
                new Minted(topic(line), number(line, "version"), holding(field(line, "minted")), share(line, "debt"));
            case "debited" -> new Debited(transfer(line));
            case "credited" -> new Credited(transfer(line));
            case "refunded" -> new Refunded(transferId(line));
            case "delivered" -> new Delivered(transferId(line));
            case "inherited" ->
                new Inherited(
                        holder(text(line, "victim")),
                        Account.valueOf(text(line, "account").toUpperCase(Locale.ROOT)),
                        byTopic(line, "shares", SupplyJson::supply),
                        transfers(field(line, "open")),
                        byTopic(line, "debts", each -> new Debt(number(each, "version"), share(each, "debt"))));
            case "burned" -> new Burned(topic(line), number(line, "version"), holding(field(line, "burned")));
            case "refloored" -> new Refloored(topic(line), holding(field(line, "split")));
            case "recovered" -> new Recovered(number(line, "life"));
            case "fenced" -> new Fenced(holder(text(line, "by")));
            default -> throw new IllegalArgumentException("no supply event is called '" + event + "'");
        };
    }

    static Holder holder(JsonNode line) {
        return new Holder(new BrokerId(text(line, "broker")), number(line, "inc"));
    }

    static Ledger.Snapshot snapshot(JsonNode line) throws IOException {
        text(line, "bytes");
        return SupplyCodec.snapshot(field(line, "bytes").binaryValue());
    }

    static LeaseRow lease(JsonNode line) {
        return new LeaseRow(
                holder(line),
                LeaseRow.State.valueOf(text(line, "state")),
                line.has("renewSeq") ? number(line, "renewSeq") : 0,
                legacy(line, "leased"),
                legacy(line, "kept"));
    }

    private static LeaseRow.Legacy legacy(JsonNode line, String account) {
        return new LeaseRow.Legacy(
                optionalHolder(line, account + "Heir"),
                line.path(account + "Done").asBoolean());
    }

    static LimitRow limitRow(JsonNode line) {
        LimitRow row = new LimitRow(
                topic(line),
                number(line, "version"),
                new Share(number(line, "rateMicros"), number(line, "burstMicros")),
                line.path("floorPermille").asInt(),
                line.has("sharing") ? Sharing.valueOf(text(line, "sharing")) : Sharing.DEFAULT,
                optionalHolder(line, "minter"),
                field(line, "done").asBoolean());
        // Lines that were written before there was a choice have none.
        return row.by(line.has("indicator") ? Indicator.valueOf(text(line, "indicator")) : Indicator.FILL_RATIO);
    }

    private static Optional<Holder> optionalHolder(JsonNode line, String name) {
        return line.hasNonNull(name) ? Optional.of(holder(text(line, name))) : Optional.empty();
    }

    private static Holder holder(String text) {
        int split = text.lastIndexOf('#');
        if (split < 0) {
            throw new IllegalArgumentException("'" + text + "' is no holder: one is written like b1#3");
        }
        return new Holder(new BrokerId(text.substring(0, split)), Long.parseLong(text.substring(split + 1)));
    }

    private static TopicName topic(JsonNode line) {
        return new TopicName(text(line, "topic"));
    }

    private static Transfer.Id transferId(JsonNode line) {
        return new Transfer.Id(holder(text(line, "from")), holder(text(line, "to")), number(line, "transfer"));
    }

    private static Transfer transfer(JsonNode line) {
        return new Transfer(transferId(line), byTopic(line, "shares", SupplyJson::holding));
    }

    private static List<Transfer> transfers(JsonNode array) {
        List<Transfer> all = new ArrayList<>();
        array.forEach(each -> all.add(transfer(each)));
        return all;
    }

    private static <T> Map<TopicName, T> byTopic(JsonNode line, String name, Function<JsonNode, T> read) {
        Map<TopicName, T> all = new LinkedHashMap<>();
        field(line, name)
                .fields()
                .forEachRemaining(each -> all.put(new TopicName(each.getKey()), read.apply(each.getValue())));
        return all;
    }

    private static Holding holding(JsonNode node) {
        return new Holding(
                node.has("leased") ? supply(node.get("leased")) : Supply.NONE,
                node.has("kept") ? supply(node.get("kept")) : Supply.NONE);
    }

    private static Supply supply(JsonNode node) {
        return new Supply(amount(node, 0), amount(node, 1), amount(node, 2));
    }

    private static Share share(JsonNode line, String name) {
        JsonNode node = field(line, name);
        return new Share(amount(node, 0), amount(node, 1));
    }

    private static long amount(JsonNode node, int index) {
        JsonNode found = node.path(index);
        if (!found.canConvertToLong()) {
            throw new IllegalArgumentException("'" + node + "' is no supply: [rate, burst, level] in micro-tokens");
        }
        return found.asLong();
    }

    static long number(JsonNode line, String name) {
        JsonNode found = field(line, name);
        if (!found.isIntegralNumber() || !found.canConvertToLong()) {
            throw new IllegalArgumentException("'" + name + "' must be a whole number, not " + found);
        }
        return found.asLong();
    }

    static String text(JsonNode line, String name) {
        JsonNode found = field(line, name);
        if (!found.isTextual()) {
            throw new IllegalArgumentException("'" + name + "' must be a text, not " + found);
        }
        return found.asText();
    }

    private static JsonNode field(JsonNode line, String name) {
        JsonNode found = line.get(name);
        if (found == null || found.isNull()) {
            throw new IllegalArgumentException("'" + name + "' is missing");
        }
        return found;
    }
}
