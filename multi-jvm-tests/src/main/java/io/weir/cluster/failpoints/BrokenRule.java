package io.weir.cluster.failpoints;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** A rule of the supply protocol that a broker can be made to ignore, so that one sees whether the checker notices. */
public enum BrokenRule {
    NO_LEASE_CHECK("the gate admits past its lease, until the broker is told that it was fenced"),
    CREDIT_TWICE("a transfer is credited as often as it comes, and its first acknowledgement is lost"),
    HEIR_STARTS_FULL("what is inherited comes with full buckets"),
    NO_DRIFT_DEFLATION("refill at the full rate, whatever the clock does"),
    CLAIM_EARLY("others are fenced after a quarter of their lease"),
    MINT_FULL("a raised limit comes with full buckets"),
    ADOPTED_NOT_INHERITED("an heir forgets the transfers that its victim had inherited");

    private final String what;

    BrokenRule(String what) {
        this.what = what;
    }

    public String what() {
        return what;
    }

    /** As a person writes it: {@code no-lease-check}. */
    public String key() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static BrokenRule of(String key) {
        return Arrays.stream(values())
                .filter(rule -> rule.key().equals(key))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no rule is called '" + key + "': "
                        + Arrays.stream(values()).map(BrokenRule::key).collect(Collectors.joining(", "))));
    }
}
