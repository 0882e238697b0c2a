package io.weir.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.cluster.history.StoredSupply.Entry;
import io.weir.config.value.BrokerId;
import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LeaseRow.State;
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
import io.weir.limiter.supply.value.SupplyEvent.Refunded;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Stores that can't be, each with the one thing wrong that the audit must find; and the like of them that can. */
class SupplyAuditTest {
    private static final TopicName TOPIC = new TopicName("orders");
    private static final Holder A = new Holder(new BrokerId("a"), 1);
    private static final Holder B = new Holder(new BrokerId("b"), 1);
    private static final Holder C = new Holder(new BrokerId("c"), 1);
    private static final long M = Limit.MICROS;

    /** A store in the making. */
    private static final class Store {
        private final List<Entry> entries = new ArrayList<>();
        private final Map<Holder, Long> sequences = new HashMap<>();
        private final Map<Holder, TreeMap<Long, Ledger.Snapshot>> snapshots = new HashMap<>();
        private final Map<Holder, LeaseRow> rows = new HashMap<>();
        private final List<LimitRow> limits = new ArrayList<>();

        Store() {
            List.of(A, B, C).forEach(holder -> rows.put(holder, LeaseRow.registered(holder)));
        }

        Store add(Holder holder, SupplyEvent event) {
            return add(holder, sequences.merge(holder, 1L, Long::sum), event);
        }

        Store add(Holder holder, long sequence, SupplyEvent event) {
            entries.add(new Entry(entries.size() + 1, holder, sequence, 0, 0, event));
            return this;
        }

        Store limit(long version, long rate, long burst, Holder minter, boolean done) {
            limits.add(new LimitRow(
                    TOPIC, version, new Share(rate * M, burst * M), 0, Sharing.DEFAULT, Optional.of(minter), done));
            return this;
        }

        Store row(Holder holder, State state, boolean leasedDone, boolean keptDone) {
            rows.put(
                    holder,
                    new LeaseRow(
                            holder,
                            state,
                            1,
                            new LeaseRow.Legacy(Optional.of(C), leasedDone),
                            new LeaseRow.Legacy(Optional.of(C), keptDone)));
            return this;
        }

        StoredSupply stored() {
            return new StoredSupply(entries, snapshots, List.copyOf(rows.values()), limits);
        }

        void isWrong(String invariant, String text) {
            assertThat(SupplyAudit.of(stored()))
                    .anyMatch(found ->
                            found.invariant().equals(invariant) && found.text().contains(text));
        }

        void isRight() {
            assertThat(SupplyAudit.of(stored())).isEmpty();
        }

        void isUnsettled(String text) {
            assertThat(SupplyAudit.unsettled(stored()))
                    .anyMatch(found ->
                            found.invariant().equals("C6") && found.text().contains(text));
        }
    }

    private static Supply supply(long rate, long burst) {
        return new Supply(rate * M, burst * M, 0);
    }

    private static Holding holding(long rate, long burst) {
        return Holding.of(Account.LEASED, supply(rate, burst));
    }

    private static Transfer transfer(Holder from, Holder to, long sequence, Holding holding) {
        return new Transfer(new Transfer.Id(from, to, sequence), Map.of(TOPIC, holding));
    }

    private static Inherited leasedOf(Holder victim, Supply shares, Transfer... open) {
        return new Inherited(victim, Account.LEASED, Map.of(TOPIC, shares), List.of(open), Map.of());
    }

    /** A has minted 90/9, and sent 30/3 to B, which has it. */
    private static Store moved() {
        Transfer sent = transfer(A, B, 1, holding(30, 3));
        return new Store()
                .limit(1, 90, 9, A, true)
                .add(A, new Minted(TOPIC, 1, holding(90, 9), Share.NONE))
                .add(A, new Debited(sent))
                .add(B, new Credited(sent));
    }

    /** B was fenced after that and C has inherited from it. */
    private static Store inherited() {
        return moved().add(B, new Fenced(C)).add(C, leasedOf(B, supply(30, 3))).row(B, State.FENCED, true, false);
    }

    @Test
    void shouldFindNothingWrongWhereNothingIs() {
        moved().isRight();
        inherited().isRight();
        assertThat(SupplyAudit.unsettled(moved().stored())).isEmpty();
        assertThat(SupplyAudit.unsettled(inherited().stored())).isEmpty();
    }

    @Test
    void shouldCountWhatIsOnItsWay() {
        Store store = moved().add(A, new Debited(transfer(A, C, 1, holding(10, 1))));

        store.isRight();
        store.isUnsettled("still on its way");
    }

    @Test
    void shouldFindSupplyThatIsLost() {
        moved().add(A, new Debited(transfer(A, C, 1, holding(10, 1))))
                .add(A, new Debited(transfer(A, C, 2, holding(10, 1))))
                .isWrong("C2", "held and on its way is");
        moved().add(B, new Fenced(C)).add(C, leasedOf(B, supply(20, 3))).isWrong("C2", "held and on its way is");
        moved().add(A, new Debited(transfer(A, C, 1, holding(10, 1))))
                .add(A, new Fenced(B))
                .add(B, leasedOf(A, supply(50, 5)))
                .row(A, State.FENCED, true, false)
                .isWrong("C2", "held and on its way is");
    }

