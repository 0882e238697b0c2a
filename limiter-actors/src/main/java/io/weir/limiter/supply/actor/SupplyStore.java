package io.weir.limiter.supply.actor;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.protocol.Retention;
import io.weir.limiter.supply.value.Account;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The store's rows that the supply protocol needs besides the journals. Every change is one conditional update that the
 * store decides and commits in one step; the conditions are those of {@link LeaseRow} and {@link LimitRow}. A call
 * blocks at most for the time-out that the implementation was given, and then throws, which means that its outcome is
 * unknown.
 */
public interface SupplyStore {
    /** Changed rows of limits, the oldest first, and the number of the last change among them. */
    record LimitChanges(long upTo, List<LimitRow> rows) {}

    /** A new holder's row, LIVE; for a holder that has a row, that row. */
    LeaseRow register(Holder holder);

    /** {@link LeaseRow#renew}: false if the row is no longer LIVE. */
    boolean renew(Holder holder);

    /** {@link LeaseRow#fence}. */
    boolean fence(Holder victim, long observedRenewSeq);

    /** {@link LeaseRow#stop}: only by the holder after closing its gate, by its file lock, or by an operator. */
    void stop(Holder holder);

    /** {@link LeaseRow#claim}. */
    boolean claim(Holder victim, Account account, Optional<Holder> expectedHeir, Holder heir);

    /** {@link LeaseRow#done}. */
    void inherited(Holder victim, Account account);

    /** All rows except those of closed holders, which have stopped and were inherited from completely. */
    List<LeaseRow> rows();

    Optional<LeaseRow> row(Holder holder);

    /** At most so many rows are read by one call, so that it ends in time however many topics there are. */
    int MOST_AT_ONCE = 5_000;

    /**
     * Versions inserted or changed after {@code after}: the {@code upTo} of an earlier answer, or 0 for all;
     * {@value #MOST_AT_ONCE} at the most.
     */
    LimitChanges limitsAfter(long after);

    /** The same, call by call until there are no further ones. */
    default LimitChanges allLimitsAfter(long after) {
        LimitChanges page = limitsAfter(after);
        if (page.rows.size() < MOST_AT_ONCE) {
            return page;
        }
        List<LimitRow> rows = new ArrayList<>(page.rows);
        while (page.rows.size() == MOST_AT_ONCE) {
            page = limitsAfter(page.upTo);
            rows.addAll(page.rows);
        }
        return new LimitChanges(page.upTo, rows);
    }

    /** All versions of one topic, the oldest first. */
    List<LimitRow> limits(TopicName topic);

    /**
     * Adds the first version of a topic that has none, whatever its number, or version v + 1 if v is done
     * ({@link LimitRow#next}); false if neither applies. True also if the version exists with the same limit, floor,
     * sharing and indicator, whoever mints it, so that an insert of unknown outcome may be repeated. And true without a
     * new row if a topic without rows is to be deleted: its rows were removed already.
     */
    boolean insert(LimitRow row);

    /** {@link LimitRow#claim}. */
    boolean claimMint(TopicName topic, long version, Optional<Holder> expectedMinter, Holder minter);

    /** {@link LimitRow#finished}. */
    default void finished(TopicName topic, long version) {
        finished(Map.of(topic, version));
    }

    /** The same for a version of each of these topics, in one step. */
    void finished(Map<TopicName, Long> versions);

    /** At most so many closed holders, which {@link #rows} leaves out. */
    List<Holder> closed(int most);

    /**
     * Removes a closed holder's row, journal and snapshots, after {@link Retention} has said that they may go. Removes
     * nothing and answers false if its row is not closed, or if a row names it as the heir of an account that is not
     * yet inherited or as the minter of a version that is not done.
     */
    boolean forget(Holder closed);

    /** Removes the versions of a limit below {@code below}; false if that one is not done, or none follows it. */
    boolean forgetVersions(TopicName topic, long below);

    /** Removes all versions of a limit; false unless {@code version} is the last one, done, and allows nothing. */
    boolean forgetName(TopicName topic, long version);
}
