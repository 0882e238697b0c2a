package io.weir.supervisor.lab.limiter;

import io.weir.config.value.Limit;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import io.weir.limiter.simulation.LimiterWorld;
import io.weir.limiter.simulation.supply.SharingWorld;

/** The ways to have a topic's bucket that {@link DrlPenalty} compares, in the order of its tables. */
enum PenaltyDesign {
    CENTRAL("one bucket", "single", Sharing.STATIC, false),
    STATIC("static split", "static", Sharing.STATIC, false),
    ADAPTOR("TB adaptor", "adaptor", Sharing.ADAPTOR, false),
    GOSSIP("gossip", "gossip", Sharing.GOSSIP, false),
    STATIC_BORROWING("static + borrowing", "static-borrow", Sharing.STATIC, true),
    ADAPTOR_BORROWING("adaptor + borrowing", "adaptor-borrow", Sharing.ADAPTOR, true),
    /** What a topic is unless its creator says otherwise. */
    GOSSIP_BORROWING("gossip + borrowing", "gossip-borrow", Sharing.GOSSIP, true);

    final String label;
    /** What {@code weir bench penalty} calls it. */
    final String configuration;

    private final Sharing sharing;
    private final boolean borrow;

    /**
     * Poisson arrivals, and when they are measured.
     *
     * @param messagesPerSecond at each broker
     * @param loanNs how long a request for tokens takes, and a reply
     */
    record Load(double[] messagesPerSecond, long loanNs, double fromSeconds, double untilSeconds) {}

    PenaltyDesign(String label, String configuration, Sharing sharing, boolean borrow) {
        this.label = label;
        this.configuration = configuration;
        this.sharing = sharing;
        this.borrow = borrow;
    }

    /** Runs a broker's own classes with a broker's own times. */
    LimiterWorld.Result run(Limit limit, Load load, long seed) {
        int brokers = load.messagesPerSecond.length;
        SharingWorld world = new SharingWorld(Share.even(limit, brokers), sharing, seed);
        if (borrow) {
            world.borrow();
        }
        world.loansTake(load.loanNs);
        for (int broker = 0; broker < brokers; broker++) {
            world.publish(broker, load.messagesPerSecond[broker], Integer.MAX_VALUE);
        }
        world.run(load.fromSeconds);
        world.measure();
        world.run(load.untilSeconds - load.fromSeconds);
        return world.result();
    }
}
