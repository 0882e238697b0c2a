package io.weir.limiter.supply.value;

/** The two parts of a share: LEASED admits only within the lease, KEPT (the floor φ) also past it. */
public enum Account {
    LEASED,
    KEPT
}
