package io.weir.limiter.simulation.supply;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.protocol.Effect;
import io.weir.limiter.supply.protocol.Input;
import io.weir.limiter.supply.protocol.Ledger;
import io.weir.limiter.supply.protocol.PeerMessage;
import io.weir.limiter.supply.protocol.ProtocolTimes;
import io.weir.limiter.supply.protocol.StoreView;
import io.weir.limiter.supply.protocol.SupplyNode;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.Holding;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.SupplyEvent;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One life of a broker's {@link SupplyNode}, the class that brokers run, with what their actors do around it: carries
 * its effects out at the gates, in the store and over the network, and tells it the answers. What it leaves out on
 * purpose is a {@link Flaw}.
 */
final class SimulatedNode {
    private static final long MS = SupplyWorld.MS;

    private final SupplyWorld world;
    private final SupplyBroker host;
    private final SimulatedGates gates;
    private final SupplyNode node;
    private final Holder[] peers;
    private SupplyEvent writing;

    SimulatedNode(SupplyWorld world, SupplyBroker host, SimulatedGates gates, Ledger replayed, StoreView view) {
        this.world = world;
        this.host = host;
        this.gates = gates;
        peers = new Holder[world.brokers.length];
        node = new SupplyNode(SupplyWorld.TIMES, new FlawedBookkeeper(world.scenario, replayed), view, world.random);
    }

    void begin() {
        Set<BrokerId> all = new HashSet<>();
        for (SupplyBroker broker : world.brokers) {
            all.add(broker.id());
        }
        tell(new Input.Members(all));
        tell(new Input.Begin(world.nowNs()));
        ProtocolTimes times = SupplyWorld.TIMES;
        every(times.resendNs(), new Input.ResendDue(), () -> true);
        every(times.roundNs(), new Input.RoundDue(), world::moving);
        every(times.sweepNs(), new Input.SweepDue(), () -> world.sweeps(host));
    }

    Holder me() {
        return node.me();
    }

    SimulatedGates gates() {
        return gates;
    }

    /** Those with whom tokens are borrowed, by their broker's number; null elsewhere. */
    Holder[] peers() {
        return peers;
    }

    private boolean alive() {
        return host.node() == this;
    }

    private void later(long afterNs, Runnable task) {
        host.later(this::alive, afterNs, task);
    }

    /** With a fixed delay, so that a pause is not followed by a burst. */
    private void every(long periodNs, Input due, BooleanSupplier wanted) {
        later(periodNs - world.random.nextLong(periodNs / 4), () -> {
            if (wanted.getAsBoolean()) {
                tell(due);
            }
            every(periodNs, due, wanted);
        });
    }

    void tell(Input input) {
        perform(node.on(input, host.localNs()));
        if (node.hasMore()) {
            later(0, () -> tell(new Input.GoOn()));
        }
        if (input instanceof Input.Looked) {
            Arrays.fill(peers, null);
            node.near().forEach(peer -> peers[world.indexOf(peer.broker())] = peer);
            node.limits()
                    .entries()
                    .forEach(entry ->
                            gates.version(entry.last().topic(), entry.last().version()));
        }
    }

    private void perform(List<Effect> effects) {
        for (int i = 0; i < effects.size(); i++) {
            Effect effect = effects.get(i);
            if (effect instanceof Effect.Append && i < effects.size() - 1) {
                throw new IllegalStateException(effects + ": the append is not the last");
            }
            if (world.dies(host, effect)) {
                throw new SupplyBroker.Died();
            }
            if (!(effect instanceof Effect.ReadRows || effect instanceof Effect.LookAfter)) {
                world.note(me(), effect);
            }
            perform(effect);
        }
    }

    private void perform(Effect effect) {
        if (effect instanceof Effect.Append e) {
            append(e.sequence(), e.events());
        } else if (effect instanceof Effect.Send e) {
            world.send(host, e.transfer().id().to().broker(), new PeerMessage.Sent(e.transfer(), me()));
        } else if (effect instanceof Effect.Acknowledge e) {
            world.send(host, e.to().broker(), new PeerMessage.Acknowledged(e.transfer(), e.to()));
        } else if (effect instanceof Effect.Tell e) {
            if (world.moving() || !(e.message() instanceof PeerMessage.Collect)) {
                world.send(host, e.to(), forged(e.message()));
            }
        } else if (effect instanceof Effect.Violated e) {
            world.checker.violated("C5", e.what());
        } else if (!atTheGates(effect) && !inTheRows(effect)) {
            throw new IllegalArgumentException("unknown effect " + effect);
        }
    }

