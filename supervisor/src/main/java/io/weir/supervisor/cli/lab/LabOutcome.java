package io.weir.supervisor.cli.lab;

import io.weir.supervisor.lab.Experiment;
import io.weir.supervisor.lab.LabReport;
import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabReport.Table;
import io.weir.supervisor.lab.LabRun;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An experiment that ran: its options, what it found, which charts were written, and how long it took. */
record LabOutcome(Experiment experiment, LabRun run, LabReport report, List<String> charts, long elapsedNs) {
    boolean holds() {
        return report.holds();
    }

    /** Everything but the time it took, so that the same seeds give the same bytes. */
    Map<String, Object> asJson() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("experiment", experiment.name());
        json.put("source", experiment.source());
        json.put("seeds", run.seeds());
        json.put("firstSeed", run.firstSeed());
        json.put("holds", holds());
        json.put("findings", report.findings());
        json.put("tables", report.tables().stream().map(LabOutcome::tableJson).toList());
        json.put("charts", charts);
        return json;
    }

    private static Map<String, Object> tableJson(Table table) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("title", table.title());
        json.put("columns", table.columns());
        json.put(
                "rows",
                table.rows().stream()
                        .map(row -> row.stream().map(LabOutcome::cellJson).toArray())
                        .toList());
        return json;
    }

    private static Object cellJson(Object cell) {
        if (cell instanceof Estimate estimate) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("mean", cellJson(estimate.mean()));
            json.put("halfWidth95", cellJson(estimate.halfWidth95()));
            return json;
        }
        // JSON has no NaN and no infinity.
        return cell instanceof Double number && !Double.isFinite(number) ? null : cell;
    }
}
