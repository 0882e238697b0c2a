package io.weir.limiter.supply.protocol;

import static io.weir.config.value.Limit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Estimate;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.GateSample;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import io.weir.limiter.supply.value.SupplyEvent;
import io.weir.limiter.supply.value.Transfer;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** One node, told what happens step by step; what many of them do together is the simulation's. */
class SupplyNodeTest {
    private static final long SECOND = 1_000_000_000L;
    private static final TopicName TOPIC = new TopicName("orders");
    private static final Holder ME = holder("b1", 1);
    private static final Holder PEER = holder("b2", 1);
    private static final ProtocolTimes TIMES = ProtocolTimes.of(6 * SECOND, 1_000, SECOND / 2, SECOND / 2, 0.03, 0.2);

    private final StoreView view = StoreView.nothing(TIMES);
    private final SupplyNode node =
            new SupplyNode(TIMES, new Bookkeeper(new Ledger(ME)), view, new SplittableRandom(1));
    private long nowNs = 1;

    private static Holder holder(String broker, long incarnation) {
        return new Holder(new BrokerId(broker), incarnation);
    }

    private List<Effect> tell(Input input) {
        return node.on(input, nowNs);
    }

    /** Tells it, and plays store and gates until nothing is left to be written. */
    private List<Effect> carryOut(Input input) {
        List<Effect> all = new ArrayList<>();
        List<Effect> effects = tell(input);
        while (!effects.isEmpty()) {
            all.addAll(effects);
            Effect last = effects.get(effects.size() - 1);
            if (last instanceof Effect.Append append) {
                effects = new ArrayList<>();
                for (SupplyEvent event : append.events()) {
                    effects.addAll(tell(new Input.Committed(event)));
                }
                if (node.hasMore()) {
                    all.addAll(effects);
                    effects = tell(new Input.GoOn());
                }
            } else if (last instanceof Effect.RemoveAtGate remove) {
                effects = tell(new Input.Removed(remove.wanted()));
            } else {
                effects = List.of();
            }
        }
        return all;
    }

    private void begin(String... others) {
        Set<BrokerId> reachable = new LinkedHashSet<>(Set.of(ME.broker()));
        for (String other : others) {
            reachable.add(new BrokerId(other));
        }
        tell(new Input.Members(reachable));
        carryOut(new Input.Begin(1));
    }

    private List<Effect> look(LeaseRow... rows) {
        return carryOut(new Input.Looked(List.of(rows), view.limits().upTo(), List.of()));
    }

    private void mint(long rate, long burst) {
        LimitRow row = new LimitRow(
                TOPIC, 1, new Share(rate * MICROS, burst * MICROS), 0, Sharing.GOSSIP, Optional.of(ME), false);
        carryOut(new Input.Looked(List.of(LeaseRow.registered(ME)), 1, List.of(row)));
        assertThat(node.ledger().share(TOPIC).share()).isEqualTo(row.limit());
    }

    private static List<PeerMessage> toldTo(String broker, List<Effect> effects) {
        List<PeerMessage> told = new ArrayList<>();
        for (Effect effect : effects) {
            if (effect instanceof Effect.Tell tell && tell.to().value().equals(broker)) {
                told.add(tell.message());
            }
        }
        return told;
    }

    private static PeerMessage.Sent transfer(long sequence) {
        Holding one = Holding.of(new Share(MICROS, MICROS), 0);
        return new PeerMessage.Sent(new Transfer(new Transfer.Id(PEER, ME, sequence), Map.of(TOPIC, one)), PEER);
    }

    @Test
    void shouldWriteNothingBeforeTheBarrierOfItsOwnLife() {
        assertThat(tell(transfer(1))).as("it has not begun").isEmpty();
        List<Effect> begun = tell(new Input.Begin(9));
        assertThat(begun).contains(new Effect.ReadRows(0));
        assertThat(begun.get(begun.size() - 1)).isEqualTo(new Effect.Append(1, new SupplyEvent.Recovered(9)));
        assertThat(tell(transfer(2))).as("the barrier is not stored").isEmpty();
        tell(new Input.Committed(new SupplyEvent.Recovered(9)));
        assertThat(node.hasMore()).isTrue();
        assertThat(tell(new Input.GoOn()))
                .containsExactly(new Effect.Append(
                        2, new SupplyEvent.Credited(transfer(1).transfer())));
    }

