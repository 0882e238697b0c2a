package io.weir.supervisor.lab.limiter;

import io.weir.limiter.simulation.supply.Flaw;
import io.weir.limiter.simulation.supply.SupplySimulation;
import io.weir.limiter.simulation.supply.SupplySimulation.Catch;
import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The supply protocol's own classes in a simulated cluster that fails in every way they claim to survive: the
 * invariants C1 to C8 over any number of seeds, and then the same with one rule left out at a time, to show that the
 * checker can fail.
 */
public final class SupplySim implements Experiment {
    private static final List<String> INVARIANTS = List.of("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "thrown");
    private static final List<String> MEANINGS = List.of(
            "hard bound",
            "conservation",
            "once only",
            "lease",
            "each broker alone",
            "nothing lost",
            "order",
            "availability after healing",
            "a state machine refused");
    /** Some flaws need a rare coincidence; directed faults bring it about within this many seeds. */
    private static final int SEEDS_A_FLAW = 200;

    @Override
    public String name() {
        return "supply-sim";
    }

    @Override
    public String summary() {
        return "the hard limit under crashes, pauses, netsplits and store faults, checked from its history";
    }

    @Override
    public String source() {
        return "Weir's supply protocol; Ramsden 3.1 and 3.2 leave it open";
    }

    @Override
    public int defaultSeeds() {
        return 200;
    }

    @Override
    public LabReport run(LabRun run) {
        SupplySimulation simulation = new SupplySimulation();
        int total = run.seeds() + Flaw.values().length;
        int done = 0;
        for (long seed : run.seedStream().toArray()) {
            simulation.run(seed);
            run.progress().at(++done, total, "seed " + seed);
        }
        Map<Flaw, Optional<Catch>> catches = new LinkedHashMap<>();
        for (Flaw flaw : Flaw.values()) {
            catches.put(flaw, SupplySimulation.caught(flaw, run.firstSeed(), SEEDS_A_FLAW));
            run.progress().at(++done, total, flaw.what());
        }
        List<Table> tables = new ArrayList<>(List.of(runs(simulation), violations(simulation), flaws(catches)));
        simulation.firstFailure().ifPresent(story -> tables.add(history(story)));
        return new LabReport(tables, List.of(), findings(simulation, catches));
    }

    private static Table runs(SupplySimulation simulation) {
        List<List<Object>> rows = new ArrayList<>();
        rows.add(List.of("runs", simulation.runs()));
        rows.add(List.of("events", simulation.events()));
        rows.add(List.of("journal commits", simulation.commits()));
        rows.add(List.of("messages admitted", simulation.admitted()));
        simulation.faults().forEach((kind, count) -> rows.add(List.of("fault: " + kind, count)));
        return new Table(
                "What happened (3 to 5 brokers, lease 1 s, φ of 0, ½ and 1, b/r of 0.1·W, W and 5·W)",
                List.of("what", "how many"),
                rows);
    }

    private static Table violations(SupplySimulation simulation) {
        List<List<Object>> rows = new ArrayList<>();
        for (int i = 0; i < INVARIANTS.size(); i++) {
            String invariant = INVARIANTS.get(i);
            rows.add(List.of(invariant, MEANINGS.get(i), simulation.violations().getOrDefault(invariant, 0L)));
        }
        return new Table("Runs in which an invariant did not hold", List.of("invariant", "meaning", "runs"), rows);
    }

    private static Table flaws(Map<Flaw, Optional<Catch>> catches) {
        List<List<Object>> rows = new ArrayList<>();
        catches.forEach((flaw, caught) -> rows.add(List.of(
                flaw.what(),
                caught.map(Catch::invariant).orElse("not caught"),
                caught.map(found -> Long.toString(found.seed())).orElse("-"))));
        return new Table("One rule left out, faults directed at it", List.of("left out", "caught by", "at seed"), rows);
    }

    private static Table history(String story) {
        List<List<Object>> rows = new ArrayList<>();
        Arrays.stream(story.split("\n")).forEach(line -> rows.add(List.of(line)));
        return new Table(
                "The first run that failed: its seed, what did not hold, its last events", List.of("event"), rows);
    }

    private static List<Finding> findings(SupplySimulation simulation, Map<Flaw, Optional<Catch>> catches) {
        long broken = simulation.violations().values().stream()
                .mapToLong(Long::longValue)
                .sum();
        long caught = catches.values().stream().filter(Optional::isPresent).count();
        return List.of(
                new Finding(
                        "ours: no interval of length t admits more than b + r·t, and no supply is lost, whatever fails",
                        "no invariant broken in any run",
                        LabReport.text(
                                "%d broken in %d runs, %d messages", broken, simulation.runs(), simulation.admitted()),
                        broken == 0),
                new Finding(
                        "ours: the checker can fail; every rule of the protocol is needed",
                        LabReport.text("all %d variants with a rule left out are caught", catches.size()),
                        LabReport.text("%d caught", caught),
                        caught == catches.size()));
    }
}
