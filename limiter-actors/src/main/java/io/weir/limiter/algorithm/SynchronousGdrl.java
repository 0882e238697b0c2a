package io.weir.limiter.algorithm;

import java.util.Arrays;

/**
 * GDRL's synchronous form (gdrl Fig. 1, eq. 7): in a round every edge decides from the same state, then all moves
 * happen at once. Keeps what each edge moved, so that an accelerated {@link EdgeStep} can go on from it.
 *
 * <p>Supplies are micro-tokens/s and what one end loses the other gains, so their sum stays the same to the last unit.
 * The paper lets a C_i fall below zero (an idle limiter beside a busy one); here a broker that is asked for more than
 * it has gives each of its edges the same part of what was asked.
 */
public final class SynchronousGdrl {
    private final Graph graph;
    private final EdgeStep step;
    private final long[] moves;
    private final long[] asked;
    private final long[] left;
    private boolean moved;

    public SynchronousGdrl(Graph graph, EdgeStep step) {
        this.graph = graph;
        this.step = step;
        this.moves = new long[graph.edges()];
        this.asked = new long[graph.nodes()];
        this.left = new long[graph.nodes()];
    }

    /** The even split C/N with which both papers start; the first brokers take the remainder. */
    public static long[] evenSplit(long rateMicros, int nodes) {
        long[] supplies = new long[nodes];
        for (int i = 0; i < nodes; i++) {
            supplies[i] = rateMicros / nodes + (i < rateMicros % nodes ? 1 : 0);
        }
        return supplies;
    }

    /**
     * One round, in place.
     *
     * @return how much moved, over all edges; 0 when the dead band keeps all of them silent
     */
    public long round(long[] supplies, long[] demands) {
        Arrays.fill(asked, 0);
        for (int e = 0; e < moves.length; e++) {
            int i = graph.first(e);
            int j = graph.second(e);
            moves[e] = moved
                    ? step.toFirst(supplies[i], demands[i], supplies[j], demands[j], moves[e])
                    : step.toFirst(supplies[i], demands[i], supplies[j], demands[j]);
            asked[i] += Math.max(0, -moves[e]);
            asked[j] += Math.max(0, moves[e]);
        }
        boolean overdrawn = false;
        for (int i = 0; i < left.length; i++) {
            left[i] = step.movable(supplies[i]);
            overdrawn |= asked[i] > left[i];
        }
        if (overdrawn) {
            cutToWhatIsHeld(supplies);
        }
        long total = 0;
        for (int e = 0; e < moves.length; e++) {
            supplies[graph.first(e)] += moves[e];
            supplies[graph.second(e)] -= moves[e];
            total += Math.abs(moves[e]);
        }
        moved = true;
        return total;
    }

    private void cutToWhatIsHeld(long[] supplies) {
        for (int e = 0; e < moves.length; e++) {
            int giver = moves[e] > 0 ? graph.second(e) : graph.first(e);
            long movable = step.movable(supplies[giver]);
            if (asked[giver] > movable) {
                // The double only shares out; what is left bounds it exactly.
                long part = (long) (Math.abs(moves[e]) * ((double) movable / asked[giver]));
                long given = Math.min(left[giver], part);
                left[giver] -= given;
                moves[e] = moves[e] > 0 ? given : -given;
            }
        }
    }
}
