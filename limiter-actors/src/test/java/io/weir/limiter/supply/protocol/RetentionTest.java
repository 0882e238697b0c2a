package io.weir.limiter.supply.protocol;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.protocol.PeerMessage.Needed;
import io.weir.limiter.supply.protocol.Retention.OfHolder;
import io.weir.limiter.supply.protocol.Retention.OfName;
import io.weir.limiter.supply.protocol.Retention.OfVersions;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent.Credited;
import io.weir.limiter.supply.value.SupplyEvent.Debited;
import io.weir.limiter.supply.value.SupplyEvent.Fenced;
import io.weir.limiter.supply.value.SupplyEvent.Minted;
import io.weir.limiter.supply.value.Transfer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RetentionTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long KEEP = 60 * SECOND;
    private static final long W = 6 * SECOND;
    private static final long START = Long.MAX_VALUE - 30 * SECOND;
    private static final long LATER = START + KEEP;

    private static final Holder A = holder("a", 5);
    private static final Holder B = holder("b", 6);
    private static final Holder VICTIM = holder("v", 1);
    private static final TopicName TOPIC = new TopicName("t");
    /** A token a second, ten at once: 2·b/r is 20 s. */
    private static final Share LIMIT = new Share(MICROS, 10 * MICROS);

    private static final Supply SOME = new Supply(MICROS, MICROS, 0);

    private final Retention retention = new Retention(KEEP, W, 1_000);

    private static Holder holder(String broker, long incarnation) {
        return new Holder(new BrokerId(broker), incarnation);
    }

    private static LeaseRow live(Holder holder) {
        return LeaseRow.registered(holder);
    }

    private static LimitRow row(long version, Share limit, Holder minter, boolean done) {
        return new LimitRow(TOPIC, version, limit, 0, Sharing.GOSSIP, Optional.of(minter), done);
    }

    /** Everybody was asked and needs nothing. */
    private void seenAndCleared(LeaseRow... rows) {
        retention.limits(List.of(), START);
        retention.leases(List.of(VICTIM), List.of(rows), START);
        retention.leases(List.of(VICTIM), List.of(rows), LATER);
        Set<Holder> asked = Set.of(VICTIM);
        for (LeaseRow row : rows) {
            if (row.state() == LeaseRow.State.LIVE) {
                retention.answered(new Needed(row.holder(), retention.round(), asked, Set.of()));
            }
        }
    }

    @Test
    void shouldRemoveAClosedHolderWhenEverybodySaysThatItIsNotNeeded() {
        retention.limits(List.of(), START);
        retention.leases(List.of(VICTIM), List.of(live(A), live(B)), START);
        assertThat(retention.question(LATER - 1)).as("it stays for a while").isEmpty();
        assertThat(retention.question(LATER)).containsExactly(VICTIM);
        retention.answered(new Needed(A, retention.round(), Set.of(VICTIM), Set.of()));
        assertThat(retention.due(LATER)).as("b has not answered").isEmpty();
        retention.answered(new Needed(B, retention.round(), Set.of(VICTIM), Set.of(VICTIM)));
        assertThat(retention.due(LATER)).as("b needs it").isEmpty();
        assertThat(retention.question(LATER)).as("and is asked again").isNotEmpty();
        retention.answered(new Needed(B, retention.round(), Set.of(VICTIM), Set.of()));
        assertThat(retention.due(LATER)).containsExactly(new OfHolder(VICTIM));
        assertThat(retention.question(LATER)).isEmpty();
        retention.done(new OfHolder(VICTIM));
        assertThat(retention.due(LATER)).isEmpty();
    }

    @Test
    void shouldNotRemoveBeforeItHasReadBothKindsOfRows() {
        retention.leases(List.of(VICTIM), List.of(), START);
        assertThat(retention.due(LATER)).isEmpty();
        retention.limits(List.of(), LATER);
        assertThat(retention.due(LATER)).containsExactly(new OfHolder(VICTIM));
    }

    @Test
    void shouldAskAHolderThatCameAfterTheOthersAnswered() {
        seenAndCleared(live(A), live(B));
        retention.leases(List.of(VICTIM), List.of(live(A), live(B), live(holder("c", 1))), LATER);
        assertThat(retention.due(LATER)).isEmpty();
        assertThat(retention.question(LATER)).isNotEmpty();
    }

    @Test
    void shouldKeepAHolderWhileWhatOthersLeftMayHoldATransferToIt() {
        LeaseRow fenced = live(B).fence(0).orElseThrow();
        seenAndCleared(live(A), fenced);
        assertThat(retention.due(LATER)).as("b's open transfers go to its heir").isEmpty();
        retention.leases(List.of(VICTIM), List.of(live(A), fenced.done(Account.LEASED)), LATER);
        retention.answered(new Needed(A, retention.round(), Set.of(VICTIM), Set.of()));
        assertThat(retention.due(LATER)).as("what b keeps holds no transfers").containsExactly(new OfHolder(VICTIM));
    }

    @Test
    void shouldKeepTheHeirOfWhatIsNotInheritedYet() {
        LeaseRow claimed = live(B).stop()
                .done(Account.LEASED)
                .claim(Account.KEPT, Optional.empty(), VICTIM)
                .orElseThrow();
        seenAndCleared(live(A), claimed);
        assertThat(retention.due(LATER)).isEmpty();
        retention.leases(List.of(VICTIM), List.of(live(A)), LATER);
        assertThat(retention.due(LATER)).containsExactly(new OfHolder(VICTIM));
    }

    @Test
    void shouldKeepTheMinterOfAVersionThatIsNotDone() {
        seenAndCleared(live(A));
        retention.limits(List.of(row(1, LIMIT, VICTIM, false)), LATER);
        assertThat(retention.due(LATER)).isEmpty();
        retention.limits(List.of(row(1, LIMIT, VICTIM, true)), LATER);
        assertThat(retention.due(LATER)).containsExactly(new OfHolder(VICTIM));
    }

    @Test
    void shouldBeginAnewWithAHolderThatTheStoreDidNotLetGo() {
        seenAndCleared(live(A));
        retention.done(new OfHolder(VICTIM));
        retention.leases(List.of(VICTIM), List.of(live(A)), LATER);
        assertThat(retention.due(LATER)).isEmpty();
        assertThat(retention.question(LATER + KEEP)).isNotEmpty();
    }

    /** Found by TLC: the heir's word was given before it adopted a transfer to the closed holder. */
    @Test
    void shouldAskAnewWhenSomebodyWasInheritedFrom() {
        LeaseRow dying = live(B);
        retention.leases(List.of(VICTIM), List.of(live(A), dying), START);
        retention.limits(List.of(), START);
        Needed early = new Needed(A, retention.round(), Set.of(VICTIM), Set.of());
        retention.answered(early);
        LeaseRow fenced = dying.fence(dying.renewSeq()).orElseThrow();
        retention.leases(List.of(VICTIM), List.of(live(A), fenced), LATER);
        assertThat(retention.due(LATER)).as("what it had open is nobody's yet").isEmpty();
        retention.leases(List.of(VICTIM), List.of(live(A), fenced.done(Account.LEASED)), LATER);
        assertThat(retention.due(LATER)).as("it may be A's now").isEmpty();
        assertThat(retention.question(LATER)).containsExactly(VICTIM);
        retention.answered(early);
        assertThat(retention.due(LATER))
                .as("an answer from before does not count")
                .isEmpty();
        retention.answered(new Needed(A, retention.round(), Set.of(VICTIM), Set.of()));
        assertThat(retention.due(LATER)).containsExactly(new Retention.OfHolder(VICTIM));
    }

    @Test
    void shouldAskForABoundedNumberAtATime() {
        List<Holder> many = java.util.stream.LongStream.rangeClosed(1, Retention.MOST_ASKED + 1)
                .mapToObj(i -> holder("old", i))
                .toList();
        retention.leases(many, List.of(live(A)), START);
        Set<Holder> first = retention.question(LATER);
        assertThat(first).hasSize(Retention.MOST_ASKED);
        retention.answered(new Needed(A, retention.round(), first, Set.of()));
        assertThat(retention.question(LATER)).hasSize(1);
    }

    @Test
    void shouldAnswerThatItNeedsWhomItMayHaveToLookUp() {
        Ledger ledger = new Ledger(A);
        ledger.apply(
                new Minted(TOPIC, 1, Holding.of(Account.LEASED, new Supply(9 * MICROS, 9 * MICROS, 0)), Share.NONE));
        Bookkeeper keeper = new Bookkeeper(ledger);
        Set<Holder> question = Set.of(VICTIM);
        assertThat(Retention.answer(0, question, keeper, Optional.empty()).still())
                .as("it has not looked yet")
                .containsExactly(VICTIM);
        assertThat(Retention.answer(0, question, keeper, Optional.of(Set.of(A, VICTIM)))
                        .still())
                .as("it believes that it lives")
                .containsExactly(VICTIM);
        Optional<Set<Holder>> live = Optional.of(Set.of(A, B));
        assertThat(Retention.answer(0, question, keeper, live)).isEqualTo(new Needed(A, 0, question, Set.of()));

        Holding part = Holding.of(Account.LEASED, SOME);
        keeper.debit(VICTIM, Map.of(TOPIC, part));
        assertThat(needs(keeper, question, live)).as("a debit is at the gate").isTrue();
        keeper.removed(Map.of(TOPIC, part));
        assertThat(needs(keeper, question, live)).as("it is being written").isTrue();
        keeper.committed();
        keeper.acknowledged(new Transfer.Id(A, VICTIM, 1));
        assertThat(needs(keeper, question, live)).as("it stands in the journal").isTrue();

        Ledger closed = new Ledger(VICTIM);
        closed.apply(new Credited(new Transfer(new Transfer.Id(A, VICTIM, 1), Map.of(TOPIC, part))));
        closed.apply(new Fenced(B));
        keeper.destinationClosed(closed);
        keeper.committed();
        assertThat(needs(keeper, question, live)).as("it is settled").isFalse();
    }

    @Test
    void shouldAnswerThatItNeedsWhomATransferThatItAdoptsGoesTo() {
        Ledger dead = new Ledger(B);
        Holding part = Holding.of(Account.LEASED, SOME);
        dead.apply(new Minted(TOPIC, 1, part, Share.NONE));
        dead.apply(new Debited(new Transfer(new Transfer.Id(B, VICTIM, 1), Map.of(TOPIC, part))));
        dead.apply(new Fenced(A));
        Bookkeeper keeper = new Bookkeeper(new Ledger(A));
        Set<Holder> question = Set.of(VICTIM);
        Optional<Set<Holder>> live = Optional.of(Set.of(A));
        keeper.inherit(dead, Account.LEASED);
        assertThat(needs(keeper, question, live)).as("being written").isTrue();
        keeper.committed();
        assertThat(keeper.ledger().inherited(B, Account.LEASED)).isTrue();
        assertThat(needs(keeper, question, live)).as("adopted").isTrue();
    }

    private static boolean needs(Bookkeeper keeper, Set<Holder> question, Optional<Set<Holder>> live) {
        return Retention.answer(0, question, keeper, live).still().contains(VICTIM);
    }

    @Test
    void shouldForgetADeletedNameWhenItsBucketCouldHaveFilledTwice() {
        Retention hasty = new Retention(0, W, 1_000);
        hasty.leases(List.of(), List.of(), START);
        hasty.limits(List.of(row(1, LIMIT, A, true), row(2, Share.NONE, A, false)), START);
        long doneNs = START + 100 * SECOND;
        assertThat(hasty.due(doneNs)).as("it is still being burned").isEmpty();
        hasty.limits(List.of(row(2, Share.NONE, A, true)), doneNs);
        long waitNs = (20 * SECOND + W) * 1_002 / 1_000;
        assertThat(hasty.due(doneNs + waitNs - 1)).isEmpty();
        assertThat(hasty.due(doneNs + waitNs)).containsExactly(new OfName(TOPIC, 2));
        hasty.done(new OfName(TOPIC, 2));
        assertThat(hasty.due(doneNs + waitNs)).isEmpty();
    }

    @Test
    void shouldNotForgetANameThatWasCreatedAgain() {
        Retention hasty = new Retention(0, W, 1_000);
        hasty.leases(List.of(), List.of(), START);
        hasty.limits(List.of(row(1, LIMIT, A, true), row(2, Share.NONE, A, true), row(3, LIMIT, A, true)), START);
        assertThat(hasty.due(START + 1000 * SECOND)).containsExactly(new OfVersions(TOPIC, 2));
    }

    @Test
    void shouldKeepADeletedNameOfWhichItDoesNotKnowHowLongItsBucketTakes() {
        Retention hasty = new Retention(0, W, 1_000);
        hasty.leases(List.of(), List.of(), START);
        hasty.limits(List.of(row(7, Share.NONE, A, true)), START);
        assertThat(hasty.due(START + 1_000_000 * SECOND)).isEmpty();
    }

    @Test
    void shouldKeepTheLastTwoVersionsOfALimit() {
        retention.leases(List.of(), List.of(), START);
        retention.limits(List.of(row(1, LIMIT, A, true), row(2, LIMIT, A, true)), START);
        assertThat(retention.due(LATER)).isEmpty();
        retention.limits(List.of(row(3, LIMIT, A, true), row(4, LIMIT, A, false)), LATER);
        assertThat(retention.due(LATER + KEEP - 1)).isEmpty();
        assertThat(retention.due(LATER + KEEP)).containsExactly(new OfVersions(TOPIC, 3));
        retention.done(new OfVersions(TOPIC, 3));
        assertThat(retention.due(LATER + KEEP)).isEmpty();
    }

    @Test
    void shouldReadInABookWhatIsLeftOfAName() {
        KnownLimits book = new KnownLimits();
        book.read(List.of(
                new LimitRow(TOPIC, 4, LIMIT, 0, Sharing.GOSSIP, Optional.of(A), true, true),
                new LimitRow(TOPIC, 5, Share.NONE, 0, Sharing.GOSSIP, Optional.of(A), false, false)));
        assertThat(book.unfinished()).singleElement().satisfies(entry -> assertThat(entry.before())
                .isEqualTo(LIMIT));

        KnownLimits fresh = new KnownLimits();
        LimitRow again = new LimitRow(TOPIC, 6, LIMIT, 0, Sharing.GOSSIP, Optional.of(A), false, true);
        fresh.read(List.of(again));
        assertThat(fresh.unfinished().get(0).before()).isEqualTo(Share.NONE);
        Bookkeeper keeper = new Bookkeeper(new Ledger(A));
        Minted minted = (Minted) ((Effect.Append) keeper.mint(again, Share.NONE).get(0)).event();
        assertThat(minted.minted().leased().levelMicros())
                .as("a forgotten name begins full")
                .isEqualTo(10 * MICROS);
        keeper = new Bookkeeper(new Ledger(A));
        LimitRow continued = new LimitRow(TOPIC, 6, LIMIT, 0, Sharing.GOSSIP, Optional.of(A), false, false);
        minted = (Minted) ((Effect.Append) keeper.mint(continued, Share.NONE).get(0)).event();
        assertThat(minted.minted().leased().levelMicros())
                .as("a remembered one empty")
                .isZero();
    }
}
