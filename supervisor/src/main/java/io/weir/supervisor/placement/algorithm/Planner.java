package io.weir.supervisor.placement.algorithm;

import io.weir.supervisor.placement.algorithm.Reason.Rule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Places publishers by what is known of rates and rooms, without measuring: steps 1 and 2 of SRTM 4.2. Never gives a
 * broker more than its room; who does not fit is left out and said to be.
 */
public final class Planner {
    private final Policy policy;
    private final RandomGenerator random;

    public Planner(Policy policy, RandomGenerator random) {
        this.policy = policy;
        this.random = random;
    }

    /** A topic's plan: nothing is applied by it. */
    public record Plan(Assignment assignment, Quotas quotas, List<Reason> reasons) {}

    /** For one topic, on the brokers as they are loaded now. */
    public Plan plan(TopicMembers members, BrokerCapacities brokers) {
        List<Reason> why = new ArrayList<>();
        int[] homes = new int[members.size()];
        Arrays.fill(homes, Assignment.UNPLACED);
        Quotas quotas = place(members, homes, brokers.rcaps(), brokers.loads(), 0, 0, why);
        Assignment assignment = new Assignment(members, homes, brokers.size(), 1);
        if (assignment.unplaced() > 0) {
            why.add(new Reason(0, Rule.UNPLACED, Reason.NO_BROKER, assignment.unplaced(), members.size()));
        }
        return new Plan(assignment, quotas, why);
    }

    /**
     * For every topic, those with the highest rates first, since they are the hardest to fit; allocates what it places.
     */
    public ClusterPlan planAll(PublisherTable table, BrokerCapacities brokers) {
        PublisherTable.ByTopic topics = table.byTopic();
        long[] order = new long[topics.topics()];
        for (int t = 0; t < order.length; t++) {
            order[t] = (long) Integer.MAX_VALUE - Float.floatToIntBits((float) topics.rate(t)) << 32 | t;
        }
        Arrays.sort(order);
        ClusterPlan all = new ClusterPlan(table.indexes(), order.length);
        for (long key : order) {
            int t = (int) key;
            TopicMembers members = topics.members(t);
            Plan plan = plan(members, brokers);
            for (int broker = 0; broker < brokers.size(); broker++) {
                brokers.allocate(broker, plan.assignment().rate(broker));
            }
            all.add(t, plan);
        }
        return all;
    }

    /**
     * Places the members whose home is {@link Assignment#UNPLACED}.
     *
     * @param room what each broker may still get of them
     * @param load what each carries already
     * @param leastK how many brokers to use at least
     */
    Quotas place(
            TopicMembers members, int[] homes, double[] room, double[] load, int leastK, int round, List<Reason> why) {
        int[] pool = pool(members, homes, room, round, why);
        if (pool.length == 0) {
            if (members.size() == 0) {
                why.add(new Reason(round, Rule.NO_PUBLISHERS, Reason.NO_BROKER, 0, 0));
            }
            return new Quotas(0, new double[room.length]);
        }
        double rate = 0;
        for (int member : pool) {
            rate += members.rate(member);
        }
        Quotas quotas = Quotas.of(policy, rate, room, load, leastK, round, why);
        double[] parts = Arrays.copyOf(quotas.perBroker(), room.length + 1);
        double placed = Arrays.stream(quotas.perBroker()).sum();
        if (rate == 0) {
            // Publishers that have not sent yet weigh nothing: the roomiest broker has them until they do.
            parts[firstWithRoom(room)] = 1;
        } else {
            for (int broker = 0; broker < room.length; broker++) {
                parts[broker] /= Math.max(rate, placed);
            }
            parts[room.length] = Math.max(0, 1 - placed / rate);
        }
        int[] targets = ProportionalDraw.divide(members, pool, parts, policy.mindsGroups(), random);
        double[] given = new double[room.length];
        for (int i = 0; i < pool.length; i++) {
            homes[pool[i]] = targets[i] == room.length ? Assignment.UNPLACED : targets[i];
            if (targets[i] < room.length) {
                given[targets[i]] += members.rate(pool[i]);
            }
        }
        why.add(new Reason(
                round,
                policy.mindsGroups() ? Rule.GROUPS_IN_PROPORTION : Rule.GROUPS_IGNORED,
                Reason.NO_BROKER,
                pool.length,
                members.groups()));
        repair(members, homes, pool, given, room, round, why);
        return quotas;
    }

