package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Debt;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LimitRow;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Carries out new versions of limits. The version's minter mints what the version adds, burns what it takes away, and
 * collects from the others what it can't burn itself. The sweeper finds another minter for a version whose minter died
 * before it minted.
 */
final class LimitVersions {
    /** After so many requests for the same debt the others are asked for twice as much. */
    private static final int PATIENT_REQUESTS = 5;
    /** After so many looks at the same unfinished version the sweeper checks on its minter. */
    private static final int SWEEP_AFTER_LOOKS = 5;
    /** At most so many versions are minted, burned or collected at a time; the others' turn comes after them. */
    private static final int MOST_AT_ONCE = 500;

    private final Holder me;
    private final KnownLimits limits;
    private final Map<TopicName, Integer> requests = new HashMap<>();
    private final Map<TopicName, Integer> looks = new HashMap<>();
    /** Minters that may have died, and whose journals the sweeper wants. */
    private final Set<Holder> suspects = new HashSet<>();

    LimitVersions(Holder me, KnownLimits limits) {
        this.me = me;
        this.limits = limits;
    }

    /** Decisions for versions that are not done: mint those that are this holder's to mint, burn what it owes. */
    List<PendingDecision> due(Ledger ledger) {
        List<KnownLimits.Entry> unfinished = limits.unfinished();
        Set<TopicName> topics = new HashSet<>();
        List<TopicName> mint = new ArrayList<>();
        List<TopicName> burn = new ArrayList<>();
        List<TopicName> paid = new ArrayList<>();
        for (KnownLimits.Entry entry : unfinished) {
            LimitRow row = entry.last();
            topics.add(row.topic());
            looks.merge(row.topic(), 1, Integer::sum);
            boolean mine = row.minter().equals(Optional.of(me));
            if (mine && !ledger.minted(row.topic(), row.version()) && mint.size() < MOST_AT_ONCE) {
                mint.add(row.topic());
            }
            debt(entry, ledger).ifPresent(debt -> {
                List<TopicName> with = debt.remaining().isNone() ? paid : burn;
                if (with.size() < MOST_AT_ONCE) {
                    with.add(row.topic());
                }
            });
        }
        // Beside what is owed, not in its place: the store may be slow to hear what is paid.
        burn.addAll(paid);
        requests.keySet().retainAll(topics);
        looks.keySet().retainAll(topics);
        List<PendingDecision> due = new ArrayList<>();
        if (!mint.isEmpty()) {
            due.add(new PendingDecision.Mint(limits, mint));
        }
        if (!burn.isEmpty()) {
            due.add(new PendingDecision.Burn(burn));
        }
        return due;
    }

    /** A burn of these topics' debts: something of them has just arrived, or they are new. */
    Optional<PendingDecision> owed(Collection<TopicName> topics, Ledger ledger) {
        List<TopicName> burn = new ArrayList<>();
        for (KnownLimits.Entry entry : limits.of(topics)) {
            boolean owed = !entry.last().done()
                    && debt(entry, ledger)
                            .filter(debt -> !debt.remaining().isNone())
                            .isPresent();
            if (owed) {
                burn.add(entry.last().topic());
            }
        }
        return burn.isEmpty() ? Optional.empty() : Optional.of(new PendingDecision.Burn(burn));
    }

    /** Asks the others for their parts of this holder's debts. */
    List<Effect> collect(Ledger ledger, Collection<BrokerId> others) {
        List<Effect> requested = new ArrayList<>();
        int collected = 0;
        for (KnownLimits.Entry entry : limits.unfinished()) {
            TopicName topic = entry.last().topic();
            Optional<Debt> owed =
                    debt(entry, ledger).filter(debt -> !debt.remaining().isNone());
            if (owed.isPresent() && collected++ < MOST_AT_ONCE) {
                int urgency = requests.merge(topic, 1, Integer::sum) / PATIENT_REQUESTS;
                others.forEach(other ->
                        requested.add(new Effect.Tell(other, new PeerMessage.Collect(topic, owed.get(), urgency, me))));
            }
        }
        return requested;
    }

    private static Optional<Debt> debt(KnownLimits.Entry entry, Ledger ledger) {
        return Optional.ofNullable(ledger.debts().get(entry.last().topic()))
                .filter(debt -> debt.version() == entry.last().version());
    }

    /** The limit that a collector collects for; nothing if the request is about another version. */
    Optional<Share> collectedFor(PeerMessage.Collect collect) {
        return limits.last(collect.topic())
                .filter(last -> last.version() == collect.debt().version())
                .map(LimitRow::limit);
    }

    /** For versions that have waited long: claims those without a minter, and suspects the minters of the others. */
    List<Effect> sweep() {
        List<Effect> claims = new ArrayList<>();
        for (KnownLimits.Entry entry : limits.unfinished()) {
            LimitRow row = entry.last();
            if (looks.getOrDefault(row.topic(), 0) >= SWEEP_AFTER_LOOKS) {
                if (row.minter().isEmpty()) {
                    claims.add(new Effect.ClaimMint(row.topic(), row.version(), row.minter()));
                } else if (!row.minter().get().equals(me)) {
                    suspects.add(row.minter().get());
                }
            }
        }
        return claims;
    }

    Set<Holder> suspects() {
        return suspects;
    }

    /** A minter whose journal is closed without the version will never mint it. */
    List<Effect> minterRead(Ledger minter) {
        List<Effect> claims = new ArrayList<>();
        if (suspects.remove(minter.holder()) && minter.closed()) {
            for (KnownLimits.Entry entry : limits.unfinished()) {
                LimitRow row = entry.last();
                if (row.minter().equals(Optional.of(minter.holder())) && !minter.minted(row.topic(), row.version())) {
                    claims.add(new Effect.ClaimMint(row.topic(), row.version(), row.minter()));
                }
            }
        }
        return claims;
    }
}
