package io.weir.topics.definition;

import io.weir.config.value.TopicName;
import io.weir.limiter.supply.actor.SupplyStore;
import io.weir.limiter.supply.value.Holder;
import io.weir.limiter.supply.value.LeaseRow;
import io.weir.limiter.supply.value.LimitRow;
import java.util.List;
import java.util.Map;

/**
 * An attempt to insert versions of limits into the store.
 *
 * @param inserted the versions that are in the store now, by the limit's key
 * @param notInserted why the others are not
 */
record LimitInserts(Map<TopicName, Long> inserted, Map<TopicName, String> notInserted) {
    /** Asks the store, so it blocks. */
    static String whyNot(SupplyStore store, LimitRow row) {
        String before = store.limits(row.topic()).stream()
                .filter(other -> other.version() == row.version() - 1)
                .map(other -> "version " + other.version() + " is not done, which "
                        + other.minter().map(Holder::toString).orElse("nobody yet") + " makes true")
                .findFirst()
                .orElse("the version before it is not in the store");
        List<Holder> silent = store.rows().stream()
                .filter(lease -> lease.state() == LeaseRow.State.FENCED)
                .map(LeaseRow::holder)
                .toList();
        return silent.isEmpty()
                ? before
                : before + "; what " + silent + " kept comes back when it is confirmed that they stopped";
    }
}
