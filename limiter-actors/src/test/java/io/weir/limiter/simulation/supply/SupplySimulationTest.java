package io.weir.limiter.simulation.supply;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.weir.limiter.simulation.supply.SupplySimulation.Catch;
import io.weir.limiter.supply.protocol.ProtocolTimes;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SupplySimulationTest {
    private static final int SEEDS = 1_000;
    private static final int DIRECTED_SEEDS = 12;

    /** The invariants by which each flaw may show first. */
    private static final Map<Flaw, Set<String>> SHOWS_AS = Map.ofEntries(
            Map.entry(Flaw.NO_LEASE_CHECK, Set.of("C1", "C4")),
            Map.entry(Flaw.EARLY_CLAIM, Set.of("C1", "C4")),
            Map.entry(Flaw.FENCE_UNCONDITIONALLY, Set.of("C1", "C4")),
            Map.entry(Flaw.NO_BENEFICIARY_CAS, Set.of("C3")),
            Map.entry(Flaw.CREDIT_NOT_IDEMPOTENT, Set.of("C3")),
            Map.entry(Flaw.LEVEL_NOT_DEBITED, Set.of("C1", "C5")),
            Map.entry(Flaw.NO_DEFLATION, Set.of("C1", "C5")),
            Map.entry(Flaw.USE_BEFORE_PERSIST, Set.of("C1", "C5")),
            Map.entry(Flaw.BURN_BEFORE_REMOVED, Set.of("C1", "C5")),
            Map.entry(Flaw.ADOPTED_NOT_INHERITED, Set.of("C6")),
            Map.entry(Flaw.KEPT_ON_FENCE, Set.of("C1", "C4")),
            Map.entry(Flaw.MINT_WITHOUT_CLAIM, Set.of("C1", "C3")),
            Map.entry(Flaw.MINT_FULL, Set.of("C1")),
            Map.entry(Flaw.OVERLAPPING_VERSIONS, Set.of("C1", "C3")),
            Map.entry(Flaw.LEAVE_BY_TRANSFER, Set.of("C6")),
            Map.entry(Flaw.BORROW_WITHOUT_RESERVATION, Set.of("C1", "C5")),
            Map.entry(Flaw.BORROW_WITHOUT_INCARNATION, Set.of("C1", "C5")),
            Map.entry(Flaw.BORROW_WITHOUT_DEDUP, Set.of("C1", "C5")),
            Map.entry(Flaw.HEIR_STARTS_FULL, Set.of("C1")),
            Map.entry(Flaw.LEND_PAST_LEASE, Set.of("C1", "C4")),
            Map.entry(Flaw.RECOVER_WITHOUT_BARRIER, Set.of("C5", "thrown")),
            Map.entry(Flaw.SNAPSHOT_WITHOUT_LEGACIES, Set.of("C3")),
            Map.entry(Flaw.SETTLED_DEBT_FORGOTTEN, Set.of("C6")),
            Map.entry(Flaw.STAMP_AT_CONFIRM, Set.of("C1", "C5")),
            Map.entry(Flaw.COMMANDS_AT_THE_TURNS_TIME, Set.of("C1", "C5")),
            Map.entry(Flaw.FORGET_WITHOUT_ASKING, Set.of("C6")),
            Map.entry(Flaw.ROUND_WITHOUT_END, Set.of("C8")),
            Map.entry(Flaw.JOURNAL_SHUT_FOR_LONG, Set.of("C6", "C8")),
            Map.entry(Flaw.RATE_STAYS_WITH_SMALL_BURST, Set.of("C8")));

    @Test
    void shouldKeepEveryInvariantWhenAnythingFails() {
        SupplySimulation simulation = new SupplySimulation();
        for (long seed = 1; seed <= SEEDS; seed++) {
            boolean held = simulation.run(seed);
            assertThat(held).as(() -> simulation.firstFailure().orElse("")).isTrue();
        }
        assertThat(simulation.admitted()).as("load passed the gates").isGreaterThan(500L * SEEDS);
        assertThat(simulation.faults().values())
                .as("every kind of fault was injected")
                .allMatch(count -> count > 100);
    }

    @ParameterizedTest
    @EnumSource(Flaw.class)
    void shouldCatchTheFlawWhenARuleIsLeftOut(Flaw flaw) {
        Optional<Catch> caught = SupplySimulation.caught(flaw, 1, 200);
        assertThat(caught).as("%s: %s", flaw, flaw.what()).isPresent();
        assertThat(SHOWS_AS.get(flaw)).as("%s", caught).contains(caught.get().invariant());
    }

    @ParameterizedTest
    @EnumSource(Flaw.class)
    void shouldStayCleanWhenTheSameFaultsMeetTheWholeProtocol(Flaw flaw) {
        for (long seed = 1; seed <= DIRECTED_SEEDS; seed++) {
            SupplyRun run = SupplySimulation.run(seed, scenario -> scenario.directedAt(flaw));
            assertThat(run.violations()).as(run::toString).isEmpty();
        }
    }

    /** The hard bound needs no help from the checks that look inside the protocol. */
    @ParameterizedTest
    @EnumSource(
            value = Flaw.class,
            names = {
                "NO_LEASE_CHECK",
                "EARLY_CLAIM",
                "CREDIT_NOT_IDEMPOTENT",
                "LEVEL_NOT_DEBITED",
                "NO_DEFLATION",
                "USE_BEFORE_PERSIST",
                "BURN_BEFORE_REMOVED",
                "MINT_FULL",
                "HEIR_STARTS_FULL",
                "STAMP_AT_CONFIRM"
            })
    void shouldSeeTheFlawInTheAdmissionsAloneWhenOnlyTheHardBoundIsChecked(Flaw flaw) {
        boolean seen = false;
        for (long seed = 1; seed <= 200 && !seen; seed++) {
            SupplyRun run = SupplySimulation.run(seed, scenario -> {
                scenario.directedAt(flaw).flawed(flaw);
                scenario.watched = "C1";
            });
            seen = !run.violations().isEmpty();
        }
        assertThat(seen).as("%s shows in C1", flaw).isTrue();
    }

    /** A broker's own proportions: whoever changes a default changes the simulation with it. */
    @Test
    void shouldSimulateWhatBrokersAreSetTo() {
        Config supply = ConfigFactory.parseResources("reference.conf").getConfig("weir.supply");
        assertThat(SupplyWorld.BROKER_TIMES)
                .isEqualTo(ProtocolTimes.of(
                        supply.getDuration("lease").toNanos(),
                        supply.getLong("drift-ppm"),
                        supply.getDuration("guard").toNanos(),
                        supply.getDuration("round").toNanos(),
                        supply.getDouble("dead-band"),
                        supply.getDouble("reserve")));
    }

    @Test
    void shouldReplayWhenTheSeedIsTheSame() {
        for (long seed = 1; seed <= 5; seed++) {
            SupplyRun once = SupplySimulation.run(seed, scenario -> scenario.flawed(Flaw.NO_LEASE_CHECK));
            SupplyRun again = SupplySimulation.run(seed, scenario -> scenario.flawed(Flaw.NO_LEASE_CHECK));
            assertThat(again.toString()).isEqualTo(once.toString());
            assertThat(again.events()).isEqualTo(once.events());
        }
    }

    @Test
    void shouldTellSeedInvariantAndHistoryWhenAnInvariantFails() {
        SupplyRun run = SupplySimulation.run(1, scenario -> scenario.flawed(Flaw.CREDIT_NOT_IDEMPOTENT));
        assertThat(run.toString()).contains("seed 1", "C3", "Credited").contains("µs");
        assertThat(run.history()).hasSizeGreaterThan(10);
    }
}
