package io.weir.limiter.supply.wire;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Estimate;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
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
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The supply protocol in bytes, for journals and for messages between brokers.
 *
 * <pre>
 *   array     := format (1 byte, now 1), then what it carries; nothing may be left over
 *   amount    := 1..9 bytes, seven bits each, the lowest first, the top bit set on all but the last; never negative
 *   long      := the same in up to 10 bytes, zig-zag: 0, −1, 1, −2 … become 0, 1, 2, 3 …
 *   name      := length as an amount, UTF-8
 *   holder    := broker's name, incarnation as a long
 *   supply    := rate, burst, level as amounts          holding := leased, kept as supplies
 *   share     := rate, burst as amounts                 demand  := rate, backlog, waiting as estimates
 *   estimate  := lower bound, mean above it, upper bound above that, as amounts
 *   transfer  := from, to as holders, sequence as a long, map of topic to holding
 *   map, list := how many, as an amount, then each
 *   event     := kind (1 byte), then its record's fields in their order
 * </pre>
 *
 * Reading checks every bound and throws IllegalArgumentException with the reason; it allocates in proportion to the
 * bytes that are there, whatever a length in them claims. A kind's number is for ever: journals hold it.
 */
public final class SupplyCodec {
    private static final byte FORMAT = 1;
    private static final int MINTED = 1;
    private static final int DEBITED = 2;
    private static final int CREDITED = 3;
    private static final int REFUNDED = 4;
    private static final int DELIVERED = 5;
    private static final int INHERITED = 6;
    private static final int BURNED = 7;
    private static final int REFLOORED = 8;
    private static final int RECOVERED = 9;
    private static final int FENCED = 10;

    private SupplyCodec() {}

    public static byte[] encode(SupplyEvent event) {
        Writer to = new Writer();
        if (event instanceof Minted e) {
            to.putByte(MINTED);
            to.putTopic(e.topic());
            to.putLong(e.version());
            to.putHolding(e.minted());
            to.putShare(e.debt());
        } else if (event instanceof Debited e) {
            to.putByte(DEBITED);
            to.putTransfer(e.transfer());
        } else if (event instanceof Credited e) {
            to.putByte(CREDITED);
            to.putTransfer(e.transfer());
        } else if (event instanceof Refunded e) {
            to.putByte(REFUNDED);
            to.putTransferId(e.transfer());
        } else if (event instanceof Delivered e) {
            to.putByte(DELIVERED);
            to.putTransferId(e.transfer());
        } else if (event instanceof Inherited e) {
            to.putByte(INHERITED);
            to.putHolder(e.victim());
            to.putAccount(e.account());
            to.putMap(e.shares(), to::putTopic, to::putSupply);
            to.putAll(e.openTransfers(), to::putTransfer);
            to.putMap(e.debts(), to::putTopic, to::putDebt);
        } else if (event instanceof Burned e) {
            to.putByte(BURNED);
            to.putTopic(e.topic());
            to.putLong(e.version());
            to.putHolding(e.burned());
        } else if (event instanceof Refloored e) {
            to.putByte(REFLOORED);
            to.putTopic(e.topic());
            to.putHolding(e.split());
        } else if (event instanceof Recovered e) {
            to.putByte(RECOVERED);
            to.putLong(e.life());
        } else if (event instanceof Fenced e) {
            to.putByte(FENCED);
            to.putHolder(e.by());
        } else {
            throw new IllegalArgumentException("no bytes are defined for " + event);
        }
        return to.bytes();
    }

    public static SupplyEvent event(byte[] bytes) {
        Reader from = new Reader(bytes);
        SupplyEvent event = event(from);
        from.end();
        return event;
    }

    private static SupplyEvent event(Reader from) {
        int kind = from.getByte();
        return switch (kind) {
            case MINTED -> new Minted(from.getTopic(), from.getLong(), from.getHolding(), from.getShare());
            case DEBITED -> new Debited(from.getTransfer());
            case CREDITED -> new Credited(from.getTransfer());
            case REFUNDED -> new Refunded(from.getTransferId());
            case DELIVERED -> new Delivered(from.getTransferId());
            case INHERITED ->
                new Inherited(
                        from.getHolder(),
                        from.getAccount(),
                        from.getMap(from::getTopic, from::getSupply),
                        from.getList(from::getTransfer),
                        from.getMap(from::getTopic, from::getDebt));
            case BURNED -> new Burned(from.getTopic(), from.getLong(), from.getHolding());
            case REFLOORED -> new Refloored(from.getTopic(), from.getHolding());
            case RECOVERED -> new Recovered(from.getLong());
            case FENCED -> new Fenced(from.getHolder());
            default -> throw new IllegalArgumentException("no event is of kind " + kind);
        };
    }

