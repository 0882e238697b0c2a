package io.weir.limiter.supply.value;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limiter.algorithm.Share;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class HoldingTest {
    @Test
    void shouldNeverLeaveARateWithoutAMessageOfBurstWhenAnyPartMoves() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 20_000; i++) {
            Share all = new Share(random.nextLong(9 * MICROS), MICROS + random.nextLong(5 * MICROS));
            Holding mine = Holding.of(all, random.nextInt(11) * 100);
            assertThat(mine.lame()).isFalse();
            assertThat(mine.share()).isEqualTo(all);
            Share wanted = new Share(random.nextLong(9 * MICROS), random.nextLong(6 * MICROS));
            Holding moved = mine.cut(wanted);
            assertThat(moved.lame()).as("%s of %s", wanted, mine).isFalse();
            assertThat(mine.minus(moved).lame()).as("%s of %s", wanted, mine).isFalse();
        }
    }

    @Test
    void shouldNeverLeaveARateWithoutAMessageOfBurstOnEitherSideOfAnEdge() {
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < 20_000; i++) {
            int floorPermille = random.nextInt(11) * 100;
            Holding mine = Holding.of(
                    new Share(random.nextLong(9 * MICROS), MICROS + random.nextLong(5 * MICROS)), floorPermille);
            Holding theirs = Holding.of(
                    new Share(random.nextLong(9 * MICROS), MICROS + random.nextLong(5 * MICROS)), floorPermille);
            Share wanted = new Share(random.nextLong(9 * MICROS), random.nextLong(6 * MICROS));
            Holding moved = mine.cutFor(theirs, wanted);
            assertThat(mine.minus(moved).lame())
                    .as("%s of %s for %s", wanted, mine, theirs)
                    .isFalse();
            assertThat(theirs.plus(moved).lame())
                    .as("%s of %s for %s", wanted, mine, theirs)
                    .isFalse();
        }
    }

    @Test
    void shouldPutAllInOneAccountWhenAPartCouldNotAdmit() {
        Share small = new Share(MICROS, MICROS);
        assertThat(Holding.of(small, 500).kept()).isEqualTo(Supply.NONE);
        assertThat(Holding.of(small, 1000).leased()).isEqualTo(Supply.NONE);
    }

    @Test
    void shouldEndEveryDebtWhenTheOthersGiveWhatTheyAreAskedFor() {
        SplittableRandom random = new SplittableRandom(2);
        for (int i = 0; i < 500; i++) {
            Share limit = new Share(random.nextLong(20 * MICROS), random.nextLong(6 * MICROS));
            Share remaining = new Share(random.nextLong(20 * MICROS), random.nextLong(6 * MICROS));
            Share all = limit.plus(remaining);
            Holding first = Holding.of(new Share(all.rateMicros() / 3, all.burstMicros() / 3), 500);
            Holding[] others = {first, Holding.of(all.minus(first.share()), 0)};
            Debt debt = new Debt(2, remaining);
            for (int round = 0; round < 400 && !debt.remaining().isNone(); round++) {
                Holding given = debt.contribution(others[round % 2], limit, round / 10);
                others[round % 2] = others[round % 2].minus(given);
                debt = new Debt(
                        2, debt.remaining().minus(given.owed(debt.remaining()).share()));
            }
            assertThat(debt.remaining()).isEqualTo(Share.NONE);
        }
    }

    /** What is to be left is stranded, so the fraction falls with the debt, and only urgency ends it. */
    @Test
    void shouldEndADebtInFewRoundsWhenAllThatIsToBeLeftIsStranded() {
        Share limit = new Share(20 * MICROS, 100 * MICROS);
        Holding[] others = {
            Holding.of(new Share(10 * MICROS, 100 * MICROS), 0), Holding.of(new Share(10 * MICROS, 100 * MICROS), 0)
        };
        Debt debt = new Debt(2, new Share(20 * MICROS, 0));
        int rounds = 0;
        while (!debt.remaining().isNone() && rounds < 1_000) {
            for (int i = 0; i < others.length; i++) {
                Holding given = debt.contribution(others[i], limit, rounds / 5);
                others[i] = others[i].minus(given);
                debt = new Debt(
                        2, debt.remaining().minus(given.owed(debt.remaining()).share()));
            }
            rounds++;
        }
        assertThat(rounds).isLessThan(70);
    }
}
