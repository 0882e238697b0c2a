package io.weir.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.supply.gate.AdmissionHistory.Admission;
import io.weir.limiter.supply.gate.AdmissionHistory.Borrowed;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.SupplyEvent.Inherited;
import io.weir.limiter.supply.value.SupplyEvent.Minted;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Histories that are not allowed, and the nearest ones that are. */
class AdmissionCheckTest {
    private static final TopicName TOPIC = new TopicName("orders");
    private static final long MS = 1_000_000L;
    private static final long SECOND = 1_000 * MS;
    private static final long M = Limit.MICROS;

    private static Admission at(String broker, long ms, boolean kept, long leaseLeftNs) {
        return new Admission(new BrokerId(broker), 1, TOPIC, SECOND + ms * MS, 1, kept, leaseLeftNs);
    }

    private static Admission at(String broker, long ms) {
        return at(broker, ms, false, SECOND);
    }

    private static List<Admission> every(long everyMs, long fromMs, long toMs, String... brokers) {
        List<Admission> all = new ArrayList<>();
        for (long ms = fromMs; ms < toMs; ms += everyMs) {
            all.add(at(brokers[(int) (ms / everyMs % brokers.length)], ms));
        }
        return all;
    }

    private static LimitCourse course(double rate, double burst) {
        return new LimitCourse(Limit.of(rate, burst), SECOND);
    }

    @Test
    void shouldAllowExactlyTheLimitOverAllBrokers() {
        List<Admission> history = every(10, 0, 1_000, "b1", "b2", "b3");

        assertThat(new AdmissionCheck(history).hardBound(TOPIC, course(100, 1))).isEmpty();
    }

    @Test
    void shouldShowTheSmallestWindowWhenTwoBrokersTogetherAdmitTooMuch() {
        List<Admission> history = every(10, 0, 1_000, "b1");
        history.add(at("b2", 505));

        assertThat(new AdmissionCheck(history).hardBound(TOPIC, course(100, 1))).hasValueSatisfying(violation -> {
            assertThat(violation.invariant()).isEqualTo("C1");
            assertThat(violation.text()).contains("2 messages within 5.000 ms", "b2#1");
        });
    }

    @Test
    void shouldCountARaiseFromItsRequestAndALoweringFromItsEnd() {
        List<Admission> history = every(10, 0, 500, "b1");
        history.addAll(every(5, 500, 1_500, "b2"));
        history.addAll(every(10, 1_500, 2_000, "b1"));
        LimitCourse course = course(100, 2);
        course.changed(Limit.of(200, 2), SECOND + 490 * MS, SECOND + 700 * MS);
        course.changed(Limit.of(100, 2), SECOND + 900 * MS, SECOND + 1_500 * MS);

        assertThat(new AdmissionCheck(history).hardBound(TOPIC, course)).isEmpty();

        LimitCourse tooLate = course(100, 2);
        tooLate.changed(Limit.of(200, 2), SECOND + 600 * MS, SECOND + 700 * MS);
        assertThat(new AdmissionCheck(history).hardBound(TOPIC, tooLate)).isPresent();

        LimitCourse loweredBefore = course(100, 2);
        loweredBefore.changed(Limit.of(200, 2), SECOND + 490 * MS, SECOND + 700 * MS);
        loweredBefore.changed(Limit.of(100, 2), SECOND + 900 * MS, SECOND + 1_300 * MS);
        assertThat(new AdmissionCheck(history).hardBound(TOPIC, loweredBefore)).isPresent();
    }

    @Test
    void shouldFindAnAdmissionWithoutALease() {
        assertThat(new AdmissionCheck(List.of(at("b1", 1, false, 1), at("b1", 2, true, 0))).leases())
                .isEmpty();
        assertThat(new AdmissionCheck(List.of(at("b1", 1, false, 0))).leases()).hasSize(1);
    }