    public static byte[] encode(Ledger.Snapshot snapshot) {
        Writer to = new Writer();
        to.putHolder(snapshot.holder());
        to.putLong(snapshot.sequence());
        to.putMap(snapshot.shares(), to::putTopic, to::putHolding);
        to.putMap(snapshot.debts(), to::putTopic, to::putDebt);
        to.putMap(snapshot.minted(), to::putTopic, to::putLong);
        to.putMap(snapshot.open(), to::putHolder, to::putTransfer);
        to.putMap(snapshot.adopted(), to::putTransferId, to::putTransfer);
        to.putMap(snapshot.lastSent(), to::putHolder, to::putLong);
        to.putMap(snapshot.lastCredited(), to::putHolder, to::putLong);
        to.putAll(snapshot.inherited(), legacy -> {
            to.putHolder(legacy.victim());
            to.putAccount(legacy.account());
        });
        to.putAll(snapshot.fencedBy().stream().toList(), to::putHolder);
        return to.bytes();
    }

    public static Ledger.Snapshot snapshot(byte[] bytes) {
        Reader from = new Reader(bytes);
        Ledger.Snapshot snapshot = new Ledger.Snapshot(
                from.getHolder(),
                from.getLong(),
                from.getMap(from::getTopic, from::getHolding),
                from.getMap(from::getTopic, from::getDebt),
                from.getMap(from::getTopic, from::getLong),
                from.getMap(from::getHolder, from::getTransfer),
                from.getMap(from::getTransferId, from::getTransfer),
                from.getMap(from::getHolder, from::getLong),
                from.getMap(from::getHolder, from::getLong),
                new LinkedHashSet<>(from.getList(() -> new Ledger.Legacy(from.getHolder(), from.getAccount()))),
                from.getOptional(from::getHolder));
        from.end();
        return snapshot;
    }

    /** Writes one array, which begins with the format's number. */
    static final class Writer {
        private static final int FIRST_SIZE = 64;

        private byte[] bytes = new byte[FIRST_SIZE];
        private int size;

        Writer() {
            putByte(FORMAT);
        }

        byte[] bytes() {
            return Arrays.copyOf(bytes, size);
        }

        /** The lowest eight bits. */
        void putByte(int value) {
            room(1);
            bytes[size++] = (byte) value;
        }

        void putLong(long value) {
            putBits(value << 1 ^ value >> 63);
        }

        /** What can't be below 0. */
        void putAmount(long value) {
            if (value < 0) {
                throw new IllegalArgumentException("an amount can't be " + value);
            }
            putBits(value);
        }

        private void putBits(long bits) {
            long left = bits;
            while ((left & ~0x7FL) != 0) {
                putByte((int) left & 0x7F | 0x80);
                left >>>= 7;
            }
            putByte((int) left);
        }

        void putText(String text) {
            byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
            putAmount(utf8.length);
            room(utf8.length);
            System.arraycopy(utf8, 0, bytes, size, utf8.length);
            size += utf8.length;
        }

        void putTopic(TopicName topic) {
            putText(topic.value());
        }

        void putHolder(Holder holder) {
            putText(holder.broker().value());
            putLong(holder.incarnation());
        }

        void putAccount(Account account) {
            putByte(account == Account.LEASED ? 0 : 1);
        }

        void putSupply(Supply supply) {
            putAmount(supply.rateMicros());
            putAmount(supply.burstMicros());
            putAmount(supply.levelMicros());
        }

        void putHolding(Holding holding) {
            putSupply(holding.leased());
            putSupply(holding.kept());
        }

        void putShare(Share share) {
            putAmount(share.rateMicros());
            putAmount(share.burstMicros());
        }

        void putDemand(Demand demand) {
            putEstimate(demand.rate());
            putEstimate(demand.backlog());
            putEstimate(demand.waiting());
        }

        private void putEstimate(Estimate estimate) {
            putAmount(estimate.leastMicros());
            putAmount(estimate.meanMicros() - estimate.leastMicros());
            putAmount(estimate.mostMicros() - estimate.meanMicros());
        }

        void putDebt(Debt debt) {
            putLong(debt.version());
            putShare(debt.remaining());
        }

        void putTransferId(Transfer.Id id) {
            putHolder(id.from());
            putHolder(id.to());
            putLong(id.sequence());
        }

        void putTransfer(Transfer transfer) {
            putTransferId(transfer.id());
            putMap(transfer.holdings(), this::putTopic, this::putHolding);
        }

        <T> void putAll(Collection<T> all, Consumer<? super T> put) {
            putAmount(all.size());
            all.forEach(put);
        }

        <K, V> void putMap(Map<K, V> map, Consumer<? super K> putKey, Consumer<? super V> putValue) {
            putAll(map.entrySet(), entry -> {
                putKey.accept(entry.getKey());
                putValue.accept(entry.getValue());
            });
        }

