package io.weir.limiter.supply.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Estimate;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.actor.Adaptor;
import io.weir.limiter.supply.actor.SupplyCoordinator;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.PeerMessage;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.io.NotSerializableException;
import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class SupplyCodecTest {
    private static final int VALUES = 300;

    static Class<?>[] kinds() {
        return SupplyEvent.class.getPermittedSubclasses();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void shouldReadAnEventAsItWasWritten(Class<?> kind) {
        Random random = new Random(1);
        for (int i = 0; i < VALUES; i++) {
            SupplyEvent event = (SupplyEvent) any(kind, random);
            assertThat(SupplyCodec.event(SupplyCodec.encode(event))).isEqualTo(event);
        }
    }

    @Test
    void shouldReadASnapshotAsItWasWritten() {
        Random random = new Random(2);
        for (int i = 0; i < VALUES; i++) {
            Ledger.Snapshot snapshot = (Ledger.Snapshot) any(Ledger.Snapshot.class, random);
            Ledger.Snapshot read = SupplyCodec.snapshot(SupplyCodec.encode(snapshot));
            assertThat(read).isEqualTo(snapshot);
            assertThat(read.shares().keySet())
                    .containsExactlyElementsOf(snapshot.shares().keySet());
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, -1, 63, 64, -64, -65, 127, 128, Long.MAX_VALUE, Long.MIN_VALUE})
    void shouldReadAnyNumber(long value) {
        SupplyCodec.Writer to = new SupplyCodec.Writer();
        to.putLong(value);
        to.putAmount(value & Long.MAX_VALUE);
        SupplyCodec.Reader from = new SupplyCodec.Reader(to.bytes());
        assertThat(from.getLong()).isEqualTo(value);
        assertThat(from.getAmount()).isEqualTo(value & Long.MAX_VALUE);
        from.end();
    }

    @Test
    void shouldReadWhatMessagesAreMadeOf() {
        Demand demand = new Demand(
                new Estimate(1, 1_500_000, Long.MAX_VALUE), Estimate.exactly(Long.MAX_VALUE), Estimate.exactly(7));
        SupplyCodec.Writer to = new SupplyCodec.Writer();
        to.putDemand(demand);
        to.putShare(new Share(1, 0));
        to.putText("zwei – 二");
        to.putByte(200);
        SupplyCodec.Reader from = new SupplyCodec.Reader(to.bytes());
        assertThat(from.getDemand()).isEqualTo(demand);
        assertThat(from.getShare()).isEqualTo(new Share(1, 0));
        assertThat(from.getText(100)).isEqualTo("zwei – 二");
        assertThat(from.getByte()).isEqualTo(200);
        from.end();
        assertThatThrownBy(() -> to.putAmount(-1)).isInstanceOf(IllegalArgumentException.class);
    }

    /** Journals outlive the code that wrote them. */
    @Test
    void shouldStillWriteTheBytesThatJournalsHold() {
        Holder one = new Holder(new BrokerId("b1"), 1);
        Holder two = new Holder(new BrokerId("b2"), 300);
        Holding holding = new Holding(new Supply(1_000_000, 2_000_000, 1), new Supply(0, 0, 0));
        assertThat(hex(new SupplyEvent.Fenced(one))).isEqualTo("010a02623102");
        assertThat(hex(new SupplyEvent.Recovered(-1))).isEqualTo("010901");
        assertThat(hex(new SupplyEvent.Debited(
                        new Transfer(new Transfer.Id(one, two, 5), Map.of(new TopicName("t"), holding)))))
                .isEqualTo("0102" + "02623102" + "026232d804" + "0a" + "01" + "0174" + "c0843d80897a01" + "000000");
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void shouldRefuseEveryEventThatIsCutShortOrHasMoreBehindIt(Class<?> kind) {
        Random random = new Random(3);
        for (int i = 0; i < 20; i++) {
            byte[] whole = SupplyCodec.encode((SupplyEvent) any(kind, random));
            for (int length = 0; length < whole.length; length++) {
                byte[] cut = Arrays.copyOf(whole, length);
                assertThatThrownBy(() -> SupplyCodec.event(cut)).isInstanceOf(IllegalArgumentException.class);
            }
            assertThatThrownBy(() -> SupplyCodec.event(Arrays.copyOf(whole, whole.length + 1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("nothing should follow");
        }
    }

    @Test
    void shouldRefuseOrReadButNeverFailOtherwiseWhenTheBytesAreRandom() {
        Random random = new Random(4);
        int refused = 0;
        for (int i = 0; i < 50_000; i++) {
            byte[] bytes = new byte[random.nextInt(200)];
            random.nextBytes(bytes);
            if (bytes.length > 2 && random.nextInt(10) > 0) {
                bytes[0] = 1;
                bytes[1] = (byte) random.nextInt(11);
            }
            refused += refused(bytes, SupplyCodec::event) + refused(bytes, SupplyCodec::snapshot);
        }
        assertThat(refused).isGreaterThan(50_000);
    }

    @Test
    void shouldRefuseOrReadButNeverFailOtherwiseWhenBytesAreFlipped() {
        Random random = new Random(5);
        int refused = 0;
        for (int i = 0; i < 20_000; i++) {
            Class<?>[] kinds = kinds();
            byte[] event = SupplyCodec.encode((SupplyEvent) any(kinds[random.nextInt(kinds.length)], random));
            event[random.nextInt(event.length)] ^= (byte) (1 << random.nextInt(8));
            refused += refused(event, SupplyCodec::event);
        }
        for (int i = 0; i < 2_000; i++) {
            byte[] snapshot = SupplyCodec.encode((Ledger.Snapshot) any(Ledger.Snapshot.class, random));
            snapshot[random.nextInt(snapshot.length)] ^= (byte) (1 << random.nextInt(8));
            refused += refused(snapshot, SupplyCodec::snapshot);
        }
        assertThat(refused).isBetween(1_000, 22_000);
    }

    private static int refused(byte[] bytes, Function<byte[], Object> decode) {
        try {
            decode.apply(bytes);
            return 0;
        } catch (IllegalArgumentException e) {
            return 1;
        }
    }

    @Test
    void shouldSayWhatIsWrong() {
        assertRefused("", "more should follow");
        assertRefused("02", "format 2 is not known");
        assertRefused("0163", "no event is of kind 99");
        assertRefused("0109ffffffffffffffffff02", "more than 64 bits");
        assertRefused("0109ffffffffffffffffffff", "more than 64 bits");
        // Two billion shares in four bytes.
        assertRefused("0106" + "02623102" + "00" + "ffffffff07" + "00000000", "2147483647 should follow");
        assertRefused("0106" + "02623102" + "02", "no account is 2");
        assertRefused("010a" + "02ffff" + "02", "not UTF-8");
        assertRefused("010a" + "41" + "61".repeat(65) + "02", "too long");
        assertRefused("0106" + "02623102" + "00" + "02" + "0174000000" + "0174000000" + "0000", "t is there twice");
        // A level above its burst.
        assertRefused("0108" + "0174" + "000001" + "000000", "no supply");
        // An amount of 2^63.
        assertRefused("0108" + "0174" + "80808080808080808001" + "0000" + "000000", "does not fit");
    }

    private static void assertRefused(String hex, String why) {
        assertThatThrownBy(() -> SupplyCodec.event(HexFormat.of().parseHex(hex)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 500})
    void shouldTakeLessThanFortyBytesATopic(int floorPermille) {
        Random random = new Random(6);
        Map<TopicName, Holding> holdings = new LinkedHashMap<>();
        for (int i = 0; i < 1_000; i++) {
            // A part of a limit of up to 10,000 messages a second and 200 at once.
            Share share = new Share(
                    random.nextLong(10_000 * Limit.MICROS), Limit.MICROS * 2 + random.nextLong(198 * Limit.MICROS));
            holdings.put(
                    new TopicName(String.format("topic-%06d", i)),
                    Holding.of(share, floorPermille).full());
        }
        Transfer.Id id = new Transfer.Id(new Holder(new BrokerId("b1"), 1), new Holder(new BrokerId("b2"), 1), 1);
        byte[] bytes = SupplyCodec.encode(new SupplyEvent.Debited(new Transfer(id, holdings)));
        assertThat(bytes.length / 1_000.0).isLessThan(40);
    }

    @Test
    void shouldServeAkkaWithShortManifests() throws NotSerializableException {
        SupplySerializer serializer = new SupplySerializer();
        SupplyEvent event = new SupplyEvent.Recovered(3);
        Ledger.Snapshot snapshot = new Ledger(new Holder(new BrokerId("b1"), 1)).snapshot();
        assertThat(serializer.manifest(event)).isEqualTo("e");
        assertThat(serializer.manifest(snapshot)).isEqualTo("s");
        assertThat(serializer.fromBinary(serializer.toBinary(event), "e")).isEqualTo(event);
        assertThat(serializer.fromBinary(serializer.toBinary(snapshot), "s")).isEqualTo(snapshot);
        assertThatThrownBy(() -> serializer.fromBinary(new SupplyCodec.Writer().bytes(), "x"))
                .isInstanceOf(NotSerializableException.class);
        assertThatThrownBy(() -> serializer.manifest("a text")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> serializer.toBinary("a text")).isInstanceOf(IllegalArgumentException.class);
    }

    /** What crosses nodes by this serializer is what {@code weir-akka.conf} binds to it. */
    @ParameterizedTest
    @MethodSource("told")
    void shouldGiveBackWhatBrokersTellEachOther(Class<?> type) throws NotSerializableException {
        SupplySerializer serializer = new SupplySerializer();
        for (int seed = 0; seed < 100; seed++) {
            Object any = any(type, new Random(seed));
            Object message = any instanceof PeerMessage told ? new SupplyCoordinator.Mail(told) : any;
            byte[] bytes = serializer.toBinary(message);
            assertThat(serializer.fromBinary(bytes, serializer.manifest(message)))
                    .as("seed %d", seed)
                    .isEqualTo(message);
        }
    }

    /** Only these two: anything else would be a fault of the reader's, and Akka would end the connection for it. */
    @ParameterizedTest
    @MethodSource("told")
    void shouldRefuseOrReadWhatAHostileBrokerTells(Class<?> type) {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        SupplySerializer serializer = new SupplySerializer();
        int refused = 0;
        for (int i = 0; i < 5_000; i++) {
            Object any = any(type, random);
            Object message = any instanceof PeerMessage told ? new SupplyCoordinator.Mail(told) : any;
            byte[] bytes = serializer.toBinary(message);
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            byte[] cut = random.nextInt(4) == 0 ? Arrays.copyOf(bytes, random.nextInt(2 * bytes.length)) : bytes;
            try {
                serializer.fromBinary(cut, serializer.manifest(message));
            } catch (IllegalArgumentException | NotSerializableException e) {
                refused++;
            } catch (RuntimeException e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
        assertThat(refused).as("seed %d", seed).isBetween(1_000, 5_000);
    }

    private static Stream<Class<?>> told() {
        return Stream.concat(
                Arrays.stream(PeerMessage.class.getPermittedSubclasses()), Stream.of(Adaptor.Reported.class));
    }

    private static String hex(SupplyEvent event) {
        return HexFormat.of().formatHex(SupplyCodec.encode(event));
    }

    /** Any value of a type, made of any values of its components. */
    private static Object any(Type type, Random random) {
        if (type instanceof ParameterizedType of) {
            int size = random.nextInt(4);
            Type first = of.getActualTypeArguments()[0];
            if (of.getRawType() == Map.class) {
                Map<Object, Object> map = new LinkedHashMap<>();
                for (int i = 0; i < size; i++) {
                    map.put(any(first, random), any(of.getActualTypeArguments()[1], random));
                }
                return map;
            }
            List<Object> list = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                list.add(any(first, random));
            }
            return of.getRawType() == Optional.class
                    ? list.stream().findFirst()
                    : of.getRawType() == Set.class ? new LinkedHashSet<>(list) : list;
        }
        if (type == long.class || type == Long.class) {
            return random.nextLong() >> random.nextInt(Long.SIZE);
        } else if (type == int.class) {
            return random.nextInt();
        } else if (type == boolean.class) {
            return random.nextBoolean();
        } else if (type == Demand.class) {
            return new Demand(estimate(random), estimate(random), estimate(random));
        } else if (type == TopicName.class) {
            return new TopicName(name(random));
        } else if (type == BrokerId.class) {
            return new BrokerId(name(random));
        } else if (type == Account.class) {
            return Account.values()[random.nextInt(2)];
        } else if (type == Share.class) {
            return new Share(amount(random), amount(random));
        } else if (type == Supply.class) {
            long burst = amount(random);
            return new Supply(amount(random), burst, random.nextBoolean() ? 0 : burst >> random.nextInt(3));
        }
        return anyRecord((Class<?>) type, random);
    }

    private static Object anyRecord(Class<?> type, Random random) {
        try {
            RecordComponent[] components = type.getRecordComponents();
            Class<?>[] types =
                    Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
            Object[] values = Arrays.stream(components)
                    .map(component -> any(component.getGenericType(), random))
                    .toArray();
            Constructor<?> constructor = type.getDeclaredConstructor(types);
            return constructor.newInstance(values);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError("no way to make a " + type, e);
        }
    }

    private static long amount(Random random) {
        return (random.nextLong() & Long.MAX_VALUE) >> random.nextInt(Long.SIZE - 1);
    }

    private static Estimate estimate(Random random) {
        long[] bounds = {amount(random), amount(random), amount(random)};
        Arrays.sort(bounds);
        return new Estimate(bounds[0], bounds[1], bounds[2]);
    }

    private static String name(Random random) {
        StringBuilder name = new StringBuilder();
        for (int left = 1 + random.nextInt(random.nextInt(8) == 0 ? 64 : 8); left > 0; left--) {
            name.append((char) ('a' + random.nextInt(26)));
        }
        return name.toString();
    }
}
