package io.weir.limiter.supply.value;

import io.weir.config.value.TopicName;
import io.weir.limiter.algorithm.Indicator;
import io.weir.limiter.algorithm.Share;
import io.weir.limiter.algorithm.Sharing;
import java.util.Optional;

/**
 * One version of a topic's limit in the store. A deleted topic's last version allows nothing. A row changes by
 * condition only, and is removed when the protocol's {@code Retention} says so. Version v + 1 may be inserted when v is
 * done: 100 → 50 not yet burned → 150 would otherwise leave 200.
 *
 * @param limit (r, b), or {@link Share#NONE} for a deleted topic
 * @param floorPermille φ in thousandths
 * @param sharing how the brokers divide it
 * @param indicator what they compare to see who is worse off, where they divide it on the ring
 * @param minter who alone may mint it
 * @param done whether exactly {@code limit} exists
 * @param first whether the store had no version before it when it was read: only then it begins with a full bucket. As
 *     long as a version is not done, the one before it is never removed, so until then this says what it said on
 *     insertion
 */
public record LimitRow(
        TopicName topic,
        long version,
        Share limit,
        int floorPermille,
        Sharing sharing,
        Indicator indicator,
        Optional<Holder> minter,
        boolean done,
        boolean first) {

    /** By the usual indicator. */
    public LimitRow(
            TopicName topic,
            long version,
            Share limit,
            int floorPermille,
            Sharing sharing,
            Optional<Holder> minter,
            boolean done,
            boolean first) {
        this(topic, version, limit, floorPermille, sharing, Indicator.DEFAULT, minter, done, first);
    }

    /** The same for a version of a name whose first version has the number 1. */
    public LimitRow(
            TopicName topic,
            long version,
            Share limit,
            int floorPermille,
            Sharing sharing,
            Optional<Holder> minter,
            boolean done) {
        this(topic, version, limit, floorPermille, sharing, minter, done, version == 1);
    }

    /** The same by another indicator. */
    public LimitRow by(Indicator other) {
        return new LimitRow(topic, version, limit, floorPermille, sharing, other, minter, done, first);
    }

    /** The same of a name that the store had no version of. */
    public LimitRow asFirst() {
        return new LimitRow(topic, version, limit, floorPermille, sharing, indicator, minter, done, true);
    }

    /** The version after this one, by the same indicator. */
    public Optional<LimitRow> next(Share newLimit, int newFloorPermille, Sharing newSharing) {
        return done
                ? Optional.of(new LimitRow(
                        topic,
                        version + 1,
                        newLimit,
                        newFloorPermille,
                        newSharing,
                        indicator,
                        Optional.empty(),
                        false,
                        false))
                : Optional.empty();
    }

    /**
     * A first claim expects nobody. A later one expects a minter whose journal is closed without the version in it: an
     * open journal could still receive it.
     */
    public Optional<LimitRow> claim(Optional<Holder> expected, Holder claimant) {
        return !done && minter.equals(expected)
                ? Optional.of(new LimitRow(
                        topic, version, limit, floorPermille, sharing, indicator, Optional.of(claimant), false, first))
                : Optional.empty();
    }

    public LimitRow finished() {
        return new LimitRow(topic, version, limit, floorPermille, sharing, indicator, minter, true, first);
    }
}
