package io.weir.supervisor.cli.lab;

import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Sets what came out of experiments for a terminal: tables aligned at the decimal point and the ±, and findings as a
 * check list.
 */
final class LabText {
    /** Digits shown of a number that says nothing about its own precision. */
    private static final MathContext SHOWN = new MathContext(5, RoundingMode.HALF_EVEN);

    private static final int WIDTH = 100;
    /** A head is not broken into narrower lines than this, whatever its cells. */
    private static final int NARROWEST_HEAD = 12;

    private LabText() {}

    /**
     * A cell in the pieces that a column aligns: the whole part to its right, fraction and half width to their left.
     */
    private record Cell(String whole, String fraction, String halfWidth) {}

    static List<String> outcome(LabOutcome outcome) {
        List<String> text = new ArrayList<>();
        long first = outcome.run().firstSeed();
        int seeds = outcome.run().seeds();
        text.add(outcome.experiment().name() + ": " + outcome.experiment().summary());
        text.add(outcome.experiment().source() + "; "
                + (seeds == 1 ? "seed " + first : "seeds " + first + " to " + (first + seeds - 1)));
        for (Table table : outcome.report().tables()) {
            text.add("");
            text.addAll(table(table));
        }
        text.add("");
        outcome.report().findings().forEach(finding -> text.addAll(finding(finding)));
        outcome.charts().forEach(chart -> text.add("chart " + chart));
        text.add(held(List.of(outcome)) + "; " + seconds(outcome.elapsedNs()));
        text.add("");
        return text;
    }

    /** What a run of several experiments ends with. */
    static List<String> summary(List<LabOutcome> outcomes) {
        List<String> text = new ArrayList<>();
        text.add(outcomes.size() + " experiments; " + held(outcomes) + "; "
                + seconds(outcomes.stream().mapToLong(LabOutcome::elapsedNs).sum()));
        for (LabOutcome outcome : outcomes) {
            outcome.report().findings().stream()
                    .filter(finding -> !finding.holds())
                    .forEach(finding -> text.addAll(
                            hanging("  DIFFERS  ", outcome.experiment().name() + ": " + finding.claim())));
        }
        return text;
    }

    private static String held(List<LabOutcome> outcomes) {
        List<Finding> all = outcomes.stream()
                .flatMap(outcome -> outcome.report().findings().stream())
                .toList();
        long holding = all.stream().filter(Finding::holds).count();
        return all.isEmpty() ? "no findings" : holding + " of " + all.size() + " findings hold";
    }

    private static String seconds(long elapsedNs) {
        return String.format(Locale.ROOT, "%.1f s", elapsedNs / 1e9);
    }

    private static List<String> table(Table table) {
        List<List<String>> columns = new ArrayList<>();
        for (int column = 0; column < table.columns().size(); column++) {
            int at = column;
            List<Object> values = table.rows().stream().map(row -> row.get(at)).toList();
            boolean words = values.stream().allMatch(String.class::isInstance);
            columns.add(column(table.columns().get(column), values, words));
        }
        int lines = columns.stream().mapToInt(List::size).max().orElse(0);
        List<String> text = new ArrayList<>(List.of(table.title()));
        for (int i = 0; i < lines; i++) {
            StringBuilder line = new StringBuilder();
            for (List<String> column : columns) {
                // Short heads stand on the same line as the last of the long ones.
                int skipped = lines - column.size();
                line.append("  ").append(i < skipped ? " ".repeat(column.get(0).length()) : column.get(i - skipped));
            }
            text.add(line.toString().stripTrailing());
        }
        return text;
    }

    /** A column's head, broken where its cells are narrower, and its cells, all padded to one width. */
    private static List<String> column(String head, List<Object> values, boolean words) {
        List<String> cells = words
                ? values.stream().map(value -> oneLine((String) value)).toList()
                : aligned(values.stream().map(LabText::cell).toList());
        int widest = cells.stream().mapToInt(String::length).max().orElse(0);
        List<String> all = new ArrayList<>(wrap(oneLine(head), Math.max(widest, NARROWEST_HEAD)));
        all.addAll(cells);
        int width = all.stream().mapToInt(String::length).max().orElse(0);
        return all.stream()
                .map(cell ->
                        words ? cell + " ".repeat(width - cell.length()) : " ".repeat(width - cell.length()) + cell)
                .toList();
    }

