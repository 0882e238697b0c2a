package io.weir.limiter.simulation.supply;

/** A rule of the protocol left out on purpose, for the checker to catch. Only the simulation can leave one out. */
public enum Flaw {
    NO_LEASE_CHECK("the gate ignores the lease"),
    EARLY_CLAIM("fenced after a quarter of the lease"),
    FENCE_UNCONDITIONALLY("the fence does not ask for the renewal it saw"),
    NO_BENEFICIARY_CAS("the heir is written without a condition"),
    CREDIT_NOT_IDEMPOTENT("a transfer is credited as often as it comes"),
    LEVEL_NOT_DEBITED("the tokens of a debit stay at the gate"),
    NO_DEFLATION("refill at the full rate on a fast clock"),
    USE_BEFORE_PERSIST("a credit is used before it is stored"),
    BURN_BEFORE_REMOVED("a burn is stored before the gate removed it"),
    ADOPTED_NOT_INHERITED("an heir leaves the victim's adopted transfers behind"),
    KEPT_ON_FENCE("the kept account is inherited on the fence alone"),
    MINT_WITHOUT_CLAIM("a version is minted without claiming it"),
    MINT_FULL("every mint starts full"),
    OVERLAPPING_VERSIONS("the next version begins before the last is done"),
    LEAVE_BY_TRANSFER("leaving transfers everything, then releases"),
    BORROW_WITHOUT_RESERVATION("a request reserves no room"),
    BORROW_WITHOUT_INCARNATION("a reply to a former life counts"),
    BORROW_WITHOUT_DEDUP("every copy of a reply counts"),
    HEIR_STARTS_FULL("what is inherited starts full"),
    LEND_PAST_LEASE("lending does not ask for the lease"),
    RECOVER_WITHOUT_BARRIER("a replay is used before an own event follows it"),
    SNAPSHOT_WITHOUT_LEGACIES("a snapshot forgets what was inherited and minted"),
    SETTLED_DEBT_FORGOTTEN("an heir does not inherit a debt of zero"),
    STAMP_AT_CONFIRM("a message counts when the lease was confirmed, not when the token was taken"),
    COMMANDS_AT_THE_TURNS_TIME("what comes to the gate accrues from when its thread's turn began"),
    FORGET_WITHOUT_ASKING("a closed journal is removed whoever has a transfer to it open"),
    ROUND_WITHOUT_END("a round whose answer was lost is the last"),
    JOURNAL_SHUT_FOR_LONG("after an outage the journal is not tried again for a minute"),
    RATE_STAYS_WITH_SMALL_BURST("a share with less than two messages of burst keeps its rate");

    private final String what;

    Flaw(String what) {
        this.what = what;
    }

    public String what() {
        return what;
    }
}
