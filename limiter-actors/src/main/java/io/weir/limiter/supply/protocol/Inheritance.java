package io.weir.limiter.supply.protocol;

import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import java.util.Optional;

/**
 * What to do next about a holder that has stopped, or must. Everything is read from the store, so each step may be
 * repeated, and anyone may go on where another died. Victims are worked on apart from each other: one whose heir died
 * waits for that heir's own journal to be closed, so a single queue of victims could wait for itself.
 *
 * <table>
 * <caption>the first that applies, for each inheritable account</caption>
 * <tr><th>row</th><th>journals</th><th>step</th></tr>
 * <tr><td>not LIVE</td><td>victim's is open</td><td>append Fenced to it: a zombie's next append meets it</td></tr>
 * <tr><td>no heir</td><td>victim's is closed</td><td>claim</td></tr>
 * <tr><td>heir is me</td><td>mine lacks it</td><td>append Inherited to mine, level 0</td></tr>
 * <tr><td>heir is me</td><td>mine has it</td><td>mark done</td></tr>
 * <tr><td>heir is another</td><td>its journal is open</td><td>nothing: it lives, or is fenced first</td></tr>
 * <tr><td>heir is another</td><td>closed, has it</td><td>mark done: its own heir gets both</td></tr>
 * <tr><td>heir is another</td><td>closed, lacks it</td><td>claim in its place: a closed journal is final</td></tr>
 * </table>
 */
final class Inheritance {
    private Inheritance() {}

    /** A step; the one who asked carries it out and asks again. */
    sealed interface Step {
        /** Append {@code Fenced} to the victim's journal under this number; met by another event: read again. */
        record CloseJournal(long sequence) implements Step {}

        /** Become the account's beneficiary in the row, if it still is {@code expected}. */
        record Claim(Account account, Optional<Holder> expected) implements Step {}

        /** Append {@code Inherited} to the own journal: {@link Bookkeeper#inherit}. */
        record Inherit(Account account) implements Step {}

        /** Mark the account in the row. */
        record MarkDone(Account account) implements Step {}

        /** Read this heir's journal and ask again. */
        record ReadHeir(Holder heir) implements Step {}

        /** Nothing to do for now. */
        record Rest() implements Step {}
    }

    /**
     * @param victim its journal as read, perhaps a stale prefix
     * @param mine the own ledger as stored
     * @param heir the journal of another heir that {@link Step.ReadHeir} asked for; empty before
     */
    static Step next(LeaseRow row, Ledger victim, Ledger mine, Optional<Ledger> heir) {
        if (row.state() == LeaseRow.State.LIVE) {
            return new Step.Rest();
        }
        if (!victim.closed()) {
            return new Step.CloseJournal(victim.sequence() + 1);
        }
        Step leased = next(Account.LEASED, row, mine, heir);
        return leased instanceof Step.Rest ? next(Account.KEPT, row, mine, heir) : leased;
    }

    private static Step next(Account account, LeaseRow row, Ledger mine, Optional<Ledger> other) {
        LeaseRow.Legacy legacy = row.of(account);
        if (!row.inheritable(account) || legacy.done()) {
            return new Step.Rest();
        }
        if (legacy.heir().isEmpty()) {
            return new Step.Claim(account, Optional.empty());
        }
        Holder heir = legacy.heir().get();
        if (heir.equals(mine.holder())) {
            return mine.inherited(row.holder(), account) ? new Step.MarkDone(account) : new Step.Inherit(account);
        }
        if (other.isEmpty() || !other.get().holder().equals(heir)) {
            return new Step.ReadHeir(heir);
        }
        if (!other.get().closed()) {
            return new Step.Rest();
        }
        return other.get().inherited(row.holder(), account)
                ? new Step.MarkDone(account)
                : new Step.Claim(account, legacy.heir());
    }
}