    /** Those without a home that some broker can hold at all. */
    private static int[] pool(TopicMembers members, int[] homes, double[] room, int round, List<Reason> why) {
        double most = Arrays.stream(room).max().orElse(0);
        double tooLarge = 0;
        int[] pool = new int[members.size()];
        int count = 0;
        for (int m = 0; m < members.size(); m++) {
            if (homes[m] == Assignment.UNPLACED) {
                if (members.rate(m) <= most && most > 0) {
                    pool[count++] = m;
                } else {
                    tooLarge = Math.max(tooLarge, members.rate(m));
                }
            }
        }
        if (tooLarge > 0 && most > 0) {
            why.add(new Reason(round, Rule.LARGER_THAN_ANY, Reason.NO_BROKER, tooLarge, most));
        } else if (most == 0 && members.size() > 0) {
            why.add(new Reason(round, Rule.NO_ROOM, Reason.NO_BROKER, 0, members.rate()));
        }
        return Arrays.copyOf(pool, count);
    }

    /**
     * Publishers are whole and quotas are not: takes from a broker what exceeds its room, to whoever has room for it,
     * or to nobody.
     */
    private void repair(
            TopicMembers members, int[] homes, int[] pool, double[] given, double[] room, int round, List<Reason> why) {
        boolean over = false;
        for (int broker = 0; broker < room.length; broker++) {
            over |= given[broker] > room[broker];
        }
        boolean leftOut = false;
        for (int member : pool) {
            leftOut |= homes[member] == Assignment.UNPLACED;
        }
        if (!over && !leftOut) {
            return;
        }
        ProportionalDraw.sortByRate(members, pool, 0, pool.length);
        int[] moved = new int[room.length];
        for (int member : pool) {
            int from = homes[member];
            if (from != Assignment.UNPLACED && given[from] > room[from]) {
                homes[member] = Assignment.UNPLACED;
                given[from] -= members.rate(member);
                moved[from]++;
            }
        }
        for (int i = pool.length - 1; i >= 0; i--) {
            if (homes[pool[i]] == Assignment.UNPLACED) {
                int to = roomiest(members.rate(pool[i]), given, room);
                if (to >= 0) {
                    homes[pool[i]] = to;
                    given[to] += members.rate(pool[i]);
                }
            }
        }
        for (int broker = 0; broker < room.length; broker++) {
            if (moved[broker] > 0) {
                why.add(new Reason(round, Rule.REPAIRED, broker, moved[broker], room[broker]));
            }
        }
    }

    /** A broker in use if one has room, else another; the one with most of it. −1 if none has. */
    private static int roomiest(double rate, double[] given, double[] room) {
        int best = -1;
        for (int broker = 0; broker < room.length; broker++) {
            boolean fits = given[broker] + rate <= room[broker] && room[broker] > 0;
            if (fits && (best < 0 || better(broker, best, given, room))) {
                best = broker;
            }
        }
        return best;
    }

    private static boolean better(int broker, int than, double[] given, double[] room) {
        boolean used = given[broker] > 0;
        boolean thanUsed = given[than] > 0;
        return used != thanUsed ? used : room[broker] - given[broker] > room[than] - given[than];
    }

    private static int firstWithRoom(double[] room) {
        int best = 0;
        for (int broker = 1; broker < room.length; broker++) {
            best = room[broker] > room[best] ? broker : best;
        }
        return best;
    }
}
