package io.weir.supervisor.placement;

/**
 * What the placement does, for metrics: where the singleton runs it writes, and everybody reads. All zero elsewhere.
 */
public final class PlacementCounters {
    private volatile Snapshot last = new Snapshot(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

    /**
     * At one moment.
     *
     * @param keptBest topics for which there are not enough brokers
     * @param unplacedRate of publishers that no broker has room for, in messages a second
     * @param moves publishers that were given another home, so far
     * @param lostRaces decisions that another singleton had made before, so far
     * @param overrated brokers that carry much less than they were believed to
     */
    public record Snapshot(
            int topics,
            int publishers,
            int brokers,
            int running,
            int keptBest,
            double unplacedRate,
            long moves,
            long lostRaces,
            long absurdReports,
            int overrated) {}

    void update(Distributor distributor) {
        int running = 0;
        int keptBest = 0;
        double unplacedRate = 0;
        int topics = 0;
        for (TopicPlacement topic : distributor.topics().all()) {
            topics++;
            running += topic.run == null ? 0 : 1;
            if (topic.stored != null) {
                keptBest += topic.stored.state() == Decision.State.KEPT_BEST ? 1 : 0;
                unplacedRate += topic.stored.unplacedRate();
            }
        }
        last = new Snapshot(
                topics,
                distributor.publishers().count(),
                distributor.publishers().brokers().size(),
                running,
                keptBest,
                unplacedRate,
                distributor.moves(),
                distributor.lostRaces(),
                distributor.absurdReports(),
                distributor.capacities().overrated());
    }

    public Snapshot last() {
        return last;
    }
}
