package io.weir.supervisor.placement.algorithm;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Who gets how much of a topic, from the baseline to the full Load Distributor (SRTM, 6.2 to 6.4): each adds one
 * principle.
 */
public enum Policy {
    /** Evenly over all brokers, whatever they carry; the baseline. Never fitted. */
    LB("lb", false, false),
    /** Concentration: over the fewest brokers, so that their <i>total</i> loads are equal. */
    CONC("conc", true, false),
    /** Concentration, and the smallest part <i>of the topic</i> as large as can be. */
    MAX_MIN("max-min", true, false),
    /** Max-min, and every broker gets its part of every correlation group. */
    SRTM("srtm", true, true);

    public static final Policy DEFAULT = SRTM;

    private final String label;
    private final boolean concentrates;
    private final boolean minds;

    Policy(String label, boolean concentrates, boolean mindsGroups) {
        this.label = label;
        this.concentrates = concentrates;
        this.minds = mindsGroups;
    }

    public String label() {
        return label;
    }

    /** Whether it looks for the fewest brokers; then it is also fitted by measuring. */
    public boolean concentrates() {
        return concentrates;
    }

    public boolean mindsGroups() {
        return minds;
    }

    /** By its label. */
    public static Policy of(String label) {
        for (Policy policy : values()) {
            if (policy.label.equals(label.toLowerCase(Locale.ROOT))) {
                return policy;
            }
        }
        throw new IllegalArgumentException("no placement policy is called '" + label + "': there are "
                + Arrays.stream(values()).map(Policy::label).collect(Collectors.joining(", ")));
    }
}
