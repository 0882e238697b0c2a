package io.weir.limiter.simulation.supply;

import io.weir.config.value.Limit;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Demand;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.SupplyEdge;
import io.weir.limiter.supply.algorithm.Debt;
import io.weir.limiter.supply.algorithm.Exchange;
import io.weir.limiter.supply.algorithm.Holder;
import io.weir.limiter.supply.algorithm.Holding;
import io.weir.limiter.supply.algorithm.LimitRow;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** What moves between the brokers: rounds with the ring's neighbours, new limits, and debts that are collected. */
final class SimulatedRing {
    private static final double DEAD_BAND = 0.02;
    /** A debt is asked for this often before the others give twice as much. */
    private static final int PATIENT_REQUESTS = 5;

    private final SupplyWorld world;
    private final SupplyBroker host;
    private final SupplyActors actors;
    private final Map<TopicName, LimitRow> latest = new HashMap<>();
    private final Map<TopicName, SupplyEdge> edges = new HashMap<>();
    private final Map<TopicName, Integer> requests = new HashMap<>();

    SimulatedRing(SupplyWorld world, SupplyBroker host, SupplyActors actors) {
        this.world = world;
        this.host = host;
        this.actors = actors;
    }

    private Holding share(TopicName topic) {
        return actors.ledger().share(topic);
    }

    private void give(Holder to, TopicName topic, Supplier<Holding> part) {
        actors.command(() -> actors.keeper().canDebit(to) && !part.get().isNone()
                ? actors.keeper().debit(to, Map.of(topic, part.get()))
                : List.of());
    }

    void round() {
        if (!world.moving()) {
            return;
        }
        int count = world.topics.size();
        Holding[] shares = new Holding[count];
        Demand[] demands = new Demand[count];
        for (int topic = 0; topic < count; topic++) {
            TopicName name = world.topics.get(topic);
            shares[topic] = share(name);
            demands[topic] = actors.gates().demand(topic);
            if (Exchange.homeless(shares[topic]) && !actors.others().isEmpty()) {
                List<Holder> others = actors.others();
                give(others.get(world.random.nextInt(others.size())), name, () -> share(name));
            }
        }
        Holder teller = actors.me();
        for (Holder neighbour : actors.neighbours()) {
            world.send(host, neighbour.broker(), other -> other.ring().onIndicators(teller, shares, demands));
        }
    }

    private void onIndicators(Holder from, Holding[] shares, Demand[] demands) {
        actors.command(() -> {
            if (!actors.keeper().canDebit(from)) {
                return List.of();
            }
            Map<TopicName, Holding> moved = new LinkedHashMap<>();
            for (int topic = 0; topic < shares.length; topic++) {
                TopicName name = world.topics.get(topic);
                SupplyEdge edge = edges.get(name);
                if (edge != null) {
                    Demand demand = actors.gates().demand(topic);
                    Holding part = Exchange.handedOver(edge, share(name), demand, shares[topic], demands[topic]);
                    if (!part.isNone()) {
                        moved.put(name, part);
                    }
                }
            }
            return moved.isEmpty() ? List.of() : actors.keeper().debit(from, moved);
        });
    }

    /** A new topic's supply goes to everybody alive at once. */
    void spread(TopicName topic) {
        List<Holder> others = actors.others();
        List<Share> parts = Exchange.toOthers(share(topic).share(), others.size());
        for (int i = 0; i < parts.size(); i++) {
            Share part = parts.get(i);
            give(others.get(i), topic, () -> share(topic).cut(part));
        }
    }

    void limits(Map<TopicName, List<LimitRow>> limits) {
        for (int topic = 0; topic < world.topics.size(); topic++) {
            TopicName name = world.topics.get(topic);
            List<LimitRow> versions = limits.get(name);
            for (LimitRow row : versions) {
                if (!row.done()) {
                    mint(
                            row,
                            row.version() == 1
                                    ? Share.NONE
                                    : versions.get((int) row.version() - 2).limit());
                }
            }
            if (!versions.isEmpty()) {
                LimitRow last = versions.get(versions.size() - 1);
                if (!last.equals(latest.put(name, last))) {
                    edges.put(name, edge(last.limit()));
                }
                actors.gates().version(topic, last.version());
                collect(name, versions);
                actors.command(() -> actors.keeper().refloor(name, last.floorPermille()));
            }
        }
    }

    private SupplyEdge edge(Share limit) {
        int members = world.brokers.length;
        return limit.isNone()
                ? null
                : new SupplyEdge(new Limit(limit.rateMicros(), limit.burstMicros()), members, 2, DEAD_BAND);
    }

    private void mint(LimitRow row, Share before) {
        if (world.course.has(Flaw.MINT_WITHOUT_CLAIM)) {
            LimitRow forged = new LimitRow(
                    row.topic(),
                    row.version(),
                    row.limit(),
                    row.floorPermille(),
                    row.sharing(),
                    Optional.of(actors.me()),
                    false);
            actors.command(() -> actors.keeper().mint(forged, before));
        } else if (row.minter().isEmpty()) {
            claim(row);
        } else if (row.minter().get().equals(actors.me())) {
            actors.command(() -> actors.keeper().mint(row, before));
        } else if (world.chance(0.3)) {
            actors.call(
                    () -> world.read(row.minter().get()),
                    minter -> {
                        if (minter.closed() && !minter.minted(row.topic(), row.version())) {
                            claim(row);
                        }
                    },
                    () -> {});
        }
    }

    private void claim(LimitRow row) {
        Holder me = actors.me();
        actors.call(
                () -> world.store.updateLimit(row.topic(), row.version(), stored -> stored.claim(row.minter(), me)));
    }

    /** Burns what is owed here, and asks the others for the rest. */
    private void collect(TopicName topic, List<LimitRow> versions) {
        Debt debt = actors.ledger().debts().get(topic);
        if (debt == null
                || debt.version() > versions.size()
                || versions.get((int) debt.version() - 1).done()) {
            requests.remove(topic);
            return;
        }
        actors.burn(topic);
        if (!debt.remaining().isNone() && world.moving()) {
            int urgency = requests.merge(topic, 1, Integer::sum) / PATIENT_REQUESTS;
            Holder collector = actors.me();
            for (Holder other : actors.others()) {
                world.send(host, other.broker(), to -> to.ring().onCollect(topic, debt, urgency, collector));
            }
        }
    }

    private void onCollect(TopicName topic, Debt debt, int urgency, Holder collector) {
        LimitRow last = latest.get(topic);
        if (last != null && last.version() == debt.version()) {
            give(collector, topic, () -> debt.contribution(share(topic), last.limit(), urgency));
        }
    }
}
