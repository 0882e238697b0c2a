package io.weir.supervisor.placement.algorithm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Publishers whose groups are known: those of a group send at common Poisson instants, and everybody else at instants
 * of its own. A {@link GroupFinder} hears of them as brokers would tell it.
 */
final class PlantedBursts {
    static final int SLOTS_A_SECOND = 100;
    private static final long FIRST_SLOT = 170_000_000_000L;

    /**
     * What is not perfect.
     *
     * @param takesPart how likely a member sends at an instant of its group
     * @param own bursts of a member at instants of its own, as a part of its group's rate
     * @param jitterMs a member sends up to so much later than its group's instant
     * @param skewSlots by how much the clocks of every second broker's publishers are ahead
     */
    record Noise(double takesPart, double own, double jitterMs, double skewSlots) {
        static final Noise NONE = new Noise(1, 0, 0, 0);
    }

    private final SplittableRandom random;
    private final Noise noise;
    private final List<Integer> plantedGroup = new ArrayList<>();
    private final List<Double> ownRate = new ArrayList<>();
    private final List<int[]> groups = new ArrayList<>();
    private final List<Double> groupRate = new ArrayList<>();
    private double seconds;

    PlantedBursts(long seed, Noise noise) {
        this.random = new SplittableRandom(seed);
        this.noise = noise;
    }

    PlantedBursts groups(int count, int fewest, int most, double slowest, double fastest) {
        for (int group = 0; group < count; group++) {
            double rate = slowest * Math.pow(fastest / slowest, random.nextDouble());
            int[] members = new int[random.nextInt(fewest, most + 1)];
            for (int i = 0; i < members.length; i++) {
                members[i] = plantedGroup.size();
                plantedGroup.add(groups.size());
                ownRate.add(noise.own() * rate);
            }
            groups.add(members);
            groupRate.add(rate);
        }
        return this;
    }

    PlantedBursts independent(int count, double slowest, double fastest) {
        for (int i = 0; i < count; i++) {
            plantedGroup.add(GroupFinder.NONE);
            ownRate.add(slowest * Math.pow(fastest / slowest, random.nextDouble()));
        }
        return this;
    }

    /** From now on the groups' members send at instants of their own, as often as before. */
    void disperse() {
        for (int group = 0; group < groups.size(); group++) {
            for (int member : groups.get(group)) {
                ownRate.set(member, groupRate.get(group));
                plantedGroup.set(member, GroupFinder.NONE);
            }
        }
        groups.clear();
        groupRate.clear();
    }

    int size() {
        return plantedGroup.size();
    }

    int planted() {
        return groups.stream().mapToInt(members -> members.length).sum();
    }

    long[] idsOf(int group) {
        return Arrays.stream(groups.get(group)).mapToLong(PlantedBursts::id).toArray();
    }

    private static long id(int publisher) {
        return publisher + 1L;
    }

    /** So much time passes, with a round at the end of every ten seconds. */
    void pass(int tens, GroupFinder finder) {
        for (int i = 0; i < tens; i++) {
            List<List<Double>> bursts = new ArrayList<>();
            for (int publisher = 0; publisher < size(); publisher++) {
                bursts.add(new ArrayList<>());
                addInstants(ownRate.get(publisher), bursts.get(publisher));
            }
            for (int group = 0; group < groups.size(); group++) {
                List<Double> instants = new ArrayList<>();
                addInstants(groupRate.get(group), instants);
                for (int member : groups.get(group)) {
                    for (double at : instants) {
                        if (random.nextDouble() < noise.takesPart()) {
                            bursts.get(member).add(at + random.nextDouble() * noise.jitterMs() / 1e3);
                        }
                    }
                }
            }
            for (int publisher = 0; publisher < size(); publisher++) {
                double skew = publisher % 2 == 0 ? 0 : noise.skewSlots();
                bursts.get(publisher).sort(null);
                for (double at : bursts.get(publisher)) {
                    finder.heard(id(publisher), FIRST_SLOT + (long) Math.floor(at * SLOTS_A_SECOND + skew), 1);
                }
            }
            seconds += 10;
            finder.round(FIRST_SLOT + (long) (seconds * SLOTS_A_SECOND));
        }
    }

    private void addInstants(double rate, List<Double> into) {
        if (rate > 0) {
            for (double at = random.nextExponential() / rate; at < 10; at += random.nextExponential() / rate) {
                into.add(seconds + at);
            }
        }
    }

    /**
     * How well groups were found.
     *
     * @param precision of those in a found group, the part that belongs to the planted group that most of it belong to
     * @param recall of those in a planted group, the part that is in the found group that has most of it
     */
    record Score(double precision, double recall, int found, int groups) {}

    Score score(GroupFinder finder) {
        Map<Integer, Map<Integer, Integer>> overlaps = new HashMap<>();
        int found = 0;
        for (int publisher = 0; publisher < size(); publisher++) {
            int group = finder.groupOf(id(publisher));
            if (group != GroupFinder.NONE) {
                found++;
                overlaps.computeIfAbsent(group, fresh -> new HashMap<>())
                        .merge(plantedGroup.get(publisher), 1, Integer::sum);
            }
        }
        int right = 0;
        Map<Integer, Integer> best = new HashMap<>();
        for (Map<Integer, Integer> overlap : overlaps.values()) {
            int most = overlap.entrySet().stream()
                    .filter(entry -> entry.getKey() != GroupFinder.NONE)
                    .mapToInt(Map.Entry::getValue)
                    .max()
                    .orElse(0);
            right += most;
            overlap.forEach((planted, count) -> {
                if (planted != GroupFinder.NONE) {
                    best.merge(planted, count, Math::max);
                }
            });
        }
        int covered = best.values().stream().mapToInt(Integer::intValue).sum();
        return new Score(
                found == 0 ? 1 : (double) right / found,
                planted() == 0 ? 1 : (double) covered / planted(),
                found,
                finder.groups());
    }
}
