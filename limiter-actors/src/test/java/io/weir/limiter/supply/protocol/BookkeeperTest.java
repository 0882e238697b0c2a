package io.weir.limiter.supply.protocol;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.protocol.Effect.AddAtGate;
import io.weir.limiter.supply.protocol.Effect.Append;
import io.weir.limiter.supply.protocol.Effect.RemoveAtGate;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BookkeeperTest {
    private static final TopicName TOPIC = new TopicName("orders");
    private static final Holder A = new Holder(new BrokerId("a"), 1);
    private static final Holder B = new Holder(new BrokerId("b"), 1);
    private static final Holder C = new Holder(new BrokerId("c"), 1);
    private static final Share LIMIT = new Share(10 * MICROS, 4 * MICROS);
    private static final Holding HALF = new Holding(new Supply(5 * MICROS, 2 * MICROS, MICROS), Supply.NONE);

    private final Bookkeeper a = new Bookkeeper(new Ledger(A));
    private final Bookkeeper b = new Bookkeeper(new Ledger(B));

    private static LimitRow row(long version, Share limit, Holder minter) {
        return new LimitRow(TOPIC, version, limit, 0, Sharing.GOSSIP, Optional.ofNullable(minter), false);
    }

    private void mint() {
        a.mint(row(1, LIMIT, A), Share.NONE);
        a.committed();
    }

    private Transfer debitHalf() {
        a.debit(B, Map.of(TOPIC, HALF.empty()));
        Append append = (Append) a.removed(Map.of(TOPIC, HALF)).get(0);
        return ((SupplyEvent.Debited) append.event()).transfer();
    }

    private static SupplyEvent appended(List<Effect> effects) {
        return ((Append) effects.get(0)).event();
    }

    private static Ledger closed(Holder holder, SupplyEvent... events) {
        Ledger ledger = new Ledger(holder);
        for (SupplyEvent event : events) {
            ledger.apply(event);
        }
        ledger.apply(new SupplyEvent.Fenced(C));
        return ledger;
    }

    @Test
    void shouldRemoveAtTheGateThenStoreThenSendWhenSupplyIsGivenAway() {
        mint();
        assertThat(a.debit(B, Map.of(TOPIC, HALF.empty())))
                .containsExactly(new RemoveAtGate(Map.of(TOPIC, HALF.empty())));
        List<Effect> stored = a.removed(Map.of(TOPIC, HALF));
        Transfer transfer = new Transfer(new Transfer.Id(A, B, 1), Map.of(TOPIC, HALF));
        assertThat(stored).containsExactly(new Append(2, new SupplyEvent.Debited(transfer)));
        assertThat(a.committed()).containsExactly(new Effect.Send(transfer));
        assertThat(a.ledger().share(TOPIC).share()).isEqualTo(new Share(5 * MICROS, 2 * MICROS));
    }

    @Test
    void shouldWriteNothingWhenTheGateRemovedNothing() {
        mint();
        a.debit(B, Map.of(TOPIC, HALF.empty()));
        assertThat(a.removed(Map.of(TOPIC, Holding.NONE))).isEmpty();
        assertThat(a.idle()).isTrue();
    }

    @Test
    void shouldStoreThenUseThenAcknowledgeWhenATransferArrives() {
        mint();
        Transfer transfer = debitHalf();
        assertThat(b.credit(transfer, A)).containsExactly(new Append(1, new SupplyEvent.Credited(transfer)));
        assertThat(b.committed())
                .containsExactly(new AddAtGate(transfer.holdings()), new Effect.Acknowledge(transfer.id(), A));
    }

    @Test
    void shouldOnlyAcknowledgeWhenATransferArrivesAgain() {
        mint();
        Transfer transfer = debitHalf();
        b.credit(transfer, A);
        b.committed();
        assertThat(b.credit(transfer, C)).containsExactly(new Effect.Acknowledge(transfer.id(), C));
    }

    @Test
    void shouldIgnoreATransferWhenItIsForAnotherIncarnation() {
        mint();
        Transfer transfer = debitHalf();
        Bookkeeper reborn = new Bookkeeper(new Ledger(new Holder(B.broker(), 2)));
        assertThat(reborn.credit(transfer, A)).isEmpty();
        assertThat(reborn.idle()).isTrue();
    }

    @Test
    void shouldHaveOneOpenTransferAPairUntilItIsAcknowledged() {
        mint();
        Transfer transfer = debitHalf();
        a.committed();
        assertThat(a.canDebit(B)).isFalse();
        assertThat(a.canDebit(C)).isTrue();
        assertThat(a.resend()).containsExactly(new Effect.Send(transfer));
        a.acknowledged(transfer.id());
        assertThat(a.canDebit(B)).isTrue();
        assertThat(a.resend()).isEmpty();
        assertThat(a.ledger().nextTransfer(B).sequence()).isEqualTo(2);
    }

    @Test
    void shouldBeClosedForEverWhenItsJournalEndsWithFenced() {
        mint();
        a.ledger().apply(new SupplyEvent.Fenced(C));
        Bookkeeper closed = new Bookkeeper(a.ledger());
        assertThat(closed.closed()).isTrue();
        assertThat(closed.recover(2)).containsExactly(new Effect.CloseGate());
        assertThatThrownBy(() -> closed.mint(row(2, LIMIT, A), LIMIT)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shouldWriteAnEventOfItsOwnBeforeItUsesAReplay() {
        mint();
        a.ledger().apply(new SupplyEvent.Debited(debitHalf()));
        Bookkeeper recovered = new Bookkeeper(new Ledger(a.ledger().snapshot()));
        assertThat(recovered.recover(2)).containsExactly(new Append(3, new SupplyEvent.Recovered(2)));
        assertThat(recovered.idle()).as("nothing else before it is stored").isFalse();
        Holding left = new Holding(new Supply(5 * MICROS, 2 * MICROS, 0), Supply.NONE);
        assertThat(recovered.committed()).containsExactly(new Effect.ResetGate(Map.of(TOPIC, left)));
        assertThat(recovered.resend())
                .as("a debit that was stored late is sent now")
                .hasSize(1);
    }

    @Test
    void shouldTakeBackATransferWhenItsDestinationIsClosedWithoutTheCredit() {
        mint();
        Transfer transfer = debitHalf();
        a.committed();
        assertThat(a.destinationClosed(new Ledger(B)))
                .as("an open journal proves nothing")
                .isEmpty();
        assertThat(appended(a.destinationClosed(closed(B)))).isEqualTo(new SupplyEvent.Refunded(transfer.id()));
        assertThat(a.committed()).containsExactly(new AddAtGate(transfer.holdings()));
        assertThat(a.ledger().share(TOPIC).share()).isEqualTo(LIMIT);
        assertThat(a.destinationClosed(closed(B))).isEmpty();
    }

    @Test
    void shouldLetATransferGoWhenItsDestinationIsClosedWithTheCredit() {
        mint();
        Transfer transfer = debitHalf();
        a.committed();
        Ledger destination = closed(B, new SupplyEvent.Credited(transfer));
        assertThat(appended(a.destinationClosed(destination))).isEqualTo(new SupplyEvent.Delivered(transfer.id()));
        assertThat(a.committed()).isEmpty();
        assertThat(a.ledger().openTransfers()).isEmpty();
    }

    @Test
    void shouldMintOnlyOnceAndOnlyAsTheMinter() {
        assertThat(b.mint(row(1, LIMIT, A), Share.NONE)).isEmpty();
        assertThat(b.mint(row(1, LIMIT, null), Share.NONE)).isEmpty();
        mint();
        assertThat(a.mint(row(1, LIMIT, A), Share.NONE)).isEmpty();
    }

    @Test
    void shouldMintFullOnlyForTheVeryFirstVersion() {
        a.mint(row(1, LIMIT, A), Share.NONE);
        AddAtGate first = (AddAtGate) a.committed().get(0);
        assertThat(first.more().get(TOPIC).leased().levelMicros()).isEqualTo(4 * MICROS);
        a.mint(row(2, new Share(20 * MICROS, 8 * MICROS), A), LIMIT);
        AddAtGate raised = (AddAtGate) a.committed().get(0);
        assertThat(raised.more().get(TOPIC).leased()).isEqualTo(new Supply(10 * MICROS, 4 * MICROS, 0));
    }

    @Test
    void shouldOweWhatALimitLowersAndBurnItAtTheGateFirst() {
        mint();
        a.mint(row(2, new Share(4 * MICROS, 3 * MICROS), A), LIMIT);
        a.committed();
        Share owed = new Share(6 * MICROS, MICROS);
        assertThat(a.ledger().debts().get(TOPIC)).isEqualTo(new Debt(2, owed));
        Holding burned = new Holding(new Supply(6 * MICROS, MICROS, 0), Supply.NONE);
        assertThat(a.burn(TOPIC)).containsExactly(new RemoveAtGate(Map.of(TOPIC, burned)));
        assertThat(appended(a.removed(Map.of(TOPIC, burned)))).isEqualTo(new SupplyEvent.Burned(TOPIC, 2, burned));
        assertThat(a.committed()).containsExactly(new Effect.MarkDone(TOPIC, 2));
        assertThat(a.burn(TOPIC)).as("says it again").containsExactly(new Effect.MarkDone(TOPIC, 2));
    }

    @Test
    void shouldInheritSharesDebtsAndOpenTransfersAtLevelZeroWhenTheVictimIsClosed() {
        mint();
        Transfer transfer = debitHalf();
        a.committed();
        assertThat(b.inherit(a.ledger(), Account.LEASED)).as("still open").isEmpty();
        a.ledger().apply(new SupplyEvent.Fenced(B));
        b.inherit(a.ledger(), Account.LEASED);
        AddAtGate added = (AddAtGate) b.committed().get(0);
        assertThat(added.more().get(TOPIC).leased()).isEqualTo(new Supply(5 * MICROS, 2 * MICROS, 0));
        assertThat(b.ledger().debts().get(TOPIC))
                .as("the duty to say that it is done")
                .isNotNull();
        assertThat(b.resend()).containsExactly(new Effect.Send(transfer));
        assertThat(b.inherit(a.ledger(), Account.LEASED)).as("once only").isEmpty();
    }

    @Test
    void shouldCreditAnAdoptedTransferToItselfWhenItIsTheDestination() {
        mint();
        Transfer transfer = debitHalf();
        a.committed();
        a.ledger().apply(new SupplyEvent.Fenced(B));
        b.inherit(a.ledger(), Account.LEASED);
        b.committed();
        b.credit(transfer, B);
        b.committed();
        assertThat(b.ledger().share(TOPIC).share()).isEqualTo(LIMIT);
        assertThat(b.ledger().openTransfers()).isEmpty();
    }

    @Test
    void shouldSplitAShareAnewWhenItsFloorChanges() {
        mint();
        Holding whole = new Holding(new Supply(10 * MICROS, 4 * MICROS, 3 * MICROS), Supply.NONE);
        assertThat(a.refloor(TOPIC, 0)).as("as it is").isEmpty();
        a.refloor(TOPIC, 500);
        a.removed(Map.of(TOPIC, whole));
        AddAtGate added = (AddAtGate) a.committed().get(0);
        assertThat(added.more().get(TOPIC))
                .isEqualTo(new Holding(
                        new Supply(5 * MICROS, 2 * MICROS, 2 * MICROS), new Supply(5 * MICROS, 2 * MICROS, MICROS)));
        assertThat(a.ledger().share(TOPIC).kept().share()).isEqualTo(new Share(5 * MICROS, 2 * MICROS));
    }

    @Test
    void shouldStoreManyMintsTogetherAndCountEachWhenItIsCommitted() {
        List<KnownLimits.Entry> versions = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            LimitRow row = new LimitRow(new TopicName("t" + i), 1, LIMIT, 0, Sharing.GOSSIP, Optional.of(A), i == 2);
            versions.add(new KnownLimits.Entry(row, Share.NONE));
        }
        Append append = (Append) a.mint(versions).get(0);
        assertThat(append.sequence()).isEqualTo(1);
        assertThat(append.events()).as("not the one that is done").hasSize(2);
        assertThat(a.committed()).contains(new Effect.MarkDone(new TopicName("t0"), 1));
        assertThat(a.idle()).as("one is not stored yet").isFalse();
        assertThat(a.committed()).contains(new Effect.MarkDone(new TopicName("t1"), 1));
        assertThat(a.idle()).isTrue();
        assertThat(a.ledger().sequence()).isEqualTo(2);
    }
}
