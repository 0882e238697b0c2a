package io.weir.limiter.supply.protocol;

import io.weir.limiter.supply.value.Holder;
import java.util.ArrayList;
import java.util.List;

/**
 * Whom a broker that starves asks beyond its neighbours for one topic's supply: one in the first round, another each
 * time, twice as many after a round in which one of them gave, and half as many after a round in vain. While there is
 * something to be had, a ring of N is asked within about log₂ N rounds. In a cluster at its limit everybody asks one,
 * however large it is.
 */
final class FarAsks {
    private int count = 1;
    private int next;
    private boolean given;

    /** @param start any number, another at each broker, so that not all ask the same one first */
    FarAsks(int start) {
        next = start;
    }

    /** A broker that is no neighbour gave. */
    void given() {
        given = true;
    }

    /**
     * Whom to ask in this round.
     *
     * @param far all that are no neighbours, in an order that stays while they do
     */
    List<Holder> round(List<Holder> far) {
        count = given ? count * 2 : Math.max(1, count / 2);
        count = Math.min(count, far.size());
        given = false;
        List<Holder> asked = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            asked.add(far.get(Math.floorMod(next++, far.size())));
        }
        return asked;
    }
}
