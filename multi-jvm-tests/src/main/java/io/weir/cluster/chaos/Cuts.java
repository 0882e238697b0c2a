package io.weir.cluster.chaos;

import io.weir.cluster.stage.Conditions;
import io.weir.cluster.stage.Network.Direction;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The switch's tables for partitions of a network. */
final class Cuts {
    private static final Conditions CUT = new Conditions(true, 0, 0, 0, 0, 0);

    private Cuts() {}

    /** Nothing passes from one side to the other, either way. */
    static Map<Direction, Conditions> between(List<String> left, List<String> right) {
        return conditions(left, right, CUT);
    }

    static Map<Direction, Conditions> oneWay(List<String> from, List<String> to) {
        return conditionsOneWay(from, to, CUT);
    }

    static Map<Direction, Conditions> conditions(List<String> left, List<String> right, Conditions each) {
        Map<Direction, Conditions> table = conditionsOneWay(left, right, each);
        table.putAll(conditionsOneWay(right, left, each));
        return table;
    }

    static Map<Direction, Conditions> conditionsOneWay(List<String> from, List<String> to, Conditions each) {
        Map<Direction, Conditions> table = new LinkedHashMap<>();
        for (String sender : from) {
            for (String receiver : to) {
                if (!sender.equals(receiver)) {
                    table.put(new Direction(sender, receiver), each);
                }
            }
        }
        return table;
    }

    /** On a circle, everyone sees those who are near: a majority each, itself included. */
    static Map<Direction, Conditions> majoritiesRing(List<String> circle) {
        int reach = (circle.size() / 2 + 1) / 2;
        Map<Direction, Conditions> table = new LinkedHashMap<>();
        for (int i = 0; i < circle.size(); i++) {
            for (int j = 0; j < circle.size(); j++) {
                int apart = Math.min(Math.floorMod(i - j, circle.size()), Math.floorMod(j - i, circle.size()));
                if (apart > reach) {
                    table.put(new Direction(circle.get(i), circle.get(j)), CUT);
                }
            }
        }
        return table;
    }
}
