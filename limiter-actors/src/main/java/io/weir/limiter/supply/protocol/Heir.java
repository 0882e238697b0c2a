package io.weir.limiter.supply.protocol;

import io.weir.config.value.BrokerId;
import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Ring;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Watches all leases and inherits from holders that stopped, in the steps of {@link Inheritance}, each of which waits
 * for the answer to the one before. The victim's ring successor (its best buddy) begins first, the others follow one by
 * one, the sweeper's host comes last. Victims are worked on independently. A step of unknown outcome is given up: the
 * next look at the rows continues from what the store says.
 */
final class Heir {
    private static final int MOST_STEPS = 12;

    private final Holder me;
    private final LeaseWatch watch;
    private final long courtesyNs;
    /** The victims being worked on, each with the number of steps left before it is put back. */
    private final Map<Holder, Integer> stepsLeft = new HashMap<>();
    /** By victim: another heir that claimed it, and whose journal was asked for. */
    private final Map<Holder, Holder> otherHeirs = new HashMap<>();
    /** By victim: that heir's journal, once it was read. */
    private final Map<Holder, Ledger> heirJournals = new HashMap<>();
    /** A closed journal is final, so it is read once. */
    private final Map<Holder, Ledger> closedJournals = new HashMap<>();

    private List<LeaseRow> rows = List.of();

    Heir(Holder me, LeaseWatch watch, long courtesyNs) {
        this.me = me;
        this.watch = watch;
        this.courtesyNs = courtesyNs;
    }

    /** Where there is nothing to inherit, the victim is read again or put back; else that follows the commit. */
    private record Inherit(Heir heir, Ledger victim, Account account) implements PendingDecision {
        @Override
        public List<Effect> decide(Bookkeeper keeper) {
            List<Effect> effects = keeper.inherit(victim, account);
            return effects.isEmpty() ? heir.next(victim.holder()) : effects;
        }
    }

    /** All rows, with the own clock read after they came. */
    List<Effect> look(List<LeaseRow> read, long nowNs) {
        rows = read;
        watch.read(rows, nowNs);
        Set<BrokerId> live = new HashSet<>(Set.of(me.broker()));
        for (LeaseRow row : rows) {
            if (row.state() == LeaseRow.State.LIVE) {
                live.add(row.holder().broker());
            }
        }
        List<Effect> steps = new ArrayList<>();
        Set<Holder> unsettled = new HashSet<>();
        for (LeaseRow row : rows) {
            if (row.state() != LeaseRow.State.LIVE) {
                unsettled.add(row.holder());
            }
            begin(row, courtesyNs * rankAfter(row.holder().broker(), live), nowNs)
                    .ifPresent(steps::add);
        }
        closedJournals.keySet().retainAll(unsettled);
        return steps;
    }

    /** This broker hosts the sweeper: it takes on what all others left, since nobody comes after it. */
    List<Effect> sweep(long nowNs) {
        List<Effect> steps = new ArrayList<>();
        for (LeaseRow row : rows) {
            begin(row, courtesyNs * (rows.size() + 1), nowNs).ifPresent(steps::add);
        }
        return steps;
    }

    /**
     * How many brokers come before this one; 0 for the best buddy, and for a victim that is a former life of this
     * broker.
     */
    private int rankAfter(BrokerId victim, Set<BrokerId> live) {
        if (victim.equals(me.broker())) {
            return 0;
        }
        Set<BrokerId> all = new HashSet<>(live);
        all.add(victim);
        return Ring.of(all).heirs(victim).indexOf(me.broker());
    }

    private Optional<Effect> begin(LeaseRow row, long waitNs, long nowNs) {
        Holder victim = row.holder();
        if (victim.equals(me) || !due(row, waitNs, nowNs) || stepsLeft.putIfAbsent(victim, MOST_STEPS) != null) {
            return Optional.empty();
        }
        boolean live = row.state() == LeaseRow.State.LIVE;
        return Optional.of(live ? new Effect.Fence(victim, row.renewSeq()) : read(victim));
    }

    private boolean due(LeaseRow row, long waitNs, long nowNs) {
        return watch.expired(row, waitNs, nowNs) || watch.waiting(row, waitNs, nowNs);
    }

