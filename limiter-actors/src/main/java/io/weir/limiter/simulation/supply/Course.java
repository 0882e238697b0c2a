package io.weir.limiter.simulation.supply;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * What happens in a run and how often: weights of the faults, and the shape of the cluster. Drawn from the seed, or
 * directed at one part of the protocol.
 */
final class Course {
    /** What the nemesis may do next. */
    enum Fault {
        CRASH,
        ACTOR_CRASH,
        PAUSE,
        PARTITION,
        ONE_WAY_CUT,
        STORE_CUT,
        STORE_TROUBLE,
        HEAL,
        LEAVE,
        CONFIRM_STOP,
        LIMIT_CHANGE,
        DEMAND_CHANGE
    }

    int brokers;
    int topics;
    int floorPermille;
    /** b/r in units of W, in tenths. */
    int burstTenthsOfW;

    int rate = 40;
    final int[] weights = new int[Fault.values().length];
    double loss = 0.05;
    double duplicate = 0.1;
    double late = 0.03;
    double unknownWrite = 0.03;
    double lateWrite = 0.02;
    double staleRead = 0.2;
    /** That a process dies before an effect of this kind, and of any kind. */
    String failpoint = "";

    double failpointChance = 0.0;
    double effectCrash = 0.003;
    double gatePause = 0.002;
    double fileLock = 0.7;
    boolean fastClocks;
    boolean borrowing = true;
    long meanFaultGapMs = 350;
    final Set<Flaw> flaws = EnumSet.noneOf(Flaw.class);

    /** Any cluster, any faults. */
    static Course anything(SplittableRandom random) {
        Course course = new Course();
        course.brokers = 3 + random.nextInt(3);
        course.topics = 1 + random.nextInt(3);
        course.floorPermille = random.nextInt(3) * 500;
        course.burstTenthsOfW = new int[] {1, 10, 50}[random.nextInt(3)];
        for (Fault fault : Fault.values()) {
            course.weights[fault.ordinal()] = random.nextInt(4) == 0 ? 0 : 1 + random.nextInt(4);
        }
        course.weights[Fault.HEAL.ordinal()] += 4;
        course.fastClocks = random.nextInt(4) == 0;
        course.meanFaultGapMs = 150 + random.nextInt(600);
        if (random.nextInt(3) == 0) {
            course.unknownWrite = 0.15;
            course.lateWrite = 0.1;
        }
        return course;
    }

    /** Only these faults, evenly. */
    Course only(Fault... faults) {
        Arrays.fill(weights, 0);
        for (Fault fault : faults) {
            weights[fault.ordinal()] = 3;
        }
        return this;
    }

    Course flawed(Flaw flaw) {
        flaws.add(flaw);
        return this;
    }

    boolean has(Flaw flaw) {
        return flaws.contains(flaw);
    }
}