    @Test
    void shouldFindAnAdmissionFromAnAccountThatAnHeirHas() {
        StoredSupply stored = stored(entry(
                "b2",
                1,
                2_000,
                new Inherited(new Holder(new BrokerId("b1"), 1), Account.LEASED, Map.of(), List.of(), Map.of())));

        assertThat(new AdmissionCheck(List.of(at("b1", 990), at("b1", 1_500, true, 0))).heirs(stored))
                .isEmpty();
        assertThat(new AdmissionCheck(List.of(at("b1", 1_500))).heirs(stored))
                .hasSize(1)
                .allMatch(violation -> violation.invariant().equals("C4"));
    }

    @Test
    void shouldFindABrokerThatAloneAdmitsMoreThanItHas() {
        Supply held = new Supply(100 * M, 2 * M, 2 * M);
        StoredSupply stored =
                stored(entry("b1", 1, 1_000, new Minted(TOPIC, 1, Holding.of(Account.LEASED, held), noDebt())));

        assertThat(new AdmissionCheck(every(10, 0, 1_000, "b1")).everyHolder(stored))
                .isEmpty();
        assertThat(new AdmissionCheck(every(5, 0, 1_000, "b1")).everyHolder(stored))
                .hasSize(1)
                .allMatch(violation -> violation.invariant().equals("C5"));
        assertThat(new AdmissionCheck(every(10, 0, 1_000, "b2")).everyHolder(stored))
                .as("one that holds nothing")
                .hasSize(1);
    }

    /** b1 uses all of its 100 a second, and then admits 19 more at once, which others lent it. */
    @Test
    void shouldCountWhatBrokersLendEachOtherWhenEachIsLookedAtAlone() {
        Supply held = new Supply(100 * M, 20 * M, 0);
        StoredSupply stored =
                stored(entry("b1", 1, 1_000, new Minted(TOPIC, 1, Holding.of(Account.LEASED, held), noDebt())));
        List<Admission> admitted = new ArrayList<>(every(10, 0, 2_000, "b1"));
        for (int i = 0; i < 19; i++) {
            admitted.add(at("b1", 2_000));
        }
        Borrowed came = borrowed("b1", 2_000, 19 * M, SECOND);
        Borrowed went = borrowed("b1", 1_990, -19 * M, SECOND);

        assertThat(new AdmissionCheck(admitted).everyHolder(stored)).hasSize(1);
        assertThat(new AdmissionCheck(admitted, List.of(came)).everyHolder(stored))
                .isEmpty();
        assertThat(new AdmissionCheck(admitted, List.of(came, went)).everyHolder(stored))
                .as("what was lent can't be used")
                .hasSize(1);
    }

    @Test
    void shouldFindALoanWithoutALease() {
        Borrowed late = borrowed("b1", 2_000, -M, 0);
        Borrowed received = borrowed("b2", 2_000, M, 0);

        assertThat(new AdmissionCheck(List.of(), List.of(late, received)).leases())
                .hasSize(1)
                .allMatch(violation -> violation.invariant().equals("C4"));
    }

    private static Borrowed borrowed(String broker, long ms, long micros, long leaseLeftNs) {
        return new Borrowed(new BrokerId(broker), 1, TOPIC, ms * MS + SECOND, micros, leaseLeftNs);
    }

    @Test
    void shouldFindALimitThatIsNotUsed() {
        AdmissionCheck check = new AdmissionCheck(every(10, 0, 1_000, "b1"));

        assertThat(check.used(TOPIC, Limit.of(100, 1), SECOND, 2 * SECOND)).isEmpty();
        assertThat(check.used(TOPIC, Limit.of(110, 1), SECOND, 2 * SECOND)).isPresent();
    }

    private static io.weir.limiter.algorithm.Share noDebt() {
        return io.weir.limiter.algorithm.Share.NONE;
    }

    private static Entry entry(String broker, long sequence, long writtenAtMs, SupplyEvent event) {
        return new Entry(sequence, new Holder(new BrokerId(broker), 1), sequence, writtenAtMs * MS, 20 * MS, event);
    }

    private static StoredSupply stored(Entry... entries) {
        return new StoredSupply(List.of(entries), Map.of(), List.of(), List.of());
    }
}
