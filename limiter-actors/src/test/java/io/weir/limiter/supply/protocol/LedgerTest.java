package io.weir.limiter.supply.protocol;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.Supply;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class LedgerTest {
    private static final TopicName[] TOPICS = {new TopicName("x"), new TopicName("y")};
    private static final int HOLDERS = 3;

    private final List<List<SupplyEvent>> journals = new ArrayList<>();
    private final List<Bookkeeper> keepers = new ArrayList<>();

    private static Holder holder(int i) {
        return new Holder(new BrokerId("b" + i), 1);
    }

    /** Carries out what a bookkeeper wants, storing everything and sending nothing. */
    private void settle(int i, List<Effect> effects) {
        for (Effect effect : effects) {
            if (effect instanceof Effect.RemoveAtGate e) {
                settle(i, keepers.get(i).removed(e.wanted()));
            } else if (effect instanceof Effect.Append e) {
                assertThat(e.sequence()).isEqualTo(journals.get(i).size() + 1);
                journals.get(i).add(e.event());
                settle(i, keepers.get(i).committed());
            } else if (effect instanceof Effect.Send e) {
                sent.add(e.transfer());
            }
        }
    }

    private final List<Transfer> sent = new ArrayList<>();

    private void anyHistory(SplittableRandom random) {
        journals.clear();
        keepers.clear();
        sent.clear();
        for (int i = 0; i < HOLDERS; i++) {
            journals.add(new ArrayList<>());
            keepers.add(new Bookkeeper(new Ledger(holder(i))));
        }
        long[] version = new long[TOPICS.length];
        Share[] limit = {Share.NONE, Share.NONE};
        for (int step = 0; step < 60; step++) {
            int i = random.nextInt(HOLDERS);
            int topic = random.nextInt(TOPICS.length);
            Bookkeeper keeper = keepers.get(i);
            if (!keeper.idle()) {
                continue;
            }
            switch (random.nextInt(7)) {
                case 0 -> {
                    Share next = new Share(random.nextLong(9 * MICROS), MICROS + random.nextLong(9 * MICROS));
                    boolean owed = keepers.stream()
                            .map(k -> k.ledger().debts().get(TOPICS[topic]))
                            .anyMatch(debt -> debt != null && !debt.remaining().isNone());
                    if (!owed) {
                        LimitRow row = new LimitRow(
                                TOPICS[topic],
                                ++version[topic],
                                next,
                                500,
                                Sharing.GOSSIP,
                                Optional.of(holder(i)),
                                false);
                        settle(i, keeper.mint(row, limit[topic]));
                        limit[topic] = next;
                    }
                }
                case 1 -> {
                    Holder to = holder((i + 1 + random.nextInt(HOLDERS - 1)) % HOLDERS);
                    Holding part = keeper.ledger().share(TOPICS[topic]).cut(new Share(2 * MICROS, MICROS));
                    if (keeper.canDebit(to) && !part.isNone()) {
                        settle(i, keeper.debit(to, Map.of(TOPICS[topic], part)));
                    }
                }
                case 2 -> settle(i, keeper.burn(TOPICS[topic]));
                case 3 -> settle(i, keeper.refloor(TOPICS[topic], random.nextInt(3) * 500));
                case 4 -> {
                    if (random.nextInt(12) == 0) {
                        SupplyEvent fenced = new SupplyEvent.Fenced(holder((i + 1) % HOLDERS));
                        journals.get(i).add(fenced);
                        keeper.ledger().apply(fenced);
                        keepers.set(i, new Bookkeeper(keeper.ledger()));
                    }
                }
                case 5 -> {
                    Ledger other = keepers.get((i + 1) % HOLDERS).ledger();
                    if (other.closed()
                            && keepers.stream().noneMatch(k -> k.ledger().inherited(other.holder(), Account.LEASED))) {
                        settle(i, keeper.inherit(other, Account.LEASED));
                        settle(i, keeper.inherit(other, Account.KEPT));
                    }
                    settle(i, keeper.destinationClosed(other));
                }
                default -> {
                    if (!sent.isEmpty()) {
                        Transfer transfer = sent.get(random.nextInt(sent.size()));
                        settle(i, keeper.credit(transfer, transfer.id().from()));
                        if (keeper.ledger().credited(transfer.id())) {
                            for (int j = 0; j < HOLDERS; j++) {
                                settle(j, keepers.get(j).acknowledged(transfer.id()));
                            }
                        }
                    }
                }
            }
        }
    }

    @Test
    void shouldBeTheSameWhenItsJournalIsReplayedWithOrWithoutASnapshot() {
        Set<Class<?>> kinds = new HashSet<>();
        for (long seed = 1; seed <= 300; seed++) {
            anyHistory(new SplittableRandom(seed));
            for (int i = 0; i < HOLDERS; i++) {
                List<SupplyEvent> journal = journals.get(i);
                journal.forEach(event -> kinds.add(event.getClass()));
                Ledger.Snapshot live = keepers.get(i).ledger().snapshot();
                for (int at = 0; at <= journal.size(); at++) {
                    Ledger replayed = new Ledger(holder(i));
                    journal.subList(0, at).forEach(replayed::apply);
                    replayed = new Ledger(replayed.snapshot());
                    journal.subList(at, journal.size()).forEach(replayed::apply);
                    assertThat(replayed.snapshot())
                            .as("seed %d, holder %d, snapshot at %d", seed, i, at)
                            .isEqualTo(live);
                }
            }
        }
        kinds.add(SupplyEvent.Recovered.class);
        assertThat(kinds)
                .as("every kind of event was replayed")
                .containsExactlyInAnyOrderElementsOf(Arrays.asList(SupplyEvent.class.getPermittedSubclasses()));
    }

    @Test
    void shouldRefuseWhatFollowsFenced() {
        Ledger ledger = new Ledger(holder(0));
        ledger.apply(new SupplyEvent.Fenced(holder(1)));
        assertThatThrownBy(() -> ledger.apply(new SupplyEvent.Recovered(1))).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shouldRefuseToSpendWhatItDoesNotHold() {
        Ledger ledger = new Ledger(holder(0));
        Holding some = new Holding(new Supply(MICROS, MICROS, 0), Supply.NONE);
        Transfer transfer = new Transfer(new Transfer.Id(holder(0), holder(1), 1), Map.of(TOPICS[0], some));
        assertThatThrownBy(() -> ledger.apply(new SupplyEvent.Debited(transfer)))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