    @Test
    void shouldFindSupplyThatIsMade() {
        Transfer sent = transfer(A, C, 1, holding(10, 1));
        moved().add(A, new Debited(sent))
                .add(C, new Credited(transfer(A, C, 1, holding(11, 1))))
                .isWrong("C2", "credited");
        new Store()
                .limit(1, 90, 9, A, true)
                .add(A, new Minted(TOPIC, 1, holding(91, 9), Share.NONE))
                .isWrong("C2", "is done");
        new Store()
                .limit(1, 90, 9, A, false)
                .add(A, new Minted(TOPIC, 1, holding(91, 9), Share.NONE))
                .isWrong("C2", "comes after");
    }

    @Test
    void shouldFindALoweringThatIsCalledDoneTooEarly() {
        Store lowered = moved().limit(2, 60, 9, A, true)
                .add(A, new Minted(TOPIC, 2, Holding.NONE, new Share(30 * M, 0)))
                .add(A, new Burned(TOPIC, 2, holding(20, 0)));
        lowered.isWrong("C2", "is done");
        lowered.add(A, new Burned(TOPIC, 2, holding(10, 0))).isRight();
    }

    @Test
    void shouldFindATransferThatIsCreditedTwice() {
        moved().add(B, new Credited(transfer(A, B, 1, holding(30, 3)))).isWrong("C3", "credited again");
        moved().add(C, new Credited(transfer(A, B, 1, holding(30, 3)))).isWrong("C3", "is credited by c#1");
    }

    @Test
    void shouldFindATransferThatIsCreditedAndRefunded() {
        moved().add(B, new Fenced(C))
                .add(A, new Refunded(new Transfer.Id(A, B, 1)))
                .isWrong("C3", "refunded though it was credited");
        moved().add(A, new Refunded(new Transfer.Id(A, B, 1))).isWrong("C7", "destination is open");
    }

    @Test
    void shouldFindAnAccountThatIsInheritedTwice() {
        inherited().add(A, leasedOf(B, supply(30, 3))).isWrong("C3", "is inherited by c#1 and by a#1");
    }

    @Test
    void shouldFindAVersionThatIsMintedTwiceOrUnclaimed() {
        moved().add(C, new Minted(TOPIC, 1, holding(90, 9), Share.NONE)).isWrong("C3", "is minted by a#1 and by c#1");
        moved().add(C, new Minted(TOPIC, 2, holding(90, 9), Share.NONE)).isWrong("C3", "had not claimed");
        new Store().limit(1, 90, 9, A, false).limit(2, 50, 5, A, false).isWrong("C3", "before version 1 was done");
    }

    @Test
    void shouldFindWhatComesInTheWrongOrder() {
        inherited().add(B, new Recovered(1)).isWrong("C7", "follows Fenced");
        moved().add(C, leasedOf(B, supply(30, 3))).isWrong("C7", "whose journal is open");
        new Store()
                .limit(1, 90, 9, A, true)
                .add(A, new Minted(TOPIC, 1, holding(90, 9), Share.NONE))
                .add(B, new Credited(transfer(A, B, 1, holding(30, 3))))
                .isWrong("C7", "before it was debited");
        moved().add(A, 4, new Recovered(1)).isWrong("C7", "goes from event 2 to 4");
    }

    @Test
    void shouldFindADebitOutOfTurn() {
        moved().add(A, new Debited(transfer(A, B, 3, holding(10, 1)))).isWrong("C7", "where a#1→b#1/2 is next");
        moved().add(A, new Debited(transfer(B, C, 1, holding(10, 1)))).isWrong("C7", "is debited by a#1");
        Store open = moved().add(A, new Debited(transfer(A, C, 1, holding(10, 1))));
        open.add(A, new Debited(transfer(A, C, 2, holding(10, 1)))).isWrong("C7", "while a#1→c#1/1 is on its way");
        moved().add(A, new Debited(transfer(A, B, 2, holding(10, 1)))).isRight();
    }

    @Test
    void shouldFindADeliveryThatNobodyHasCredited() {
        Transfer sent = transfer(A, C, 1, holding(10, 1));
        moved().add(A, new Debited(sent)).add(A, new Delivered(sent.id())).isWrong("C7", "nobody has credited it");
        moved().add(A, new Debited(sent))
                .add(C, new Credited(sent))
                .add(A, new Delivered(sent.id()))
                .isRight();
    }

