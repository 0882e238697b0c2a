package io.weir.limiter.algorithm;

import io.weir.config.value.BrokerId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/**
 * The brokers in the order of their ids, as a ring: everyone who knows the same members sees the same ring. Supply
 * moves between neighbours, and a broker's successor is its best buddy (gdrl IV, Ramsden 3.2), who inherits from it.
 */
public final class Ring {
    /** With the neighbours that makes six lenders. */
    private static final int[] LENDING_CHORDS = {2, 4};

    private final List<BrokerId> members;
    private final int[] chords;
    private final Graph graph;

    private Ring(List<BrokerId> members, int[] chords) {
        this.members = members;
        this.chords = chords;
        this.graph = Graph.ring(members.size(), chords);
    }

    /**
     * @param members in any order; at least one
     * @param chords distances at which brokers are neighbours besides those next to each other
     */
    public static Ring of(Collection<BrokerId> members, int... chords) {
        if (members.isEmpty()) {
            throw new IllegalArgumentException("a ring needs at least one member");
        }
        return new Ring(List.copyOf(new TreeSet<>(members)), chords.clone());
    }

    public List<BrokerId> members() {
        return members;
    }

    public boolean contains(BrokerId broker) {
        return position(broker) >= 0;
    }

    public Ring with(BrokerId joined) {
        List<BrokerId> all = new ArrayList<>(members);
        all.add(joined);
        return of(all, chords);
    }

    /** Without a broker that left; the last one cannot. */
    public Ring without(BrokerId left) {
        List<BrokerId> rest = new ArrayList<>(members);
        rest.remove(left);
        return of(rest, chords);
    }

    /** The next in order; a single broker succeeds itself. */
    BrokerId successor(BrokerId broker) {
        return members.get((required(broker) + 1) % members.size());
    }

    public BrokerId predecessor(BrokerId broker) {
        return members.get((required(broker) + members.size() - 1) % members.size());
    }

    /** Whom it exchanges supply with: none for a single broker, one of two. */
    public List<BrokerId> neighbours(BrokerId broker) {
        return Arrays.stream(graph.neighbours(required(broker)))
                .mapToObj(members::get)
                .toList();
    }

    /**
     * Whom it borrows tokens from, and lends them to: all others as long as they are {@code most} at the most. On a
     * larger ring those at distances 1, 2 and 4, either way, so that tokens still get everywhere in a few steps.
     */
    public List<BrokerId> lenders(BrokerId broker, int most) {
        if (members.size() - 1 > most) {
            return of(members, LENDING_CHORDS).neighbours(broker);
        }
        List<BrokerId> others = new ArrayList<>(members);
        others.remove(required(broker));
        return others;
    }

    /** Who inherits from it; nobody from a single broker. */
    public Optional<BrokerId> buddy(BrokerId broker) {
        return members.size() == 1 ? Optional.empty() : Optional.of(successor(broker));
    }

    /** Everybody else, in the order in which they try to inherit from it: the best buddy first, then its buddy. */
    public List<BrokerId> heirs(BrokerId broker) {
        int position = required(broker);
        List<BrokerId> heirs = new ArrayList<>(members.subList(position + 1, members.size()));
        heirs.addAll(members.subList(0, position));
        return heirs;
    }

    /** The most neighbours that any broker has, at least 1: the d of the gain's bound. */
    public int degree() {
        return Math.max(1, graph.maxDegree());
    }

    private int position(BrokerId broker) {
        int low = 0;
        int high = members.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int order = members.get(middle).compareTo(broker);
            if (order == 0) {
                return middle;
            }
            if (order < 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return -1;
    }

    private int required(BrokerId broker) {
        int position = position(broker);
        if (position < 0) {
            throw new IllegalArgumentException("broker " + broker + " is not on the ring " + members);
        }
        return position;
    }

    @Override
    public String toString() {
        return "Ring" + members;
    }
}
