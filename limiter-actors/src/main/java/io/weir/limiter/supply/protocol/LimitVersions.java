package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
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
        if (unfinished.isEmpty()) {
            requests.clear();
            looks.clear();
        }
        List<PendingDecision> due = new ArrayList<>();
        for (KnownLimits.Entry entry : unfinished) {
            looks.merge(entry.last().topic(), 1, Integer::sum);
            if (entry.last().minter().equals(Optional.of(me))) {
                due.add(new PendingDecision.Mint(entry));
            }
        }
        for (KnownLimits.Entry entry : unfinished) {
            if (debt(entry, ledger).isPresent()) {
                due.add(new PendingDecision.Burn(entry.last().topic()));
            }
        }
        return due;
    }

    /** Burns of these topics' debts: something of them has just arrived. */
    List<PendingDecision> owed(Set<TopicName> topics, Ledger ledger) {
        List<PendingDecision> due = new ArrayList<>();
        for (KnownLimits.Entry entry : limits.unfinished()) {
            TopicName topic = entry.last().topic();
            boolean owed = debt(entry, ledger)
                    .filter(debt -> !debt.remaining().isNone())
                    .isPresent();
            if (owed && topics.contains(topic)) {
                due.add(new PendingDecision.Burn(topic));
            }
        }
        return due;
    }

    /** Asks the others for their parts of this holder's debts. */
    List<Effect> collect(Ledger ledger, Collection<BrokerId> others) {
        List<Effect> requested = new ArrayList<>();
        for (KnownLimits.Entry entry : limits.unfinished()) {
            TopicName topic = entry.last().topic();
            debt(entry, ledger).filter(debt -> !debt.remaining().isNone()).ifPresent(debt -> {
                int urgency = requests.merge(topic, 1, Integer::sum) / PATIENT_REQUESTS;
                others.forEach(other ->
                        requested.add(new Effect.Tell(other, new PeerMessage.Collect(topic, debt, urgency, me))));
            });
        }
        return requested;
    }

    private static Optional<Debt> debt(KnownLimits.Entry entry, Ledger ledger) {
        return Optional.ofNullable(ledger.debts().get(entry.last().topic()))
                .filter(debt -> debt.version() == entry.last().version());
    }

    /** The own part of what a collector asks for; nothing if the request is about another version. */
    Optional<PendingDecision> contribution(PeerMessage.Collect collect) {
        return limits.last(collect.topic())
                .filter(last -> last.version() == collect.debt().version())
                .map(last -> new PendingDecision.Contribute(collect, last.limit()));
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
