package io.weir.cluster.history;

import static io.weir.cluster.history.Invariant.C1;
import static io.weir.cluster.history.Invariant.C2;
import static io.weir.cluster.history.Invariant.C3;
import static io.weir.cluster.history.Invariant.C4;
import static io.weir.cluster.history.Invariant.C5;
import static io.weir.cluster.history.Invariant.C6;
import static io.weir.cluster.history.Invariant.C7;
import static io.weir.cluster.history.Invariant.C8;
import static io.weir.cluster.history.Invariant.C9;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** For each invariant a history that breaks it and the nearest one that does not. */
class HistoryCheckTest {
    @TempDir
    private Path directory;

    private Lines lines() {
        return new Lines(directory);
    }

    @Test
    void shouldCheckWhatAStrangerWroteWithLimitsAndAdmissionsOnly() {
        Lines stranger = lines().limit(0, 100, 1)
                .add("{'t':0,'type':'admit','topic':'orders','broker':'mine'}")
                .add("{'t':10000000,'type':'admit','topic':'orders','broker':'yours','cost':1}");
        stranger.hold(C1);
        for (Invariant other : EnumSet.complementOf(EnumSet.of(C1))) {
            assertThat(stranger.verdict(other).outcome()).as("%s", other).isEqualTo(Verdict.Outcome.NOT_CHECKED);
        }

        Violation found = stranger.add("{'t':10000000,'type':'admit','topic':'orders','broker':'yours'}")
                .violate(C1, "2 messages within 0 ns", "a limit of 100/s with a burst of 1");
        assertThat(found.window())
                .hasValue(new Violation.Window(
                        new io.weir.config.value.TopicName("orders"), 10 * Lines.MS, 10 * Lines.MS, 2));
    }

    @Test
    void shouldCountTheCostOfAMessage() {
        lines().limit(0, 100, 5).admit("b1", 1, ",'cost':5").hold(C1);
        lines().limit(0, 100, 5).admit("b1", 1, ",'cost':6").violate(C1, "6 messages");
    }

    @Test
    void shouldAllowExactlyBPlusRTimesT() {
        lines().limit(0, 1_000, 3).every(1, 0, 200, "b1", "b2").admit("b3", 200).hold(C1);
        lines().limit(0, 1_000, 3)
                .admit("b1", 0)
                .admit("b2", 0)
                .every(1, 0, 200, "b1", "b2")
                .hold(C1);
        lines().limit(0, 1_000, 3)
                .admit("b1", 0)
                .admit("b2", 0)
                .admit("b3", 0)
                .every(1, 0, 200, "b1", "b2")
                .violate(C1);
    }

    @Test
    void shouldPassRandomLawfulHistoriesAndFindOneMessageTooMany() {
        for (long seed = 1; seed <= 60; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double rate = 1 + random.nextInt(5_000);
            int burst = 1 + random.nextInt(20);
            Lines lawful = lines().limit(0, rate, burst);
            // A bucket that lets a message through as soon as it may, or later; in whole nanoseconds, rounded up.
            double level = burst;
            long nowNs = 0;
            int admitted = 0;
            while (admitted < 100) {
                long waitNs = level >= 1 ? 0 : (long) Math.ceil((1 - level) / rate * 1e9) + 1;
                long pauseNs = waitNs + (random.nextInt(3) == 0 ? random.nextLong((long) (2e9 / rate)) : 0);
                level = Math.min(burst, level + rate * pauseNs / 1e9) - 1;
                nowNs += pauseNs;
                lawful.add("{'t':" + nowNs + ",'type':'admit','topic':'orders','broker':'b" + random.nextInt(3) + "'}");
                admitted++;
            }
            assertThat(lawful.verdict(C1).outcome()).as("seed %d", seed).isEqualTo(Verdict.Outcome.HELD);
            // Until the bucket is empty at this very moment, and one more.
            for (int i = (int) Math.floor(level) + 1; i > 0; i--) {
                lawful.add("{'t':" + nowNs + ",'type':'admit','topic':'orders','broker':'b1'}");
            }
            assertThat(lawful.shuffled(seed).verdict(C1).outcome())
                    .as("seed %d", seed)
                    .isEqualTo(Verdict.Outcome.VIOLATED);
        }
    }

