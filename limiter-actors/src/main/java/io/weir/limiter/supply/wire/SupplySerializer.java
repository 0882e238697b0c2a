package io.weir.limiter.supply.wire;

import akka.serialization.SerializerWithStringManifest;
import io.weir.limiter.supply.actor.Adaptor;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.PeerMessage;
import io.weir.limiter.supply.protocol.PeerMessage.ShareAndDemand;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.wire.SupplyCodec.Reader;
import io.weir.limiter.supply.wire.SupplyCodec.Writer;
import java.io.NotSerializableException;
import java.util.LinkedHashSet;

/**
 * How Akka stores a ledger's events and snapshots, and sends what brokers tell each other of thousands of topics, by
 * {@link SupplyCodec}. The manifests stand in every row, so they are short.
 */
public final class SupplySerializer extends SerializerWithStringManifest {
    private static final int IDENTIFIER = 571001;
    private static final String EVENT = "e";
    private static final String SNAPSHOT = "s";
    private static final String SENT = "t";
    private static final String ACKNOWLEDGED = "a";
    private static final String INDICATORS = "i";
    private static final String COLLECT = "c";
    private static final String GIVE = "g";
    private static final String REPORTED = "r";
    private static final String NEEDS_OF = "q";
    private static final String NEEDED = "n";

    @Override
    public int identifier() {
        return IDENTIFIER;
    }

    @Override
    public String manifest(Object o) {
        if (o instanceof SupplyEvent) {
            return EVENT;
        }
        if (o instanceof Ledger.Snapshot) {
            return SNAPSHOT;
        }
        if (o instanceof SupplyCoordinator.Mail mail) {
            return manifest(mail.message());
        }
        if (o instanceof Adaptor.Reported) {
            return REPORTED;
        }
        throw new IllegalArgumentException(o.getClass().getName() + " is not bound to this serializer");
    }

    private static String manifest(PeerMessage message) {
        if (message instanceof PeerMessage.Sent) {
            return SENT;
        }
        if (message instanceof PeerMessage.Acknowledged) {
            return ACKNOWLEDGED;
        }
        if (message instanceof PeerMessage.Indicators) {
            return INDICATORS;
        }
        if (message instanceof PeerMessage.Collect) {
            return COLLECT;
        }
        if (message instanceof PeerMessage.NeedsOf) {
            return NEEDS_OF;
        }
        return message instanceof PeerMessage.Needed ? NEEDED : GIVE;
    }

    @Override
    public byte[] toBinary(Object o) {
        if (o instanceof SupplyEvent event) {
            return SupplyCodec.encode(event);
        }
        if (o instanceof Ledger.Snapshot snapshot) {
            return SupplyCodec.encode(snapshot);
        }
        Writer writer = new Writer();
        if (o instanceof SupplyCoordinator.Mail mail) {
            write(mail.message(), writer);
        } else if (o instanceof Adaptor.Reported reported) {
            writer.putHolder(reported.from());
            writer.putLong(reported.round());
            writer.putAll(reported.reports(), report -> {
                writer.putTopic(report.topic());
                writer.putLong(report.version());
                writer.putShare(report.limit());
                writer.putHolding(report.share());
                writer.putDemand(report.demand());
            });
        } else {
            throw new IllegalArgumentException(o.getClass().getName() + " is not bound to this serializer");
        }
        return writer.bytes();
    }

    private static void write(PeerMessage message, Writer writer) {
        if (message instanceof PeerMessage.Sent sent) {
            writer.putTransfer(sent.transfer());
            writer.putHolder(sent.sender());
        } else if (message instanceof PeerMessage.Acknowledged acknowledged) {
            writer.putTransferId(acknowledged.transfer());
            writer.putHolder(acknowledged.to());
        } else if (message instanceof PeerMessage.Indicators indicators) {
            writer.putHolder(indicators.from());
            writer.putAll(indicators.topics(), topic -> {
                writer.putTopic(topic.topic());
                writer.putHolding(topic.share());
                writer.putDemand(topic.demand());
                writer.putByte(topic.reserve() ? 1 : 0);
            });
        } else if (message instanceof PeerMessage.Collect collect) {
            writer.putTopic(collect.topic());
            writer.putDebt(collect.debt());
            writer.putLong(collect.urgency());
            writer.putHolder(collect.collector());
        } else if (message instanceof PeerMessage.Give give) {
            writer.putHolder(give.from());
            writer.putHolder(give.to());
            writer.putMap(give.parts(), writer::putTopic, writer::putShare);
        } else if (message instanceof PeerMessage.NeedsOf question) {
            writer.putLong(question.round());
            writer.putAll(question.closed(), writer::putHolder);
            writer.putHolder(question.asker());
        } else if (message instanceof PeerMessage.Needed needed) {
            writer.putHolder(needed.from());
            writer.putLong(needed.round());
            writer.putAll(needed.asked(), writer::putHolder);
            writer.putAll(needed.still(), writer::putHolder);
        }
    }

    @Override
    public Object fromBinary(byte[] bytes, String manifest) throws NotSerializableException {
        if (manifest.equals(EVENT)) {
            return SupplyCodec.event(bytes);
        }
        if (manifest.equals(SNAPSHOT)) {
            return SupplyCodec.snapshot(bytes);
        }
        Reader reader = new Reader(bytes);
        Object message =
                switch (manifest) {
                    case SENT -> new PeerMessage.Sent(reader.getTransfer(), reader.getHolder());
                    case ACKNOWLEDGED -> new PeerMessage.Acknowledged(reader.getTransferId(), reader.getHolder());
                    case INDICATORS ->
                        new PeerMessage.Indicators(
                                reader.getHolder(),
                                reader.getList(() -> new ShareAndDemand(
                                        reader.getTopic(),
                                        reader.getHolding(),
                                        reader.getDemand(),
                                        reader.getByte() == 1)));
                    case COLLECT ->
                        new PeerMessage.Collect(
                                reader.getTopic(), reader.getDebt(), (int) reader.getLong(), reader.getHolder());
                    case GIVE ->
                        new PeerMessage.Give(
                                reader.getHolder(),
                                reader.getHolder(),
                                reader.getMap(reader::getTopic, reader::getShare));
                    case NEEDS_OF ->
                        new PeerMessage.NeedsOf(
                                reader.getLong(),
                                new LinkedHashSet<>(reader.getList(reader::getHolder)),
                                reader.getHolder());
                    case NEEDED ->
                        new PeerMessage.Needed(
                                reader.getHolder(),
                                reader.getLong(),
                                new LinkedHashSet<>(reader.getList(reader::getHolder)),
                                new LinkedHashSet<>(reader.getList(reader::getHolder)));
                    case REPORTED ->
                        new Adaptor.Reported(
                                reader.getHolder(),
                                reader.getLong(),
                                reader.getList(() -> new Adaptor.Report(
                                        reader.getTopic(),
                                        reader.getLong(),
                                        reader.getShare(),
                                        reader.getHolding(),
                                        reader.getDemand())));
                    default ->
                        throw new NotSerializableException(
                                "nothing of the supply protocol is called '" + manifest + "'");
                };
        reader.end();
        return message instanceof PeerMessage told ? new SupplyCoordinator.Mail(told) : message;
    }
}
