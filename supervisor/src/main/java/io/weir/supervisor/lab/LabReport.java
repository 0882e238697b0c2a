package io.weir.supervisor.lab;

import io.weir.supervisor.chart.LineChart;
import java.util.List;
import java.util.Locale;

/**
 * What an experiment found: tables for the eye and for CSV, charts with the paper's axes, and findings that each hold
 * or do not. A finding that does not hold makes the command's exit code non-zero.
 */
public record LabReport(List<Table> tables, List<LineChart> charts, List<Finding> findings) {

    /** A table; every row has one cell a column. A cell is a String, a Number or a {@link Estimate}. */
    public record Table(String title, List<String> columns, List<List<Object>> rows) {
        public Table {
            for (List<Object> row : rows) {
                if (row.size() != columns.size()) {
                    throw new IllegalArgumentException(
                            "table '" + title + "' has " + columns.size() + " columns, but a row of " + row.size());
                }
            }
        }
    }

    /** A mean over seeds with the half width of its 95% confidence interval. */
    public record Estimate(double mean, double halfWidth95) {}

    /** A claim of the paper (or of ours), what it says, what came out, and whether that agrees. */
    public record Finding(String claim, String expected, String measured, boolean holds) {}

    /** Numbers in words, the same whatever the machine's locale. */
    public static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    public boolean holds() {
        return findings.stream().allMatch(Finding::holds);
    }
}