    private static List<String> finding(Finding finding) {
        List<String> text = new ArrayList<>();
        text.addAll(hanging(finding.holds() ? "  holds    " : "  DIFFERS  ", finding.claim()));
        text.addAll(hanging("           expected ", finding.expected()));
        text.addAll(hanging("           measured ", finding.measured()));
        return text;
    }

    /** Pads the pieces of a column so that decimal points and half widths stand below each other. */
    private static List<String> aligned(List<Cell> cells) {
        int fraction =
                cells.stream().mapToInt(cell -> cell.fraction().length()).max().orElse(0);
        int halfWidth =
                cells.stream().mapToInt(cell -> cell.halfWidth().length()).max().orElse(0);
        return cells.stream()
                .map(cell -> {
                    String mean = cell.whole()
                            + cell.fraction()
                            + " ".repeat(fraction - cell.fraction().length());
                    if (halfWidth == 0) {
                        return mean;
                    }
                    String error = cell.halfWidth().isEmpty() ? "" : " ± " + cell.halfWidth();
                    return mean + error + " ".repeat(halfWidth + 3 - error.length());
                })
                .toList();
    }

    private static Cell cell(Object value) {
        if (value instanceof Estimate estimate) {
            return cell(estimate);
        }
        if (value instanceof Double || value instanceof Float) {
            return split(number(((Number) value).doubleValue()), "");
        }
        return new Cell(oneLine(String.valueOf(value)), "", "");
    }

    /** Mean and half width to the second digit of the half width; the mean alone when one seed leaves no interval. */
    private static Cell cell(Estimate estimate) {
        double error = estimate.halfWidth95();
        if (!Double.isFinite(estimate.mean()) || !Double.isFinite(error)) {
            return split(number(estimate.mean()), "");
        }
        if (error == 0) {
            return split(number(estimate.mean()), "0");
        }
        BigDecimal mean = new BigDecimal(estimate.mean());
        // Rounded up, so that the interval shown is never narrower than the one measured.
        BigDecimal half = new BigDecimal(error).round(new MathContext(2, RoundingMode.UP));
        int decimals = half.scale();
        if (decimals > 8 || mean.precision() - mean.scale() > 9) {
            return split(number(estimate.mean()), number(error));
        }
        return split(mean.setScale(decimals, RoundingMode.HALF_EVEN).toPlainString(), half.toPlainString());
    }

    private static Cell split(String number, String halfWidth) {
        int point = number.indexOf('.');
        return point < 0
                ? new Cell(number, "", halfWidth)
                : new Cell(number.substring(0, point), number.substring(point), halfWidth);
    }

    private static String number(double value) {
        if (Double.isNaN(value)) {
            return "–";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "∞" : "−∞";
        }
        if (value == 0) {
            return "0";
        }
        double size = Math.abs(value);
        if (size < 1e-4 || size >= 1e9) {
            BigDecimal rounded = new BigDecimal(value).round(SHOWN).stripTrailingZeros();
            int exponent = rounded.precision() - rounded.scale() - 1;
            return rounded.scaleByPowerOfTen(-exponent).toPlainString() + "e" + exponent;
        }
        // The whole part is never rounded away: 123,456.7 is 123457, not 123460.
        BigDecimal exact = new BigDecimal(value);
        BigDecimal rounded = size >= 1e5
                ? exact.setScale(0, RoundingMode.HALF_EVEN)
                : exact.round(SHOWN).stripTrailingZeros();
        return rounded.toPlainString();
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\s+", " ");
    }

    /** {@code text} after {@code head}, its further lines indented as far. */
    private static List<String> hanging(String head, String text) {
        List<String> lines = new ArrayList<>();
        for (String line : wrap(text.strip(), WIDTH - head.length())) {
            lines.add((lines.isEmpty() ? head : " ".repeat(head.length())) + line);
        }
        return lines;
    }

    /** Breaks at spaces after at most {@code width} characters; a longer word stays whole. */
    private static List<String> wrap(String text, int width) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : text.split("\\s+")) {
            if (!line.isEmpty() && line.length() + 1 + word.length() > width) {
                lines.add(line.toString());
                line.setLength(0);
            }
            line.append(line.isEmpty() ? "" : " ").append(word);
        }
        lines.add(line.toString());
        return lines;
    }
}
