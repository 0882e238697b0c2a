package io.weir.limiter.supply.protocol;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.protocol.Inheritance.Step;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class InheritanceTest {
    private static final long SECOND = 1_000_000_000L;
    private static final Holder VICTIM = new Holder(new BrokerId("v"), 1);
    private static final Holder ME = new Holder(new BrokerId("m"), 1);
    private static final Holder OTHER = new Holder(new BrokerId("o"), 1);
    private static final LeaseRow LIVE = LeaseRow.registered(VICTIM);
    private static final LeaseRow FENCED = LIVE.fence(0).orElseThrow();

    private static SupplyEvent inherited(Account account) {
        return new SupplyEvent.Inherited(VICTIM, account, Map.of(), List.of(), Map.of());
    }

    private static Ledger ledger(Holder holder, SupplyEvent... events) {
        Ledger ledger = new Ledger(holder);
        List.of(events).forEach(ledger::apply);
        return ledger;
    }

    private static final SupplyEvent END = new SupplyEvent.Fenced(ME);

    private static Step next(LeaseRow row, Ledger victim, Ledger mine, Ledger heir) {
        return Inheritance.next(row, victim, mine, Optional.ofNullable(heir));
    }

    @Test
    void shouldDoNothingWhenTheVictimIsLive() {
        assertThat(next(LIVE, ledger(VICTIM), ledger(ME), null)).isEqualTo(new Step.Rest());
    }

    @Test
    void shouldCloseTheJournalThenClaimThenInheritThenMark() {
        assertThat(next(FENCED, ledger(VICTIM), ledger(ME), null)).isEqualTo(new Step.CloseJournal(1));
        Ledger closed = ledger(VICTIM, END);
        assertThat(next(FENCED, closed, ledger(ME), null)).isEqualTo(new Step.Claim(Account.LEASED, Optional.empty()));
        LeaseRow mine = FENCED.claim(Account.LEASED, Optional.empty(), ME).orElseThrow();
        assertThat(next(mine, closed, ledger(ME), null)).isEqualTo(new Step.Inherit(Account.LEASED));
        Ledger heir = ledger(ME, inherited(Account.LEASED));
        assertThat(next(mine, closed, heir, null)).isEqualTo(new Step.MarkDone(Account.LEASED));
        LeaseRow done = mine.done(Account.LEASED);
        assertThat(next(done, closed, heir, null)).as("kept waits for the stop").isEqualTo(new Step.Rest());
        assertThat(next(done.stop(), closed, heir, null)).isEqualTo(new Step.Claim(Account.KEPT, Optional.empty()));
    }

    @Test
    void shouldTakeTheHeirsPlaceOnlyWhenItsJournalIsClosedWithoutTheLegacy() {
        LeaseRow others = FENCED.claim(Account.LEASED, Optional.empty(), OTHER).orElseThrow();
        Ledger closed = ledger(VICTIM, END);
        assertThat(next(others, closed, ledger(ME), null)).isEqualTo(new Step.ReadHeir(OTHER));
        assertThat(next(others, closed, ledger(ME), ledger(OTHER))).isEqualTo(new Step.Rest());
        assertThat(next(others, closed, ledger(ME), ledger(OTHER, END)))
                .isEqualTo(new Step.Claim(Account.LEASED, Optional.of(OTHER)));
        assertThat(next(others, closed, ledger(ME), ledger(OTHER, inherited(Account.LEASED), END)))
                .isEqualTo(new Step.MarkDone(Account.LEASED));
    }

    @Test
    void shouldChangeARowOnlyOnItsCondition() {
        assertThat(LIVE.fence(1)).as("renewed since").isEmpty();
        assertThat(FENCED.renew()).isEmpty();
        assertThat(LIVE.claim(Account.LEASED, Optional.empty(), ME)).isEmpty();
        assertThat(FENCED.claim(Account.KEPT, Optional.empty(), ME)).isEmpty();
        LeaseRow mine = FENCED.claim(Account.LEASED, Optional.empty(), ME).orElseThrow();
        assertThat(mine.claim(Account.LEASED, Optional.empty(), OTHER)).isEmpty();
        assertThat(mine.done(Account.LEASED).claim(Account.LEASED, Optional.of(ME), OTHER))
                .isEmpty();
        LimitRow limit =
                new LimitRow(new TopicName("t"), 1, new Share(1, MICROS), 0, Sharing.GOSSIP, Optional.empty(), false);
        assertThat(limit.next(Share.NONE, 0, Sharing.GOSSIP)).as("not done").isEmpty();
        assertThat(limit.claim(Optional.of(OTHER), ME)).isEmpty();
        assertThat(limit.claim(Optional.empty(), ME)).isPresent();
        assertThat(limit.finished().claim(Optional.empty(), ME)).isEmpty();
    }

    @Test
    void shouldLetAHolderExpireOnlyAfterWOfUnchangedSight() {
        long w = LeaseWatch.patienceNs(6 * SECOND, 1_000, SECOND);
        assertThat(w).isBetween(7_012_000_000L, 7_012_100_000L);
        LeaseWatch watch = new LeaseWatch(w, 2 * SECOND);
        long now = Long.MAX_VALUE;
        watch.read(List.of(LIVE), now);
        for (long passed = SECOND; passed < w; passed += SECOND) {
            watch.read(List.of(LIVE), now + passed);
        }
        assertThat(watch.expired(LIVE, 0, now + w - 1)).isFalse();
        assertThat(watch.expired(LIVE, 0, now + w)).isTrue();
        assertThat(watch.expired(LIVE, SECOND, now + w)).as("others come first").isFalse();
        watch.read(List.of(LIVE.renew().orElseThrow()), now + w);
        assertThat(watch.expired(LIVE.renew().orElseThrow(), 0, now + w)).isFalse();
        assertThat(watch.expired(LIVE, 0, now + w)).isFalse();
    }

    @Test
    void shouldBeginAnewWhenTheReadsFailedForAWhile() {
        LeaseWatch watch = new LeaseWatch(3 * SECOND, SECOND);
        watch.read(List.of(LIVE), 0);
        watch.read(List.of(LIVE), SECOND);
        watch.read(List.of(LIVE), 3 * SECOND);
        assertThat(watch.expired(LIVE, 0, 3 * SECOND)).isFalse();
        assertThat(watch.expired(LIVE, 0, 6 * SECOND)).isTrue();
    }
}
