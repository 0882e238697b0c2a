package io.weir.transport.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HandshakesTest {
    private static final long SLOW = 1;
    private static final long QUICK = 2;

    private static void join(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void shouldLeaveAThreadToOthersWhenOneAddressKeepsItsOwnBusy() {
        try (Handshakes handshakes = new Handshakes(2)) {
            CountDownLatch hold = new CountDownLatch(1);
            CountDownLatch slowDone = new CountDownLatch(10);
            for (int i = 0; i < 10; i++) {
                assertThat(handshakes.submit(SLOW, () -> {
                            join(hold);
                            slowDone.countDown();
                        }))
                        .isTrue();
            }
            CountDownLatch quick = new CountDownLatch(3);
            for (int i = 0; i < 3; i++) {
                assertThat(handshakes.submit(QUICK, quick::countDown)).isTrue();
            }
            join(quick);
            hold.countDown();
            join(slowDone);
        }
    }

    @Test
    void shouldServeAddressesInTurn() {
        List<Long> served = new CopyOnWriteArrayList<>();
        try (Handshakes handshakes = new Handshakes(2)) {
            CountDownLatch hold = new CountDownLatch(1);
            CountDownLatch held = new CountDownLatch(2);
            CountDownLatch done = new CountDownLatch(5);
            // Both threads are busy while the others come.
            for (long address : new long[] {8, 9}) {
                handshakes.submit(address, () -> {
                    held.countDown();
                    join(hold);
                });
            }
            join(held);
            for (long address : new long[] {SLOW, SLOW, SLOW, SLOW, QUICK}) {
                handshakes.submit(address, () -> {
                    served.add(address);
                    done.countDown();
                });
            }
            hold.countDown();
            join(done);
        }
        assertThat(served.indexOf(QUICK)).as("among %s", served).isLessThanOrEqualTo(2);
    }

    @Test
    void shouldRefuseMoreThanItsBound() {
        try (Handshakes handshakes = new Handshakes(2)) {
            CountDownLatch hold = new CountDownLatch(1);
            CountDownLatch held = new CountDownLatch(1);
            handshakes.submit(SLOW, () -> {
                held.countDown();
                join(hold);
            });
            join(held);
            for (int i = 0; i < Handshakes.MOST_WAITING; i++) {
                assertThat(handshakes.submit(SLOW, () -> {})).isTrue();
            }
            assertThat(handshakes.submit(SLOW, () -> {})).isFalse();
            assertThat(handshakes.submit(QUICK, () -> {})).isFalse();
            hold.countDown();
        }
    }
}
