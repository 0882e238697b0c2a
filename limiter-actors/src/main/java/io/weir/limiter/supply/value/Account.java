package io.weir.limiter.supply.value;

/** The two parts of a share: what admits only within the lease, and what goes on past it (the floor φ). */
public enum Account {
    LEASED,
    KEPT
}