    @Test
    void shouldDoNothingMoreWhenItsJournalIsClosed() {
        Ledger closed = new Ledger(ME);
        closed.apply(new SupplyEvent.Fenced(PEER));
        SupplyNode fenced = new SupplyNode(TIMES, new Bookkeeper(closed), view, new SplittableRandom(1));
        assertThat(fenced.on(new Input.Begin(1), nowNs)).contains(new Effect.CloseGate());
        assertThat(fenced.on(transfer(1), nowNs)).isEmpty();
        assertThat(fenced.on(new Input.RoundDue(), nowNs)).isEmpty();
    }

    @Test
    void shouldLookAgainAtOnceWhenItIsToldSoWhileALookIsUnderWay() {
        begin();
        assertThat(tell(new Input.LookNow())).as("one look at a time").isEmpty();
        assertThat(tell(new Input.LookFailed())).containsExactly(new Effect.LookAfter(0));
        assertThat(tell(new Input.LookDue())).containsExactly(new Effect.ReadRows(0));
        assertThat(tell(new Input.LookFailed())).containsExactly(new Effect.LookAfter(TIMES.lookNs()));
    }

    @Test
    void shouldNeverHandAnythingToAHolderThatWasSeenStoppedHoweverOldTheNextReadIs() {
        begin("b2");
        mint(10, 10);
        look(LeaseRow.registered(ME), LeaseRow.registered(PEER).stop());
        look(LeaseRow.registered(ME), LeaseRow.registered(PEER));
        assertThat(node.others()).isEmpty();
        PeerMessage.Collect collect = new PeerMessage.Collect(TOPIC, new Debt(1, new Share(MICROS, MICROS)), 0, PEER);
        assertThat(carryOut(collect)).noneMatch(effect -> effect instanceof Effect.RemoveAtGate);
    }

    @Test
    void shouldTellABrokerThatIsNoNeighbourWhenItsMessagesWait() {
        begin("b2", "b3", "b4");
        mint(10, 1);
        LeaseRow[] all = {
            LeaseRow.registered(ME),
            LeaseRow.registered(PEER),
            LeaseRow.registered(holder("b3", 1)),
            LeaseRow.registered(holder("b4", 1))
        };
        look(all);
        assertThat(node.near())
                .extracting(Holder::broker)
                .containsExactlyInAnyOrder(new BrokerId("b2"), new BrokerId("b4"));
        tell(new Input.RoundDue());
        Demand much = new Demand(100 * MICROS, 10 * MICROS);
        Holding held = node.ledger().share(TOPIC);
        List<Effect> idle = carryOut(new Input.Sampled(0, List.of(new GateSample(TOPIC, held, much, 0, false))));
        assertThat(toldTo("b3", idle)).as("nothing waits").isEmpty();
        tell(new Input.RoundDue());
        List<Effect> starving = carryOut(new Input.Sampled(0, List.of(new GateSample(TOPIC, held, much, 5, false))));
        assertThat(toldTo("b3", starving)).singleElement().isInstanceOf(PeerMessage.Indicators.class);
    }

    @Test
    void shouldGiveToAStarvingBrokerThatIsNoNeighbourOnlyWhatItDoesNotNeedItself() {
        begin("b2", "b3", "b4");
        mint(10, 1);
        Holder far = holder("b3", 1);
        look(
                LeaseRow.registered(ME),
                LeaseRow.registered(PEER),
                LeaseRow.registered(far),
                LeaseRow.registered(holder("b4", 1)));
        PeerMessage.Indicators starving = new PeerMessage.Indicators(
                far,
                List.of(new PeerMessage.ShareAndDemand(
                        TOPIC, Holding.NONE, new Demand(100 * MICROS, 10 * MICROS), false)));
        tell(new Input.RoundDue());
        Holding held = node.ledger().share(TOPIC);
        carryOut(new Input.Sampled(0, List.of(new GateSample(TOPIC, held, new Demand(5 * MICROS, MICROS), 0, false))));
        assertThat(carryOut(starving)).as("its own messages need it").noneMatch(Effect.RemoveAtGate.class::isInstance);
        tell(new Input.RoundDue());
        carryOut(new Input.Sampled(0, List.of()));
        assertThat(carryOut(starving))
                .anyMatch(effect -> effect instanceof Effect.Send sent
                        && sent.transfer().id().to().equals(far));
    }