    private Effect read(Holder victim) {
        return new Effect.ReadVictim(victim, !closedJournals.containsKey(victim));
    }

    /** A step was carried out, or its condition did not hold: the store says what is next. */
    List<Effect> next(Holder victim) {
        Integer left = stepsLeft.computeIfPresent(victim, (holder, steps) -> steps == 1 ? null : steps - 1);
        if (left == null) {
            putBack(victim);
            return List.of();
        }
        return List.of(read(victim));
    }

    /** Gives the victim up for now; the next look at the rows may begin with it again. */
    void putBack(Holder victim) {
        stepsLeft.remove(victim);
        otherHeirs.remove(victim);
        heirJournals.remove(victim);
    }

    /**
     * @param journal the victim's; empty if this heir knows its closed journal already
     * @param mine the own ledger as stored
     * @param decide takes a decision for the own bookkeeper; false if it has no room now
     */
    List<Effect> victimRead(LeaseRow row, Optional<Ledger> journal, Ledger mine, Predicate<PendingDecision> decide) {
        Holder victim = row.holder();
        Ledger ledger = journal.orElseGet(() -> closedJournals.get(victim));
        if (ledger == null || !stepsLeft.containsKey(victim)) {
            putBack(victim);
            return List.of();
        }
        rememberClosed(ledger);
        Inheritance.Step step = Inheritance.next(row, ledger, mine, Optional.ofNullable(heirJournals.remove(victim)));
        otherHeirs.remove(victim);
        if (step instanceof Inheritance.Step.CloseJournal) {
            // ReadVictim closes the journal unless the row was LIVE when it was read: read again.
            return next(victim);
        } else if (step instanceof Inheritance.Step.Claim claim) {
            return List.of(new Effect.Claim(victim, claim.account(), claim.expected()));
        } else if (step instanceof Inheritance.Step.Inherit inherit) {
            if (!decide.test(new Inherit(this, ledger, inherit.account()))) {
                putBack(victim);
            }
            return List.of();
        } else if (step instanceof Inheritance.Step.MarkDone done) {
            return List.of(new Effect.MarkInherited(victim, done.account()));
        } else if (step instanceof Inheritance.Step.ReadHeir other) {
            otherHeirs.put(victim, other.heir());
            return List.of();
        }
        putBack(victim);
        return List.of();
    }

    /** Whose journals to read: other heirs', and those of stopped holders whose supply is not known yet. */
    Set<Holder> wanted() {
        Set<Holder> wanted = new HashSet<>(otherHeirs.values());
        for (LeaseRow row : rows) {
            if (row.state() != LeaseRow.State.LIVE && !closedJournals.containsKey(row.holder())) {
                wanted.add(row.holder());
            }
        }
        return wanted;
    }

    List<Effect> journalRead(Ledger ledger) {
        rememberClosed(ledger);
        List<Effect> steps = new ArrayList<>();
        for (Holder victim : List.copyOf(otherHeirs.keySet())) {
            if (otherHeirs.remove(victim, ledger.holder())) {
                heirJournals.put(victim, ledger);
                steps.addAll(next(victim));
            }
        }
        return steps;
    }

    void journalUnread(Holder of) {
        for (Holder victim : List.copyOf(otherHeirs.keySet())) {
            if (otherHeirs.get(victim).equals(of)) {
                putBack(victim);
            }
        }
    }

    private void rememberClosed(Ledger ledger) {
        if (ledger.closed()) {
            closedJournals.put(ledger.holder(), ledger);
        }
    }

    /**
     * By topic, what neither a live holder nor an heir has: it belongs to victims not yet inherited from, or cut off.
     */
    Map<TopicName, Share> stranded() {
        Map<TopicName, Share> stranded = new HashMap<>();
        for (LeaseRow row : rows) {
            Ledger victim = closedJournals.get(row.holder());
            if (row.state() != LeaseRow.State.LIVE && victim != null) {
                for (Account account : Account.values()) {
                    if (!row.of(account).done()) {
                        victim.shares().forEach((topic, holding) -> {
                            if (!holding.in(account).isNone()) {
                                stranded.merge(topic, holding.in(account).share(), Share::plus);
                            }
                        });
                    }
                }
            }
        }
        return stranded;
    }
}
