package io.weir.limiter.simulation.supply;

import io.weir.limiter.supply.protocol.KnownLimits;
import io.weir.limiter.supply.protocol.LeaseWatch;
import io.weir.limiter.supply.protocol.Retention;
import io.weir.limiter.supply.protocol.StoreView;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * What happens in a run and how often: weights of the faults, and the shape of the cluster. Drawn from the seed, or
 * directed at one part of the protocol.
 */
final class Scenario {
    /** What the nemesis may do next. */
    enum Fault {
        CRASH,
        ACTOR_CRASH,
        PAUSE,
        PARTITION,
        ONE_WAY_CUT,
        STORE_CUT,
        STORE_OUTAGE,
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
    /** That a request of a broker that is cut off from the store gets there all the same, long after. */
    double lateWhenCut = 0.25;

    /** How long what is of no use is kept: longer than a late write takes, where there are any. */
    long retentionNs = 4 * SupplyWorld.PATIENCE_NS;

    double lateFence = 0.05;
    double staleRead = 0.2;
    /** That a process dies before an effect of this kind, and of any kind. */
    String failpoint = "";

    double failpointChance = 0.0;
    double effectCrash = 0.003;
    double gatePause = 0.002;
    double fileLock = 0.7;
    /** That somebody saw a process die and confirms it at once. */
    double crashSeen = 0.3;

    boolean fastClocks;
    boolean borrowing = true;
    /** Demand comes and goes everywhere at once, so that full buckets meet a burst. */
    boolean bursty;

    long slowestMessageMs = 10;
    long longestDownMs = 3_000;
    long longestOutageMs = 3_000;
    long meanFaultGapMs = 350;
    /** The one broker that has demand at the end; none if everybody has. */
    int lastDemandAt = -1;

    /** The only invariant that is looked at; all if empty. */
    String watched = "";

    final Set<Flaw> flaws = EnumSet.noneOf(Flaw.class);

    /** Any cluster, any faults. */
    static Scenario anything(SplittableRandom random) {
        Scenario scenario = new Scenario();
        scenario.brokers = 3 + random.nextInt(3);
        scenario.topics = 1 + random.nextInt(3);
        scenario.floorPermille = random.nextInt(3) * 500;
        scenario.burstTenthsOfW = new int[] {1, 10, 50}[random.nextInt(3)];
        for (Fault fault : Fault.values()) {
            scenario.weights[fault.ordinal()] = random.nextInt(4) == 0 ? 0 : 1 + random.nextInt(4);
        }
        scenario.weights[Fault.HEAL.ordinal()] += 4;
        scenario.fastClocks = random.nextInt(4) == 0;
        scenario.bursty = random.nextInt(3) == 0;
        scenario.slowestMessageMs = random.nextInt(3) == 0 ? 90 : 10;
        scenario.longestDownMs = random.nextInt(3) == 0 ? 200 : 3_000;
        scenario.meanFaultGapMs = 150 + random.nextInt(600);
        if (random.nextInt(3) == 0) {
            scenario.unknownWrite = 0.15;
            scenario.lateWrite = 0.1;
        }
        if (random.nextBoolean()) {
            scenario.lastDemandAt = random.nextInt(scenario.brokers);
        }
        return scenario;
    }

    /** Only these faults, evenly. */
    Scenario only(Fault... faults) {
        Arrays.fill(weights, 0);
        for (Fault fault : faults) {
            weights[fault.ordinal()] = 3;
        }
        return this;
    }