    private PeerMessage forged(PeerMessage message) {
        return message instanceof PeerMessage.Needed needed && world.scenario.has(Flaw.FORGET_WITHOUT_ASKING)
                ? new PeerMessage.Needed(needed.from(), needed.round(), needed.asked(), Set.of())
                : message;
    }

    // ---- at the gates, whose thread takes one after the other, whatever becomes of the actors meanwhile

    private boolean atTheGates(Effect effect) {
        if (effect instanceof Effect.RemoveAtGate e) {
            gates.queue(() -> remove(e.wanted()));
        } else if (effect instanceof Effect.AddAtGate e) {
            add(e.more());
        } else if (effect instanceof Effect.ResetGate e) {
            gates.queue(() -> gates.reset(e.all()));
        } else if (effect instanceof Effect.CloseGate) {
            host.fenced();
        } else if (effect instanceof Effect.SampleGates e) {
            gates.queue(() -> {
                if (!world.loses(Flaw.ROUND_WITHOUT_END)) {
                    Input.Sampled sampled = new Input.Sampled(e.sequence(), gates.samples());
                    later(0, () -> tell(sampled));
                }
            });
        } else {
            return false;
        }
        return true;
    }

    private void remove(Map<TopicName, Holding> wanted) {
        Map<TopicName, Holding> removed = new LinkedHashMap<>();
        if (world.scenario.has(Flaw.BURN_BEFORE_REMOVED)
                && node.ledger().debts().keySet().containsAll(wanted.keySet())) {
            host.inProcess(300 * MS, () -> wanted.forEach(gates::remove));
            removed.putAll(wanted);
        } else {
            wanted.forEach((topic, holding) -> removed.put(topic, gates.remove(topic, holding)));
        }
        later(0, () -> tell(new Input.Removed(removed)));
    }

    private void add(Map<TopicName, Holding> more) {
        if (writing instanceof SupplyEvent.Credited && world.scenario.has(Flaw.USE_BEFORE_PERSIST)) {
            return;
        }
        boolean full = writing instanceof SupplyEvent.Inherited && world.scenario.has(Flaw.HEIR_STARTS_FULL);
        gates.queue(() -> more.forEach((topic, holding) -> gates.add(topic, full ? holding.full() : holding)));
    }

    // ---- the own journal: whatever is not known to be stored ends this life, as it ends the actor

    private void append(long sequence, List<SupplyEvent> events) {
        SupplyEvent event = events.get(0);
        writing = event;
        events.forEach(world.checker::invoked);
        if (event instanceof SupplyEvent.Credited credited && world.scenario.has(Flaw.USE_BEFORE_PERSIST)) {
            credited.transfer().holdings().forEach(gates::add);
        }
        host.journal(
                this::alive,
                () -> world.append(me(), sequence, events),
                there -> {
                    if (there.isPresent()) {
                        host.nodeEnded();
                    } else {
                        events.forEach(stored -> tell(new Input.Committed(stored)));
                    }
                },
                host::nodeEnded);
    }

    // ---- rows and others' journals

    private <T> void call(Supplier<T> operation, Consumer<T> answered, Runnable unknown) {
        world.call(host, this::alive, operation, answered, unknown);
    }

    /** For what is tried again anyway. */
    private <T> void call(Supplier<T> operation) {
        call(operation, answer -> {}, () -> {});
    }

