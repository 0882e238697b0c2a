package io.weir.limiter.supply.actor;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.actor.Failpoints.Step;
import io.weir.limiter.supply.gate.algorithm.Lease;
import io.weir.limiter.supply.protocol.Bookkeeper;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FailpointsTest {
    private static final TopicName TOPIC = new TopicName("orders");
    private static final Holder A = new Holder(new BrokerId("a"), 1);
    private static final Transfer TRANSFER = new Transfer(new Transfer.Id(A, A, 1), Map.of(TOPIC, Holding.NONE));

    private static final List<SupplyEvent> EVENTS = List.of(
            new SupplyEvent.Minted(TOPIC, 1, Holding.NONE, Share.NONE),
            new SupplyEvent.Debited(TRANSFER),
            new SupplyEvent.Credited(TRANSFER),
            new SupplyEvent.Refunded(TRANSFER.id()),
            new SupplyEvent.Delivered(TRANSFER.id()),
            new SupplyEvent.Inherited(A, Account.LEASED, Map.of(), List.of(), Map.of()),
            new SupplyEvent.Burned(TOPIC, 1, Holding.NONE),
            new SupplyEvent.Refloored(TOPIC, Holding.NONE),
            new SupplyEvent.Recovered(1),
            new SupplyEvent.Fenced(A));

    @Test
    void shouldHaveAStepOfItsOwnBeforeAndAfterEveryEvent() {
        assertThat(EVENTS.stream().<Object>map(Object::getClass))
                .containsExactlyInAnyOrder((Object[]) SupplyEvent.class.getPermittedSubclasses());
        Set<Step> steps = new HashSet<>();
        for (SupplyEvent event : EVENTS) {
            assertThat(steps.add(Step.before(event))).as("before %s", event).isTrue();
            assertThat(steps.add(Step.after(event))).as("after %s", event).isTrue();
        }
    }

    @Test
    void shouldChangeNothingWhereThereAreNone() {
        Failpoints none = Failpoints.NONE;
        for (Step step : Step.values()) {
            none.reached(step);
        }
        long beforeNs = System.nanoTime();
        assertThat(none.clock().getAsLong()).isBetween(beforeNs, System.nanoTime());
        assertThat(none.trueTime().applyAsLong(7)).isEqualTo(7);
        assertThat(none.lease(1)).hasSameClassAs(new Lease(1));
        assertThat(none.bookkeeper(new Ledger(A))).hasSameClassAs(new Bookkeeper(new Ledger(A)));
        assertThat(none.driftPpm(1_000)).isEqualTo(1_000);
        assertThat(none.patienceNs(6)).isEqualTo(6);
        assertThat(none.armed()).isEmpty();
    }
}
