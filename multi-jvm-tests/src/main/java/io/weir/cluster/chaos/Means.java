package io.weir.cluster.chaos;

/** What a fault needs of the machine; what is missing takes faults out of the catalogue, and the run says so. */
public enum Means {
    /** Signals to processes: there everywhere. */
    PROCESSES("processes"),
    /** Every broker in a network of its own, joined by a switch. */
    NETWORK("network namespaces"),
    /** A store of the run's own, which it may kill. */
    OWN_STORE("a store of its own"),
    /** A disk of the store's own that can be filled. */
    DISK("a small disk for the store"),
    /** Control groups that bound a process's CPU time. */
    QUOTA("a cgroup with a CPU quota"),
    /** The jar with the failpoints, on the brokers' class path. */
    FAILPOINTS("chaos-failpoints.jar");

    private final String text;

    Means(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