    private boolean inTheRows(Effect effect) {
        Holder me = me();
        if (effect instanceof Effect.ReadRows e) {
            call(() -> world.sight(host, me, e.limitsAfter()), this::tell, () -> tell(new Input.LookFailed()));
        } else if (effect instanceof Effect.LookAfter e) {
            later(e.delayNs(), () -> tell(new Input.LookDue()));
        } else if (effect instanceof Effect.MarkDone e) {
            call(() -> world.store.updateLimit(e.topic(), e.version(), row -> Optional.of(row.finished())));
        } else if (effect instanceof Effect.ClaimMint e) {
            call(() -> world.store.updateLimit(e.topic(), e.version(), row -> row.claim(e.expected(), me)));
        } else if (effect instanceof Effect.ReadClosed) {
            call(world.store::closed, closed -> tell(new Input.ClosedRead(closed)), () -> {});
        } else if (effect instanceof Effect.Forget e) {
            call(
                    () -> {
                        world.note("store forgets", e.removal());
                        world.store.forget(e.removal());
                        return e.removal();
                    },
                    removal -> tell(new Input.Forgotten(removal)),
                    () -> {});
        } else if (effect instanceof Effect.Fence e) {
            fence(e);
        } else if (effect instanceof Effect.Claim e) {
            boolean blind = world.scenario.has(Flaw.NO_BENEFICIARY_CAS);
            step(
                    e.victim(),
                    () -> world.store.update(e.victim(), row -> world.forged(row)
                            .claim(e.account(), blind ? row.of(e.account()).heir() : e.expected(), me)));
        } else if (effect instanceof Effect.MarkInherited e) {
            step(e.victim(), () -> world.store.update(e.victim(), row -> Optional.of(row.done(e.account()))));
        } else if (effect instanceof Effect.ReadVictim e) {
            readVictim(e.victim(), e.journalToo());
        } else if (effect instanceof Effect.ReadJournal e) {
            host.journal(
                    this::alive,
                    () -> world.read(e.of()),
                    ledger -> tell(new Input.JournalRead(ledger)),
                    () -> tell(new Input.JournalUnread(e.of())));
        } else {
            return false;
        }
        return true;
    }

    private void step(Holder victim, Supplier<Boolean> operation) {
        call(operation, done -> tell(new Input.StepDone(victim)), () -> tell(new Input.StepFailed(victim)));
    }

    private void fence(Effect.Fence fence) {
        boolean blind = world.scenario.has(Flaw.FENCE_UNCONDITIONALLY);
        Supplier<Boolean> operation = () -> {
            boolean fenced = world.store.update(
                    fence.victim(), row -> row.fence(blind ? row.renewSeq() : fence.observedRenewSeq()));
            world.note("store", fence.victim(), fenced ? "is fenced" : "is not fenced");
            return fenced;
        };
        if (world.faulty() && world.chance(world.scenario.lateFence)) {
            world.plan(world.random.nextLong(SupplyWorld.PATIENCE_NS), operation::get);
            later(SupplyWorld.STORE_TIMEOUT_NS, () -> tell(new Input.StepFailed(fence.victim())));
        } else {
            step(fence.victim(), operation);
        }
    }

    /** The row, then the journal, then its end if that is missing: three requests, as of brokers. */
    private void readVictim(Holder victim, boolean journalToo) {
        Runnable failed = () -> tell(new Input.StepFailed(victim));
        call(
                () -> Optional.ofNullable(world.store.row(victim)).map(world::forged),
                found -> {
                    if (found.isEmpty()) {
                        failed.run();
                        return;
                    }
                    LeaseRow row = found.get();
                    if (!journalToo) {
                        tell(new Input.VictimRead(row, Optional.empty()));
                        return;
                    }
                    host.journal(
                            this::alive,
                            () -> world.read(victim),
                            ledger -> {
                                if (ledger.closed() || row.state() == LeaseRow.State.LIVE) {
                                    tell(new Input.VictimRead(row, Optional.of(ledger)));
                                } else {
                                    close(row, ledger, failed);
                                }
                            },
                            failed);
                },
                failed);
    }

    private void close(LeaseRow row, Ledger ledger, Runnable failed) {
        Effect.Append fenced = new Effect.Append(ledger.sequence() + 1, new SupplyEvent.Fenced(me()));
        if (world.dies(host, fenced)) {
            throw new SupplyBroker.Died();
        }
        host.journal(
                this::alive,
                () -> world.append(row.holder(), fenced.sequence(), fenced.events()),
                there -> {
                    if (there.isPresent()) {
                        failed.run();
                    } else {
                        ledger.apply(fenced.event());
                        tell(new Input.VictimRead(row, Optional.of(ledger)));
                    }
                },
                failed);
    }

    /** For a leaver that "transfers everything, then releases". */
    boolean giveAllToBuddy() {
        if (node.near().isEmpty()) {
            return false;
        }
        Map<TopicName, Share> all = new LinkedHashMap<>();
        node.ledger().shares().forEach((topic, holding) -> all.put(topic, holding.share()));
        tell(new PeerMessage.Give(me(), node.near().get(0), all));
        return true;
    }
}
