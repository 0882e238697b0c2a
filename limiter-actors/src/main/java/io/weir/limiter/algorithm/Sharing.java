package io.weir.limiter.algorithm;

/** How a topic's limit is divided among its brokers; every topic may choose. */
public enum Sharing {
    /** Equal parts for ever (SRTM's static split). */
    STATIC,
    /** Neighbours on the ring hand each other supply by the demand that they measure, see {@link SupplyEdge}. */
    GOSSIP,
    /** A {@link TbAdaptor} in the middle calls supply in and hands it out. */
    ADAPTOR,
    /**
     * On the ring too, but the bucket goes where placement has put the publishers, in proportion to their rates. What
     * placement does not know of, or a topic that it has not placed, goes by demand as with {@link #GOSSIP}.
     */
    PLACED;

    public static final Sharing DEFAULT = PLACED;
}