    @Test
    void shouldFindAnInheritanceThatIsNotAllOfIt() {
        Transfer arrived = transfer(A, B, 1, holding(30, 3));
        Store closed = moved().add(A, new Fenced(C)).row(A, State.FENCED, true, false);
        Debt settled = new Debt(1, Share.NONE);
        closed.add(C, leasedOf(A, supply(60, 6), arrived)).isWrong("C2", "where a#1 owed");
        Store other = moved().add(A, new Fenced(C)).row(A, State.FENCED, true, false);
        other.add(C, leasedOf(A, supply(60, 6))).isWrong("C2", "adopts [] where a#1 left");
        Store less = moved().add(A, new Fenced(C)).row(A, State.FENCED, true, false);
        less.add(C, leasedOf(A, new Supply(60 * M, 6 * M, M), arrived)).isWrong("C2", "c#1 inherits");
        moved().add(A, new Fenced(C))
                .row(A, State.FENCED, true, false)
                .add(
                        C,
                        new Inherited(
                                A,
                                Account.LEASED,
                                Map.of(TOPIC, supply(60, 6)),
                                List.of(arrived),
                                Map.of(TOPIC, settled)))
                .isRight();
    }

    @Test
    void shouldFindAnHeirThatTheRowDoesNotName() {
        moved().add(B, new Fenced(A))
                .add(A, leasedOf(B, supply(30, 3)))
                .row(B, State.FENCED, true, false)
                .isWrong("C3", "names another heir");
    }

    @Test
    void shouldFindAJournalThatWasClosedUnderALiveRow() {
        moved().add(B, new Fenced(C)).isWrong("C7", "its row is live");
    }

    @Test
    void shouldFindAMintOutOfTurn() {
        Store lowered =
                moved().limit(2, 60, 9, A, true).add(A, new Minted(TOPIC, 2, Holding.NONE, new Share(30 * M, 0)));
        lowered.limit(3, 90, 9, B, false)
                .add(B, new Minted(TOPIC, 3, holding(30, 0), Share.NONE))
                .isWrong("C7", "while a#1 owes");
        new Store()
                .limit(1, 90, 9, A, true)
                .limit(2, 95, 9, B, true)
                .add(B, new Minted(TOPIC, 2, holding(5, 0), Share.NONE))
                .add(A, new Minted(TOPIC, 1, holding(90, 9), Share.NONE))
                .isWrong("C7", "mints version 1 of orders after");
        moved().limit(2, 90, 12, B, true)
                .add(B, new Minted(TOPIC, 2, holding(0, 3).full(), Share.NONE))
                .isWrong("C1", "begins with a level");
        moved().limit(2, 90, 12, B, false)
                .add(B, new Minted(TOPIC, 2, holding(0, 2), Share.NONE))
                .isWrong("C2", "goes from");
    }

    @Test
    void shouldFindABurnThatNobodyOwes() {
        moved().add(B, new Burned(TOPIC, 1, holding(10, 0))).isWrong("C7", "and owes null");
        moved().add(A, new Burned(TOPIC, 2, holding(10, 0))).isWrong("C7", "burns for version 2");
    }

    @Test
    void shouldFindAKeptAccountThatIsInheritedOnTheFenceAlone() {
        Inherited kept = new Inherited(B, Account.KEPT, Map.of(), List.of(), Map.of());

        inherited().add(C, kept).isWrong("C7", "whose row does not allow it");
        inherited().add(C, kept).row(B, State.STOPPED, true, true).isRight();
        inherited().row(B, State.STOPPED, true, true).isWrong("C7", "no journal shows who inherited it");
    }

    @Test
    void shouldFindABurnOrADebitOfWhatIsNotThere() {
        moved().add(B, new Debited(transfer(B, C, 1, holding(31, 3)))).isWrong("C5", "says what can't be");
    }

    @Test
    void shouldFindWhatStaysBehind() {
        moved().add(B, new Fenced(C)).row(B, State.FENCED, false, false).isUnsettled("nobody has finished");
        moved().limit(2, 60, 6, A, false).isUnsettled("not done");
        inherited().row(C, State.STOPPED, true, true).isUnsettled("live brokers have");
    }

    @Test
    void shouldBeginWithASnapshotWhereEventsAreDeleted() {
        Store whole = moved();
        Ledger ledger = new Ledger(A);
        whole.entries.stream().filter(entry -> entry.holder().equals(A)).forEach(entry -> ledger.apply(entry.event()));
        whole.snapshots.put(A, new TreeMap<>(Map.of(2L, ledger.snapshot())));
        whole.isRight();

        Store shortened = moved();
        shortened.snapshots.putAll(whole.snapshots);
        shortened.entries.remove(0);
        shortened.isRight();
        shortened.add(B, new Credited(transfer(A, B, 1, holding(30, 3)))).isWrong("C3", "credited again");

        Store lost = moved();
        lost.entries.remove(0);
        lost.isWrong("C7", "there is no snapshot");
    }

    @Test
    void shouldFindASnapshotThatSaysSomethingElse() {
        Store store = moved();
        store.snapshots.put(A, new TreeMap<>(Map.of(2L, new Ledger(A).snapshot())));

        store.isWrong("C2", "is not what its events say");
    }
}
