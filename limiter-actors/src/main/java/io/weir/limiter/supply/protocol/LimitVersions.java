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
 * Brings new versions of limits about: the minter mints what a version adds, burns what it takes away and collects the rest of that
 * debt from the others; the sweeper finds another minter for a version whose own died before it minted.
 */
final class LimitVersions {
    /** A debt is asked for this often before the others give twice as much. */
    private static final int PATIENT_REQUESTS = 5;
    /** After so many looks at the same unfinished version the sweeper asks what became of its minter. */
    private static final int SWEEP_AFTER_LOOKS = 5;

    private final Holder me;
    private final LimitBook limits;
    private final Map<TopicName, Integer> requests = new HashMap<>();
    private final Map<TopicName, Integer> looks = new HashMap<>();
    /** Minters whose journals the sweeper has asked for. */
    private final Set<Holder> suspects = new HashSet<>();

    LimitVersions(Holder me, LimitBook limits) {
        this.me = me;
        this.limits = limits;
    }

    /** What the bookkeeper has to do for versions that are not done: mint them here, burn what is owed here. */
    List<PendingDecision> due(Ledger ledger) {
        List<LimitBook.Page> unfinished = limits.unfinished();
        if (unfinished.isEmpty()) {
            requests.clear();
            looks.clear();
        }
        List<PendingDecision> due = new ArrayList<>();
        for (LimitBook.Page page : unfinished) {
            looks.merge(page.last().topic(), 1, Integer::sum);
            if (page.last().minter().equals(Optional.of(me))) {
                due.add(new PendingDecision.Mint(page));
            }
        }
        for (LimitBook.Page page : unfinished) {
            if (debt(page, ledger).isPresent()) {
                due.add(new PendingDecision.Burn(page.last().topic()));
            }
        }
        return due;
    }

    /** What of these topics is owed and may be here now. */
    List<PendingDecision> owed(Set<TopicName> topics, Ledger ledger) {
        List<PendingDecision> due = new ArrayList<>();
        for (LimitBook.Page page : limits.unfinished()) {
            TopicName topic = page.last().topic();
            boolean owed = debt(page, ledger)
                    .filter(debt -> !debt.remaining().isNone())
                    .isPresent();
            if (owed && topics.contains(topic)) {
                due.add(new PendingDecision.Burn(topic));
            }
        }
        return due;
    }

    /** What others are asked for. */
    List<Effect> collect(Ledger ledger, Collection<BrokerId> others) {
        List<Effect> requested = new ArrayList<>();
        for (LimitBook.Page page : limits.unfinished()) {
            TopicName topic = page.last().topic();
            debt(page, ledger).filter(debt -> !debt.remaining().isNone()).ifPresent(debt -> {
                int urgency = requests.merge(topic, 1, Integer::sum) / PATIENT_REQUESTS;
                others.forEach(other ->
                        requested.add(new Effect.Tell(other, new PeerMessage.Collect(topic, debt, urgency, me))));
            });
        }
        return requested;
    }

    private static Optional<Debt> debt(LimitBook.Page page, Ledger ledger) {
        return Optional.ofNullable(ledger.debts().get(page.last().topic()))
                .filter(debt -> debt.version() == page.last().version());
    }

    /** The own part of what a collector asks for, unless that is about another version. */
    Optional<PendingDecision> contribution(PeerMessage.Collect collect) {
        return limits.last(collect.topic())
                .filter(last -> last.version() == collect.debt().version())
                .map(last -> new PendingDecision.Contribute(collect, last.limit()));
    }

    /** Versions that have waited for long: claims those that nobody is to mint, and names the minters to be looked at. */
    List<Effect> sweep() {
        List<Effect> claims = new ArrayList<>();
        for (LimitBook.Page page : limits.unfinished()) {
            LimitRow row = page.last();
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
            for (LimitBook.Page page : limits.unfinished()) {
                LimitRow row = page.last();
                if (row.minter().equals(Optional.of(minter.holder())) && !minter.minted(row.topic(), row.version())) {
                    claims.add(new Effect.ClaimMint(row.topic(), row.version(), row.minter()));
                }
            }
        }
        return claims;
    }
}