    /** Where this flaw shows soonest: the faults, failpoints and shape that it needs, and no others. */
    Scenario directedAt(Flaw flaw) {
        switch (flaw) {
            case ADOPTED_NOT_INHERITED -> {
                only(Fault.CRASH, Fault.PARTITION, Fault.HEAL);
                failpoint = "Send";
                failpointChance = 0.1;
            }
            case RECOVER_WITHOUT_BARRIER -> {
                only(Fault.ACTOR_CRASH, Fault.DEMAND_CHANGE);
                lateWrite = 0.3;
                floorPermille = 500;
            }
            case SETTLED_DEBT_FORGOTTEN -> {
                only(Fault.LIMIT_CHANGE);
                failpoint = "MarkDone";
                failpointChance = 0.7;
            }
            case KEPT_ON_FENCE -> {
                only(Fault.STORE_CUT, Fault.PAUSE, Fault.HEAL);
                floorPermille = 500;
            }
            case HEIR_STARTS_FULL -> {
                only(Fault.CRASH);
                burstTenthsOfW = 50;
                floorPermille = 0;
                bursty = false;
            }
            case MINT_FULL, OVERLAPPING_VERSIONS, BURN_BEFORE_REMOVED, MINT_WITHOUT_CLAIM -> {
                only(Fault.LIMIT_CHANGE);
                meanFaultGapMs = 250;
            }
            case SNAPSHOT_WITHOUT_LEGACIES -> only(Fault.CRASH, Fault.LIMIT_CHANGE, Fault.HEAL);
            case LEAVE_BY_TRANSFER -> only(Fault.LEAVE, Fault.DEMAND_CHANGE);
            case NO_LEASE_CHECK, EARLY_CLAIM -> {
                only(Fault.STORE_CUT, Fault.PAUSE, Fault.PARTITION, Fault.HEAL);
                floorPermille = 0;
            }
            case FENCE_UNCONDITIONALLY -> {
                only(Fault.STORE_CUT, Fault.HEAL);
                lateFence = 1;
                floorPermille = 0;
                effectCrash = 0;
                bursty = false;
                meanFaultGapMs = 600;
            }
            case NO_BENEFICIARY_CAS -> only(Fault.CRASH);
            case NO_DEFLATION -> fastClocks = true;
            case STAMP_AT_CONFIRM -> gatePause = 0.02;
            case FORGET_WITHOUT_ASKING -> {
                only(Fault.CRASH, Fault.STORE_CUT, Fault.HEAL, Fault.DEMAND_CHANGE);
                crashSeen = 1;
                longestDownMs = 200;
                lateWrite = 0;
                lateWhenCut = 0;
                lateFence = 0;
                retentionNs = 0;
                // Transfers must be open when their receivers die: no reserve, much to move.
                borrowing = false;
                weights[Fault.DEMAND_CHANGE.ordinal()] = 30;
                meanFaultGapMs = 200;
            }
            case ROUND_WITHOUT_END -> lastDemandAt = 0;
            case JOURNAL_SHUT_FOR_LONG -> {
                only(Fault.STORE_OUTAGE, Fault.DEMAND_CHANGE);
                weights[Fault.DEMAND_CHANGE.ordinal()] = 60;
                meanFaultGapMs = 150;
                longestOutageMs = 12_000;
                lastDemandAt = 0;
            }
            case RATE_STAYS_WITH_SMALL_BURST -> {
                only(Fault.DEMAND_CHANGE);
                lastDemandAt = 0;
                burstTenthsOfW = 1;
            }
            case BORROW_WITHOUT_RESERVATION -> borrowingAlone();
            case BORROW_WITHOUT_DEDUP -> {
                borrowingAlone();
                late = 0.2;
            }
            case BORROW_WITHOUT_INCARNATION -> {
                borrowingAlone().only(Fault.CRASH);
                slowestMessageMs = 10;
                late = 0.3;
                longestDownMs = 50;
                meanFaultGapMs = 300;
                fileLock = 1;
                unknownWrite = 0;
                lateWrite = 0;
            }
            case LEND_PAST_LEASE -> {
                borrowingAlone().only(Fault.STORE_CUT, Fault.HEAL);
                slowestMessageMs = 10;
                staleRead = 0.9;
                meanFaultGapMs = 700;
            }
            default -> {}
        }
        return this;
    }

    private Scenario borrowingAlone() {
        only();
        lastDemandAt = -1;
        bursty = true;
        slowestMessageMs = 90;
        rate = 200;
        burstTenthsOfW = 1;
        brokers = 3;
        topics = 1;
        floorPermille = 0;
        effectCrash = 0;
        gatePause = 0;
        late = 0;
        return this;
    }

    /** What a process begins with. */
    StoreView storeView() {
        long patienceNs = has(Flaw.EARLY_CLAIM) ? SupplyWorld.LEASE_NS / 4 : SupplyWorld.PATIENCE_NS;
        return new StoreView(
                new KnownLimits(),
                new LeaseWatch(patienceNs, SupplyWorld.TIMES.longestGapNs()),
                new Retention(retentionNs, patienceNs, SupplyWorld.EPSILON_PPM));
    }

    boolean lastDemandAt(int broker) {
        return lastDemandAt < 0 || lastDemandAt == broker;
    }

    Scenario flawed(Flaw flaw) {
        flaws.add(flaw);
        return this;
    }

    boolean has(Flaw flaw) {
        return flaws.contains(flaw);
    }
}