    @Test
    void shouldCountARaiseFromItsRequestAndALoweringFromItsEnd() {
        Lines raised = lines().limit(0, 100, 1)
                .every(10, 0, 500, "b1")
                .asked(500, 200, 1)
                .limit(800, 200, 1)
                .every(5, 505, 1_000, "b1");
        raised.hold(C1);
        raised.without("limit-asked").violate(C1);
        lines().limit(0, 100, 1)
                .limit(500, 200, 1)
                .every(10, 0, 500, "b1")
                .every(5, 505, 1_000, "b1")
                .hold(C1);

        Lines lowered = lines().limit(0, 200, 1)
                .every(5, 0, 1_000, "b1")
                .asked(500, 100, 1)
                .every(10, 1_010, 2_000, "b2");
        lowered.hold(C1);
        lowered.limit(1_000, 100, 1).hold(C1);
        lowered.limit(900, 100, 1).violate(C1, "100/s");
    }

    @Test
    void shouldAllowWhatWasAskedForAndNeverSeenToBeDoneUntilTheNextThatWas() {
        Lines unknown = lines().limit(0, 100, 1).asked(100, 1_000, 1).every(1, 101, 500, "b1");
        unknown.hold(C1);
        unknown.asked(500, 100, 1).every(1, 501, 600, "b1").hold(C1);
        unknown.limit(600, 100, 1).hold(C1);
        unknown.admit("b1", 601).hold(C1);
        unknown.admit("b1", 602).violate(C1);
    }

    @Test
    void shouldAllowNothingBeforeTheFirstLimitAndAfterADeletion() {
        lines().limit(5, 100, 10).admit("b1", 5).hold(C1);
        lines().limit(5, 100, 10).admit("b1", 4.9).violate(C1, "before it had any limit");
        lines().limit(0, 100, 10).admit("b1", 5).limit(5, 0, 0).hold(C1);
        lines().limit(0, 100, 10).admit("b1", 5.1).limit(5, 0, 0).violate(C1);
    }

    @Test
    void shouldNotGiveAFullBucketTwice() {
        lines().limit(0, 100, 10)
                .admit("b1", 1, ",'cost':10")
                .limit(2, 0, 0)
                .limit(3, 100, 10)
                .admit("b1", 13)
                .hold(C1);
        lines().limit(0, 100, 10)
                .admit("b1", 1, ",'cost':10")
                .limit(2, 0, 0)
                .limit(3, 100, 10)
                .admit("b1", 12.9)
                .violate(C1);
    }

    @Test
    void shouldKeepTopicsApartAndTreatAChannelsLimitAsOne() {
        String channel = ",'type':'admit','topic':'orders:audit','broker':'b1'}";
        Lines both = lines().limit(0, 100, 1)
                .admit("b1", 1)
                .add("{'t':0,'type':'limit','topic':'orders:audit','rate':100,'burst':1}")
                .add("{'t':1000000" + channel);
        both.hold(C1);
        both.add("{'t':1000001" + channel).violate(C1, "orders:audit");
    }

    @Test
    void shouldSayWhichTopicsHaveNoLimitAndLeaveShadowsOut() {
        lines().admit("b1", 1).leaveUnchecked(C1, "no limit records of orders");
        Lines shadow = lines().add("{'t':0,'type':'limit','topic':'orders','rate':1,'burst':1,'mode':'shadow'}")
                .admit("b1", 1)
                .admit("b1", 1);
        shadow.leaveUnchecked(C1, "shadow");
        shadow.add("{'t':0,'type':'limit','topic':'other','rate':1,'burst':1}")
                .add("{'t':0,'type':'admit','topic':'other','broker':'b1'}")
                .add("{'t':0,'type':'admit','topic':'third','broker':'b1'}");
        shadow.hold(C1);
        assertThat(shadow.verdict(C1).text()).contains("1 admissions of 1 topic", "third");
    }

