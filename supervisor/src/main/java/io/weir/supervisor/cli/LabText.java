package io.weir.supervisor.cli;

import io.weir.supervisor.lab.LabReport.Estimate;
import io.weir.supervisor.lab.LabReport.Finding;
import io.weir.supervisor.lab.LabReport.Table;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Sets what came out of experiments for a terminal: tables aligned at the decimal point and the ±, and findings as a check list. */
final class LabText {
    /** Digits shown of a number that says nothing about its own precision. */
    private static final MathContext SHOWN = new MathContext(5, RoundingMode.HALF_EVEN);

    private static final int WIDTH = 100;

    private LabText() {}

    /** A cell in the pieces that a column aligns: the whole part to its right, fraction and half width to their left. */
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
                    .forEach(finding ->
                            text.addAll(wrap("  DIFFERS  ", outcome.experiment().name() + ": " + finding.claim())));
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
        List<StringBuilder> lines = new ArrayList<>();
        for (int i = 0; i <= table.rows().size(); i++) {
            lines.add(new StringBuilder(" "));
        }
        for (int column = 0; column < table.columns().size(); column++) {
            int at = column;
            String head = table.columns().get(column);
            boolean words = table.rows().stream().allMatch(row -> row.get(at) instanceof String);
            List<String> cells = words
                    ? table.rows().stream()
                            .map(row -> oneLine((String) row.get(at)))
                            .toList()
                    : aligned(
                            table.rows().stream().map(row -> cell(row.get(at))).toList());
            int width = cells.stream().mapToInt(String::length).reduce(head.length(), Math::max);
            append(lines.get(0), head, width, words);
            for (int row = 0; row < cells.size(); row++) {
                append(lines.get(row + 1), cells.get(row), width, words);
            }
        }
        List<String> text = new ArrayList<>();
        text.add(table.title());
        lines.forEach(line -> text.add(line.toString().stripTrailing()));
        return text;
    }

    private static List<String> finding(Finding finding) {
        List<String> text = new ArrayList<>();
        text.addAll(wrap(finding.holds() ? "  holds    " : "  DIFFERS  ", finding.claim()));
        text.addAll(wrap("           expected ", finding.expected()));
        text.addAll(wrap("           measured ", finding.measured()));
        return text;
    }

    private static void append(StringBuilder line, String cell, int width, boolean words) {
        String padding = " ".repeat(width - cell.length());
        line.append(' ').append(words ? cell + padding : padding + cell).append(' ');
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

    private static List<String> wrap(String head, String text) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder(head);
        for (String word : text.strip().split("\\s+")) {
            if (line.length() > head.length() && line.length() + word.length() > WIDTH) {
                lines.add(line.toString().stripTrailing());
                line = new StringBuilder(" ".repeat(head.length()));
            }
            line.append(word).append(' ');
        }
        lines.add(line.toString().stripTrailing());
        return lines;
    }
}
