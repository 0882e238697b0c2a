package io.weir.supervisor.lab;

import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabReport.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A {@link Table} as comma-separated values after RFC 4180, with line feeds. The first two columns name the experiment
 * and the table, so that tables of several experiments stay apart in one file; a column with estimates becomes two, the
 * mean and the half width of its 95% confidence interval. Numbers are written in full.
 */
public final class CsvTable {
    private CsvTable() {}

    public static String write(String experiment, Table table) {
        List<Boolean> estimated = new ArrayList<>();
        List<Object> header = new ArrayList<>(List.of("experiment", "table"));
        for (int column = 0; column < table.columns().size(); column++) {
            int at = column;
            estimated.add(table.rows().stream().anyMatch(row -> row.get(at) instanceof Estimate));
            header.add(table.columns().get(column));
            if (estimated.get(column)) {
                header.add(table.columns().get(column) + " ±95%");
            }
        }
        StringBuilder csv = new StringBuilder(record(header));
        for (List<Object> row : table.rows()) {
            List<Object> fields = new ArrayList<>(List.of(experiment, table.title()));
            for (int column = 0; column < row.size(); column++) {
                Object cell = row.get(column);
                fields.add(cell instanceof Estimate estimate ? estimate.mean() : cell);
                if (estimated.get(column)) {
                    fields.add(cell instanceof Estimate estimate ? estimate.halfWidth95() : "");
                }
            }
            csv.append(record(fields));
        }
        return csv.toString();
    }

    private static String record(List<Object> fields) {
        return fields.stream().map(field -> quoted(String.valueOf(field))).collect(Collectors.joining(",", "", "\n"));
    }

    private static String quoted(String field) {
        boolean needed = field.chars().anyMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r')
                || !field.equals(field.strip());
        return needed ? '"' + field.replace("\"", "\"\"") + '"' : field;
    }
}