    @Test
    void shouldFindAnAdmissionWithoutALease() {
        lines().admit("b1", 1, ",'leaseLeftNs':1")
                .admit("b1", 2, ",'kept':true,'leaseLeftNs':-5")
                .hold(C4);
        lines().admit("b1", 1, ",'leaseLeftNs':0").violate(C4, "no lease was left");
        lines().admit("b1", 1).leaveUnchecked(C4, "no admit record says");
    }

    private static final String SUPPLY = ",'type':'supply',";
    private static final String B1 = "'broker':'b1','inc':1,";
    private static final String B2 = "'broker':'b2','inc':1,";
    private static final String HALF = "'shares':{'orders':{'leased':[50000000,1000000,0]}}";
    private static final String MOVE = "'from':'b1#1','to':'b2#1','transfer':1";

    /** b1 minted 100/2 and gave half to b2, which died; b1 has inherited it. */
    private Lines journals() {
        return lines().add("{'t':1000000000" + SUPPLY + B1 + "'seq':1,'journalSeq':1,'event':'minted','topic':'orders',"
                        + "'version':1,'minted':{'leased':[100000000,2000000,2000000]},'debt':[0,0]}")
                .add("{'t':2000000000" + SUPPLY + B1 + "'seq':2,'journalSeq':2,'event':'debited'," + MOVE + "," + HALF
                        + "}")
                .add("{'t':2100000000" + SUPPLY + B2 + "'seq':3,'journalSeq':1,'event':'credited'," + MOVE + "," + HALF
                        + "}")
                .add("{'t':8000000000" + SUPPLY + B2 + "'seq':4,'journalSeq':2,'event':'fenced','by':'b1#1'}")
                .add("{'t':8100000000" + SUPPLY + B1 + "'seq':5,'journalSeq':3,'event':'inherited','victim':'b2#1',"
                        + "'account':'leased','shares':{'orders':[50000000,1000000,0]},'open':[],'debts':{}}")
                .add("{'t':9000000000,'type':'lease'," + B1 + "'state':'LIVE','renewSeq':9}")
                .add("{'t':9000000000,'type':'lease'," + B2
                        + "'state':'FENCED','renewSeq':3,'leasedHeir':'b1#1','leasedDone':true}")
                .add("{'t':9000000000,'type':'limit-row','topic':'orders','version':1,'rateMicros':100000000,"
                        + "'burstMicros':2000000,'minter':'b1#1','done':true}");
    }

    @Test
    void shouldFindNothingWrongInAStoreWhereNothingIs() {
        for (Invariant invariant : Set.of(C2, C3, C6, C7)) {
            journals().hold(invariant);
            journals().shuffled(7).hold(invariant);
        }
    }

    @Test
    void shouldFindSupplyThatIsMadeOrLost() {
        journals().without("'journalSeq':2,'event':'debited'").violate(C7, "goes from event 1 to 3");
        Lines made = journals().without("'event':'credited'");
        made.add("{'t':2100000000" + SUPPLY + B2 + "'seq':3,'journalSeq':1,'event':'credited'," + MOVE
                + ",'shares':{'orders':{'leased':[50000001,1000000,0]}}}");
        made.violate(C2, "credited");
    }

    @Test
    void shouldFindWhatHappensTwice() {
        Lines twice = journals().without("'event':'fenced'").without("'event':'inherited'");
        twice.add("{'t':2200000000" + SUPPLY + B2 + "'seq':4,'journalSeq':2,'event':'credited'," + MOVE + "," + HALF
                + "}");
        twice.violate(C3, "credited again");
    }

    @Test
    void shouldFindAnEventAfterTheFence() {
        journals()
                .add("{'t':8200000000" + SUPPLY + B2 + "'seq':6,'journalSeq':3,'event':'recovered','life':2}")
                .violate(C7, "follows Fenced");
    }