        private void room(int more) {
            if (bytes.length - size < more) {
                bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more));
            }
        }
    }

    /** Reads what a {@link Writer} wrote; anything else is an IllegalArgumentException. Call {@link #end} last. */
    static final class Reader {
        /** Of topics and brokers. */
        private static final int MAX_NAME_BYTES = 64;

        private final byte[] bytes;
        private int position;

        Reader(byte[] bytes) {
            this.bytes = bytes;
            int format = getByte();
            if (format != FORMAT) {
                throw new IllegalArgumentException("format " + format + " is not known, only " + FORMAT);
            }
        }

        /** That nothing is left over. */
        void end() {
            if (position < bytes.length) {
                throw malformed("nothing should follow, but " + (bytes.length - position) + " bytes do");
            }
        }

        /** 0 to 255. */
        int getByte() {
            if (position == bytes.length) {
                throw malformed("more should follow");
            }
            return bytes[position++] & 0xFF;
        }

        long getLong() {
            long bits = getBits();
            return bits >>> 1 ^ -(bits & 1);
        }

        long getAmount() {
            long amount = getBits();
            if (amount < 0) {
                throw malformed("an amount does not fit");
            }
            return amount;
        }

        private long getBits() {
            long bits = 0;
            for (int shift = 0; shift < Long.SIZE; shift += 7) {
                int next = getByte();
                if (shift == 63 && next > 1) {
                    break;
                }
                bits |= (next & 0x7FL) << shift;
                if (next < 0x80) {
                    return bits;
                }
            }
            throw malformed("a number has more than 64 bits");
        }

        /** The number of things that follow, of which each takes a byte at least. */
        private int getCount() {
            long count = getAmount();
            if (count > bytes.length - position) {
                throw malformed(count + " should follow, and only " + (bytes.length - position) + " bytes do");
            }
            return (int) count;
        }

        /** @param maxBytes what is longer is refused, before any of it is read */
        String getText(int maxBytes) {
            int length = getCount();
            if (length > maxBytes) {
                throw malformed("a text of " + length + " bytes is too long: at most " + maxBytes);
            }
            try {
                String text = StandardCharsets.UTF_8
                        .newDecoder()
                        .decode(ByteBuffer.wrap(bytes, position, length))
                        .toString();
                position += length;
                return text;
            } catch (CharacterCodingException e) {
                throw malformed("a text is not UTF-8");
            }
        }

        TopicName getTopic() {
            return new TopicName(getText(TopicName.MAX_KEY_LENGTH));
        }

        Holder getHolder() {
            return new Holder(new BrokerId(getText(MAX_NAME_BYTES)), getLong());
        }

        Account getAccount() {
            int account = getByte();
            return switch (account) {
                case 0 -> Account.LEASED;
                case 1 -> Account.KEPT;
                default -> throw malformed("no account is " + account);
            };
        }

        Supply getSupply() {
            return new Supply(getAmount(), getAmount(), getAmount());
        }

        Holding getHolding() {
            return new Holding(getSupply(), getSupply());
        }

        Share getShare() {
            return new Share(getAmount(), getAmount());
        }

        Demand getDemand() {
            return new Demand(getEstimate(), getEstimate(), getEstimate());
        }

        private Estimate getEstimate() {
            long least = getAmount();
            long mean = least + getAmount();
            long most = mean + getAmount();
            if (mean < least || most < mean) {
                throw malformed("an estimate is larger than a long");
            }
            return new Estimate(least, mean, most);
        }

        Debt getDebt() {
            return new Debt(getLong(), getShare());
        }

        Transfer.Id getTransferId() {
            return new Transfer.Id(getHolder(), getHolder(), getLong());
        }

        Transfer getTransfer() {
            return new Transfer(getTransferId(), getMap(this::getTopic, this::getHolding));
        }

        <T> List<T> getList(Supplier<T> get) {
            List<T> list = new ArrayList<>();
            for (int left = getCount(); left > 0; left--) {
                list.add(get.get());
            }
            return list;
        }

        /** In the order in which it was written. */
        <K, V> Map<K, V> getMap(Supplier<K> getKey, Supplier<V> getValue) {
            Map<K, V> map = new LinkedHashMap<>();
            for (int left = getCount(); left > 0; left--) {
                K key = getKey.get();
                if (map.put(key, getValue.get()) != null) {
                    throw malformed(key + " is there twice");
                }
            }
            return map;
        }

        /** A list of at most one. */
        <T> Optional<T> getOptional(Supplier<T> get) {
            List<T> list = getList(get);
            if (list.size() > 1) {
                throw malformed("there should be one at most, not " + list.size());
            }
            return list.stream().findFirst();
        }

        private IllegalArgumentException malformed(String why) {
            return new IllegalArgumentException(why + " (at byte " + position + " of " + bytes.length + ")");
        }
    }
}
