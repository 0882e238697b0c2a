package io.weir.limiter.supply.value;

import java.util.Optional;

/**
 * A holder's row in the store. A change with a condition answers the row as it will be, or empty if the condition does
 * not hold; the store must decide and write in one step.
 *
 * <pre>
 *   LIVE ── fence: renewSeq as observed ──► FENCED ── the holder itself, its file lock, an operator ──► STOPPED
 *     └──────────── stop: the holder itself after closing its gate, its file lock ─────────────────────────┘
 * </pre>
 *
 * FENCED makes the leased account inheritable, STOPPED the kept one. Each account has one heir at a time and is done
 * once.
 */
public record LeaseRow(Holder holder, State state, long renewSeq, Legacy leased, Legacy kept) {
    /** Whether the holder may renew, and what its heirs may take. */
    public enum State {
        LIVE,
        FENCED,
        STOPPED
    }

    /** Who claimed an account as its heir, and whether it is known to be inherited. */
    public record Legacy(Optional<Holder> heir, boolean done) {
        static final Legacy UNCLAIMED = new Legacy(Optional.empty(), false);
    }

    public static LeaseRow registered(Holder holder) {
        return new LeaseRow(holder, State.LIVE, 0, Legacy.UNCLAIMED, Legacy.UNCLAIMED);
    }

    public Optional<LeaseRow> renew() {
        return state == State.LIVE
                ? Optional.of(new LeaseRow(holder, state, renewSeq + 1, leased, kept))
                : Optional.empty();
    }

    public Optional<LeaseRow> fence(long observedRenewSeq) {
        return state == State.LIVE && renewSeq == observedRenewSeq
                ? Optional.of(new LeaseRow(holder, State.FENCED, renewSeq, leased, kept))
                : Optional.empty();
    }

    public LeaseRow stop() {
        return new LeaseRow(holder, State.STOPPED, renewSeq, leased, kept);
    }

    public Optional<LeaseRow> claim(Account account, Optional<Holder> expectedHeir, Holder heir) {
        Legacy legacy = of(account);
        return inheritable(account) && !legacy.done && legacy.heir.equals(expectedHeir)
                ? Optional.of(with(account, new Legacy(Optional.of(heir), false)))
                : Optional.empty();
    }

    public LeaseRow done(Account account) {
        return with(account, new Legacy(of(account).heir, true));
    }

    public boolean inheritable(Account account) {
        return account == Account.LEASED ? state != State.LIVE : state == State.STOPPED;
    }

    public Legacy of(Account account) {
        return account == Account.LEASED ? leased : kept;
    }

    /** Whether anything is left for an heir to do now. */
    public boolean unfinished() {
        return inheritable(Account.LEASED) && !leased.done || inheritable(Account.KEPT) && !kept.done;
    }

    private LeaseRow with(Account account, Legacy legacy) {
        return account == Account.LEASED
                ? new LeaseRow(holder, state, renewSeq, legacy, kept)
                : new LeaseRow(holder, state, renewSeq, leased, legacy);
    }
}
