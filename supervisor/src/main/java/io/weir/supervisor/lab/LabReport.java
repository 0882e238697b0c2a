package io.weir.supervisor.lab;

import java.util.List;
import java.util.Locale;

/**
 * What an experiment found: tables for the eye and for CSV, charts with the paper's axes, and findings that each hold
 * or do not. A finding that does not hold makes the command's exit code non-zero.
 */
public record LabReport(List<Table> tables, List<Chart> charts, List<Finding> findings) {

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

    /** A line chart with the paper's axes; {@code fileName} without an ending. */
    public record Chart(String fileName, String title, Axis x, Axis y, List<Series> series) {}

    /** An axis; on a logarithmic one only positive values are drawn. */
    public record Axis(String label, boolean logarithmic) {}

    /** A line; {@code paper} marks the paper's own numbers, drawn apart from ours. */
    public record Series(String label, double[] xs, double[] ys, boolean paper) {}

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
