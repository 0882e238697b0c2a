package io.weir.limiter.algorithm;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;

/** Who exchanges supply with whom: gdrl's connected undirected graph G over the nodes 0 … N−1. */
public final class Graph {
    private final int nodes;
    private final int[] first;
    private final int[] second;
    private final int[][] neighbours;

    private Graph(int nodes, Set<Long> edges) {
        this.nodes = nodes;
        this.first = new int[edges.size()];
        this.second = new int[edges.size()];
        List<List<Integer>> lists = new ArrayList<>();
        for (int i = 0; i < nodes; i++) {
            lists.add(new ArrayList<>());
        }
        int e = 0;
        for (long edge : edges) {
            first[e] = (int) (edge / nodes);
            second[e] = (int) (edge % nodes);
            lists.get(first[e]).add(second[e]);
            lists.get(second[e]).add(first[e]);
            e++;
        }
        this.neighbours = lists.stream()
                .map(list -> list.stream().mapToInt(Integer::intValue).sorted().toArray())
                .toArray(int[][]::new);
    }

    /**
     * A ring in index order, with chords: every node is also joined to those at each of these distances. Two nodes have
     * one edge, a single node has none.
     */
    public static Graph ring(int nodes, int... chords) {
        if (nodes < 1) {
            throw new IllegalArgumentException("a ring of " + nodes + " nodes");
        }
        Set<Long> edges = new LinkedHashSet<>();
        for (int i = 0; i < nodes; i++) {
            join(edges, nodes, i, (i + 1) % nodes);
        }
        for (int chord : chords) {
            for (int i = 0; i < nodes; i++) {
                join(edges, nodes, i, Math.floorMod(i + chord, nodes));
            }
        }
        return new Graph(nodes, edges);
    }

    /** Distances that are powers of two: with them a ring of N balances in O(log N) rounds, at 2·log₂N neighbours. */
    public static int[] binaryChords(int nodes) {
        int count = 0;
        while ((2L << count) < nodes / 2 + 1) {
            count++;
        }
        int[] chords = new int[count];
        for (int i = 0; i < count; i++) {
            chords[i] = 2 << i;
        }
        return chords;
    }

    /**
     * A random connected graph in which every node has {@code degree} neighbours: half-edges are joined at random,
     * without loops and double edges (Steger and Wormald, 1999), again from the start when no pair is left or parts are
     * not connected. For degree 2 that is a ring in random order, which is made at once.
     */
    public static Graph randomRegular(int nodes, int degree, RandomGenerator random) {
        if (degree < 2 || degree >= nodes || (long) nodes * degree % 2 != 0) {
            throw new IllegalArgumentException("no connected graph of " + nodes + " nodes has degree " + degree
                    + ": it must be from 2 to nodes − 1, and nodes · degree even");
        }
        if (degree == 2) {
            int[] order = new int[nodes];
            for (int i = 0; i < nodes; i++) {
                order[i] = i;
            }
            shuffle(order, nodes, random);
            Set<Long> edges = new LinkedHashSet<>();
            for (int i = 0; i < nodes; i++) {
                join(edges, nodes, order[i], order[(i + 1) % nodes]);
            }
            return new Graph(nodes, edges);
        }
        while (true) {
            Set<Long> edges = pairHalfEdges(nodes, degree, random);
            if (edges != null) {
                Graph graph = new Graph(nodes, edges);
                if (graph.connected()) {
                    return graph;
                }
            }
        }
    }

    private static Set<Long> pairHalfEdges(int nodes, int degree, RandomGenerator random) {
        int[] open = new int[nodes * degree];
        for (int i = 0; i < open.length; i++) {
            open[i] = i / degree;
        }
        int left = open.length;
        Set<Long> edges = new LinkedHashSet<>();
        int misses = 0;
        while (left > 0 && misses < 100 + left) {
            int a = random.nextInt(left);
            int b = random.nextInt(left);
            if (open[a] != open[b] && join(edges, nodes, open[a], open[b])) {
                int high = Math.max(a, b);
                int low = Math.min(a, b);
                open[high] = open[--left];
                open[low] = open[--left];
                misses = 0;
            } else {
                misses++;
            }
        }
        return left == 0 ? edges : null;
    }

    private static void shuffle(int[] order, int length, RandomGenerator random) {
        for (int i = length - 1; i > 0; i--) {
            int j = random.nextInt(i + 1);
            int swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
    }

    private static boolean join(Set<Long> edges, int nodes, int a, int b) {
        return a != b && edges.add((long) Math.min(a, b) * nodes + Math.max(a, b));
    }

    /**
     * The second largest eigenvalue, by size, of one synchronous round on a ring with even demand, in which an edge
     * moves {@code partOfEqualising} of what would make its ends equal: 1 − p·Σ(1 − cos 2πks/N) over the distances s.
     */
    static double ringEigenvalue(int nodes, double partOfEqualising, int... chords) {
        Set<Integer> distances = new LinkedHashSet<>();
        distances.add(1);
        for (int chord : chords) {
            int distance = Math.floorMod(chord, nodes);
            distances.add(Math.min(distance, nodes - distance));
        }
        double largest = 0;
        for (int k = 1; k <= nodes / 2; k++) {
            double eigenvalue = 1;
            for (int distance : distances) {
                double edgesOfDistance = 2 * distance == nodes ? 0.5 : 1; // opposite nodes share one edge
                eigenvalue -= partOfEqualising
                        * edgesOfDistance
                        * (1 - Math.cos(2 * Math.PI * ((long) k * distance % nodes) / nodes));
            }
            largest = Math.max(largest, Math.abs(eigenvalue));
        }
        return largest;
    }

    public int nodes() {
        return nodes;
    }

    public int edges() {
        return first.length;
    }

    /** One end of an edge; which of the two is no property of the edge. */
    public int first(int edge) {
        return first[edge];
    }

    /** The other end. */
    public int second(int edge) {
        return second[edge];
    }

    public int maxDegree() {
        int most = 0;
        for (int[] of : neighbours) {
            most = Math.max(most, of.length);
        }
        return most;
    }

    /** In index order; a copy. */
    public int[] neighbours(int node) {
        return neighbours[node].clone();
    }

    boolean connected() {
        boolean[] seen = new boolean[nodes];
        int[] stack = new int[nodes];
        int depth = 1;
        int reached = 1;
        seen[0] = true;
        while (depth > 0) {
            for (int next : neighbours[stack[--depth]]) {
                if (!seen[next]) {
                    seen[next] = true;
                    stack[depth++] = next;
                    reached++;
                }
            }
        }
        return reached == nodes;
    }
}