    @Test
    void shouldFindAnAdmissionFromAnAccountThatAnHeirHas() {
        journals().admit("b2", 8_119).hold(C4);
        journals().admit("b2", 8_121).violate(C4, "after its account was inherited");
        journals().admit("b2", 8_121, ",'kept':true").hold(C4);
    }

    @Test
    void shouldFindABrokerThatAloneAdmitsMoreThanItHas() {
        journals()
                .every(10, 1_000, 2_000, "b1")
                .every(20, 2_150, 7_000, "b1", "b2")
                .hold(C5);
        journals().every(10, 2_150, 7_000, "b2").violate(C5, "b2#1 alone");
        journals()
                .add("{'t':8900000000,'type':'admit','topic':'orders','broker':'b3','inc':1}")
                .violate(C5, "b3#1 alone");
        // What the store held after it was read for the last time nobody knows.
        journals()
                .add("{'t':9000000000,'type':'admit','topic':'orders','broker':'b3','inc':1}")
                .hold(C5);
    }

    @Test
    void shouldFindWhatStaysBehindAMinuteAfterTheLastFaultOnly() {
        Lines left = journals().without("'event':'inherited'").without("'leasedDone':true");
        left.add("{'t':9000000000,'type':'lease'," + B2 + "'state':'FENCED','renewSeq':3}");
        left.leaveUnchecked(C6, "60 s are allowed");
        left.add("{'t':61100000000,'type':'lease'," + B1 + "'state':'LIVE','renewSeq':99}");
        left.violate(C6, "nobody has finished");

        left.fault(5_000, "kill", "start", "b2").leaveUnchecked(C6, "a fault has not ended");
        left.phase(6_000, "healed").leaveUnchecked(C6, "60 s are allowed");
        left.add("{'t':66000000000,'type':'lease'," + B1 + "'state':'LIVE','renewSeq':100}");
        left.violate(C6, "nobody has finished");
        journals().fault(5_000, "kill", "start", "b2").hold(C6);
    }

    @Test
    void shouldWantTheLimitToBeUsedOverThirtySecondsUnderEnoughLoad() {
        Lines used = lines().limit(0, 10, 1).every(100, 0, 60_000, "b1").phase(60_000, "end");
        used.leaveUnchecked(C8, "saturated");
        used.add("{'t':0,'type':'setup','saturated':['orders']}");
        used.hold(C8);
        used.fault(31_000, "pause", "end", "b1").leaveUnchecked(C8, "30 s are needed");

        String setup = "{'t':0,'type':'setup','saturated':['orders']}";
        lines().limit(0, 10, 1)
                .every(100, 0, 58_500, "b1")
                .phase(60_000, "end")
                .add(setup)
                .hold(C8);
        lines().limit(0, 10, 1)
                .every(100, 0, 58_400, "b1")
                .phase(60_000, "end")
                .add(setup)
                .violate(C8, "284 messages in 30.0 s");
    }

    @Test
    void shouldTakeManyPublishesForEnoughLoad() {
        Lines open = lines().limit(0, 1, 1).every(1_000, 0, 25_000, "b1").phase(31_000, "end");
        for (int i = 0; i < 32; i++) {
            open.publish(1_000 + 900 * i, "m" + i, "invoke");
        }
        open.violate(C8, "24 messages");
    }

    private Lines delivered() {
        return lines().publish(10, "m1", "invoke")
                .publish(12, "m1", "ok")
                .deliver(13, "m1")
                .publish(20, "m2", "invoke")
                .publish(22, "m2", "ok")
                .deliver(23, "m2")
                .phase(100, "end");
    }