    @Test
    void shouldGiveWhatItCanSpareOnlyToAFarBrokerThatIsCertainToNeedMore() {
        begin("b2", "b3", "b4");
        mint(100, 100);
        Holder far = holder("b3", 1);
        look(
                LeaseRow.registered(ME),
                LeaseRow.registered(PEER),
                LeaseRow.registered(far),
                LeaseRow.registered(holder("b4", 1)));
        tell(new Input.RoundDue());
        Holding held = node.ledger().share(TOPIC);
        Estimate mine = new Estimate(30 * MICROS, 40 * MICROS, 50 * MICROS);
        carryOut(new Input.Sampled(
                0,
                List.of(new GateSample(
                        TOPIC, held, new Demand(mine, Estimate.exactly(10 * MICROS), Estimate.NONE), 0, false))));
        Estimate wide = new Estimate(5 * MICROS, 30 * MICROS, 60 * MICROS);
        assertThat(carryOut(asks(far, new Demand(wide, Estimate.exactly(MICROS), Estimate.exactly(2 * MICROS)))))
                .as("10 may be enough")
                .noneMatch(Effect.RemoveAtGate.class::isInstance);
        List<Effect> effects =
                carryOut(asks(far, new Demand(wide, Estimate.exactly(MICROS), Estimate.exactly(200 * MICROS))));
        assertThat(effects)
                .filteredOn(Effect.Send.class::isInstance)
                .singleElement()
                .satisfies(effect -> {
                    Transfer transfer = ((Effect.Send) effect).transfer();
                    assertThat(transfer.id().to()).isEqualTo(far);
                    assertThat(transfer.holdings().get(TOPIC).share().rateMicros())
                            .as("half of what lies above the most that it may need")
                            .isEqualTo(25 * MICROS);
                });
    }

    private static PeerMessage.Indicators asks(Holder from, Demand demand) {
        Holding ten = Holding.of(new Share(10 * MICROS, 10 * MICROS), 0);
        return new PeerMessage.Indicators(from, List.of(new PeerMessage.ShareAndDemand(TOPIC, ten, demand, false)));
    }

    @Test
    void shouldAskMoreFarBrokersAfterOneOfThemGave() {
        begin("b2", "b3", "b4", "b5", "b6");
        mint(10, 10);
        List<LeaseRow> all = new ArrayList<>(List.of(LeaseRow.registered(ME)));
        for (String other : List.of("b2", "b3", "b4", "b5", "b6")) {
            all.add(LeaseRow.registered(holder(other, 1)));
        }
        look(all.toArray(LeaseRow[]::new));
        assertThat(farAsked()).hasSize(1);
        assertThat(farAsked()).hasSize(1);
        Holder far = holder("b4", 1);
        Holding one = Holding.of(new Share(MICROS, MICROS), 0);
        carryOut(new PeerMessage.Sent(new Transfer(new Transfer.Id(far, ME, 1), Map.of(TOPIC, one)), far));
        assertThat(farAsked()).hasSize(2);
        carryOut(transfer(1));
        assertThat(farAsked()).as("a neighbour's gift is no reason").hasSize(1);
        Map<TopicName, Holding> other = Map.of(new TopicName("other"), one);
        carryOut(new PeerMessage.Sent(new Transfer(new Transfer.Id(far, ME, 2), other), far));
        assertThat(farAsked()).as("another topic's gift is none either").hasSize(1);
    }

    /** Who is asked in a round of a broker that starves, its neighbours aside. */
    private List<String> farAsked() {
        tell(new Input.RoundDue());
        Holding held = node.ledger().share(TOPIC);
        Demand much = new Demand(100 * MICROS, 10 * MICROS);
        List<Effect> effects = carryOut(new Input.Sampled(0, List.of(new GateSample(TOPIC, held, much, 5, false))));
        return Stream.of("b3", "b4", "b5")
                .filter(broker -> !toldTo(broker, effects).isEmpty())
                .toList();
    }

    @Test
    void shouldTellWhenTheGatesHoldMoreThanTheJournal() {
        begin();
        mint(10, 10);
        tell(new Input.RoundDue());
        Holding forged = Holding.of(new Share(11 * MICROS, 10 * MICROS), 0);
        GateSample sample = new GateSample(TOPIC, forged, new Demand(MICROS, MICROS), 0, false);
        assertThat(tell(new Input.Sampled(node.ledger().sequence(), List.of(sample))))
                .anyMatch(Effect.Violated.class::isInstance);
    }

