package io.weir.limiter.supply;

import akka.serialization.SerializerWithStringManifest;
import io.weir.limiter.supply.RingNeighbour.Told;
import io.weir.limiter.supply.SupplyCodec.Reader;
import io.weir.limiter.supply.SupplyCodec.Writer;
import io.weir.limiter.supply.algorithm.Ledger;
import io.weir.limiter.supply.algorithm.SupplyEvent;
import java.io.NotSerializableException;

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
        if (o instanceof Treasury.Sent) {
            return SENT;
        }
        if (o instanceof Treasury.Acknowledged) {
            return ACKNOWLEDGED;
        }
        if (o instanceof Treasury.Indicators) {
            return INDICATORS;
        }
        if (o instanceof Treasury.Collect) {
            return COLLECT;
        }
        if (o instanceof Treasury.Give) {
            return GIVE;
        }
        if (o instanceof Adaptor.Reported) {
            return REPORTED;
        }
        throw new IllegalArgumentException(o.getClass().getName() + " is not bound to this serializer");
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
        if (o instanceof Treasury.Sent sent) {
            writer.putTransfer(sent.transfer());
            writer.putHolder(sent.sender());
        } else if (o instanceof Treasury.Acknowledged acknowledged) {
            writer.putTransferId(acknowledged.transfer());
            writer.putHolder(acknowledged.to());
        } else if (o instanceof Treasury.Indicators indicators) {
            writer.putHolder(indicators.from());
            writer.putAll(indicators.told(), told -> {
                writer.putTopic(told.topic());
                writer.putHolding(told.share());
                writer.putDemand(told.demand());
            });
        } else if (o instanceof Treasury.Collect collect) {
            writer.putTopic(collect.topic());
            writer.putDebt(collect.debt());
            writer.putLong(collect.urgency());
            writer.putHolder(collect.collector());
        } else if (o instanceof Treasury.Give give) {
            writer.putHolder(give.from());
            writer.putHolder(give.to());
            writer.putMap(give.parts(), writer::putTopic, writer::putShare);
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
                    case SENT -> new Treasury.Sent(reader.getTransfer(), reader.getHolder());
                    case ACKNOWLEDGED -> new Treasury.Acknowledged(reader.getTransferId(), reader.getHolder());
                    case INDICATORS ->
                        new Treasury.Indicators(
                                reader.getHolder(),
                                reader.getList(
                                        () -> new Told(reader.getTopic(), reader.getHolding(), reader.getDemand())));
                    case COLLECT ->
                        new Treasury.Collect(
                                reader.getTopic(), reader.getDebt(), (int) reader.getLong(), reader.getHolder());
                    case GIVE ->
                        new Treasury.Give(
                                reader.getHolder(),
                                reader.getHolder(),
                                reader.getMap(reader::getTopic, reader::getShare));
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
        return message;
    }
}
