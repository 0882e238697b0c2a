package io.weir.limiter.algorithm;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limiter.algorithm.Borrowing.Reply;
import io.weir.limiter.algorithm.Borrowing.Request;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BorrowingTest {
    private static final long RATE = 1_000 * MICROS;
    private static final long BURST = 10 * MICROS;
    private static final long PATIENCE_NS = 2_000_000;
    private static final long MS_NS = 1_000_000;

    private final TokenBucket bucket = new TokenBucket(RATE, BURST, MICROS, 0);
    private final Borrowing borrowing = new Borrowing(bucket, 2, PATIENCE_NS, 0);

    @Test
    void shouldAskForHalfTheDifferenceWhenAnotherSeemsRicher() {
        Request request = borrowing.ask(0, 0).orElseThrow();

        // Nothing was heard yet, so the other seems full: half of 10 − 1.
        assertThat(request).isEqualTo(new Request(0, 1, 4_500_000, MICROS));
        assertThat(bucket.reservedMicros()).isEqualTo(4_500_000);
    }

    @Test
    void shouldCountOnWhatItAskedForWhenItLooksForASecondLender() {
        borrowing.ask(0, 0).orElseThrow();

        assertThat(borrowing.ask(0, 0).orElseThrow())
                .as("5.5 hoped for, so half of 4.5")
                .isEqualTo(new Request(1, 2, 2_250_000, 5_500_000));
        assertThat(borrowing.ask(0, 0)).as("one request for each peer").isEmpty();
    }

    @Test
    void shouldLeaveRoomForAMessageOfItsOwnWhenItNeedsMuch() {
        TokenBucket empty = new TokenBucket(RATE, BURST, 0, 0);
        Borrowing greedy = new Borrowing(empty, 9, PATIENCE_NS, 0);
        long waiting = 1_000 * MICROS;
        while (greedy.ask(waiting, 0).isPresent()) {
            assertThat(empty.reservedMicros()).isLessThanOrEqualTo(BURST - MICROS);
        }
        assertThat(empty.reservedMicros()).isEqualTo(BURST - MICROS);
        assertThat(empty.takeOrWaitNs(1, 0)).as("own refill still admits").isEqualTo(MS_NS);
    }

    @Test
    void shouldBeSilentWhenTheOthersAreAsPoor() {
        Request first = borrowing.ask(0, 0).orElseThrow();
        Request second = borrowing.ask(0, 0).orElseThrow();
        borrowing.onReply(0, new Reply(0, first.id(), 0, MICROS), MS_NS / 10);
        borrowing.onReply(1, new Reply(0, second.id(), 0, MICROS), MS_NS / 10);

        assertThat(borrowing.ask(0, MS_NS / 10)).isEmpty();
        assertThat(bucket.reservedMicros()).isZero();
    }

    @Test
    void shouldNotAskWhoHasNotAWholeMessageHoweverMuchWaits() {
        Request first = borrowing.ask(0, 0).orElseThrow();
        Request second = borrowing.ask(0, 0).orElseThrow();
        borrowing.onReply(0, new Reply(0, first.id(), 0, MICROS / 2), 0);
        borrowing.onReply(1, new Reply(0, second.id(), 0, MICROS / 2), 0);

        assertThat(borrowing.ask(1_000 * MICROS, 0)).isEmpty();
    }

    @Test
    void shouldGiveHalfTheDifferenceAndDebitFirstWhenAsked() {
        TokenBucket full = new TokenBucket(RATE, BURST, BURST, 0);
        Borrowing giver = new Borrowing(full, 1, PATIENCE_NS, 0);

        Reply reply = giver.onRequest(0, new Request(0, 1, 9 * MICROS, 2 * MICROS), 2 * MICROS, 0)
                .orElseThrow();

        assertThat(reply).isEqualTo(new Reply(0, 1, 3 * MICROS, 5 * MICROS));
        assertThat(full.levelMicros(0)).isEqualTo(7 * MICROS);
    }

    @Test
    void shouldGiveNoMoreThanAskedAndNothingWhenItsOwnMessagesWait() {
        TokenBucket full = new TokenBucket(RATE, BURST, BURST, 0);
        Borrowing giver = new Borrowing(full, 1, PATIENCE_NS, 0);

        assertThat(giver.onRequest(0, new Request(0, 1, MICROS, 0), 0, 0)
                        .orElseThrow()
                        .givenMicros())
                .isEqualTo(MICROS);
        assertThat(giver.onRequest(0, new Request(0, 2, MICROS, -90 * MICROS), 9 * MICROS, 0)
                        .orElseThrow()
                        .givenMicros())
                .as("nine tokens for nine waiting messages")
                .isZero();
    }

    @Test
    void shouldAnswerARequestOnceWhenItComesTwice() {
        TokenBucket full = new TokenBucket(RATE, BURST, BURST, 0);
        Borrowing giver = new Borrowing(full, 1, PATIENCE_NS, 0);
        Request request = new Request(0, 7, MICROS, 0);

        assertThat(giver.onRequest(0, request, 0, 0)).isPresent();
        assertThat(giver.onRequest(0, request, 0, 0)).isEqualTo(Optional.empty());
        assertThat(full.levelMicros(0)).isEqualTo(9 * MICROS);
    }

    @Test
    void shouldCountAReplyOnceWhenItComesTwice() {
        Request request = borrowing.ask(0, 0).orElseThrow();
        Reply reply = new Reply(0, request.id(), 4 * MICROS, 4 * MICROS);

        assertThat(borrowing.onReply(0, reply, 0)).isEqualTo(4 * MICROS);
        assertThat(borrowing.onReply(0, reply, 0)).isZero();
        assertThat(bucket.levelMicros(0)).isEqualTo(5 * MICROS);
    }

    @Test
    void shouldDiscardAReplyWhenItsRequestWasGivenUpOrCancelled() {
        Request late = borrowing.ask(0, 0).orElseThrow();
        long lateNs = PATIENCE_NS + 1;
        assertThat(borrowing.onReply(0, new Reply(0, late.id(), MICROS, 0), lateNs))
                .isZero();
        assertThat(bucket.reservedMicros()).isZero();

        Request cancelled = borrowing.ask(9 * MICROS, lateNs).orElseThrow();
        borrowing.cancel(lateNs);
        assertThat(borrowing.onReply(cancelled.peer(), new Reply(0, cancelled.id(), MICROS, 0), lateNs))
                .isZero();
        bucket.change(RATE, BURST / 2, lateNs);
        assertThat(bucket.levelMicros(lateNs)).isEqualTo(3_000_001);
    }

    @Test
    void shouldStopOwnRefillBelowWhatWasAskedForWhileTheRequestIsOpen() {
        Request request = borrowing.ask(0, 0).orElseThrow();

        assertThat(bucket.levelMicros(60_000 * MS_NS)).isEqualTo(BURST - request.askedMicros());
    }
}