    @Test
    void shouldFenceASilentHolderOnceAndInheritStepByStep() {
        begin("b2");
        LeaseRow mine = LeaseRow.registered(ME);
        LeaseRow silent = LeaseRow.registered(PEER);
        look(mine, silent);
        List<Effect> fenced = List.of();
        for (long at = nowNs; fenced.isEmpty() && at < nowNs + 2 * TIMES.patienceNs(); at += TIMES.lookNs()) {
            fenced = node.on(new Input.Looked(List.of(mine, silent), 1, List.of()), at).stream()
                    .filter(Effect.Fence.class::isInstance)
                    .toList();
            assertThat(fenced.isEmpty()).as("at %s ns", at).isEqualTo(at - nowNs < TIMES.patienceNs());
        }
        assertThat(fenced).containsExactly(new Effect.Fence(PEER, 0));
        assertThat(tell(new Input.StepDone(PEER))).containsExactly(new Effect.ReadVictim(PEER, true));
        LeaseRow row = silent.fence(0).orElseThrow();
        Ledger victim = new Ledger(PEER);
        victim.apply(new SupplyEvent.Fenced(ME));
        assertThat(tell(new Input.VictimRead(row, Optional.of(victim))))
                .containsExactly(new Effect.Claim(PEER, Account.LEASED, Optional.empty()));
        assertThat(tell(new Input.StepDone(PEER)))
                .as("a closed journal is read once")
                .containsExactly(new Effect.ReadVictim(PEER, false));
        LeaseRow claimed = row.claim(Account.LEASED, Optional.empty(), ME).orElseThrow();
        assertThat(carryOut(new Input.VictimRead(claimed, Optional.empty())))
                .contains(new Effect.ReadVictim(PEER, false))
                .anyMatch(effect ->
                        effect instanceof Effect.Append append && append.event() instanceof SupplyEvent.Inherited);
        assertThat(tell(new Input.VictimRead(claimed, Optional.empty())))
                .containsExactly(new Effect.MarkInherited(PEER, Account.LEASED));
    }

    private static List<LimitRow> rows(long version, Share limit, boolean done) {
        List<LimitRow> rows = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            TopicName topic = new TopicName("passing-" + i + "#ephemeral");
            rows.add(new LimitRow(topic, version, limit, 0, Sharing.GOSSIP, Optional.of(ME), done));
        }
        return rows;
    }

    private List<Effect> looked(long upTo, List<LimitRow> rows) {
        return carryOut(new Input.Looked(List.of(LeaseRow.registered(ME)), upTo, rows));
    }

    private static long appends(List<Effect> effects) {
        return effects.stream()
                .filter(effect -> effect instanceof Effect.Append)
                .count();
    }

    @Test
    void shouldMintManyTopicsWithFewWritesAndForgetThemAllWhenTheyAreGone() {
        Share limit = new Share(10 * MICROS, 5 * MICROS);
        begin();
        List<LimitRow> created = rows(1, limit, false);
        long writes = 0;
        for (int look = 0; look < 10; look++) {
            writes += appends(looked(1, created));
        }
        assertThat(node.ledger().shares()).hasSize(created.size());
        assertThat(writes).as("one for hundreds").isLessThan(10);
        looked(2, rows(1, limit, true));

        List<LimitRow> deleted = rows(2, Share.NONE, false);
        writes = 0;
        for (int look = 0; look < 20; look++) {
            writes += appends(looked(3, deleted));
        }
        assertThat(node.ledger().shares()).isEmpty();
        assertThat(writes).as("one for hundreds").isLessThan(20);
        looked(4, rows(2, Share.NONE, true));

        assertThat(node.ledger().topics()).as("minted, owed or held").isEmpty();
        Ledger.Snapshot snapshot = node.ledger().snapshot();
        assertThat(snapshot.minted()).isEmpty();
        assertThat(snapshot.debts()).isEmpty();
        assertThat(snapshot.shares()).isEmpty();
        assertThat(node.limits().entries()).as("the store has them still").hasSize(created.size());

        nowNs += TIMES.retentionNs();
        looked(4, List.of());
        assertThat(tell(new Input.LookDue())).contains(new Effect.ReadRows(0));
        looked(4, List.of());
        assertThat(node.limits().entries()).isEmpty();
        assertThat(node.limits().topics()).isEmpty();
    }

    @Test
    void shouldNotMintAgainWhatIsDoneThoughTheDecisionWaitedAndTheLedgerForgot() {
        begin();
        mint(10, 5);
        LimitRow row =
                new LimitRow(TOPIC, 1, new Share(10 * MICROS, 5 * MICROS), 0, Sharing.GOSSIP, Optional.of(ME), false);
        looked(2, List.of(row.finished()));
        assertThat(node.ledger().snapshot().minted()).isEmpty();
        assertThat(appends(looked(2, List.of(row)))).as("an old row").isZero();
        assertThat(appends(carryOut(new Input.Inserted(List.of(row))))).isZero();
        assertThat(node.ledger().share(TOPIC).share()).isEqualTo(row.limit());
    }
}
