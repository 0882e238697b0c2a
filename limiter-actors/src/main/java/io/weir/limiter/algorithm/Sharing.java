package io.weir.limiter.algorithm;

/** How a topic's limit is divided among its brokers; every topic may choose. */
public enum Sharing {
    /** Equal parts for ever (SRTM's static split). */
    STATIC,
    /**
     * Neighbours on the ring hand each other supply, see {@link SupplyEdge}: what a topic has unless it says otherwise.
     */
    GOSSIP,
    /** A {@link TbAdaptor} in the middle calls supply in and hands it out. */
    ADAPTOR;

    public static final Sharing DEFAULT = GOSSIP;
}
