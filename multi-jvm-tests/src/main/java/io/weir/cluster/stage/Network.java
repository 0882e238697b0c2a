package io.weir.cluster.stage;

import io.weir.cluster.stage.Script.Answer;
import io.weir.cluster.stage.Script.Order;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** A stage's network, as far as it can be broken: the conditions of every direction between two hosts. */
public final class Network {
    /** From one host to another; the way back is a direction of its own. */
    public record Direction(String from, String to) {}

    /**
     * Frames of one direction since the stage was built.
     *
     * @param passed that reached the other host, copies included
     * @param delayed that were made to wait, whatever became of them then
     * @param overflowed that were dropped because too many were under way already
     */
    public record Traffic(
            long passed, long cut, long lost, long duplicated, long reordered, long delayed, long overflowed) {}

    private final List<String> hosts;
    private final Function<Order, Answer> backstage;

    Network(List<String> hosts, Function<Order, Answer> backstage) {
        this.hosts = List.copyOf(hosts);
        this.backstage = backstage;
    }

    /**
     * Replaces the conditions of all directions in one step: no frame sees a part of them. Those that are not named are
     * clear. When this returns, they hold.
     */
    public void apply(Map<Direction, Conditions> all) {
        backstage.apply(Order.conditions(all.entrySet().stream()
                .map(entry -> new Script.Rule(
                        known(entry.getKey().from()), known(entry.getKey().to()), entry.getValue()))
                .toList()));
    }

    /** All directions are clear. */
    public void heal() {
        apply(Map.of());
    }

    /** Cuts a host off from all others, both ways, and clears the rest. */
    public void isolate(String host) {
        apply(around(host, Conditions.CUT));
    }

    /** Both directions between a host and each other one. */
    public Map<Direction, Conditions> around(String host, Conditions conditions) {
        Map<Direction, Conditions> all = new HashMap<>();
        for (String other : hosts) {
            if (!other.equals(known(host))) {
                all.put(new Direction(host, other), conditions);
                all.put(new Direction(other, host), conditions);
            }
        }
        return all;
    }

    /** What went each way so far. */
    public Map<Direction, Traffic> traffic() {
        Map<Direction, Traffic> all = new HashMap<>();
        backstage
                .apply(Order.of(Script.TRAFFIC))
                .counts()
                .forEach(count -> all.put(new Direction(count.from(), count.to()), count.traffic()));
        return all;
    }

    private String known(String host) {
        if (!hosts.contains(host)) {
            throw new IllegalArgumentException("no host is called " + host + ": there are " + hosts);
        }
        return host;
    }
}
