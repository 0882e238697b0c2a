package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MICROS;
import static io.weir.limiter.algorithm.Borrowing.EVERYBODY;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BorrowingTest {
    private static final long RATE = 1_000 * MICROS;
    private static final long BURST = 10 * MICROS;
    private static final long PATIENCE_NS = 20_000_000;
    private static final long MS_NS = 1_000_000;

    private final TokenBucket bucket = new TokenBucket(RATE, BURST, MICROS, 0);
    private final Borrowing borrowing = new Borrowing(bucket, 2, PATIENCE_NS, 0);
    private final Loan request = new Loan();
    private final Loan reply = new Loan();

    private static Loan loan(long id, long micros, long freeMicros) {
        return new Loan().set(0, id, micros, freeMicros, 0);
    }

    private void assertRequest(int peer, long id, long askedMicros, long freeMicros) {
        assertThat(request).usingRecursiveComparison().isEqualTo(new Loan().set(peer, id, askedMicros, freeMicros, 0));
    }

    /** With nothing heard yet the others seem full. */
    @Test
    void shouldAskForHalfTheDifferenceWhenAnotherSeemsRicher() {
        assertThat(borrowing.ask(EVERYBODY, 0, 0, request)).isTrue();

        assertRequest(0, 1, 4_500_000, MICROS);
        assertThat(bucket.reservedMicros()).isEqualTo(4_500_000);
    }

    @Test
    void shouldCountOnWhatItAskedForWhenItLooksForASecondLender() {
        assertThat(borrowing.ask(EVERYBODY, 0, 0, request)).isTrue();
        assertThat(borrowing.ask(EVERYBODY, 0, 0, request)).isTrue();
        assertRequest(1, 2, 2_250_000, 5_500_000);
        assertThat(borrowing.ask(EVERYBODY, 0, 0, request))
                .as("one request for each peer")
                .isFalse();
    }

    @Test
    void shouldAskOnlyWhoIsThere() {
        assertThat(borrowing.ask(0b10, 0, 0, request)).isTrue();
        assertThat(request.peer()).isEqualTo(1);
        assertThat(borrowing.ask(0b10, 0, 0, request)).isFalse();
    }

    @Test
    void shouldNotCountOnAReplyThatIsLate() {
        assertThat(borrowing.ask(EVERYBODY, 0, 0, request)).isTrue();
        assertThat(borrowing.ask(EVERYBODY, 3 * MICROS, MS_NS, request)).isTrue();

        assertThat(request.freeMicros()).as("what it has, less what waits").isEqualTo(-MICROS);
    }

    @Test
    void shouldLeaveRoomForAMessageOfItsOwnWhenItNeedsMuch() {
        TokenBucket empty = new TokenBucket(RATE, BURST, 0, 0);
        Borrowing greedy = new Borrowing(empty, 9, PATIENCE_NS, 0);
        long waiting = 1_000 * MICROS;
        while (greedy.ask(EVERYBODY, waiting, 0, request)) {
            assertThat(empty.reservedMicros()).isLessThanOrEqualTo(BURST - MICROS);
        }
        assertThat(empty.reservedMicros()).isEqualTo(BURST - MICROS);
        assertThat(empty.takeOrWaitNs(1, 0)).as("own refill still admits").isEqualTo(MS_NS);
    }

    @Test
    void shouldLendAllButAQuarterWhenItRests() {
        long afterNs = 20 * MS_NS;
        bucket.addMicros(BURST, afterNs);
        borrowing.onRequest(0, loan(1, BURST, 9 * MICROS), 0, afterNs, reply);
        assertThat(reply).usingRecursiveComparison().isEqualTo(new Loan().set(0, 1, 7_500_000, 2_500_000, BURST));

        borrowing.ask(EVERYBODY, 0, afterNs, request);
        borrowing.onRequest(1, loan(1, BURST, 2 * MICROS), 0, afterNs, reply);
        assertThat(reply.restingMicros()).as("it just asked for tokens itself").isZero();
        assertThat(reply.micros()).isEqualTo(250_000);
    }

    @Test
    void shouldAskAPeerThatRestsAsSoonAsItHasHalfABucketAgain() {
        long resting = 4 * MICROS;
        bucket.addMicros(3 * MICROS, 0);
        assertThat(borrowing.ask(0b1, 0, 0, request))
                .as("the peer seems to be full")
                .isTrue();
        borrowing.onReply(0, new Loan().set(0, request.id(), MICROS, MICROS, resting), 0);
        assertThat(borrowing.ask(0b1, 0, 4 * MS_NS, request))
                .as("by now it has 1 + 4 · 0.4, and keeps one")
                .isFalse();
        assertThat(borrowing.ask(0b1, 0, 6 * MS_NS, request)).isFalse();
        bucket.removeMicros(8 * MICROS, 6 * MS_NS);
        assertThat(borrowing.ask(0b1, 0, 6 * MS_NS, request))
                .as("now there is room")
                .isTrue();
        assertThat(request.micros()).isEqualTo(2_400_000);
    }

    @Test
    void shouldBeSilentWhenTheOthersAreAsPoor() {
        borrowing.onRequest(0, loan(1, 0, 2 * MICROS), 0, 0, reply);
        borrowing.onRequest(1, loan(1, 0, 2 * MICROS), 0, 0, reply);

        assertThat(borrowing.ask(EVERYBODY, 0, 0, request)).isFalse();
    }

    @Test
    void shouldAskAPoorOneTooWhenMessagesWait() {
        borrowing.onRequest(0, loan(1, 0, 0), 0, 0, reply);
        borrowing.onRequest(1, loan(1, 0, MICROS / 2), 0, 0, reply);

        assertThat(borrowing.ask(EVERYBODY, 2 * MICROS, 0, request)).isTrue();
        assertRequest(1, 1, MICROS, -MICROS);
    }

    @Test
    void shouldLeaveAPeerAloneForLongerAndLongerWhenItHasNothingToGive() {
        Borrowing one = new Borrowing(bucket, 1, PATIENCE_NS, 0);
        long nowNs = 0;
        long lastPauseNs = 0;
        for (int i = 0; i < 4; i++) {
            long askedNs = nowNs;
            while (!one.ask(EVERYBODY, 20 * MICROS, nowNs, request)) {
                nowNs += MS_NS / 100;
            }
            assertThat(nowNs - askedNs).isGreaterThanOrEqualTo(lastPauseNs);
            lastPauseNs = nowNs - askedNs;
            nowNs += MS_NS / 10;
            one.onReply(0, loan(request.id(), 0, -9 * MICROS), nowNs);
        }
        assertThat(lastPauseNs).isGreaterThan(MS_NS / 2);
    }

    @Test
    void shouldGiveHalfTheDifferenceAndDebitFirstWhenAsked() {
        TokenBucket full = new TokenBucket(RATE, BURST, BURST, 0);
        Borrowing giver = new Borrowing(full, 1, PATIENCE_NS, 0);

        assertThat(giver.onRequest(0, loan(1, 9 * MICROS, 2 * MICROS), 2 * MICROS, 0, reply))
                .isTrue();

        assertThat(reply).usingRecursiveComparison().isEqualTo(loan(1, 3 * MICROS, 5 * MICROS));
        assertThat(full.levelMicros(0)).isEqualTo(7 * MICROS);
    }

    @Test
    void shouldGiveNoMoreThanAskedAndNothingWhenItsOwnMessagesWait() {
        TokenBucket full = new TokenBucket(RATE, BURST, BURST, 0);
        Borrowing giver = new Borrowing(full, 1, PATIENCE_NS, 0);

        assertThat(giver.onRequest(0, loan(1, MICROS, 0), 0, 0, reply)).isTrue();
        assertThat(reply.micros()).isEqualTo(MICROS);
        assertThat(giver.onRequest(0, loan(2, MICROS, -90 * MICROS), 9 * MICROS, 0, reply))
                .isTrue();
        assertThat(reply.micros()).as("nine tokens for nine waiting messages").isZero();
    }

    @Test
    void shouldAnswerARequestOnceWhenItComesTwice() {
        TokenBucket full = new TokenBucket(RATE, BURST, BURST, 0);
        Borrowing giver = new Borrowing(full, 1, PATIENCE_NS, 0);

        assertThat(giver.onRequest(0, loan(7, MICROS, 0), 0, 0, reply)).isTrue();
        assertThat(giver.onRequest(0, loan(7, MICROS, 0), 0, 0, reply)).isFalse();
        assertThat(full.levelMicros(0)).isEqualTo(9 * MICROS);

        giver.peerChanged(0, 0);
        assertThat(giver.onRequest(0, loan(1, MICROS, 0), 0, 0, reply))
                .as("another life counts from the beginning")
                .isTrue();
    }

    @Test
    void shouldCountAReplyOnceWhenItComesTwice() {
        borrowing.ask(EVERYBODY, 0, 0, request);
        Loan given = loan(request.id(), 4 * MICROS, 4 * MICROS);

        assertThat(borrowing.onReply(0, given, 0)).isEqualTo(4 * MICROS);
        assertThat(borrowing.onReply(0, given, 0)).isZero();
        assertThat(bucket.levelMicros(0)).isEqualTo(5 * MICROS);
    }

    @Test
    void shouldDiscardAReplyWhenItsRequestWasGivenUpOrCancelled() {
        borrowing.ask(EVERYBODY, 0, 0, request);
        long lateNs = PATIENCE_NS + 1;
        assertThat(borrowing.onReply(0, loan(request.id(), MICROS, 0), lateNs)).isZero();
        assertThat(bucket.reservedMicros()).isZero();

        borrowing.ask(EVERYBODY, 20 * MICROS, lateNs, request);
        borrowing.cancel(lateNs);
        assertThat(borrowing.onReply(request.peer(), loan(request.id(), MICROS, 0), lateNs))
                .isZero();
        bucket.change(RATE, BURST / 2, lateNs);
        assertThat(bucket.levelMicros(lateNs)).isEqualTo(5 * MICROS);
    }

    @Test
    void shouldStopOwnRefillBelowWhatWasAskedForWhileTheRequestIsOpen() {
        borrowing.ask(EVERYBODY, 0, 0, request);

        assertThat(bucket.levelMicros(60_000 * MS_NS)).isEqualTo(BURST - request.micros());
    }
}