    @Test
    void shouldWantWhatWasAcknowledgedToBeDelivered() {
        delivered().hold(C9);
        Lines lost = delivered().without("'deliver','topic':'orders','channel':'audit','id':'m2'");
        lost.violate(C9, "m2 is acknowledged by b1 and never delivered on channel audit");
        lost.fault(15, "kill", "start", "b1").violate(C9, "m2");
        lost.fault(50, "kill", "start", "b2").violate(C9, "m2");
        lost.fault(50, "partition", "start", "b1").violate(C9, "m2");
        lost.fault(50, "kill", "start", "b1").hold(C9);
    }

    @Test
    void shouldExcuseABrokerWhoseProcessIsKnownToHaveEnded() {
        Lines lost = delivered().without("'deliver','topic':'orders','channel':'audit','id':'m2'");
        lost.add("{'t':50000000,'type':'broker','broker':'b1','state':'up'}").violate(C9, "m2");
        lost.add("{'t':50000000,'type':'broker','broker':'b1','state':'down'}").hold(C9);
        assertThat(lost.verdict(C9).text()).contains("1 went with a broker that ended");
    }

    @Test
    void shouldExcuseTheDeathOfAHomeWhereMessagesHaveOne() {
        String died = "{'t':50000000,'type':'broker','broker':'b2','state':'down'}";
        String homes = "{'t':0,'type':'setup','homes':true}";
        Supplier<Lines> lost = () -> delivered()
                .without("'deliver','topic':'orders','channel':'audit','id':'m2'")
                .add(died);
        lost.get().admit("b2", 21).violate(C9, "m2");
        lost.get().admit("b2", 21).add(homes).hold(C9);
        lost.get().admit("b2", 19).admit("b3", 21).add(homes).violate(C9, "m2");
    }

    @Test
    void shouldOweAMessageToTheChannelsThatWereThere() {
        delivered().deliver(21, "m2", "late").hold(C9);
        delivered().deliver(19, "m1", "second").violate(C9, "m2", "on channel second");
        delivered()
                .add("{'t':9000000,'type':'channel','topic':'orders','channel':'second'}")
                .violate(C9, "m1", "on channel second");
    }

    @Test
    void shouldNotExpectWhatMayStillBeUnderWay() {
        Lines cut = delivered().without("'end'").without("'deliver','topic':'orders','channel':'audit','id':'m2'");
        cut.hold(C9);
        assertThat(cut.verdict(C9).text()).contains("may still be under way");
        cut.phase(70_000, "healed").violate(C9, "m2");
    }

    @Test
    void shouldFindADeliveryOfWhatWasRefusedOrNeverPublished() {
        Lines refused = delivered().publish(30, "m3", "invoke").publish(31, "m3", "fail");
        refused.hold(C9);
        refused.deliver(32, "m3").violate(C9, "m3 is delivered, and it was refused");
        delivered()
                .publish(30, "m3", "invoke")
                .publish(31, "m3", "info")
                .deliver(32, "m3")
                .hold(C9);
        delivered().publish(30, "m3", "invoke").hold(C9);
        delivered().deliver(32, "m4").violate(C9, "nobody published");
        delivered().publish(30, "m3", "invoke").deliver(29, "m3").violate(C9, "before it is published");
    }

    @Test
    void shouldTakeASecondTryUnderTheSameIdForTheSameMessage() {
        Lines again = delivered()
                .publish(30, "m3", "invoke")
                .publish(31, "m3", "fail")
                .publish(40, "m3", "invoke");
        again.deliver(42, "m3").hold(C9);
        again.publish(41, "m3", "ok").hold(C9);
        assertThat(again.verdict(C9).text()).contains("3 acknowledged, 0 refused");
    }

    @Test
    void shouldCountDuplicates() {
        Lines twice = delivered().deliver(90, "m1").deliver(91, "m1", "second");
        twice.hold(C9);
        assertThat(twice.verdict(C9).text()).contains("4 deliveries, 1 of them again");
    }

    @Test
    void shouldNotPassAHistoryOfWhichNothingCanBeChecked() {
        assertThat(HistoryCheck.of(lines().phase(1, "warm").history()).held()).isFalse();
        assertThat(HistoryCheck.of(lines().history()).held()).isFalse();
    }
}
